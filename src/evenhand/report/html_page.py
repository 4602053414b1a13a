"""Pieces of a page: text that stays text, tables, people side by side, drawings, and blocks of
data.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Mapping
from html import escape
from importlib import resources
from io import StringIO
from typing import TYPE_CHECKING, Any

from evenhand.report.finding_text import NO_DATA
from evenhand.report.lines import printable
from evenhand.runtime.errors import MissingExtra

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from evenhand.results.evidence import Case

_SHORT = 400
"""How long a value may be before it gets a box of its own to scroll in."""
_UNSAFE = re.compile("[<\u2028\u2029\ud800-\udfff]")
"""What could end a block of data, ends a line of a script, or is half a character, which no file
can hold.
"""


def text(value: object) -> str:
    """Return text with nothing in it that HTML, or a reader's eyes, would take for something else.

    >>> text("<script>\\u202e")
    '&lt;script&gt;\\\\u202e'
    """
    return escape(printable(str(value)))


def boxed(value: object) -> str:
    """Return a value of the data as text that keeps its direction, in a box of its own where it is
    long.
    """
    said = text(value)
    return (
        f'<bdi class="short" tabindex="0">{said}</bdi>'
        if len(said) > _SHORT
        else f"<bdi>{said}</bdi>"
    )


def asset(name: str) -> str:
    """Return a style or a script that comes with the package."""
    return (
        resources.files("evenhand.report")
        .joinpath("pages", name)
        .read_text(encoding="utf-8")
        .strip()
    )


STYLE = asset("report.css")
"""The looks of every page, in light, in dark and on paper."""


def data_block(name: str, table: Mapping[str, Any]) -> str:
    """Return data for a script of the page; nothing in it can end the block or begin another.

    >>> data_block("n", {"a": "</script>"})
    '<script type="application/json" id="n">{"a":"\\\\u003c/script>"}</script>'
    """
    said = json.dumps(table, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    safe = _UNSAFE.sub(lambda letter: f"\\u{ord(letter[0]):04x}", said)
    return f'<script type="application/json" id="{name}">{safe}</script>'


def listed(texts: Iterable[object]) -> str:
    """Return a list of texts."""
    return "<ul>\n" + "\n".join(f"<li>{text(one)}</li>" for one in texts) + "\n</ul>"


def facts(pairs: Mapping[str, object] | Iterable[tuple[str, object]]) -> str:
    """Return names with their values."""
    told = pairs.items() if isinstance(pairs, Mapping) else pairs
    inside = "\n".join(f"<dt>{text(key)}</dt><dd>{text(value)}</dd>" for key, value in told)
    return f'<dl class="facts">\n{inside}\n</dl>'


def quoted(lines: Iterable[str], says: str) -> str:
    """Return lines of code or configuration as they are, in a box that keys alone can scroll."""
    inside = "\n".join(text(line) for line in lines)
    return f'<pre role="region" tabindex="0" aria-label="{text(says)}"><code>{inside}</code></pre>'


def table(
    name: str, caption: str, headings: Sequence[str], groups: Sequence[tuple[str, list[list[str]]]]
) -> str:
    """Return a table whose rows of cells, which are HTML, stand in groups; a group may have a
    heading.
    """
    every = [row for _, rows in groups for row in rows]
    shapes = [
        ' class="number"' if _numbers(row[place] for row in every) else ""
        for place in range(len(headings))
    ]
    heads = [
        f'<th scope="col"{shape}>{text(one)}</th>'
        for one, shape in zip(headings, shapes, strict=True)
    ]
    lines = [
        f'<caption id="{name}">{text(caption)}</caption>',
        "<thead>",
        f"<tr>{''.join(heads)}</tr>",
        "</thead>",
    ]
    for heading, rows in groups:
        lines.append("<tbody>")
        if heading:
            lines.append(
                f'<tr><th scope="rowgroup" colspan="{len(headings)}">{text(heading)}</th></tr>'
            )
        for first, *others in rows:
            cells = "".join(
                f"<td{shape}>{cell}</td>" for cell, shape in zip(others, shapes[1:], strict=True)
            )
            lines.append(f'<tr><th scope="row">{first}</th>{cells}</tr>')
        lines.append("</tbody>")
    inside = "\n".join(lines)
    return scrolled(name, f"<table>\n{inside}\n</table>")


def _numbers(cells: Iterable[str]) -> bool:
    """Tell whether all cells of a column begin with a number, those aside that are empty or a dash."""
    known = [cell for cell in cells if cell not in ("", "–", NO_DATA)]
    return bool(known) and all(re.match(r"[-+\N{MINUS SIGN}]?\d", cell) for cell in known)


def scrolled(name: str, inside: str) -> str:
    """Return what may be wider than the page, so that keys alone can scroll it; `name` is the id of
    its caption.
    """
    return (
        f'<div class="wide" role="region" tabindex="0" aria-labelledby="{name}">\n{inside}\n</div>'
    )


def people(case: Case, caption: str) -> str:
    """Return a case as two people side by side, what differs marked by a word as well as a colour."""
    rows: list[tuple[Any, ...]] = [
        (name, value, case.twin.get(name, ""), name in case.changed)
        for name, value in case.individual.items()
    ]
    rows.append(("outcome", *case.outcomes, case.outcomes[0] != case.outcomes[1]))
    lines = []
    for name, one, other, differs in rows:
        told = f'<tr class="{"differs" if differs else "same"}"><th scope="row">{boxed(name)}</th>'
        word = "differs" if differs else ""
        lines.append(f"{told}<td>{_marked(one)}</td><td>{_marked(other)}</td><td>{word}</td></tr>")
    head = "".join(
        f'<th scope="col">{one}</th>' for one in ("feature", "individual", "twin", "what differs")
    )
    inside = "\n".join(
        [
            f"<caption>{text(caption)}</caption>",
            f"<thead><tr>{head}</tr></thead>",
            "<tbody>",
            *lines,
        ]
    )
    opened = f'<div class="people wide" role="region" tabindex="0" aria-label="{text(caption)}">'
    return f"{opened}<table>\n{inside}\n</tbody></table></div>"


def _marked(value: object) -> str:
    """Return a value with what a verb has put between marks, the term at issue in a text, in a
    colour as well.
    """
    return re.sub("⟦(.*?)⟧", r"<mark>⟦\1⟧</mark>", boxed(value))


def drawn(display: Any, name: str, says: str) -> str:
    """Return the drawing of a display as a figure of the page, the same bytes for the same display."""
    try:
        from matplotlib import pyplot, rc_context, style
    except ImportError:
        return f"<p>{text(MissingExtra('the figure', 'plot'))}</p>"
    # The looks of the user's own figures must not change the bytes, nor letters that the font lacks
    # warn of it.
    with (
        warnings.catch_warnings(),
        pyplot.ioff(),
        style.context("default"),
        rc_context({"svg.hashsalt": "evenhand"}),
    ):
        warnings.filterwarnings("ignore", message="Glyph")
        display.plot()
        sheet = StringIO()
        display.figure_.savefig(
            sheet, format="svg", metadata=dict.fromkeys(("Date", "Creator", "Format", "Type"))
        )
        pyplot.close(display.figure_)
    said = text(says)
    inside = inline(sheet.getvalue(), name, said)
    return (
        "<figure"
        f' class="drawn">\n{scrolled(f"{name}-title", inside)}\n<figcaption>{said}</figcaption>\n</figure>'
    )


def inline(svg: str, name: str, says: str) -> str:
    """Return a drawing of matplotlib as part of a page: ids that no other drawing has, and a text
    for who sees none.
    """
    # Comments repeat the texts that glyphs are drawn for, and the style would be that of the whole
    # page.
    inside = re.sub(
        r"<!--.*?-->|<defs>\s*<style.*?</style>\s*</defs>",
        "",
        svg.partition("<svg ")[2],
        flags=re.DOTALL,
    )
    root, _, shapes = inside.partition(">")
    shapes = " ".join(re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{name}-", shapes).split())
    size = " ".join(re.findall(r'\b(?:width|viewBox)="[^"]*"', root))
    look = "stroke-linejoin: round; stroke-linecap: butt"
    head = f'<svg role="img" aria-labelledby="{name}-title" {size} style="{look}">'
    return f'{head}\n<title id="{name}-title">{says}</title>\n{shapes}'
