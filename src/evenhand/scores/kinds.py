"""The kinds of scores, and the questions that ask for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.scores.causal import CausalQuestion
from evenhand.scores.group import GroupQuestion
from evenhand.subject.view import views_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenhand.scores.question import Question
    from evenhand.subject.subject import Subject
    from evenhand.subject.view import View

KINDS = ("causal", "group")


def views_for(subject: Subject, kind: str) -> list[View]:
    """Return a view of each output; for a group score without a favourable outcome, of each outcome."""
    views = views_of(subject)
    return [each for view in views for each in _targets(view)] if kind == "group" else list(views)


def _targets(view: View) -> list[View]:
    if view.positive is None and view.counts and view.classes is not None and len(view.classes) > 2:
        return [view.only(label) for label in view.classes]
    return [view]


def questions_of(subject: Subject, kind: str, sets: Sequence[tuple[str, ...]]) -> list[Question]:
    """Return a question for each output and set."""
    return [question_of(view, kind, names) for view in views_for(subject, kind) for names in sets]


def question_of(view: View, kind: str, names: tuple[str, ...]) -> Question:
    """Return the question for one output and set."""
    return CausalQuestion(view, names) if kind == "causal" else GroupQuestion(view, names)
