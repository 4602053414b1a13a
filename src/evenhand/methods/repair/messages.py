"""Every sentence that `repair` writes for people, in one place."""

# Two models on the same inputs (paired.py)

CHANGE = "{verdict}: {before} before, {after} after ({facts})"
CHANGE_WITH_PART = "{verdict}: {before} before, {after} after, {part} ({facts})"
PART_FEWER = "{percent} fewer"
PART_MORE = "{percent} more"
PART_BETWEEN = "{low} to {high}"
PART_AT_MOST = "at most {part}"
PART_AT_LEAST = "at least {part}"
SAMPLE_SIZE = "n = {n}"
POPULATION = "population: {population}"
CHANGE_UNREADABLE = "this is not a recorded change: {error}"
CHANGE_WITHOUT_AMOUNTS = "this is not a recorded change: fall and fewer must be amounts"
COLUMN_NOT_SHARES = "{name} must be one column of numbers from 0 to 1, such as hits"
COLUMNS_DIFFER = (
    "before has {before} inputs and after has {after} inputs; ask both models about"
    " the same inputs"
)
INSIDE_DIFFERS = (
    "inside has {inside} rows and before has {before} rows; give one value for every row"
)

# Steps: why one was not kept, and notes on all of them (job.py, methods/augment.py)

ACCURACY_FELL = "accuracy fell by {points}"
ACCURACY_PERHAPS_FELL_TOO_FAR = (
    "accuracy fell by {points}, perhaps by more than is tolerated"
)
R2_FELL = "R² fell by {amount}"
R2_PERHAPS_FELL_TOO_FAR = "R² fell by {amount}, perhaps by more than is tolerated"
GAP_DID_NOT_FALL = "the gap did not fall"
LARGER_GAP = "{recipe}: a larger gap"
LARGER_TOLERANCE = (
    "step {number} would leave {left}, but {why}; a larger tolerance would keep it"
)
INTERRUPTED = "interrupted after {steps} steps; the best of these was kept"
ROWS_ADDED = "{number} added"

# Options (options.py, methods/texts.py)

METHOD_UNKNOWN = "method = {method} is unknown; {choices}"
METHOD_NOT_FOR_TEXTS = (
    "X holds texts, which method = {method} cannot repair; use method='subgroup', or"
    " give a space"
)
LABELLING_UNKNOWN = (
    "labelling = {labelling} is unknown; {choices}, or a function of a frame"
)
ADD_NOT_FOR_METHOD = (
    "add = {add} is only for methods 'augment' and 'subgroup'; leave it out"
)
ADD_UNKNOWN = "add = {add} is unknown; {choices}"
AGAINST_UNKNOWN = "against = {against} is unknown; {choices}"
NOT_A_WHOLE_NUMBER = "{name} = {value} must be a whole number of {least} or more"
NOT_A_NUMBER = "{name} = {value} must be a number of 0 or more, such as {example}"
NOT_TRUE_OR_FALSE = "{name} = {value} must be True or False"
NOT_A_SHARE = "{name} = {value} must be a share of the rows between 0 and 1, such as 0.2"
WITHOUT_NOT_A_LIST = "without = {without} must be a list of terms, such as ['black']"
RULE_WITHOUT_SUBGROUP = (
    "rule cannot be combined with method = {method}, only with method = 'subgroup';"
    " leave it out"
)
OPTION_FOR_TEXTS = "{name} is for texts, and X holds rows of features; leave it out"
OPTION_FOR_TABLES = "{name} is for rows of features, and X holds texts; leave it out"

# Rows and outcomes (repair.py)

SUBGROUP_NEEDS_LABELS = (
    "method = 'subgroup' needs labels, and these outcomes are numbers; use 'augment'"
    " or 'evened'"
)
OVER_SEVERAL_SETS = "over names {sets} sets of features; repair takes one, such as {union}"
TRUTH_NOT_NUMBERS = "{model} predicts numbers, and y holds {value}"
NUMBERS_NEED_DIFFERS = (
    "{model} predicts numbers, which are hardly ever the same; pass differs=…, the least"
    " difference that matters, such as {example}"
)
ANSWER_IS_NOT_A_LABEL = (
    "{model} answers {answer}, which is not a label of y; {choices}; for numbers, pass differs=…,"
    " the least difference that matters"
)
POSITIVE_IS_NOT_A_LABEL = "positive = {label} is not a label of y; {choices}"
WEIGHTS_IGNORED = (
    "{model} gives the same answers with and without sample_weight: it seems to ignore it"
)
COST_OF_EVENED = "each decision asks the model {cost} times"
POPULATION_HELD_OUT_NEIGHBOURS = (
    "people like the held-out rows, and their one-step neighbours"
)
POPULATION_VALIDATION_NEIGHBOURS = (
    "people like the validation rows, and their one-step neighbours"
)

# The training (training.py)

ESTIMATOR_IS_A_CLASS = "{name} is a class; pass an instance of it, such as {name}()"
NOT_TRAINABLE = (
    "{estimator} cannot be trained; pass an estimator with fit and predict, or a function"
    " fit(X, y) that returns a model"
)
NOT_CLONEABLE = (
    "{name} cannot be cloned ({error}), and repair never trains a model in place; pass a function"
    " fit(X, y) that makes and trains a new one"
)
NO_SAMPLE_WEIGHT = (
    "{name} takes no sample_weight, so that the weights of rows would be lost; leave out"
    " sample_weight, or use a model that takes it, such as LogisticRegression()"
)
DURING_TRAINING = " when trained on {rows} rows"
TRAINING_FAILED = "{name} raised {kind} when trained on {rows} rows: {error}"
NOT_A_MODEL = (
    "{name} returned {model}, which cannot predict; return a model with predict, or a function of"
    " a frame"
)
UNSEEN_LEVEL = (
    "{error}; no training row has {value}, since some rows are held out: train a model that takes"
    " such levels, as with OneHotEncoder(handle_unknown='ignore'), or leave rare ones out of the"
    " space"
)

# Rows that a model learns from (rows.py)

SPACE_IS_NONE = (
    "space is None; give the space of inputs, such as Space.from_frame(X,"
    " protected=['sex'])"
)
NOT_A_SPACE = (
    "space = {space} is not a Space; build one with Space(...) or Space.from_frame(...)"
)
ARRAY_SHAPE = (
    "X is an array of shape {shape}, and the space has {features} features; give a column for"
    " each, in their order"
)
TRUTH_IS_NOT_A_COLUMN = "y = {name} is not a column of X; {choices}"
COLUMN_IS_NOT_A_FEATURE = (
    "column {name} of X is not a feature of the space, so that nothing can be generated for it;"
    " leave it out of X, or add it to the space"
)
TRUTH_MISSING = (
    "y is missing; give the true outcome of each row of X, or the name of the column"
    " that has it"
)
TRUTH_SHAPE = "X has {rows} rows and y is of shape {shape}; give one outcome for each row"
TRUTH_HAS_GAPS = "y has {missing} missing values; leave out their rows"
TRUTH_OF_TWO_KINDS = "y holds both texts and other values; make all outcomes of one kind"
WEIGHTS_WRONG = (
    "sample_weight must hold a number of 0 or more for each of the {rows} rows of X"
)
PART_NEITHER_SHARE_NOR_ROWS = (
    "{option} must be a share of the rows, or rows and their outcomes as (X, y)"
)
PART_WITH_OTHER_OUTCOMES = "{option}: {outcome} is not an outcome of y; {choices}"
TOO_FEW_ROWS = (
    "{rows} rows are too few to set apart a share of {share} for {name}; give more rows"
)

# Held-out rows: what else changed (verification.py, methods/text_checks.py)

POPULATION_HELD_OUT = "people like the held-out rows"
OF_HELD_OUT_ROWS = "of the held-out rows"
CHECK_OF_PEOPLE = "{features}, held-out people"
BEFORE_AND_AFTER = "before: {before}; after: {after}"
NOT_COMPARED_WITH_OVERWRITING = "not compared with giving up accuracy: {error}"
NOT_COMPARED_BY_AXIS = "not compared with giving up accuracy by {axis}: {error}"
NO_FAVOURABLE_LABEL = (
    "which label is favourable is not known, so that no groups are compared; pass"
    " positive=…"
)
NO_SUBGROUPS = "no subgroups were compared: {error}"
TOO_MANY_VALUES = "{name} has too many values to compare the groups of each"
SMALL_GROUPS_LEFT_OUT = (
    "groups of under {share} of the held-out rows are left out of {biases}"
)

# What is added to the training rows (methods/additions.py, methods/augment.py)

SHARE_OF_TWINS = "share = {share} must be over 0 and at most 1"

# Variants of rows, and Evened (methods/variants.py, methods/evened.py)

COLUMN_NOT_IN_FRAME = "column {name} is not in the frame; {choices}"
ARRAY_DOES_NOT_FIT = (
    "an array of shape {shape} does not fit the {features} features that the space passes to the"
    " model; give it as many columns in the same order, or a frame"
)
LEVELS_ARE_NOT_NUMBERS = (
    "the array holds numbers, and {name} is one of {levels}; declare the levels that the model is"
    " given, or give it a frame"
)
WEIGHTS_OF_UNKNOWN_KIND = (
    "weights = {weights} must be None, 'rows', or numbers by label as in {{'F': 1, …}}"
)
WEIGHT_OF_UNKNOWN_LABEL = "weights name {name}; {choices}"
NOTHING_FOUND_TO_TRAIN_WITH = "a search found no discriminatory input to train with"
NOTHING_LEFT_TO_LOWER = (
    "nothing is left to lower among {inputs} inputs; later steps were left out"
)
SHARE_ROSE = "the share rose"
SHARE_DID_NOT_SURELY_FALL = "the share did not surely fall"
ESTIMATE_DID_NOT_FALL = "the estimated share did not fall"
LOOKS_DO_NOT_RISE = (
    "looks = {looks} must be rising numbers of draws, for example [1000, 4000]"
)

# Subgroups (methods/subgroup.py)

NOT_A_RULE = "rule = {rule} is not a Rule; take one from a finding of mine, or leave it out"
RULE_MET_BY_ALL = "rule: all of the training rows meet {rule}; give another rule"
RULE_MET_BY_NONE = "rule: none of the training rows meet {rule}; give another rule"
NO_SUBGROUP_STANDS_OUT = (
    "no subgroup clearly stands out among {rows} training rows ({claim})"
)
ONE_OUTCOME_ONLY = (
    "positive: every training row has a favourable outcome, or none has; name the"
    " favourable label"
)

# Labels of generated inputs (methods/labelling.py)

LABELS_UNKNOWN = "labels = {labels} is unknown; {choices}"
NEIGHBOURS_NEED_FREE_FEATURE = (
    "labels = 'neighbours' needs a feature that is not protected; take 'vote' or 'majority'"
)
LABELS_FUNCTION_FAILED = "labels = {name} raised {kind}: {error}"
LABELS_SHAPE = (
    "labels = {name} returned shape {shape} for {inputs} inputs; return one label each"
)
LABELS_ARE_NOT_NUMBERS = (
    "labels = {name} must return finite numbers, since the labels of the training rows"
    " are numbers"
)
UNKNOWN_LABEL = "{who} gave {label}, which is not a label of the training rows; {choices}"
EVENED_WITHOUT_FIT = "{name} has no fit; leave out fit, since Evened asks it as it is"
EVENED_NOT_COPIED = (
    "{name} cannot be copied, since it has no get_params; fit it first, and give Evened the fitted"
    " model"
)
EVENED_NOT_FITTED = "{name} is not fitted; call fit first, or give Evened a fitted model"
EVENED_SEVERAL_OUTPUTS = (
    "{name} gives several outputs for each input; Evened takes models with one"
)
EVENED_NOTHING_PROTECTED = (
    "the space has no protected features; name with over=… what outcomes must not depend on"
)
EVENED_NOTHING_PASSED = "the model is not passed {names}, so there is nothing to even"
EVENED_ROWS_NOT_COUNTED = (
    "weights = 'rows' counts the rows of fit; call fit first, or give the weights by label"
)
EVENED_ROWS_OF_OTHER_FEATURES = (
    "weights = 'rows' were counted over other features; call fit again"
)
EVENED_FUNCTION_OF_FRAME = (
    "{name} is a function of a frame; give it a frame instead of an array"
)
EVENED_HOW_UNKNOWN = "how = {how} is unknown; {choices}"
EVENED_MAJORITY_OF_NUMBERS = (
    "how = 'majority' is for labels; of the numbers that {name} gives, use the mean"
)
EVENED_MEAN_WITHOUT_SCORES = (
    "{name} has no predict_proba for how = 'mean'; use how = 'majority'"
)
EVENED_MEAN_OF_TEXTS = "{name} answers with texts, which have no mean; use how = 'majority'"
EVENED_OF_A_CLASS = "{name} is a class; give Evened an instance of it, or a function"
EVENED_OF_NO_MODEL = (
    "{model} is neither an estimator nor a function of a frame; write a function that"
    " asks it"
)
CONSTRAINT_NOT_KEPT = "the constraint {name} is a function, which only a pickle keeps"

# Texts (methods/texts.py, methods/text_additions.py, methods/text_gap.py, methods/text_checks.py)

RULE_WITHOUT_TERMS = "rule names no term; give at least one, such as {{'gender': 'gay'}}"
RULE_WITH_SEVERAL_TERMS = (
    "rule names {terms} terms of category {category}; give one of each category"
)
RULE_WITH_UNKNOWN_TERM = "rule: category {category} has no term {term}; {choices}"
RULE_OF_UNKNOWN_KIND = (
    "rule = {rule} must be a Rule, or terms by category such as {{'gender': 'gay'}}"
)
NO_TRAINING_TEXT = (
    "none of the {texts} training texts names {categories}; give another rule, or more"
    " texts"
)
NO_VALIDATION_TEXT = (
    "none of the {texts} validation texts names {categories}; raise validate, or give"
    " more texts"
)
NO_HELD_OUT_TEXT = (
    "none of the {texts} held-out texts names {categories}; hold out more texts with test=…"
)
POPULATION_VALIDATION_TEXTS = (
    "texts like the {texts} validation ones that name {categories}"
)
POPULATION_HELD_OUT_TEXTS = "texts like the {texts} held-out ones that name {categories}"
POPULATION_TRAINING_TEXTS = "texts like the {texts} training ones"
POPULATION_TEST_TEXTS = "texts like the {texts} held out"
LABELS_MISSING = "y is missing; give the true label of each of the {texts} {where}"
LABELS_OF_TEXTS_SHAPE = (
    "there are {texts} {where} and y is of shape {shape}; give a label for each"
)
NOT_A_LABEL = "y has {label}, which is not a label; texts are repaired by their labels"
PART_NEITHER_SHARE_NOR_TEXTS = (
    "{option} must be a share of the texts, or texts and their labels as (texts, y)"
)
NO_LABEL_IS_FAVOURABLE = (
    "positive: no training label is favourable ({choices}), so that there is no opposite outcome"
    " to train with"
)
EVERY_LABEL_IS_FAVOURABLE = (
    "positive: every training label is favourable ({choices}), so that there is no opposite"
    " outcome to train with"
)
TEXTS_LABELLED_OTHERWISE = (
    "the model gives the opposite outcome to {own} training texts with {rule}; up to {others} that"
    " are nearest to it were labelled so"
)
TEXTS_NEED_LABELS = (
    "{model} predicts numbers, and texts are repaired by their labels; use a classifier"
)
NOTHING_MINED = "nothing could be mined: {error}"
NO_TERMS_STAND_OUT = "no terms clearly stand out in {texts} training texts ({claim})"
NO_DIFFERENCE_IN_TEXTS = (
    "{rule} makes no difference in {texts} training texts that name {categories}"
)
OTHER_TERMS_NOT_COMPARED = "other terms were not compared: {error}"

# A repair as text (text.py)

SHARE_OF_INPUTS = "share of discriminatory inputs"
SHARE_OF_PEOPLE = "share of held-out people with another outcome"
GAP_OF_SUBGROUP = "gap between the subgroup and others"
SCORE_UNCHANGED = "{score}: {before}"
SCORE_BEFORE_AND_AFTER = "{score}: {before} before, {after} after; {part}"
NONE_BEFORE = "there was none before"
PART_WITH_INTERVAL = "{part} ({interval})"
ANY_NUMBER_MORE = "any number more"
STANDING = "against blind overwriting: {claims}"
STANDING_NOT_COMPARED = "against blind overwriting: not compared"
CLAIM_BY_AXES = "{claim} by {axes}"
WHAT_WAS_REPAIRED = "what was repaired"
UNDER_LIMIT = "the score after is under the limit of {limit}"
NOT_UNDER_LIMIT = "the score after is not under the limit of {limit}"
PERHAPS_NOT_UNDER_LIMIT = "the score after may not be under the limit of {limit}"
CHANGE_TOO_SMALL = "the change is too small to tell on rows or inputs that no step has used"
NO_BETTER_THAN_OVERWRITING = (
    "it is no better than giving up as much accuracy by blindly overwriting predictions"
)
PERHAPS_NO_BETTER_THAN_OVERWRITING = (
    "it may be no better than giving up as much accuracy by blindly overwriting predictions"
)
PERFORMANCE_SURELY_FELL = (
    "{name} has clearly fallen by more than is tolerated, which is {tolerated}"
)
PERFORMANCE_PERHAPS_FELL = (
    "{name} has perhaps fallen by more than is tolerated, which is {tolerated}"
)
CHECK_CHANGED = "{name}: {before} before, {after} after; {change} ({verdict})"
CHECK_UNCHANGED = "{name}: {score}"
CHECK_DETAIL = "{check}: {detail}"
INTERVALS_AT = "intervals at {levels}"
POPULATIONS = "populations: {populations}"
STEPS_AGAINST_BEST = (
    "{kept} of {steps} steps kept; each against the best before it, {name} on"
    " validation rows"
)
STEPS_AGAINST_ORIGINAL = (
    "{kept} of {steps} steps kept; each against the original, {name} on validation rows"
)
STEP = (
    "step {number}: {percent} added ({added} rows); {before} before, {after} after; {name}"
    " {performance}; {outcome}"
)
STEP_KEPT = "kept: {why}"
STEP_NOT_KEPT = "not kept: {why}"
NOTE = "note: {note}"
ROWS_FOR = "{rows} for {purpose}"
HOW_IT_WAS_MADE = "{method} over {features}, seed {seed}; rows: {rows}"
EFFORT = "{asked} inputs asked, {executed} executed, {seconds}"

# Where the repaired model is (text.py)

NOT_WRITTEN_NOTHING_TO_REPAIR = "{path} was not written, since there was nothing to repair"
NOT_WRITTEN_NO_HELP = "{path} was not written, since no step helped"
WRITE_WITH_OPTION = "write the repaired model to a file with -o MODEL.skops"
WROTE_MODEL = "wrote {path}: the repaired model ({kind})"
LOAD_WITH_JOBLIB = "load it with: joblib.load({file})"
TEST_PICKLE = "test it with: [subject] estimator = {file}, allow_pickle = true"
LOAD_WITH_SKOPS = "load it with: skops.io.load({file})"
LOAD_WITH_SKOPS_TRUSTED = "load it with: skops.io.load({file}, trusted={types})"
TEST_SKOPS = "test it with: [subject] estimator = {file}"
TEST_SKOPS_TRUSTED = "test it with: [subject] estimator = {file}, trusted = {types}"

# The model handed over, and the claim (claims, repair_result.py)

REFITTED = (
    "figures are of the model fitted on {measured} rows; the model handed over is the same recipe"
    " fitted on all {rows}"
)
REFITTED_WITH_SHARE = "{sentence}, which discriminates against {share} of all inputs"
NOT_REFITTED = "handed over is the model that was measured, of {measured} rows: {why}"
REFIT_OFF = "refit is off"
REFIT_NOT_NEEDED = "there are no other rows"
REFIT_NO_HELP = "fitted on all rows, it discriminates against {share} of all inputs"
REFIT_FAILED = "on all rows the training failed"
REFIT_STOPPED = "fitting it on all rows was interrupted"
REFIT_ERROR = "the model could not be fitted on all rows: {error}"
CLAIM = "{about}: {what} {moved} from {before} to {after} ({part}){beside}; {performance}; {region}"
THE_GAP = "the gap"
THE_PEOPLE = "the share of held-out people with another outcome"
THE_SHARE = "the share of discriminatory inputs"
BESIDE_OF_INPUTS = ", of all inputs from {before} to {after}"
MAY_HAVE_RISEN = "may have risen"
MAY_HAVE_FALLEN = "may have fallen"
ACCURACY_FROM_TO = "accuracy {before} to {after}"
R2_FROM_TO = "R² {before} to {after}"
NOT_COMPARED_IN_CLAIM = "not compared with giving up accuracy"
CLAIM_NO_HELP = "{about}: no step helped; the model was left as it is ({before})"
CLAIM_NO_DIFFERENCE = (
    "{about}: nothing to repair; no difference was found, and the model was left as it is"
)
CLAIM_NOT_SURE = (
    "{about}: nothing to repair; nothing clearly stands out ({before}), and the model was left as"
    " it is"
)
CLAIM_NOT_MEASURED = (
    "{about}: nothing to repair; nothing could be measured, and the model was left as it is"
)
DISCRIMINATION_ROSE = (
    "discrimination over {features} has clearly risen, from {before} to {after}; repair {together}"
    " together"
)
DISCRIMINATION_BESIDE_ROSE = (
    "of {whom}, more now get another outcome with another {features} alone: from {before} to"
    " {after}"
)
NO_MODEL_TO_SAVE = (
    "this repair was read from JSON, which holds no model; save it where it was made"
)
OUTCOME_UNKNOWN = "{where}: outcome = {outcome} is unknown; {choices}"
# Drawings (plot/, plot_steps.py)

GAP_BETWEEN_GROUPS = "gap between groups"
PERFORMANCE_AXIS = "{name},\nvalidation rows"
NUMBER_OF_STEP = "step {number}"
ADDED_AXIS = "added, in percent of the training rows"
MODEL_UNCHANGED = "the model was left as it is, so there is nothing to compare"
NOT_COMPARED = "this repair was not compared with blind overwriting"
NO_STEPS = "no model was trained again"
ABOUT_AIM = "what the repair is about"
ABOUT_INPUTS = "all inputs"
ABOUT_PEOPLE = "held-out people"
ABOUT_OTHER_FEATURES = "other protected features"
SCORE_ON_HELD_OUT_ROWS = "score on held-out rows"
LESS_IS_BETTER = "{score}: ← less is better"
MORE_IS_BETTER = "{score}: more is better →"
AFTER_AND_VERDICT = "after: {verdict}"
THRESHOLD = "engineering threshold {limit}"
STEPS_KEPT = "{method}: {kept} of {steps} steps kept\n{claim}"
VERDICT_AND_CLAIM = "{verdict}: {claim}"
BEFORE_TO_AFTER = "{before} → {after}\nn = {n}"
NO_VALUES = "{no_data}\nn = {n}"
DRAWING_UNKNOWN = "kind = {kind} is not a drawing of a repair; {choices}"

# The page (section.py)

PAGE_TITLE = "Repair: {verdict}"
FIGURE_OF_CHANGE = (
    "Each score before and after the repair, with its interval; the numbers are in the"
    " table below."
)
FIGURE_OF_HISTORY = (
    "What came of each step against what it added; the numbers are in the table below."
)
FIGURE_OF_TRADEOFF = (
    "The repaired model against blindly overwriting predictions of the original, by bias and"
    " performance."
)
TABLE_OF_CHECKS = (
    "Each score with its interval. Less is better, but for performance, where more is. A change is"
    " after minus before, on rows and inputs that no step has used."
)
TABLE_OF_STEPS = (
    "Each step: the {aim}, of the best model so far and of the new one, on inputs or rows that"
    " nothing else has used; {score} on validation rows."
)
TABLE_OF_STANDINGS = (
    "Where the repaired model stands against blind overwriting of predictions, by each"
    " bias."
)
REGIONS_ALLOWED = "regions that the intervals allow"
REPLAY = (
    "With the same estimator, data, versions and other options, this gives the same digest; in"
    " Python:"
)
BY_ITS_CONFIGURATION = "By its configuration:"
REPLAY_IN_PYTHON = "The same repair in Python"
REPLAY_BY_CONFIGURATION = "The same repair by its configuration"
WHOLE_REPAIR = "Before and after, step by step"
