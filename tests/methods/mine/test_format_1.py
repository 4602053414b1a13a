"""Mining that was written in format 1: told, laid out and drawn as it was, with a place and a key
for each finding.
"""

from __future__ import annotations

import copy
from typing import Any

import pytest

from evenhand.methods.mine.findings import Place
from evenhand.methods.mine.plot.display import MineDisplay, display_of
from evenhand.methods.mine.table import entries_of, mined_findings
from evenhand.results.reading import evidence_of
from evenhand.results.result import Result
from tests.support.format_1 import OLD, read_old, runs_of


@pytest.mark.parametrize("name", runs_of("mine"))
def test_it_is_written_and_laid_out_as_it_was(name):
    result = read_old(name)
    assert isinstance(result, Result)
    assert [line.finding for line in mined_findings(result)] == list(result.findings)
    assert all(isinstance(finding.detail, Place) for finding in result.findings)
    assert result.stop.name.lower() == "enumerated"
    assert isinstance(display_of(result), MineDisplay)
    assert "<table" in result._repr_html_()


def test_what_was_compared_is_data():
    def kinds(name: str) -> list[tuple[Any, ...]]:
        entries = entries_of(evidence_of(OLD[name]["document"], where=name))  # type: ignore[arg-type]
        return [(entry["favoured"], entry["counts"], entry["named"]) for entry in entries]

    assert kinds("mine_rows") == [("the favourable outcome", True, False)]
    assert kinds("mine_several_outputs") == [
        ("grade A or B", True, True),
        ("card True", True, True),
    ]
    assert kinds("mine_text_causal") == [("yes", True, True)]


@pytest.mark.parametrize(
    ("favoured", "output", "expected"),
    [
        ("the score", "", (False, False)),
        ("rate", "rate", (False, False)),
        ("the favourable rate", "rate", (True, False)),
        ("the favourable outcome", "rate", (True, True)),
        ("rate A", "rate", (True, True)),
        ("the best", "", (True, True)),
    ],
)
def test_scores_phrases_and_labels_of_format_1_are_distinguished(
    favoured, output, expected
):
    document = copy.deepcopy(OLD["mine_rows"]["document"])
    (entry,) = document["details"]["mine"]
    entry["favoured"] = favoured
    for finding in document["findings"]:
        finding["output"] = output
    entry["output"] = output
    (read,) = entries_of(Result.from_dict(document))
    assert (read["counts"], read["named"]) == expected


def test_findings_know_their_score_and_have_keys_of_their_own():
    result = read_old("mine_true_outcomes")
    entries = entries_of(result)  # type: ignore[arg-type]
    assert [entry["score"] for entry in entries] == ["tpr", "fpr"]
    for finding in result.findings:
        assert finding.score == entries[finding.detail.mining]["score"]  # type: ignore[union-attr]
        assert finding.key.startswith(f"{finding.score} of [")
    assert len({finding.key for finding in result.findings}) == len(result.findings)
    causal = read_old("mine_text_causal").findings
    assert [finding.key for finding in causal] == [
        f"changes of {', '.join(sorted(one.about))}" for one in causal
    ]
