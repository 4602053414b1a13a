"""Find sensitive terms in texts, and write the texts with other terms (the replacement of TestSGD,
section 4.2).

Texts are matched once and kept as pieces, so that writing them with another term is taking some
pieces from elsewhere and joining, without a pattern. A piece that may change knows its term and its
form: number and letter case, so that `GAYS` becomes `MUSLIMS`. The article before a term is such a
piece too, where it agreed with the term.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Set
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evenhand.runtime.errors import DataError, UsageError, clip, nearest
from evenhand.texts.lexicon import GAP, WORD, fold, words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evenhand.texts.lexicon import Lexicon, Term

_AS_LISTED, _FIRST, _EACH, _ALL = range(4)
"""Which letters are capital: as in the lexicon, the first, the first of each word, all of them."""
_PLURAL, _ARTICLE = 4, 8
"""Added to the case of a piece: it stands in the place of a plural, it is the article before the
term.
"""
_STAYS = (-1, 0)
"""The term and kind of a piece that is no match."""
_SOUNDS_OTHERWISE = re.compile("eu|ewe|uni(?!n|m|dent)|us[eu]|uga|uk|uru|uig|uyg|one|once")
"""Words that begin with the letter of a vowel and the sound of a consonant."""
_SILENT = ("hour", "honest", "heir", "honour", "honor")


@dataclass(frozen=True, eq=False)
class Matches:
    """The terms of a lexicon in many texts, ready to be replaced; `find` makes it.

    >>> from evenhand.texts.lexicon import Lexicon
    >>> lexicon = Lexicon.default()
    >>> found = find(["She is a Gay atheist.", "No term."], lexicon)
    >>> found.has.tolist()
    [[True, False, True, False], [False, False, False, False]]
    >>> found.write(np.array([0]), ["gender"], [lexicon.of("gender")[0]])
    ['She is a Lesbian atheist.']
    """

    texts: Sequence[str]
    lexicon: Lexicon
    pieces: NDArray[np.object_]
    """The pieces of all texts, one text after the other."""
    starts: NDArray[np.intp]
    """The first piece of each text, and the number of all pieces."""
    term: NDArray[np.intp]
    """The position in the lexicon of each piece's term, -1 where the piece stays as it is."""
    kind: NDArray[np.intp]
    """The number and case of each piece, and whether it is an article."""

    @cached_property
    def _category(self) -> NDArray[np.intp]:
        names = self.lexicon.categories
        # The last entry is for the pieces that stay, whose term is -1.
        return np.array([names.index(term.category) for term in self.lexicon.terms] + [-1])[
            self.term
        ]

    @cached_property
    def _matched(self) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
        """The text, category and term of each match."""
        places = np.flatnonzero((self.term >= 0) & (self.kind < _ARTICLE))
        rows = np.searchsorted(self.starts, places, side="right") - 1
        return rows, self._category[places], self.term[places]

    def counts(self) -> dict[str, int]:
        """Return how often each term, or its plural, stands in the texts.

        >>> from evenhand.texts.lexicon import Lexicon
        >>> find(["gay or straight", "gays"], Lexicon.from_dict({"gender": ["gay", "straight"]})).counts()
        {'gay': 1, 'straight': 1}
        """
        found = np.bincount(self._matched[2], minlength=len(self.lexicon))
        return {
            term.text: int(count) for term, count in zip(self.lexicon.terms, found, strict=True)
        }

    @property
    def has(self) -> NDArray[np.bool_]:
        """Whether each text has a term of each category."""
        found = np.zeros((len(self.texts), len(self.lexicon.categories)), dtype=np.bool_)
        rows, category, _ = self._matched
        found[rows, category] = True
        return found

    @property
    def names(self) -> NDArray[np.bool_]:
        """Whether each text has each term of the lexicon."""
        found = np.zeros((len(self.texts), len(self.lexicon)), dtype=np.bool_)
        rows, _, term = self._matched
        found[rows, term] = True
        return found

    def own(self, category: str) -> NDArray[np.intp]:
        """Return the position within its category of each text's term, -1 for none and -2 for
        several different ones.

        >>> from evenhand.texts.lexicon import Lexicon
        >>> lexicon = Lexicon.from_dict({"age": ["old", "young"]})
        >>> find(["young", "none", "old or young", "old, old"], lexicon).own("age").tolist()
        [1, -1, -2, 0]
        """
        rows, categories, terms = self._matched
        mine = categories == self._position(category)
        first = self.lexicon.terms.index(self.lexicon.of(category)[0])
        lowest, highest = np.full((2, len(self.texts)), [[len(self.lexicon)], [-1]])
        np.minimum.at(lowest, rows[mine], terms[mine] - first)
        np.maximum.at(highest, rows[mine], terms[mine] - first)
        return np.where(lowest < highest, -2, highest)

    def write(
        self, rows: NDArray[np.intp], categories: Sequence[str], terms: Sequence[Term]
    ) -> list[str]:
        """Return these texts with every match of each category replaced by the category's term.

        Case and number are kept and the article before the term is made to fit; a match of the term
        itself stays as it is written.
        """
        pieces, ends = self._replaced(np.asarray(rows, dtype=np.intp), categories, terms)[:2]
        flat = pieces.tolist()
        return ["".join(flat[start:end]) for start, end in pairwise(ends.tolist())]

    def marked(
        self, row: int, categories: Sequence[str], terms: Sequence[Term] | None = None
    ) -> str:
        """Return one text, with other terms or as it stands, with the terms at issue in ⟦ ⟧.

        >>> from evenhand.texts.lexicon import Lexicon
        >>> lexicon = Lexicon.default()
        >>> find(["He is a gay man."], lexicon).marked(0, ["gender"], [lexicon.of("gender")[6]])
        'He is an ⟦lgbt⟧ man.'
        """
        chosen = np.array([row], dtype=np.intp)
        pieces, _, places = self._replaced(chosen, () if terms is None else categories, terms or ())
        positions = [self._position(category) for category in categories]
        issue = np.isin(self._category[places], positions) & (self.kind[places] < _ARTICLE)
        # Marks that the text has of its own are doubled, so that `unmarked` can tell them.
        doubled = [re.sub("[⟦⟧]", r"\g<0>\g<0>", piece) for piece in pieces.tolist()]
        return "".join(
            f"⟦{piece}⟧" if at else piece for piece, at in zip(doubled, issue.tolist(), strict=True)
        )

    def _position(self, category: str) -> int:
        return self.lexicon.categories.index(self.lexicon.of(category)[0].category)

    def _replaced(
        self, rows: NDArray[np.intp], categories: Sequence[str], terms: Sequence[Term]
    ) -> tuple[NDArray[np.object_], NDArray[np.intp], NDArray[np.intp]]:
        """Return the pieces of these texts with other terms, where each text ends, and where the
        pieces are from.
        """
        lengths = self.starts[rows + 1] - self.starts[rows]
        ends = np.concatenate([[0], np.cumsum(lengths)])
        places = np.arange(ends[-1]) + np.repeat(self.starts[rows] - ends[:-1], lengths)
        pieces, own = self.pieces[places], self.term[places]
        for category, term in zip(categories, terms, strict=True):
            known = self.lexicon.of(category)
            if term not in known:
                raise UsageError(
                    f"category {category!r} has no term {str(term)!r};"
                    f" {nearest(term, map(str, known))}"
                )
            change = (self._category[places] == self._position(category)) & (
                own != self.lexicon.terms.index(term)
            )
            pieces[change] = written(term)[self.kind[places[change]]]
        return pieces, ends, places


def find(texts: Sequence[str], lexicon: Lexicon) -> Matches:
    """Find every term of the lexicon in texts: whole words, longest term first, in any case and
    spacing.

    >>> from evenhand.texts.lexicon import Lexicon
    >>> found = find(["African-American or American? Mr Blackburn!"], Lexicon.default())
    >>> {term: count for term, count in found.counts().items() if count}
    {'african american': 1, 'american': 1}
    """
    forms = _forms(lexicon)
    pattern = _pattern(forms)
    pieces: list[str] = []
    kinds: list[tuple[int, int]] = []
    starts = [0]
    for text in texts:
        small, done = fold(text), 0
        for match in pattern.finditer(small):
            article = match[2]
            start, end = match.span(4 if article else 1)
            form = forms.get(small[start:end]) or forms[" ".join(words(small[start:end]))]
            kind = form.number + _case(text[start:end], form)
            if article and (article == "an") == form.vowel:
                begin, stop = match.span(2)
                pieces += (text[done:begin], text[begin:stop])
                kinds += (
                    _STAYS,
                    (form.term, _ARTICLE + form.number + _article_case(text[begin:stop], kind)),
                )
                done = stop
            pieces += (text[done:start], text[start:end])
            kinds += (_STAYS, (form.term, kind))
            done = end
        pieces.append(text[done:])
        kinds.append(_STAYS)
        starts.append(len(pieces))
    packed = np.empty(len(pieces), dtype=object)
    packed[:] = pieces
    term, kind_of = np.array(kinds, dtype=np.intp).reshape(-1, 2).T.copy()
    return Matches(texts, lexicon, packed, np.array(starts, dtype=np.intp), term, kind_of)


def unmarked(text: str) -> str:
    """Return a text of `Matches.marked` without its marks.

    >>> unmarked("I am a ⟦gay⟧ man")
    'I am a gay man'
    """
    return re.sub("([⟦⟧])(\\1?)", r"\2", text)


def texts_of(given: Any, where: str = "texts") -> list[str]:
    """Return texts that a user gave as a list, an array or a column of any dataframe, or say what
    is no text.

    >>> texts_of(["one", None])
    Traceback (most recent call last):
    evenhand.runtime.errors.DataError: texts: text 1 is None; leave it out, or write a text in its place
    """
    if isinstance(given, str | bytes | Mapping | Set) or hasattr(given, "columns"):
        raise DataError(
            f"{where}: a {type(given).__name__} is no list of texts; give a list or one column of"
            " texts"
        )
    convert = next(
        (name for name in ("to_list", "tolist", "to_pylist") if hasattr(given, name)), None
    )
    try:
        found = list(getattr(given, convert)() if convert else given)
    except TypeError:
        raise DataError(
            f"{where}: {clip(repr(given))} is no list of texts; give a list or one column"
        ) from None
    if not found:
        raise DataError(f"{where}: there are no texts; give at least one")
    for row, text in enumerate(found):
        if not isinstance(text, str):
            raise DataError(
                f"{where}: text {row} is {clip(repr(text))}; leave it out, or write a text in its"
                " place"
            )
    return [str(text) for text in found]


class _Form(NamedTuple):
    """A way in which a term is written, its letters aside."""

    term: int
    number: int
    vowel: bool
    spelt: bool
    """Whether it is written in capitals anyway, such as LGBT."""


def _forms(lexicon: Lexicon) -> dict[str, _Form]:
    found: dict[str, _Form] = {}
    for index, term in enumerate(lexicon.terms):
        for number, text in ((0, term.text), (_PLURAL, term.plural)):
            if text is not None:
                form = _Form(index, number, _vowel_sound(text), text.isupper() or _acronym(text))
                # The singular comes first: a noun may have the same plural.
                found.setdefault(" ".join(words(text)), form)
    return found


def _pattern(forms: Mapping[str, _Form]) -> re.Pattern[str]:
    """Return a pattern of all forms, the longest first, and of the article before them."""
    longest = sorted(forms, key=lambda form: (form[0], -form.count(" "), -len(form)))
    # By first letter: most words of a text are then refused at once, however many terms there are.
    letters = [
        re.escape(letter)
        + "(?:"
        + "|".join(GAP.pattern.join(map(re.escape, form[1:].split(" "))) for form in some)
        + ")"
        for letter, some in groupby(longest, key=lambda form: form[0])
    ]
    either = "|".join(letters)
    return re.compile(rf"(?<!\w)(?:({either})|(an?)(\s+)({either}))(?!\w)")


def _case(found: str, form: _Form) -> int:
    """Return which letters of a match are capital; an acronym in capitals is not shouted."""
    if found.isupper() and sum(map(str.isalpha, found)) > 1:
        return _AS_LISTED if form.spelt else _ALL
    if not found[:1].isupper():
        return _AS_LISTED
    parts = WORD.findall(found)
    return _EACH if len(parts) > 1 and all(part[0].isupper() for part in parts) else _FIRST


def _article_case(found: str, kind: int) -> int:
    """Return which letters of an article are capital; of a single A, what follows tells whether it
    is shouted.
    """
    if not found[0].isupper():
        return _AS_LISTED
    return _ALL if found == "AN" or (found == "A" and kind % _PLURAL == _ALL) else _FIRST


@lru_cache(1024)
def written(term: Term) -> NDArray[np.object_]:
    """Return the term in each of its forms, and the articles before them."""
    made = np.empty(2 * _ARTICLE, dtype=object)
    for plural, text in ((0, term.text), (_PLURAL, term.many)):
        for offset, word in ((0, text), (_ARTICLE, "an" if _vowel_sound(text) else "a")):
            made[offset + plural : offset + plural + 4] = (
                word,
                WORD.sub(lambda found: _capital(found[0]), word, count=1),
                WORD.sub(lambda found: _capital(found[0]), word),
                word.upper(),
            )
    return made


def _capital(word: str) -> str:
    return word.upper() if _acronym(word) else word[:1].upper() + word[1:]


def _acronym(word: str) -> bool:
    """Tell whether a word can only be spelt out, such as lgbt."""
    return word.isascii() and word.isalpha() and not set("aeiouy") & set(fold(word))


def _vowel_sound(text: str) -> bool:
    """Tell whether a term takes "an": by its sound, as far as its letters tell it.

    >>> [_vowel_sound(term) for term in ("atheist", "european", "lgbt", "hispanic", "heir", "uninsured", "18 year old")]
    [True, False, True, False, True, True, True]
    """
    word = words(text)[0]
    if _acronym(word):
        return word[0] in "fhlmnrsx"
    if word[0] in "18":
        return re.match(r"8|1[18](?!\d)", word) is not None
    vowel = unicodedata.normalize("NFD", word)[0] in "aeiou"
    return (vowel and _SOUNDS_OTHERWISE.match(word) is None) or word.startswith(_SILENT)
