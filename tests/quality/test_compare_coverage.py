"""Limits of a comparison hold their level, and regions are not claimed wrongly."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from evenhand.methods.compare.axes import Axes, as_bias, as_performance
from evenhand.methods.compare.comparison import Baseline, Comparison
from evenhand.methods.compare.contingency import Frame
from evenhand.methods.compare.regions import DEGREES, REGIONS, Overwriting, regions
from evenhand.methods.compare.resampling import resampled
from evenhand.methods.compare.standings import IntervalMethod, Scores, judge
from evenhand.runtime.errors import UsageError
from tests.support.simulation import covers, holds, slow

if TYPE_CHECKING:
    from collections.abc import Iterable

LEVEL = 0.95
RESAMPLES = 400
SLACK = 1e-9
ROWS = [300, *(slow(n) for n in (1000, 5000))]
QUICK = {"a good trade-off", "by ratio", "three groups", "hardly a change", "a tiny group"}
"""Situations that are simulated by every run of the tests; each other one only where all are run.
"""


def quick_first(names: Iterable[str]) -> list[Any]:
    """Mark those that are not quick as slow."""
    marked: list[Any] = []
    for name in names:
        if name in QUICK:
            marked.append(name)
        else:
            marked.append(slow(name))
    return marked


def all_cover(estimates: Iterable[Any], truths: Iterable[float]) -> bool:
    """Return whether all limits hold the truth."""
    pairs = zip(estimates, truths, strict=True)
    return all(covers(estimate, truth, SLACK) for estimate, truth in pairs)


@dataclass(frozen=True)
class Plant:
    """People by group, with rates of positives, hits and alarms, and methods to compare.

    A method is the chance that it predicts 1, by group, true label and the original's prediction.
    """

    shares: tuple[float, ...]
    positives: tuple[float, ...]
    hits: tuple[float, ...]
    alarms: tuple[float, ...]
    changes: tuple[Any, ...]
    bias: str = "spd"
    kinds: Any = field(init=False)
    """All kinds of people: group, true label, the original's prediction, and each method's."""
    chances: Any = field(init=False)
    """The share of each kind."""

    def __post_init__(self) -> None:
        kinds = []
        chances = []
        groups = range(len(self.shares))
        for group, truth, predicted in product(groups, (0, 1), (0, 1)):
            chance = self._chance(group, truth, predicted)
            after = [change(group, truth, predicted) for change in self.changes]
            for changed in product((0, 1), repeat=len(after)):
                parts = []
                for rate, is_one in zip(after, changed, strict=True):
                    parts.append(rate if is_one else 1 - rate)
                kinds.append((group, truth, predicted, *changed))
                chances.append(chance * float(np.prod(parts)))
        object.__setattr__(self, "kinds", np.array(kinds))
        object.__setattr__(self, "chances", np.array(chances))

    def _chance(self, group: int, truth: int, predicted: int) -> float:
        """Return the share of people of a group, true label and prediction of the original."""
        positives = self.positives[group]
        rate = self.hits[group] if truth else self.alarms[group]
        true_share = positives if truth else 1 - positives
        predicted_share = rate if predicted else 1 - rate
        return self.shares[group] * true_share * predicted_share

    @cached_property
    def frame(self) -> Frame:
        groups = list(range(len(self.shares)))
        return Frame.of([0, 1], {"group": groups})

    @cached_property
    def axes(self) -> Axes:
        bias = as_bias(self.bias, self.frame, 1)
        performance = as_performance("accuracy", self.frame, 1)
        return Axes(bias, performance, Overwriting(DEGREES, 1))

    def tables(self, weights: Any) -> Any:
        """Return the contingency table of the original and of each method."""
        frame = self.frame
        size = int(np.prod(frame.shape))
        groups, labels, *predictions = self.kinds.T
        tables = []
        for predicted in predictions:
            cells = frame.cells(groups, labels, predicted)
            table = np.bincount(cells, weights, size).reshape(frame.shape)
            tables.append([table])
        return np.array(tables)

    @cached_property
    def scores(self) -> Scores:
        """Performance and bias of the original and of each method, without error."""
        return self.axes.score(self.tables(self.chances)).mean()

    @cached_property
    def truth(self) -> Any:
        """The gain, added bias, height over the line and area of each method, without error."""
        return self.scores.differences()


@dataclass
class Tally:
    """In how many samples limits and claims were right."""

    runs: int = 0
    together: int = 0
    """Samples whose limits of performance and bias, of all, hold."""
    honest: int = 0
    """Samples in which the true region of every method is plausible."""
    gains: int = 0
    """Samples in which all limits of gains hold."""
    claims: int = 0
    heights: int = 0


def sampled(plant: Plant, n: int, runs: int, seed: int = 0) -> Tally:
    """Draw people, resample and judge them as compare does, many times."""
    rng = np.random.default_rng(seed)
    axes = plant.axes
    tally = Tally()
    names = ["original", *(str(at) for at in range(len(plant.changes)))]
    method = IntervalMethod(LEVEL, n, "people")
    for _ in range(runs):
        drawn = rng.multinomial(n, plant.chances)
        rows = plant.kinds[np.repeat(np.arange(len(drawn)), drawn)]
        point = axes.score(plant.tables(drawn.astype(float))).mean()
        predictions = rows.T[2:, None, :]
        ((tables, weights),) = resampled(
            plant.frame, rows[:, 0], rows[:, 1], predictions, RESAMPLES, rng
        )
        many = axes.score(tables, ends=True).mean(weights)
        try:
            found = judged(names, point, many, method, axes)
        except UsageError:  # an original that shows no bias, or nothing to give up
            continue
        tally.runs += 1
        count_estimates(tally, plant, found)
        tally.heights += heights_hold(point, many, plant.truth[:3], method)
    return tally


def count_estimates(tally: Tally, plant: Plant, found: Comparison) -> None:
    """Count what a comparison says of the scores, regions and gains of a plant."""
    scores = plant.scores
    truth = plant.truth
    performance = [found.start[0]]
    bias = [found.start[1]]
    gains = []
    for standing in found.standings:
        performance.append(standing.performance)
        bias.append(standing.bias)
        gains.append(standing.gain)
    performance_holds = all_cover(performance, scores.performance)
    bias_holds = all_cover(bias, scores.bias)
    tally.together += performance_holds and bias_holds
    tally.gains += all_cover(gains, truth[3])
    is_honest = True
    for standing, code in zip(found.standings, regions(*truth[:3]), strict=True):
        is_honest &= REGIONS[code] in standing.plausible
        tally.claims += len(standing.plausible) == 1
    tally.honest += is_honest


def heights_hold(point: Scores, many: Scores, truth: Any, method: IntervalMethod) -> bool:
    """Return whether the limits of gain, added bias and height over the line hold."""
    resampled_differences = np.moveaxis(many.known().differences(), 1, 0)
    low, high = method.limits(point.differences()[:3], resampled_differences[:, :3])
    is_held = (low <= truth + SLACK) & (truth <= high + SLACK)
    return bool(is_held.all())


def judged(
    names: list[str], point: Scores, many: Scores, method: IntervalMethod, axes: Axes
) -> Comparison:
    line = Baseline(DEGREES, (), (), 1, "label", "exact")
    return judge(
        names,
        point,
        many,
        method,
        line,
        bounds=((0.0, 1.0), (0.0, 1.0)),
        bias="",
        performance="",
        seed=0,
        runs=1,
    )


def more_ones(share: float, *where: tuple[int, int]) -> Any:
    """Predict 1 for this share of the zeros in some groups with some true labels."""

    def rate(group: int, truth: int, predicted: int) -> float:
        if (group, truth) not in where:
            return predicted
        return predicted + (1 - predicted) * share

    return rate


G0 = ((0, 0), (0, 1))
EVERYONE = tuple(product(range(3), (0, 1)))
TWO: dict[str, Any] = {
    "shares": (0.5, 0.5),
    "positives": (0.5, 0.5),
    "hits": (0.8, 0.9),
    "alarms": (0.2, 0.3),
}
SITUATIONS = {
    "a good trade-off": Plant(**TWO, changes=(more_ones(0.1, *G0),)),
    "by odds": Plant(**TWO, changes=(more_ones(0.1, *G0),), bias="aod"),
    "by hits": Plant(**TWO, changes=(more_ones(0.3, (0, 1)),), bias="eod"),
    "by ratio": Plant(**TWO, changes=(more_ones(0.1, *G0),), bias="di"),
    "unequal groups": Plant(
        (0.2, 0.8), (0.3, 0.5), (0.6, 0.8), (0.1, 0.3), (more_ones(0.15, *G0),)
    ),
    "a bias near none": Plant(
        (0.4, 0.6),
        (0.5, 0.5),
        (0.8, 0.82),
        (0.2, 0.21),
        (lambda group, truth, predicted: 0.05 + 0.9 * predicted,),
    ),
    "three groups": Plant(
        (0.5, 0.3, 0.2),
        (0.5, 0.45, 0.4),
        (0.8, 0.75, 0.7),
        (0.3, 0.2, 0.2),
        (
            more_ones(0.08, (1, 0), (1, 1), (2, 0), (2, 1)),
            lambda group, truth, predicted: 0.9 * predicted,
        ),
    ),
    "three groups, two alike": Plant(
        (0.4, 0.3, 0.3),
        (0.5,) * 3,
        (0.8, 0.8, 0.7),
        (0.2,) * 3,
        (lambda group, truth, predicted: 0.02 + 0.95 * predicted,),
    ),
    "the original itself": Plant(**TWO, changes=(more_ones(0.0),)),
    "on the line": Plant(**TWO, changes=(more_ones(0.3, *EVERYONE),)),
    "few changes": Plant(**TWO, changes=(more_ones(0.1, (0, 1)),)),
    "hardly a change": Plant(**TWO, changes=(more_ones(0.01, (0, 1)),)),
    "a win-win": Plant(**TWO, changes=(more_ones(0.5, (0, 1)),)),
}


@pytest.mark.parametrize("n", ROWS)
@pytest.mark.parametrize("name", quick_first(SITUATIONS))
def test_limits_hold_together_and_regions_are_not_claimed_wrongly(name, n):
    runs = 80 if n < 5000 else 50
    found = sampled(SITUATIONS[name], n, runs)
    assert found.runs > 0.95 * runs, found
    # Resampling is right in the limit of many rows; with few it may fall short by this much.
    slack = 0.03
    assert holds(found.honest, found.runs, LEVEL), found
    assert holds(found.together, found.runs, LEVEL - slack), found
    assert holds(found.heights, found.runs, LEVEL - slack), found
    assert holds(found.gains, found.runs, LEVEL - slack), found


FOLDED = {
    "bias about none afterwards": Plant(
        (0.5, 0.5), (0.5, 0.5), (0.75, 0.8), (0.2, 0.25), (more_ones(0.1, *G0),)
    ),
    "a tiny group": Plant(
        (0.03, 0.97), (0.5, 0.5), (0.95, 0.9), (0.1, 0.3), (more_ones(0.15, *G0),)
    ),
}


@pytest.mark.parametrize("n", ROWS)
@pytest.mark.parametrize("name", quick_first(FOLDED))
def test_where_the_original_may_have_no_bias_claims_and_gains_still_hold(name, n):
    """The line then has hardly an extent, so that no claim may rest on heights over it."""
    found = sampled(FOLDED[name], n, 80 if n < 5000 else 50)
    assert holds(found.honest, found.runs, LEVEL), found
    assert holds(found.together, found.runs, LEVEL - 0.03), found
    assert holds(found.gains, found.runs, LEVEL - 0.06), found


def test_without_what_was_not_seen_regions_are_claimed_wrongly(monkeypatch):
    monkeypatch.setattr(
        "evenhand.methods.compare.resampling.unseen", lambda tables, rng: tables
    )
    found = sampled(FOLDED["a tiny group"], 300, 50)
    assert found.honest < 0.6 * found.runs, found
    found = sampled(SITUATIONS["hardly a change"], 300, 50)
    assert found.honest < 0.2 * found.runs, found


def test_what_is_clear_is_claimed():
    for name in (
        "a good trade-off",
        "by ratio",
        "unequal groups",
        "few changes",
        "a win-win",
    ):
        found = sampled(SITUATIONS[name], 5000, 20)
        assert found.claims > 0.9 * found.runs, (name, found)


FRAME = Frame.of([0, 1], {"group": [0, 1]})
AXES = Axes(
    as_bias("spd", FRAME, 1),
    as_performance("accuracy", FRAME, 1),
    Overwriting((0.0, 1.0), 0),
)


def data(n: int, rng: Any, gap: float) -> tuple[Any, Any, Any]:
    """Return group, true label and one feature that depends on both."""
    group = (rng.random(n) < 0.5).astype(int)
    truth = (rng.random(n) < 0.4).astype(int)
    feature = truth * 1.5 + group * gap + rng.normal(size=n)
    return group, truth, feature


def split(group: Any, truth: Any, feature: Any, test_size: float, rng: Any) -> Scores:
    """Train a threshold, and one per group that lets as many pass; score both on test rows."""
    order = rng.permutation(len(group))
    cut = round(test_size * len(group))
    test = order[:cut]
    train = order[cut:]
    trained = feature[train]
    mean_of_zeros = trained[truth[train] == 0].mean()
    mean_of_ones = trained[truth[train] == 1].mean()
    threshold = (mean_of_zeros + mean_of_ones) / 2
    passing = (trained > threshold).mean()
    of_group = []
    for code in (0, 1):
        of_group.append(np.quantile(trained[group[train] == code], 1 - passing))
    thresholds = np.array(of_group)
    tables = []
    for limit in (threshold, thresholds[group[test]]):
        predicted = (feature[test] > limit).astype(int)
        cells = FRAME.cells(group[test], truth[test], predicted)
        tables.append(FRAME.table(cells))
    return AXES.score(np.array(tables)[:, None])


def runs(group: Any, truth: Any, feature: Any, number: int, rng: Any) -> Scores:
    return joined([split(group, truth, feature, 0.3, rng) for _ in range(number)])


def joined(parts: list[Scores]) -> Scores:
    return Scores(
        np.concatenate([part.performance for part in parts]),
        np.concatenate([part.bias for part in parts]),
        (
            np.concatenate([part.line[0] for part in parts]),
            np.concatenate([part.line[1] for part in parts]),
        ),
    )


def kept(found: Scores, truth: Scores, method: IntervalMethod) -> tuple[bool, bool]:
    """Return whether limits of differences hold, and whether the true region is plausible."""
    true = truth.mean().differences()[:3]
    point = found.mean()
    differences = np.moveaxis(found.differences(), 1, 0)[:, :3]
    low, high = method.limits(point.differences()[:3], differences)
    inside = bool(((low <= true) & (true <= high)).all())
    (region,) = regions(*true)
    comparison = judged(["original", "method"], point, found, method, AXES)
    return inside, REGIONS[int(region)] in comparison.standings[0].plausible


@pytest.mark.parametrize("gap", [0.5, slow(0.1)])
@pytest.mark.parametrize("number", [5, slow(20)])
def test_runs_over_splits_of_one_data_set_hold_for_new_splits(gap, number):
    rng = np.random.default_rng(7)
    rows = data(600, rng, gap)
    truth = runs(*rows, 1000, rng)
    method = IntervalMethod(LEVEL, number, "", 0.3)
    total = 50
    inside = 0
    honest = 0
    for _ in range(total):
        limits_hold, is_plausible = kept(runs(*rows, number, rng), truth, method)
        inside += limits_hold
        honest += is_plausible
    assert holds(inside, total, LEVEL), inside
    assert holds(honest, total, LEVEL), honest


@pytest.mark.slow
@pytest.mark.parametrize("gap", [0.5, 0.1])
def test_runs_over_splits_hold_for_new_data(gap):
    """What the correction is for: the data at hand are one sample, and splits of them overlap."""
    rng = np.random.default_rng(8)
    truth = joined([runs(*data(600, rng, gap), 1, rng) for _ in range(1000)])
    inside = {}
    honest = {}
    for size in (0.3, 0.0):
        method = IntervalMethod(LEVEL, 10, "", size)
        results = []
        for _ in range(100):
            found = runs(*data(600, rng, gap), 10, rng)
            results.append(kept(found, truth, method))
        inside[size] = sum(limits_hold for limits_hold, _ in results)
        honest[size] = sum(is_plausible for _, is_plausible in results)
    assert holds(inside[0.3], 100, LEVEL - 0.03), inside
    assert holds(honest[0.3], 100, LEVEL), honest
    # As if splits were independent, the interval falls short.
    assert inside[0.0] < inside[0.3], inside
