"""Words that are data as well, and that pages show as words: `language.term` looks them up."""

from __future__ import annotations

TERMS = (
    # Verdicts, and what stands where there is none.
    "fail",
    "pass",
    "undecided",
    "no limit",
    "not run",
    # What is read of a value that is missing.
    "unknown",
    # Populations that evenhand names itself.
    "all inputs, uniformly",
    "all valid inputs, uniformly",
    "the recorded decisions",
    "people like the given rows",
    "people like the given rows, and their one-step neighbours",
    "people like those of the test set",
    "decisions like the recorded ones",
    # What stands for all others, and for everybody.
    "everybody",
    "all other rule sets",
    # What is counted, where outcomes have no names.
    "the favourable outcome",
    # What a rate, or a score, is called over a table of groups or beside a chart.
    "causal",
    "group",
    "rate",
    "ratio",
    "mean",
    "median",
    "value",
    "score",
    "ratio of rates",
    "mean difference",
    "median difference",
    "true positive rate",
    "false positive rate",
    "false negative rate",
    "true positive rate difference",
    "false positive rate difference",
    "false negative rate difference",
    "accuracy difference",
    "precision difference",
    "selection rate difference",
    "accuracy",
    "precision",
    # Of inputs that were found.
    "plausible",
    "unusual",
    # Columns of tables, and what stands where there is nothing.
    "verdict",
    "low",
    "high",
    "rows",
    "texts",
    "changed",
    "over",
    "against",
    "output",
    "none",
)
"""The English words; a catalogue may have more, such as the names of methods."""
