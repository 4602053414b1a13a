"""The command line: its commands, their options, and the functions that run them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from evenhand.bundle import VERIFY, WRITTEN
from evenhand.methods.audit import GATE, LOG
from evenhand.methods.plan import YES
from evenhand.population.logs.options import DATA, PLACES, WHERE
from evenhand.runtime.language import ENGLISH, LANGUAGES
from evenhand.runtime.options import (
    FEATURES,
    FILE,
    FLAG,
    LABEL,
    NUMBER,
    TEXT,
    TEXTS,
    WHOLE,
    Option,
    Options,
)
from evenhand.runtime.registry import Deferred
from evenhand.runtime.workers.options import N_JOBS, WORKERS
from evenhand.subject.ledger import LEDGER
from evenhand.verbs import VERBS, Command, Verb

if TYPE_CHECKING:
    from evenhand.formats import Format

PURPOSES = (
    "Start",
    "Test software",
    "Test recorded decisions",
    "Improve a model",
    "Look closer",
)
"""The headings of `evenhand --help`, in this order: what a person wants to do."""
CONFIG = Option(
    "config",
    FILE,
    "the configuration (default: evenhand.toml, then [tool.evenhand] in pyproject.toml)",
    positional=True,
)
SEED = Option("seed", WHOLE, "the seed of all that is drawn (default: 0)", default=0)
RUN = (SEED, *WORKERS, YES)
LANGUAGE = Option(
    "language",
    TEXT,
    f"the language of the report: {', '.join(LANGUAGES)} (default: {ENGLISH})",
    default=ENGLISH,
    choices=LANGUAGES,
    metavar="CODE",
)
JSON = Option("json", TEXT, "write the result here", metavar="FILE")
TRUST = Option(
    "trust",
    FLAG,
    "run the configuration that the result names, where it is not that of this folder",
    default=False,
)
RUNS = Option(
    "json",
    TEXT,
    "write the result here; FILE-2 and so on where there are several",
    metavar="FILE",
)
RECORDS = Options.of(
    DATA,
    *WHERE,
    Option("outcome", TEXT, "the column of decisions", required=True),
    Option("positive", LABEL, "the favourable outcome (default: 1 or true)"),
    Option(
        "over",
        FEATURES,
        "columns that form groups; repeat for more sets",
        repeat=True,
        required=True,
    ),
)
FULL = Option(
    "full",
    FLAG,
    "print what each check says in words, instead of a table of verdicts",
    default=False,
)
SPENT_EACH = Options.of(
    Option("queries", WHOLE, "the most inputs to ask in each check"),
    Option("seconds", NUMBER, "the most seconds that each check may take"),
)


def _of_log() -> list[Option]:
    """Return what an audit is told of a file of recorded decisions."""
    options = []
    for option in LOG:
        if option.command:
            help_text = f"of recorded decisions: {option.help}"
            options.append(replace(option, help=help_text, required=False))
    return options


RUNNERS = {
    "audit": Deferred("evenhand.cli.audit:run_audit"),
    "plan": Deferred("evenhand.cli.plan:run"),
    "replay": Deferred("evenhand.cli.replay:run"),
    "compare": Deferred("evenhand.cli.compare:run"),
    "repair": Deferred("evenhand.cli.repair:run"),
    "study": Deferred("evenhand.cli.study:run"),
}
"""The functions of commands that work neither on checks of a configuration nor on records."""
MORE = {
    "audit": Options.of(
        replace(
            CONFIG,
            help=f"{CONFIG.help}, or recorded decisions: {PLACES}",
            metavar="CONFIG_OR_DECISIONS",
        ),
        *_of_log(),
        Option(
            "baseline",
            TEXT,
            "an older --json file: only what clearly got worse fails",
            metavar="FILE",
        ),
        *GATE,
        *SPENT_EACH,
        *WRITTEN,
        LANGUAGE,
        *RUN,
        Option("quiet", FLAG, "print what does not pass, and nothing else", default=False),
        FULL,
    ),
    "plan": Options.of(CONFIG, *SPENT_EACH, SEED, N_JOBS, JSON),
    "replay": Options.of(
        Option(
            "file",
            FILE,
            "a suite (.csv, .parquet) or a result (.json)",
            metavar="FILE",
            positional=True,
            required=True,
        ),
        CONFIG,
        TRUST,
        JSON,
    ),
    "compare": Options.of(
        Option(
            "source",
            FILE,
            "a file with a column for each set of predictions (.csv, .parquet), or a configuration"
            " with compare checks",
            metavar="DATA_OR_CONFIG",
            positional=True,
        ),
        SEED,
        Option(
            "gate",
            FLAG,
            "exit with 1 where a mitigation is no better, and with 3 where that is open",
            default=False,
        ),
        RUNS,
    ),
    "repair": Options.of(
        CONFIG,
        Option(
            "output",
            TEXT,
            "write the repaired model here, as .skops or .joblib",
            metavar="MODEL",
            short="-o",
        ),
        SEED,
        *WORKERS,
        Option("html", TEXT, "write a report here", metavar="FILE"),
        Option("json", TEXT, "write the evidence here", metavar="FILE"),
    ),
}
"""What these commands take besides the options of their verbs."""

OWN = (
    Command(
        "init",
        help="write a configuration file from a data file, and from a model",
        example="evenhand init loans.csv model.skops --target approved --protected sex,race",
        purpose="Start",
        options=Options.of(
            Option(
                "data",
                FILE,
                "a CSV or Parquet file of inputs; with --openapi, a path such as /v1/score",
                positional=True,
                required=True,
            ),
            Option(
                "model",
                TEXT,
                "a model file, a program, an http address, or package.module:function; with"
                " --openapi, a file of inputs",
                positional=True,
            ),
            Option(
                "openapi",
                TEXT,
                "the description of a service in OpenAPI, which says what it takes and answers",
                metavar="URL_OR_FILE",
            ),
            Option(
                "server",
                TEXT,
                "with --openapi, the address of the service, where the description has none",
                metavar="URL",
            ),
            Option(
                "values",
                TEXT,
                "with --openapi, the range or the values of a field that the description leaves"
                " open: age=18:90 or 'town=Rome|Oslo'; repeat for more",
                metavar="NAME=…",
                repeat=True,
            ),
            Option("target", TEXT, "the column to leave out", metavar="COLUMN"),
            Option(
                "positive",
                LABEL,
                "the favourable outcome, in the words of the software or of the target; several"
                " with commas (default: a guess)",
                metavar="LABEL",
            ),
            Option(
                "protected",
                TEXTS,
                "protected features, separated by commas",
                metavar="NAMES",
            ),
            Option(
                "output",
                TEXT,
                "the file to write (default: evenhand.toml)",
                short="-o",
                default="evenhand.toml",
                metavar="FILE",
            ),
            Option(
                "text",
                TEXT,
                "the column of texts, where the software takes nothing else",
                metavar="COLUMN",
            ),
            Option(
                "outcome",
                TEXT,
                "the column of recorded decisions, which are audited instead of a model",
                metavar="COLUMN",
            ),
            Option(
                "truth",
                TEXT,
                "with --outcome, the column of what decisions should have been",
                metavar="COLUMN",
            ),
            Option("force", FLAG, "overwrite an existing file", default=False),
            Option(
                "header",
                TEXT,
                "a header that a service wants, as in 'Authorization: Bearer ${TOKEN}', where"
                " ${TOKEN} is an environment variable; repeat for more",
                metavar="HEADER",
                repeat=True,
            ),
            Option(
                "allow_pickle",
                FLAG,
                "load a pickle or joblib file, which runs any code that its author put into it",
                default=False,
            ),
            Option(
                "trust",
                TEXTS,
                "a type that a skops file may hold beyond those that are known to be harmless;"
                " repeat for more",
                metavar="TYPE",
                repeat=True,
            ),
            Option(
                "yes",
                FLAG,
                "ask nothing on a terminal: decide, and say so",
                default=False,
            ),
        ),
        run=Deferred("evenhand.cli.init:run"),
    ),
    Command(
        "demo",
        help="audit a small loan program with a planted bias, offline",
        example="evenhand demo -o report.html",
        purpose="Start",
        options=Options.of(
            Option(
                "output",
                TEXT,
                "write the report here, one .html file",
                metavar="FILE",
                short="-o",
            ),
            LANGUAGE,
            JSON,
            Option("pdf", TEXT, "print the report here, one .pdf file", metavar="FILE"),
            SEED,
            FULL,
        ),
        run=Deferred("evenhand.cli.audit:run_demo"),
    ),
    Command(
        "data",
        help="list or fetch the data sets of the field",
        example="evenhand data fetch adult",
        purpose="Start",
        options=Options.of(
            Option(
                "action",
                TEXT,
                "list what there is, or fetch a data set",
                choices=("list", "fetch"),
                metavar="ACTION",
                positional=True,
                required=True,
            ),
            Option(
                "name",
                TEXT,
                "the data set to fetch, through your own package index",
                metavar="NAME",
                positional=True,
            ),
        ),
        run=Deferred("evenhand.cli.data:run"),
    ),
    Command(
        "report",
        help="one page of results that were written with --json",
        example="evenhand report measure.json mine.json -o report.html",
        purpose="Look closer",
        options=Options.of(
            Option(
                "files",
                FILE,
                "results that were written with --json",
                metavar="RESULT.json",
                positional=True,
                repeat=True,
                required=True,
            ),
            Option(
                "output",
                TEXT,
                "the page to write (default: report.html, where nothing else is asked for)",
                metavar="FILE",
                short="-o",
            ),
            Option(
                "diff",
                FLAG,
                "print what changed from one result to a newer one; a page only with -o",
                default=False,
            ),
            LANGUAGE,
        ),
        run=Deferred("evenhand.cli.audit:run_report"),
    ),
    Command(
        "explore",
        help="a local page: edit a person, see how the software treats their twins",
        example="evenhand explore result.json",
        purpose="Look closer",
        options=Options.of(
            Option(
                "file",
                FILE,
                "cases to walk through, or a configuration",
                metavar="RESULT_OR_CONFIG",
                positional=True,
            ),
            CONFIG,
            TRUST,
            Option("case", TEXT, "begin with this case of the result", metavar="ID"),
            Option(
                "port",
                WHOLE,
                "the port (default: 8750, or one that is free; 0: any that is free)",
            ),
            Option(
                "save",
                TEXT,
                "where pairs that you save are kept (default: explored.json)",
                metavar="FILE",
                default="explored.json",
            ),
            Option(
                "no_browser", FLAG, "print the address, and do not open it", default=False
            ),
        ),
        run=Deferred("evenhand.explore.session:explore"),
    ),
    LEDGER,
    VERIFY,
)
"""The commands that are no verbs."""


def commands() -> list[tuple[Command, Verb | None]]:
    """Return all commands, those of registered verbs with the verb that they belong to."""
    every: list[tuple[Command, Verb | None]] = [(command, None) for command in OWN]
    every.extend(
        (verb.command, verb) for verb in VERBS.values() if verb.command is not None
    )
    return every


def options_for(command: Command, verb: Verb | None) -> list[Option]:
    """Return everything that a command takes, in the order of its help, each name once."""
    if verb is None:
        own = []
    else:
        own = [option for option in verb.options if option.command]
    if command.source == "config" and verb is not None:
        options = _options_on_checks(command, verb, own)
    elif command.source == "records":
        options = [*RECORDS, *own, *command.options, JSON]
    else:
        more = MORE.get(command.name, Options())
        options = [*more, *own, *command.options, *_formats(command.name)]
    first_of: dict[str, Option] = {}
    for option in options:
        first_of.setdefault(option.name, option)
    return list(first_of.values())


def _options_on_checks(command: Command, verb: Verb, own: list[Option]) -> list[Option]:
    """Return the options of a command that runs the checks of a configuration."""
    for_texts: list[Option] = []
    if verb.for_texts:
        # Whether the software takes texts is known only once the configuration is read.
        text_options = VERBS[verb.for_texts].options
        others = [option for option in text_options if option.name not in verb.options]
        for_texts = [option for option in others if option.command]
    bounds = [option for option in verb.checks if option.name in verb.bounds]
    files = [file.option for file in command.files]
    return [CONFIG, *own, *for_texts, *command.options, *bounds, *RUN, *files, RUNS]


def _formats(name: str) -> list[Option]:
    """Return an option for each format of an audit, and for each that cannot be loaded.

    The command `report` has the same, but JSON, which it reads.
    """
    if name not in ("audit", "report"):
        return []
    options = []
    for form in formats():
        short = "-o" if form.key == "output" else ""
        if name == "report" and form.key == "json":
            continue
        metavar = "FOLDER" if form.folder else "FILE"
        options.append(Option(form.key, TEXT, form.help, metavar=metavar, short=short))
    for key, reason in broken_formats().items():
        options.append(Option(key, TEXT, reason, metavar="FILE"))
    return options


def formats() -> list[Format]:
    """Return the formats that an audit can be written in, without those whose option is taken."""
    from evenhand.formats import FORMATS

    taken = MORE["audit"]
    return [form for form in FORMATS.values() if form.flag and form.key not in taken]


def broken_formats() -> dict[str, str]:
    """Return why formats of other packages cannot be loaded, by the option that each would have."""
    from evenhand.formats import FORMATS

    reasons = {}
    for name, reason in FORMATS.broken.items():
        key = name.replace("-", "_")
        if key not in MORE["audit"]:
            reasons[key] = reason
    return reasons
