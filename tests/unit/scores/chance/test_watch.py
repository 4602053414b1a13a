"""Who is asked a second time, and what comes of it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand.population.samplers import Draws, Uniform
from evenhand.runtime.budget import Budget, Meter
from evenhand.runtime.errors import NotDeterministic
from evenhand.scores.chance.watch import (
    EVERY,
    HITS,
    AskedTwice,
    Watch,
    asked_anew,
    first_look,
    held_back,
    look_after,
    pairs_after,
    watched,
)
from evenhand.statistics.sequential import confidence_sequences

SPACE = eh.Space(
    [eh.category("sex", ["F", "M"]), eh.integer("id", 0, 9999)], protected=["sex"]
)


def steady(people: Any) -> Any:
    return people["id"] > 5000


def subject_of(decide: Any = steady, **options: Any) -> eh.Subject:
    return eh.Subject(decide, SPACE, **options)


def changing() -> Any:
    """Return software whose second call answers all in the other way."""
    calls = 0

    def decide(people):
        nonlocal calls
        calls += 1
        return (people["id"] > 5000) ^ (calls % 2 == 0)

    return decide


def draws() -> Draws:
    return Draws(Uniform(), SPACE, 0, "test")


def watch_of(subject: eh.Subject) -> Watch:
    return Watch.of(subject, AskedTwice(subject), 0)


def test_a_first_look_counts_and_says_what_changed():
    meter = Meter()
    assert first_look(draws(), subject_of(), meter).changed is None
    assert meter.queries == 64
    look = first_look(draws(), subject_of(changing()), meter)
    assert isinstance(look.changed, NotDeterministic)
    assert look.share == 1
    assert look.estimate("", 0.95, "everybody").n == 32


def test_a_small_budget_has_no_look():
    look = first_look(draws(), subject_of(), Meter(Budget(queries=19)))
    assert look.pairs == {}
    assert look.share == 0


def test_draws_and_hits_are_chosen_by_their_numbers():
    watch = watch_of(subject_of())
    whole = watch.draws(0, 1000)
    parts = [watch.draws(start, start + 100) for start in range(0, 1000, 100)]
    assert (np.concatenate(parts) == whole).all()
    assert whole.sum() in (1000 // EVERY, 1000 // EVERY + 1)
    hits = np.ones(10_000, dtype=bool)
    hits[::2] = False
    chosen = watch.hits(hits, 0)
    assert chosen[:HITS].tolist() == hits[:HITS].tolist()
    assert not (chosen & ~hits).any()
    late = watch.draws(HITS, 10_000) & hits[HITS:]
    assert chosen[HITS:].tolist() == late.tolist()


def test_another_answer_is_refused():
    subject = subject_of(changing())
    watch = watch_of(subject)
    points = draws().take(0, 10)
    with pytest.raises(NotDeterministic):
        watch.look(points, subject.decide(points), "")
    assert watch.twice.pairs[""] == 10
    other = subject_of(changing())
    watch = watch_of(other)
    with pytest.raises(NotDeterministic):
        watch.confirm(points, other.decide(points), "")
    # Those were chosen for their answers, and tell no rate.
    assert watch.twice.pairs == {}


def test_the_same_answer_is_not():
    subject = subject_of()
    watch = watch_of(subject)
    points = draws().take(0, 10)
    watch.look(points, subject.decide(points), "")
    watch.confirm(points, subject.decide(points), "")
    assert watch.twice.changed is None


def test_a_budget_keeps_a_part_for_the_watch():
    subject = subject_of()
    meter = Meter(Budget(queries=6400))
    with watched(subject, watch_of(subject)):
        with held_back(subject, meter, 2):
            assert isinstance(subject.watch, Watch)
            assert subject.watch.most_hits == 100
            assert meter.left == 6400 - 6400 // 17 - 200
        assert subject.watch.most_hits == HITS
        assert meter.left == 6400
        with held_back(subject, Meter(Budget(queries=60)), 2):
            assert subject.watch is None
        endless = Meter()
        with held_back(subject, endless, 2):
            assert subject.watch.most_hits == HITS
            assert math.isinf(endless.left)
    assert subject.watch is None


@pytest.mark.parametrize(
    ("asked", "pairs"), [(100, 0), (1000, 60), (5000, 1500), (10**6, 2000)]
)
def test_groups_are_looked_at_after_a_long_run(asked, pairs):
    twice = AskedTwice(subject_of())
    meter = Meter()
    look_after(
        draws(),
        twice,
        meter,
        asked,
        expensive=False,
    )
    assert twice.pairs.get("", 0) == pairs
    assert meter.queries == 2 * pairs
    bounded = Meter(Budget(queries=10_000_000))
    look_after(
        draws(),
        twice,
        bounded,
        asked,
        expensive=False,
    )
    assert bounded.queries == 2 * (asked // 32)


def test_asked_anew_nothing_is_recalled(tmp_path):
    calls = 0

    def decide(people):
        nonlocal calls
        calls += len(people)
        return np.arange(calls - len(people), calls)

    subject = subject_of(decide, memo=True, identity="counts")
    points = draws().take(0, 3)
    assert subject.decide(points).tolist() == subject.decide(points).tolist()
    with asked_anew(subject):
        both = np.concatenate([points, points])
        assert len(set(subject.decide(both).tolist())) == 6
        assert calls == 9
    # The same occasions are the same answers again.
    with asked_anew(subject):
        subject.decide(both)
        assert calls == 9


def test_a_bounded_watch_confirms_the_first_hits_alone():
    watch = Watch(
        subject_of(),
        AskedTwice(subject_of()),
        2,
        5,
        bounded=True,
    )
    hits = np.ones(20, dtype=bool)
    assert np.flatnonzero(watch.hits(hits, 0)).tolist() == [0, 1, 2, 3, 4]
    assert np.flatnonzero(watch.hits(hits, 3)).tolist() == [0, 1]
    assert not watch.hits(hits, 5).any()
    endless = Watch(subject_of(), AskedTwice(subject_of()), 2, 5)
    assert np.flatnonzero(endless.hits(hits, 0)).tolist() == [0, 1, 2, 3, 4, 18]
    assert np.flatnonzero(endless.draws(0, 40)).tolist() == [2, 18, 34]
    # A distance counts where it is more than none.
    assert watch.hits(np.array([0.0, 0.1, 1.0]), 0).tolist() == [False, True, True]


def test_a_watch_keeps_to_one_part_in_64_of_a_budget():
    watch = Watch(subject_of(), AskedTwice(subject_of()), 0, 100)
    assert watch.within(math.inf) is watch
    assert watch.reserve(math.inf) == 0
    assert watch.within(6399).most_hits == 99
    assert watch.within(1e9).most_hits == 100
    assert watch.within(6399).bounded
    assert watch.reserve(170) == 10 + 200


@pytest.mark.parametrize(
    ("queries", "checked"),
    [(None, 32), (640, 32), (639, 31), (40, 2), (39, 1), (20, 1), (19, 0)],
)
def test_a_tenth_of_the_budget_is_looked_at_first(queries, checked):
    subject = subject_of()
    meter = Meter(Budget(queries=queries))
    look = first_look(draws(), subject, meter)
    assert look.pairs.get("", 0) == checked
    assert meter.queries == 2 * checked


@pytest.mark.parametrize(("queries", "is_watched"), [(64, True), (63, False)])
def test_a_few_draws_are_not_watched(queries, is_watched):
    subject = subject_of()
    meter = Meter(Budget(queries=queries))
    with watched(subject, watch_of(subject)):
        with held_back(subject, meter, 2):
            assert (subject.watch is not None) == is_watched
            # One draw in seventeen, and both sides of one hit in 64.
            assert meter.queries == (64 // 17 + 2 if is_watched else 0)
        assert subject.watch is not None
    assert meter.queries == 0


def test_without_a_watch_nothing_is_held_back():
    subject = subject_of()
    meter = Meter(Budget(queries=6400))
    with held_back(subject, meter, 2):
        assert meter.left == 6400
        assert subject.watch is None


@pytest.mark.parametrize(("expensive", "hits"), [(False, 4096), (True, 256)])
def test_a_watch_is_closer_where_software_is_cheap(expensive, hits):
    subject = subject_of()
    subject.adapter.expensive = expensive
    watch = Watch.of(subject, AskedTwice(subject), 5)
    assert watch.most_hits == hits
    assert not watch.bounded
    firsts = {Watch.of(subject, AskedTwice(subject), seed).first for seed in range(200)}
    assert firsts == set(range(16))


@pytest.mark.parametrize(
    ("asked", "few", "pairs"),
    [
        (5_000, True, 156),
        (31, True, 0),
        (32, True, 1),
        (5_000, False, 1_500),
        (2_500, False, 375),
        (5_773, False, 1_999),
        (5_774, False, 2_000),
        (10**7, False, 2_000),
        (129, False, 0),
        (130, False, 1),
    ],
)
def test_a_long_run_is_looked_at_more_than_a_short_one(asked, few, pairs):
    assert pairs_after(asked, few=few) == pairs


@pytest.mark.parametrize(("left", "pairs"), [(1, 0), (2, 1), (21, 10), (1000, 156)])
def test_a_last_look_keeps_to_the_budget(left, pairs):
    twice = AskedTwice(subject_of())
    meter = Meter(Budget(queries=left))
    look_after(
        draws(),
        twice,
        meter,
        5_000,
        expensive=False,
    )
    assert twice.pairs.get("", 0) == pairs
    assert meter.queries == 2 * pairs
    expensive = AskedTwice(subject_of())
    look_after(
        draws(),
        expensive,
        Meter(),
        320,
        expensive=True,
    )
    assert expensive.pairs == {"": 10}


def test_a_last_look_is_at_other_people_than_the_first():
    seen: list[Any] = []

    def noted(people: Any) -> Any:
        seen.extend(people["id"].tolist())
        return people["id"] > 5000

    look_after(
        draws(),
        AskedTwice(subject_of(noted)),
        Meter(),
        640,
        expensive=True,
    )
    expected = draws().take(32, 52)[:, 1].tolist()
    assert seen == expected * 2


def two_outputs(people: Any) -> Any:
    return {"grant": people["id"] > 5000, "rate": people["id"]}


def test_answers_are_counted_by_output():
    subject = subject_of(two_outputs, outputs=["grant", "rate"])
    twice = AskedTwice(subject)
    points = draws().take(0, 4)
    same = np.array([True, True, False, False])
    twice.add(points, same, np.array([True, False, True, False]), "grant")
    twice.add(points, np.arange(4), np.array([0, 1, 2, 9]), "rate")
    twice.add(points, same, same, "grant")
    assert twice.pairs == {"grant": 8, "rate": 4}
    assert twice.apart == {"grant": 2.0, "rate": 1.0}
    assert twice.share == 0.25
    found = twice.estimate("grant", 0.95, "all")
    low, high = confidence_sequences.mixture(2.0, 8, 0.95)
    assert found.value == 0.25
    assert (found.low, found.high) == pytest.approx((float(low), float(high)))
    assert (found.n, found.level, found.method) == (8, 0.95, "anytime")
    assert isinstance(twice.changed, NotDeterministic)
    both = AskedTwice(subject)
    both.ask(points)
    assert both.pairs == {"grant": 4, "rate": 4}
    assert both.changed is None


def test_the_note_is_of_the_first_change():
    subject = subject_of()
    twice = AskedTwice(subject)
    points = draws().take(0, 2)
    answers = np.array([True, False])
    twice.compare(points, answers, answers, "")
    assert twice.changed is None
    twice.compare(points, answers, ~answers, "")
    first = twice.changed
    twice.compare(points[::-1], answers, ~answers, "")
    assert twice.changed is first
    assert twice.pairs == {}


@pytest.mark.parametrize("queries", [19, None])
def test_a_first_look_takes_fractions_with_a_threshold_for_numbers(queries):
    subject = subject_of(lambda people: people["id"] + 0.5, differs=10.0)
    subject.decide(draws().take(0, 1))
    first_look(draws(), subject, Meter(Budget(queries=queries)))
    assert subject.meanings[""].numbers
