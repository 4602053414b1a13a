"""Markdown of values that others wrote: whatever they hold stays text, on GitHub and elsewhere."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeAlias

from evenhand.report.lines import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    Cells: TypeAlias = Sequence[Any]

JOINER = "\N{WORD JOINER}"
"""Stands, unseen, where letters would make a link or call a person: some renderers look for these
after all escapes.
"""
_ESCAPED = {
    "\\": "\\\\",
    "*": "\\*",
    "_": "\\_",
    "[": "\\[",
    "]": "\\]",
    "~": "\\~",
    # A table ends its cells before it looks for escapes, and ticks are looked for before that.
    "&": "&amp;",
    "<": "&lt;",
    ">": "&gt;",
    "|": "&#124;",
    "$": "&#36;",
    "`": "&#96;",
}
_SIGNS = str.maketrans(_ESCAPED)
_TICKS = re.compile("`+")
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
    shown = printable(str(value))
    without_links = _LINKS.sub(JOINER, shown)
    return without_links.translate(_SIGNS)


def code(value: Any) -> str:
    """Return a value as Markdown code within a line.

    >>> print(code("evenhand audit"), code("a`b"))
    `evenhand audit` ``a`b``
    """
    shown = printable(str(value))
    if not shown.strip():
        return text(shown)
    fence = "`" * (1 + _longest_ticks(shown))
    # A space at each end is taken off again, and keeps ticks of the value's own from joining the
    # fence.
    if shown[0] in "` " or shown[-1] in "` ":
        shown = f" {shown} "
    return f"{fence}{shown}{fence}"


def block(value: Any, language: str = "") -> str:
    """Return lines of text as a block of Markdown code, which nothing within can end.

    >>> print(block("evenhand audit", "sh"))
    ```sh
    evenhand audit
    ```
    """
    lines = [printable(line) for line in str(value).splitlines()]
    longest = _longest_ticks("\n".join(lines))
    fence = "`" * max(3, 1 + longest)
    return "\n".join([f"{fence}{language}", *lines, fence])


def _longest_ticks(shown: str) -> int:
    """Return the length of the longest run of ticks, which a fence must exceed."""
    runs = _TICKS.findall(shown)
    return max(map(len, runs), default=0)


def table(headings: Cells, rows: Iterable[Cells], right: Iterable[int] = ()) -> str:
    """Return a table of values as Markdown; the columns at the places `right` stand at the right.

    >>> print(table(["group", "rate"], [["a|b", "12.5 %"]], right=[1]))
    | group | rate |
    |---|---:|
    | a&#124;b | 12.5 % |
    """
    right_aligned = set(right)
    marks = []
    for place in range(len(headings)):
        marks.append("---:" if place in right_aligned else "---")
    lines = [_row(headings), f"|{'|'.join(marks)}|"]
    for row in rows:
        lines.append(_row(row))
    return "\n".join(lines)


def _row(cells: Cells) -> str:
    shown = " | ".join(inline(cell) for cell in cells)
    return f"| {shown} |"
