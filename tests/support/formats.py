"""What formats write, as text: of bytes and of folders too."""

from __future__ import annotations

import shutil
import subprocess
from io import BytesIO
from typing import TYPE_CHECKING, Any

import pytest

from evenhand.formats import FORMATS
from evenhand.methods.audit.exports.chromium import chromium
from evenhand.runtime.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from evenhand.formats import Content

PRINTED = "pdf"
"""The format that needs a browser."""
QUICK = sorted(set(FORMATS) - {PRINTED})
"""The formats that need no other program."""


def content_text(content: Content) -> str:
    """Return what a format made as text: the cells of a workbook, the files of a folder."""
    if isinstance(content, str):
        return content
    if isinstance(content, bytes):
        sheets = cells_of(content)
        return "\n".join(_lines(sheets))
    return "\n".join(map(content_text, content.values()))


def _lines(sheets: dict[str, list[tuple[Any, ...]]]) -> list[str]:
    lines = []
    for rows in sheets.values():
        for row in rows:
            lines.append(" | ".join(str(value) for value in row))
    return lines


def cells_of(workbook: bytes) -> dict[str, list[tuple[Any, ...]]]:
    """Return the values of each sheet of a workbook, row by row."""
    openpyxl = pytest.importorskip("openpyxl", reason="needs openpyxl, which reads .xlsx")
    book = openpyxl.load_workbook(BytesIO(workbook))
    return {sheet.title: list(sheet.values) for sheet in book.worksheets}


def need_browser() -> None:
    """Skip a test where there is no Chromium, or nothing that reads a PDF."""
    try:
        chromium()
    except UsageError as error:
        pytest.skip(str(error))
    if shutil.which("pdftotext") is None:
        pytest.skip("needs pdftotext, of poppler-utils")


def pages_of(file: Path) -> list[str]:
    """Return the text of each page of a PDF, laid out as on the page."""
    done = subprocess.run(
        ["pdftotext", "-layout", str(file), "-"], capture_output=True, check=True
    )
    pages = done.stdout.decode().split("\f")
    return pages[:-1]
