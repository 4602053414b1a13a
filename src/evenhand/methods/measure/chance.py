"""How `measure` deals with chance: one answer each, or repeated ones where they do not agree."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from evenhand.methods.measure import messages
from evenhand.population.samplers import Draws, is_rows
from evenhand.runtime.errors import NotDeterministic, UsageError, clip
from evenhand.runtime.workers import Workers
from evenhand.scores.chance.question import ExcessQuestion
from evenhand.scores.chance.watch import (
    NO_LOOK,
    Watch,
    asked_anew,
    first_look,
    look_after,
    watched,
)
from evenhand.scores.kinds import questions_of
from evenhand.subject.view import views_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from evenhand.runtime.budget import Meter
    from evenhand.scores.answer import Answer
    from evenhand.scores.chance.watch import AskedTwice
    from evenhand.scores.question import Question, Terms
    from evenhand.subject.subject import Subject

    Ask = Callable[[Question, Terms, Meter, Workers], Answer]

MOST_REPEATS = 16
"""The most answers to one input that may be asked for."""
MOST_CHOSEN = 8
"""The most that a first look chooses."""


@dataclass
class AnsweredRun:
    """The questions that were asked, with which terms, and what was answered."""

    questions: list[Question]
    terms: Terms
    answers: list[Answer] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    details: dict[str, Any] = field(default_factory=dict)


@dataclass
class Asking:
    """The questions of one run of `measure`, of software that may have chance in it."""

    subject: Subject
    kind: str
    sets: Sequence[tuple[str, ...]]
    terms: Terms
    meter: Meter
    repeats: int | None
    keep: bool
    ask: Ask
    """Answers one question."""
    share: Callable[[Terms, Sequence[Question]], Terms]
    """Returns the terms of questions that are answered together."""

    def answered(self, draws: Draws, workers: Workers) -> AnsweredRun:
        """Take a first look at the draws, and answer all questions as it suggests."""
        look = first_look(draws, self.subject, self.meter)
        notes = [] if look.pairs else [NO_LOOK]
        notes += self.subject.notes
        found = self._by_look(look, workers)
        found.notes = notes + found.notes
        return found

    def _by_look(self, look: AskedTwice, workers: Workers) -> AnsweredRun:
        if self.repeats is not None and self.repeats > 1:
            return self._with_chance(look, "", "")
        if look.changed is None:
            try:
                return self._once(look, workers)
            except NotDeterministic:
                if not self._affords_more:
                    raise
                self._refuse_one_answer(look)
                return self._with_chance(look, "during the run", messages.NOTICED_LATER)
        self._refuse_one_answer(look)
        return self._with_chance(look, "at first", messages.NOTICED_AT_FIRST)

    def _refuse_one_answer(self, look: AskedTwice) -> None:
        """Refuse chance where one answer to each input was asked for."""
        if self.repeats == 1 and self.kind == "causal" and look.changed is not None:
            raise look.changed

    @property
    def _affords_more(self) -> bool:
        """Whether the budget leaves something after answers that turned out not to agree."""
        cost = max(question.cost for question in self._questions(2))
        return self.meter.left >= cost * len(self.sets) * len(self.subject.meanings)

    def _once(self, look: AskedTwice, workers: Workers) -> AnsweredRun:
        """Answer all questions from one answer to each input, and watch for others."""
        questions = questions_of(self.subject, self.kind, self.sets)
        found = AnsweredRun(questions, self.share(self.terms, questions))
        watch = Watch.of(self.subject, look, self.terms.seed)
        asked_before = self.subject.asked
        spent_before = self.meter.queries
        try:
            with watched(self.subject, watch):
                self._ask_all(found, workers)
            if self.kind == "group":
                self._look_after(look, self.meter.queries - spent_before)
        except NotDeterministic:
            # Nothing rests on these answers, but they were asked for.
            spent = spent_before + self.subject.asked - asked_before
            self.meter.queries = int(min(spent, self.meter.budget.queries or math.inf))
            raise
        return found

    def _look_after(self, look: AskedTwice, asked: int) -> None:
        """Refuse answers of groups that turn out not to agree."""
        self._ask_more_twice(look, asked)
        if look.changed is not None:
            raise look.changed

    def _ask_more_twice(self, look: AskedTwice, asked: int) -> None:
        draws = Draws(self.terms.sampler, self.subject.space, self.terms.seed, "watch")
        expensive = self.subject.adapter.expensive
        look_after(draws, look, self.meter, asked, expensive=expensive)

    def _with_chance(self, look: AskedTwice, noticed: str, note: str) -> AnsweredRun:
        """Answer all questions anew, in this process: copies of software share their chance."""
        repeats = self.repeats
        if repeats is None or repeats == 1:
            margins = self.terms.margins(expensive=self.subject.adapter.expensive)
            repeats = repeats_for(look.share, margins.wanted)
        questions = self._questions(repeats)
        terms = self._terms_of_chance()
        found = AnsweredRun(questions, self.share(terms, questions))
        alone = Workers(1)
        if self.kind == "causal":
            self._ask_all(found, alone, anew=True)
            how = messages.REPEATED.format(repeats=repeats)
        else:
            spent_before = self.meter.queries
            self._ask_all(found, alone, anew=True)
            self._ask_more_twice(look, self.meter.queries - spent_before)
            _note_noise(found, look)
            how = messages.CHANCE_IN_GROUPS
            repeats = 1
        found.notes = [note, how] if note else [how]
        found.details = {"chance": {"repeats": repeats, "noticed": noticed}}
        return found

    def _questions(self, repeats: int) -> list[Question]:
        if self.kind != "causal":
            return questions_of(self.subject, self.kind, self.sets)
        questions: list[Question] = []
        for view in views_of(self.subject):
            for names in self.sets:
                questions.append(ExcessQuestion(view, names, repeats))
        return questions

    def _terms_of_chance(self) -> Terms:
        """Return the terms of an estimate; refuse what needs one answer to each input."""
        terms = self.terms
        if terms.exact:
            raise UsageError(messages.CHANCE_NOT_EXACT)
        sampler = terms.sampler
        given = is_rows(sampler) and sampler.twins == "rows"
        if self.kind == "causal":
            if terms.interval is not None:
                shown = clip(repr(terms.interval))
                raise UsageError(messages.CHANCE_INTERVAL.format(interval=shown))
            if given:
                raise UsageError(messages.CHANCE_TWINS)
            if self.keep:
                raise UsageError(messages.CHANCE_TESTS)
        elif given:
            # Rates of groups need no twins, and rows can then be drawn.
            sampler = replace(sampler, twins="domain")  # type: ignore[type-var]
        return replace(terms, exact=False, sampler=sampler)

    def _ask_all(self, found: AnsweredRun, workers: Workers, *, anew: bool = False) -> None:
        """Answer the questions one by one, until the run is interrupted."""
        for number, question in enumerate(found.questions):
            # What a set leaves of its share of the budget is shared by those after it.
            part = self.meter.share(len(found.questions) - number)
            if anew:
                with asked_anew(self.subject):
                    answer = self.ask(question, found.terms, part, workers)
            else:
                answer = self.ask(question, found.terms, part, workers)
            self.meter.queries += part.queries
            found.answers.append(answer)
            if answer.interrupted:
                break


def _note_noise(found: AnsweredRun, look: AskedTwice) -> None:
    """Add to all findings how often answers differ when asked again."""
    terms = found.terms
    noted = []
    for question, answer in zip(found.questions, found.answers, strict=False):
        population = terms.sampler.population(question.space)
        noise = look.estimate(question.view.name, terms.level, population)
        findings = [replace(finding, noise=noise) for finding in answer.findings]
        noted.append(replace(answer, findings=findings))
    found.answers = noted


def checked_repeats(repeats: Any, kind: str) -> int | None:
    """Return how often to ask, None where that is to be chosen."""
    if repeats is None:
        return None
    shown = clip(repr(repeats))
    whole = isinstance(repeats, int) and not isinstance(repeats, bool)
    if not whole or not 1 <= repeats <= MOST_REPEATS:
        raise UsageError(
            messages.REPEATS_NOT_VALID.format(repeats=shown, most=MOST_REPEATS)
        )
    if kind == "group" and repeats > 1:
        raise UsageError(messages.REPEATS_OF_GROUPS.format(repeats=shown))
    return int(repeats)


def repeats_for(noise: float, margin: float) -> int:
    """Return how often to ask, for a share of second answers that differ.

    Where twins are alike, the variance of an excess is about 2·noise²/(r·(r - 1)), and a decision
    takes about log(1/tail)/margin people even without any. The inputs asked, 2·r times the people,
    are then fewest at r = 1 + 2·noise/√margin.

    >>> [repeats_for(noise, 0.05) for noise in (0.002, 0.1, 0.3, 0.5)]
    [2, 2, 4, 5]
    """
    best = round(1 + 2 * noise / math.sqrt(margin))
    return min(max(best, 2), MOST_CHOSEN)
