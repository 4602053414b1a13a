"""Numbers of the statistics to nine digits: a change of the code that moves one is seen here.

`python -m tests.unit.statistics.test_vectors` writes the numbers anew; say in the commit why.
"""

from __future__ import annotations

import json
import math
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from evenhand.statistics import discoveries, intervals, means, paired_limits, ratios
from evenhand.statistics.sequential import betting, finite, limit_tests
from evenhand.statistics.sequential import confidence_sequences as always
from evenhand.statistics.sequential.excess import ExcessPlan, Grid
from evenhand.statistics.sequential.group_stopping import SpreadPlan
from evenhand.statistics.sequential.paired_groups import PairedPlan
from evenhand.statistics.sequential.stopping import Plan, calibration
from evenhand.statistics.simultaneous import SimultaneousIntervals
from evenhand.statistics.simultaneous_means import SimultaneousMeans
from tests.support.paths import DATA

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FILE = DATA / "statistics.json"

INPUTS: dict[str, Any] = json.loads((DATA / "statistics_inputs.json").read_text("utf-8"))
"""Counts from nothing to everything in samples that are tiny, small and large, and plans."""
K, N, K2, N2, GROUPS, SIZES, LOOKS, SHARES = (
    np.array(
        INPUTS[name],
        dtype=float,
    )
    for name in (
        "hits",
        "sizes",
        "other hits",
        "other sizes",
        "hits of groups",
        "sizes of groups",
        "looks",
        "shares",
    )
)
PLANS = {name: Plan(**settings) for name, settings in INPUTS["plans"].items()}
SPREADS = {name: SpreadPlan(**settings) for name, settings in INPUTS["spreads"].items()}


def errors(plan: Plan) -> list[float]:
    """Return how a plan shares out its error."""
    return [plan.error_decide, plan.error_report, plan.error_margin]


def reported(plan: Plan, counts: Any, sizes: Any) -> list[Any]:
    """Return what a plan reports of many runs, while they go on and where the budget ends."""
    low, high, anytime = plan.report(counts, sizes)
    last_low, last_high, _ = plan.report(counts, sizes, last=True)
    return [low, high, anytime, last_low, last_high]


def reasons(plan: Plan, counts: Any, n: int) -> list[str]:
    """Return why a plan stops at some counts."""
    return [str(plan.reason(count, n)) for count in counts]


def of_plans() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield what plans of one rate and of a spread say."""
    counts = np.floor(SHARES * LOOKS[:, None])
    sizes = np.broadcast_to(
        LOOKS[:, None],
        counts.shape,
    )
    for name, plan in PLANS.items():
        yield f"errors: {name}", partial(errors, plan)
        yield (
            f"report: {name}",
            partial(
                reported,
                plan,
                counts.ravel(),
                sizes.ravel(),
            ),
        )
        yield f"looks: {name}", partial(first_looks, plan)
        yield f"reasons: {name}", partial(all_reasons, plan, counts)
    for name, spread in SPREADS.items():
        yield f"spread errors: {name}", partial(errors, spread)
        yield f"spread report: {name}", partial(spread_reports, spread)


def first_looks(plan: Plan) -> list[int]:
    """Return the first sizes at which a plan looks."""
    return list(plan.looks(2000))[:40]


def all_reasons(plan: Plan, counts: Any) -> list[list[str]]:
    """Return why a plan stops at the counts of each look."""
    return [reasons(plan, row, int(n)) for row, n in zip(counts, LOOKS, strict=True)]


def spread_reports(plan: SpreadPlan) -> list[Any]:
    """Return what a plan of a spread reports, and why it stops."""
    shares = np.array(
        [
            [0.5, 0.1, 0.2],
            [0.3, 0.3, 0.3],
            [0.0, 1.0, 0.5],
            [0.2, 0.29, 0.25],
        ]
    )
    found: list[Any] = []
    for n in (20, 300, 1500):
        counts = np.floor(shares[:, : plan.groups] * n)
        low, high, anytime = plan.report(
            counts,
            np.full(
                len(counts),
                float(n),
            ),
        )
        found += [
            low,
            high,
            anytime,
            reasons(plan, counts, n),
        ]
    return found


def paired_reports() -> list[Any]:
    """Return what a plan of groups asked about the same people reports."""
    rng = np.random.default_rng(1)
    found: list[Any] = []
    for limit, apart in (
        (0.1, 0.3),
        (0.1, 0.0),
        (None, 0.1),
        (0.0, 0.1),
    ):
        plan = PairedPlan(limit=limit, groups=3)
        base = rng.random((240, 1)) < 0.4
        other = rng.random((240, 3)) < apart * np.array([0.0, 0.5, 1.0])
        counts = plan.counted((base | other).astype(float)[:100])
        counts = plan.counted(
            (base | other).astype(float)[100:],
            counts,
        )
        judged = plan.judge(counts, 240)
        estimate = judged.estimate
        found += [
            counts,
            estimate.value,
            estimate.low,
            estimate.high,
            str(judged.stop),
        ]
        against = plan.against(counts)
        if against is not None:
            found += [math.log(max(against.p_value, 1e-300)), against.e_value]
    return found


def excess_reports() -> list[Any]:
    """Return what a plan of an excess reports."""
    rng = np.random.default_rng(2)
    grid = Grid.of_answers(3)
    found: list[Any] = [grid.points, Grid.of_answers(9, equal=False).points]
    for limit, share in (
        (None, 0.1),
        (0.1, 0.3),
        (0.1, 0.0),
        (0.0, 0.3),
    ):
        plan = ExcessPlan(0.95, 0.05, limit, grid)
        differences = rng.choice(
            [-0.2, 0.0, 1.0],
            200,
            p=[0.05, 0.95 - share, share],
        )
        rows = np.column_stack([grid.counted(differences), np.full(200, 0.01)])
        counts = rows.cumsum(axis=0)
        judged = plan.judge(counts[-1], 200)
        estimate = judged.estimate
        found += [
            estimate.value,
            estimate.low,
            estimate.high,
            str(judged.stop),
        ]
        found.append(
            plan.first_stop(
                counts[9::10],
                np.arange(10, 201, 10),
            )
        )
        noise = plan.noise(
            counts[-1],
            200,
            0.95,
        )
        found += [noise.value, noise.low, noise.high]
    return found


def of_intervals() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield intervals of rates, differences, spreads and ratios."""
    two = (
        K[1:],
        N[1:],
        K2[1:],
        N2[1:],
    )
    for level in (0.95, 0.999):
        for interval in (
            intervals.clopper_pearson,
            intervals.wilson,
            intervals.wald,
            always.mixture,
        ):
            yield f"{interval.__name__} {level}", partial(interval, K, N, level)
        for of_two in (intervals.difference, ratios.ratio):
            yield f"{of_two.__name__} {level}", partial(of_two, *two, level)
        sequence = partial(
            always.mixture_difference,
            K,
            N,
            K2,
            N2,
            level,
        )
        yield f"mixture difference {level}", sequence
        for of_groups in (intervals.spread, always.mixture_spread, intervals.by_group):
            yield f"{of_groups.__name__} {level}", partial(of_groups, GROUPS, SIZES, level)
        for of_ratios in (ratios.impact_ratio, ratios.ratios_to_best):
            found = partial(
                of_ratios,
                GROUPS[:3],
                SIZES[:3],
                level,
            )
            yield f"{of_ratios.__name__} {level}", found
    sizes = np.array([5.0, 20, 39, 40])
    hits = np.array([0.0, 2, 30, 40])
    yield "finite", partial(finite.exact, hits, sizes, 0.95, 50)
    yield (
        "finite mixture",
        partial(
            always.mixture,
            hits,
            sizes,
            0.95,
            total=50,
        ),
    )


def contrasts() -> list[Any]:
    """Return what contrasts of groups estimate, one of which has nobody."""
    found = []
    for hits, size in zip(GROUPS, SIZES, strict=True):
        contrast = ratios.Contrast(hits, size, 0.9, among=2)
        every = [
            contrast.difference(),
            contrast.ratio(),
            *contrast.to_best(),
        ]
        for estimate in [*every, *contrast.rates()]:
            found.append(
                [
                    estimate.value,
                    estimate.low,
                    estimate.high,
                    estimate.n,
                ]
            )
    return found


def of_tests() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield evidence against limits."""
    for limit in (0.05, 0.5, 0.99):
        for test in (limit_tests.log_e_below, limit_tests.log_e_above):
            name = f"{test.__name__} {limit}"
            yield name, partial(test, K, N, limit)
            yield (
                f"{name}, paired",
                partial(
                    test,
                    K,
                    2 * N,
                    limit,
                    downs=N / 2,
                ),
            )
            yield f"{name}, finite", partial(test, K, N, limit, size=900)
    yield "against limits", against_limits


def against_limits() -> list[Any]:
    """Return the p-values and e-values of rates and spreads."""
    found: list[Any] = []
    for hits, n, limit in (
        (0, 40, 0.1),
        (4, 40, 0.1),
        (20, 40, 0.1),
        (1, 9, 0.0),
    ):
        for test in (discoveries.rate_against, discoveries.exact_rate_against):
            against: Any = test(hits, n, limit, among=2)
            found += [against.p_value, against.e_value]
    for sizes in ([50, 50, 50], [50, 60, 50]):
        for limit in (0.1, 0.9):
            of_spread: Any = discoveries.spread_against(
                [40, 10, 20],
                sizes,
                limit,
            )
            exact: Any = discoveries.exact_spread_against(
                [40, 10, 20],
                sizes,
                limit,
            )
            found += [of_spread.p_value, of_spread.e_value, exact.p_value]
    return found


def simultaneous() -> list[Any]:
    """Return limits of many groups that hold together."""
    some = (
        K[2:],
        N[2:],
        K2[2:],
        N2[2:],
    )
    found: list[Any] = []
    for graded in (False, True):
        held = SimultaneousIntervals(0.95, among=30, graded=graded)
        found += [
            held.tail,
            *held.difference(*some),
            *held.rate(
                K[2:] + 0.0,
                N[2:],
            ),
        ]
        found += [
            held.box_of(some),
            held.ceiling_of(some),
            held.strength_of(some),
        ]
        found.append(held.error_of(some, 0.3))
        found.append(held.error_of(some, 0.3, below=True))
    return found


def simultaneous_means() -> list[Any]:
    """Return limits of many means that hold together."""
    size = np.array([200.0, 30.0])
    sides = (
        0.4 * size,
        size,
        0.1 * size,
        2 * size,
        0.2 * size,
        0.05 * size,
    )
    held = SimultaneousMeans(0.95, among=30)
    found: list[Any] = [*held.difference_of(sides), *held.sides_of(sides)]
    found += [
        held.box_of(sides),
        held.ceiling_of(sides),
        held.strength_of(sides),
    ]
    found.append(held.error_of(sides, 0.1))
    found.append(held.error_of(sides, 0.9, below=True))
    return found


def of_means() -> list[Any]:
    """Return limits of means, medians and their spreads."""
    rng = np.random.default_rng(3)
    group = np.repeat(
        [0, 1, 2, 3],
        [40, 12, 5, 3],
    )
    values = rng.lognormal(0, 1, 60) + group
    moments = means.Moments.of(values, group, 4)
    found: list[Any] = [moments.mean, moments.variance, moments.third]
    found += [*means.mean_limits(moments, 0.025), *means.root_limits(moments, 0.1)]
    pairs = moments.at(np.array([0, 1, 2])), moments.at(np.array([1, 2, 3]))
    found += [*means.difference_limits(*pairs, 0.01)]
    found += [
        means.mean_spread(
            moments.at(np.array([0, 1, 2])),
            0.05,
        )
    ]
    by_group = [values[group == place] for place in range(4)]
    found += [*means.median_limits(by_group, 0.025)]
    return found


def of_bets() -> list[Any]:
    """Return limits by betting, and those of changes on the same inputs."""
    rng = np.random.default_rng(4)
    samples = rng.beta(0.3, 0.9, (3, 150))
    found: list[Any] = [*betting.bet(samples, 0.025)]
    found += [
        *betting.bet(
            2 * samples - 1,
            0.1,
            low=-1.0,
        )
    ]
    found += [
        *betting.bet(
            np.zeros((1, 40)),
            0.05,
        )
    ]
    before = rng.random(200)
    after = before * rng.random(200)
    found += [*paired_limits.rise_limits(before, after, 0.05)]
    favoured = np.round(before), np.round(after)
    found += [*paired_limits.rise_limits(*favoured, 0.05)]
    found.append(paired_limits.ratio_above(after, before, 0.05))
    for gone, come, both in (
        (40, 10, 5),
        (0, 3, 2),
        (3, 0, 0),
        (0, 0, 4),
    ):
        found.append(paired_limits.fall_above(gone, come, 100, 0.025))
        found.append(paired_limits.hits_ratio_above(gone, come, both, 0.025))
    return found


def tails() -> list[Any]:
    """Return how errors are shared out."""
    return [
        [calibration(error) for error in (0.05, 0.004, 0.0039, 1e-5, 9e-6)],
        intervals.spread_tails(4, 0.05),
        always.mixture_tails(2, 0.05),
        always.mixture_tails(4, 0.05),
        means.spread_tails_of_limits(3, 0.05),
    ]


VECTORS: dict[str, Callable[[], Any]] = {
    **dict(of_plans()),
    **dict(of_intervals()),
    **dict(of_tests()),
    "contrasts": contrasts,
    "paired plans": paired_reports,
    "excess plans": excess_reports,
    "simultaneous": simultaneous,
    "simultaneous means": simultaneous_means,
    "means": of_means,
    "bets": of_bets,
    "tails": tails,
}


def flat(found: Any) -> list[Any]:
    """Return all numbers and words in one list; infinities and NaN as words."""
    if isinstance(found, np.ndarray):
        return flat(found.tolist())
    if isinstance(found, list | tuple):
        every: list[Any] = []
        for entry in found:
            every += flat(entry)
        return every
    if isinstance(found, str) or found is None:
        return [found]
    number = float(found)
    return [float(f"{number:.12g}") if math.isfinite(number) else str(number)]


def computed(name: str) -> list[Any]:
    """Return a vector as it is now."""
    with np.errstate(all="ignore"):
        return flat(VECTORS[name]())


@pytest.fixture(scope="module")
def known() -> dict[str, list[Any]]:
    vectors: dict[str, list[Any]] = json.loads(FILE.read_text(encoding="utf-8"))
    return vectors


@pytest.mark.parametrize("name", VECTORS)
def test_the_numbers_are_those_that_were_written(known, name):
    found = computed(name)
    expected = known[name]
    assert len(found) == len(expected)
    for ours, theirs in zip(found, expected, strict=True):
        if isinstance(theirs, float | int):
            # Limits that are found by chords are good to some parts in a million.
            assert ours == pytest.approx(theirs, rel=1e-6, abs=1e-7)
        else:
            assert ours == theirs


def test_every_vector_that_was_written_is_computed(known):
    assert set(known) == set(VECTORS)


def main() -> None:
    """Write the numbers anew."""
    written = {name: computed(name) for name in VECTORS}
    lines = [f"{json.dumps(name)}: {json.dumps(row)}" for name, row in written.items()]
    FILE.write_text(
        "{\n" + ",\n".join(lines) + "\n}\n",
        encoding="utf-8",
    )


if __name__ == "__main__":
    main()
