"""Limits of a comparison hold their level, and regions are not claimed wrongly: planted people, and
new splits.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy.stats import binom

from evenhand.methods.compare.axes import Axes, as_bias, as_performance
from evenhand.methods.compare.comparison import Baseline, Comparison
from evenhand.methods.compare.contingency import Frame
from evenhand.methods.compare.regions import DEGREES, REGIONS, Overwriting, regions
from evenhand.methods.compare.resampling import resampled
from evenhand.methods.compare.standings import IntervalMethod, Scores, judge
from evenhand.runtime.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

LEVEL, RESAMPLES = 0.95, 400
ROWS = [300, *(pytest.param(n, marks=pytest.mark.slow) for n in (1000, 5000))]
QUICK = {"a good trade-off", "by ratio", "three groups", "hardly a change", "a tiny group"}
"""Situations that are simulated by every run of the tests; each other one only where all are run.
"""


def quick_first(names: Iterable[str]) -> list[Any]:
    """Mark those that are not quick as slow."""
    return [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in names]


def holds(kept: int, total: int, level: float) -> bool:
    """Whether so few are no stranger than once in 10,000 for limits that hold with this level."""
    return bool(binom.cdf(kept, total, level) > 1e-4)


@dataclass(frozen=True)
class Plant:
    """People by group, with rates of positives, hits and alarms for each, and methods that change
    what is told.
    """

    shares: tuple[float, ...]
    positives: tuple[float, ...]
    hits: tuple[float, ...]
    alarms: tuple[float, ...]
    changes: tuple[Any, ...]
    bias: str = "spd"
    kinds: Any = field(init=False)
    chances: Any = field(init=False)

    def __post_init__(self) -> None:
        found = []
        for group, truth, told in product(range(len(self.shares)), (0, 1), (0, 1)):
            right = self.positives[group] if truth else 1 - self.positives[group]
            said = (self.hits if truth else self.alarms)[group]
            chance = self.shares[group] * right * (said if told else 1 - said)
            after = [change(group, truth, told) for change in self.changes]
            for each in product((0, 1), repeat=len(after)):
                parts = [one if yes else 1 - one for one, yes in zip(after, each, strict=True)]
                found.append(((group, truth, told, *each), chance * float(np.prod(parts))))
        object.__setattr__(self, "kinds", np.array([kind for kind, _ in found]))
        object.__setattr__(self, "chances", np.array([chance for _, chance in found]))

    @cached_property
    def frame(self) -> Frame:
        return Frame.of([0, 1], {"group": list(range(len(self.shares)))})

    @cached_property
    def axes(self) -> Axes:
        scores = as_bias(self.bias, self.frame, 1), as_performance("accuracy", self.frame, 1)
        return Axes(*scores, Overwriting(DEGREES, 1))

    def tables(self, weights: Any) -> Any:
        frame, size = self.frame, int(np.prod(self.frame.shape))
        cells = [frame.cells(self.kinds[:, 0], self.kinds[:, 1], told) for told in self.kinds.T[2:]]
        return np.array([[np.bincount(each, weights, size).reshape(frame.shape)] for each in cells])

    @property
    def truth(self) -> Any:
        """What is gained, how much more biased, the height over the line and the area of each,
        without error.
        """
        return self.axes.score(self.tables(self.chances)).mean().differences()


@dataclass
class Tally:
    """What many samples said of a truth."""

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
    rng, axes, tally = np.random.default_rng(seed), plant.axes, Tally()
    names = ["original", *(str(at) for at in range(len(plant.changes)))]
    truth = plant.truth
    expected = [REGIONS[code] for code in regions(*truth[:3])]
    scores = axes.score(plant.tables(plant.chances)).mean()
    for _ in range(runs):
        drawn = rng.multinomial(n, plant.chances)
        rows = plant.kinds[np.repeat(np.arange(len(drawn)), drawn)]
        point = axes.score(plant.tables(drawn.astype(float))).mean()
        parts = [
            axes.score(tables, ends=True).mean(weights)
            for tables, weights in resampled(
                plant.frame, rows[:, 0], rows[:, 1], rows.T[2:, None, :], RESAMPLES, rng
            )
        ]
        (many,) = parts
        try:
            found = judged(names, point, many, IntervalMethod(LEVEL, n, "people"), axes)
        except UsageError:  # an original that shows no bias, or nothing to give up
            continue
        tally.runs += 1
        told = [found.start, *((one.performance, one.bias) for one in found.standings)]
        tally.together += all(
            performance.low <= right + 1e-9
            and right <= performance.high + 1e-9
            and bias.low <= unfair + 1e-9
            and unfair <= bias.high + 1e-9
            for (performance, bias), right, unfair in zip(
                told, scores.performance, scores.bias, strict=True
            )
        )
        pairs = list(zip(found.standings, expected, strict=True))
        tally.honest += all(region in one.plausible for one, region in pairs)
        tally.claims += sum(len(one.plausible) == 1 for one, _ in pairs)
        tally.gains += all(
            one.gain.low <= area + 1e-9 and area <= one.gain.high + 1e-9
            for one, area in zip(found.standings, truth[3], strict=True)
        )
        kept = many.known()
        low, high = IntervalMethod(LEVEL, n, "").limits(
            point.differences()[:3], np.moveaxis(kept.differences(), 1, 0)[:, :3]
        )
        tally.heights += bool(((low <= truth[:3] + 1e-9) & (truth[:3] <= high + 1e-9)).all())
    return tally


def judged(
    names: list[str], point: Scores, many: Scores, sureness: IntervalMethod, axes: Axes
) -> Comparison:
    line = Baseline(DEGREES, (), (), 1, "label", "exact")
    bounds = ((0.0, 1.0), (0.0, 1.0))
    return judge(
        names, point, many, sureness, line, bounds=bounds, bias="", performance="", seed=0, runs=1
    )


def told_more(share: float, *where: tuple[int, int]) -> Any:
    """Say 1 to this share of those of some groups and true labels whom the original says 0."""
    return lambda group, truth, told: told + (1 - told) * share if (group, truth) in where else told


G0 = ((0, 0), (0, 1))
EVERYONE = tuple(product(range(3), (0, 1)))
TWO: dict[str, Any] = {
    "shares": (0.5, 0.5),
    "positives": (0.5, 0.5),
    "hits": (0.8, 0.9),
    "alarms": (0.2, 0.3),
}
SITUATIONS = {
    "a good trade-off": Plant(**TWO, changes=(told_more(0.1, *G0),)),
    "by odds": Plant(**TWO, changes=(told_more(0.1, *G0),), bias="aod"),
    "by hits": Plant(**TWO, changes=(told_more(0.3, (0, 1)),), bias="eod"),
    "by ratio": Plant(**TWO, changes=(told_more(0.1, *G0),), bias="di"),
    "unequal groups": Plant(
        (0.2, 0.8), (0.3, 0.5), (0.6, 0.8), (0.1, 0.3), (told_more(0.15, *G0),)
    ),
    "a bias near none": Plant(
        (0.4, 0.6),
        (0.5, 0.5),
        (0.8, 0.82),
        (0.2, 0.21),
        (lambda group, truth, told: 0.05 + 0.9 * told,),
    ),
    "three groups": Plant(
        (0.5, 0.3, 0.2),
        (0.5, 0.45, 0.4),
        (0.8, 0.75, 0.7),
        (0.3, 0.2, 0.2),
        (told_more(0.08, (1, 0), (1, 1), (2, 0), (2, 1)), lambda group, truth, told: 0.9 * told),
    ),
    "three groups, two alike": Plant(
        (0.4, 0.3, 0.3),
        (0.5,) * 3,
        (0.8, 0.8, 0.7),
        (0.2,) * 3,
        (lambda group, truth, told: 0.02 + 0.95 * told,),
    ),
    "the original itself": Plant(**TWO, changes=(told_more(0.0),)),
    "on the line": Plant(**TWO, changes=(told_more(0.3, *EVERYONE),)),
    "few changes": Plant(**TWO, changes=(told_more(0.1, (0, 1)),)),
    "hardly a change": Plant(**TWO, changes=(told_more(0.01, (0, 1)),)),
    "a win-win": Plant(**TWO, changes=(told_more(0.5, (0, 1)),)),
}


@pytest.mark.parametrize("n", ROWS)
@pytest.mark.parametrize("name", quick_first(SITUATIONS))
def test_limits_hold_together_and_regions_are_not_claimed_wrongly(name, n):
    found = sampled(SITUATIONS[name], n, runs := 80 if n < 5000 else 50)
    assert found.runs > 0.95 * runs, found
    # Resampling is right in the limit of many rows; with few it may fall short by this much.
    slack = 0.03
    assert holds(found.honest, found.runs, LEVEL), found
    assert holds(found.together, found.runs, LEVEL - slack), found
    assert holds(found.heights, found.runs, LEVEL - slack), found
    assert holds(found.gains, found.runs, LEVEL - slack), found


FOLDED = {
    "bias about none afterwards": Plant(
        (0.5, 0.5), (0.5, 0.5), (0.75, 0.8), (0.2, 0.25), (told_more(0.1, *G0),)
    ),
    "a tiny group": Plant(
        (0.03, 0.97), (0.5, 0.5), (0.95, 0.9), (0.1, 0.3), (told_more(0.15, *G0),)
    ),
}


@pytest.mark.parametrize("n", ROWS)
@pytest.mark.parametrize("name", quick_first(FOLDED))
def test_where_the_original_may_have_no_bias_claims_and_gains_still_hold(name, n):
    """The line then has hardly an extent: heights over it are rough, and no claim may rest on that."""
    found = sampled(FOLDED[name], n, 80 if n < 5000 else 50)
    assert holds(found.honest, found.runs, LEVEL), found
    assert holds(found.together, found.runs, LEVEL - 0.03), found
    assert holds(found.gains, found.runs, LEVEL - 0.06), found


def test_without_what_was_not_seen_regions_are_claimed_wrongly(monkeypatch):
    monkeypatch.setattr("evenhand.methods.compare.resampling.unseen", lambda tables, rng: tables)
    found = sampled(FOLDED["a tiny group"], 300, 50)
    assert found.honest < 0.6 * found.runs, found
    found = sampled(SITUATIONS["hardly a change"], 300, 50)
    assert found.honest < 0.2 * found.runs, found


def test_what_is_clear_is_claimed():
    for name in ("a good trade-off", "by ratio", "unequal groups", "few changes", "a win-win"):
        found = sampled(SITUATIONS[name], 5000, 20)
        assert found.claims > 0.9 * found.runs, (name, found)


FRAME = Frame.of([0, 1], {"group": [0, 1]})
AXES = Axes(
    as_bias("spd", FRAME, 1), as_performance("accuracy", FRAME, 1), Overwriting((0.0, 1.0), 0)
)


def data(n: int, rng: Any, gap: float) -> tuple[Any, Any, Any]:
    """Group, true label and one feature that tells of both."""
    group, truth = (rng.random(n) < 0.5).astype(int), (rng.random(n) < 0.4).astype(int)
    return group, truth, truth * 1.5 + group * gap + rng.normal(size=n)


def split(group: Any, truth: Any, feature: Any, test_size: float, rng: Any) -> Scores:
    """Train a threshold, and one for each group that lets as many pass, and score both on the test
    rows.
    """
    order = rng.permutation(len(group))
    cut = round(test_size * len(group))
    test, train = order[:cut], order[cut:]
    middle = (
        feature[train][truth[train] == 0].mean() + feature[train][truth[train] == 1].mean()
    ) / 2
    passing = (feature[train] > middle).mean()
    each = np.array(
        [np.quantile(feature[train][group[train] == one], 1 - passing) for one in (0, 1)]
    )
    told = [feature[test] > middle, feature[test] > each[group[test]]]
    tables = [FRAME.table(FRAME.cells(group[test], truth[test], one.astype(int))) for one in told]
    return AXES.score(np.array(tables)[:, None])


def runs(group: Any, truth: Any, feature: Any, number: int, rng: Any) -> Scores:
    return joined([split(group, truth, feature, 0.3, rng) for _ in range(number)])


def joined(parts: list[Scores]) -> Scores:
    performance, bias = (np.concatenate([part[at] for part in parts]) for at in (0, 1))
    line = [np.concatenate([part.line[at] for part in parts]) for at in (0, 1)]
    return Scores(performance, bias, (line[0], line[1]))


def kept(found: Scores, truth: Scores, sureness: IntervalMethod) -> tuple[bool, bool]:
    """Whether limits of differences hold, and whether the true region is plausible."""
    true = truth.mean().differences()
    point = found.mean()
    low, high = sureness.limits(
        point.differences()[:3], np.moveaxis(found.differences(), 1, 0)[:, :3]
    )
    told = judged(["original", "method"], point, found, sureness, AXES)
    inside = bool(((low <= true[:3]) & (true[:3] <= high)).all())
    return inside, REGIONS[int(regions(*true[:3])[0])] in told.standings[0].plausible


@pytest.mark.parametrize("gap", [0.5, pytest.param(0.1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("number", [5, pytest.param(20, marks=pytest.mark.slow)])
def test_runs_over_splits_of_one_data_set_hold_for_new_splits(gap, number):
    rng = np.random.default_rng(7)
    given = data(600, rng, gap)
    truth, total, sureness = runs(*given, 1000, rng), 50, IntervalMethod(LEVEL, number, "", 0.3)
    found = np.array([kept(runs(*given, number, rng), truth, sureness) for _ in range(total)]).sum(
        axis=0
    )
    assert holds(int(found[0]), total, LEVEL), found
    assert holds(int(found[1]), total, LEVEL), found


@pytest.mark.slow
@pytest.mark.parametrize("gap", [0.5, 0.1])
def test_runs_over_splits_hold_for_new_data(gap):
    """What the correction is for: the data at hand are one sample, and splits of them overlap."""
    rng = np.random.default_rng(8)
    truth = joined([runs(*data(600, rng, gap), 1, rng) for _ in range(1000)])
    held = {
        size: (
            np.array(
                [
                    kept(
                        runs(*data(600, rng, gap), 10, rng),
                        truth,
                        IntervalMethod(LEVEL, 10, "", size),
                    )
                    for _ in range(100)
                ]
            ).sum(axis=0)
        )
        for size in (0.3, 0.0)
    }
    assert holds(int(held[0.3][0]), 100, LEVEL - 0.03), held
    assert holds(int(held[0.3][1]), 100, LEVEL), held
    assert held[0.0][0] < held[0.3][0], held  # as if splits were independent, it falls short
