"""Maps and bars of a mining: cells, terms and counts are fields, and not read from labels and
methods.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace

import pytest

from evenhand.methods.mine.plot.display import HeatDisplay, MineDisplay
from tests.support.evidence import made

TABLES = ["mine", "mine, tpr and fpr", "mine_log"]
EVERY = [*TABLES, "mine_text, group", "mine_text, causal"]


def relabelled(result):
    """Return a result whose cells are called otherwise."""
    details = deepcopy(dict(result.details))
    for entry in details["mine"]:
        for table in entry["maps"]:
            table["labels"] = [other_names(names) for names in table["labels"]]
    return replace(result, details=details)


def other_names(names):
    """Return as many names that cells never have."""
    return [f"Zelle {chr(97 + number)}" for number in range(len(names))]


@pytest.mark.parametrize("name", TABLES)
def test_the_cells_of_the_worst_rule_are_outlined_whatever_cells_are_called(name):
    found = made(name)
    before = HeatDisplay.from_result(found).heats
    after = HeatDisplay.from_result(relabelled(found)).heats
    assert any(heat.inside for heat in before)
    for heat, heat_before in zip(after, before, strict=True):
        assert heat.inside == heat_before.inside
        assert heat.rates == heat_before.rates
        assert heat.labels != heat_before.labels


@pytest.mark.parametrize("name", EVERY)
def test_what_intervals_hold_together_over_is_not_read_from_the_method(name):
    found = made(name)
    findings = []
    for finding in found.findings:
        estimate = replace(finding.estimate, method="Übersetzung")
        findings.append(replace(finding, estimate=estimate))
    translated = replace(found, findings=findings)
    before = MineDisplay.from_result(found).bars
    after = MineDisplay.from_result(translated).bars
    for bars, bars_before in zip(after, before, strict=True):
        assert bars.notes == bars_before.notes
    method = found.worst.estimate.method
    simultaneous = method[method.index("simultaneous over") :]
    for bars in before:
        assert any(note.endswith(simultaneous) for note in bars.notes)


def test_terms_are_named_without_their_category_where_it_stands_above_them():
    found = made("mine_text, causal")
    text = found.to_text()
    assert "most often with gay " in text
    details = deepcopy(dict(found.details))
    for change in details["mine_text"][0]["changes"]:
        for term in change["terms"]:
            term["text"] = "Übersetzung"
    translated = replace(found, details=details)
    assert translated.to_text() == text
