"""Studies: many data sets, models, methods and splits, as the Fairea paper ran them."""

from __future__ import annotations

from evenhand.runtime.options import FILE, FLAG, TEXT, TEXTS, WHOLE, Option, Options
from evenhand.runtime.registry import Deferred
from evenhand.runtime.workers.options import WORKERS
from evenhand.verbs import Command, Verb

STUDY = Verb(
    "study",
    question=(
        "Which mitigations are better than blindly giving up accuracy, across data sets, models and"
        " splits?"
    ),
    definition=(
        "Each method was trained on many splits of each data set, with each model and for each"
        " protected column, and held against blindly overwriting the predictions of its own"
        " original (Fairea, section 5)."
    ),
    function=Deferred("evenhand.study.study:run"),
    options=Options.of(given=("study", "store", "n_jobs", "progress")),
    text=Deferred("evenhand.study.text:lines"),
    document=Deferred("evenhand.study.result:document"),
    rule=(
        "A mitigation is no better than giving up accuracy",
        "A mitigation does not do better than blindly overwriting predictions of the original.",
    ),
    command=Command(
        "study",
        help=(
            "many data sets, models, mitigations and splits: are they better than giving up"
            " accuracy?"
        ),
        example="evenhand study study.toml --n-jobs 2",
        purpose="Improve a model",
        options=Options.of(
            Option(
                "study",
                FILE,
                "what to run (default: study.toml)",
                positional=True,
            ),
            Option(
                "store",
                TEXT,
                "where results are kept, so that a killed study goes on",
                metavar="FILE",
            ),
            Option("splits", WHOLE, "how often each data set is split"),
            Option(
                "bias", TEXTS, "biases to judge by, separated by commas, such as spd,aod"
            ),
            Option(
                "performance",
                TEXT,
                "accuracy, balanced accuracy, f1 or mcc",
                metavar="NAME",
            ),
            Option(
                "paper",
                FLAG,
                "print what the Fairea paper published beside the tables, where it has it",
                default=False,
            ),
            Option("seed", WHOLE, "the seed (default: what the study file says, or 0)"),
            *WORKERS,
            Option("json", TEXT, "write the tables here", metavar="FILE"),
        ),
    ),
    bounds=(),
)
