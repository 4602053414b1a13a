"""The sentences that stand beside the verdict of a finding, and the errors of what it holds."""

from __future__ import annotations

BY_CONSTRUCTION = (
    "so by construction, and no evidence: the software does not see {features}"
)
UNIFORM = "for comparison, without a limit: {estimate}"
NOISE = "asked again, the same input gets another outcome: {estimate}"
ONE_ANSWER = "one answer only: every outcome was {answer}"
UNFAVOURED = (
    "one answer only, and no evidence: every outcome was {answer}, which is not known to be the"
    " favourable one"
)
NEVER_FAVOURED = (
    "no evidence: nobody got the favourable outcome, and some outcomes are not among the classes"
    " of the software"
)
LOST_IN_CHANCE = (
    "no evidence: the outcome changes by chance so often that no more than the limit is left for"
    " anything else"
)
LIMIT_OF_DESCRIPTION = (
    "{key}: a descriptive interval gives no verdict; its limit of {limit:g} must be left"
    " out"
)
NO_SUCH_CASE = "there is no case '{case}'; {choices}"
SEVERAL_CASES = (
    "'{case}' is the beginning of several cases, {cases}; give more of its digits"
)
