"""The tables of an audit as CSV and as a workbook: numbers stay numbers, and texts stay texts."""

from __future__ import annotations

import csv
import sys
from dataclasses import replace
from io import BytesIO, StringIO
from typing import Any

import pytest

import evenhand as eh
from evenhand.methods.audit.exports.csv_files import to_csv
from evenhand.methods.audit.exports.tables import tables_of
from evenhand.methods.audit.exports.workbook import sheet_name, to_xlsx
from evenhand.runtime.errors import MissingExtra
from tests.methods.audit.diff.test_changes import audit, check, found
from tests.support.evidence import made
from tests.support.formats import cells_of
from tests.support.helpers import refused

FORMULA = '=HYPERLINK("http://x","y")'


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(StringIO(text)))


def test_every_table_of_an_audit_is_a_file_that_the_index_names():
    files = to_csv(made("audit"))
    index = rows_of(files["tables.csv"])
    assert [row["file"] for row in index] == [
        name for name in files if name != "tables.csv"
    ]
    for row in index:
        assert len(rows_of(files[row["file"]])) == int(row["rows"])
    names = " ".join(files)
    for word in (
        "verdicts",
        "groups",
        "cases",
        "regions",
        "lattice",
        "stories",
        "categories",
    ):
        assert word in names


def test_the_verdicts_are_those_of_the_frame():
    found_all = made("audit")
    frame = found_all.to_frame()
    rows = rows_of(to_csv(found_all)["verdicts.csv"])
    assert [row["claim"] for row in rows] == list(frame["claim"])
    for row, value in zip(rows, frame["value"], strict=True):
        assert float(row["value"]) == value
    assert {row["unit"] for row in rows} == {"rate", "count"}


def hostile() -> Any:
    space = eh.Space(
        [eh.category(FORMULA, [FORMULA, "@x"]), eh.integer("age", 18, 40)],
        protected=[FORMULA],
    )

    def decide(people: Any) -> Any:
        return (people["age"] > 30) & (people[FORMULA] == "@x")

    subject = eh.Subject(decide, space, identity=FORMULA)
    return eh.audit(subject, checks=[{"job": "measure", "limit": 0.05}], progress=False)


def test_no_text_is_a_formula():
    found_all = hostile()
    for text in to_csv(found_all).values():
        for row in csv.reader(StringIO(text)):
            assert not any(cell.startswith(("=", "@", "+")) for cell in row)
    openpyxl = pytest.importorskip("openpyxl", reason="needs openpyxl, which reads .xlsx")
    book = openpyxl.load_workbook(BytesIO(to_xlsx(found_all)))
    seen = set()
    for sheet in book.worksheets:
        for row in sheet.iter_rows():
            for cell in row:
                assert cell.data_type != "f"
                assert cell.hyperlink is None
                seen.add(cell.value)
    assert FORMULA in seen


def test_a_workbook_has_numbers_shares_a_frozen_head_and_filters():
    openpyxl = pytest.importorskip("openpyxl", reason="needs openpyxl, which reads .xlsx")
    book = openpyxl.load_workbook(BytesIO(to_xlsx(made("audit"))))
    sheet = book["verdicts"]
    head = [cell.value for cell in sheet[1]]
    value, n, unit = (head.index(name) for name in ("value", "n", "unit"))
    for row in sheet.iter_rows(min_row=2):
        is_rate = row[unit].value == "rate"
        assert isinstance(row[value].value, int | float)
        assert ("%" in row[value].number_format) == is_rate
        assert "%" not in row[n].number_format
    for each in book.worksheets:
        assert each.freeze_panes == "A2"
        assert each.auto_filter.ref
    assert book.properties.created.year == 1980


def test_sheets_have_names_that_are_valid_and_their_own():
    checks = []
    for number in range(12):
        checks.append(replace(check(f"c{number}", found(0.1, 0.2)), job="measure"))
    sheets = cells_of(to_xlsx(audit(*checks)))
    index = [row[0] for row in sheets["tables"][1:]]
    assert index == list(sheets)[1:]
    long = sheet_name("A" * 60, [])
    assert len(long) == 31
    assert sheet_name("a" * 60, [long]).endswith("(2)")


def test_without_the_library_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "xlsxwriter", None)
    refused(MissingExtra, lambda: to_xlsx(made("audit")), "evenhand[xlsx]")


def test_all_evidence_has_tables_and_each_a_name_of_its_own():
    for name in ("compare", "repair", "study", "audit, crashed"):
        files = to_csv(made(name))
        assert len({file.lower() for file in files}) == len(files)
    assert tables_of(audit())[0].name == "run"
