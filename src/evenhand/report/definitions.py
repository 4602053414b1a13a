"""What a report says of its own words: the limits of the claims, and what is not claimed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.runtime import number_text
from evenhand.runtime.language import say

if TYPE_CHECKING:
    from evenhand.statistics.spending import Spending

LIMITS = (
    (
        "A verdict is about the limit that was given, an engineering threshold that somebody chose."
        " It says nothing of any law, and a pass is not proof that the software treats everybody"
        " alike."
    ),
    (
        "Undecided is not a pass: the evidence does not show on which side of the limit the score"
        " lies."
    ),
    (
        "A rate describes the population that is named beside it. Over all inputs, uniformly, it"
        " says what the software can do, not how often that happens to real people."
    ),
    (
        "A search finds witnesses and never a rate. That it finds none says nothing, unless every"
        " input was tried."
    ),
    (
        "A causal score sees what depends on the named features alone. What works through other"
        " features that go along with them, a postcode for example, shows in group scores and"
        " subgroups."
    ),
    (
        "A causal test assumes that the software gives the same answer to the same question; some"
        " inputs were asked twice to see whether it does."
    ),
    (
        "Features that the software is not given have a causal score of zero by construction, which"
        " is no evidence of fairness."
    ),
    (
        "An interval that is called descriptive holds its level by itself, and is not among those"
        " that hold together. No verdict rests on it."
    ),
)
"""What bounds every claim."""
GLOSSARY = {
    "engineering threshold": (
        "The limit that a score is held against. Somebody chose it for this software; it is no"
        " limit of any law."
    ),
    "pass, fail, undecided": (
        "The whole interval of a score lies under its limit (pass), at or over it (fail), or on"
        " both sides of it (undecided)."
    ),
    "interval": (
        "Where the true score lies, as far as the inputs that were looked at can tell. An interval"
        " with 95 % confidence is wrong in at most 5 of 100 audits."
    ),
    "twin": "The same input with nothing changed but the features in question.",
    "exact, enumerated": (
        "Every input of the population was looked at, so that there is no uncertainty of sampling."
    ),
    "anytime": (
        "The interval holds however long the sampling went on, and whenever it was ended."
    ),
    "melded": "The interval of a difference or a ratio is made of those of two rates.",
    "max-t": (
        "The intervals of many subgroups are made together, so that the worst of them holds too."
    ),
    "simultaneous": (
        "Several intervals hold together: it is corrected for having looked at more than one."
    ),
    "descriptive": "The interval holds by itself, and no verdict rests on it.",
    "population": "Whom a score is about: real people of some data, or all possible inputs alike.",
    "n": "How many inputs, or people, a number rests on.",
    "unusual": "Hardly anybody in the data has such a combination of values.",
}
"""What the technical words of a report mean."""
TOGETHER = (
    "Each check holds at its own level; all that is said here holds together with {level}, but for"
    " what is descriptive."
)
NO_CLAIM = (
    "these are numbers that rules on audits ask for, with intervals that such rules do not ask for;"
    " they are no claim of compliance with any rule"
)
ONE_LIMIT = (
    "the finding with a limit holds at {level}; all other intervals are descriptive: each finding"
    " and each table of groups holds by itself at {level}, and gives no verdict"
)
SEVERAL_LIMITS = (
    "the {limits} findings with a limit hold together at {level}; all other intervals are"
    " descriptive: each finding and each table of groups holds by itself at {level}, and gives no"
    " verdict"
)


def limits() -> list[str]:
    """Return what bounds every claim, in the language of the page.

    >>> limits()[1].partition(":")[0]
    'Undecided is not a pass'
    """
    return [say(sentence) for sentence in LIMITS]


def spending_notes(spending: Spending, level: float) -> list[str]:
    """Return what holds together and what is descriptive, nothing where nothing has a limit.

    They are kept with the evidence, and are English.

    >>> from evenhand.statistics.spending import Spending
    >>> spending_notes(Spending(0, 6), 0.95)
    []
    >>> spending_notes(Spending(2, 6), 0.95)[0].partition(";")[0]
    'the 2 findings with a limit hold together at 95 %'
    """
    if not spending.asked:
        return []
    shown = number_text.percent_level(level)
    if spending.limits == 1:
        return [ONE_LIMIT.format(level=shown)]
    limits = number_text.count(spending.limits)
    return [SEVERAL_LIMITS.format(limits=limits, level=shown)]
