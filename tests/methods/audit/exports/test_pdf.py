"""The report printed by Chromium: numbered pages, no row that is cut, heads that are repeated."""

from __future__ import annotations

import re
import stat
import sys
from typing import TYPE_CHECKING

import pytest

from evenhand.methods.audit.exports import chromium
from evenhand.methods.audit.exports.chromium import printed
from evenhand.methods.audit.exports.pdf import to_pdf
from evenhand.runtime.errors import UsageError
from tests.support.evidence import made
from tests.support.formats import need_browser, pages_of
from tests.support.helpers import refused

if TYPE_CHECKING:
    from pathlib import Path

ROWS = 120


def program(folder: Path, text: str) -> str:
    """Write a program that stands for Chromium."""
    file = folder / "browser"
    file.write_text(f"#!{sys.executable}\n{text}\n")
    file.chmod(file.stat().st_mode | stat.S_IXUSR)
    return str(file)


def test_a_program_that_is_not_there_is_refused(monkeypatch, tmp_path):
    monkeypatch.setenv("EVENHAND_CHROMIUM", str(tmp_path / "none"))
    refused(UsageError, chromium.chromium, "EVENHAND_CHROMIUM=", "can be run")
    refused(
        UsageError,
        lambda: chromium.chromium({"PATH": str(tmp_path)}),
        "install chromium",
        "EVENHAND_CHROMIUM",
    )


def test_a_browser_that_prints_nothing_is_an_error(monkeypatch, tmp_path):
    text = "import sys\nprint('it broke', file=sys.stderr)\nsys.exit(7)"
    monkeypatch.setenv("EVENHAND_CHROMIUM", program(tmp_path, text))
    refused(UsageError, lambda: printed("<p>x</p>"), "exit code 7", "it broke")


def test_a_browser_that_hangs_is_ended(monkeypatch, tmp_path):
    monkeypatch.setenv("EVENHAND_CHROMIUM", program(tmp_path, "while True: pass"))
    refused(UsageError, lambda: printed("<p>x</p>", seconds=0.5), "within 0.5 seconds")


@pytest.mark.heavy
def test_the_report_is_printed_page_by_page(tmp_path):
    need_browser()
    file = tmp_path / "report.pdf"
    content = to_pdf(made("audit"))
    file.write_bytes(content)
    pages = pages_of(file)
    assert len(pages) > 1
    assert "Discrimination found" in pages[0]
    for number, page in enumerate(pages, start=1):
        assert page.rstrip().endswith(f"{number} / {len(pages)}")
        assert len(page.split()) > 5, f"page {number} is empty"
    assert to_pdf(made("audit")) == content


@pytest.mark.heavy
def test_no_row_is_cut_and_each_page_of_a_table_has_its_head(tmp_path):
    need_browser()
    from evenhand.report.html_page import STYLE, table

    rows = [[f"first{number} <br> last{number}", "1"] for number in range(ROWS)]
    shown = table("t", "A long table", ["HEAD", "n"], [("", rows)])
    html = f"<!DOCTYPE html><style>{STYLE}</style><main>{shown}</main>"
    file = tmp_path / "table.pdf"
    file.write_bytes(printed(html))
    pages = pages_of(file)
    assert len(pages) > 2
    for page in pages:
        assert "HEAD" in page
        assert re.findall(r"first(\d+)", page) == re.findall(r"last(\d+)", page)
