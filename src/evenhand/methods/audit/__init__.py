"""audit: every check of a piece of software, under one verdict."""

from __future__ import annotations

from dataclasses import replace

from evenhand.population.logs.options import PLACES, WHERE
from evenhand.runtime.options import (
    ANY,
    FEATURES,
    FILE,
    FLAG,
    LABEL,
    NUMBER,
    TEXT,
    WHOLE,
    Option,
    Options,
)
from evenhand.runtime.registry import Deferred
from evenhand.runtime.workers.options import CLUSTER
from evenhand.verbs import BINS, LABELS, TRUTH, Command, Verb

GATE = Options.of(
    Option(
        "tolerance",
        NUMBER,
        "how much worse a rate may be than in the baseline (default: a fifth of its limit)",
    ),
    Option(
        "keep_answers",
        FLAG,
        (
            "keep the answers to numbered inputs for the next audit (default: of cheap software, or"
            " with a baseline)"
        ),
    ),
)
"""What is said of a baseline besides its file."""
LOG = Options.of(
    Option(
        "from",
        FILE,
        f"recorded decisions: {PLACES}",
        required=True,
        python=False,
        command=False,
    ),
    *WHERE,
    Option("outcome", TEXT, "the column of decisions", metavar="COLUMN", required=True),
    Option("positive", LABEL, "the favourable outcome (default: 1 or true)"),
    Option(
        "over",
        FEATURES,
        "the protected columns, separated by commas",
        repeat=True,
        required=True,
    ),
    *TRUTH.only("truth", "truth_positive"),
    BINS,
    LABELS,
    given=("frame", "checks", "level", "baseline", "tolerance", "seed", "progress"),
)
"""What is said of recorded decisions: the keys of a [log] table, the keywords of `audit_log`."""

AUDIT = Verb(
    "audit",
    question="Does the software treat people differently, by any of the checks?",
    definition="An audit runs every check, one after another, and brings them under one verdict.",
    function=Deferred("evenhand.methods.audit.audit:audit"),
    options=Options.of(
        Option(
            "checks", ANY, "what to run, as [[checks]] say it", toml=False, command=False
        ),
        Option("data", ANY, "real rows, any dataframe", toml=False, command=False),
        Option(
            "level",
            NUMBER,
            "the confidence level of everything that the audit says together (default: 0.95)",
        ),
        Option(
            "n_jobs",
            WHOLE,
            "how many processes share the work; -1 takes every core (default: 1)",
            command=False,
        ),
        replace(CLUSTER, python=False, command=False),
        Option(
            "baseline",
            ANY,
            "an older audit: only what clearly got worse fails",
            toml=False,
            command=False,
        ),
        *[replace(option, toml=False, command=False) for option in GATE],
        Option("bundle", ANY, "the file of an evidence bundle", toml=False, command=False),
        given=("subject", "space", "sampler", "budget", "seed", "progress"),
    ),
    text=Deferred("evenhand.methods.audit.text:lines"),
    plot=Deferred("evenhand.methods.audit.plot:display_of"),
    frame=Deferred("evenhand.methods.audit.statements:frame"),
    document=Deferred("evenhand.methods.audit.audit_result:document"),
    command=Command(
        "audit",
        help="every check of a configuration, into one report and one exit code",
        example="evenhand audit -o report.html",
        purpose="Test software",
    ),
    bounds=(),
)
