"""Repairs of planted models: claims hold as often as the level says, and noise is no repair."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import evenhand as eh
from evenhand.space.rule import Condition, Rule
from tests.support.simulation import covers, plausible, slow

if TYPE_CHECKING:
    import pandas as pd

SPACE = eh.Space(
    [
        eh.integer("sex", 0, 1),
        eh.integer("race", 0, 1),
        eh.integer("id", 0, 9999),
        eh.integer("income", 0, 99),
    ],
    protected=["sex", "race"],
)
LEVEL = 0.9
WAYS = 64
"""How many ways a model may come out of a training."""


def people(n: int, seed: int) -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(seed)
    rows = SPACE.decode(SPACE.draw(n, rng))
    return rows, rng.integers(0, 2, n)


def scattered(numbers: Any, way: int) -> Any:
    """Return the numbers from 0 to 9,999 in another order, which every way has its own of."""
    return (numbers * (2 * way + 6007) + 1231 * way) % 10_000


class Chancy(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A model whose discrimination is chance: its victims depend on every row of the training.

    With `spread` 0 the share is the same in each training, so that no repair can help; else it lies
    within the spread around the share, and some trainings do help.
    """

    def __init__(self, share: float = 0.1, spread: float = 0.0) -> None:
        self.share = share
        self.spread = spread

    def fit(self, X: Any, y: Any) -> Chancy:  # noqa: N803
        ids = np.asarray(X["id"])
        places = np.arange(1, len(X) + 1)
        seed = int(ids @ places) % 2**32
        rng = np.random.default_rng(seed)
        self.way_ = int(rng.integers(WAYS))
        # Whole numbers of ids, so that the true share is known exactly.
        factor = 1 + self.spread * rng.uniform(-1, 1)
        self.count_ = round(10_000 * self.share * factor)
        self.classes_ = np.array([0, 1])
        return self

    @property
    def truth_(self) -> float:
        """The true share of discriminatory inputs over sex."""
        return self.count_ / 10_000

    def predict(self, X: Any) -> Any:  # noqa: N803
        ids = X["id"].to_numpy()
        is_hit = scattered(ids, self.way_) < self.count_
        is_favoured = X["sex"].to_numpy() == 1
        return (is_favoured & is_hit).astype(int)


def chance(seed: int, *, share: float = 0.1, spread: float = 0.0, draws: int = 1600) -> Any:
    """Return a repair of a model whose discrimination is chance."""
    rows, truth = people(150, seed)
    return eh.repair(
        Chancy(share, spread),
        rows,
        truth,
        space=SPACE,
        over="sex",
        add="twins",
        tolerance=1.0,
        level=LEVEL,
        draws=draws,
        seed=seed,
        # What is claimed is claimed of the model that was tested, not of one fitted again.
        refit=False,
        progress=False,
    )


def test_the_share_that_is_planted_is_the_share_there_is():
    rows, truth = people(150, 0)
    model = Chancy(0.1, 0.5).fit(rows, truth)
    space = eh.Space(SPACE.features[:3], protected=["sex"])
    result = eh.measure(lambda frame: model.predict(frame), space, over="sex", margin=0.005)
    estimate = result.worst.estimate
    assert estimate.low <= model.truth_ <= estimate.high


@pytest.mark.parametrize("runs", [25, slow(400)])
def test_chance_is_not_called_a_repair(runs):
    """Up to eight trainings, of which nearly always one looks better, and would be published."""
    claimed = 0
    kept = 0
    looked = 0
    for seed in range(runs):
        found = chance(seed, draws=400 if seed % 2 else 1600)
        assert found.original.truth_ == found.model.truth_
        kept += found.changed
        looked += any(step.change.fall.value > 0 for step in found.history)
        claimed += found.change.verdict == "fell" or found.verdict == "pass"
        assert len(found.history) in (7, 8)
    assert looked > 0.9 * runs
    assert plausible(kept, runs, LEVEL, odds=1e-3), kept
    assert plausible(claimed, runs, LEVEL, odds=1e-3), claimed


@pytest.mark.parametrize(
    ("runs", "share"),
    [
        (12, 0.2),
        slow(250, 0.02),
        slow(250, 0.3),
    ],
)
def test_all_that_is_claimed_holds_although_the_best_of_many_trainings_was_chosen(
    runs, share
):
    missed = 0
    changed = 0
    for seed in range(runs):
        found = chance(seed, share=share, spread=0.9)
        before = found.original.truth_
        after = found.model.truth_
        changed += found.changed
        pairs = [(found.before, before), (found.after, after)]
        if found.changed:
            pairs.append((found.change.fall, before - after))
            pairs.append((found.fewer, 1 - after / before))
        held = all(covers(estimate, truth, 1e-12) for estimate, truth in pairs)
        missed += not held
        # What is kept was surely better at every step, so that what comes out is hardly ever worse
        # than what went in.
        if found.changed and held and found.verdict == "pass":
            assert after < before
    assert changed > runs / 2
    assert plausible(missed, runs, LEVEL, odds=1e-3), missed


class Stubborn(Chancy):
    """A model that is the same after every training."""

    def fit(self, X: Any, y: Any) -> Stubborn:  # noqa: N803
        self.way_ = 7
        self.count_ = 1000
        self.classes_ = np.array([0, 1])
        return self


def test_a_training_that_cannot_change_anything_changes_nothing():
    rows, truth = people(150, 0)
    found = eh.repair(
        Stubborn(),
        rows,
        truth,
        space=SPACE,
        over="sex",
        add="twins",
        draws=400,
        progress=False,
    )
    assert found.outcome == "no step helped"
    assert found.verdict == "fail"
    for step in found.history:
        fall = step.change.fall
        assert fall.value == 0
        assert fall.low <= 0 <= fall.high


class ChancyGroups(Chancy):
    """Favours people of sex 1 by the same share in each training, and whom is chance."""

    def predict(self, X: Any) -> Any:  # noqa: N803
        half_gap = self.count_ // 2
        is_favoured = X["sex"].to_numpy() == 1
        bar = np.where(is_favoured, 5000 + half_gap, 5000 - half_gap)
        ids = X["id"].to_numpy()
        return (scattered(ids, self.way_) < bar).astype(int)


@pytest.mark.parametrize("runs", [8, slow(400)])
def test_the_smallest_gap_of_many_on_validation_rows_is_not_what_is_claimed(runs):
    """The best of eight trainings is kept; on rows that did not choose it, the gap is as it was."""
    space = eh.Space([SPACE.features[0], SPACE.features[2]], protected=["sex"])
    rule = Rule((Condition("sex", low=1),))
    wrong = 0
    missed = 0
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        rows = space.decode(space.draw(800, rng))
        truth = rng.integers(0, 2, 800)
        found = eh.repair(
            ChancyGroups(0.3),
            rows,
            truth,
            space=space,
            over="sex",
            method="subgroup",
            rule=rule,
            add="members",
            tolerance=1.0,
            level=LEVEL,
            seed=seed,
            progress=False,
        )
        wrong += found.change.verdict == "fell" or found.verdict == "pass"
        missed += not (covers(found.before, 0.3) and covers(found.after, 0.3))
        kept = [step for step in found.history if step.kept]
        assert len(kept) <= 1
    assert plausible(wrong, runs, LEVEL, odds=1e-3), wrong
    assert plausible(missed, runs, LEVEL, odds=1e-3), missed


def test_a_planted_gap_is_mended_at_little_cost():
    """Older women were denied what others of their income got."""
    space = eh.Space(
        [
            eh.integer("sex", 0, 1),
            eh.integer("old", 0, 1),
            eh.integer("income", 0, 99),
            eh.integer("debt", 0, 40),
        ],
        protected=["sex", "old"],
    )
    rng = np.random.default_rng(0)
    rows = space.decode(space.draw(3000, rng))
    harmed = (rows["sex"] == 0) & (rows["old"] == 1)
    score = rows["income"] - rows["debt"] / 2 + rng.normal(0, 12, 3000)
    truth = score > 40 + 18 * harmed
    model = make_pipeline(StandardScaler(), LogisticRegression())
    found = eh.repair(
        model,
        rows,
        truth,
        space=space,
        method="subgroup",
        steps=4,
        tolerance=0.03,
        progress=False,
    )
    assert isinstance(found.about, Rule)
    assert {condition.feature for condition in found.about.conditions} <= {"sex", "old"}
    assert found.before.value > 0.1
    assert found.after.value < found.before.value
    assert found.accuracy_after > found.accuracy_before - 0.05
    kept = next(step for step in found.history if step.kept)
    allowed = [step for step in found.history if "fell by" not in step.why]
    smallest_gap = min(step.change.after.value for step in allowed)
    assert kept.change.after.value == smallest_gap
    added = [step.added for step in found.history]
    assert min(added) == 50
    assert max(added) <= 0.1 * found.sizes["training"]


def test_planted_discrimination_is_mended_with_all_that_was_planted_named():
    """Twins teach a model that sex does not matter; of race it learns only chance."""
    rng = np.random.default_rng(1)
    rows = SPACE.decode(SPACE.draw(2000, rng)).drop(columns="id")
    features = [feature for feature in SPACE.features if feature.name != "id"]
    space = eh.Space(features, protected=["sex", "race"])
    score = rows["income"] + 14 * rows["sex"] + rng.normal(0, 10, 2000)
    model = make_pipeline(StandardScaler(), LogisticRegression())
    found = eh.repair(
        model,
        rows,
        score > 55,
        space=space,
        over="sex",
        add="twins",
        tolerance=0.05,
        progress=False,
    )
    assert found.change.verdict == "fell"
    assert found.fewer.value > 0.8
    assert found.fewer.low > 0.6  # of 500 held-out people
    assert found.inputs is not None
    assert found.inputs.after.level == 1
    assert found.inputs.after.value < 0.2 * found.inputs.before.value
    race = next(check for check in found.checks if check.kind == "other")
    assert race.before.level == 1  # of 400 inputs, all were asked
    change_of_race = abs(race.after.value - race.before.value)
    assert change_of_race < 0.2 * found.change.fall.value
    assert found.region in ("good trade-off", "win-win")
    assert found.accuracy_before - found.accuracy_after < 0.06
