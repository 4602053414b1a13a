"""Markdown of values that others wrote: whatever they hold, it stays text, on GitHub and elsewhere."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from evenhand.report.lines import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

JOINER = "\N{WORD JOINER}"
"""Stands, unseen, where letters would make a link or call a person: some renderers look for these
after all escapes.
"""
_SIGNS = str.maketrans(
    {sign: f"\\{sign}" for sign in "\\*_[]~"}
    # A table ends its cells before it looks for escapes, and ticks are looked for before that.
    | {"&": "&amp;", "<": "&lt;", ">": "&gt;", "|": "&#124;", "$": "&#36;", "`": "&#96;"}
)
_LINKS = re.compile(
    r"(?<=[@#!$~%&])(?=\w)|(?<=:)(?=//)|(?<=www)(?=\.)|(?<=GH)(?=-\d)|(?<=:)(?=[\w+-]+:)",
    re.IGNORECASE,
)
"""Where names, numbers, addresses and emoji begin that GitHub or GitLab make links or pictures of
by themselves.
"""
_START = re.compile(r"^(?=[-+=#:])|^(\d{1,9})(?=[.)](?:\s|$))")


def text(value: Any) -> str:
    r"""Return a value as one line of Markdown that shows it letter by letter.

    >>> text("a_b *c* <img src=x> | [d](e)")
    'a\\_b \\*c\\* &lt;img src=x&gt; &#124; \\[d\\](e)'
    >>> text("two\nlines"), text("1. first"), text(-0.5)
    ('two\\\\nlines', '1\\. first', '-0.5')
    """
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    return _START.sub(r"\1\\", inline(value))


def inline(value: Any) -> str:
    """Return a value as Markdown that shows it wherever it stands, but at the start of a line."""
    return _LINKS.sub(JOINER, printable(str(value))).translate(_SIGNS)


def code(value: Any) -> str:
    """Return a value as Markdown code within a line.

    >>> print(code("evenhand audit"), code("a`b"))
    `evenhand audit` ``a`b``
    """
    shown = printable(str(value))
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", shown)), default=0))
    # A space at each end is taken off again, and keeps ticks of the value's own from joining the
    # fence.
    padded = f" {shown} " if shown.startswith(("`", " ")) or shown.endswith(("`", " ")) else shown
    return f"{fence}{padded}{fence}" if shown.strip() else text(shown)


def block(value: Any, language: str = "") -> str:
    """Return lines of text as a block of Markdown code, which nothing within can end.

    >>> print(block("evenhand audit", "sh"))
    ```sh
    evenhand audit
    ```
    """
    shown = [printable(line) for line in str(value).splitlines()]
    fence = "`" * max(
        3, 1 + max((len(run) for line in shown for run in re.findall("`+", line)), default=0)
    )
    return "\n".join([f"{fence}{language}", *shown, fence])


def table(headings: Sequence[Any], rows: Iterable[Sequence[Any]], right: Iterable[int] = ()) -> str:
    """Return a table of values as Markdown; the columns at the places `right` stand at the right.

    >>> print(table(["group", "rate"], [["a|b", "12.5 %"]], right=[1]))
    | group | rate |
    |---|---:|
    | a&#124;b | 12.5 % |
    """
    aligned = set(right)
    marks = "|".join("---:" if place in aligned else "---" for place in range(len(headings)))
    lines = [_row(headings), f"|{marks}|", *(_row(row) for row in rows)]
    return "\n".join(lines)


def _row(cells: Sequence[Any]) -> str:
    return f"| {' | '.join(inline(cell) for cell in cells)} |"
