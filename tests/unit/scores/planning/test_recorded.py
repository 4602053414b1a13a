"""How often recorded decisions are favourable."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from evenhand.results.evidence import Finding, Group
from evenhand.scores.planning.forecast import Detectable
from evenhand.scores.planning.power import smallest_seen
from evenhand.scores.planning.recorded import PLANTED, PlantedDecisions, base_rate
from evenhand.statistics.estimate import Estimate


@pytest.mark.parametrize(
    ("outcomes", "positive", "rate"),
    [
        ([0, 1, 1, 1], None, 0.75),
        ([True, False, False, False], None, 0.25),
        ([0, 1, None, None], None, 0.5),
        ([0, 0], None, 0.0),
        ([1, 1], None, 1.0),
        ([0, 1, 2], None, None),
        ([0.5, 1.0], None, None),
        (["yes", "no", "no", "no"], "yes", 0.25),
        (["yes", "no", None], "yes", 0.5),
        ([1, 2, 3, 4], 3, 0.25),
        ([1, 2, 3, 4], "3", 0.25),
    ],
)
def test_the_base_rate_is_a_share_of_decisions_that_are_known(outcomes, positive, rate):
    frame = pd.DataFrame({"ok": outcomes})
    assert base_rate(frame, "ok", positive) == rate


PEOPLE = pd.DataFrame({"sex": ["F"] * 100 + ["M"] * 60 + ["X"] * 40, "age": [1, 2] * 100})


class Verb:
    """A check that compares the rates of groups, and remembers what it was told."""

    def __init__(self) -> None:
        self.settings: list[dict[str, Any]] = []
        self.hits: list[list[int]] = []

    def __call__(self, frame: pd.DataFrame, **settings: Any) -> Any:
        self.settings.append(settings)
        findings = []
        for name in settings["over"]:
            by = frame.groupby(name)[PLANTED]
            groups = []
            for value, n in by.size().items():
                rate = float(by.mean()[value])
                estimate = Estimate(
                    rate,
                    rate,
                    rate,
                    int(n),
                    1.0,
                    "enumerated",
                    "all",
                )
                groups.append(Group({name: value}, estimate))
            self.hits.append(by.sum().tolist())
            apart = float(by.mean().max() - by.mean().min())
            spread = Estimate(
                apart,
                apart,
                apart,
                len(frame),
                1.0,
                "enumerated",
                "all",
            )
            found = Finding(
                "claim", (name,), spread, 0.25, groups=tuple(groups), score="rate"
            )
            findings.append(found)
        return SimpleNamespace(findings=findings)


def planted(
    verb: Any, *, base: float = 0.5, at_least: float = 0.29, **settings: Any
) -> PlantedDecisions:
    given = {"over": ("sex",), "outcome": "ok", "positive": "yes", **settings}
    return PlantedDecisions(
        verb,
        given,
        PEOPLE,
        base,
        judged=lambda finding: finding.about == ("sex",),
        seen=lambda finding: finding.estimate.value >= at_least,
    )


@pytest.mark.parametrize(
    ("support", "group", "n"),
    [(None, "X", 40), (0.2, "X", 40), (0.21, "M", 60), (0.9, "X", 40)],
)
def test_the_smallest_group_that_is_compared_is_the_hardest_to_see(support, group, n):
    settings = {} if support is None else {"support": support}
    (found,) = planted(Verb(), **settings).detectable()
    rate = smallest_seen(lambda hits: 0.5 - hits / n >= 0.29, n, 200 - n, 0.5)
    assert found == Detectable(
        "sex",
        f"sex {group}",
        n,
        200,
        0.5,
        rate,
        0.25,
    )
    assert rate is not None


def test_everybody_else_is_treated_alike_exactly():
    """Three in ten are favoured, of ten in a group as of all: groups of 100, 60 and 40."""
    verb = Verb()
    planted(verb, base=0.3).detectable()
    # First all people are looked at, whatever their group.
    assert verb.hits[0] == [60, 0, 0]
    assert {tuple(hits[:2]) for hits in verb.hits[1:]} == {(30, 18)}
    tried = [hits[2] for hits in verb.hits[1:]]
    assert tried[0] == 40
    # Twenty-four of forty are seen, and twenty-three are not.
    assert {23, 24} <= set(tried)


def test_other_findings_are_not_looked_at():
    verb = Verb()
    found = planted(verb, over=("age", "sex")).detectable()
    assert [one.about for one in found] == ["sex"]
    rate = smallest_seen(lambda hits: 0.5 - hits / 40 >= 0.29, 40, 160, 0.5)
    assert found[0].rate == rate


def test_the_verb_knows_of_planted_outcomes():
    verb = Verb()
    planted(verb).detectable()
    assert {settings["outcome"] for settings in verb.settings} == {PLANTED}
    assert {settings["positive"] for settings in verb.settings} == {1}
    assert "truth_positive" not in verb.settings[0]
    planted(verb, truth="due").detectable()
    assert verb.settings[-1]["truth_positive"] == "yes"
    planted(verb, truth="due", truth_positive="ja").detectable()
    assert verb.settings[-1]["truth_positive"] == "ja"
    alone = PlantedDecisions(
        verb,
        {"over": ("sex",), "truth": "due"},
        PEOPLE,
        0.5,
        lambda _: True,
        lambda _: True,
    )
    alone.detectable()
    assert verb.settings[-1]["truth_positive"] == 1


def test_a_difference_that_is_never_seen_has_no_rate():
    (found,) = planted(Verb(), at_least=2.0).detectable()
    assert found.rate is None
    assert found.difference is None


def test_groups_that_no_row_is_in_are_left_out():
    """Groups made by bins have labels that no cell of the frame has."""
    decisions = planted(Verb())
    (finding,) = decisions._run(np.ones(200, dtype=bool)).findings
    assert decisions._places(finding).tolist() == [0] * 100 + [1] * 60 + [2] * 40
    estimate = finding.groups[0].estimate
    binned = Finding(
        "claim", ("age",), finding.estimate, groups=(Group({"age": "1 to 2"}, estimate),)
    )
    assert decisions._of_set(binned) == []
    assert decisions._places(binned).tolist() == [-1] * 200
    # One group of all is compared with nobody.
    rows = Group({"sex": "F"}, estimate)
    alone = Finding("claim", ("sex",), finding.estimate, groups=(rows,))
    assert decisions._of_set(alone) == []


def test_a_finding_that_is_gone_is_not_seen():
    decisions = planted(Verb())
    (finding,) = decisions._run(np.ones(200, dtype=bool)).findings
    other = Finding("claim", ("age",), finding.estimate, groups=finding.groups)
    places = decisions._places(finding)
    assert decisions._is_seen(finding, places, places == 2, 0)
    assert not decisions._is_seen(finding, places, places == 2, 20)
    assert not decisions._is_seen(other, places, places == 2, 0)
