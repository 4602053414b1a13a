"""Regressors of real data: a planted bias is found by every verb, and a fair twin passes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor

import evenhand as eh
from tests.support.paths import BESIDE

COLUMNS = ["population", "agePct65up", "medIncome", "PctPopUnderPov", "PctUnemployed"]
PLANTED = 0.2
"""What the biased model adds to the crime rate of places with many black people."""


class PlantedCrime:
    """A model that adds something for places with many black people."""

    def __init__(self, model: Any, extra: float) -> None:
        self.model = model
        self.extra = extra

    def __call__(self, places: pd.DataFrame) -> Any:
        found = self.model.predict(places[COLUMNS])
        return found + self.extra * (places["black"] == "many").to_numpy()


@pytest.fixture(scope="module")
def places() -> pd.DataFrame:
    file = Path(os.environ.get("EVENHAND_DATA", BESIDE)) / "communities.csv.gz"
    if not file.exists():
        pytest.skip(f"{file} is not there")
    frame = pd.read_csv(file)
    # At random, so that the fair model has nothing to be unfair about.
    many = np.random.default_rng(0).random(len(frame)) < 0.3
    return frame[[*COLUMNS, "ViolentCrimesPerPop"]].assign(
        black=np.where(many, "many", "few")
    )


@pytest.fixture(scope="module")
def model(places) -> HistGradientBoostingRegressor:
    learner = HistGradientBoostingRegressor(max_iter=40, random_state=0)
    return learner.fit(places[COLUMNS], places["ViolentCrimesPerPop"])


@pytest.fixture(scope="module")
def space(places) -> eh.Space:
    inputs = places.drop(columns="ViolentCrimesPerPop")
    return eh.Space.from_frame(inputs, protected=["black"])


CHECKS = [
    {"job": "measure", "limit": 0.05},
    {"job": "measure", "kind": "group", "limit": 0.25},
    {"job": "subsets", "limit": 0.05, "among": ["black"]},
    {"job": "mine", "limit": 0.4},
]


@pytest.mark.parametrize(("extra", "expected"), [(PLANTED, "fail"), (0.0, "pass")])
def test_a_planted_bias_is_found_and_a_fair_twin_passes(model, space, extra, expected):
    audit = eh.audit(PlantedCrime(model, extra), space, checks=CHECKS)
    verdicts = {check.name: check.verdict for check in audit.checks}
    assert set(verdicts.values()) == {expected}, verdicts


def test_a_search_finds_places_and_none_of_the_fair_twin(model, space):
    budget = eh.Budget(queries=4000)
    biased = eh.search(PlantedCrime(model, PLANTED), space, budget=budget, limit=0)
    assert biased.verdict == "fail"
    gaps = []
    for case in biased.worst.cases:
        own, twin = case.outcomes
        gaps.append(abs(own - twin))
    assert gaps == pytest.approx([PLANTED] * len(gaps))
    fair = eh.search(PlantedCrime(model, 0.0), space, budget=budget, limit=0)
    assert fair.worst.estimate.value == 0


def test_errors_of_the_model_by_group(model, places):
    log = places.assign(predicted=PlantedCrime(model, PLANTED)(places))
    options: dict[str, Any] = {
        "outcome": "predicted",
        "truth": "ViolentCrimesPerPop",
        "over": "black",
        "metric": "mean_error",
        "limit": PLANTED / 2,
        "units": "outcome",
    }
    found = eh.measure_log(log, **options)
    bias = next(finding for finding in found.findings if finding.limit is not None)
    assert bias.verdict == "fail"
    assert bias.estimate.low < PLANTED < bias.estimate.high
    fair = log.assign(predicted=PlantedCrime(model, 0.0)(places))
    passed = eh.measure_log(fair, **options)
    assert passed.verdict == "pass"
