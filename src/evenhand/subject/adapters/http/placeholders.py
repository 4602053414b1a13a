"""Texts with places for inputs, as in {age}, and for environment variables, as in ${TOKEN}."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, Any, Literal, NamedTuple
from urllib.parse import quote

from evenhand.runtime.errors import UsageError, clip

if TYPE_CHECKING:
    from collections.abc import Iterator

SHORTEST = 4
"""Characters from which on a value is hidden in messages; shorter ones are no secrets."""
_PIECE = re.compile(
    r"(?P<escaped>\$\$\{[^{}]*\}|\{\{|\}\})"
    r"|\$\{(?P<variable>[^{}]*)\}|\{(?P<place>[^{}]*)\}|(?P<brace>[{}])"
)
_SECRET = re.compile(r"auth|key|token|secret|cookie|password", re.IGNORECASE)


class Piece(NamedTuple):
    """A part of a text: words as they are, a place for inputs, or an environment variable."""

    kind: Literal["words", "place", "variable"]
    text: str


def pieces(text: str, where: str) -> list[Piece]:
    """Return the parts of a text; `where` begins the sentence about one that cannot be read.

    >>> pieces("age={age}", "query")
    [Piece(kind='words', text='age='), Piece(kind='place', text='age')]
    >>> pieces("Bearer ${TOKEN}", "headers")[1]
    Piece(kind='variable', text='TOKEN')
    """
    found: list[Piece] = []
    end = 0
    for match in _PIECE.finditer(text):
        if match.start() > end:
            found.append(Piece("words", text[end : match.start()]))
        end = match.end()
        found.append(_piece(match, text, where))
    if end < len(text):
        found.append(Piece("words", text[end:]))
    return found


def _piece(match: re.Match[str], text: str, where: str) -> Piece:
    if match["escaped"]:
        # The first character only says that the others are meant as they are.
        return Piece("words", match["escaped"][1:])
    if match["variable"]:
        return Piece("variable", match["variable"])
    if match["place"]:
        return Piece("place", match["place"])
    raise UsageError(
        f"{where} has {clip(repr(text))}, in which {match.group()!r} names nothing; write {{age}}"
        " for a value, ${NAME} for an environment variable, {{ and }} for braces"
    )


class Variables:
    """The environment variables that a request names, and texts in which their values are hidden.

    >>> variables = Variables({"TOKEN": "tell nobody"})
    >>> variables.filled("Bearer ${TOKEN}", "the header Authorization")
    'Bearer tell nobody'
    >>> variables.hidden("do not tell nobody: tell nobody")
    'do not ${TOKEN}: ${TOKEN}'
    """

    def __init__(self, environment: dict[str, str] | None = None) -> None:
        self._environment = environment
        self._hidden: dict[str, str] = {}

    def value(self, name: str, where: str) -> str:
        """Return the value of a variable, or raise a UsageError that names it."""
        environment = os.environ if self._environment is None else self._environment
        value = environment.get(name)
        if not value:
            state = "is empty" if value == "" else "is not set"
            raise UsageError(
                f"{where} names the environment variable {name}, which {state}; run: export"
                f" {name}=…"
            )
        self._hide(value, f"${{{name}}}")
        return value

    def filled(self, text: str, where: str) -> str:
        """Return a text with the values of its variables; other braces stay as they are."""

        def value(match: re.Match[str]) -> str:
            if match["variable"]:
                return self.value(match["variable"], where)
            return match.group()

        return _PIECE.sub(value, text).replace("$${", "${")

    def header(self, name: str, text: str) -> str:
        """Return the value of a header, which is hidden where its name tells of a secret."""
        value = self.filled(text, f"the header {name}")
        if value == text and _SECRET.search(name):
            self._hide(value, "…")
            self._hide(value.split()[-1] if value.split() else "", "…")
        return value

    def _hide(self, value: str, shown: str) -> None:
        if len(value) < SHORTEST:
            return
        for form in (value, json.dumps(value)[1:-1], quote(value, safe="")):
            self._hidden[form] = shown

    def _forms(self) -> Iterator[tuple[str, str]]:
        """Yield what is hidden and what is shown, the longest first: one may hold another."""
        for form in sorted(self._hidden, key=len, reverse=True):
            yield form, self._hidden[form]

    def hidden_in(self, value: Any) -> Any:
        """Return JSON in which no key and no text holds the value of a variable."""
        if isinstance(value, str):
            return self.hidden(value)
        if isinstance(value, dict):
            return {self.hidden(key): self.hidden_in(inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [self.hidden_in(inner) for inner in value]
        return value

    def hidden(self, text: str) -> str:
        """Return a text in which names stand for the values of variables."""
        for form, shown in self._forms():
            text = text.replace(form, shown)
        return text
