"""Every sentence that `impact` writes for people, in one place."""

# Errors: options

LEVEL_RANGE = "over 0 and under 1, for example 0.95"
LEAST_RATIO_RANGE = "over 0 and up to 1, for example 0.8"
SUPPORT_RANGE = "from 0 to under 1, for example 0.02"
UNKNOWN_NOT_A_LIST = (
    "unknown = {unknown} must be a list of labels, for example ['unknown', 'declined']"
)
POSITIVE_OF_SCORES = (
    "positive = {positive} cannot be combined with scored=True; leave one of them out"
)
TRUTH_OF_SCORES = (
    "truth = {truth} cannot be combined with scored=True: error rates are those of decisions;"
    " leave one of them out"
)
SCORED_OR_DECIDE_FIRST = (
    "pass scored=True where it is a score, or make decisions of it first"
)

# Errors: a check of a configuration

CHECK_NEEDS_ROWS = (
    "{where}: impact needs the rows of real people; name their file with data"
)
SEVERAL_OUTPUTS = "{name} has several outputs; selection rates are those of one"
NO_COLUMN_WITH_FEW_VALUES = (
    "{where}: no protected feature is a column of at most {most} values; name columns with"
    " over"
)

# Errors: outcomes and categories

SCORES_NOT_NUMBERS = (
    "scored=True needs a column of numbers, and {outcome} holds {dtype}; take another"
    " outcome"
)
NO_FINITE_MEDIAN = (
    "the median of {outcome} is {median}; a scoring rate needs a median of finite scores"
)
NO_ROWS_OF_SCORES = "the frame has no rows; a scoring rate needs a median of finite scores"
OUTCOME_MISSING = (
    "column {outcome} is missing in all {rows} rows; there is nothing to compare"
)
NONE_FAVOURABLE = (
    "no {outcome} is the favourable {favourable}; there is no rate to compare with"
)
NOBODY_FAVOURED = (
    "the software gave {favoured} to no row, and answered {answers}; there is no rate to compare"
    " with"
)
NONE_ABOVE_MEDIAN = (
    "no {outcome} is above the median {median}; there is no rate to compare with"
)
NO_KNOWN_CATEGORY = "no row has a known {names}; there are no categories to compare"
NO_KNOWN_INTERSECTION = (
    "no row has a known {names}; there are no categories to compare; leave the intersection"
    " out with intersections=False"
)
ONE_CATEGORY = (
    "every row with a known {names} is of one category, {category}; it takes two to compare"
)
ONE_INTERSECTION = (
    "every row with a known {names} is of one category, {category}; it takes two to"
    " compare; leave the intersection out with intersections=False"
)
TOO_MANY_TO_LIST = (
    "{names} make {number} categories with rows, over the {most} that are listed; take"
    " fewer columns, or merge values into fewer categories first"
)

# Claims

LOWEST_SELECTION_RATE = "by {names}, the lowest selection rate is {share} of the highest"
LOWEST_SCORING_RATE = "by {names}, the lowest scoring rate is {share} of the highest"
UNDEFINED_WITHOUT_HITS = (
    "by {names}, the impact ratio is undefined: nobody in the categories compared has the"
    " favourable outcome"
)
UNDEFINED_BY_SUPPORT = (
    "by {names}, the impact ratio is undefined: fewer than two categories have {support} of"
    " the rows"
)

# Populations, and what intervals hold together over

RECORDED_DECISIONS = "the recorded decisions"
MEAN_RATIO = "by {names}, the lowest mean {outcome} is {share} of the highest"
MEAN_RATIO_UNDEFINED = (
    "by {names}, the ratio of the lowest mean to the highest is undefined: it needs two categories"
    " with rows, and means over 0"
)
RECORDED_SCORES = "the recorded scores"
PEOPLE_LIKE_THE_ROWS = "people like the given rows"
RATES_AND_RATIOS = "all rates and ratios"
RATES_AND_RATIOS_OF_SETS = "all rates and ratios of {number} sets"

# Notes of a result

MEDIAN = (
    "the median of {outcome} is {median}; rates are the shares of scores above it, taken as"
    " given"
)
TIED_WITH_MEDIAN = (
    "{tied} rows have a {outcome} equal to the median, which counts as not above it"
)
ROWS_WITHOUT_OUTCOME = (
    "{lost} of {rows} rows have no {outcome}; they are left out of everything"
)
ROWS_WITHOUT_TRUTH = (
    "{lost} of {rows} rows have no {truth}; they are left out of the error rates"
)
TOO_MANY_VALUES = (
    "{name} has more than {most} values, so no selection rates are given for it"
)

# Remarks on a table

NO_ROWS = "no rows"
UNDER_SUPPORT = "under {support} of the rows"
CATEGORY_WITH_ROWS = "{category} ({rows} rows)"
UNKNOWN_ROWS = (
    "{unknown} of {rows} rows have an unknown {features}; they are left out of the rates"
    " and ratios by {names}"
)
UNKNOWN_ROWS_BY_LABEL = (
    "{unknown} of {rows} rows have an unknown {features} ({labels}); they are left out of"
    " the rates and ratios by {names}"
)
LEFT_OUT = (
    "left out of the ratios by {names}, and nothing is decided of them, with {reason}:"
    " {categories}"
)
WITHOUT_ROWS = (
    "without rows, which could be of any rate, so that {names} cannot pass: {categories}"
)
UNLISTED = "{number} more categories of {names} have no rows; nothing is decided of them"

# Text and tables

SCORE_WITH_LIMIT = "{score}; limit {limit}"
ROWS_AND_SECONDS = "{rows} rows, {seconds}"
INTERVAL_COLUMN = "{level}\ninterval"
DESCRIPTIVE_COLUMN = "descriptive\n{level} interval"
MORE_CATEGORIES = "… {number} more categories"
LEFT_OUT_CELL = "left out"
SELECTION_RATE = "selection rate: the share of a category that has the favourable outcome."
SCORING_RATE = "scoring rate: the share of scores above the median, which is {median}."

# Drawings

NO_TABLES = "no impact tables"
LEGEND_BELOW = "below"
LEGEND_UNDECIDED = "undecided"
LEGEND_AT_OR_OVER = "at or over"
LEGEND_RATIO = "impact ratio"
RATIO_AND_INTERVAL = "{ratio} ({interval})"
THRESHOLD = "engineering threshold {limit} (at least)"
SELECTION_AXIS = "selection rate divided by the highest, intervals at {level}"
SCORING_AXIS = "scoring rate divided by the highest, intervals at {level}"
DESCRIPTIVE_AXIS = "{axis}, descriptive"
ROWS_OF_PANEL = "{rows} rows, {unknown} unknown"
LEFT_OUT_BAR = "left out: {reason}"
BAR = "{category}, n = {rows}"
BAR_WITH_RATE = "{category}, rate {rate}, n = {rows}"

# Pages

PICTURE_CAPTION = "The impact ratio of each category, with its interval."
PICTURE_FOLDED = "Each group beside the one that is selected most often"
SET_HEADING = "Selection rates by {over}"
SELECTION_CAPTION = (
    "By {over}: selection rates and impact ratios. {unknown} rows have an unknown {over}."
)
SCORING_CAPTION = (
    "By {over}: scoring rates and impact ratios. {unknown} rows have an unknown {over}."
)
SELECTION_RATE_HEADING = "selection rate"
SCORING_RATE_HEADING = "scoring rate"
RATIO_HEADING = "impact ratio"
INTERVAL_HEADING = "interval"
RATIO_INTERVAL_HEADING = "interval of the ratio"
DESCRIPTIVE_HEADING = "{heading} (descriptive)"

# Words of the data that are read, rather than written

UNKNOWN_LABELS = (
    "unknown",
    "not known",
    "not specified",
    "unspecified",
    "not stated",
    "not reported",
    "not provided",
    "not disclosed",
    "prefer not to say",
    "prefer not to answer",
    "decline to answer",
    "decline to self identify",
    "declined",
    "declined to answer",
    "i do not wish to answer",
    "i don't wish to answer",
    "n/a",
    "?",
)
"""Labels of people of whom a characteristic is not known; missing values always are unknown."""
ROWS_WITH_GAPS = (
    "{left_out} of {rows} rows lack a value, which {name} refuses, and are left out"
)

PLAIN_RATES = (
    "Of every {whole} people with {worst}, about {low} get the favourable outcome; of every {whole}"
    " with {best}, about {high} do"
)
