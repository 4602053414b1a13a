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
    "Exit codes: 0 pass, 1 discrimination found, 2 bad usage, 3 undecided, 4 the software"
    " failed."
)


def overview(known: list[Command], broken: Sequence[str] = ()) -> str:
    """Return the help of the whole program: its commands by purpose, each with an example.

    `broken` are sentences about commands of other packages that cannot be loaded.
    """
    lines = ["usage: evenhand [-h] [--version] COMMAND ...", "", DESCRIPTION, ""]
    # Commands of other packages may have purposes of their own, which come last.
    purposes = dict.fromkeys([*PURPOSES, *(command.purpose for command in known)])
    for purpose in purposes:
        of_purpose = [command for command in known if command.purpose == purpose]
        if not of_purpose:
            continue
        lines.append(f"{purpose}:")
        for command in of_purpose:
            lines.append(f"  {command.name:<12} {command.help}")
            lines.append(f"  {'':<12}   {command.example}")
        lines.append("")
    if broken:
        lines.append("Not available:")
        for reason in broken:
            wrapped = textwrap.wrap(reason, 98, subsequent_indent="  ")
            lines.extend(f"  {line}" for line in wrapped)
        lines.append("")
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
