"""Answers that are kept: which, how many, and that the next version is asked the same inputs."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import evenhand as eh
from evenhand.population.samplers import Uniform
from evenhand.scores.kept_answers import (
    MOST_ASKED,
    MOST_DRAWS,
    Keeping,
    KeptAnswers,
    change_of,
    draws_for,
)
from evenhand.statistics.estimate import Amount

if TYPE_CHECKING:
    from collections.abc import Callable

SPACE = eh.Space(
    [
        eh.category("sex", ["F", "M"]),
        eh.category("race", ["a", "b", "c"]),
        eh.integer("income", 0, 99_999),
    ],
    protected=["sex", "race"],
)


def lender(bonus: int) -> Callable[[Any], Any]:
    return lambda people: people["income"] + bonus * (people["sex"] == "M") > 50_000


def kept_of(bonus: int, space: eh.Space = SPACE, **options: Any) -> tuple[KeptAnswers, ...]:
    subject = eh.Subject(lender(bonus), space)
    settings = {"over": "sex", "limit": 0.05, **options.pop("measure", {})}
    found = eh.measure(subject, **settings)
    return Keeping(subject, None, seed=3, **options).all(found.findings)


def test_the_answers_are_the_score_on_fresh_draws():
    (kept,) = kept_of(20_000)
    assert kept.key == "causal of sex"
    assert kept.draws == draws_for(0.01) == 10_000
    assert kept.answers.mean() == pytest.approx(0.2, abs=0.02)
    assert kept.asked == 20_000


def test_a_group_score_keeps_a_column_for_each_group():
    (kept,) = kept_of(20_000, measure={"kind": "group"})
    assert kept.answers.shape == (10_000, 2)
    women, men = kept.answers.mean(axis=0)
    assert men - women == pytest.approx(0.2, abs=0.03)


@pytest.mark.parametrize("kind", ["causal", "group"])
def test_the_next_version_is_asked_the_same_inputs(kind):
    (old,) = kept_of(20_000, measure={"kind": kind})
    before = {old.key: old}
    (new,) = kept_of(21_000, measure={"kind": kind, "seed": 9}, before=before)
    assert new.same_inputs(old)
    assert (new.answers != old.answers).mean() == pytest.approx(0.01, abs=0.01)
    more = eh.Space([*SPACE.features, eh.category("house", ["no", "yes"])], ["sex"])
    (of_other_space,) = kept_of(20_000, more, measure={"kind": kind}, before=before)
    assert not of_other_space.same_inputs(old)
    (of_other_seed,) = kept_of(20_000, measure={"kind": kind}, before={})
    assert of_other_seed.same_inputs(old)  # as the seed is the same


def test_a_document_holds_bits_or_small_numbers():
    (kept,) = kept_of(20_000)
    table = json.loads(json.dumps(kept.to_dict()))
    assert len(table["answers"]) == 1668
    again = KeptAnswers.from_dict(table)
    assert again.answers.tolist() == kept.answers.tolist()
    graded = KeptAnswers("x", 0, "d", np.array([[0.25, 1.0]], dtype=np.float32))
    back = KeptAnswers.from_dict(graded.to_dict())
    assert back.answers.tolist() == [[0.25, 1.0]]
    assert back.to_dict() == graded.to_dict()


def test_what_is_exact_or_has_no_draws_is_not_kept():
    small = eh.Space([eh.category("sex", ["F", "M"]), eh.integer("income", 0, 99)], ["sex"])
    assert kept_of(20, small) == ()
    subject = eh.Subject(lender(20_000), SPACE)
    searched = eh.search(subject, over="sex", budget=eh.Budget(queries=500))
    assert Keeping(subject, None, seed=0).all(searched.findings) == ()
    found = eh.measure(subject, over="sex", limit=0.05)
    one = eh.profile({"sex": {"F": 1, "M": 3}})
    assert Keeping(subject, one, seed=0).all(found.findings) != ()
    of_profile = eh.measure(subject, over="sex", limit=0.05, sampler=one)
    assert Keeping(subject, Uniform(), seed=0).all(of_profile.findings) == ()


def test_how_much_is_asked_is_bounded():
    assert draws_for(1e-6) == MOST_DRAWS
    assert kept_of(20_000, left=150) == ()
    (fewer,) = kept_of(20_000, left=3000)
    assert fewer.draws == 1500
    wide = eh.Space([eh.integer("income", 0, 99_999), eh.category("sex", ["F", "M"])])
    subject = eh.Subject(lender(20_000), wide)
    found = eh.measure(subject, over="income", limit=0.05)
    assert MOST_ASKED // 100_000 < 100
    assert Keeping(subject, None, seed=0).all(found.findings) == ()


def test_answers_of_one_version_alone_stand_beside_the_old_estimate():
    subject = eh.Subject(lender(20_000), SPACE)
    found = eh.measure(subject, over="sex", limit=0.05)
    (finding,) = found.findings
    (kept,) = Keeping(subject, None, seed=0).all(found.findings)
    change = change_of(finding, finding, kept, None, level=0.95, among=1)
    assert change is not None
    assert (change.method, change.n) == ("apart", 10_000)
    other = KeptAnswers(kept.key, 1, "other", kept.answers)
    unpaired = change_of(finding, finding, kept, other, level=0.95, among=1)
    assert unpaired is not None
    assert unpaired.method == "independent"
    assert change_of(finding, finding, None, other, level=0.95, among=1) is None


@pytest.mark.parametrize(
    ("changes", "is_kept"),
    [
        ({}, True),
        ({"score": "group"}, True),
        ({"score": "causal difference"}, False),
        ({"about": ()}, False),
        ({"output": "other"}, False),
    ],
)
def test_only_what_draws_can_tell_is_asked(changes, is_kept):
    subject = eh.Subject(lender(20_000), SPACE)
    (finding,) = eh.measure(subject, over="sex", limit=0.05).findings
    changed = replace(finding, **changes)
    before = subject.asked
    kept = Keeping(subject, None, seed=0, left=400).all([changed])
    assert bool(kept) == is_kept
    assert subject.asked - before == (400 if is_kept else 0)


def test_exact_scores_and_amounts_are_not_asked():
    subject = eh.Subject(lender(20_000), SPACE)
    (finding,) = eh.measure(subject, over="sex", limit=0.05).findings
    exact = replace(finding, estimate=replace(finding.estimate, level=1.0))
    assert Keeping(subject, None, seed=0).all([exact]) == ()
    estimate = finding.estimate
    amount = Amount(
        estimate.value,
        estimate.low,
        estimate.high,
        estimate.n,
        estimate.level,
        estimate.method,
        estimate.population,
    )
    of_numbers = replace(finding, estimate=amount)
    assert of_numbers.unit == "amount"
    assert Keeping(subject, None, seed=0).all([of_numbers]) == ()


@pytest.mark.parametrize(
    ("left", "draws"), [(199, None), (200, 100), (201, 100), (202, 101)]
)
def test_at_least_a_hundred_draws_are_kept(left, draws):
    kept = kept_of(20_000, left=left)
    assert [one.draws for one in kept] == ([] if draws is None else [draws])
    assert [one.asked for one in kept] == ([] if draws is None else [2 * draws])


def test_what_was_kept_before_is_asked_whole_or_not_at_all():
    (old,) = kept_of(20_000, left=1000)
    assert old.draws == 500
    before = {old.key: old}
    assert kept_of(20_000, left=999, before=before) == ()
    (new,) = kept_of(20_000, left=1000, before=before)
    assert new.same_inputs(old)
