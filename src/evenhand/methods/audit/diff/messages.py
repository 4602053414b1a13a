"""Every sentence on what changed between two audits."""

from __future__ import annotations

# ------------------------------------------------------------------------------------------------
# Why a finding has no change that could be told.
# ------------------------------------------------------------------------------------------------

OTHER_UNIT = "the score is of another unit: {before} before, {now} now"
OTHER_POPULATION = "the score is about others: {before} before, {now} now"
OTHER_INPUTS = "the two audits declare different spaces of inputs"
NOTHING_BEFORE = "nothing was observed of it before"
NOTHING_NOW = "nothing is observed of it now"
NOT_RUN_BEFORE = "the check could not be run before: {error}"
NOT_RUN_NOW = "the check could not be run now: {error}"
NEW_CHECK = "the whole check is new"
GONE_CHECK = "the whole check is gone"
BOUNDED_BEFORE = "it had no finding of its own before, and was bounded together with others"
SEARCHED_LONGER = "a search that finds more, or less, may only have searched longer"
DESCRIPTIVE_CHANGE = "descriptive: its interval holds by itself, and decides nothing"

# ------------------------------------------------------------------------------------------------
# How many of which kind.
# ------------------------------------------------------------------------------------------------

NOTHING_TO_COMPARE = "Neither audit has a finding that could be compared."
CHANGES_COUNTED = "{counts}."
ONE_WORSE = "1 got worse"
MANY_WORSE = "{count} got worse"
ONE_NEW = "1 is new"
MANY_NEW = "{count} are new"
ONE_GONE = "1 is gone"
MANY_GONE = "{count} are gone"
ONE_BETTER = "1 got better"
MANY_BETTER = "{count} got better"
ONE_UNCLEAR = "1 shows no clear change"
MANY_UNCLEAR = "{count} show no clear change"
ONE_OTHER = "1 cannot be compared"
MANY_OTHER = "{count} cannot be compared"
ONE_UNCHANGED = "1 is unchanged"
MANY_UNCHANGED = "{count} are unchanged"
ONE_NEWLY_FAILS = "1 fails now that did not fail before."
MANY_NEWLY_FAIL = "{count} fail now that did not fail before."
CHANGES_ARE_SURE = (
    "A change counts as better or worse where its interval excludes 0. The intervals of a check"
    " hold together at its level."
)

# ------------------------------------------------------------------------------------------------
# The section of a page, and the same in Markdown and on a terminal.
# ------------------------------------------------------------------------------------------------

CHANGES = "What changed"
CHANGES_SINCE = "What changed since {name}"
WORSE_HEADING = "Worse"
NEW_FAILURES_HEADING = "New, and fails"
NEW_HEADING = "New"
GONE_HEADING = "Gone"
BETTER_HEADING = "Better"
UNCLEAR_HEADING = "No clear change"
OTHER_HEADING = "Not comparable"
UNCHANGED_HEADING = "Unchanged: the same score to the last digit"
CHANGES_CAPTION = (
    "Each finding before and now, the worst first. The change is the new score minus the old"
    " one."
)
UNCHANGED_CAPTION = "The findings that are as they were."
COLUMN_FINDING = "finding"
COLUMN_BEFORE = "before"
COLUMN_NOW = "now"
COLUMN_BOTH = "before (above) and now (below)"
COLUMN_CHANGE = "change"
COLUMN_SETTING = "what"
IN_CHECKS = "in {checks}"
SHARED_VERDICT = "in {check}: {before} before, {now} now"
LIMITS_DIFFER = "engineering threshold {before} before, {now} now"
CHANGE_PAIRED = "on the same inputs"
CHANGE_INDEPENDENT = "each on inputs of its own"
CHANGE_EXACT = "both exact"
CHANGE_APART = "what both intervals allow"
BAR_OF_BOTH = "before: {before}; now: {now}"
MORE_CHANGES = "{count} more of this kind are left out."
MARKDOWN_CHANGES = "### What changed"
MARKDOWN_CHANGES_SINCE = "### What changed since {name}"
MARKDOWN_CHANGE_HEADINGS = "| | check | finding | before | now | change |"
CHANGES_LEFT_OUT = "{count} more are left out here."
BEFORE_AND_NOW = "{before} → {now}"
SETTING_LINE = "{label}: {before} → {now}"

# ------------------------------------------------------------------------------------------------
# Whole checks, and how the audits were run.
# ------------------------------------------------------------------------------------------------

RUN_OTHERWISE = "Run otherwise"
RUN_OTHERWISE_CAPTION = "What differs in how the two audits were run."
CHECK_IS_THERE = "there"
CHECK_IS_NOT_THERE = "not there"
NOT_GIVEN = "not given"
TEXT_DIFFERS = "{name}, with another text"
SPACE_OF_FEATURES = "{count} features: {digest}"
SETTING_SOFTWARE = "software"
SETTING_SPACE = "space of inputs"
SETTING_SEED = "seed"
SETTING_LEVEL = "level"
SETTING_CONFIG = "configuration"
SETTING_VERSION = "version of {package}"
SETTING_CHECK = "check {check}"
SETTING_OF_CHECK = "{setting} of {check}"

# ------------------------------------------------------------------------------------------------
# What cannot be compared: errors.
# ------------------------------------------------------------------------------------------------

TWO_FILES = (
    "--diff compares two files, the older one first, and was given {count}; write: evenhand report"
    " old.json new.json --diff"
)
