"""Every sentence that `replay` writes for people, in one place."""

# Errors: arguments

LIMIT_FOR_A_RESULT = (
    "limit = {limit} is only for a suite; a case of a result passes when it differs no"
    " longer"
)
CASE_OF_A_SUITE = (
    "case = '{case}' is only for a result or an audit; a suite has tests and no cases"
)
CASE_OF_FILE = "'{file}': {reason}"
UNKNOWN_SUFFIX = "'{file}' has the unknown suffix '{suffix}'; {choices}"
SUBJECT_TAKES_TEXTS = (
    "'{file}' holds no texts, but {subject} takes texts; pass a Subject, or a space as well"
)
FILE_HOLDS_TEXTS = (
    "'{file}' holds texts and not inputs of a space; pass a TextSubject, or a function of"
    " texts"
)

# Errors: what a file holds

NO_CASES = (
    "'{file}' has no cases to replay; replay a suite, which measure writes with"
    " keep_tests=True and to_suite"
)
NO_CASES_OF_AN_AUDIT = "'{file}' has no cases to replay; none of its checks has any"
NO_CASES_OF_A_SEARCH = "'{file}' has no cases to replay; the search found none"
NO_CASES_OF_TEXTS = "'{file}' has no cases to replay; no outcome changes with any term"
OTHER_OUTPUTS = (
    "'{file}' holds the outputs {held}, but {subject} gives {given}; declare the same"
    " outputs"
)
UNNAMED_OUTPUT = "one without a name"
NO_SUCH_OUTPUT = "'{file}': {subject} has no output {output}; {choices}"
NO_SUCH_FEATURE = "'{file}' is of another space: {feature} is not a feature; {choices}"
OTHER_SPACE = "'{file}' is of another space: {reason}"
CASE_WITHOUT_TEXT = "'{file}' is damaged: a case of texts has no text but {case}"

# Claims

STILL_DIFFER = "{still} of {cases} cases of {features} still differ"
CASE_STILL_DIFFERS = (
    "case {case}: the outcome was {own_before} and that of its twin {twin_before}; now they are"
    " {own} and {twin}, which still differ"
)
CASE_DIFFERS_NO_LONGER = (
    "case {case}: the outcome was {own_before} and that of its twin {twin_before}; now they are"
    " {own} and {twin}, which differ no longer"
)
CASE_HOLDS = "case {case}: {individual}; its twin has {changes}"
CASES_OF_FILE = "the cases of {file}"
SCORE_AND_CHANGES = "{score} (it was {was}); {changed} of {outcomes} outcomes changed"
AT_LEAST = "{score}, at least"
APART = "{score}, {difference} apart"

# Populations

DRAWN_FROM = "what the suite {suite} was drawn from"
SUITE = "the suite {suite}"
SUITE_WITH_TWINS = "the suite {suite}, with twins among them"

# Notes

VARIANTS_NOT_TESTED = (
    "{open} of {draws} draws of {features} were not tested in all their variants, so the"
    " score is at least what is said; its upper limit counts them as discriminated against"
)
GROUPS_NOT_IN_SUITE = (
    "{missing} of {groups} groups of {features} are not in the suite; the score says"
    " nothing of them"
)
