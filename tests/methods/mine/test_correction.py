"""correction: intervals that hold together by resampling, or by Bonferroni's inequality."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.methods.mine.claims import correction as module
from evenhand.runtime.errors import UsageError
from evenhand.statistics import max_t
from tests.support.helpers import refused

RNG = np.random.default_rng(5)
ROWS = 1200
PEOPLE = pd.DataFrame(
    {
        "sex": RNG.choice(["F", "M"], ROWS),
        "age": RNG.integers(
            18,
            80,
            ROWS,
        ),
        "town": RNG.choice(list("abcd"), ROWS),
    }
)
WORSE = (PEOPLE["sex"] == "F") & (PEOPLE["age"] >= 50)
CHANCE = RNG.random(ROWS)
RATES = np.where(
    WORSE,
    0.35,
    0.6,
)
GRANTED = (RATES > CHANCE).astype(int)
WAGES = 30 + 10 * CHANCE
BIASED = PEOPLE.assign(granted=GRANTED, wage=WAGES)
SPACE = eh.Space.from_frame(PEOPLE, protected=["sex", "age"])
mined = partial(
    eh.mine_log,
    BIASED,
    outcome="granted",
    over=["sex", "age"],
    limit=0.1,
)


def entry(result: eh.Result) -> Any:
    return result.details["mine"][0]


def decide(people: Any) -> Any:
    return people["town"] != "a"


def test_intervals_are_narrower_than_bonferronis_and_rates_are_the_same():
    sharper = mined()
    usual = mined(correction="bonferroni")
    detail = entry(sharper)
    usual_detail = entry(usual)
    assert detail["correction"] == "max-t"
    assert usual_detail["correction"] == "bonferroni"
    assert usual_detail["separate"] == usual_detail["examined"]
    most = detail["examined"] / 2
    assert 1 < detail["separate"] < most
    best = sharper.worst
    usual_best = usual.worst
    assert best.about == usual_best.about
    assert usual_best.estimate.low < best.estimate.low
    assert best.estimate.high < usual_best.estimate.high
    assert best.estimate.method.startswith("max-t, simultaneous over")
    assert usual_best.estimate.method.startswith("melded, simultaneous over")
    for group, usual_group in zip(
        best.groups,
        usual_best.groups,
        strict=True,
    ):
        assert group.estimate == usual_group.estimate
        assert group.estimate.descriptive
    assert not best.estimate.descriptive
    last = sharper.findings[-1]
    usual_last = usual.findings[-1]
    assert last.estimate.high < usual_last.estimate.high


def test_the_same_seed_gives_the_same_bytes():
    found = mined(correction="max-t", seed=3)
    again = mined(seed=3)
    assert found.details == again.details
    assert found.details != mined(seed=4).details


def test_p_values_agree_with_the_intervals():
    result = mined(limit=0.1, top=50)
    for finding in result.findings[:-1]:
        estimate = finding.estimate
        excluded = estimate.low >= 0.1 or estimate.high < 0.1
        assert finding.p_value is not None
        assert (finding.p_value <= 0.05) == excluded


def test_where_it_is_not_affordable_bonferroni_is_taken_unless_asked_for(monkeypatch):
    monkeypatch.setattr(
        max_t,
        "MOST_SUMS",
        1000,
    )
    assert entry(mined())["correction"] == "bonferroni"
    assert entry(mined(correction="max-t"))["correction"] == "max-t"
    assert entry(mined(level=0.9999))["correction"] == "bonferroni"


def test_several_minings_share_the_error():
    together = mined(over=[("sex", "age"), ("sex", "town")])
    alone = mined()
    parts = together.details["mine"]
    assert {part["correction"] for part in parts} == {"max-t"}
    first, second = parts
    assert first["separate"] == second["separate"]
    assert first["separate"] > entry(alone)["separate"]
    examined = first["examined"] + second["examined"]
    method = together.worst.estimate.method
    assert method == f"max-t, simultaneous over {examined} rule sets"


def test_software_has_it_and_what_is_enumerated_needs_none():
    ask = partial(
        eh.mine,
        decide,
        SPACE,
    )
    asked = ask(PEOPLE)
    assert entry(asked)["correction"] == "max-t"
    usual = ask(PEOPLE, correction="bonferroni")
    assert asked.findings[-1].estimate.high < usual.findings[-1].estimate.high
    assert "correction" not in entry(ask(eh.rows(PEOPLE), treatment="rows"))


def test_numbers_keep_bonferroni():
    wages = partial(
        eh.mine_log,
        BIASED,
        outcome="wage",
        over=["sex", "age"],
    )
    assert entry(wages())["correction"] == "bonferroni"
    sharper = partial(wages, correction="max-t")
    refused(
        UsageError,
        sharper,
        "correction = 'max-t'",
        "numbers",
        "bonferroni",
    )


def test_what_leaves_no_room_for_it_is_refused():
    of_found = partial(
        mined,
        control="fdr",
        correction="max-t",
    )
    refused(
        UsageError,
        of_found,
        "correction = 'max-t'",
        "control = 'fdr'",
    )
    ask = partial(
        eh.mine,
        decide,
        SPACE,
        PEOPLE,
        treatment="paper",
    )
    of_paper = partial(ask, correction="max-t")
    refused(
        UsageError,
        of_paper,
        "correction = 'max-t'",
        "treatment = 'paper'",
    )
    refused(
        UsageError,
        partial(mined, correction="maxt"),
        "maxt",
        "max-t",
    )
    assert "correction" not in entry(mined(control="fdr", correction="bonferroni"))


@pytest.mark.parametrize("name", module.CORRECTIONS)
def test_every_correction_is_an_option(name):
    assert entry(mined(correction=name))["correction"] == name
