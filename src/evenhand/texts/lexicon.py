"""Sensitive terms by category, the sensitive features of texts (TestSGD, Def. 2.2 and Table 1)."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from os import PathLike
from pathlib import Path
from typing import Any

from evenhand.runtime.errors import ConfigError, UsageError, clip, nearest
from evenhand.runtime.table_file import beside
from evenhand.space.space_file import read_toml

_BETWEEN = "\\s\\-\u2010\u2011"
"""What may stand between the words of a term: spaces, line ends and hyphens."""
GAP, WORD = re.compile(f"[{_BETWEEN}]+"), re.compile(f"[^{_BETWEEN}]+")
_KEYS = ("terms", "polysemous", "leave_out")
_TERM_KEYS = ("term", "plural", "adjective", "before")
BEFORE = ("women", "men", "none")
"""Which of the nouns that tell a sex a term can stand before, where not before all of them."""


@dataclass(frozen=True, slots=True)
class Term:
    """One sensitive term of a category, and its plural where it is also a noun.

    >>> Term("gay", "gender", plural="gays").many, Term("jewish", "religion").many
    ('gays', 'jewish people')
    """

    text: str
    category: str
    plural: str | None = None
    other_meanings: bool = False
    """Whether the term often means something else, as in "straight ahead"."""
    adjective: str | None = None
    """The term before a noun, where that is another word; empty for a noun that cannot stand there.
    """
    before: str | None = None
    """Before which nouns that tell a sex it stands: for "women", for "men", or "none" of them."""

    def __post_init__(self) -> None:
        if not isinstance(self.category, str) or not self.category.strip():
            raise UsageError(
                f"a category is called {clip(repr(self.category))}; give it a name, such as"
                " 'gender'"
            )
        if self.category == "text":
            # A case holds the text itself under this name, next to the categories.
            raise UsageError(
                "a category is called 'text', which is what the text itself is called; rename it"
            )
        for field, value in (("text", self.text), ("plural", self.plural)):
            if value is None and field == "plural":
                continue
            word = "term" if field == "text" else field
            if not isinstance(value, str):
                raise UsageError(
                    f"category {self.category!r} has the {word} {clip(repr(value))}, which is not a"
                    " text"
                )
            if not words(value):
                raise UsageError(
                    f"category {self.category!r} has an empty {word} ({clip(repr(value))});"
                    " remove it"
                )
            object.__setattr__(self, field, " ".join(value.split()))
        self._check_place()

    def _check_place(self) -> None:
        """Refuse what is no adjective, and nouns that there are not."""
        adjective: Any = self.adjective
        if adjective is False:
            adjective = ""
        if adjective is not None and not isinstance(adjective, str):
            raise UsageError(
                f"category {self.category!r}: the adjective of {self.text!r} is"
                f" {clip(repr(adjective))}; give a text, or false for a term that is none"
            )
        if adjective is not None:
            object.__setattr__(self, "adjective", " ".join(adjective.split()))
        if self.before is not None and self.before not in BEFORE:
            raise UsageError(
                f"category {self.category!r}: before = {clip(repr(self.before))} of"
                f" {self.text!r} is unknown; {nearest(self.before, BEFORE)}"
            )

    @property
    def described(self) -> str:
        """The term as it is written before a noun; empty where it cannot stand there.

        >>> Term("jew", "religion", adjective="jewish").described, Term("gay", "gender").described
        ('jewish', 'gay')
        """
        return self.text if self.adjective is None else self.adjective

    def fits(self, sex: str) -> bool:
        """Return whether the term can stand before a noun that tells this sex; "" tells none.

        >>> lesbian = Term("lesbian", "gender", before="women")
        >>> lesbian.fits("women"), lesbian.fits("men"), lesbian.fits("")
        (True, False, True)
        """
        if not self.described:
            return False
        return not sex or self.before in (None, sex)

    @property
    def many(self) -> str:
        """The term as it is written in the place of a plural."""
        return f"{self.text} people" if self.plural is None else self.plural

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Lexicon:
    """Categories of sensitive terms; the terms of a category can stand in each other's place.

    Notes
    -----
    See docs/how-to/mine.md for lexicons of one's own.

    Examples
    --------
    >>> ages = ["old", "young", "elderly"]
    >>> lexicon = Lexicon.from_dict({"gender": ["gay", "straight"], "age": ages})
    >>> print(lexicon)
    5 terms: 2 gender, 3 age
    >>> [str(term) for term in lexicon.without("elderly").of("age")]
    ['old', 'young']
    """

    terms: tuple[Term, ...]

    def __post_init__(self) -> None:
        for term in self.terms:
            if not isinstance(term, Term):
                raise UsageError(
                    f"a lexicon holds terms, not {clip(repr(term))}; build it with"
                    " Lexicon.from_dict"
                )
        names = list(dict.fromkeys(term.category for term in self.terms))
        if not names:
            raise UsageError(
                "a lexicon needs at least one category of terms, such as gender = ['gay',"
                " 'straight']"
            )
        # One category after the other, in whatever order its terms were given.
        ordered = sorted(self.terms, key=lambda term: names.index(term.category))
        object.__setattr__(self, "terms", tuple(ordered))
        self._check_forms()
        for name in names:
            terms = self.of(name)
            if len(terms) < 2:
                raise UsageError(
                    f"category {name!r} has only the term {terms[0].text!r}, so that there is"
                    " nothing to replace it with; add a second one or leave the category out"
                )

    def _check_forms(self) -> None:
        """Refuse a lexicon in which two terms are written alike."""
        owners: dict[tuple[str, ...], int] = {}
        for index, term in enumerate(self.terms):
            forms = {words(term.text)}
            if term.plural is not None:
                forms.add(words(term.plural))
            for form in forms:
                owner = owners.setdefault(form, index)
                if owner != index:
                    other = self.terms[owner].category
                    raise UsageError(
                        f"category {term.category!r} has {clip(repr(' '.join(form)))}, which"
                        f" category {other!r} has already; list every term once"
                    )

    @property
    def categories(self) -> tuple[str, ...]:
        """The names of the categories, in order."""
        return tuple(dict.fromkeys(term.category for term in self.terms))

    def of(self, category: str) -> tuple[Term, ...]:
        """Return the terms of a category.

        >>> print(*Lexicon.default().of("religion")[:3])
        christian muslim jewish
        """
        found = tuple(term for term in self.terms if term.category == category)
        if not found:
            raise UsageError(
                f"the lexicon has no category {category!r}; {nearest(category, self.categories)}"
            )
        return found

    @classmethod
    def default(cls) -> Lexicon:
        """Return the 48 identity terms of TestSGD, Table 1.

        >>> print(Lexicon.default())
        48 terms: 14 gender, 17 race, 9 religion, 8 age
        """
        return _default()

    @classmethod
    def from_toml(cls, path: str | PathLike[str]) -> Lexicon:
        """Read a lexicon from a TOML file with a table, or a list of terms, for each category."""
        file = Path(path)
        try:
            missing = not file.exists()
        except OSError:
            missing = False  # reading it says why
        if missing:
            raise ConfigError(f"{file}: there is no such file; {beside(file, ('.toml',))}")
        table = read_toml(file)
        try:
            return cls.from_dict(table)
        except UsageError as error:
            raise ConfigError(f"{file}: {error}") from None

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> Lexicon:
        """Build a lexicon from a list of terms, or a table as in the TOML file, for each category.

        >>> black = {"term": "black", "plural": "blacks"}
        >>> race = {"terms": ["asian", black], "polysemous": ["black"]}
        >>> print(Lexicon.from_dict({"race": race}).terms[1].many)
        blacks
        """
        if not isinstance(table, Mapping):
            raise UsageError(f"a lexicon is a table of categories, not {clip(repr(table))}")
        terms = []
        for name, entry in table.items():
            terms += _category(name, entry)
        return cls(tuple(terms))

    def to_dict(self) -> dict[str, Any]:
        """Return the lexicon as JSON holds it, which `from_dict` reads."""
        table: dict[str, Any] = {}
        for name in self.categories:
            terms = self.of(name)
            table[name] = {"terms": [_entry(term) for term in terms]}
            polysemous = [term.text for term in terms if term.other_meanings]
            if polysemous:
                table[name]["polysemous"] = polysemous
        return table

    def without(self, *terms: str) -> Lexicon:
        """Return the lexicon without these terms; a category that loses them all goes too.

        >>> print(Lexicon.default().without("straight", "old"))
        46 terms: 13 gender, 17 race, 9 religion, 7 age
        """
        left_out = [_listed(text, self.terms, "without") for text in terms]
        return Lexicon(tuple(term for term in self.terms if term not in left_out))

    def __len__(self) -> int:
        return len(self.terms)

    def __str__(self) -> str:
        categories = ", ".join(f"{len(self.of(name))} {name}" for name in self.categories)
        return f"{len(self)} terms: {categories}"


def lexicon_of(given: Lexicon | Mapping[str, Any] | str | PathLike[str] | None) -> Lexicon:
    """Return the lexicon that a user gave as it is, as a table or a TOML file, or the default one.

    >>> print(lexicon_of({"gender": ["gay", "straight"]}))
    2 terms: 2 gender
    """
    if given is None:
        return Lexicon.default()
    if isinstance(given, Lexicon):
        return given
    if isinstance(given, Mapping):
        return Lexicon.from_dict(given)
    if isinstance(given, str | PathLike):
        return Lexicon.from_toml(given)
    raise UsageError(
        f"lexicon = {clip(repr(given))} must be a Lexicon, a table of categories or the path of a"
        " TOML file"
    )


def fold(text: str) -> str:
    """Return the text in small letters, with every letter in the place it had.

    >>> fold("Gay MAN"), len(fold("İ"))
    ('gay man', 1)
    """
    small = text.lower()
    # The one letter whose small form is longer than itself.
    return small if len(small) == len(text) else text.replace("İ", "i").lower()


def words(text: str) -> tuple[str, ...]:
    """Return the words of a term in small letters, however they are spaced or hyphenated.

    >>> words("African-American")
    ('african', 'american')
    """
    return tuple(WORD.findall(fold(text)))


@cache
def _default() -> Lexicon:
    text = (
        resources.files("evenhand.texts")
        .joinpath("lexicons", "default.toml")
        .read_text(encoding="utf-8")
    )
    return Lexicon.from_dict(tomllib.loads(text))


def _category(name: str, entry: Any) -> list[Term]:
    """Return the terms of one category as a user wrote them down."""
    table = entry if isinstance(entry, Mapping) else {"terms": entry}
    for key in table:
        if key not in _KEYS:
            raise UsageError(
                f"category {name!r} has an unknown key {clip(repr(key))}; {nearest(key, _KEYS)}"
            )
    for key in _KEYS:
        listed = table.get(key, ())
        if not isinstance(listed, list | tuple):
            raise UsageError(
                f"category {name!r}: {key} = {clip(repr(listed))} must be a list of terms"
            )
        for item in listed:
            if not isinstance(item, str) and not (
                key == "terms" and isinstance(item, Mapping)
            ):
                raise UsageError(
                    f"category {name!r}: {key} has {clip(repr(item))}, which is not a text"
                )
    terms = [Term(category=name, **_fields(name, item)) for item in table.get("terms", ())]
    where = f"category {name!r}"
    polysemous = []
    for text in table.get("polysemous", ()):
        polysemous.append(_listed(text, terms, f"{where}: polysemous"))
    left_out = []
    for text in table.get("leave_out", ()):
        left_out.append(_listed(text, terms, f"{where}: leave_out"))
    kept = []
    for term in terms:
        if term not in left_out:
            kept.append(replace(term, other_meanings=term in polysemous))
    if not kept:
        raise UsageError(
            f"category {name!r} has no terms; list at least two, or leave the category out"
        )
    return kept


def _entry(term: Term) -> str | dict[str, Any]:
    """Return a term as a table of a lexicon holds it."""
    entry: dict[str, Any] = {"term": term.text}
    if term.plural is not None:
        entry["plural"] = term.plural
    if term.adjective is not None:
        entry["adjective"] = term.adjective or False
    if term.before is not None:
        entry["before"] = term.before
    return term.text if len(entry) == 1 else entry


def _fields(name: str, item: str | Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(item, str):
        return {"text": item}
    for key in item:
        if key not in _TERM_KEYS:
            raise UsageError(
                f"category {name!r}: a term has an unknown key {key!r}; {nearest(key, _TERM_KEYS)}"
            )
    if "term" not in item:
        raise UsageError(f"category {name!r}: {clip(repr(dict(item)))} names no term")
    others = {key: item.get(key) for key in _TERM_KEYS[1:]}
    return {"text": item["term"], **others}


def _listed(text: str, terms: tuple[Term, ...] | list[Term], where: str) -> Term:
    """Return the term that is written like this, or raise a UsageError with the nearest one."""
    for term in terms:
        if isinstance(text, str) and words(text) == words(term.text):
            return term
    choices = nearest(text, [term.text for term in terms])
    raise UsageError(
        f"{where} names {clip(repr(text))}, which is not among the terms; {choices}"
    )
