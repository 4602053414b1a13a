"""Twins: the staged search finds what asking every variant finds, and what it asks depends on the
point alone.
"""

from __future__ import annotations

import itertools
import os
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import evenhand as eh
from evenhand.population.samplers import Draws
from evenhand.runtime.errors import UsageError
from evenhand.scores import twins
from evenhand.scores.twins import Causal, farthest, outward, seek, stages, twins_of
from evenhand.subject.view import View, views_of
from tests.support.helpers import examples
from tests.support.strategies import spaces

SPACE = eh.Space(
    [eh.integer("age", 18, 90), eh.category("sex", ["F", "M"]), eh.integer("income", 0, 9)],
    protected=["age"],
)


def view_of(decide, space: eh.Space = SPACE, **options: Any) -> View:
    return views_of(eh.Subject(decide, space, **options))[0]


@given(st.integers(1, 300))
def test_ranks_are_an_order_with_the_ends_first(n):
    ranks = twins._ranks(n)
    assert sorted(ranks.tolist()) == list(range(n))
    order = np.argsort(ranks).tolist()
    assert order[0] == 0
    if n > 1:
        assert order[1] == n - 1
    if n > 2:
        assert order[2] == (n - 1) // 2
    # The largest gap between places that were tried shrinks as fast as halving allows.
    for tried in (2, 3, 5, 9, 17, 33):
        if tried < n:
            gaps = np.diff(sorted(order[:tried]))
            assert gaps.max() <= 2 * max(1, (n - 1) / (tried - 1))


@given(spaces(most=3), st.data())
@settings(max_examples=examples(20), deadline=None)
def test_outward_is_an_order_of_all_assignments(space, data):
    names = tuple(data.draw(st.permutations(space.names)))[
        : data.draw(st.integers(1, len(space.names)))
    ]
    order = outward(space, names)
    table = space.assignments(names)
    assert sorted(order.tolist()) == list(range(len(table)))
    # An extreme of every feature comes first, and no combination of extremes after one of middles
    # only.
    assert order[0] == 0
    if all(space.feature(name).size > 2 for name in names):
        ends = [{0.0, feature.size - 1} for feature in map(space.feature, names)]
        places = list(
            itertools.product(*(range(int(space.feature(name).size)) for name in names))
        )
        extreme = [
            all(at in end for at, end in zip(places[row], ends, strict=True))
            for row in order.tolist()
        ]
        middle = [
            all(at not in end for at, end in zip(places[row], ends, strict=True))
            for row in order.tolist()
        ]
        assert max(np.flatnonzero(extreme)) < min(np.flatnonzero(middle))


def test_stages_hold_every_assignment_once_and_grow():
    points = SPACE.draw(3, np.random.default_rng(0))
    sizes, seen = [], []
    for stage in stages(points, SPACE, ("age", "income")):
        variants = stage(np.array([2, 0]))
        assert len(variants) == 2 * stage.size
        # Assignment by assignment, and nothing else changes.
        assert (variants[0::2, 1] == points[2, 1]).all()
        assert (variants[1::2, 1] == points[0, 1]).all()
        assert (variants[0::2, [0, 2]] == variants[1::2, [0, 2]]).all()
        sizes.append(stage.size)
        seen += variants[0::2, [0, 2]].tolist()
    assert sizes == [16, 64, 256, 730 - 336]
    assert sorted(seen) == sorted(SPACE.assignments(("age", "income")).tolist())


CONSTRAINTS: list[tuple[str, ...]] = [
    (),
    ("age > 30 or sex == 'F'",),
    ("age == 40 or age == 41", "income > 2"),
]


@pytest.mark.parametrize("constraints", CONSTRAINTS)
@pytest.mark.parametrize("differs", [None, 2.0])
@given(
    st.integers(0, 10_000), st.sampled_from([("age",), ("age", "income"), ("sex", "age")])
)
@settings(max_examples=5, deadline=None)
def test_the_staged_search_finds_what_asking_everything_finds(
    constraints, differs, seed, names
):
    space = eh.Space(SPACE.features, constraints=constraints)
    rng = np.random.default_rng(seed)
    table = np.where(
        rng.random((73, 2, 10)) < rng.choice([0.002, 0.05, 0.5]),
        rng.integers(0, 6, (73, 2, 10)),
        0,
    )

    def decide(people):
        return table[
            people["age"] - 18, (people["sex"] == "M").astype(int), people["income"]
        ]

    view, points = view_of(decide, space, differs=differs), space.draw(40, rng)
    base = view.decide(points)
    flips = seek(view, points, base, stages(points, space, names))
    every = twins_of(view, points, names).apart
    assert flips.found.tolist() == every.any(axis=0).tolist()
    assert not flips.cut
    valid = space.valid(space.variants(points, names)).reshape(-1, len(points))
    order, before = outward(space, names), 0
    expected = np.zeros(len(points), dtype=int)
    for size in (16, 64, 256, 1024):
        stage, open_ = order[before : before + size], ~every[order[:before]].any(axis=0)
        expected += np.where(open_, valid[stage].sum(axis=0), 0)
        before += size
    assert flips.asked.tolist() == expected.tolist()
    for row in np.flatnonzero(flips.found).tolist():
        twin = flips.twins[row]
        rest = [column for column, name in enumerate(space.names) if name not in names]
        assert (twin[rest] == points[row, rest]).all()
        assert space.valid(twin[None]).all()
        outcome = view.decide(twin[None])[0]
        assert outcome == flips.outcomes[row]
        assert abs(int(outcome) - int(base[row])) > (differs or 0)


def test_a_search_stops_before_the_budget_is_exceeded():
    asked = 0

    def decide(people):
        nonlocal asked
        asked += len(people)
        return people["age"] == 33

    view, points = view_of(decide), SPACE.draw(50, np.random.default_rng(1))
    base = view.decide(points)
    for left in (0, 799, 800, 3000, 3649, 3650, 10_000):
        asked = 0
        flips = seek(view, points, base, stages(points, SPACE, ("age",)), left=left)
        assert asked == flips.asked.sum() <= left
        assert flips.cut == (left < 3650)


def decide_by_age(people):
    return (people["age"] >= 40 + 10 * (people["sex"] == "M")) & (people["income"] > 4)


def test_batches_change_nothing(monkeypatch):
    points = SPACE.draw(200, np.random.default_rng(2))
    results = []
    for rows in (262_144, 1000, 74):
        monkeypatch.setattr(twins, "ROWS", rows)
        count = Causal(view_of(decide_by_age), Draws(eh.uniform(), SPACE, 5, "x"), ("age",))
        counted = count((0, 60))
        assert counted.costs is not None
        hits, asked, cases = count.count(points, 3)
        results.append((counted.hits.tolist(), counted.costs.tolist(), counted.witnesses, hits.tolist(), asked.tolist(),
                        [case for _, case in cases]))  # fmt: skip
        assert counted.asked == counted.costs.sum()
    assert results[1:] == results[:-1]


def test_what_a_draw_costs_depends_on_nothing_but_the_draw(monkeypatch, tmp_path):
    monkeypatch.setattr(
        "evenhand.scores.sampling_loop.WAVE_SECONDS", 0.0
    )  # all waves but the first are shared

    def signed(people):
        (tmp_path / str(os.getpid())).touch()
        return decide_by_age(people)

    def run(n_jobs=1, **options):
        subject = eh.Subject(signed, SPACE, **options)
        found = eh.measure(
            subject, over="age", margin=0.04, n_jobs=n_jobs, seed=1, exact=False
        )
        return found.digest, found.spent.queries

    first = run()
    assert run(memo=True) == run(memo=False) == first
    assert run(n_jobs=2) == first
    assert len(list(tmp_path.iterdir())) >= 2
    _, queries = first
    monkeypatch.setattr(twins, "ROWS", 997)
    assert run() == first
    monkeypatch.setattr(twins, "STAGE", 1_000)  # all at once
    assert run()[1] > 1.4 * queries


@given(st.integers(1, 3000), st.booleans())
@settings(max_examples=examples(15), deadline=None)
def test_the_query_budget_is_never_exceeded(queries, constrained):
    space = eh.Space(
        SPACE.features, ["age"], ["age > 30 or sex == 'F'"] if constrained else []
    )
    asked = 0

    def counted(people):
        nonlocal asked
        asked += len(people)
        return decide_by_age(people)

    try:
        found = eh.measure(
            counted, space, margin=0.01, exact=False, budget=eh.Budget(queries=queries)
        )
    except UsageError as error:
        assert queries < 82
        assert "one draw takes 74" in str(error)
    else:
        assert found.stop is eh.StopReason.QUERIES
        assert found.spent.queries <= queries
    assert asked <= queries


def test_dear_software_is_asked_less(tmp_path):
    """A real program, one process per input: it is not run for variants that cannot change what is
    known.
    """
    log, program = tmp_path / "log", tmp_path / "decide.sh"
    program.write_text(
        f'echo "$1 $2" >> {log}\nif [ "$1" -gt 50 ]; then echo yes; else echo no; fi\n'
    )
    space = eh.Space(
        [eh.integer("age", 18, 90), eh.integer("id", 1, 1000)], protected=["age"]
    )
    subject = eh.Subject.command(
        ["/bin/sh", os.fspath(program), "{age}", "{id}"], space, memo=True
    )
    found = eh.measure(subject, margin=0.3)
    ran = log.read_text().splitlines()
    assert found.worst.estimate.value == 1
    assert len(ran) == found.spent.executed
    # 16 ages and its own for each draw, rather than 73 of them.
    assert found.spent.queries == 64 + 17 * found.worst.estimate.n


def test_a_memo_saves_executions_and_nothing_else(monkeypatch):
    executed = {}
    for memo in (True, False):
        subject = eh.Subject(decide_by_age, SPACE, memo=memo)
        monkeypatch.setattr(
            subject.adapter, "expensive", True
        )  # so that nothing is asked ahead
        found = eh.measure(subject, over="age", margin=0.1, exact=False)
        executed[memo] = subject.executed
        assert found.spent.queries >= subject.executed
    assert executed[True] <= 1460  # all there is to ask
    assert executed[False] == found.spent.queries > 1460


def test_a_suite_of_dear_software_stays_within_the_budget(tmp_path):
    """A suite holds all variants of its draws, so that each draw is budgeted with all of them."""
    wide = eh.Space([*SPACE.features[:2], eh.integer("income", 0, 9999)])
    people = wide.decode(wide.draw(40, np.random.default_rng(0)))
    for sampler in (None, eh.rows(people)):
        subject = eh.Subject(
            lambda people: people["age"] >= people["income"] / 50, wide, memo=True
        )
        found = eh.measure(
            subject, over="age", margin=0.05, exact=None if sampler else False, keep_tests=True,
            budget=eh.Budget(queries=4000), sampler=sampler,
        )  # fmt: skip
        found.to_suite(tmp_path / "tests.csv")
        assert subject.executed <= found.spent.queries <= 4000
        again = eh.replay(tmp_path / "tests.csv", subject)
        assert again.notes == ()
        assert again.worst.estimate.value == pytest.approx(found.worst.estimate.value)


@pytest.mark.parametrize(
    ("differs", "outcomes"),
    [
        (None, ["a", "b", "c"]),
        (1.5, [0, 1, 2, 5]),
        (lambda a, b: np.minimum(np.abs(a - b) / 4, 1), [0.0, 1.0, 2.5, 9.0]),
        (lambda a, b: a > b, [0, 1, 2]),
    ],
)
@given(st.data())
@settings(max_examples=examples(15), deadline=None)
def test_farthest_is_the_farthest_of_the_class(differs, outcomes, data):
    view = view_of(lambda people: people["age"], differs=differs)
    rows = data.draw(
        st.lists(
            st.tuples(st.sampled_from(outcomes), st.integers(0, 3)), min_size=1, max_size=25
        )
    )
    values, ids = (
        np.array([value for value, _ in rows]),
        np.array([number for _, number in rows]),
    )
    ids = np.unique(ids, return_inverse=True)[1]
    found = farthest(view, values, ids)
    for row, number in enumerate(ids.tolist()):
        mates = values[ids == number]
        assert found[row] == view.distance(mates, np.full(len(mates), values[row])).max()
