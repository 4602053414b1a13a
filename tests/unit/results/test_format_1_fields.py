"""What format 1 has only as text is a field once it is read: cells, intervals, notes, features."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from evenhand.results.format_1 import upgraded
from evenhand.results.reading import evidence_of
from tests.support.evidence import made

STOPS = {"enumerated": "every input was enumerated", "completed": None}


def old(name: str) -> dict[str, Any]:
    """Return evidence as format 1 had it, as far as the fields of this module go."""
    table: dict[str, Any] = deepcopy(made(name).to_dict())
    table["format"] = 1
    stop = STOPS[table.pop("stop")]
    if stop is not None:
        table["stop"] = stop
    details = table.get("details", {})
    details.pop("table_notes", None)
    if "notes" in table:
        table["notes"] = [note for note in table["notes"] if not is_new(note)]
    for mining in details.get("mine", ()):
        for cells in mining["maps"]:
            del cells["values"]
    table.pop("resampled", None)
    for check in table.get("checks", ()):
        check.pop("about", None)
    comparisons = table.get("comparisons", {})
    for comparison in comparisons.values():
        del comparison["resampled"]
        del comparison["stop"]
    return table


def is_new(text: str) -> bool:
    """Return whether a note is one that format 1 had nothing of."""
    return "all other intervals are descriptive" in text


@pytest.mark.parametrize("name", ["mine", "mine, tpr and fpr", "mine_log"])
def test_cells_get_their_levels_and_where_their_bins_start(name):
    minings = upgraded(old(name))["details"]["mine"]
    maps = [mining["maps"] for mining in minings]
    expected = [mining["maps"] for mining in made(name).details["mine"]]
    assert maps == expected


@pytest.mark.parametrize("name", ["impact", "impact, scored"])
def test_the_notes_of_tables_are_known_by_what_the_tables_hold(name):
    details = upgraded(old(name))["details"]
    assert details["table_notes"] == made(name).details["table_notes"]
    again = evidence_of(old(name), where="old.json")
    lines = made(name).to_text().splitlines()
    assert again.to_text().splitlines() == [line for line in lines if not is_new(line)]


def test_notes_that_were_put_before_those_of_the_tables_are_printed():
    table = old("impact")
    table["notes"] = ["3 rows were dropped", *table["notes"]]
    details = upgraded(table)["details"]
    assert details["table_notes"] == [1, 5]
    lines = evidence_of(table, where="old.json").to_text().splitlines()
    assert "note: 3 rows were dropped" in lines


@pytest.mark.parametrize("name", ["compare", "compare, splits"])
def test_resamples_are_distinguished_from_splits(name):
    new = upgraded(old(name))
    assert new["resampled"] is made(name).resampled


def test_checks_of_a_repair_get_the_feature_that_they_are_about():
    again: Any = evidence_of(old("repair"), where="old.json")
    features = [check.about for check in again.checks]
    expected = [check.about for check in made("repair").checks]
    assert features == expected
