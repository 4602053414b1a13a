"""mine: which readable subgroups, or terms in texts, are treated differently (TestSGD)?"""

from __future__ import annotations

from evenhand.runtime.options import (
    ANY,
    FEATURES,
    FILE,
    NUMBER,
    STEPS,
    TEXT,
    TEXTS,
    WHOLE,
    Kind,
    Option,
    Options,
)
from evenhand.runtime.registry import Deferred
from evenhand.verbs import ASK, LABELS, TRUTH, Command, Verb

_BINS = Kind(
    "bins",
    (int, list, dict),
    "a whole number, a list of cut points, or a table of either by feature",
    {"type": ["integer", "array", "object"]},
)
_SUPPORT = Option(
    "support", NUMBER, "the least share of rows, or texts, that a rule covers"
)
_DEPTH = Option("depth", WHOLE, "the most features, or categories of terms, in a rule")
_LIMIT = Option("limit", NUMBER, "the engineering threshold for the difference of rates")
_UNITS = Option(
    "units",
    TEXT,
    "of numbers, what a limit is in: shares of their spread (default), or their own unit",
    choices=("spread", "outcome"),
)
_LEVEL = Option("level", NUMBER, "the confidence level (default: 0.95)")
_CONTROL = Option(
    "control",
    TEXT,
    "what the level is of: all intervals together (default), or the false discovery rate",
    choices=("family", "fdr"),
)
_CORRECTION = Option(
    "correction",
    TEXT,
    "how intervals are made to hold together: max-t (default where it can be had), or bonferroni",
    choices=("max-t", "bonferroni"),
)
_TOP = Option("top", WHOLE, "the most rules to report (default: 10)")
_SCORE = Option(
    "score",
    TEXTS,
    "what is compared: rate, mean, error, tpr, fpr, fnr, tnr, precision, fdr, for or calibration,"
    " separated by commas",
)
_FORMING = (
    _SUPPORT,
    Option(
        "complement",
        NUMBER,
        "the least share of rows that it leaves (default: by the support)",
    ),
    Option("bins", _BINS, "into how many bins numbers are cut"),
    Option(
        "binning",
        TEXT,
        "bins of equal width, or of as many rows",
        choices=("width", "quantiles"),
    ),
    Option("levels", WHOLE, "the most levels that a condition names"),
    _DEPTH,
)
_PLOT = Deferred("evenhand.methods.mine.plot.display:display_of")
_SECTION = Deferred("evenhand.methods.mine.section:section")
_PLAIN = Deferred("evenhand.methods.mine.section:plain")
_FRAME = Deferred("evenhand.methods.mine.table:frame")
_REFINE = Deferred("evenhand.methods.mine.subgroups.refine:refined")
_DETAIL = Deferred("evenhand.methods.mine.findings:read_place")
_RULE = (
    "A subgroup is treated differently",
    (
        "A subgroup that can be read as a rule gets the outcome, or a wrong decision, at another"
        " rate than everyone else, by the engineering threshold or more."
    ),
)
_DEFINITION = (
    "The score of a subgroup is how much more, or less, often its people get the favourable outcome"
    " than everyone else (Zhang, Wang, Sun, Sun: TestSGD, Definition 4.1); of outcomes that are"
    " numbers, how far their means are apart; and of other scores, what each claim says. All"
    " subgroups that are large enough were looked at, and the intervals hold for all of them"
    " together."
)

MINE = Verb(
    "mine",
    question="Which readable subgroups are treated differently from everyone else?",
    definition=_DEFINITION,
    function=Deferred("evenhand.methods.mine.mine:mine"),
    options=Options.of(
        Option(
            "over",
            FEATURES,
            "features to form rules of, separated by commas, or all; repeat for more sets",
            repeat=True,
        ),
        *_FORMING,
        _LIMIT,
        _UNITS,
        _LEVEL,
        _CONTROL,
        _CORRECTION,
        Option(
            "treatment",
            TEXT,
            "neighbours, drawn, rows or paper (default: by the cost)",
            metavar="NAME",
        ),
        Option(
            "move",
            STEPS,
            "by how much numbers are moved to make neighbours, as 5 or income=5; repeatable",
            metavar="STEP",
            repeat=True,
        ),
        Option(
            "sample_thr", WHOLE, "of --treatment paper, the draws before its first look"
        ),
        Option("error_thr", NUMBER, "of --treatment paper, the margin at which it ends"),
        Option(
            "truth",
            TEXT,
            "the column of true outcomes, for all of --score but rate and mean",
            metavar="COLUMN",
        ),
        _SCORE,
        _TOP,
        Option("data", FILE, "rows to find rules in, as .csv or .parquet", metavar="FILE"),
        given=ASK,
    ),
    run=Deferred("evenhand.methods.mine.check:mine"),
    forecast=Deferred("evenhand.methods.mine.planning.forecast:forecast"),
    text=Deferred("evenhand.methods.mine.text:lines"),
    plot=_PLOT,
    section=_SECTION,
    plain=_PLAIN,
    sheets=1,
    frame=_FRAME,
    refine=_REFINE,
    detail=_DETAIL,
    rule=_RULE,
    command=Command(
        "mine",
        help="which readable subgroups, or terms in texts, are treated differently?",
        example="evenhand mine --over sex,race --support 0.05",
        purpose="Test software",
        source="config",
    ),
    for_texts="mine_text",
    says="readable subgroups that are treated differently from everyone else",
)

MINE_LOG = Verb(
    "mine_log",
    question=(
        "Which readable subgroups do the recorded decisions treat differently from everyone else?"
    ),
    definition=_DEFINITION,
    function=Deferred("evenhand.methods.mine.recorded:mine_log"),
    forecast=Deferred("evenhand.methods.mine.planning.forecast:recorded"),
    options=Options.of(
        *_FORMING,
        _LIMIT,
        _UNITS,
        _LEVEL,
        _CONTROL,
        _CORRECTION,
        Option(
            "truth", TEXT, "the column of what decisions should have been", metavar="COLUMN"
        ),
        TRUTH["truth_positive"],
        _SCORE,
        _TOP,
        LABELS,
        given=("frame", "outcome", "over", "positive", "seed"),
    ),
    text=Deferred("evenhand.methods.mine.text:lines"),
    plot=_PLOT,
    section=_SECTION,
    plain=_PLAIN,
    sheets=1,
    frame=_FRAME,
    refine=_REFINE,
    detail=_DETAIL,
    rule=_RULE,
    command=Command(
        "mine-log",
        help="which readable subgroups did recorded decisions treat differently?",
        example="evenhand mine-log loans.csv --outcome approved --over sex,race",
        purpose="Test recorded decisions",
        source="records",
    ),
    bounds=(),
)

MINE_TEXT = Verb(
    "mine_text",
    question="With which sensitive terms are texts treated differently?",
    definition=(
        "Texts that name a category, or sentences with a place for one before a person noun, are"
        " written with each of its terms; the score of a term is how"
        " much more, or less, often texts get the favourable outcome with it than with others"
        " (TestSGD, sections 4.1 and 4.3)."
    ),
    function=Deferred("evenhand.methods.mine.texts.mine_text:mine_text"),
    options=Options.of(
        Option(
            "kind",
            TEXT,
            "for texts: the kind of score (default: group)",
            choices=("group", "causal"),
        ),
        Option(
            "against",
            TEXT,
            "for texts: compare with other terms, or texts",
            choices=("terms", "rest"),
        ),
        Option(
            "places",
            TEXT,
            "for texts: where terms are written (default: by how many texts have a place)",
            choices=("auto", "named", "persons", "templates"),
        ),
        Option("without", TEXTS, "for texts: terms to leave out, separated by commas"),
        _SUPPORT,
        _DEPTH,
        _LIMIT,
        _LEVEL,
        _TOP,
        Option(
            "lexicon",
            ANY,
            "the terms to look for; a configuration names them in [texts]",
            toml=False,
            command=False,
        ),
        Option(
            "templates",
            ANY,
            "sentences to write terms in; a configuration names them in [texts]",
            toml=False,
            command=False,
        ),
        Option(
            "persons",
            ANY,
            "nouns to write terms before; a configuration names them in [texts]",
            toml=False,
            command=False,
        ),
        given=(
            *("function", "texts", "positive", "output", "threshold", "differs", "ledger"),
            *("budget", "seed", "progress"),
        ),
    ),
    run=Deferred("evenhand.methods.mine.check:mine_text"),
    forecast=Deferred("evenhand.methods.mine.planning.texts:forecast"),
    text=Deferred("evenhand.methods.mine.text:lines"),
    plot=_PLOT,
    section=_SECTION,
    plain=_PLAIN,
    sheets=1,
    frame=_FRAME,
    detail=_DETAIL,
    rule=_RULE,
    usual_kind="group",
)
