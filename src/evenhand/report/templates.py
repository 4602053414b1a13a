"""Templates: pages are made with Jinja2, and every value is escaped on its way into a page.

Templates are files `*.html.jinja` in a folder `pages` beside the code that fills them. They name
each other by their path in the package, as in `{% from "report/pages/pieces.html.jinja" import
badge %}`. Python prepares the values; the templates hold the markup.
"""

from __future__ import annotations

import re
from functools import cache
from html import escape
from importlib import resources
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from evenhand.report.lines import printable
from evenhand.report.statement import NO_LIMIT

if TYPE_CHECKING:
    from jinja2 import Environment

_MARKED_TERM = re.compile("⟦(.*?)⟧")


def render(template: str, **values: Any) -> Markup:
    """Return a template filled with values."""
    return trusted(environment().get_template(template).render(values))


def piece(template: str, macro: str, *values: Any, **named: Any) -> Markup:
    """Return what a macro of a template makes of some values."""
    made: Markup = getattr(_macros(template), macro)(*values, **named)
    return made


@cache
def environment() -> Environment:
    """Return the environment of all templates; Jinja2 is loaded when it is first used."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader("evenhand", ""),
        autoescape=True,
        # Escaped text is not enough: a character that turns the direction of the line would
        # still change what a reader sees. `text` replaces those too, in every `{{ value }}`.
        finalize=text,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        auto_reload=False,
    )
    made.globals["NO_LIMIT"] = NO_LIMIT
    made.filters["text"] = text
    made.filters["split_at_marks"] = _split_at_marks
    return made


@cache
def _macros(template: str) -> Any:
    return environment().get_template(template).module


def text(value: object) -> Markup:
    """Return text with nothing in it that HTML, or a reader's eyes, would take for something else.

    What is markup already stays as it is.

    >>> text("<script>\\u202e")
    Markup('&lt;script&gt;\\\\u202e')
    """
    if isinstance(value, Markup):
        return value
    return trusted(escape(printable(str(value))))


def trusted(html: str) -> Markup:
    """Return HTML that this package has written itself, so that it is not escaped again."""
    return Markup(html)  # noqa: S704


def asset(name: str) -> Markup:
    """Return a style or a script that comes with the package."""
    file = resources.files("evenhand.report").joinpath("pages", name)
    content = file.read_text(encoding="utf-8")
    return trusted(content.strip())


def _split_at_marks(value: object) -> list[str]:
    """Return the parts of a text, of which every second one stood between the marks ⟦ and ⟧."""
    return _MARKED_TERM.split(printable(str(value)))
