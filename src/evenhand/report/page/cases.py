"""Cases as people read them: what differs in a sentence, the rest folded, several side by side."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenhand.report.html_page import people
from evenhand.report.lines import printable
from evenhand.report.page import messages
from evenhand.report.page.explore_link import explore_link, replay_command
from evenhand.report.templates import piece
from evenhand.results.remarks import around
from evenhand.runtime.errors import clip
from evenhand.runtime.language import say

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from markupsafe import Markup

    from evenhand.results.evidence import Case

IN_SIGHT = 6
"""How many features of a person are told before the rest is unfolded."""
MOST_CASES = 6
"""The most cases of one part of a page."""
_YES = ("yes", "true")
_NO = ("no", "false")
_PARTICIPLE = "ed"
"""How features end that say what somebody is: "not employed", but "disability no"."""
_SPEAK_FOR_THEMSELVES = ("sex", "gender")
"""Features whose values are words for a person, and need no name before them."""
_LETTERS = 300
_TEXT = "text"
"""The feature that holds a whole text."""
_TERM = re.compile("⟦(.*?)⟧")
"""A term at issue in a text."""
_FILE = "audit.json"
"""What the file of an audit is called in commands; a page does not know where it is."""
_TEMPLATES = "report/page/pages/cases.html.jinja"


@dataclass(frozen=True)
class Change:
    """A feature in which two people differ, and its two values."""

    feature: str
    value: object
    twin_value: object


@dataclass(frozen=True)
class CaseCard:
    """What the card of a case shows; what is empty is left out."""

    person: str
    more: int
    """How many features are not told in sight."""
    changes: Sequence[Change]
    outcome: object
    twin_outcome: object
    doubt: str
    everything: Markup
    replay: str
    """The command that asks the case again."""
    link: str
    """Where the case is while `evenhand explore` runs."""


def case_grid(cases: Sequence[Case], most: int = MOST_CASES) -> Markup:
    """Return cases as cards side by side; people who could exist come first."""
    ordered = sorted(cases, key=lambda case: bool(case.unusual))
    cards = [case_card(case) for case in ordered[:most]]
    return piece(_TEMPLATES, "case_grid", cards)


def case_card(case: Case) -> CaseCard:
    """Return a case as a card."""
    changes = []
    for name in case.changed:
        changes.append(Change(name, *case.shown(name)))
    same = [name for name in case.individual if name not in case.changed]
    in_sight = _names_in_sight(same)
    outcome, twin_outcome = case.outcome_texts
    return CaseCard(
        person=person_text(case, in_sight),
        more=len(same) - len(in_sight),
        changes=changes,
        outcome=outcome,
        twin_outcome=twin_outcome,
        doubt=_doubt(case),
        everything=people(case, _caption(case)),
        replay=replay_command(case, _FILE),
        link=explore_link(case),
    )


def case_sentence(case: Case) -> str:
    """Return a case as one sentence.

    >>> from evenhand.results.evidence import Case
    >>> ann = {"sex": "female", "age": 31, "employed": "yes", "race": "green"}
    >>> print(case_sentence(Case(ann, ann | {"race": "purple"}, ("approve", "deny"))))
    Race green, female, 31 years old, employed: approve. With race purple instead of green: deny.
    """
    in_text = _text_sentence(case)
    if in_text:
        return in_text
    changes = []
    values = []
    for name in case.changed:
        value, twin_value = (clip(str(shown), _LETTERS) for shown in case.shown(name))
        values.append(say(messages.FEATURE_AND_VALUE, feature=name, value=value))
        changed = say(
            messages.CHANGED_FEATURE, feature=name, value=value, twin_value=twin_value
        )
        changes.append(changed)
    same = [name for name in case.individual if name not in case.changed]
    rest = person_text(case, _names_in_sight(same))
    person = ", ".join([*values, rest] if rest else values)
    outcome, twin_outcome = case.outcome_texts
    return say(
        messages.CASE,
        person=person[:1].upper() + person[1:],
        outcome=outcome,
        change=", ".join(changes),
        twin_outcome=twin_outcome,
    )


def is_of_texts(case: Case) -> bool:
    """Return whether a case is of two texts, and not of two people."""
    return _TEXT in case.individual


def _text_sentence(case: Case) -> str:
    """Return two texts as one sentence, empty where one term at issue is not marked in both.

    >>> from evenhand.results.evidence import Case
    >>> texts = {"text": "a ⟦gay⟧ man"}, {"text": "a ⟦straight⟧ man"}
    >>> print(case_sentence(Case(*texts, ("rude", "fine"))))
    “a ⟦gay⟧ man”: rude. With “straight” instead of “gay”: fine.
    """
    text = str(case.individual.get(_TEXT, ""))
    twin_text = str(case.twin.get(_TEXT, ""))
    terms = set(_TERM.findall(text))
    twin_terms = set(_TERM.findall(twin_text))
    if len(terms) != 1 or len(twin_terms) != 1:
        return ""
    outcome, twin_outcome = case.outcome_texts
    return say(
        messages.TEXT_CASE,
        text=clip(around(text), _LETTERS),
        outcome=outcome,
        term=clip(terms.pop(), _LETTERS),
        twin_term=clip(twin_terms.pop(), _LETTERS),
        twin_outcome=twin_outcome,
    )


def _names_in_sight(names: Sequence[str]) -> Sequence[str]:
    """Return the features that are told in sight: a last one takes no more room than saying so.

    >>> len(_names_in_sight("abcdefg")), len(_names_in_sight("abcdefgh"))
    (7, 6)
    """
    if len(names) == IN_SIGHT + 1:
        return names
    return names[:IN_SIGHT]


def person_text(case: Case, names: Iterable[str]) -> str:
    """Return some features of a person in words."""
    words = [_feature_text(name, case.shown(name)[0]) for name in names]
    return ", ".join(words)


def _feature_text(name: str, value: object) -> str:
    """Return a feature and its value in few words.

    >>> _feature_text("age", 31), _feature_text("employed", "no"), _feature_text("income", 91)
    ('31 years old', 'not employed', 'income 91')
    >>> _feature_text("disability", "no")
    'disability no'
    """
    word = clip(str(value), _LETTERS)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if name.lower() == "age" and is_number:
        return say(messages.YEARS_OLD, age=word)
    is_participle = name.lower().endswith(_PARTICIPLE)
    if is_participle and word.lower() in _YES:
        return name
    if is_participle and word.lower() in _NO:
        return say(messages.NOT, feature=name)
    if name.lower() in _SPEAK_FOR_THEMSELVES and word.isalpha() and len(word) > 1:
        return word
    return say(messages.FEATURE_AND_VALUE, feature=name, value=word)


def _doubt(case: Case) -> str:
    """Return who of the two is hardly anybody, empty where nobody is known to be."""
    if case.realistic is False and case.realistic_twin is False:
        return say(messages.UNUSUAL_BOTH)
    if case.realistic is False:
        return say(messages.UNUSUAL_PERSON)
    if case.realistic_twin is False:
        return say(messages.UNUSUAL_TWIN)
    return ""


def _caption(case: Case) -> str:
    if not case.changed:
        return say(messages.TWO_INPUTS)
    *others, last = map(printable, case.changed)
    names = last
    if others:
        first = ", ".join(others)
        names = say(messages.CHANGE_AND_CHANGE, first=first, last=last)
    return say(messages.TWO_INPUTS_THAT_DIFFER, features=clip(names, 120))
