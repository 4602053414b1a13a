"""The kinds of scores, and the questions that ask for them; each is imported where it is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.subject.view import views_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenhand.scores.question import Question
    from evenhand.subject.subject import Subject
    from evenhand.subject.view import View

KINDS = ("causal", "group")


def questions_of(
    subject: Subject, kind: str, sets: Sequence[tuple[str, ...]]
) -> list[Question]:
    """Return a question for each output and set."""
    questions = []
    for view in views_for(subject, kind):
        for names in sets:
            questions.append(question_of(view, kind, names))
    return questions


def question_of(view: View, kind: str, names: tuple[str, ...]) -> Question:
    """Return the question for one output and set."""
    if kind == "causal":
        from evenhand.scores.causal import CausalQuestion

        return CausalQuestion(view, names)
    if view.meaning.measured:
        from evenhand.scores.numbers.question import NumberQuestion

        return NumberQuestion(view, names)
    from evenhand.scores.rates.question import GroupQuestion

    return GroupQuestion(view, names)
