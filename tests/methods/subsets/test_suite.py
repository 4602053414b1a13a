"""The tests behind the sets of a search: kept, written, and asked again of another version."""

# mypy: disable-error-code="union-attr,operator,arg-type,assignment,return-value"
# What is not there fails a test just as well where it is looked at.

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand.cli.main import main
from evenhand.runtime.errors import UsageError
from evenhand.scores.test_suite import read_suite
from tests.support.helpers import refused

NAMES = ("a", "b", "c")
FEW = [eh.category(name, [0, 1, 2]) for name in NAMES]
SMALL = eh.Space([*FEW, eh.integer("rest", 0, 9)])
WIDE = eh.Space([*FEW, eh.integer("rest", 0, 99_999)])
MANY = eh.Space(
    [eh.integer(name, 0, 99) for name in NAMES] + [eh.integer("rest", 0, 99_999)]
)


def decide(people: Any) -> Any:
    """Outcomes depend on a, and on b and c together."""
    total = 20 * people["a"] + 2 * people["b"] * people["c"]
    return total + people["rest"] % 50 > 45


def far(people: Any) -> Any:
    """The same for features of many values."""
    total = people["a"] + people["b"] * people["c"] / 400
    return total + people["rest"] % 50 > 75


RUNS = {
    "enumerated": (decide, SMALL, {"limit": 0.3}),
    "enumerated groups": (decide, SMALL, {"limit": 0.3, "kind": "group"}),
    "sampled": (decide, WIDE, {"limit": 0.3}),
    "sampled groups": (decide, WIDE, {"limit": 0.3, "kind": "group"}),
    "by profile": (
        decide,
        WIDE,
        {
            "limit": 0.3,
            "kind": "group",
            "sampler": eh.profile({"a": {0: 0.5, 1: 0.3, 2: 0.2}}),
        },
    ),
    "many variants": (far, MANY, {"limit": 0.3}),
    "too many variants": (far, MANY, {"limit": 0.3, "variants": 500}),
    "wald": (decide, WIDE, {"limit": 0.3, "interval": "wald"}),
}


@pytest.mark.parametrize("name", RUNS)
def test_a_suite_holds_the_sets_that_were_found_with_their_scores(name, tmp_path):
    model, space, options = RUNS[name]
    plain = eh.subsets(model, space, among=NAMES, **options)
    kept = eh.subsets(model, space, among=NAMES, keep_tests=True, **options)
    assert kept.findings == plain.findings
    assert kept.details == plain.details
    file = tmp_path / "sets.csv"
    kept.to_suite(file)
    again = eh.replay(file, model, space)
    assert again.details["changed"] == 0
    before = {finding.about: finding.estimate for finding in kept.findings}
    after = {finding.about: finding.estimate for finding in again.findings}
    assert set(after) == set(before)
    for about, estimate in after.items():
        assert estimate.value == pytest.approx(before[about].value)
    words = ("this subsets kept no tests", "keep_tests=True")
    refused(UsageError, lambda: plain.to_suite(file), *words)


def test_what_settled_a_set_is_in_its_suite(tmp_path):
    kept = eh.subsets(far, MANY, among=NAMES, limit=0.3, keep_tests=True)
    file = tmp_path / "sets.csv"
    kept.to_suite(file)
    parts = {part.over: part for part in read_suite(file, MANY)}
    for finding in kept.findings:
        part = parts[finding.about]
        draws = finding.estimate.n
        assert part.own.sum() == draws
        # A flipped draw has a twin with another outcome, one that is not has every variant.
        own = part.outcomes[part.own][np.argsort(part.draw[part.own])]
        differs = part.outcomes != own[part.draw]
        flipped = np.bincount(part.draw, differs, draws) > 0
        share = float(flipped.mean())
        assert share == pytest.approx(finding.estimate.value, abs=0.05)
        variants = np.bincount(part.draw, ~part.own, draws)
        if finding.verdict == "pass":
            assert (variants[~flipped] >= 100 ** len(finding.about) - 1).all()


def test_a_fairer_version_is_seen_to_be_fairer(tmp_path):
    kept = eh.subsets(decide, WIDE, among=NAMES, limit=0.3, keep_tests=True)
    assert kept.worst.about == ("a",)
    file = tmp_path / "sets.csv"
    kept.to_suite(file)
    again = eh.replay(file, lambda people: people["rest"] % 50 > 25, WIDE, limit=0.3)
    # A search decides a plain case on few draws, which may be too few to clear the next version.
    assert {finding.verdict.value for finding in again.findings} <= {"pass", "undecided"}
    assert {finding.estimate.value for finding in again.findings} == {0.0}
    assert "it was" in again.worst.claim


def test_several_outputs_share_their_tests(tmp_path):
    def both(people: Any) -> Any:
        loan = decide(people)
        return {"loan": loan, "card": people["rest"] % 50 > 10}

    subject = eh.Subject(both, WIDE, outputs=["loan", "card"])
    kept = eh.subsets(subject, among=NAMES, limit=0.3, keep_tests=True)
    file = tmp_path / "sets.csv"
    kept.to_suite(file)
    again = eh.replay(file, subject)
    assert again.details["changed"] == 0
    assert {finding.output for finding in again.findings} == {"loan", "card"}


MODULE = """
def decide(people):
    return (20 * people["a"] + people["rest"] % 50 > 45).astype(int)
"""
CONFIG = """
[subject]
function = "sets_suite_model:decide"
positive = 1
[space.features.a]
levels = [0, 1, 2]
[space.features.b]
levels = [0, 1]
[space.features.rest]
low = 0
high = 99999
"""


def test_the_command_line_writes_and_replays_a_suite(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "sets_suite_model.py").write_text(MODULE)
    (tmp_path / "evenhand.toml").write_text(CONFIG)
    code = main(["subsets", "--among", "a,b", "--limit", ".3", "--suite", "sets.csv"])
    assert code == 1
    assert main(["replay", "sets.csv", "--limit", ".3"]) == 1
    out = capsys.readouterr().out
    assert "it was" in out
    assert main(["subsets", "--among", "a", "--suite", "sets.xls"]) == 2
    assert "did you mean" in capsys.readouterr().err
