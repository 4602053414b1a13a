"""Every sentence that `subsets` writes for people, in one place."""

# Errors: settings

UNKNOWN_KIND = "unknown kind {kind}; {choices}"
GROUPS_OF_NUMBERS = (
    "the outcomes are numbers, whose means measure(kind='group') compares; for sets of features"
    " leave out kind, or say which outcomes are favourable, with a function such as"
    " positive=lambda y: y > 0"
)
INTERVAL_NOT_FOR_A_SEARCH = (
    "interval = {interval} does not hold for a whole search; leave it out, or choose 'wald'"
)
TOO_FEW_VARIANTS = "variants = {variants} must be a whole number of 2 or more"
DEPTH_NOT_WHOLE = (
    "depth = {depth} must be a whole number of 1 or more, or None for no bound"
)
KNOWN_IS_NO_FINDING = (
    "known has {known}; it must be a list of findings, such as those of an earlier result"
)
AMONG_IS_NOT_A_LIST = "among = {among} must be the name of a feature or a list of names"
NO_FEATURES = "among is empty; name at least one of the features {features}"
FEATURE_TWICE = "among names {feature} twice; name each feature once"
TOO_MANY_FEATURES = (
    "{features} features have {sets} sets; choose at most {most} of them with among=…"
)
BINS_LEAVE_GAPS = "the bins of {feature} do not cover {domain}; extend them to both ends"
LIMIT_NEEDS_ENUMERATION = (
    "limit = {limit} can only be decided by enumeration; choose a limit between 0 and 1, or"
    " exact=True where there are few inputs"
)

# Errors: the population

SAMPLE_OF_A_POPULATION = (
    "subsets scores a population, not a sample of one; leave out sample_of"
)
TOO_MANY_ROWS = (
    "there are {rows} rows to ask, but only {left} queries are left; raise queries"
)
POPULATION_IS_SAMPLED = "exact: {population} is sampled, not enumerated; leave out exact"
TOO_MANY_INPUTS = (
    "exact: there are {inputs} inputs to ask, but only {left} queries are left"
)

# Why a set is in its state

SUPERSET_OF_DISCRIMINATING = "superset of a discriminating set"
SUBSET_OF_CLEARED = "subset of a cleared set"
KNOWN = "found by another check"
GROUP_SCORE_BELOW_CAUSAL = "group score cannot exceed the causal score"

# How an interval was made

SIMULTANEOUS = "{method}, simultaneous over {sets} sets"
LOWER_BOUND = "{method}, lower bound"
SIMULTANEOUS_LOWER_BOUND = "{method}, simultaneous over {sets} sets, lower bound"

# Claims

GROUPS_DIFFER = "groups of {features} differ by {score} in how often they get {favoured}"
OUTCOME_MOVES = "changing only {features} moves {outcome} by up to {score} on average"
OUTCOME_CHANGES = "changing only {features} changes {outcome} of {score} of inputs"
NO_SMALLER_SET = "{claim}; no smaller set of them does"
NO_SMALLER_SET_KNOWN = "{claim}; no smaller set of them is known to"
NOT_SHOWN = (
    "{features}: not shown to discriminate, {score} found so far, with too many variants to"
    " try them all"
)
NOT_TESTED = "{open} of {total} sets were not tested"
OUTCOME = "the outcome"
UNKNOWN_SHARE = "an unknown share"
AT_LEAST = "at least {share}"

# Notes

WALD = (
    "as in the paper, sets are put on a side of the limit by their value alone; the level"
    " does not hold"
)
ONLY_A_LOWER_BOUND = (
    "sets with more variants than were tried, not shown to discriminate: {sets}; that is a"
    " lower bound and not a pass; raise variants=… to try more"
)
ONLY_A_LOWER_BOUND_OF_OUTPUT = (
    "sets of {output} with more variants than were tried, not shown to discriminate:"
    " {sets}; that is a lower bound and not a pass; raise variants=… to try more"
)

# Progress

PROGRESS = "{minimal} discriminating, {cleared} cleared, {open} open of {total} sets"

# The text of a result

HEADING = "{kind} score of sets of {features}; limit {limit}"
HEADING_WITH_LEVEL = "{kind} score of sets of {features}; limit {limit}, {levels}"
LEVEL = "{level} level"
MINIMAL_SETS = "minimal discriminating sets: {sets}"
NO_MINIMAL_SET = "minimal discriminating sets: none found"
UNDECIDED_SETS = "undecided: {sets}"
NOT_SHOWN_SETS = "not shown to discriminate (lower bound only): {sets}"
CLEARED_SETS = "cleared by a test: {sets}"
MORE_SETS = "… {sets} more"
SCORE = "{score} ({interval}, n = {n})"
SCORE_LOWER_BOUND = "{score} (at least {low}, n = {n})"
SCORE_UNKNOWN = "unknown (n = {n})"
TESTED_ONLY = "{tests} sets tested, none implied"
TESTED_AND_SUPERSETS = (
    "{tests} sets tested, {implied} implied (pruned) because {supersets} contain a"
    " discriminating set"
)
TESTED_AND_SUBSETS = (
    "{tests} sets tested, {implied} implied (pruned) because {subsets} are part of a"
    " cleared set"
)
TESTED_AND_BOTH = (
    "{tests} sets tested, {implied} implied (pruned) because {supersets} contain a"
    " discriminating set and {subsets} are part of a cleared set"
)
SOME_NOT_TESTED = "{sentence}; {sets} not tested"

# The picture

STATE_DISCRIMINATING = "discriminating, minimal"
STATE_IMPLIED_DISCRIMINATING = "contains a discriminating set"
STATE_CLEARED = "cleared"
STATE_IMPLIED_CLEARED = "cleared, implied"
STATE_UNDECIDED = "undecided"
STATE_NOT_SHOWN = "not shown to discriminate"
STATE_NOT_TESTED = "not tested"
TITLE = "{kind} score of sets of features, engineering threshold {limit}"
TITLE_OF_OUTPUT = (
    "{output}: {kind} score of sets of features, engineering threshold {limit}"
)
SET_AND_STATE = "{features}: {state}"
SET_STATE_AND_SCORE = "{features}: {state}; score {score}"
SIZE_AXIS = "features in a set (number of sets)"
NO_SET_FOUND = "no set was found to discriminate"
LISTED_SETS = "minimal discriminating sets ({sets}):"

# The section of a page

PICTURE = "The sets of features: which of them discriminate, are cleared, or need no test."
SETS_OF_FEATURES = "Sets of features"
TABLE = "The sets of features: their state, and what it rests on."
TABLE_OF_OUTPUT = "The sets of features for {output}: their state, and what it rests on."
