"""PagePart: a piece of a page that answers one question of a reader about some features.

Verbs yield parts; the page of an audit puts those of all verbs in order, by protected feature and
by question. So a reader finds everything about sex in one place, whatever verb has found it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from markupsafe import Markup

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenhand.results.evidence import Case


NOTHING = Markup("")


class ReaderQuestion(Enum):
    """What readers ask, in the order in which a page answers."""

    HOW_MUCH = "How much?"
    HARDEST_HIT = "Who is hit hardest?"
    PEOPLE = "Show me people"
    TEXTS = "Show me texts"
    WHERE = "Where, and why?"
    ERRORS = "Who is judged wrongly?"
    WHAT_HELPS = "What helps?"


@dataclass(frozen=True)
class PagePart:
    """A piece of a page.

    Parameters
    ----------
    question
        The question that it answers.
    features
        The features that it is about; empty where it is about no feature in particular.
    html
        The piece itself.
    folded
        The line that unfolds it; empty where it is open from the start.
    cases
        People to show instead of `html`: a page puts those of all verbs side by side.
    judged
        Whether it tells a verdict: what does stands before what does not.
    """

    question: ReaderQuestion
    features: tuple[str, ...]
    html: Markup = NOTHING
    folded: str = ""
    cases: tuple[Case, ...] = ()
    judged: bool = False


def parts_of(question: ReaderQuestion, parts: Iterable[PagePart]) -> list[PagePart]:
    """Return the parts that answer a question: those with a verdict, open ones, folded ones.

    >>> from markupsafe import Markup
    >>> table = PagePart(ReaderQuestion.HOW_MUCH, ("sex",), Markup("a table"), "The numbers")
    >>> card = PagePart(ReaderQuestion.HOW_MUCH, ("sex",), Markup("a card"))
    >>> [str(part.html) for part in parts_of(ReaderQuestion.HOW_MUCH, [table, card])]
    ['a card', 'a table']
    """
    answers = [part for part in parts if part.question is question]
    # The sort is stable: parts stay in the order of their checks.
    return sorted(answers, key=lambda part: (bool(part.folded), not part.judged))
