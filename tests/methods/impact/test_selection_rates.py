"""Selection rates: which notes tables show is a field, and not found by comparing sentences."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evenhand.formats import FORMATS
from evenhand.methods.impact.impact import impact
from evenhand.methods.impact.selection_rates import (
    other_notes,
    remarks,
    tables_of,
    with_notes_before,
)
from tests.support.evidence import made, recorded

NAMES = ["impact", "impact, scored"]


def reworded(result):
    return replace(result, notes=["Übersetzung" for _ in result.notes])


def all_remarks(result):
    found = []
    for table in tables_of(result):
        found.extend(remarks(table))
    return found


@pytest.mark.parametrize("name", NAMES)
def test_the_notes_that_tables_show_are_shown_once(name):
    found = made(name)
    table_notes = all_remarks(found)
    assert table_notes
    notes_after_tables = found.notes[len(table_notes) :]
    assert list(other_notes(found)) == list(notes_after_tables)
    lines = found.to_text().splitlines()
    for note in table_notes:
        assert lines.count(note) == 1
        assert f"note: {note}" not in lines


@pytest.mark.parametrize("name", NAMES)
def test_notes_in_other_words_are_still_those_of_tables(name):
    found = made(name)
    before = found.to_text().splitlines()
    after = reworded(found).to_text().splitlines()
    for old, new in zip(before, after, strict=True):
        if old.startswith("note: "):
            assert new.startswith("note: ")
        else:
            assert new == old
    card = FORMATS["card"].render(reworded(found))
    has_other_notes = len(other_notes(found)) > 1
    assert card.count("Übersetzung") == int(has_other_notes)


def test_more_notes_come_first_and_are_shown_as_notes():
    notes = ("3 rows were dropped", "age has too many values")
    found = with_notes_before(made("impact"), notes)
    assert other_notes(found) == (*notes, *other_notes(made("impact")))
    assert "note: 3 rows were dropped" in found.to_text().splitlines()
    assert "- 3 rows were dropped" in FORMATS["card"].render(found).splitlines()


def test_the_method_of_an_interval_names_what_it_holds_together_with():
    (scored,) = impact(recorded(), outcome="income", over="sex", scored=True).findings
    assert scored.estimate.method == "melded, simultaneous over all rates and ratios"
    found = impact(recorded(), outcome="granted", over=[("sex",), ("race",)])
    for finding in found.findings:
        method = finding.estimate.method
        assert method == "melded, simultaneous over all rates and ratios of 3 sets"
        assert {group.estimate.method for group in finding.groups} == {method}
    for table in tables_of(found):
        for category in table["categories"]:
            method = category["rate"]["method"]
            assert method == "exact, simultaneous over all rates and ratios of 3 sets"


def test_beside_a_limit_it_names_the_groups_and_the_findings_with_one():
    found = impact(
        recorded(), outcome="granted", over=[("sex",), ("race",)], least_ratio=0.8
    )
    for finding in found.findings:
        groups = len(finding.groups)
        own = f"melded, simultaneous over {groups} groups and 3 findings"
        assert finding.estimate.method == own
        methods = {group.estimate.method for group in finding.groups}
        assert methods == {f"melded, simultaneous over {groups} groups"}
