"""The registry of verbs: what evenhand can do, each under its name.

To add a verb, write a folder with a `Verb` in its `__init__` and add a line here; another package
adds an entry point of the group `evenhand.verbs`, and a program calls ``VERBS.register(name,
verb)``. All front ends read the record: Python for unknown keywords, configurations for
`[[checks]]`, the command line for its commands, `evenhand init`, audits, and reports.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from evenhand.runtime.errors import UsageError, clip
from evenhand.runtime.options import (
    CUTS,
    FLAG,
    LABEL,
    NUMBER,
    TEXT,
    TEXTS,
    WHOLE,
    WORDS_BY_COLUMN,
    Option,
    Options,
)
from evenhand.runtime.registry import Deferred, Registry

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

SPEND = Options.of(
    Option("queries", WHOLE, "the most inputs to ask", python=False),
    Option("seconds", NUMBER, "the most seconds to take", python=False),
    Option("findings", WHOLE, "the most discriminatory inputs to find", python=False),
)
"""What a check may spend, in a configuration and on the command line; Python has a Budget."""
BUDGET = SPEND.toml
SHARE = Options.of(
    Option(
        "weight",
        NUMBER,
        "its part of the error of an audit, beside that of other checks (default: 1)",
        python=False,
        command=False,
    )
)
"""What a check of a verb with a level says of the error that an audit shares out."""


# How the evidence of a verb is shown and read where the verb declares nothing else.
_TEXT = Deferred("evenhand.report.terminal:lines_of_findings")
_PLOT = Deferred("evenhand.report.rates_display:display_of")
_SECTION = Deferred("evenhand.report.page.cards:section_of_findings")
_PLAIN = Deferred("evenhand.report.page.plain:in_plain_words")
_FRAME = Deferred("evenhand.report.finding_table:frame")
_DOCUMENT = Deferred("evenhand.results.result:document")


@dataclass(frozen=True)
class FileOption:
    """A file that a command writes besides its result, for each of its runs.

    `check(path, subject)` refuses a path before anything is run, `write(found, path)` writes the
    file afterwards, and `settings` go to the run where the file is wanted.
    """

    option: Option
    check: Callable[..., Any]
    write: Callable[..., Any]
    settings: Mapping[str, Any] = field(default_factory=dict)


RAW_CSV = Option(
    "raw_csv",
    FLAG,
    "write texts that begin with =, +, - or @ to CSV as they are; by default an apostrophe before"
    " them keeps a spreadsheet from running them as formulas",
    default=False,
)


@dataclass(frozen=True)
class Command:
    """A command of the command line.

    `purpose` is its heading in `evenhand --help`, and `example` a line that a reader can try.
    `source` is what it works on: "config" for the checks of a configuration, "records" for a file
    of recorded decisions, and "" for a command that does its own reading.
    """

    name: str
    help: str
    example: str
    purpose: str
    source: str = ""
    options: Options = field(default_factory=Options)
    """What it takes besides the options of its verb."""
    files: tuple[FileOption, ...] = ()
    """What it can write besides its result."""
    run: Callable[[Any], int] | None = None
    """Runs it, given the parsed options; by default a function that suits its source."""


@dataclass(frozen=True)
class Verb:
    """The record of a verb, which all front ends read.

    Functions are given as they are, or as `Deferred` places, so that reading the record imports
    nothing else.

    Parameters
    ----------
    name
        The function, the job of a check and the `job` of its JSON.
    question, definition
        The question that it answers, and the definitions behind the answer, for reports.
    function
        The public function.
    options
        Its options, in Python, in TOML and on the command line.
    run
        How a check of a configuration or an audit runs it: ``run(source, subject, **settings)``;
        None where it is no job of checks.
    text, plot, section, frame
        How its evidence is shown: lines of text, a display, parts of a page
        (``report.page.parts``), a pandas frame.
    document
        Returns the class that reads its JSON.
    detail
        Makes the detail of a finding from its JSON.
    rule
        What a finding means to code scanning: a few words, and a sentence or two.
    """

    name: str
    question: str
    definition: str
    function: Callable[..., Any]
    options: Options = field(default_factory=Options)
    run: Callable[..., Any] | None = None
    text: Callable[..., Any] = _TEXT
    plot: Callable[..., Any] = _PLOT
    section: Callable[..., Any] = _SECTION
    frame: Callable[..., Any] = _FRAME
    plain: Callable[..., str] = _PLAIN
    """Returns a finding in words for people who know no statistics: ``plain(finding, found)``."""
    refine: Callable[..., Any] | None = None
    """Returns a frame of what is within a subgroup: ``refine(found, rule)``, where there are any.
    """
    document: Callable[[], Any] = _DOCUMENT
    page: Callable[..., str] | None = None
    """Returns a page of its own, where it has a better one than the report of an audit."""
    group_tables: Callable[..., Any] | None = None
    """Returns tables of groups for other documents: ``group_tables(found, most)``."""
    card_notes: Callable[..., Any] | None = None
    """Returns the notes that a model card needs besides those of its tables of groups."""
    detail: Callable[[Any], Any] | None = None
    rule: tuple[str, str] = ("", "")
    command: Command | None = None
    forecast: Callable[..., Any] | None = None
    """Returns what a check is going to take: ``forecast(ground, **settings)``, where `Ground` and
    the `Forecast` of each of its questions are those of `evenhand.scores.planning.forecast`.
    """
    bounds: tuple[str, ...] = ("queries", "seconds")
    """What it may spend; nothing where it asks no software."""
    usual_kind: str = ""
    """The kind of score where a check names none."""
    by_sets: bool = False
    """Whether its findings are the border of all sets of features, which implies the others."""
    scores: bool = False
    """Whether its findings are scores of sets that are named, which need not be asked again."""
    sheets: int = 0
    """How many long tables of data its section has."""
    own_notes: bool = False
    """Whether its section shows the notes itself."""
    for_texts: str = ""
    """The verb that does this job where the software takes texts."""
    says: str = ""
    """What a check does, in a few words: a comment in the file of `evenhand init`."""

    @property
    def checks(self) -> Options:
        """The options of a `[[checks]]` table of this job."""
        options = self.options + SPEND.only(*self.bounds)
        return options + SHARE if "level" in self.options else options


ASK = ("subject", "space", "budget", "seed", "n_jobs", "progress")
"""The keywords of a verb on software that the run sets, and not a check."""
RUN = (*ASK, "sampler")
"""The same, for a verb whose scores are about a population."""

SAMPLING_THRESHOLD = Option(
    "sampling_threshold",
    WHOLE,
    "of --interval wald, the draws before its first look (default: 30)",
)
"""Of the paper's own rule, the number of draws above which it looks."""

TRUTH = Options.of(
    Option(
        "truth",
        TEXT,
        "the column of what decisions should have been, for error rates",
        metavar="COLUMN",
    ),
    Option(
        "truth_positive",
        LABEL,
        "what in that column stands for the favourable outcome (default: the same)",
    ),
    Option(
        "metric",
        TEXTS,
        "the rates that limits are for, as tpr,fpr (default: selection_rate)",
        metavar="NAMES",
    ),
)
"""What is said of true outcomes, wherever error rates are told."""
BINS = Option(
    "bins",
    CUTS,
    "where a column is cut into groups, as age=25,40,60 or applied=year; repeatable",
    metavar="COLUMN=CUTS",
    repeat=True,
)
"""Where numbers and dates of recorded decisions are cut into groups."""
LABELS = Option(
    "labels",
    WORDS_BY_COLUMN,
    "what people call the values of a column, as sex=0:female,1:male; repeatable",
    metavar="COLUMN=LABELS",
    repeat=True,
)
"""What people call the values of the columns of recorded decisions, the outcome included."""

AUDIT_FILE = Deferred("evenhand.config.audit:audit_file")
"""Runs the audit of a configuration file; deferred, since a layer above the verbs reads files."""
BUNDLE_FILE = Deferred("evenhand.bundle.write:audit_into_bundle")
"""The same, into an evidence bundle."""
PLAN_FILE = Deferred("evenhand.config.plan:plan_file")
"""The same for the forecast of an audit."""


def _problem(name: str, entry: Any) -> str:
    """Return what is wrong with a verb of another package, an empty text where nothing is.

    Results and checks look a verb up by its own name, so that it must be registered under that.
    """
    if not isinstance(entry, Verb):
        return f"is {clip(repr(entry))}; it must be an evenhand.verbs.Verb"
    if entry.name != name:
        return f"has the name {entry.name!r}; it must be registered under that"
    return ""


VERBS: Registry[Verb] = Registry(
    "verb",
    "evenhand.verbs",
    {
        "audit": "evenhand.methods.audit:AUDIT",
        "plan": "evenhand.methods.plan:PLAN",
        "measure": "evenhand.methods.measure:MEASURE",
        "prevalence": "evenhand.methods.measure:PREVALENCE",
        "measure_log": "evenhand.methods.measure:MEASURE_LOG",
        "subsets": "evenhand.methods.subsets:SUBSETS",
        "search": "evenhand.methods.search:SEARCH",
        "mine": "evenhand.methods.mine:MINE",
        "mine_log": "evenhand.methods.mine:MINE_LOG",
        "mine_text": "evenhand.methods.mine:MINE_TEXT",
        "impact": "evenhand.methods.impact:IMPACT",
        "compare": "evenhand.methods.compare:COMPARE",
        "repair": "evenhand.methods.repair:REPAIR",
        "replay": "evenhand.methods.replay:REPLAY",
        "tune": "evenhand.mitigation:TUNE",
        "study": "evenhand.study:STUDY",
    },
    problem=_problem,
)


def verb_of(job: str) -> Verb:
    """Return the verb that made evidence, or one with defaults if its package is not installed.

    >>> verb_of("measure").question
    'How much does the software discriminate?'
    >>> verb_of("of another package").question
    ''
    """
    try:
        return VERBS[job]
    except UsageError:
        return Verb(job, question="", definition="", function=_absent)


def _absent(*_args: Any, **_settings: Any) -> None:
    raise UsageError("the package that brings this verb is not installed here")
