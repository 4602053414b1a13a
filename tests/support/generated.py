"""Parts of the documentation that programs write, between two marks."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown.

    >>> print(table(["a", "b"], [["1", "2"]]))
    | a | b |
    |---|---|
    | 1 | 2 |
    """
    rule = "|" + "---|" * len(heads)
    lines = [f"| {' | '.join(cells)} |" for cells in [heads, *rows]]
    return "\n".join([lines[0], rule, *lines[1:]])


def written_between(page: Path, mark: str, text: str) -> None:
    """Write a text between the marks `<!-- NAME -->` and `<!-- end of NAME -->` of a page."""
    begin = f"<!-- {mark} -->"
    end = f"<!-- end of {mark} -->"
    before, found, rest = page.read_text(encoding="utf-8").partition(begin)
    _, closed, after = rest.partition(end)
    if not found or not closed:
        raise ValueError(f"{page} has no marks {begin} and {end}")
    page.write_text(f"{before}{begin}\n{text}\n{end}{after}", encoding="utf-8")


def dated(command: str) -> str:
    """Return the line above what a command wrote: the day in UTC, and the command."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    now = datetime.now(UTC) if epoch is None else datetime.fromtimestamp(int(epoch), UTC)
    return f"Written on {now.date().isoformat()} by `{command}`."
