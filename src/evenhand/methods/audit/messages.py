"""Every sentence that `audit` writes for people, in one place."""

from __future__ import annotations

# ------------------------------------------------------------------------------------------------
# The page of an audit.
# ------------------------------------------------------------------------------------------------

AUDIT = "Fairness audit"
AUDIT_OF = "Fairness audit of {subject}"
NO_CHECKS = "No check was made"
NO_LIMIT_GIVEN = "No limit was given"
SOME_FAIL = "At least one check fails. Below: which, by how much, and how sure that is."
SOME_UNDECIDED = (
    "No check fails, but not every one passes: the evidence does not decide. That is not a pass."
)
ALL_ON_RIGHT_SIDE = (
    "Every check that has an engineering threshold is surely on the right side of it."
)
WITHOUT_LIMIT = "The checks tell scores without holding them against a limit."
NOTHING_TO_TELL = "There is nothing to tell."
STATEMENTS = "{checks} made {statements}: {verdicts}."
NO_STATEMENTS = "{checks} made {statements}."
INPUTS_ASKED = "The software was asked {inputs}, of which {executed} were run this time."
AT_LEAST_CONFIDENCE = "at least {level} confidence"
NOTHING_DRAWN = "Nothing here depends on which inputs happened to be drawn."
TOO_MANY_FOR_ONE_LEVEL = (
    "Each check holds at its own level; they are too many to say that all of them hold together."
)
POPULATIONS = "They speak of: {populations}."
POPULATIONS_AND_OTHERS = "They speak of: {populations} and others."
HELD_AGAINST = "Held against a baseline: {baseline}. Only what surely got worse, or is new, fails."
VERDICTS_CAPTION = (
    "Every statement of every check, those that pass too. Limits are engineering thresholds."
)
