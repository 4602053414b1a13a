"""repair: train a model again with what was found, and show whether it helped."""

from __future__ import annotations

from evenhand.runtime.options import (
    ANY,
    FEATURES,
    FLAG,
    LABEL,
    NUMBER,
    TEXT,
    WHOLE,
    Kind,
    Option,
    Options,
)
from evenhand.runtime.registry import Deferred
from evenhand.verbs import Command, Verb

_TEST = Kind(
    "test",
    (int, float, str),
    "a share of the rows, or the name of a file of other rows",
    {"type": ["number", "string"]},
)
_RULE = Kind(
    "rule",
    (list, dict),
    "a list of conditions, or for texts a table of terms by category",
    {"type": ["array", "object"]},
)

REPAIR = Verb(
    "repair",
    question="Does training again with what was found help?",
    definition=(
        "The model was trained again with what was found; scores before and after are those on"
        " inputs and people that no step had used."
    ),
    function=Deferred("evenhand.methods.repair.repair:repair"),
    options=Options.of(
        Option("over", FEATURES, "features to vary together, separated by commas"),
        Option(
            "method",
            TEXT,
            "how it is repaired (default: augment)",
            choices=("augment", "aequitas", "subgroup", "evened"),
        ),
        Option(
            "labelling",
            TEXT,
            "how added inputs are labelled: vote, majority, neighbours (default: vote)",
            metavar="NAME",
        ),
        Option(
            "add",
            TEXT,
            "what is added: twins, found, pairs or both; for subgroups members or borderline",
        ),
        Option(
            "estimator",
            TEXT,
            "what is trained, as package.module:name",
            python=False,
            command=False,
        ),
        Option(
            "fit",
            TEXT,
            "a function of X and y that trains a model",
            python=False,
            command=False,
        ),
        Option(
            "target",
            TEXT,
            "for texts, the column of true outcomes",
            python=False,
            command=False,
        ),
        Option("weights", TEXT, "the column of row weights", python=False, command=False),
        Option("patience", WHOLE, "after how many steps that do not help to stop"),
        Option("steps", WHOLE, "for subgroups, how many sizes are tried (default: 8)"),
        Option("draws", WHOLE, "how many inputs the claim rests on"),
        Option("tolerance", NUMBER, "by how much accuracy may fall (default: 0.01)"),
        Option(
            "validate",
            NUMBER,
            "the share of training rows that each step is checked on (default: 0.2)",
        ),
        Option("limit", NUMBER, "the engineering threshold for the repaired model"),
        Option("level", NUMBER, "the confidence level (default: 0.95)"),
        Option(
            "differs", NUMBER, "how far apart two numbers must be to differ", command=False
        ),
        Option(
            "support",
            NUMBER,
            "the least share of rows in a subgroup that is mined (default: 0.05)",
        ),
        Option(
            "test",
            _TEST,
            "the share of rows held out, or a file of other rows",
            command=False,
        ),
        Option(
            "refit",
            FLAG,
            "whether the model handed over is fitted on all rows (default: true)",
            command=False,
        ),
        Option("positive", LABEL, "the favourable outcome", command=False),
        Option("rule", _RULE, "the subgroup to repair for", command=False),
        Option(
            "lexicon",
            ANY,
            "the terms to look for; a configuration names them in [texts]",
            toml=False,
            command=False,
        ),
        Option(
            "without",
            ANY,
            "terms to leave out; a configuration names them in [texts]",
            toml=False,
            command=False,
        ),
        Option(
            "queries",
            WHOLE,
            "the most inputs to ask in the search for discriminatory ones",
            python=False,
        ),
        Option(
            "seconds", NUMBER, "the most seconds that this search may take", python=False
        ),
        Option(
            "output",
            TEXT,
            "write the repaired model here, as .skops or .joblib",
            metavar="MODEL",
            python=False,
            command=False,
        ),
        given=(
            "estimator",
            "X",
            "y",
            "space",
            "sample_weight",
            "budget",
            "seed",
            "n_jobs",
            "progress",
        ),
    ),
    text=Deferred("evenhand.methods.repair.text:lines"),
    plot=Deferred("evenhand.methods.repair.plot:display_of"),
    section=Deferred("evenhand.methods.repair.section:section"),
    page=Deferred("evenhand.methods.repair.section:page"),
    frame=Deferred("evenhand.methods.repair.repair_result:frame"),
    document=Deferred("evenhand.methods.repair.repair_result:document"),
    rule=(
        "A repair did not clearly help",
        (
            "The repaired model does not clearly discriminate less, or costs more than blindly"
            " giving up accuracy."
        ),
    ),
    command=Command(
        "repair",
        help="train the model again so that it discriminates less, and say if it does",
        example="evenhand repair --over sex -o repaired.skops",
        purpose="Improve a model",
    ),
    bounds=(),
    own_notes=True,
)
