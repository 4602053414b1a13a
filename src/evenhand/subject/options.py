"""What can be said of software of every kind, and what several adapters let one say."""

from __future__ import annotations

from evenhand.runtime.options import (
    FILE_OR_ADDRESS,
    FLAG,
    NUMBER,
    TEXT,
    Kind,
    Option,
    Options,
)

_NAMES = Kind(
    "names",
    (list,),
    "a list of names",
    {"type": "array", "items": {"type": "string"}},
    (str,),
)
_OUTCOMES = Kind(
    "outcomes", (object, bool), "an outcome, a list of them, or a table by output", {}
)
_LABELS = Kind(
    "labels",
    (list, dict),
    "a list of outcomes, a table of what each is called, or a table by output",
    {"type": ["array", "object"]},
)
_DISTANCE = Kind(
    "distance",
    (int, float, dict),
    "a number, or a table by output",
    {"type": ["number", "object"]},
)

_ISOLATION = Kind(
    "isolation",
    types=(bool, dict),
    wanted='true, false, or a table of limits such as { memory = "2 GB", timeout = 30 }',
    schema={
        "type": ["boolean", "object"],
        "additionalProperties": {"type": ["string", "number"]},
    },
    items=(str, int, float),
)

SHARED = Options.of(
    Option(
        "outputs",
        _NAMES,
        "the names of several outputs; the options below are then tables by name",
    ),
    Option("positive", _OUTCOMES, "the favourable outcome, or a list of those"),
    Option(
        "labels",
        _LABELS,
        (
            "all outcomes there are, any other is an error; or a table of what each is called,"
            " such as { 0 = 'denied', 1 = 'approved' }"
        ),
    ),
    Option(
        "differs",
        _DISTANCE,
        "how far apart two numbers must be to count as different outcomes",
    ),
    Option(
        "memo", FLAG, "remember answers in memory; by default where an answer is expensive"
    ),
    Option(
        "ledger",
        FILE_OR_ADDRESS,
        "a file that keeps every executed test and its outcome, for this run and the next; or the"
        " address of a PostgreSQL database, for a team",
    ),
    Option(
        "isolate",
        _ISOLATION,
        "run the software in a process of its own, with limits; by default for model files",
    ),
)
"""Options that every kind of subject has."""

THRESHOLD = Option(
    "threshold", NUMBER, "take the label from predict_proba and this threshold"
)
OUTPUT = Option(
    "output",
    TEXT,
    "what the outcome is: the label, or the score of it",
    choices=("label", "score"),
)
IDENTITY = Option(
    "identity",
    TEXT,
    "what to call the software in the ledger instead of what its code and data tell",
)
