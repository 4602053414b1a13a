"""Every sentence on files that people hand over, in one place."""

from __future__ import annotations

# ------------------------------------------------------------------------------------------------
# What cannot be printed or written: errors.
# ------------------------------------------------------------------------------------------------

NO_CHROMIUM = (
    "--pdf needs Chromium, and there is none on the path; install chromium or google-chrome, or"
    " name the program in EVENHAND_CHROMIUM"
)
CHROMIUM_IS_NOT_THERE = (
    "EVENHAND_CHROMIUM={program} is not a program that can be run; name one, or leave it out to use"
    " the one on the path"
)
CHROMIUM_CANNOT_START = "{program} could not be started to print the PDF: {reason}"
CHROMIUM_TOOK_TOO_LONG = "{program} did not print the PDF within {seconds} seconds"
CHROMIUM_PRINTED_NOTHING = "{program} printed no PDF (exit code {code}): {reason}"
NO_REASON = "it did not say why"

# ------------------------------------------------------------------------------------------------
# Titles of tables.
# ------------------------------------------------------------------------------------------------

TABLE_OF_TABLES = "The tables of this audit"
TABLE_OF_VERDICTS = "Every statement of every check, with its verdict"
TABLE_OF_RUN = "How the audit was run"
TABLE_OF_CHECK = "{check}: what was found"
TABLE_OF_GROUPS = "{check}: the groups that its findings compare"
TABLE_OF_CASES = "{check}: cases, each with its twin"
TABLE_OF_DETAILS = "{check}: {name}"
