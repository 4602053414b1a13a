"""The ledger: every executed test and its outcome, in a file or database that notices damage.

It survives a kill, answers a second run, and shares work among processes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.runtime.options import FILE_OR_ADDRESS, FLAG, TEXT, Option, Options
from evenhand.runtime.registry import Deferred
from evenhand.verbs import Command

if TYPE_CHECKING:
    from evenhand.subject.ledger.ledger import Ledger as Ledger

LEDGER = Command(
    "ledger",
    help="check, repair, compact or copy what keeps executed tests",
    example="evenhand ledger check loan.ledger",
    purpose="Look closer",
    options=Options.of(
        Option(
            "action",
            TEXT,
            "check that every answer is as it was written, repair a damaged file, compact one, or"
            " copy all answers",
            choices=("check", "repair", "compact", "copy"),
            metavar="ACTION",
            positional=True,
            required=True,
        ),
        Option(
            "file",
            FILE_OR_ADDRESS,
            "the file or address that `ledger` names under [subject]",
            metavar="LEDGER",
            positional=True,
            required=True,
        ),
        Option(
            "to",
            FILE_OR_ADDRESS,
            "with copy, the file or address that takes the answers; what it has already stays",
            metavar="TO",
            positional=True,
        ),
        Option(
            "output",
            TEXT,
            "with repair, write the sound ledger here (default: in place, and the damaged file"
            " is kept as FILE.damaged-1)",
            metavar="FILE",
            short="-o",
        ),
        Option(
            "adopt",
            FLAG,
            "with repair, trust the rows of an older ledger, which has no checksums",
            default=False,
        ),
    ),
    run=Deferred("evenhand.subject.ledger.command:run"),
)
"""The command that looks after a ledger."""


def __getattr__(name: str) -> object:
    # Few runs keep a ledger, and those without one need no SQLite.
    if name == "Ledger":
        from evenhand.subject.ledger.ledger import Ledger

        return Ledger
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
