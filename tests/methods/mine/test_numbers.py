"""mine and mine_log of outcomes that are numbers: subgroups whose mean differs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.runtime.errors import UsageError
from tests.support.helpers import refused

RNG = np.random.default_rng(0)
ROWS = 4000
PEOPLE = pd.DataFrame(
    {
        "sex": RNG.choice(["F", "M"], ROWS),
        "age": RNG.integers(18, 68, ROWS),
        "skill": RNG.random(ROWS),
    }
)
SPACE = eh.Space.from_frame(PEOPLE, protected=["sex", "age"])


def fair(people: pd.DataFrame) -> Any:
    return 20_000.5 + 10_000 * people["skill"]


def biased(people: pd.DataFrame) -> Any:
    """Older women get 6,000 less."""
    older_women = (people["sex"] == "F") & (people["age"] >= 43)
    return fair(people) - 6_000 * older_women


def mined(function: Any = biased, **options: Any) -> eh.Result:
    return eh.mine(function, SPACE, PEOPLE, **options)


def test_the_planted_subgroup_is_found_with_its_mean():
    found = mined(limit=0.2)
    worst = found.worst
    assert str(worst.about) == "sex F, age at least 43"
    assert worst.unit == "amount"
    assert worst.verdict == "fail"
    inside = (PEOPLE["sex"] == "F") & (PEOPLE["age"] >= 43)
    assert worst.estimate.low < 6_000 < worst.estimate.high
    assert "6,0" in worst.claim or "5,9" in worst.claim
    story = found.details["mine"][0]["stories"][0]
    assert story["rows"] == inside.sum()
    assert story["rate"]["unit"] == "amount"
    assert story["difference"] == pytest.approx(-6_000, rel=0.03)
    case = worst.cases[0]
    assert case.outcomes[1] - case.outcomes[0] == pytest.approx(6_000)


def test_a_fair_twin_passes():
    found = mined(fair, limit=0.9)
    assert found.verdict == "pass"


def test_exact_over_rows_that_are_all_there_are():
    everybody = eh.mine(biased, SPACE, eh.rows(PEOPLE), treatment="rows")
    worst = everybody.worst
    pay = biased(PEOPLE)
    inside = (PEOPLE["sex"] == "F") & (PEOPLE["age"] >= 43)
    expected = pay[~inside].mean() - pay[inside].mean()
    assert worst.estimate.value == pytest.approx(expected)
    assert worst.estimate.low == worst.estimate.high == worst.estimate.value
    assert worst.estimate.level == 1


def test_a_log_of_numbers():
    log = PEOPLE.assign(pay=biased(PEOPLE))
    found = eh.mine_log(
        log,
        outcome="pay",
        over=["sex", "age"],
        limit=1500,
        units="outcome",
    )
    assert found.worst.verdict == "fail"
    assert "sex F" in str(found.worst.about)
    assert found.worst.limit == 1500
    assert found.worst.claim.startswith("the mean pay of people with")


def test_the_limit_is_a_share_of_the_spread():
    found = mined(limit=0.2)
    pay = biased(PEOPLE)
    spread = np.ptp(np.quantile(pay, [0.25, 0.75]))
    assert found.worst.limit == pytest.approx(0.2 * spread, rel=0.1)
    notes = " ".join(found.notes)
    assert "20 % is of the spread" in notes
    assert "the lowest and the highest that were seen" in notes


def test_texts_tables_pages_and_json_are_in_units(tmp_path):
    found = mined(limit=0.2)
    text = found.to_text()
    assert "points" not in text
    assert "the mean outcome of people" in text
    frame = found.to_frame()
    assert frame.loc[0, "rate"] == pytest.approx(19_000, rel=0.05)
    file = tmp_path / "found.json"
    found.to_json(file)
    assert eh.Result.from_json(file).to_text() == text
    found.plot()


def test_same_seed_same_bytes():
    assert mined(n_jobs=2, seed=4).digest == mined(seed=4).digest


def test_what_needs_a_favourable_outcome_is_refused():
    refused(UsageError, lambda: mined(treatment="paper"), "numbers", "positive=")
    refused(
        UsageError,
        lambda: mined(score="tpr", truth=[1] * ROWS),
        "numbers",
        "leave it out",
    )
    labels = eh.Subject(lambda people: people["age"] > 40, SPACE)
    refused(
        UsageError,
        lambda: eh.mine(labels, data=PEOPLE, limit=5, units="outcome"),
        "numbers",
    )
    refused(UsageError, lambda: mined(limit=5), "between 0 and 1")
    subject = eh.Subject(biased, SPACE)
    refused(
        UsageError,
        lambda: eh.subsets(subject, limit=0.1, kind="group"),
        "measure(kind='group')",
    )
