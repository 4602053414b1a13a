"""Tables in the docs that a command writes: between two comments, with the date and the command."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

BEGIN = "<!-- begin {name}: written by a command -->"
END = "<!-- end {name} -->"


def write_section(page: Path, name: str, text: str, command: str) -> None:
    """Put a text between the comments of a name in a page, under the date and the command.

    Parameters
    ----------
    page
        A Markdown file that has both comments.
    name
        The name in the comments.
    text
        What to write, in Markdown.
    command
        The command that made it.
    """
    begin = BEGIN.format(name=name)
    end = END.format(name=name)
    old = page.read_text("utf-8")
    if begin not in old or end not in old:
        raise ValueError(f"{page}: has no section {begin!r} … {end!r}")
    before, _, rest = old.partition(begin)
    _, _, after = rest.partition(end)
    heading = f"Written on {today()} by `{command}`."
    page.write_text(f"{before}{begin}\n{heading}\n\n{text}\n{end}{after}", encoding="utf-8")


def today() -> str:
    """Return the day in UTC, of SOURCE_DATE_EPOCH where it is set."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    now = datetime.now(UTC) if epoch is None else datetime.fromtimestamp(int(epoch), UTC)
    return now.date().isoformat()
