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


def test_parts_that_chromium_counts_from_another_number_are_the_same_bytes(
    monkeypatch, tmp_path
):
    text = """import sys
target = next(word for word in sys.argv if word.startswith("--print-to-pdf=")).split("=")[1]
parts = "".join(f"<< /ID (node{START + place:08}) >>" for place in (2, 0, 7, 2))
open(target, "w").write("%PDF " + parts)"""
    contents = []
    for start in (8, 95):
        one = program(tmp_path, text.replace("START", str(start)))
        monkeypatch.setenv("EVENHAND_CHROMIUM", one)
        contents.append(printed("<p>x</p>"))
    assert contents[0] == contents[1]
    places = [int(place) for place in re.findall(rb"node(\d+)", contents[0])]
    assert places == [1, 0, 2, 1]


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


@pytest.mark.heavy
@pytest.mark.parametrize("lines_before", range(36, 48, 2))
def test_no_headline_is_cut(tmp_path, lines_before):
    need_browser()
    from evenhand.report.html_page import STYLE

    lines = "".join(f"<p>line {number}</p>" for number in range(lines_before))
    headline = (
        "FIRST " + "of every 100 people about 10 would get another outcome " * 4 + "LAST"
    )
    card = f"<article class='finding'><h4>{headline}</h4><p>10.2 % (exact)</p></article>"
    html = f"<!DOCTYPE html><style>{STYLE}</style><main>{lines}{card * 4}</main>"
    file = tmp_path / "cards.pdf"
    file.write_bytes(printed(html))
    for page in pages_of(file):
        assert page.count("FIRST") == page.count("LAST")
