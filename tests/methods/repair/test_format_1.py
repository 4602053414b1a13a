"""Repairs that were written in format 1: read, told and shown as they were."""

from __future__ import annotations

import sys

import pytest

from evenhand.methods.compare.comparison import Comparison
from evenhand.methods.repair.repair_result import Repair
from tests.support.format_1 import OLD, read_old, runs_of


@pytest.mark.parametrize("name", runs_of("repair"))
def test_it_is_written_and_shown_as_it_was(name, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)  # drawings take a second each
    document = OLD[name]["document"]
    found = read_old(name)
    assert isinstance(found, Repair)
    assert (found.method, found.outcome, found.level) == (
        document["method"],
        document["outcome"],
        document["level"],
    )
    assert found.spent.to_dict() == document["spent"]
    assert found.stop.name.lower() == "completed"
    assert list(found.comparisons) == list(document["comparisons"])
    for comparison in found.comparisons.values():
        assert isinstance(comparison, Comparison)
    (finding,) = found.findings
    assert finding.score in ("causal", "gap")
    assert finding.verdict == document["verdict"]
    page = found.to_html()
    assert found.digest in page
    assert "eh.repair(estimator, " in page


def test_a_page_calls_options_by_their_names_of_today():
    found = read_old("repair_labels")
    assert isinstance(found, Repair)
    assert OLD["repair_labels"]["document"]["options"]["labels"] == "majority"
    assert "labels" not in found.options
    assert found.options["labelling"] == "majority"
    assert "labelling=&#x27;majority&#x27;" in found.to_html()
