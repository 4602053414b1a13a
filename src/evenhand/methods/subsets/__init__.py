"""subsets: which sets of features does the software discriminate by (Themis, Definition 3.9)?"""

from __future__ import annotations

from evenhand.runtime.options import FEATURES, FLAG, NUMBER, TEXT, WHOLE, Option, Options
from evenhand.runtime.registry import Deferred
from evenhand.verbs import RAW_CSV, RUN, SAMPLING_THRESHOLD, Command, FileOption, Verb

SUBSETS = Verb(
    "subsets",
    question="Which sets of features does the software discriminate by?",
    definition=(
        "A set of features discriminates where its score reaches the limit; it is minimal where no"
        " part of it does (Themis, Definition 3.9). A set that contains a discriminating one"
        " discriminates too, and parts of a cleared set are cleared: these need no test."
    ),
    function=Deferred("evenhand.methods.subsets.subsets:subsets"),
    options=Options.of(
        Option("among", FEATURES, "features to form sets of, separated by commas"),
        Option("depth", WHOLE, "the most features in a set"),
        Option("variants", WHOLE, "the most variants of an input that a set may have"),
        Option(
            "kind", TEXT, "the kind of score (default: causal)", choices=("causal", "group")
        ),
        Option("limit", NUMBER, "the engineering threshold to decide against"),
        Option("margin", NUMBER, "otherwise, how precisely to know the score"),
        Option("level", NUMBER, "the confidence level (default: 0.95)"),
        Option("interval", TEXT, "wald for the paper's own procedure", metavar="NAME"),
        SAMPLING_THRESHOLD,
        Option("exact", FLAG, "ask every input (default: where there are few)"),
        given=(*RUN, "known", "keep_tests"),
    ),
    run=Deferred("evenhand.methods.subsets.check:subsets"),
    forecast=Deferred("evenhand.methods.subsets.forecast:forecast"),
    text=Deferred("evenhand.methods.subsets.text:lines"),
    plot=Deferred("evenhand.methods.subsets.plot:display_of"),
    section=Deferred("evenhand.methods.subsets.section:section"),
    rule=(
        "The outcome depends on a set of features",
        (
            "A smallest set of features by which the software discriminates at or over the"
            " engineering threshold."
        ),
    ),
    command=Command(
        "subsets",
        help="which sets of features does the software discriminate by?",
        example="evenhand subsets --among sex,race,age --limit 0.05",
        purpose="Test software",
        source="config",
        options=Options.of(RAW_CSV),
        files=(
            FileOption(
                Option(
                    "suite",
                    TEXT,
                    "write the tests of every set found here, as .csv or .parquet, for replay",
                    metavar="FILE",
                ),
                check=Deferred("evenhand.methods.subsets.check:check_suite"),
                write=Deferred("evenhand.methods.subsets.check:write_suite"),
                settings={"keep_tests": True},
            ),
        ),
    ),
    usual_kind="causal",
    by_sets=True,
    says="which features and which sets of them",
)
