"""How questions of software with chance are asked: in what order, how often, by how many."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand.methods.measure.chance import Asking, checked_repeats, repeats_for
from evenhand.population.samplers import Draws, Uniform
from evenhand.runtime.budget import Budget, Meter
from evenhand.runtime.errors import NotDeterministic, UsageError
from evenhand.runtime.workers import Workers
from evenhand.scores.answer import Answer
from evenhand.scores.question import Terms
from evenhand.statistics.estimate import StopReason

SPACE = eh.Space(
    [
        eh.category("sex", ["F", "M"]),
        eh.category("race", ["a", "b"]),
        eh.integer("income", 0, 99_999),
    ],
    protected=["sex"],
)
COST = 100


@dataclass
class QuestionNotes:
    """Notes what is asked, and answers nothing; `stops` says why each question ended."""

    stops: list[StopReason] = field(default_factory=list)
    parts: list[float] = field(default_factory=list)
    workers: list[int] = field(default_factory=list)
    fails: int = 0

    def __call__(self, question: Any, terms: Any, meter: Meter, workers: Workers) -> Any:
        if self.fails:
            self.fails -= 1
            raise NotDeterministic("the answers changed")
        self.parts.append(meter.left)
        self.workers.append(workers.n_jobs)
        meter.queries += COST
        stop = self.stops.pop(0) if self.stops else StopReason.DECIDED
        return Answer([], stop)


def steady(people: Any) -> Any:
    return people["income"] > 50_000


class CoinToss:
    def __init__(self) -> None:
        self.rng = np.random.default_rng(0)

    def __call__(self, people: Any) -> Any:
        return self.rng.random(len(people)) < 0.5


def asking(
    recorder: Any,
    *,
    model: Any = steady,
    kind: str = "causal",
    repeats: Any = None,
    **options,
) -> Asking:
    return Asking(
        eh.Subject(model, SPACE),
        kind,
        [("sex",), ("race",), ("sex", "race")],
        Terms(Uniform(), **options),
        Meter(Budget(queries=30_000)),
        repeats,
        keep=False,
        ask=recorder,
        share=lambda terms, questions: terms,
    )


def run(of: Asking) -> Any:
    return of.answered(Draws(Uniform(), SPACE, 0, "draws"), Workers(3))


def test_what_a_question_leaves_is_shared_by_those_after_it():
    recorder = QuestionNotes()
    one = asking(recorder)
    found = run(one)
    assert len(found.answers) == 3
    left = 30_000 - (one.meter.queries - 3 * COST)
    expected = [left // 3, (left - COST) // 2, left - 2 * COST]
    assert recorder.parts == expected
    assert recorder.workers == [3, 3, 3]
    assert found.details == {}


def test_an_interrupt_ends_the_questions():
    stops = [StopReason.DECIDED, StopReason.INTERRUPTED]
    recorder = QuestionNotes(stops)
    found = run(asking(recorder))
    assert len(found.answers) == 2
    assert len(recorder.parts) == 2


@pytest.mark.parametrize("repeats", [2, 5])
def test_repeated_answers_are_asked_for_in_this_process(repeats):
    recorder = QuestionNotes()
    found = run(asking(recorder, repeats=repeats))
    assert recorder.workers == [1, 1, 1]
    assert [question.repeats for question in found.questions] == [repeats] * 3
    assert found.details == {"chance": {"repeats": repeats, "noticed": ""}}
    assert len(found.notes) == 1
    assert f"{repeats}" in found.notes[0]


def test_chance_that_is_seen_at_first_is_measured():
    recorder = QuestionNotes()
    found = run(asking(recorder, model=CoinToss()))
    assert recorder.workers == [1, 1, 1]
    assert found.details["chance"]["noticed"] == "at first"
    repeats = found.details["chance"]["repeats"]
    assert [question.repeats for question in found.questions] == [repeats] * 3
    # About half of the second answers differ.
    assert 4 <= repeats <= 8
    assert len(found.notes) == 2


def test_chance_that_is_seen_later_is_measured_anew():
    recorder = QuestionNotes(fails=1)
    found = run(asking(recorder))
    assert found.details["chance"] == {"repeats": 2, "noticed": "during the run"}
    assert len(found.answers) == 3


def test_chance_that_is_seen_later_is_refused_where_the_budget_is_spent():
    recorder = QuestionNotes(fails=1)
    one = asking(recorder)
    one.meter.budget = Budget(queries=10)
    with pytest.raises(NotDeterministic):
        run(one)
    assert recorder.parts == []


def test_one_answer_each_refuses_chance_of_twins_and_not_of_groups():
    with pytest.raises(NotDeterministic):
        run(asking(QuestionNotes(), model=CoinToss(), repeats=1))
    found = run(asking(QuestionNotes(), model=CoinToss(), repeats=1, kind="group"))
    assert found.details["chance"] == {"repeats": 1, "noticed": "at first"}


def test_chance_in_groups_is_looked_at_once_more_after_the_answers():
    one = asking(QuestionNotes(), model=CoinToss(), kind="group")
    before = one.subject.asked
    found = run(one)
    assert found.details["chance"]["repeats"] == 1
    # The first look, and the one after: no answer of the recorder asked the software anything.
    first = asking(QuestionNotes(), model=CoinToss(), kind="causal")
    run(first)
    assert one.subject.asked - before > first.subject.asked
    assert one.meter.queries > first.meter.queries


@pytest.mark.parametrize(
    ("options", "words"),
    [({"exact": True}, "exact"), ({"interval": "wald"}, "'wald'")],
)
def test_what_needs_one_answer_is_refused(options, words):
    with pytest.raises(UsageError, match=words):
        run(asking(QuestionNotes(), repeats=2, **options))


def test_as_many_repeats_are_chosen_as_take_fewest_inputs():
    assert repeats_for(0.0, 0.05) == 2
    assert repeats_for(0.2, 0.01) == 5
    assert repeats_for(0.25, 0.04) == 4 == round(1 + 0.5 / 0.2)
    assert repeats_for(0.5, 0.01) == 8
    assert repeats_for(0.35, 0.01) == 8


def test_repeats_are_a_whole_number_up_to_16():
    assert checked_repeats(None, "causal") is None
    assert checked_repeats(1, "group") == 1
    assert checked_repeats(16, "causal") == 16
    for wrong, kind in ((0, "causal"), (17, "causal"), (True, "causal"), (2, "group")):
        with pytest.raises(UsageError):
            checked_repeats(wrong, kind)
