"""Every sentence that `search` writes for people, in one place."""

# --- Errors: what a search is asked for ---

UNKNOWN_STRATEGY = "strategy = {strategy} is unknown; {choices}"
NOT_A_STRATEGY = (
    "strategy = {strategy} has a method propose but is not an evenhand.Strategy;"
    " derive its class from evenhand.Strategy"
)
ENTRY_NOT_A_STRATEGY = "strategy {name} is {value}; it must be an evenhand.Strategy"
UNKNOWN_UPDATE = "update = {update} is unknown; {choices}"
NOT_A_POSITIVE_WHOLE_NUMBER = "{name} = {value} must be a whole number of 1 or more"
NOT_A_SHARE = "{name} = {value} must be a number from 0 to 1"
UNKNOWN_PREFERENCE = "prefer = {prefer} is unknown; {choices}"
REALISTIC_NEEDS_ROWS = (
    "prefer = 'realistic' needs real rows to compare with; give them with start=…"
)
NOT_A_LIMIT = (
    "limit = {limit} must be a whole number of 0 or more: the most discriminatory inputs"
    " that are tolerated; a share of all inputs is a limit of measure"
)
ONLY_ONE_VALUE = "{features} can take only one value, so there is nothing to compare"

# --- Errors: what a strategy proposes ---

NOT_A_PROPOSAL = (
    "strategy {strategy} proposed {value}; return an evenhand.Proposal of points"
)
POINTS_OF_WRONG_SHAPE = (
    "strategy {strategy} proposed points of the shape {shape}; give an array of {features}"
    " numbers for each input"
)
PAIRS_OF_WRONG_SHAPE = (
    "strategy {strategy} proposed pairs of the shape {shape}; give two assignments for each"
    " input"
)
OUTSIDE_THE_SPACE = (
    "strategy {strategy} proposed {value} for {feature}, which is {domain}; stay inside the"
    " space"
)

# --- Errors: the table of found inputs ---

DAMAGED_TABLE = "the table of found inputs is damaged ({kind}: {error})"
VALUE_OUTSIDE_DOMAIN = "a value of {feature} is outside its domain, {domain}"
WRONG_NUMBER_OF_VALUES = "{values} values for {inputs} inputs"
FEATURE_NAMED_LIKE_COLUMN = (
    "the feature {feature} has the name of a column of every table of found inputs;"
    " rename the feature"
)
NOT_A_PATH = "found = {value} must be the path of a .csv or .parquet file"
NO_FOLDER = "{file}: there is no folder {folder} to write to"
WRITING = "writing '{file}'"

# --- Claims of findings ---

FOUND = "changing only {features} changes the outcome of {found} inputs that were found"
FOUND_FOR_OUTPUT = (
    "changing only {features} for {output} changes the outcome of {found} inputs that were"
    " found"
)
NOT_FOUND = "no input was found whose outcome changes with only {features}"
NOT_FOUND_FOR_OUTPUT = (
    "no input was found whose outcome changes with only {features} for {output}"
)
NOT_SEARCHED = "{features} was not searched"
NOT_SEARCHED_FOR_OUTPUT = "{features} was not searched for {output}"

# --- Notes and progress ---

NOT_REPRODUCED = (
    "{lost} of {found} inputs that were found did not hold when they were asked again and"
    " are left out; the software does not answer alike each time"
)
SCREENED = (
    "{about}: where and why were asked about {kept} of {features} features, those whose"
    " change, along with others, ended the discrimination most often"
)
EXPLAINING_STOPPED = (
    "{about}: the time of the budget was up before all that was found was explained"
)
PROGRESS = "{queries} queries, {found} found, {cells} regions, {rate} per 1,000"
EXPLAINING = "where and why"

# --- Estimates of regions and drivers ---

SIMULTANEOUS_OVER_RULES = "exact, simultaneous over {rules} rules"
SIMULTANEOUS_OVER_FEATURES = "exact, simultaneous over {features} features"
UNIFORM_INPUTS_IN_RULE = "uniform inputs with {rule}"
INPUTS_FOUND = "inputs found by the search, one other value drawn for each"
DRIVER = "changing {feature} ends it in {estimate}"
DRIVER_WITH_EXAMPLE = "changing {feature} ends it in {estimate}, as {before} → {after} does"

# --- The text of a result: what was found ---

HEAD_FOUND = (
    "{about}: {inputs} found in {cells} ({strategy}, {tried} inputs tried, {queries}"
    " queries)"
)
HEAD_FOUND_WITH_LIMIT = (
    "{about}: {inputs} found in {cells} ({strategy}, {tried} inputs tried, {queries}"
    " queries); limit {limit}"
)
HEAD_NOT_FOUND = (
    "{about}: no discriminatory input found ({strategy}, {tried} inputs tried, {queries}"
    " queries)"
)
HEAD_NOT_FOUND_WITH_LIMIT = (
    "{about}: no discriminatory input found ({strategy}, {tried} inputs tried, {queries}"
    " queries); limit {limit}"
)
NOT_A_RATE = (
    "not a rate: a search goes where it finds; for the share of all inputs use prevalence"
)
NO_PROOF = (
    "this is no proof that there is none: a search can miss what is rare; prevalence bounds"
    " the share of all inputs"
)
PLAIN_NOT_A_RATE = (
    "their number says nothing of how common this is: a search looks where it finds"
    " something"
)
PLAIN_NO_PROOF = "this is no proof that there is none: a search can miss what is rare"
EVERY_INPUT_TRIED = "every input was tried, so there is no other"
SIMPLEST_CASE = "the simplest case:"
SIMPLEST_CASES = "the simplest cases:"
ANOTHER_CASE = "or {case}"

# --- The text of a result: where, why and how spread ---

WHERE = (
    "where: the share of discriminatory inputs among fresh uniform inputs that meet a rule"
)
REGION = "{rule}: {estimate}; {found} of those found"
NO_RULE = "no rule was found that holds clearly more of them than everybody does"
WHY = "why: how often another value of one feature ends it, among the inputs found"
FEATURE_WITH_EXAMPLE = "{feature}, as {before} → {after} did"
MORE = "… {number} more"
PLAUSIBLE = (
    "how real: {share} of those found could be people like those in the data, and in {both} of the"
    " pairs the twin could too"
)
HOW_SPREAD = "how spread: {measures}"
MEAN_DISTANCE = (
    "two of them are {distance} apart on average (0 is equal, 1 is all different)"
)
DISTANCE_TO_ROWS = (
    "the nearest of {rows} real rows is {median} away from half of them, and {nearest}"
    " from one"
)

# --- The section of the report ---

PICTURE = (
    "How many inputs were found over the queries, where they lie, and what they rest on."
)
PICTURE_HEADING = "How the search went, and where the inputs lie"
DRIVERS_FOLDED = "What they rest on: {features}, and others"
EVERY_CASE = "All {inputs} inputs that were found"
PLAIN_FOUND = (
    "{inputs} inputs were found that get another outcome when nothing but {features} is"
    " changed"
)
PLAIN_NOT_FOUND = (
    "No input was found that gets another outcome when nothing but {features} is changed"
)
REGIONS_TABLE = (
    "Regions of discriminatory inputs: the share of such inputs among fresh uniform inputs"
    " that meet a rule. Intervals are descriptive: those of this table hold by themselves."
)
DRIVERS_TABLE = (
    "What they rest on: how often another value of one feature ends it, among the inputs"
    " found. Intervals are descriptive: those of this table hold by themselves."
)
OF_THOSE_FOUND = "of those found"
AS_THIS_DID = "as this did"
CASES_SHEET = (
    "Every input that was found, {inputs} in all: an individual, its outcome, what its twin"
    " has instead."
)

# --- The plot ---

CURVE_TITLE_FOUND = "{about}: {inputs} found"
CURVE_TITLE_NOTHING = "{about}: nothing found"
CEILING = "ceiling, 500 per 1,000 queries"
MAP_TITLE = "{about}: where the boundary lies"
REGIONS_TITLE = "{about}: where they lie"
DRIVERS_TITLE = "{about}: what they rest on"
OUTCOME_LEGEND = "outcome {outcome}"
OUTCOME_BAND = "outcome {low} to {high}"
CURVE_OF_INPUTS = "inputs found"
COARSE_CELLS = "cells"
INPUT_WAS_FOUND = "found"
QUERIES_AXIS = "queries"
NUMBER_OF_INPUTS = "inputs"
OTHER_OUTCOMES_SCALE = "outcome of other inputs"
OTHER_OUTCOMES_LEGEND = "other inputs, {outcomes} outcomes"
MAP_X_AXIS = "where the outcome changes most"
MAP_X_AXIS_OF = "where the outcome changes most: {features}"
MAP_Y_AXIS = "across it"
MAP_Y_AXIS_OF = "across it: {features}"
REGIONS_AXIS = "share of discriminatory inputs among uniform inputs that meet the rule"
REGIONS_AXIS_WITH_LEVELS = (
    "share of discriminatory inputs among uniform inputs that meet the rule,\ndescriptive intervals"
    " at {levels}"
)
DRIVERS_AXIS = (
    "share of the inputs found whose discrimination another value of the feature ends"
)
DRIVERS_AXIS_WITH_LEVELS = (
    "share of the inputs found whose discrimination another value of the feature ends,\n"
    "descriptive intervals at {levels}"
)
MORE_FEATURES = "… {number} more features"
MORE_FINDINGS = "… {number} more findings"
