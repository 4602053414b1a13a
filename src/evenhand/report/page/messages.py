"""Every sentence that the parts of pages share, in one place."""

from __future__ import annotations

# ------------------------------------------------------------------------------------------------
# A score: how sure it is, and what it rests on.
# ------------------------------------------------------------------------------------------------

SCORE = "{value} ({low} to {high})"
SCORE_WITH_LIMIT = "{value} ({low} to {high}); limit {limit}"
EXACT_SCORE = "{value} (exact)"
EXACT_SCORE_WITH_LIMIT = "{value} (exact); limit {limit}"
DIFFERENCE = "difference"
MOST_DIFFERENCE = "largest difference"
SAME_GROUPS = "The same groups, compared by their {score}"
OVER_ALL_INPUTS = "Over all possible inputs alike:"
WITNESSES_ARE_NO_RATE = "A search finds witnesses, and never a rate."
METHOD = "method: {method}; n = {n}"
NO_SAMPLING = "every one of them was looked at, so that nothing depends on a sample"
LEVEL = "the interval holds with {level} confidence"
DESCRIPTIVE = "descriptive: the interval holds by itself, and gives no verdict"
POPULATION = "population: {population}"
MORE_STATEMENTS = "{number} more are in the table of all statements."

# ------------------------------------------------------------------------------------------------
# Groups.
# ------------------------------------------------------------------------------------------------

GROUP = "group"
INTERVAL = "interval"
INTERVAL_DESCRIPTIVE = "interval (descriptive)"
GROUPS_BY_RATE = (
    "The groups that are compared, and the rate of each that the claim is about."
)
GROUPS_BY_RATIO = (
    "The groups that are compared, and how much of the highest rate the rate of each is."
)
GROUPS_BY_NUMBER = "The groups that are compared, in the unit of the outcomes."
RATES_BY_GROUP = (
    "By {features}: rates of each group, each with its interval, then the highest minus the lowest,"
    " and the lowest divided by the highest."
)
ERROR_RATES_BY = "Error rates by {features}"

# ------------------------------------------------------------------------------------------------
# Cases.
# ------------------------------------------------------------------------------------------------

CASE = "{person}: {outcome}. With {change}: {twin_outcome}."
TEXT_CASE = "“{text}”: {outcome}. With “{twin_term}” instead of “{term}”: {twin_outcome}."
CHANGED_FEATURE = "{feature} {twin_value} instead of {value}"
CHANGE_AND_CHANGE = "{first} and {last}"
FEATURE_AND_VALUE = "{feature} {value}"
NOT = "not {feature}"
YEARS_OLD = "{age} years old"
UNUSUAL_PERSON = "Hardly anybody in the data is like this person."
UNUSUAL_TWIN = "Hardly anybody in the data is like the twin."
UNUSUAL_BOTH = "Hardly anybody in the data is like either of the two."
TWO_INPUTS = "Two inputs, and their outcomes"
TWO_INPUTS_THAT_DIFFER = "Two inputs that differ in {features} alone, and their outcomes"

# ------------------------------------------------------------------------------------------------
# Findings in plain words.
# ------------------------------------------------------------------------------------------------

LIST = "{first} and {last}"
FEATURES_OF_OUTPUT = "{features} (for {output})"
CAUSAL = (
    "Of every {whole} inputs, about {value} get another outcome when nothing but {features} is"
    " changed"
)
CAUSAL_GAP = (
    "Of every {whole} inputs, about {value} get an outcome that differs by more than {gap} when"
    " nothing but {features} is changed"
)
CAUSAL_NOT_SEEN = (
    "Changing nothing but {features} changed no outcome that was looked at; of every {whole}"
    " inputs, at most {high} may be affected"
)
CAUSAL_PEOPLE = (
    "Of every {whole} people, about {value} would get another outcome if nothing but their"
    " {features} were different"
)
CAUSAL_GAP_PEOPLE = (
    "Of every {whole} people, about {value} would get an outcome that differs by more than {gap} if"
    " nothing but their {features} were different"
)
CAUSAL_NOT_SEEN_PEOPLE = (
    "Changing nothing but {features} changed no outcome that was looked at; of every {whole}"
    " people, at most {high} may be affected"
)
CAUSAL_NEVER = "Changing nothing but {features} changes no outcome at all"
FAVOURED_GROUPS = (
    "Of every {whole} people with {worst}, about {low} get the favourable outcome; of every {whole}"
    " with {best}, about {high} do"
)
MEAN_GROUPS = (
    "On average, people with {worst} get {gap} less than people with {best}: {low} against"
    " {high}"
)
MEDIAN_GROUPS = (
    "Of people with {worst}, the one in the middle gets {gap} less than the one in the middle of"
    " people with {best}: {low} against {high}"
)
TRUE_POSITIVE_GROUPS = (
    "Of every {whole} people with {worst} who should get the favourable outcome, about {low} do; of"
    " every {whole} such people with {best}, about {high} do"
)
FALSE_POSITIVE_GROUPS = (
    "Of every {whole} people with {worst} who should not get the favourable outcome, about {low}"
    " do; of every {whole} such people with {best}, about {high} do"
)
FALSE_NEGATIVE_GROUPS = (
    "Of every {whole} people with {worst} who should get the favourable outcome, about {low} do"
    " not; of every {whole} such people with {best}, about {high} do not"
)
ACCURACY_GROUPS = (
    "Of every {whole} decisions on people with {worst}, about {low} are as they should be; of every"
    " {whole} on people with {best}, about {high} are"
)
PRECISION_GROUPS = (
    "Of every {whole} people with {worst} who get the favourable outcome, about {low} should; of"
    " every {whole} such people with {best}, about {high} should"
)

# ------------------------------------------------------------------------------------------------
# Code, which no language changes.
# ------------------------------------------------------------------------------------------------

IMPORT_EVENHAND = "import evenhand as eh"
