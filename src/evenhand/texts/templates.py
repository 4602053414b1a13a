"""Sentences with a place for a term: templates, and all that person nouns make of them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from string import Formatter
from typing import TYPE_CHECKING, Any

from evenhand.runtime.errors import UsageError, clip, nearest
from evenhand.texts.forms import (
    ADJECTIVE,
    AS_LISTED,
    BEFORE_ADJECTIVE,
    FIRST,
    article,
    article_case,
    cases,
)
from evenhand.texts.matching import Matches, Pieces, Span
from evenhand.texts.persons import Person, shipped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenhand.texts.lexicon import Lexicon

FIELDS = ("term", "person", "people")
_TERM = "{term}"
_ARTICLE_AT_END = re.compile(r"(?<!\w)(an?)(\s+)$", re.IGNORECASE)
_BEGINS = re.compile(r"(?:^|[.!?]\s)[\s\"'“‘(]*$")


@dataclass(frozen=True, slots=True)
class SentenceTemplate:
    """A sentence with a place for a term, and perhaps for a noun, in parts.

    >>> template = SentenceTemplate.of("I know a {person} who is {term}.")
    >>> [sentence.text for sentence in template.sentences([Person("author"), Person("nurse")])]
    ['I know an author who is {term}.', 'I know a nurse who is {term}.']
    """

    text: str
    parts: tuple[tuple[str, str], ...]
    """What stands before each place, and what goes there; "" after the last."""

    @classmethod
    def of(cls, text: Any) -> SentenceTemplate:
        """Read a template; a UsageError where it has no place for a term, or another place."""
        if not isinstance(text, str):
            raise UsageError(f"templates has {clip(repr(text))}, which is not a text")
        shown = clip(repr(text))
        try:
            fields = list(Formatter().parse(text))
        except ValueError as error:
            raise UsageError(f"templates: {shown} is not valid: {error}") from None
        parts = []
        for literal, name, spec, conversion in fields:
            if name is not None and (name not in FIELDS or spec or conversion):
                choices = nearest(name, FIELDS)
                raise UsageError(
                    f"templates: {shown} has the unknown place {clip(repr(name))}; {choices}"
                )
            parts.append((literal, name or ""))
        names = [name for _, name in parts]
        if names.count("term") != 1:
            raise UsageError(
                f"templates: {shown} must have {_TERM} once, where the term goes, as in"
                " 'I am a {term} {person}'"
            )
        if names.count("person") + names.count("people") > 1:
            raise UsageError(
                f"templates: {shown} has several places for a noun; write {{person}} or {{people}}"
                " once"
            )
        return cls(text, tuple(parts))

    def sentences(self, persons: Sequence[Person]) -> list[Sentence]:
        """Return a sentence for each noun that goes into the template."""
        names = [name for _, name in self.parts]
        if "person" in names:
            nouns = [(person.noun, person.sex) for person in persons]
        elif "people" in names:
            nouns = [(person.plural, person.sex) for person in persons]
        else:
            nouns = [("", "")]
        made = []
        for noun, sex in nouns:
            if noun is not None:
                made.append(self._sentence(noun, sex))
        return made

    def _sentence(self, noun: str, sex: str) -> Sentence:
        text = ""
        at = 0
        for literal, name in self.parts:
            text += literal
            if name == "term":
                at = len(text)
                text += _TERM
            elif name:
                text = _agreeing(text, noun)
                text += cases(noun)[FIRST] if _BEGINS.search(text) else noun
        return Sentence(text, at, sex)


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence with one vacant place for a term, and the sex that its noun tells."""

    text: str
    at: int
    """Where the place begins."""
    sex: str

    def spans(self, vacant: int) -> list[Span]:
        """Return the vacant place, and the article before it."""
        before = self.text[: self.at]
        case = FIRST if _BEGINS.search(before) else AS_LISTED
        place = Span(self.at, self.at + len(_TERM), vacant, ADJECTIVE + case)
        match = _ARTICLE_AT_END.search(before)
        if match is None:
            return [place]
        kind = BEFORE_ADJECTIVE + article_case(match[1], case)
        return [Span(match.start(1), match.end(1), vacant, kind), place]


def _agreeing(text: str, noun: str) -> str:
    """Return a text with the article at its end as the noun after it takes it."""

    def agreeing(match: re.Match[str]) -> str:
        case = article_case(match[1], AS_LISTED)
        return cases(article(noun))[case] + match[2]

    return _ARTICLE_AT_END.sub(agreeing, text)


def templates_of(given: Sequence[str] | None) -> tuple[SentenceTemplate, ...]:
    """Return the templates that a user gave, or those that are shipped.

    >>> len(templates_of(None))
    24
    """
    if given is None:
        return _default()
    if isinstance(given, str) or not hasattr(given, "__iter__"):
        raise UsageError(
            f"templates = {clip(repr(given))} must be a list of sentences, such as"
            " ['I am a {term} {person}']"
        )
    templates = tuple(SentenceTemplate.of(text) for text in dict.fromkeys(given))
    if not templates:
        raise UsageError(
            "templates is empty; give at least one sentence, such as 'I am a {term} {person}'"
        )
    return templates


@cache
def _default() -> tuple[SentenceTemplate, ...]:
    return templates_of(shipped("templates")["templates"])


def find_templates(
    templates: Sequence[SentenceTemplate], lexicon: Lexicon, persons: Sequence[Person]
) -> Matches:
    """Return all sentences that persons make of templates, each with a vacant place.

    >>> import numpy as np
    >>> from evenhand.texts.lexicon import Lexicon
    >>> lexicon = Lexicon.default()
    >>> found = find_templates(templates_of(["a {term} {person}"]), lexicon, [Person("nurse")])
    >>> found.write(np.arange(1), ["age"], [lexicon.of("age")[0]])
    ['an old nurse']
    """
    sentences: dict[str, Sentence] = {}
    for template in templates:
        for sentence in template.sentences(persons):
            sentences.setdefault(sentence.text, sentence)
    pieces = Pieces()
    for sentence in sentences.values():
        pieces.add(sentence.text, sentence.spans(len(lexicon)))
    sexes = [sentence.sex for sentence in sentences.values()]
    return pieces.matches(list(sentences), lexicon, sexes)
