"""audit: every check of a piece of software, under one verdict."""

from __future__ import annotations

from evenhand.runtime.options import ANY, Option, Options
from evenhand.runtime.registry import Deferred
from evenhand.verbs import Command, Verb

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
            "baseline",
            ANY,
            "an older audit: only what clearly got worse fails",
            toml=False,
            command=False,
        ),
        given=("subject", "space", "sampler", "budget", "seed", "n_jobs", "progress"),
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
