"""The help of the whole program, which answers at once: no parser is built for it."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from evenhand.cli import PURPOSES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenhand.verbs import Command

DESCRIPTION = "Fairness testing for decision software."
CODES = (
    "Exit codes: 0 pass, 1 discrimination found, 2 bad usage, 3 undecided, 4 the software failed."
)


def overview(known: list[Command], broken: Sequence[str] = ()) -> str:
    """Return the help of the whole program: its commands by what a person wants to do, with an
    example each.

    `broken` are sentences about commands of other packages that cannot be loaded.
    """
    lines = ["usage: evenhand [-h] [--version] COMMAND ...", "", DESCRIPTION, ""]
    purposes = [
        *PURPOSES,
        *dict.fromkeys(command.purpose for command in known if command.purpose not in PURPOSES),
    ]
    for purpose in purposes:
        mine = [command for command in known if command.purpose == purpose]
        if not mine:
            continue
        lines.append(f"{purpose}:")
        for command in mine:
            lines.append(f"  {command.name:<12} {command.help}")
            lines.append(f"  {'':<12}   {command.example}")
        lines.append("")
    if broken:
        wrapped = [
            line for why in broken for line in textwrap.wrap(why, 98, subsequent_indent="  ")
        ]
        lines += ["Not available:", *(f"  {line}" for line in wrapped), ""]
    lines += [
        "options:",
        "  -h, --help   show this help message and exit",
        "  --version    print the version and exit",
    ]
    lines += [
        "",
        "See `evenhand COMMAND --help` for the options of a command.",
        *textwrap.wrap(CODES, 100),
    ]
    return "\n".join(lines) + "\n"
