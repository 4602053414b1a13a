"""What a report says of its own words: the limits of the claims, and what is not claimed."""

from __future__ import annotations

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
)
"""What bounds every claim."""
TOGETHER = (
    "Each check holds at its own level; all that is said here holds together with {level}."
)
NO_CLAIM = (
    "these are numbers that rules on audits ask for, with intervals that such rules do not ask for;"
    " they are no claim of compliance with any rule"
)
