"""Every sentence that `compare` writes for people, in one place."""

# Errors: options

TOO_FEW_OUTCOMES = (
    "outcomes must hold the predictions of the original and of a mitigation by name, at"
    " least two"
)
TOO_FEW_PREDICTIONS = (
    "predictions must hold those of the original and of a mitigation by name, at least two"
)
BASELINE_NOT_AN_OUTCOME = "baseline = {baseline} is not among the outcomes; {choices}"
UNKNOWN_LINE = "unknown line {line}; {choices}"
NOT_BETWEEN_0_AND_1 = "{option} = {value} must lie between 0 and 1, for example {example}"
NOT_A_WHOLE_NUMBER = "{option} = {value} must be a whole number of {least} or more"
SUPPORT_NOT_A_SHARE = "support = {support} must be a share of the rows, for example 0.01"
OVER_NOT_COLUMNS = "over = {over} must name protected columns; {choices}"
OVER_UNKNOWN = "over names {name}, which is not a protected column; {choices}"
OVER_EMPTY = "over = {over} names no protected column; {choices}"
UNKNOWN_STRATEGY = "unknown overwrite {strategy}; {choices}"
STRATEGY_NEEDS_LABEL = (
    "overwrite = 'label' needs the option label, what to overwrite with; {choices}"
)
STRATEGY_TAKES_NO_LABEL = (
    "overwrite = {strategy} cannot be combined with label = {label}; a label needs"
    " overwrite = 'label'"
)
LABEL_NOT_PREDICTED = "label = {label} is not a label of these predictions; {choices}"
DEGREES = "degrees = {degrees} must be shares of the predictions, from 0 to 1"
POSITIVE_NOT_A_LABEL = "positive = {positive} is not a label; {choices}"
POSITIVE_IS_NEEDED = (
    "{score} needs the favourable label: name it with the option positive; {choices}"
)
UNKNOWN_MITIGATION = "this comparison has no {name}; {choices}"

# Errors: published scores

TOO_FEW_PUBLISHED = (
    "performance must hold the scores of the original and of a mitigation by name, at"
    " least two"
)
PUBLISHED_WITH_OUTCOMES = (
    "performance holds published scores, which cannot be combined with {option}; leave it"
    " out"
)
PUBLISHED_BIAS = (
    "bias = {bias} must hold a number for each name, as performance does: without predictions none"
    " is computed"
)
PUBLISHED_SCORE_MISSING = "{option} has no score for {name}; give one for each name"
PUBLISHED_NOT_A_NUMBER = (
    "{option} of {name} is {value}; published scores are numbers, without intervals"
)
POINT_OF_THE_LINE = "baseline"
BASELINE_NOT_POINTS = (
    "baseline = {baseline} must be points of the line for published scores, such as [(0.8, 0.5),"
    " (0.5, 0)]: performance and bias of each"
)
BASELINE_POINT = (
    "baseline has {point}; give performance and bias of each point, as (0.5, 0)"
)
LINE_WITHOUT_EXTENT = (
    "baseline leads nowhere from the original {name}: give a point with less performance and one"
    " with less bias"
)

# Errors: a check of a configuration

CHECK_NEEDS_ROWS = (
    "{where}: compare needs rows with their true outcomes; name their file with data"
)
CHECK_NEEDS_TRUTH = "{where}: compare has no truth; name the column of true outcomes"

# Errors: columns

PROTECTED_COLUMN = "the protected column {name}"
PREDICTIONS_OF = "the predictions of {name}"
COLUMN_IN_RUN = "{column} in run {run}"
TEST_SET = "the test set"
TEST_SET_IN_RUN = "the test set in run {run}"
NO_PROTECTED_COLUMN = (
    "protected has no column; give it the column of a protected feature, or several"
)
NO_COLUMNS_TO_PLACE = "there are no protected columns to place rows by"
PROTECTED_LENGTHS = (
    "protected has {first_rows} rows of {first} and {second_rows} of {second}"
)
SEVERAL_COLUMNS = "{column} has {number} columns ({names}); give it a single one"
NOT_A_COLUMN = "{column} is {value}, which is not a column; give it one value for each row"
NOT_ONE_DIMENSIONAL = (
    "{column} has the shape {shape}, which is not a column; give it one value for each row"
)
MISSING_VALUE = "{column} has no value in row {row}; fill it in or leave the row out"
NOT_NUMBERS = "{column} must be one column of numbers; these are not numbers"
NOT_FINITE = "{column} must be one column of finite numbers; look for missing values"
CONSTANT_TRUTH = (
    "the true values are all the same, so that R² is undefined; give rows whose values"
    " differ"
)
NUMBER_OF_PREDICTIONS = "{name} has {predictions} predictions and truth has {values} values"
GROUP_WITHOUT_ROWS = (
    "the protected column {column} declares the group {group}, and no row has it: add such"
    " rows, or take it off the column's categories"
)
ONE_GROUP = (
    "{features}: there is one group ({group}), so there is nothing to compare; choose"
    " protected features with at least two groups"
)
SMALL_GROUPS = (
    "{features}: rows of every group but one are too few, so there is nothing to compare;"
    " choose protected features with at least two groups"
)
UNKNOWN_LABEL = "{column} has the unknown label {label}; {choices}"
NOT_A_TRUE_LABEL = "{name} predicts {label}, which is not a true label; {choices}"

# Errors: runs

NUMBER_OF_RUNS = "{name} has {number} runs and there are {runs}; give as many of each"
PROTECTED_RUNS = (
    "y_true has {runs} runs and protected {number} runs; give the protected columns of"
    " each run"
)
PROTECTED_OF_ONE_RUN = (
    "y_true has {runs} runs and protected one run; give the protected columns of each run"
)
OTHER_PROTECTED_COLUMNS = "run {run} has the protected columns {names}, run 0 {first}"
NO_TRUE_LABELS = "y_true has no rows; give it the true labels of the test set"
NO_TRUE_LABELS_IN_RUN = (
    "y_true has no rows in run {run}; give it the true labels of the test set"
)
LENGTHS = "{column} has {rows} rows and y_true {true_rows}; give one value for each row"
LENGTHS_IN_RUN = (
    "{column} has {rows} rows and y_true {true_rows} in run {run}; give one value for"
    " each row"
)
ONE_RUN = (
    "{number} run tells nothing about the next; give at least two, or one test set to"
    " resample"
)

# Errors: scores

UNKNOWN_BIAS = "unknown bias {bias}; {choices}"
UNKNOWN_PERFORMANCE = "unknown performance {performance}; {choices}, or a scorer's name"
BIAS_NEEDS_PROTECTED = (
    "bias = {bias} needs the option protected: the column of a protected feature, or"
    " several"
)
PERFORMANCE_NEEDS_SCORES = (
    "the performance {performance} needs scores or probabilities, and these are labels;"
    " choose one that rests on labels, such as 'precision'"
)
METRIC_NAME = "a metric's name must be a text, not {name}"
METRIC_FUNCTION = "metric {name}: {function} is not a function of tables"
METRIC_KIND = "metric {name}: unknown kind {kind}; {choices}"
METRIC_RESTS_ON = "metric {name}: unknown rests_on {label}; {choices}"
METRIC_ENTRY = "is {entry}; it must be an evenhand.Metric"
METRIC_OF_OTHER_KIND = "{option} = {name} is a metric of {kind}; {choices}"
METRIC_FAILED = "the metric {name} failed ({kind}: {error})"
METRIC_SHAPE = (
    "the metric {name} gave numbers of the shape {found} for tables of the shape {tables};"
    " give one for each table, of the shape {wanted}"
)
FUNCTION_FAILED = "the function {name} failed ({kind}: {error})"
UNDEFINED_SCORE = (
    "the {kind} {score} is undefined for the predictions of {name}, and what is undefined"
    " cannot be compared; choose another {kind}"
)
NEGATIVE_BIAS = (
    "the bias {score} of {name} is {value}; a bias is a size of 0 or more, so take the"
    " absolute value of a difference"
)
UNDEFINED_BIAS = (
    "{test_set}: {bias} is undefined for {problem}; leave small groups out with the option"
    " support, or choose another bias"
)
NO_ROW = "no row at all"
NO_FAVOURABLE_ROW = "no row with a favourable true label"
NO_UNFAVOURABLE_ROW = "no row with an unfavourable true label"
BIAS_UNDEFINED_IN_RESAMPLES = (
    "the bias is undefined in every resample; there are too few rows in some group"
)

# Errors: biases that were measured elsewhere

MEASURED_BIAS_MISSING = "bias has no score for {name}; give one for each of {names}"
MEASURED_BIAS_EXTRA = "bias has a score for {name}; {choices}"
MEASURED_BIAS_BELOW_0 = "every bias must be a number of 0 or more"
MEASURED_BIAS_RUNS = (
    "bias has {number} scores for {name} and there are {runs} runs; give one, or one for"
    " each"
)
MEASURED_BIAS_NOT_A_NUMBER = (
    "bias of {name} is {value}; give a number of 0 or more, an estimate or a result"
)
BIAS_OF_WITNESSES = (
    "bias of {name} counts witnesses of a search, which is not a score; give a result of"
    " measure"
)

# Errors: the original

CONSTANT_ORIGINAL = (
    "the original {name} predicts {label} for everyone, so it has neither bias nor"
    " performance to give up; take a model that tells people apart"
)
ORIGINAL_WITHOUT_BIAS = (
    "the original {name} shows no bias, so there is nothing to mitigate; choose another"
    " bias or other protected features"
)
ORIGINAL_NO_BETTER_THAN_LABEL = (
    "the original {name} has a performance of {performance}, and {label} for everyone"
    " {blind}: it has nothing to give up, so there is no line to compare with; take a"
    " better original"
)
ORIGINAL_NO_BETTER_THAN_RANDOM = (
    "the original {name} has a performance of {performance}, and labels at random for"
    " everyone {blind}: it has nothing to give up, so there is no line to compare with;"
    " take a better original"
)

# Errors: shares of regions

NO_SHARES = (
    "shares is empty; give it the share of each region by name, for one name at least"
)
UNKNOWN_REGION = "{name} has a share of {region}, which is not a region; {choices}"
SHARES_NOT_1 = "{name} has shares of {shares}; they must be 0 or more and add up to 1"

# Notes of a comparison

SMALL_GROUP = "{group} has {rows} rows: its rates, and so the bias, are rough"
GROUPS_LEFT_OUT = "{features}: {number} small groups were left out"
WEAK_RUNS = (
    "in {weak} of {total} runs blind overwriting was at least as right as the original"
)
SCORES_TAKEN_AS_EXACT = (
    "the scores are published ones without intervals, and are taken as exact: how sure the regions"
    " are is not known"
)
BIAS_TAKEN_AS_EXACT = "the bias of {names} came without an interval and is taken as exact"
BIASES_HOLD_TOGETHER = (
    "the intervals of the biases given hold together at a level of at least {level}"
)
ORIGINAL_MAY_HAVE_NO_BIAS = (
    "the original may have no bias at all ({bias}): then there is nothing to mitigate"
)

# Names of scores, populations and methods

MEASURED_SCORE = "measured score"
SCORE_OF_JOBS = "score of {jobs}"
PEOPLE_OF_THE_TEST_SET = "people like those of the test set"
NEW_SPLITS = "new splits of this data"
RUNS_LIKE_THESE = "runs like these"
BOOTSTRAP = "bootstrap"
GIVEN = "given"
CORRECTED_T = "corrected t over splits"
SIMULTANEOUS = "{method}, simultaneous over {names}"

# Claims and stories

UNDECIDED_CLAIM = "{name}: undecided between {regions} and {last}"
STANDING = "{claim}; performance {performance}; bias {bias}"
STANDING_WITH_AREA = "{claim}, area {area}; performance {performance}; bias {bias}"
ANY_REGION = "undecided: any region"
UNDECIDED_REGIONS = "undecided: {regions}"

# Text: what was compared

MITIGATIONS = "{number} mitigations"
ABOUT = (
    "{mitigations} against blind overwriting of {original}: {performance} and {bias},"
    " {sample} ({level} level)"
)
ABOUT_PUBLISHED = (
    "{mitigations} against blind overwriting of {original}: published scores without"
    " intervals"
)
ROWS = "{rows} rows"
RUNS_ON_THE_SAME_ROWS = "{runs} runs on the same {rows} rows"
RUNS_WITH_TEST_SETS = "{runs} runs, each with a test set of its own"
NO_INTERVALS = "intervals: none"
INTERVALS = "intervals: {method}"
INTERVALS_OF_POPULATION = "intervals: {method}; population: {population}"
REGIONS_TOGETHER = (
    "regions hold together at the level; intervals of scores and areas are descriptive"
)
ORIGINAL = "{name}: {performance} {performance_score}, {bias} {bias_score}"

# Text: the line

BASELINE_OF_RANDOM_LABELS = (
    "baseline: predictions overwritten with labels at random; {method}"
)
BASELINE_OF_POINTS = "baseline: {points} published points"
BASELINE_OF_A_LABEL = "baseline: predictions overwritten with {label}; {method}"
BASELINE_OF_A_STRATEGY = (
    "baseline: predictions overwritten with {label}, the label of the {strategy} line;"
    " {method}"
)
BASELINE_OF_THE_MAJORITY = (
    "baseline: predictions overwritten with {label}, the commonest true label; {method}"
)
BASELINE_OF_THE_MEAN = (
    "baseline: predictions overwritten with {mean}, the mean of the true values; {method}"
)
LINE_EXACT = "exact"
LINE_FROM_EXPECTED_CELLS = "from expected cells"
LINE_IN_PROPORTION = "in proportion to what is left alone"
LINE_BY_REPETITIONS = "by the paper's repetitions"

# Text: the best mitigation, and verdicts

NONE_OVER_THE_LINE = "best: none lies over the line"
NONE_OVER_THE_LINE_BUT = "best: none lies over the line; the best may be {names}"
BEST = "best: {name}, with a gain of {gain} over the line"
BEST_OF_ALL = "best: {name}, with a gain of {gain} over the line; no other may be the best"
BEST_OR_OTHERS = (
    "best: {name}, with a gain of {gain} over the line; it may as well be {others}"
)
ONE_IS_NO_BETTER = "{name} does no better than blind overwriting"
SEVERAL_ARE_NO_BETTER = "{names} do no better than blind overwriting"
ONE_IS_UNDECIDED = "whether {name} does better than blind overwriting is undecided"
SEVERAL_ARE_UNDECIDED = "whether {names} do better than blind overwriting is undecided"
ONE_IS_BETTER = "{name} does better than blind overwriting"
SEVERAL_ARE_BETTER = "{names} do better than blind overwriting"

# Drawings

LEGEND_ORIGINAL = "original"
LEGEND_LINE = "blind overwriting"
LEGEND_BETTER = "pass: better"
LEGEND_UNDECIDED = "undecided"
LEGEND_NO_BETTER = "fail: no better"
BIAS_AXIS = "bias: {name}"
PERFORMANCE_AXIS = "performance: {name}"
RESCALED_AXIS = "{name}, re-scaled"
SHARE_OF_CASES = "share of cases"
SHARE_OF_RUNS = "share of {runs} runs"
SHARE_OF_RESAMPLES = "share of resamples of {sample}"

# Pages

CARD_SCORES = "Performance {performance}, bias {bias} (descriptive intervals)."
PLANE_CAPTION = (
    "Each mitigation against the line of blindly overwriting predictions: better is above"
    " and to the left."
)
STANDINGS_CAPTION = (
    "Where each mitigation stands; the original has a performance of {performance} and a"
    " bias of {bias}. Regions hold together at the level; intervals of scores and gains are"
    " descriptive."
)
GAIN_HEADING = "gain over the line"

PLANE_HEADING = "The plane of performance and bias"
STANDINGS_HEADING = "All mitigations as a table"
PLAIN_REGIONS = {
    "win-win": "“{name}” treats groups more alike than “{original}”, and decides better (win-win)",
    "good trade-off": (
        "“{name}” treats groups more alike than “{original}”, and loses less by it than blind"
        " overwriting would (good trade-off)"
    ),
    "poor trade-off": (
        "“{name}” treats groups more alike than “{original}”, but no better than blind overwriting"
        " would (poor trade-off)"
    ),
    "inverted trade-off": (
        "“{name}” decides better than “{original}”, and treats groups less alike (inverted"
        " trade-off)"
    ),
    "lose-lose": (
        "“{name}” decides worse than “{original}”, and treats groups less alike (lose-lose)"
    ),
}
"""What a region means, in plain words."""
