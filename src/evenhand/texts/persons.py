"""Nouns for people, and vacant places before them, which take a term as an adjective."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any, NamedTuple

from evenhand.runtime.errors import UsageError, clip, nearest
from evenhand.texts.forms import (
    ADJECTIVE,
    ALL,
    AS_LISTED,
    BEFORE_ADJECTIVE,
    EACH,
    FIRST,
    SPACE,
    article_case,
)
from evenhand.texts.lexicon import fold, words
from evenhand.texts.matching import Matches, Pieces, Span, TermSearch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenhand.texts.lexicon import Lexicon

SEXES = ("women", "men")
_KEYS = ("person", "plural", "sex")
_ARTICLES = ("a", "an")
_LAST_WORD = re.compile(r"([^\W\d_]+)\s+$")
_NEXT_WORD = re.compile(r"\s+([^\W\d_]+)")
_ENDS = re.compile(r"['’]s\b|\s*(?:[.,;:!?)\]\"”]|$)")
_BEGINS = re.compile(r"(?:^|[.!?:\n\r])[\s\"'“”‘’(*•]*$")
_LOOKED_BACK = 60
"""Letters before a noun that hold the words that are looked at."""


@dataclass(frozen=True, slots=True)
class Person:
    """A noun for a person and its plural, of which one may be missing, and the sex that it tells.

    >>> Person("author").plural, Person("lady", sex="women").plural
    ('authors', 'ladies')
    """

    noun: str | None
    plural: str | None = None
    sex: str = ""

    def __post_init__(self) -> None:
        for name, value in (("person", self.noun), ("plural", self.plural)):
            if value is not None and (not isinstance(value, str) or not words(value)):
                raise UsageError(
                    f"persons: {name} = {clip(repr(value))} is no noun; give one, such as 'teacher'"
                )
        if self.sex and self.sex not in SEXES:
            raise UsageError(
                f"persons: sex = {clip(repr(self.sex))} is unknown; {nearest(self.sex, SEXES)}"
            )
        if self.noun is None and self.plural is None:
            raise UsageError("persons: a table names no noun; give person, plural or both")
        if self.plural is None and self.noun is not None:
            object.__setattr__(self, "plural", _plural(self.noun))


def _plural(noun: str) -> str:
    """Return the plural of a noun, by the rules that most follow."""
    small = fold(noun)
    if small.endswith("man"):
        return f"{noun[:-2]}en"
    if re.search("[^aeiou]y$", small):
        return f"{noun[:-1]}ies"
    return f"{noun}es" if re.search("(?:s|x|z|ch|sh)$", small) else f"{noun}s"


def persons_of(given: Sequence[str | Mapping[str, Any]] | None) -> tuple[Person, ...]:
    """Return the nouns that a user gave as texts or tables, or those that are shipped.

    >>> child = {"person": "child", "plural": "children"}
    >>> [person.plural for person in persons_of(["nurse", child])]
    ['nurses', 'children']
    >>> len(persons_of(None))
    61
    """
    if given is None:
        return _shipped("persons")
    if isinstance(given, str | Mapping) or not hasattr(given, "__iter__"):
        raise UsageError(
            f"persons = {clip(repr(given))} must be a list of nouns, such as ['teacher']"
        )
    persons = tuple(_person(item) for item in given)
    if not persons:
        raise UsageError("persons is empty; give at least one noun, such as ['teacher']")
    return persons


def _person(item: Any) -> Person:
    if isinstance(item, Person):
        return item
    if isinstance(item, str):
        return Person(item)
    if not isinstance(item, Mapping):
        raise UsageError(
            f"persons has {clip(repr(item))}, which is no noun; give a text, such as 'teacher'"
        )
    for key in item:
        if key not in _KEYS:
            raise UsageError(f"persons has an unknown key {key!r}; {nearest(key, _KEYS)}")
    return Person(item.get("person"), item.get("plural"), item.get("sex", ""))


def persons_of_templates(
    given: Sequence[str | Mapping[str, Any]] | None,
) -> tuple[Person, ...]:
    """Return the nouns that a user gave, or those that are shipped for templates: fewer."""
    return _shipped("templates") if given is None else persons_of(given)


class _Around(NamedTuple):
    """Words between which a noun surely stands by itself, rather than in a compound."""

    determiners: frozenset[str]
    adjectives: frozenset[str]
    before_plurals: frozenset[str]
    after_singulars: frozenset[str]


@cache
def _around() -> _Around:
    listed = shipped("persons")["around"]
    return _Around(**{name: frozenset(text.split()) for name, text in listed.items()})


@cache
def _shipped(file: str) -> tuple[Person, ...]:
    return persons_of(shipped(file)["persons"])


def shipped(file: str) -> dict[str, Any]:
    """Return the lists of a file that comes with evenhand, "persons" or "templates"."""
    folder = resources.files("evenhand.texts").joinpath("lexicons")
    text = folder.joinpath(f"{file}.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def find_hosts(
    texts: Sequence[str], lexicon: Lexicon, persons: Sequence[Person]
) -> Matches:
    """Find every term of the lexicon in texts, and a vacant place before the first person noun.

    >>> from evenhand.texts.lexicon import Lexicon
    >>> import numpy as np
    >>> lexicon = Lexicon.default()
    >>> found = find_hosts(["She met a man.", "PEOPLE TALK"], lexicon, persons_of(None))
    >>> found.write(np.arange(2), ["religion"], [lexicon.of("religion")[-1]])
    ['She met an atheist man.', 'ATHEIST PEOPLE TALK']
    """
    search = TermSearch(lexicon)
    nouns = _Nouns(persons, vacant=len(lexicon))
    pieces = Pieces()
    sexes = []
    for text in texts:
        spans = search.spans(text)
        host = nouns.first(text, spans)
        if host is not None:
            spans = sorted([*spans, *host.spans], key=lambda span: (span.start, span.end))
        sexes.append("" if host is None else host.sex)
        pieces.add(text, spans)
    return pieces.matches(texts, lexicon, sexes)


class _Host(NamedTuple):
    """A vacant place: the spans that change with what stands there, and the sex of its noun."""

    spans: list[Span]
    sex: str


class _Nouns:
    """Looks for person nouns by themselves in one text after the other."""

    def __init__(self, persons: Sequence[Person], vacant: int) -> None:
        self._vacant = vacant
        self._known: dict[str, tuple[str, bool]] = {}
        for person in persons:
            if person.plural is not None:
                self._known[fold(person.plural)] = (person.sex, True)
            if person.noun is not None:
                self._known[fold(person.noun)] = (person.sex, False)
        longest = sorted(self._known, key=lambda noun: (-len(noun), noun))
        either = "|".join(map(re.escape, longest))
        self._pattern = re.compile(rf"(?<![\w'’\-/:@#])(?:{either})(?![\w\-/@])")

    def first(self, text: str, spans: Sequence[Span]) -> _Host | None:
        """Return the place before the first noun that stands by itself, None where none does."""
        folded = fold(text)
        ends = {span.end for span in spans if span.kind < ADJECTIVE}
        for match in self._pattern.finditer(folded):
            start, end = match.span()
            sex, is_plural = self._known[match[0]]
            if _overlaps(start, end, spans):
                continue
            if _by_itself(folded, start, end, ends, is_plural=is_plural):
                return _Host(self._spans(text, start, end), sex)
        return None

    def _spans(self, text: str, start: int, end: int) -> list[Span]:
        """Return the vacant place before a noun, its space, and the article before it."""
        noun = text[start:end]
        before = text[max(0, start - _LOOKED_BACK) : start]
        begins = _BEGINS.search(before) is not None
        case = _host_case(noun, begins=begins)
        vacant = self._vacant
        spans = [
            Span(start, start, vacant, ADJECTIVE + case),
            Span(start, start, vacant, SPACE),
        ]
        if case == FIRST:
            # The term begins the sentence now.
            spans.append(Span(start, start + 1, -1, AS_LISTED, noun[0].lower()))
        article = _LAST_WORD.search(before)
        if article is not None and fold(article[1]) in _ARTICLES:
            article_start = start - len(before) + article.start()
            kind = BEFORE_ADJECTIVE + article_case(article[1], case)
            article_end = article_start + len(article[1])
            spans.insert(0, Span(article_start, article_end, vacant, kind))
        return spans


def _overlaps(start: int, end: int, spans: Sequence[Span]) -> bool:
    """Return whether a noun is a term itself, or part of one."""
    return any(span.start < end and start < span.end for span in spans)


def _host_case(noun: str, *, begins: bool) -> int:
    """Return which letters of a term are capital before a noun, which may begin a sentence."""
    if noun.isupper() and len(noun) > 1:
        return ALL
    if not noun[0].isupper():
        return AS_LISTED
    return FIRST if begins else EACH


def _by_itself(
    folded: str, start: int, end: int, ends: set[int], *, is_plural: bool
) -> bool:
    """Return whether a noun is a person by itself, as far as the words around it tell it."""
    around = _around()
    place, word = _word_before(folded, start)
    is_described = word in around.adjectives or (place + len(word)) in ends
    if is_plural and (not word or is_described):
        return True
    if is_plural:
        return word in around.before_plurals or word in around.determiners
    if is_described:
        _, word = _word_before(folded, place)
    if word not in around.determiners:
        return False
    following = _NEXT_WORD.match(folded, end)
    if following is not None:
        return following[1] in around.after_singulars
    return _ENDS.match(folded, end) is not None


def _word_before(folded: str, end: int) -> tuple[int, str]:
    """Return where the word before a place begins, and the word; "" where there is none."""
    from_place = max(0, end - _LOOKED_BACK)
    match = _LAST_WORD.search(folded, from_place, end)
    return (end, "") if match is None else (match.start(), match[1])
