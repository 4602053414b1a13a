"""Every sentence that `measure`, `prevalence` and `measure_log` write for people, in one place."""

# Errors: settings

UNKNOWN_KIND = "unknown kind {kind}; {choices}"
OPTION_OF_RATES = (
    "{option} = {value} is for decisions, but {outcome} holds numbers, whose means are compared;"
    " leave it out, or name the favourable outcome with positive"
)
TRUTH_NOT_NUMBERS = (
    "truth holds {value}, which is no number; outcomes that are numbers are compared with"
    " numbers"
)
UNITS_OF_RATES = (
    "units = 'outcome' is for the means and medians of outcomes that are numbers (kind ="
    " 'group', without positive); leave it out for rates"
)
ALLOWED_LEVEL = "over 0 and under 1, for example 0.95"
ALLOWED_LIMIT = "from 0 to 1, for example 0.1"
ALLOWED_LEAST_RATIO = "over 0 and up to 1, for example 0.8"
ALLOWED_SUPPORT = "from 0 to under 1, for example 0.02"
NOT_A_DICTIONARY = "{option} = {value} must be a dictionary by column"
COLUMN_NOT_IN_OVER = "{option} names {column}, which is not in over; {choices}"
GROUPS_AND_BINS = "groups and bins both name {column}; give one of them"

# Errors: software with chance in it

REPEATS_NOT_VALID = (
    "repeats = {repeats} must be a whole number from 1 to {most}: how often each person and a twin"
    " are asked; leave it out to have it chosen"
)
REPEATS_OF_GROUPS = (
    "repeats = {repeats} is for causal scores; leave it out for kind = 'group', which chance does"
    " not harm"
)
CHANCE_NOT_EXACT = (
    "exact: a score that rests on repeated answers is an estimate; leave out exact"
)
CHANCE_INTERVAL = (
    "interval = {interval} is for software that answers alike; leave it out where answers are"
    " repeated"
)
CHANCE_TWINS = (
    "twins = 'rows' compares one answer to each row, which is not enough where answers are"
    " repeated; leave out twins"
)
CHANCE_TESTS = (
    "a suite keeps one answer to each input, but this score rests on repeated answers; leave out"
    " keep_tests"
)

# Errors: error rates of software

TRUTH_OF_CAUSAL_SCORES = (
    "truth = {truth} is for error rates, which compare groups; add kind='group'"
)
METRIC_WITHOUT_TRUTH = (
    "metric = {metric} is for error rates, which need what decisions should have been; name it with"
    " truth, or leave metric out"
)
TRUTH_NEEDS_ROWS = (
    "truth needs the rows that it is the true outcome of; pass sampler=eh.rows(frame), or take a"
    " space that was made from data"
)
CHECK_NEEDS_ROWS = (
    "{where}: truth needs the rows of real people; name their file in [space] from or [population]"
    " rows"
)
TRUTH_NOT_A_COLUMN = "truth = {truth} is not a column of the rows; {choices}"
TRUTH_OF_OTHER_LENGTH = "truth has {values} values for {rows} rows; give one for each row"
TRUTH_NEVER_FAVOURABLE = (
    "no value of {truth} is the favourable {favourable}; name what stands for it with"
    " truth_positive; {choices}"
)
ERROR_RATES_OF_SCORES = (
    "{output} is a number and no decision, so that it has no error rates; say which are favourable"
    " with positive or threshold"
)
TOO_FEW_QUERIES = (
    "{rows} rows are to be asked, but the budget leaves {left} queries; raise queries"
)
TOO_MANY_GROUPS_OF_ROWS = (
    "{features} make {groups} groups, but at most {most} are compared; choose fewer features, or"
    " give them bins"
)

# Errors: recorded decisions

COLUMN_WITHOUT_VALUES = (
    "column {column} is missing in every row; there are no groups to compare by it"
)
NO_DECISIONS = (
    "column {column} is missing in all {rows} rows; there is no decision to measure"
)
TOO_MANY_GROUPS_TO_LIST = (
    "{features} make {groups} groups with rows, over the {most} that are listed; choose fewer"
    " columns, or give bins"
)
OPTION_OF_GROUPS = (
    "{option} = {value} is for the scores of groups, and cannot be combined with kind = 'causal';"
    " leave it out"
)
FEATURES_OF_GROUPS = (
    "features = {features} are those in which twins are equal, and need kind = 'causal'; leave one"
    " of them out"
)
FEATURE_NOT_A_COLUMN = (
    "features names {feature}, which is not a column besides the outcome; {choices}"
)
NO_TWINS = (
    "no row has a twin, which differs in {features} and is equal in all other columns; name the"
    " columns that must be equal with features"
)
NO_TWINS_BECAUSE = (
    "no row has a twin, which differs in {features} and is equal in all other columns, since every"
    " row has another value of {columns}; name the columns that must be equal with features"
)

# Claims

NOT_MEASURED = "{features} was not measured"
NOT_MEASURED_FOR_OUTPUT = "{features} was not measured for {output}"
TWINS_DIFFER = (
    "of rows with a twin that differs in {features} alone, {share} have another {outcome} than one"
    " of their twins"
)
RATES_DIFFER = "{best} is favoured in {high} of recorded decisions, {worst} in {low}"
RATES_EQUAL = "every group of {features} is favoured in {rate} of recorded decisions"
RATIO = "by {features}, the lowest rate is {ratio} of the highest"
TOO_FEW_GROUPS = "fewer than two groups of {features} have decisions to compare"
RATIO_WITHOUT_GROUPS = (
    "by {features}, the ratio of the lowest rate to the highest is undefined: fewer than"
    " two groups of {features} have decisions to compare"
)
RATIO_OF_ZERO = (
    "by {features}, the ratio of the lowest rate to the highest is undefined: no decision"
    " was favourable"
)

# Notes

NOTICED_AT_FIRST = "the software does not always answer the same input the same way"
NOTICED_LATER = (
    "the software does not always answer the same input the same way, which was noticed during the"
    " run; it began anew"
)
REPEATED = (
    "each person and a twin were asked {repeats} times, and the score is how much more often they"
    " differ from each other than from themselves"
)
CHANCE_IN_GROUPS = (
    "chance does no harm to rates of groups; no input was taken for asked once and for all, so that"
    " the score is an estimate"
)
ROWS_WITHOUT_OUTCOME = (
    "{lost} of {rows} rows have no {outcome}; they are left out of everything"
)
ROWS_WITHOUT_VALUE = (
    "{unknown} of {rows} rows have no {column}; they are counted as unknown and left out of"
    " the comparison"
)
ROWS_WITHOUT_TRUTH = (
    "{lost} of {rows} rows have no {truth}; they are left out of the error rates"
)
SMALL_GROUPS = (
    "under {share} of the rows, shown and left out of the comparison, and nothing is decided of"
    " them: {groups}"
)
EMPTY_GROUPS = (
    "{empty} of {all} groups of {features} have no rows and could have any rate, so the"
    " comparison cannot pass: {groups}"
)
ROWS_HAVE_TWINS = (
    "{twins} of {rows} rows have a twin among the rows, which differs in {features} and is equal in"
    " {equal}; the score is exact for these rows, and says nothing of the others"
)
EQUAL_ROWS_DIFFER = (
    "{rows} rows have another outcome than rows that are equal to them, {features} included, so"
    " that twins may differ by chance or by what was not recorded"
)
NOTHING_ELSE = "nothing else"
GROUP_WITH_ROWS = "{group} ({rows} rows)"
TOO_MANY_TO_LIST = "too many to list"

# What is measured, and how

ROWS_WITH_A_TWIN = "the recorded rows that have a twin"
RECORDED_DECISIONS = "the recorded decisions"
SPENT_ON_RECORDS = "{rows} recorded decisions, {seconds}"
DESCRIPTIVE_INTERVALS_BELOW = (
    "below each rate its interval; findings with a limit hold together at {level}, and all other"
    " intervals are descriptive; the difference is the highest minus the lowest, the ratio the"
    " lowest divided by the highest"
)
INTERVALS_BELOW = (
    "below each rate its interval; all of them hold together at {level}; the difference is the"
    " highest minus the lowest, the ratio the lowest divided by the highest"
)
