"""Every sentence that `mine`, `mine_log` and `mine_text` write for people, in one place."""

# Errors: options that every verb of this folder shares.

UNKNOWN_OPTION = "{option} = {value} is unknown; {choices}"
TOP_NOT_WHOLE = "top = {top} must be a whole number of 1 or more"
DEPTH_NOT_WHOLE = "depth is {depth}; it must be a whole number of 1 or more"
SUPPORT_NOT_SHARE = "support is {support}; it must be over 0 and under 1, for example 0.05"
COMPLEMENT_NOT_SHARE = (
    "complement is {complement}; it must be from 0 to under 1, for example 0.05"
)

# Errors: how features are cut into conditions.

UNKNOWN_BINNING = "unknown binning {binning}; {choices}"
LEVELS_NOT_WHOLE = "levels = {levels} must be a whole number of 1 or more"
BINS_NOT_VALID = (
    "bins = {bins} must be a whole number of 2 or more, or a rising list of cut points"
)
BINS_OF_OTHER_FEATURE = "bins names {name}, which is not a feature of the rules; {choices}"
CUT_OUTSIDE_RANGE = "bins has the cut point {cut}, but {feature} takes {domain}"
QUANTILES_NEED_ROWS = "quantile bins of {feature} need rows, and there are none"
TOO_MANY_BINS = (
    "{feature} has {choices} choices among {cells} bins, over the {most} that are compared;"
    " take fewer bins"
)
TOO_MANY_LEVELS = (
    "{feature} has {choices} choices among {cells} levels, over the {most} that are"
    " compared; take fewer levels"
)

# Errors: how many rule sets there are.

TOO_MANY_RULE_SETS = (
    "{features} have {count} rule sets together, over the {most} that are summed at once;"
    " take fewer features at a time (depth), fewer bins, or more support"
)
TOO_MANY_CELLS = (
    "{features} have {count} cells together, over the {most} that are summed at once; take"
    " fewer features at a time (depth), fewer bins, or more support"
)
TOO_DEEP = (
    "depth = {deeper} over {features} features makes {rule_sets} rule sets, which may take"
    " {memory}, over the {most} that are looked at; take depth={depth}, name fewer features in"
    " over, or take fewer bins or more support"
)
NO_FREQUENT_RULE_SET = (
    "no rule set over {features} covers at least {support} of the {rows} rows and leaves at"
    " least {complement}; try a smaller support, as support={smaller}"
)

# Errors: the rows that are mined, and their true outcomes.

DATA_MISSING = "data is None; give the rows that rules are to be found in, as a dataframe"
DATA_EMPTY = "data has no rows; rules are found in real rows"
NO_ROWS_DECLARED = (
    "{where}: there are no rows to find rules in; name a file of rows with --data, or with"
    " data in a check"
)
NO_ROWS_BECAUSE = (
    "{where}: {reason}; name a file of rows with --data, or with data in a check"
)
TREATMENT_WITH_TRUTH = (
    "treatment = {treatment} cannot be combined with true outcomes, which only the rows"
    " themselves have"
)
WEIGHTS_NEED_EVERY_ROW = (
    "weights need every row to be asked about in full; raise the budget, or take"
    " treatment='rows'"
)
TRUTH_NEEDS_DATAFRAME = (
    "truth = {truth} names a column, but data is not a dataframe; give the true outcomes"
    " themselves"
)
TRUTH_NOT_A_COLUMN = "truth = {truth} is not a column of data; {choices}"
TRUTH_NOT_FLAT = "truth has shape {shape}; give one true outcome for each row"
TRUTH_OF_OTHER_LENGTH = (
    "truth has {outcomes} outcomes for {rows} rows; give one for each row"
)
TRUTH_MISSING_IN_ROW = "truth has no outcome in row {row}; leave such rows out"
TRUTH_NEVER_FAVOURABLE = "truth has no outcome that is favourable ({favoured}); {choices}"
TRUTH_COLUMN_NEVER_FAVOURABLE = (
    "truth = {truth} has no outcome that is favourable ({favoured}); {choices}"
)

# Errors: recorded decisions.

NOT_A_COLUMN = "{option} = {name} is not a column of the frame; {choices}"
TRUTH_IS_OUTCOME = (
    "truth = {truth} is the column of outcomes itself; name what they should have been"
)
OVER_NAMES_NOTHING = "over = {over} names no columns to form rules of; {choices}"
OVER_NOT_A_COLUMN = "over names {name}, which is not a column; {choices}"
OVER_COLUMN_TWICE = "over names a column twice in {names}; name each once"
OVER_SET_TWICE = "over names the set {names} twice; name each set once"
FRAME_EMPTY = "the frame has no rows; there is no decision to mine"
NO_COMPLETE_ROW = "no row has all of {names}; there is no decision to mine"

CONTROL_WITH_PAPER = (
    "control = 'fdr' needs errors that hold, which those of treatment = 'paper' do not; leave one"
    " of them out"
)
NEIGHBOURS_OF_ALL = (
    "treatment = {treatment} changes features that rules are not formed of, and over = 'all' leaves"
    " none; take treatment='rows', or name the features"
)
MAX_T_WITH_FDR = (
    "correction = 'max-t' is for control = 'family'; control = 'fdr' has a correction of its own,"
    " so leave one of them out"
)
CORRECTION_WITH_PAPER = (
    "correction = '{correction}' cannot be combined with treatment = 'paper', whose intervals are"
    " not corrected; leave one of them out"
)
MAX_T_OF_NUMBERS = (
    "correction = 'max-t' is for favourable outcomes, and the outcomes are numbers; take"
    " correction = 'bonferroni', or leave it out"
)
MOVE_WITHOUT_NEIGHBOURS = (
    "move = {move} cannot be combined with treatment = 'rows', which asks about no neighbours;"
    " leave one of them out"
)

# Errors: the paper's Algorithm 2.

ERROR_THR_NOT_SHARE = (
    "error_thr = {error_thr} must lie between 0 and 1, for example 0.05, as in the paper"
)
SAMPLE_THR_NOT_WHOLE = (
    "sample_thr = {sample_thr} must be a whole number of 0 or more, for example 1000, as in the"
    " paper"
)
NOT_FOR_ALGORITHM_2 = (
    "{option} = {value} is for Algorithm 2 of the paper; add treatment='paper', or leave {option}"
    " out"
)
NOBODY_OUTSIDE = "the rule set covers {covered} of {rows} rows; nobody is left to compare"
PAPER_OVER_QUERIES = (
    "budget: {left} queries are left, but treatment = 'paper' may take {most} for"
    " {rule_sets} rule sets; raise queries, or take another treatment"
)
PAPER_OVER_SECONDS = (
    "budget: the time was up after {done} of {rule_sets} rule sets, and treatment = 'paper'"
    " reports nothing before the last; raise seconds, or take another treatment"
)

# Errors: texts.

JOBS_WITH_TEXTS = (
    "--n-jobs {n_jobs} cannot be combined with [texts], which are asked about in one"
    " process"
)
WITHOUT_NOT_A_LIST = "without = {without} must be a list of terms, such as ['black']"
NO_FREQUENT_CATEGORY = (
    "no category of the lexicon is named in at least {support} of the {texts} texts"
    " ({shares}); try a smaller support, or places='persons' or 'templates'"
)
TOO_FEW_PERSONS = (
    "fewer than {support} of the {texts} texts name a category of the lexicon or have a person"
    " noun; try a smaller support, or places='templates'"
)
PLACES_NEED_TEXTS = "places = {places} needs texts; give some, or take places='templates'"
TEMPLATES_OF_OTHER_PLACES = (
    "templates = {templates} cannot be combined with places = {places}; leave one of them"
    " out"
)
REST_NEEDS_TEXTS = (
    "against = 'rest' compares with other texts, and there are none; give texts, or take"
    " against='terms'"
)
REST_OF_VACANT_PLACES = (
    "against = 'rest' compares texts that name a term with all others, and cannot be combined with"
    " places = {places}; take against='terms'"
)
NO_SENTENCES = (
    "templates and persons make no sentence together; give a noun for {{person}}, or a plural for"
    " {{people}}"
)
NO_ADJECTIVES = (
    "no category of the lexicon has two terms that can stand before a noun; give them an"
    " adjective, or take places='named'"
)
BUDGET_UNDER_ONE_TEXT = (
    "budget: {left} queries are left for texts with other terms, but one text takes"
    " {needed}; raise queries"
)
BUDGET_UNDER_ONE_TEXT_EACH = (
    "budget: {left} queries are left for texts with other terms, but one text of each"
    " category takes {needed}; raise queries"
)
NO_REST_AT_ALL = (
    "every text has every term, so that there is no rest to compare with; try"
    " against='terms'"
)

# Errors: results that are read back, and pictures of them.

RESULT_DAMAGED = "this evenhand result is damaged: its details have no entry for {rule}"
NO_MAPS_OF_TABLES = (
    "this {verb} has nothing of that kind to draw; TermsDisplay draws those of mine_text"
)
NO_MAPS_OF_TERMS = (
    "this {verb} has nothing of that kind to draw; HeatDisplay draws those of mine and"
    " mine_log"
)
NO_CELLS = "this {verb} has no rates of single cells to draw; treatment='paper' finds none"
NO_MAP_OF_AXES = "axes = {axes} has no map; {choices}"
UNKNOWN_RULE = "rule = {rule} is neither a story of this {verb} nor a refinement; {choices}"
NO_REFINEMENTS = (
    "this {verb} holds no refinements of {rule}: an earlier evenhand wrote it; run it again"
)

# What is compared with what.

EVERYONE_ELSE = "everyone else"
SAME_TEXTS_OTHER_TERMS = "the same texts with other terms"
ALL_OTHER_TEXTS = "all other texts"
ALL_OTHER_RULE_SETS = "all other rule sets"
NAMED_OUTCOME = "the outcome {label}"
METHOD_OF_MEANS = "empirical Bernstein"
DIFFERENCE = "difference {points}"
DIFFERENCE_BETWEEN = "difference {points}, {interval}"

# Claims of findings.

PAPER_OF_NUMBERS = (
    "treatment = 'paper' counts favourable outcomes, but the outcomes are numbers; leave it out,"
    " or say which are favourable, with a function such as positive=lambda y: y > 0"
)
TEXT_RATES = (
    "{rate} of texts that say {terms} get {outcome}, and {other_rate} of {others}"
    " ({difference})"
)
TEXT_MEANS = (
    "texts that say {terms} score {mean} on average, {others} {other_mean} ({difference})"
)
OTHER_RULES_CLOSER = (
    "none of the {count} other rule sets, variations of these included, is further from"
    " everyone else than this ({difference})"
)
OTHER_RULE_CLOSER = (
    "not even the other rule set, variations of these included, is further from everyone"
    " else than this ({difference})"
)
NO_RULE_SHOWN = (
    "no rule set is shown to be treated differently: none of all {count} is further from everyone"
    " else than this ({difference})"
)
ADDED_WITHIN = "; {points} {direction} still than the other people with {rule}{interval}"
ADDED_BEYOND = (
    "; {points} {direction} than people who are alike in the stories before{interval}"
)
NOTHING_WITHIN = "; within them nothing more stands out"
LESS = "less"
MORE = "more"
IN_POINTS = "{points} points"
IN_BRACKETS = " ({interval})"
BETWEEN = "{low} to {high}"
LESS_TO_MORE = "{low} less to {high} more"
APART = "{points} {direction}{interval}"
ADDED_STILL = "{points} {direction} still{interval}"
ADDED_TO_ALIKE = (
    "{points} {direction} than people who are alike in the stories before{interval}"
)
AND_CONDITIONS = "… and {conditions}"
CARRIED = "of which {conditions}"
CARRIED_BY = "{points} by {condition}"
UNKNOWN_NUMBER = "unknown"
OTHER_TERMS_CLOSER = (
    "none of the {count} other rule sets of terms is further from others than this"
    " ({difference})"
)
OTHER_TERM_CLOSER = (
    "not even the other rule set of terms is further from others than this ({difference})"
)
NO_TERMS_STAND_OUT = (
    "none of the {count} rule sets of terms is shown to differ from others; none is further from"
    " them than this ({difference})"
)
NO_TERM_STANDS_OUT = (
    "the rule set of terms is not shown to differ from others; it is no further from them than this"
    " ({difference})"
)
CHANGES_OF_ONE = (
    "changing only the term for {categories} changes the outcome of {share} of the {texts}"
    " texts that name one"
)
CHANGES_OF_VACANT = (
    "changing only the term for {categories} changes the outcome of {share} of the {texts}"
    " texts that take one"
)
CHANGES_OF_BOTH = (
    "changing only the terms for {categories} changes the outcome of {share} of the {texts}"
    " texts that name both"
)
CHANGES_OF_ALL = (
    "changing only the terms for {categories} changes the outcome of {share} of the {texts}"
    " texts that name all"
)

# Populations, and methods of estimates.

PEOPLE_LIKE_ROWS = "people like the given rows"
DECISIONS_LIKE_RECORDED = "decisions like the recorded ones"
WITH_NEIGHBOURS = "{population}, and their one-step neighbours"
WITH_STEPS = "{words} (a step: {steps})"
TEXTS_LIKE_GIVEN = "texts like the {count} given"
TEXTS_THAT_NAME = "texts like the {count} given that name {categories}"
TEXTS_WITH_PERSONS = (
    "texts like the {count} given that name a category or a person, with the term in that place or"
    " before the person noun"
)
TEXTS_THAT_NAME_OR_PERSONS = (
    "texts like the {count} given that name {categories} or a person, with the term in that place"
    " or before the person noun"
)
SENTENCES_OF_TEMPLATES = (
    "the {count} sentences made of {templates} templates, and no other texts"
)
SENTENCES_OF_TEMPLATE = "the {count} sentences made of one template, and no other texts"
SENTENCE_OF_TEMPLATE = "the one sentence made of one template, and no other texts"
METHOD_OVER_RULE_SETS = "{method}, simultaneous over {count} rule sets"
METHOD_OF_DISCOVERIES = (
    "{method}, false coverage rate over the {found} found of {count} rule sets"
)
METHOD_OVER_CATEGORIES = "{method}, simultaneous over {count} sets of categories"
METHOD_OVER_CATEGORY = "{method}, simultaneous over {count} set of categories"

# Notes of results.

ROWS_CHOSEN_AT_RANDOM = "{asked} of {rows} rows were asked about, chosen at random"
ROWS_LEFT_OUT = "{missing} of {rows} rows have no {column}; they are left out"
DEPTH_REDUCED = (
    "rule sets take up to {depth} of the {features} features: {deeper} would make"
    " {rule_sets} rule sets; depth={deeper} asks for them"
)
ONE_LEVEL_OF_ALL = (
    "over = 'all': conditions name one level of a category at a time; levels=2 asks for pairs"
    " too"
)
CATEGORIES_OVER_BUDGET = (
    "{categories} together were not asked about: {texts} texts are beyond the budget"
)
MORE_CATEGORIES_OVER_BUDGET = "nor were {count} other sets of categories"
TEXTS_CHOSEN_AT_RANDOM = (
    "no more than {texts} texts of each category were asked about, chosen at random"
)
NO_REST_OF_SOME = "every text has {rules}, so that there is no rest to compare with"
TERM_MATCHES = "{term} ({count} matches)"
OTHER_MEANINGS = (
    "these terms have other meanings: {terms}; leave them out with without=[…] where they"
    " do here"
)
PERSONS_SINCE_NOT_NAMED = (
    "no category is named in at least {support} of the {texts} texts ({shares}), so terms were also"
    " written before person nouns"
)
TEMPLATES_SINCE_NOT_NAMED = (
    "no category is named in at least {support} of the {texts} texts ({shares}), and as few have a"
    " person noun, so scores are about sentences made of templates, not about these texts"
)
NOT_ASKED = "not asked about, since {reason}: {categories}"

# Progress of a run.

PROGRESS_RULES = "rules over {features}"
PROGRESS_ROWS = "rows"
PROGRESS_ROWS_OF_OUTPUT = "rows for {output}"
PROGRESS_NEIGHBOURS = "neighbours of rows"
PROGRESS_NEIGHBOURS_OF_OUTPUT = "neighbours of rows for {output}"
PROGRESS_PAPER = "rule sets by Algorithm 2"
PROGRESS_PAPER_DONE = "{count} rule sets"
PROGRESS_TEXTS = "texts that name {categories}"
PROGRESS_TEXTS_DONE = "{count} texts"

# Text on a terminal: what was compared, and how.

DISCOVERED = (
    "{found} of {examined} rule sets are found; at most {share} of all found are so by chance, on"
    " average (false discovery rate)"
)
NOTHING_DISCOVERED = (
    "none of {examined} rule sets is found at a false discovery rate of {share}"
)
OUTPUT_LINE = "output {output}"
RULE_SETS_OVER = (
    "rule sets over {features}: {candidates} candidates, {frequent} cover {support} of"
    " {rows} rows, {examined} different ones also leave {complement}"
)
RULE_SETS_OVER_SOME = (
    "rule sets over at most {depth} of {features}: {candidates} candidates, {frequent}"
    " cover {support} of {rows} rows, {examined} different ones also leave {complement}"
)
RULE_SETS_OF_TERMS = (
    "rule sets of terms: {candidates} candidates, {examined} of categories that {support}"
    " of {texts} texts have a place for"
)
TEXTS_BY_CATEGORY = "texts by category: {categories}"
TEXT_RATES_COMPARED = "how often texts get {outcome} with these terms, against {others}"
TEXT_MEANS_COMPARED = "how texts score on average with these terms, against {others}"
CHANGES_COMPARED = "how many of them change outcome when nothing but the term changes"
BY_NEIGHBOURS = "each row with all its one-step neighbours"
BY_DRAWN_NEIGHBOURS = "each row with some of its one-step neighbours"
BY_ROWS = "each row as it is"
BY_PAPER = "by Algorithm 2 of TestSGD"
AS_RECORDED = "as recorded"
POPULATION = "population: {population}"
LIMIT = "limit {limit}"
WORST = "the worst: {claim}"
MOST_CHANGING_TERMS = "most often with {terms}"
NOTHING_ASKED = "no software was asked, {seconds}"
EVERY_RULE_SET_COMPARED = "every rule set was compared"

# Headings of the table on a terminal; a line break sets a heading in two lines.

HEADING_TERMS = "\nterms"
HEADING_WHO = "\nwho"
HEADING_RATE = "\nrate"
HEADING_SCORE = "\nscore"
HEADING_EVERYONE_ELSE = "everyone\nelse"
HEADING_OTHER_TERMS = "other\nterms"
HEADING_OTHER_TEXTS = "other\ntexts"
HEADING_INTERVAL = "{level}\ninterval"
HEADING_INTERVAL_IN_LINE = "{level} interval"
HEADING_TEXTS = "\ntexts"
HEADING_SHARE_OF_ROWS = "share of\nrows"
HEADING_P_VALUE = "adjusted\np"
HEADING_RULES_ALIKE = "rules\nalike"

# Bars: titles, notes, columns and ends of the axis.

BAR_TITLE_WITH_VERDICT = "{verdict}: {claim}"
OF_OUTPUT = "{output}: {sentence}"
BARS_OF_CHANGES = "texts whose outcome changes when only the term does"
INTERVALS = "intervals at {level}"
INTERVALS_OVER_RULE_SETS = "intervals at {level}, simultaneous over {count} rule sets"
INTERVALS_OVER_CATEGORIES = (
    "intervals at {level}, simultaneous over {count} sets of categories"
)
INTERVALS_OVER_CATEGORY = (
    "intervals at {level}, simultaneous over {count} set of categories"
)
INTERVALS_OF_DISCOVERIES = (
    "intervals at {level} (false coverage rate), of {found} found among {count} rule sets"
)
MORE_RULE_SETS = "… {count} more rule sets"
MORE_MININGS = "… {count} more sets of features, outputs or scores"
OTHER_RULE_SETS_BAR = "{count} other rule sets:\nnone further than {distance}"
ALL_RULE_SETS_BAR = "all {count} rule sets:\nnone further than {distance}"
OTHER_RULE_SET_BAR = "{count} other rule set:\nnone further than {distance}"
COLUMN_THESE_TERMS = "these\nterms"

# Heat maps: titles, and notes below the cells.

MAP_OF_TERM_RATES = "how often texts get {outcome}, by the term for {categories}{ends}"
MAP_OF_TERM_MEANS = "mean of {outcome}, by the term for {categories}{ends}"
MAP_OF_CHANGES = "texts whose outcome changes, by the term for {categories}{ends}"
MAP_ENDS = ": from {lowest} to {highest}"
MAP_END = "{rate} ({cell})"
CELLS_OF_ROWS = (
    "each cell: the rate, without an interval, and the rows; white: the rate of everybody,"
    " {rate}"
)
CELLS_OF_MEANS = (
    "each cell: the mean, without an interval, and the rows; white: the mean of everybody,"
    " {rate}"
)
CELLS_OF_TERMS = (
    "each cell: the same {texts} texts with these terms; white: the mean of all terms,"
    " {rate}"
)
CELLS_OF_CHANGES = (
    "each cell: the share of the same {texts} texts that change outcome with the term"
)
HATCHED = "hatched: under {rows} rows ({share}), too few for a rule set of their own"
OUTLINED = "outlined: {rule}"
OUTLINED_IN_PART = "dashed, in part: {rule}"

# The section of a report.

COLUMN_THEIR_RATE = "their rate"
COLUMN_WITHIN = "within"
COLUMN_RULES_IN_IT = "rules in it"
COLUMN_CHANGED_WITH_IT = "changed with it"

ALL_SUBGROUPS = "{number} rule sets together"
SUBGROUP_OF_SHARE = "a rule set that covers {share} of the rows"
