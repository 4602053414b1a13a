"""measure: how much does the software discriminate, and how sure are we (Themis)?"""

from __future__ import annotations

from evenhand.runtime.options import (
    FEATURES,
    FLAG,
    NUMBER,
    TABLE,
    TEXT,
    WHOLE,
    Option,
    Options,
)
from evenhand.runtime.registry import Deferred
from evenhand.verbs import (
    ASK,
    BINS,
    LABELS,
    RAW_CSV,
    RUN,
    SAMPLING_THRESHOLD,
    TRUTH,
    Command,
    FileOption,
    Verb,
)

_OVER = Option(
    "over",
    FEATURES,
    "features to vary together, separated by commas; repeat for more sets",
    repeat=True,
)
_LEVEL = Option("level", NUMBER, "the confidence level (default: 0.95)")
_LIMIT = Option("limit", NUMBER, "the engineering threshold to decide against")
_UNITS = Option(
    "units",
    TEXT,
    "of numbers, what a limit is in: shares of their spread (default), or their own unit",
    choices=("spread", "outcome"),
)
_SECTION = Deferred("evenhand.methods.measure.section:section")
_FRAME = Deferred("evenhand.report.finding_table:metric_frame")
_GROUP_TABLES = Deferred("evenhand.report.finding_table:metric_group_tables")

MEASURE = Verb(
    "measure",
    question="How much does the software discriminate?",
    definition=(
        "The causal score is the share of inputs whose outcome changes when nothing but the named"
        " features change (Galhotra, Brun, Meliou: Themis, Definition 3.7). The group score is the"
        " largest difference between groups in how often they get the favourable outcome"
        " (Definition 3.6); of outcomes that are numbers, in their mean and median. Of software"
        " that does not always answer alike, the causal score is how much more often twins differ"
        " than the same input does when asked again. Intervals hold their level under the rule"
        " that ended the sampling."
    ),
    function=Deferred("evenhand.methods.measure.measure:measure"),
    options=Options.of(
        _OVER,
        Option(
            "kind", TEXT, "the kind of score (default: causal)", choices=("causal", "group")
        ),
        _LIMIT,
        _UNITS,
        Option("margin", NUMBER, "otherwise, how precisely to know the score"),
        _LEVEL,
        Option(
            "interval",
            TEXT,
            "exact, anytime, wilson or wald (default: by the task)",
            metavar="NAME",
        ),
        SAMPLING_THRESHOLD,
        Option("exact", FLAG, "ask every input (default: where there are few)"),
        Option(
            "repeats",
            WHOLE,
            "how often to ask each input, of software with chance in it (default: by a first look)",
        ),
        *TRUTH,
        given=(*RUN, "keep_tests"),
    ),
    run=Deferred("evenhand.methods.measure.check:measure"),
    forecast=Deferred("evenhand.methods.measure.forecast:measure"),
    text=Deferred("evenhand.methods.measure.text:lines"),
    section=_SECTION,
    frame=_FRAME,
    group_tables=_GROUP_TABLES,
    rule=(
        "The outcome depends on a protected feature",
        (
            "The share of inputs whose outcome changes with the named features alone (causal"
            " score), or the difference between the rates at which groups get the favourable"
            " outcome (group score), is at or over the engineering threshold."
        ),
    ),
    command=Command(
        "measure",
        help="how much does the software discriminate, and how sure are we?",
        example="evenhand measure --over sex --limit 0.05",
        purpose="Test software",
        source="config",
        options=Options.of(RAW_CSV),
        files=(
            FileOption(
                Option(
                    "suite",
                    TEXT,
                    "write every test here, as .csv or .parquet, for replay",
                    metavar="FILE",
                ),
                check=Deferred("evenhand.methods.measure.check:check_suite"),
                write=Deferred("evenhand.methods.measure.check:write_suite"),
                settings={"keep_tests": True},
            ),
        ),
    ),
    usual_kind="causal",
    scores=True,
    says="how much, and how sure",
)

PREVALENCE = Verb(
    "prevalence",
    question="Which share of all inputs does the software discriminate against?",
    definition=(
        "The prevalence is the share of all inputs that have a twin with another outcome, which"
        " differs from them in the named features alone."
    ),
    function=Deferred("evenhand.methods.measure.measure:prevalence"),
    options=Options.of(
        _OVER,
        _LIMIT,
        Option("margin", NUMBER, "otherwise, how precisely to know the share"),
        _LEVEL,
        given=ASK,
    ),
    run=Deferred("evenhand.methods.measure.check:prevalence"),
    forecast=Deferred("evenhand.methods.measure.forecast:prevalence"),
    rule=(
        "A share of all inputs is treated differently",
        (
            "The share of all inputs whose outcome changes with the named features alone is at or"
            " over the engineering threshold."
        ),
    ),
    command=Command(
        "prevalence",
        help="which share of all inputs does the software discriminate against?",
        example="evenhand prevalence --over sex --margin 0.01",
        purpose="Test software",
        source="config",
    ),
    scores=True,
    says="which share of all inputs",
)

MEASURE_LOG = Verb(
    "measure_log",
    question="How much do the recorded decisions differ between groups?",
    definition=(
        "The group score of recorded decisions is the largest difference between groups in how"
        " often they got the favourable outcome (Themis, Definition 3.6). Where it is known what"
        " the decisions should have been, error rates are compared in the same way: the true"
        " positive rate is the share of those who should be favoured that is, the false positive"
        " rate that of those who should not, precision the share of those favoured who should be,"
        " and accuracy the share of decisions that are right. The causal score of recorded"
        " decisions is the share of rows with a twin, equal in all but the named features, that"
        " were decided otherwise than a twin (Definitions 3.7 and 3.8). Nothing was asked of the"
        " software."
    ),
    function=Deferred("evenhand.methods.measure.recorded:measure_log"),
    options=Options.of(
        Option(
            "kind",
            TEXT,
            "the kind of score: of groups (default), or of rows that are twins",
            choices=("group", "causal"),
        ),
        Option(
            "features",
            FEATURES,
            "columns in which twins are equal, separated by commas (default: all others)",
        ),
        Option("limit", NUMBER, "the engineering threshold for the difference of rates"),
        _UNITS,
        Option("least_ratio", NUMBER, "the engineering threshold for the ratio of rates"),
        Option(
            "support",
            NUMBER,
            "leave out groups with a smaller share of the rows (default: 0.02)",
        ),
        _LEVEL,
        *TRUTH,
        Option("groups", TABLE, "categories to merge, by column", command=False),
        BINS,
        LABELS,
        given=("frame", "outcome", "over", "positive", "seed"),
    ),
    text=Deferred("evenhand.methods.measure.text:lines_of_records"),
    forecast=Deferred("evenhand.methods.measure.forecast:recorded"),
    section=_SECTION,
    frame=_FRAME,
    group_tables=_GROUP_TABLES,
    rule=(
        "Groups are selected at different rates",
        (
            "Among real people, the rates at which groups are selected lie further apart than the"
            " engineering threshold allows."
        ),
    ),
    command=Command(
        "measure-log",
        help="how differently were groups treated in recorded decisions?",
        example="evenhand measure-log loans.csv --outcome approved --over sex --limit 0.1",
        purpose="Test recorded decisions",
        source="records",
    ),
    bounds=(),
)
