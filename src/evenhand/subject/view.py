"""One output of the software under test at a time: what measures ask and compare."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.runtime.values import as_outcomes
from evenhand.subject.answers_seen import MOST
from evenhand.subject.outcome_meaning import distance

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evenhand.runtime.label_text import Words
    from evenhand.subject.outcome_meaning import Differs, Meaning
    from evenhand.subject.subject import Subject


@dataclass(frozen=True)
class View:
    """One output of a subject; its name is empty where the software has only one.

    Parameters
    ----------
    target
        A label to take for the favourable outcome, instead of what the subject says.
    """

    subject: Subject
    name: str = ""
    target: Any = None

    @property
    def title(self) -> str:
        """The output and the outcome that counts, which tell this view from others."""
        parts = []
        if self.name:
            parts.append(self.name)
        if self.target is not None:
            parts.append(str(self.target))
        return " ".join(parts)

    @property
    def favoured(self) -> str:
        """What counts as favourable, in words."""
        positive = self.positive
        if self.meaning.measured:
            return self.name or "outcome"
        if not self.counts:
            return self.name or "the score"
        if positive is None or callable(positive):
            return f"the favourable {self.name or 'outcome'}"
        if isinstance(positive, list | tuple | set | frozenset):
            outcome = " or ".join(str(self.meaning.shown(value)) for value in positive)
        else:
            outcome = f"{self.meaning.shown(positive)}"
        if self.name:
            return f"{self.name} {outcome}"
        return outcome

    @property
    def names_outcome(self) -> bool:
        """Whether what counts as favourable is a label, rather than a phrase that describes it."""
        return self.counts and self.positive is not None and not callable(self.positive)

    @property
    def meaning(self) -> Meaning:
        """What the outcomes of this output mean."""
        found = self.subject.meanings[self.name]
        if self.target is None:
            return found
        return replace(found, positive=self.target)

    @property
    def differs(self) -> Differs:
        """When two outcomes of this output differ."""
        return self.meaning.differs

    @property
    def gap(self) -> float | None:
        """How far apart two numbers have to be to differ; None where no such number was given."""
        differs = self.differs
        if differs is None or callable(differs):
            return None
        return float(differs)

    @property
    def graded(self) -> bool:
        """Whether the distance of two outcomes is a number in [0, 1] rather than yes or no."""
        return callable(self.differs)

    @property
    def positive(self) -> Any:
        """The favourable outcome, a tuple of those, or a function; None where none is given."""
        return self.meaning.positive

    @property
    def labels(self) -> tuple[Any, ...] | None:
        """All outcomes there are, where the user named them."""
        return self.meaning.labels

    @property
    def classes(self) -> tuple[Any, ...] | None:
        """The known labels, each of which may be the favourable one.

        None for truth values and numbers.
        """
        return self.meaning.classes

    @property
    def counts(self) -> bool:
        """Whether the amount of an outcome is 0 or 1, rather than a score in between."""
        return self.meaning.counts

    def only(self, label: Any) -> View:
        """Return a view of the same output in which this label is the favourable outcome."""
        return replace(self, target=label)

    def decide(self, inputs: Any) -> NDArray[Any]:
        """Return this output's outcome of each input."""
        outcomes = self.subject.decide(inputs)
        if self.name:
            return np.ascontiguousarray(outcomes[self.name])
        return outcomes

    @property
    def answers(self) -> tuple[Any, ...]:
        """The different answers of this output since the run began."""
        return self.subject.seen[self.name].answers

    def only_answer(self, answers: Sequence[Any], *, favoured: bool | None = None) -> Any:
        """Return the one answer that was given in a run, None where there were several or none.

        Raises a UsageError where the favourable outcome cannot be what it is said to be, since the
        software never gave it. `favoured` says whether anybody got it. Where a score does not rest
        on that, it is None, and only the answers of software that gave several tell it.
        """
        if favoured is None:
            favoured = not 1 < len(answers) < MOST
        if not favoured:
            self.meaning.refuse_never_given(answers)
        if len(answers) == 1:
            return answers[0]
        return None

    def any_favoured(self, answers: Sequence[Any]) -> bool | None:
        """Return whether a favourable outcome is among the different answers of a run.

        It is None where that is not known, as of more answers than are told apart.
        """
        if not self.counts or not 0 < len(answers) < MOST:
            return None
        return bool(self.favourable(as_outcomes(answers)).any())

    def unfavoured(self, only_answer: Any, *, favoured: bool | None = None) -> bool:
        """Return whether there is no evidence in what was answered, since nobody is favoured.

        That is so where there was one answer only, and it is not known to be favourable: a label
        that is looked at by itself is not favourable for that. Of several answers, one must be
        none of the known classes, as an error message is not. `favoured` says whether anybody got
        the favourable outcome, None where a score does not rest on that.
        """
        meaning = self.subject.meanings[self.name]
        if only_answer is not None:
            return not meaning.favours(only_answer)
        classes = meaning.labels or meaning.known or ()
        return favoured is False and not set(self.answers) <= set(classes)

    def answer_fields(
        self, only_answer: Any, *, favoured: bool | None = None
    ) -> dict[str, Any]:
        """Return the fields of a finding on the one answer that there was, if any."""
        unfavoured = self.unfavoured(only_answer, favoured=favoured)
        return {"only_answer": only_answer, "unfavoured": unfavoured}

    def distance(self, a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
        """Return how far apart outcomes are."""
        return distance(self.differs, a, b)

    def favourable(self, outcomes: NDArray[Any]) -> NDArray[np.bool_]:
        """Return which outcomes are favourable."""
        return self.meaning.favourable(outcomes)

    def amount(self, outcomes: NDArray[Any]) -> NDArray[np.float64]:
        """Return how favourable each outcome is: 0 or 1 for labels, the score itself for scores."""
        return self.meaning.amount(outcomes)


def views_of(subject: Subject) -> tuple[View, ...]:
    """Return a view of each output of the software.

    >>> from evenhand.space.feature import integer
    >>> from evenhand.space.space import Space
    >>> from evenhand.subject.subject import Subject
    >>> def loan(people):
    ...     return {"grant": people["age"] > 20, "rate": 90 - people["age"]}
    >>> subject = Subject(loan, Space([integer("age", 18, 90)]), outputs=["grant", "rate"])
    >>> [(view.name, view.decide([{"age": 50}]).tolist()) for view in views_of(subject)]
    [('grant', [True]), ('rate', [40])]
    >>> subject.executed
    1
    """
    return tuple(View(subject, name) for name in subject.meanings)


def outcome_labels(subject: Subject) -> dict[str, Words]:
    """Return what people call the outcomes of each output, of those that have labels."""
    named = [meaning for meaning in subject.meanings.values() if meaning.words]
    return {meaning.name: meaning.words for meaning in named}


def views_for(subject: Subject, kind: str) -> list[View]:
    """Return a view of each output.

    For a group score without a favourable outcome, it is a view of each outcome of each output.
    """
    views = list(views_of(subject))
    if kind != "group":
        return views
    targets: list[View] = []
    for view in views:
        targets.extend(_targets(view))
    return targets


def _targets(view: View) -> list[View]:
    """Return a view of each label, where there are more than two and none is the favourable one."""
    classes = view.classes
    open_outcome = view.positive is None and view.counts
    if open_outcome and classes is not None and len(classes) > 2:
        return [view.only(label) for label in classes]
    return [view]
