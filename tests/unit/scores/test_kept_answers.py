"""Answers that are kept: which, how many, and that the next version is asked the same inputs."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import evenhand as eh
from evenhand.population.samplers import Uniform
from evenhand.scores import kept_answers as module
from evenhand.scores.kept_answers import (
    MOST_ASKED,
    MOST_DRAWS,
    Keeping,
    KeptAnswers,
    _NumberedDraws,
    change_of,
    draws_for,
)
from evenhand.statistics.estimate import Amount
from evenhand.subject.view import View

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
    change = change_of(
        finding,
        finding,
        kept,
        None,
        level=0.95,
        among=1,
    )
    assert change is not None
    assert (change.method, change.n) == ("apart", 10_000)
    other = KeptAnswers(kept.key, 1, "other", kept.answers)
    unpaired = change_of(
        finding,
        finding,
        kept,
        other,
        level=0.95,
        among=1,
    )
    assert unpaired is not None
    assert unpaired.method == "independent"
    assert (
        change_of(
            finding,
            finding,
            None,
            other,
            level=0.95,
            among=1,
        )
        is None
    )


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


@pytest.mark.parametrize(
    ("tolerance", "cheap", "expensive"),
    [
        (None, 2000, 100),
        (0.0, 2000, 100),
        (0.5, 2000, 100),
        (0.05, 2000, 100),
        (0.049, 2041, 103),
        (0.03, 3334, 167),
        (0.005, 20_000, 1000),
        (0.004, 20_000, 1250),
        (0.0002, 20_000, 20_000),
    ],
)
def test_draws_follow_the_tolerance(tolerance, cheap, expensive):
    assert draws_for(tolerance) == cheap
    assert draws_for(tolerance, expensive=True) == expensive


def a_finding(**measured: Any) -> Any:
    subject = eh.Subject(lender(20_000), SPACE)
    settings = {"over": "sex", "limit": 0.05, "margin": 0.2, **measured}
    (finding,) = eh.measure(subject, **settings).findings
    return subject, finding


@pytest.mark.parametrize(
    ("tolerance", "cost", "left", "draws"),
    [
        (1e-6, 20, 1e9, 20_000),
        (1e-6, 21, 1e9, 19_047),
        (1e-6, 2, 999.0, 499),
        (0.01, 2, 1e9, 10_000),
        # A fifth of the limit, where nothing else is said.
        (None, 2, 1e9, 10_000),
    ],
)
def test_draws_keep_to_what_may_be_asked(tolerance, cost, left, draws):
    subject, finding = a_finding()
    keeping = Keeping(subject, None, 0, tolerance=tolerance)
    found = keeping._draws(finding, cost, left)
    assert found == draws
    assert isinstance(found, int)
    subject.adapter.expensive = True
    assert keeping._draws(finding, 1, 90.0) == 90


def test_few_scores_are_kept(monkeypatch):
    monkeypatch.setattr(module, "MOST_SCORES", 2)
    subject, finding = a_finding()
    other = replace(finding, about=("race",), key="")
    third = replace(finding, about=("sex", "race"), key="")
    keeping = Keeping(subject, None, 0, tolerance=0.5)
    assert [one.key for one in keeping.all([finding, other, third])] == [
        "causal of sex",
        "causal of race",
    ]


def test_what_one_score_takes_is_not_left_to_the_next():
    subject, finding = a_finding()
    other = replace(finding, about=("race",), key="")
    first, second = Keeping(subject, None, 0, left=20_600).all([finding, other])
    assert (first.asked, second.asked) == (20_000, 600)
    assert second.draws == 200
    (alone,) = Keeping(subject, None, 0, left=20_299).all([finding, other])
    assert alone.key == first.key


def numbered(levels: int, kind: str = "group") -> _NumberedDraws:
    races = eh.category("race", [f"r{number}" for number in range(levels)])
    space = eh.Space([races, eh.integer("id", 0, 99)])
    view = View(eh.Subject(lambda people: people["id"] > 50, space))
    return _NumberedDraws(view, Uniform(), kind, ("race",))


@pytest.mark.parametrize(("levels", "cost"), [(1, 0), (2, 2), (64, 64), (65, 0)])
def test_a_draw_costs_one_input_of_each_group(levels, cost):
    assert numbered(levels).cost == cost
    assert numbered(levels, "causal").cost == levels


def test_groups_without_anybody_are_not_drawn():
    space = eh.Space(SPACE.features, ["race"], ["race != 'b'"])
    view = View(eh.Subject(lender(0), space))
    question = _NumberedDraws(view, Uniform(), "group", ("race",))
    assert question.cost == 2
    points = question.points(0, 5)
    assert points[:, 1].tolist() == [0.0] * 5 + [2.0] * 5
    assert question.answers(points).shape == (5, 2)


def test_the_digest_is_that_of_the_inputs():
    question = numbered(2, "causal")
    one, same, other = (question.points(seed, 10) for seed in (1, 1, 2))
    assert module._digest(question, one) == module._digest(question, same)
    assert module._digest(question, one) != module._digest(question, other)
    assert module._digest(question, one) != module._digest(numbered(3, "causal"), one)
    assert len(module._digest(question, one)) == 16


def test_answers_of_a_group_are_columns_of_people():
    question = numbered(2)
    points = question.points(3, 7)
    answers = question.answers(points)
    assert answers.dtype == np.bool_
    assert answers[:, 0].tolist() == (points[:7, 1] > 50).tolist()
    assert answers[:, 1].tolist() == (points[7:, 1] > 50).tolist()


def apart_by(a: Any, b: Any) -> Any:
    return np.minimum(np.abs(a - b) / 4.0, 1.0)


def test_distances_are_kept_as_small_numbers():
    space = eh.Space([eh.category("sex", ["F", "M"]), eh.integer("id", 0, 99)])
    subject = eh.Subject(
        lambda people: 1.0 * (people["sex"] == "F"), space, differs=apart_by
    )
    question = _NumberedDraws(View(subject), Uniform(), "causal", ("sex",))
    answers = question.answers(question.points(0, 3))
    assert answers.dtype == np.float32
    assert answers.tolist() == [0.25] * 3
    kept = KeptAnswers("x", 0, "d", answers)
    assert not kept.counted
    assert kept.to_dict()["graded"]


def test_only_hits_of_both_versions_are_compared_as_such():
    _, finding = a_finding()
    rng = np.random.default_rng(0)
    hits = KeptAnswers(finding.key, 0, "one", rng.random(200) < 0.5)
    of_groups = KeptAnswers(finding.key, 0, "two", rng.random((200, 2)) < 0.5)
    distances = KeptAnswers(finding.key, 0, "three", rng.random(200).astype(np.float32))
    assert [kept.counted for kept in (hits, of_groups, distances)] == [True, False, False]

    def method(new: KeptAnswers, old: KeptAnswers) -> str:
        change = change_of(
            finding,
            finding,
            new,
            old,
            level=0.95,
            among=1,
        )
        assert change is not None
        return change.method

    assert method(hits, replace(hits, digest="other")) == "independent"
    assert method(distances, hits) == "apart"
    assert method(hits, distances) == "apart"
    assert method(of_groups, replace(of_groups, digest="other")) == "apart"


def test_nothing_is_known_of_another_score_or_a_whole_population():
    _, finding = a_finding()
    hits = KeptAnswers(finding.key, 0, "one", np.ones(200, dtype=bool))
    other = replace(finding, about=("race",), key="")
    assert (
        change_of(
            finding,
            other,
            hits,
            hits,
            level=0.95,
            among=1,
        )
        is None
    )
    assert (
        change_of(
            finding,
            finding,
            hits,
            hits,
            level=1,
            among=1,
        )
        is None
    )
    assert (
        change_of(
            finding,
            finding,
            hits,
            hits,
            level=0.95,
            among=1,
        )
        is not None
    )


def test_the_same_inputs_have_one_digest_and_one_shape():
    one = KeptAnswers("x", 0, "d", np.ones(4, dtype=bool))
    assert one.same_inputs(KeptAnswers("x", 1, "d", np.zeros(4, dtype=bool)))
    assert not one.same_inputs(KeptAnswers("x", 0, "e", np.ones(4, dtype=bool)))
    assert not one.same_inputs(KeptAnswers("x", 0, "d", np.ones(5, dtype=bool)))


def test_the_population_is_the_one_that_a_finding_names():
    subject, finding = a_finding()
    given = eh.rows([{"sex": "F", "race": "a", "income": 1}] * 3)
    assert Keeping(subject, given, 0)._population(finding) == Uniform()
    profile = eh.profile({"sex": {"F": 1, "M": 3}})
    words = profile.population(SPACE)
    of_profile = replace(finding, estimate=replace(finding.estimate, population=words))
    assert Keeping(subject, profile, 0)._population(of_profile) is profile
    assert Keeping(subject, None, 0)._population(of_profile) is None


class KeptScorer:
    """A classifier that answers with scores."""

    classes_ = np.array([0, 1])
    feature_names_in_ = np.array(["sex", "id"])

    def predict_proba(self, frame: Any) -> Any:
        shares = frame["id"].to_numpy() / 100
        return np.column_stack([1 - shares, shares])

    def predict(self, frame: Any) -> Any:
        return frame["id"].to_numpy() > 50


def test_scores_of_groups_are_kept_as_small_numbers():
    space = eh.Space([eh.category("sex", ["F", "M"]), eh.integer("id", 0, 99)])
    subject = eh.Subject(KeptScorer(), space, output="score")
    question = _NumberedDraws(View(subject), Uniform(), "group", ("sex",))
    points = question.points(0, 6)
    answers = question.answers(points)
    assert answers.dtype == np.float32
    assert answers[:, 0].tolist() == pytest.approx(points[:6, 1] / 100)
    assert answers[:, 1].tolist() == pytest.approx(points[6:, 1] / 100)
