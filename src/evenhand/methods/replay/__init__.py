"""replay: ask the software again the tests of a suite, or the cases of a result."""

from __future__ import annotations

from evenhand.runtime.options import NUMBER, TEXT, Option, Options
from evenhand.runtime.registry import Deferred
from evenhand.verbs import Command, Verb

REPLAY = Verb(
    "replay",
    question="Does the software still answer as it did?",
    definition=(
        "Inputs of an earlier run were asked again; what is said holds of these inputs alone."
    ),
    function=Deferred("evenhand.methods.replay.replay:replay"),
    options=Options.of(
        Option(
            "limit", NUMBER, "the engineering threshold to decide against (for a suite)"
        ),
        Option("level", NUMBER, "the confidence level (default: 0.95)"),
        Option(
            "case",
            TEXT,
            "ask this case alone: its id, or the first digits of it (for a result)",
            metavar="ID",
        ),
        given=("path", "subject", "space", "seed"),
    ),
    rule=(
        "The outcome depends on a protected feature",
        (
            "The share of inputs whose outcome changes with the named features alone (causal"
            " score), or the difference between the rates at which groups get the favourable"
            " outcome (group score), is at or over the engineering threshold."
        ),
    ),
    command=Command(
        "replay",
        help="ask the software again: the tests of a suite, or the cases of a result",
        example="evenhand replay result.json",
        purpose="Look closer",
    ),
    bounds=(),
)
