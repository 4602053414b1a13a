"""Every sentence that `audit` writes for people, in one place."""

from __future__ import annotations

# ------------------------------------------------------------------------------------------------
# What cannot be run: errors.
# ------------------------------------------------------------------------------------------------

BASELINE_IS_NOT_AN_AUDIT = (
    "baseline = {baseline} is not an audit; pass an Audit, or the path of its JSON file"
)
NOT_A_BASELINE = "a {type} is not a baseline; pass an Audit, or the path of its JSON file"
CHECKS_ARE_NOT_A_LIST = (
    "checks = {checks} is not a list of checks; pass a list, even for a single check"
)
CHECKS_ARE_EMPTY = (
    "checks is empty, so there is nothing to run; leave it out to run the usual checks"
)
NOT_WITH_A_FILE = (
    "{name} cannot be combined with a configuration file, which declares its own; leave"
    " it out"
)
BUNDLE_NEEDS_A_FILE = (
    "bundle = {bundle} needs a configuration file, from which others can derive the verdicts again;"
    " write evenhand.audit('evenhand.toml', bundle={bundle})"
)
BUNDLE_WITHOUT_CHECKS = (
    "bundle cannot be combined with checks or a budget of findings; write them into the"
    " configuration, so that others can read them"
)
TEXTS_NEED_A_FILE = (
    "texts are audited by a configuration file with a [texts] table; in Python call"
    " mine_text"
)
NO_TEXTS = (
    "texts are tested with mine_text, or by a configuration file with a [texts] table"
)
ROWS_WITHOUT_COLUMNS = (
    "data = rows(…) has no columns except the inputs; pass the dataframe itself"
)
NOTHING_TO_RUN = (
    "there is no check to run; write a [[checks]] table, or leave all of them out to run the usual"
    " checks"
)
INTERRUPTED = "the run was interrupted"
INTERNAL_ERROR = (
    "a mistake in evenhand, which says nothing about the software: {error} at {place}; please"
    " report it"
)
MISTAKE_OF_OURS = "a mistake in evenhand itself"
NO_SUCH_CHECK = "this audit has no check {name}; {choices}"
NOTHING_TO_REPORT = "there is no result to report on; name at least one file"
HELD_WITHOUT_FINDINGS = "{count} statements are held against a baseline"
JOB_CANNOT_BE_CHECKED = "{job} cannot be run as a check; {choices}"
CHECK_IS_NOT_A_TABLE = "{where}check {number} is {check}; write a [[checks]] table"
CHECK_IS_NOT_A_DICTIONARY = (
    '{where}check {number} is {check}; write a dictionary such as {{"job": "measure"}}'
)
CHECK_IS_BROKEN = "{where}check {number}: {reason}"
UNKNOWN_JOB = "{where}check {number} has job = {job}; {choices}"
UNKNOWN_KEY = "{place} has an unknown key {key}; {choices}"
NOT_FOR_TEXTS = (
    "{where}{key} = {value} cannot be used here, since [texts] declares texts; {job} then takes"
    " {known}"
)
ONLY_FOR_TEXTS = (
    "{where}{key} = {value} cannot be used here, since there is no [texts] table; {job} then takes"
    " {known}"
)
OVER_NAMES_NO_FEATURES = "{place} has over = {over}; write the names of features"
NOTHING_SEEN = (
    "the software does not see {features}, so that nothing can be told of them without real rows;"
    " give data=…"
)
NOTHING_PROTECTED = (
    "the space names no protected features, so there is nothing to check; name them, or write"
    " [[checks]] with over, one or more of {features}"
)
LEVELS_EXCEED = (
    "the levels of {checks} allow an error of {own}, which is more than the {error} of an audit at"
    " level {level}; raise them, or lower the level of the audit"
)
LEVELS_LEAVE_NOTHING = (
    "the levels of {checks} use up the error of {error} of an audit at level {level}, which leaves"
    " nothing for {others}; raise them, or lower the level of the audit"
)
WEIGHT_RANGE = "{check} has weight = {weight}; it must be a number over 0, for example 2"
LOG_OVER_NOTHING = (
    "over = {over} names no columns; name the protected columns of the log, as in"
    " over=['sex', 'race']"
)
LOG_BINS = (
    "bins = {bins} must be a dictionary by column, such as"
    " {{'age': [25, 40], 'applied': 'year'}}"
)
SUMMARY_NOT_WRITTEN = "GITHUB_STEP_SUMMARY: cannot write the summary to {file}: {reason}"

# ------------------------------------------------------------------------------------------------
# Progress, and notes of an audit.
# ------------------------------------------------------------------------------------------------

PROGRESS = "check {number} of {all}: {name}"
LEARNT = "learnt from the rows, to mark people who could not exist: {constraints}"
INTERRUPTED_BEFORE = "interrupted before: {checks}"
OTHER_SPACE = (
    "the baseline is of another space of inputs, so its scores may be of other inputs"
)
CHECK_IS_GONE = "the baseline has a check that this audit has not: {name}"
NOT_KEPT = "{name}: the answers were not kept for the next audit: {reason}"
DISCOVERIES = (
    "{name} bounds a false discovery rate: of what it finds, {error} at most is expected to be"
    " wrong; it is not among what holds together"
)
OLDER_AUDIT = "an older audit"
SEEDS_DIFFER = "the seeds differ: {seeds}"
BASELINE_WITH_DIGEST = "{name}, digest {digest}"

RECORDED_DECISIONS = "recorded decisions"
LOG_OF_NUMBERS = "{rows} recorded outcomes: {outcome}, which are numbers"
LOG_TRUE_NUMBERS = "; what they should have been: {truth}"
LOG = "{rows} recorded decisions: {outcome}, of which {favourable} is favourable"
LOG_TRUTH = "; what they should have been: {truth}, of which {favourable} is favourable"

# ------------------------------------------------------------------------------------------------
# An audit as text.
# ------------------------------------------------------------------------------------------------

NO_LIMIT_WAS_GIVEN = "no limit was given"
NO_LIMIT_IN_STORY = "no limit given"
FOUND = "discrimination found"
NOT_RUN_AT_ALL = "a check could not be run"
FILE_NOT_WRITTEN = "a file could not be written"
SOFTWARE_FAILED = "the software failed"
ALL_COUNTED = "{checks}: {verdicts}"
COUNTED_EACH_LEVEL = (
    "{checks}: {verdicts}. Each check holds at its own level; of all together nothing"
    " can be said."
)
COUNTED_TOGETHER = "{checks}: {verdicts}. {together}"
EXIT_CODE = "exit code {code}: {meaning}"
HELD_AGAINST_LINE = "held against {baseline}"
AGAINST_BASELINE = "against the baseline: {state}"
AGAINST_BASELINE_BEFORE = "against the baseline: {state}; it was {before}"
FINDING_AGAINST_BASELINE = "  {finding}; against the baseline: {state}"
FOR_EXAMPLE = "for example {case}"
AT_LEAST_CONFIDENCE = "at least {level} confidence"

# ------------------------------------------------------------------------------------------------
# An audit on a screen: a table of verdicts, the worst in words, and where the rest is.
# ------------------------------------------------------------------------------------------------

COLUMN_ABOUT = "about"
COLUMN_SCORE = "score"
COLUMN_VALUE = "value"
COLUMN_INTERVAL = "interval"
COLUMN_LEVEL_INTERVAL = "{level} interval"
COLUMN_LIMIT = "limit"
COLUMN_BASELINE = "baseline"
SCORE_CAUSAL = "outcomes changed"
SCORE_GROUP = "gap of groups"
SCORE_WITNESSES = "cases found"
SCORE_IMPACT_RATIO = "lowest/highest rate"
SCORE_MEAN_RATIO = "lowest/highest mean"
SCORE_GAIN = "gain in a trade-off"
SCORE_APART = "gap to others"
SCORE_OF_RULE = "{score}, gap to others"
ANY_RULE = "any group"
ANY_OTHER_RULE = "other groups"
NO_VALUE = "no data"
EXACT = "exact"
AT_LEAST = "≥ {limit}"
DESCRIPTIVE_MARK = "{interval} *"
DESCRIPTIVE_MEANS = "* descriptive: it holds by itself, and gives no verdict"
NOT_RUN_WHY = "{checks}: {reason}"
MORE_ROWS = "… {count}: {verdicts}"
WORST_FIRST = "In words, worst first:"
SURE_OF_SCORE = "{value}, with {level} confidence {interval}"
EXACT_SCORE = "{value}, without an error of sampling"
FOUND_BY_TRYING = "{value} by trying {inputs}"
SCORE_AND_LIMIT = "{score}; limit {limit}"
SCORE_AND_BASIS = "{score}; {inputs}"
SCORE_AND_POPULATION = "{score}; {inputs}, population: {population}"
DESCRIPTIVE_SCORE = "{score}, descriptive"
CASE_WITH = "{change} (with {same})"
CASE_WITH_MORE = "{change} (with {same} and {count} more)"
CASE_UNUSUAL = "{case}; {unusual}"
COUNTED_QUESTIONS = "{checks}, {questions}"
NOTE = "note: {note}"
MORE_NOTES = "… {count}"
WROTE = "wrote {files}"
REST_IN_FILE = "the rest is in {file}"
REST_IN_REPORT = "the report has the rest: {command} -o report.html"
REST_IN_FULL = "all of it in words: {command} --full"
REST_IN_PYTHON = "the report has the rest: to_html('report.html')"

# ------------------------------------------------------------------------------------------------
# What the formats of CI systems share.
# ------------------------------------------------------------------------------------------------

MORE_FEATURES = "… {count} more features"
PASSING_STATEMENTS = "{passed} of {all} statements pass"
MORE_LIKE_THESE = "{count} more like these are in the report"
RUN_AGAIN = "run it again: {command}"
CHECK_NOT_RUN = "the check could not be run"
SARIF_HELP = (
    "An error fails against its engineering threshold; a warning is undecided, which is not a pass."
    " Each result holds the estimate, its interval, its level and how many inputs it rests on. The"
    " report has the simplest case and how to run it again."
)
RULE_OF_OTHER_JOB = "The {job} of the software"
RULE_OF_OTHER_JOB_IN_FULL = "What {job} found of the software."
RULE_HELP = "{rule} {help}"

# ------------------------------------------------------------------------------------------------
# The summary in Markdown.
# ------------------------------------------------------------------------------------------------

NOTHING_FOUND = "nothing was found"
MARKDOWN_COUNTS = "{count} statements: {verdicts}. {confidence}"
MARKDOWN_COUNTS_OF = "{count} statements of {subject}: {verdicts}. {confidence}"
MARKDOWN_BASELINE = (
    "Compared with a baseline: {baseline}. What is clearly worse than it was fails; what is"
    " surely not worse by more than the tolerance passes."
)
NOTHING_MEASURED = "Nothing was measured."
NO_INTERVAL_NEEDED = (
    "No interval is needed: scores are exact, and a search only counts what it found."
)
EACH_OWN_LEVEL = (
    "Each interval holds its own level; nothing is known of all of them together."
)
DESCRIPTIVE_LEVEL = "{level}, descriptive"
INTERVALS_TOGETHER = (
    "All intervals that are not descriptive hold together at a level of at least {level}."
)
RUN_IT_AGAIN = "### Run it again"
NOT_CLAIMED = "### What is not claimed"
SEED = "Seed {seed}."
SEED_AND_FILE = "Seed {seed}; the checks are in {file}."
MARKDOWN_HEADINGS = "| verdict | check | claim | estimate | n | engineering threshold |"
GOOD_STATEMENTS = "{count} statements that pass"
MORE_GOOD_STATEMENTS = "{count} more statements that pass"
MARKDOWN_STATEMENTS = "{count} statements"
MORE_MARKDOWN_STATEMENTS = "{count} more statements"
STATEMENTS_IN_REPORT = "{count} more statements are in the report."
MORE_CASES = "{count} more cases"
CASES_IN_REPORT = "The cases of {count} more statements that fail are in the report."

# ------------------------------------------------------------------------------------------------
# One page in Markdown, for people in a hurry.
# ------------------------------------------------------------------------------------------------

SUMMARY_HEADING = "# Fairness audit: {verdict}"
SUMMARY_HEADING_OF = "# Fairness audit of {subject}: {verdict}"
SUMMARY_AND_OTHERS = "others"
SUMMARY_SCORES = "### How much"
SUMMARY_WORST = "### The worst"
SUMMARY_WORST_LINE = "**{word}**: {claim}."
SUMMARY_FACT = "- **{name}**: {value}"
SUMMARY_EXAMPLE = "For example {example}."
SUMMARY_NOTHING_BAD = "Nothing fails, and nothing is undecided."
SUMMARY_NOT_ALL_RUN = "Nothing that was run fails; not every check could be run."
SUMMARY_NOT_TESTED = "### What was not tested, and what is not claimed"
SUMMARY_FEATURE_NOT_TESTED = "No check is about the protected feature {feature} by itself."
SUMMARY_MORE_NOT_TESTED = "{count} more are in the report."
SUMMARY_AGAIN = (
    "Seed {seed}, evenhand {version}, {inputs} inputs asked; the digest of what was found is"
    " {digest}."
)

# ------------------------------------------------------------------------------------------------
# The fragment of a model card.
# ------------------------------------------------------------------------------------------------

CARD_RESULTS_BY_GROUP = "### Unitary and intersectional results"
CARD_CAVEATS = "### Caveats and limits"
CARD_REPRODUCE = "### How to reproduce"
CARD_VERDICT = "Verdict: {verdict}."
CARD_VERDICT_OF = "Software under test: {subject}. Verdict: {verdict}."
CARD_BASELINE = "{verdict} Compared with a baseline: {baseline}."
CARD_PROTECTED = "Protected characteristics and the groups that they make:"
CARD_TESTED = "Tested: {factors}."
CARD_NO_FACTORS = "None were declared."
CARD_MORE = "… {count} more {what} in the JSON of the audit"
CARD_MORE_STATEMENTS = "… {count} more statements in the JSON of the audit."
CARD_MORE_CATEGORIES = "{count} more categories are in the JSON of the audit"
CARD_RANGE = "{low} to {high}"
CARD_RANGE_IN_STEPS = "{low} to {high} in steps of {step}"
CARD_MORE_LEVELS = "{levels}, … {count} more"
CARD_READING = (
    "Each value stands with an interval, the number n that it rests on and the level at which the"
    " intervals of its check hold together; what is descriptive holds by itself, and gives no"
    " verdict. Limits are engineering thresholds, chosen by those who ran the audit."
)
CARD_CHOSEN_INPUTS = "inputs chosen by a {job}, which are not a population"
CARD_DECLARED_POPULATION = "as the check declares it"
CARD_NO_DATA = "No data was evaluated."
CARD_NO_RESULTS = "There are no results."
CARD_NO_GROUPS = "No check compares groups one by one."
CARD_UNITARY = "Unitary, {check}, by {features}:"
CARD_INTERSECTIONAL = "Intersectional, {check}, by {features}:"
CARD_RATIO_HEADING = "ratio to the highest rate"
CARD_LEVEL = (
    "The intervals of a check hold together at its level; those of all checks together at {level}"
    " at least, but for what is descriptive."
)
CARD_NOT_RUN = "{check} could not be run: {error}"
CARD_NO_COMPLIANCE = "Nothing here is a claim of compliance with any law, rule or standard."
CARD_DIGEST = "digest of what was found: {digest}"

# ------------------------------------------------------------------------------------------------
# The page of an audit.
# ------------------------------------------------------------------------------------------------

POPULATIONS = "Populations: {populations}."
