"""Selection rates: which notes the tables tell as well is a field, and not found by comparing
sentences.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from evenhand.formats import FORMATS
from evenhand.methods.impact.selection_rates import (
    other_notes,
    remarks,
    tables_of,
    with_notes_before,
)
from tests.support.evidence import made

NAMES = ["impact", "impact, scored"]


def reworded(result):
    return replace(result, notes=["Übersetzung" for _ in result.notes])


@pytest.mark.parametrize("name", NAMES)
def test_the_notes_that_tables_tell_are_told_once(name):
    found = made(name)
    told = [text for table in tables_of(found) for text in remarks(table)]
    assert told
    assert list(other_notes(found)) == list(found.notes[len(told) :])
    lines = found.to_text().splitlines()
    assert [lines.count(text) for text in told] == [1] * len(told)
    assert not any(line == f"note: {text}" for line in lines for text in told)


@pytest.mark.parametrize("name", NAMES)
def test_notes_in_other_words_are_still_those_that_tables_tell(name):
    found = made(name)
    before, after = (one.to_text().splitlines() for one in (found, reworded(found)))
    assert [line.startswith("note: ") for line in after] == [
        line.startswith("note: ") for line in before
    ]
    assert [line for line in after if not line.startswith("note: ")] == [
        line for line in before if not line.startswith("note: ")
    ]
    card = FORMATS["card"].render(reworded(found))
    assert card.count("Übersetzung") == (1 if len(other_notes(found)) > 1 else 0)


def test_more_notes_come_first_and_are_told_as_notes():
    found = with_notes_before(made("impact"), ["3 rows were dropped", "age has too many values"])
    assert other_notes(found)[:2] == ("3 rows were dropped", "age has too many values")
    assert other_notes(found)[2:] == other_notes(made("impact"))
    assert "note: 3 rows were dropped" in found.to_text().splitlines()
    assert "- 3 rows were dropped" in FORMATS["card"].render(found).splitlines()


def test_how_intervals_are_found_is_said_with_what_they_hold_together_over():
    (finding,) = made("impact, scored").findings
    assert finding.estimate.method == "melded, simultaneous over all rates and ratios"
    for finding in made("impact").findings:
        assert finding.estimate.method == "melded, simultaneous over all rates and ratios of 3 sets"
        assert {group.estimate.method for group in finding.groups} == {finding.estimate.method}
    rates = [
        one["rate"]["method"] for table in tables_of(made("impact")) for one in table["categories"]
    ]
    assert set(rates) == {"exact, simultaneous over all rates and ratios of 3 sets"}
