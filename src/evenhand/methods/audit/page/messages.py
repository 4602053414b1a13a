"""Every sentence of the page of an audit, in one place."""

from __future__ import annotations

# ------------------------------------------------------------------------------------------------
# The verdict.
# ------------------------------------------------------------------------------------------------

TITLE = "{verdict}: {heading}"
AUDIT = "Fairness audit"
AUDIT_OF = "Fairness audit of {subject}"
FAILED = "Discrimination found"
UNDECIDED = "Undecided"
PASSED = "All checks pass"
NO_LIMIT = "No limit was given"
NO_CHECKS = "No check was made"
NOT_ALL_RUN = "Not every check could be run"
SOME_FAIL = "Over their engineering threshold: {failed} of {judged} scores."
SOME_FAIL_OTHERS_OPEN = (
    "Over their engineering threshold: {failed} of {judged} scores. Undecided, which is not a pass:"
    " {undecided}."
)
SOME_UNDECIDED = (
    "No score is clearly over its engineering threshold. Undecided, which is not a pass:"
    " {undecided} of {judged}."
)
NONE_IS_OVER = (
    "Clearly on the right side of their engineering threshold: {judged} of {judged} scores."
)
WITHOUT_LIMIT = "Scores are reported without being compared with an engineering threshold."
NOT_RUN = "{count} of {checks} checks could not be run: that is not a pass."
NOTHING_TO_TELL = "There is nothing to report."
EXCUSED = (
    "Compared with a baseline: {baseline}. What clearly got worse, or is new, fails; what is surely"
    " not worse by more than the tolerance passes."
)

# ------------------------------------------------------------------------------------------------
# What was tested, on whom, when.
# ------------------------------------------------------------------------------------------------

TESTED = "Tested"
ON_WHOM = "On whom"
WHEN = "When"
HOW_SURE = "How sure"
MADE_WITH = "Made with"
SOFTWARE = "{subject} ({kind})"
SOFTWARE_WITH_FINGERPRINT = "{subject} ({kind}; fingerprint {fingerprint})"
MODEL_OF_FILE = "{model} of {file}"
NOT_NAMED = "software without a name"
ROWS = "{rows} rows"
ROWS_OF = "{rows} rows of {data}"
MISSING = "{missing} of their values missing"
NONE_MISSING = "no value missing"
NOT_RECORDED = "not recorded"
UTC = "{date}, {time} UTC"
EVENHAND = "evenhand {version}, seed {seed}"
ALL_TOGETHER = "all of it together with at least {level} confidence"
ALL_EXACT = "exact: nothing here depends on which inputs happened to be drawn"
EACH_ALONE = "each check at its own level; they are too many to hold together"
KINDS = {
    "command": "a program, one process for each input",
    "stream": "a program, one long-lived process",
    "http": "an HTTP service",
    "estimator": "a model in Python",
    "function": "a function in Python",
    "onnx": "an ONNX model",
    "torch": "a torch module",
    "xgboost": "an XGBoost model",
    "lightgbm": "a LightGBM model",
    "catboost": "a CatBoost model",
    "isolated": "a model in Python, in a process of its own",
    "log": "recorded decisions",
}
"""What kinds of software are called."""

# ------------------------------------------------------------------------------------------------
# The picture, and what was found in words.
# ------------------------------------------------------------------------------------------------

PICTURE = "Scores against their limits"
PICTURE_OF_WORST = "Scores against their limits: the worst {shown} of {count}"
SAME_PERSON = "Same input, only this changed: how often the outcome changes"
GROUPS_COMPARED = "Groups compared: how far apart they are"
AMOUNTS_COMPARED = "Groups compared: how far apart their outcomes are"
RATIOS = "Lowest rate as a share of the highest"
COMBINATION = "{features} together"
SUBGROUP = "{rule}, and everyone else"
ANY_SUBGROUP = "any subgroup of {features}"
OTHER_SUBGROUPS = "other subgroups of {features}"
ANY_TERM = "any term of {features}"
OTHER_TERMS = "other terms of {features}"
TERMS_AND_OTHERS = "{rule}, and {others}"
WITH_CONFIDENCE = "with {level} confidence"
PAIR_FOR_EXAMPLE = "For example: {case}"

# ------------------------------------------------------------------------------------------------
# What was not tested.
# ------------------------------------------------------------------------------------------------

FEATURES_NOT_TESTED = "{features}: protected, but no check was about it"
NO_COMBINATIONS = "combinations of {features}"
NO_ERRORS = "whether decisions are wrong more often for some: no true outcomes were given"
NO_SUBGROUPS = "subgroups within these groups"
CHECK_AND_REASON = "{check}: {reason}"

# ------------------------------------------------------------------------------------------------
# Sections.
# ------------------------------------------------------------------------------------------------

COMBINATIONS = "Combinations of {features}"
EVERYTHING_ELSE = "Everything else"
ALL_STATEMENTS_CAPTION = (
    "Every statement of every check, those that pass too. Limits are engineering"
    " thresholds."
)
AGAINST_THE_BASELINE = "against the baseline"
DESCRIPTIVE_INTERVAL = "{interval} (descriptive)"
SCORE_OF = "{features}: {score}"

# ------------------------------------------------------------------------------------------------
# How to get the same again.
# ------------------------------------------------------------------------------------------------

VERDICT = "verdict"
FACT_EXIT_CODE = "exit code"
FACT_SEED = "seed"
INPUTS = "inputs"
ASKED_AND_RUN = "{asked} asked, {executed} run this time"
LEDGER = "ledger"
NONE = "none"
VERSIONS = "versions"
DIGEST = "digest"
