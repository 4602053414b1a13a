"""Templates: pages are made with Jinja2, and every value is escaped on its way into a page.

Templates are files `*.html.jinja` in a folder `pages` beside the code that fills them. They name
each other by their path in the package, as in `{% from "report/pages/pieces.html.jinja" import
badge %}`. Python prepares the values; the templates hold the markup, and English words inside of
`say`, as in `{{ say("Engineering threshold: {limit}.", limit=card.limit) }}`.
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
from evenhand.runtime import language, number_text

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
    made.globals["say"] = say
    made.globals["say_many"] = language.say_many
    made.globals["term"] = language.term
    made.globals["spoken"] = language.spoken
    made.filters["text"] = text
    made.filters["unbroken"] = _unbroken
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


def say(template: str, /, **fields: object) -> Markup:
    """Return a sentence in the language of the page, for a page.

    The sentence is text, and so are its fields, but for those that are markup already.

    >>> say("{part} of {whole}", part="<3>", whole=trusted("<b>4</b>"))
    Markup('&lt;3&gt; of <b>4</b>')
    """
    sentence = text(language.term(template))
    shown = {name: text(value) for name, value in fields.items()}
    return sentence.format(**shown)


def trusted(html: str) -> Markup:
    """Return HTML that this package has written itself, so that it is not escaped again."""
    return Markup(html)  # noqa: S704


def asset(*names: str) -> Markup:
    """Return styles or scripts that come with the package, one after another."""
    pages = resources.files("evenhand.report").joinpath("pages")
    contents = [pages.joinpath(name).read_text(encoding="utf-8").strip() for name in names]
    return trusted("\n".join(contents))


def _unbroken(value: object) -> Markup:
    """Return text in which no line ends between a number and its per cent sign."""
    # `replace` of markup would escape the entity.
    escaped = str(text(value))
    return trusted(number_text.unbroken(escaped, "&nbsp;"))


def _split_at_marks(value: object) -> list[str]:
    """Return the parts of a text, of which every second one stood between the marks ⟦ and ⟧."""
    return _MARKED_TERM.split(printable(str(value)))
