"""Find sensitive terms in texts, and write the texts with other terms (TestSGD, section 4.2).

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

    Flags = NDArray[np.bool_]
    Indices = NDArray[np.intp]
    Objects = NDArray[np.object_]

# Which letters of a piece are capital.
_AS_LISTED = 0
_FIRST = 1
_EACH = 2
"""The first letter of each word."""
_ALL = 3
_CASES = 4

# Added to the case of a piece.
_PLURAL = 4
"""It stands in the place of a plural."""
_ARTICLE = 8
"""It is the article before the term."""
_STAYS = (-1, 0)
"""The term and kind of a piece that is not a match."""
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
    pieces: Objects
    """The pieces of all texts, one text after the other."""
    starts: Indices
    """The first piece of each text, and the number of all pieces."""
    term: Indices
    """The position in the lexicon of each piece's term, -1 where the piece stays as it is."""
    kind: Indices
    """The number and case of each piece, and whether it is an article."""

    @cached_property
    def _category(self) -> Indices:
        """The position of the category of each piece's term, -1 where the piece stays as it is."""
        names = self.lexicon.categories
        categories = [names.index(term.category) for term in self.lexicon.terms]
        # The last entry is for the pieces that stay, whose term is -1.
        return np.array([*categories, -1])[self.term]

    @cached_property
    def _matched(self) -> tuple[Indices, Indices, Indices]:
        """The text, category and term of each match."""
        is_match = (self.term >= 0) & (self.kind < _ARTICLE)
        places = np.flatnonzero(is_match)
        rows = np.searchsorted(self.starts, places, side="right") - 1
        return rows, self._category[places], self.term[places]

    def counts(self) -> dict[str, int]:
        """Return how often each term, or its plural, stands in the texts.

        >>> from evenhand.texts.lexicon import Lexicon
        >>> lexicon = Lexicon.from_dict({"gender": ["gay", "straight"]})
        >>> find(["gay or straight", "gays"], lexicon).counts()
        {'gay': 1, 'straight': 1}
        """
        _, _, matched_terms = self._matched
        numbers = np.bincount(matched_terms, minlength=len(self.lexicon))
        texts = [term.text for term in self.lexicon.terms]
        return dict(zip(texts, numbers.tolist(), strict=True))

    @property
    def has(self) -> Flags:
        """Whether each text has a term of each category."""
        shape = (len(self.texts), len(self.lexicon.categories))
        found = np.zeros(shape, dtype=np.bool_)
        rows, category, _ = self._matched
        found[rows, category] = True
        return found

    @property
    def names(self) -> Flags:
        """Whether each text has each term of the lexicon."""
        shape = (len(self.texts), len(self.lexicon))
        found = np.zeros(shape, dtype=np.bool_)
        rows, _, term = self._matched
        found[rows, term] = True
        return found

    def own(self, category: str) -> Indices:
        """Return the position within its category of each text's term.

        It is -1 for a text without one, and -2 for one with several different terms.

        >>> from evenhand.texts.lexicon import Lexicon
        >>> lexicon = Lexicon.from_dict({"age": ["old", "young"]})
        >>> find(["young", "none", "old or young", "old, old"], lexicon).own("age").tolist()
        [1, -1, -2, 0]
        """
        rows, categories, terms = self._matched
        in_category = categories == self._position(category)
        rows = rows[in_category]
        # The terms of a category stand together in the lexicon.
        first = self.lexicon.terms.index(self.lexicon.of(category)[0])
        positions = terms[in_category] - first
        lowest = np.full(len(self.texts), len(self.lexicon))
        highest = np.full(len(self.texts), -1)
        np.minimum.at(lowest, rows, positions)
        np.maximum.at(highest, rows, positions)
        return np.where(lowest < highest, -2, highest)

    def write(
        self, rows: Indices, categories: Sequence[str], terms: Sequence[Term]
    ) -> list[str]:
        """Return these texts with every match of each category replaced by the category's term.

        Case and number are kept and the article before the term is made to fit; a match of the term
        itself stays as it is written.
        """
        positions = np.asarray(rows, dtype=np.intp)
        pieces, ends, _ = self._replaced(positions, categories, terms)
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
        new_categories = () if terms is None else categories
        rows = np.array([row], dtype=np.intp)
        pieces, _, places = self._replaced(rows, new_categories, terms or ())
        positions = [self._position(category) for category in categories]
        in_category = np.isin(self._category[places], positions)
        is_marked = in_category & (self.kind[places] < _ARTICLE)
        texts = []
        for piece, marked in zip(pieces.tolist(), is_marked.tolist(), strict=True):
            # Marks that the text has of its own are doubled, so that `unmarked` can tell them.
            text = re.sub("[⟦⟧]", r"\g<0>\g<0>", piece)
            texts.append(f"⟦{text}⟧" if marked else text)
        return "".join(texts)

    def _position(self, category: str) -> int:
        """Return the position of a category, or raise a UsageError where there is none."""
        first = self.lexicon.of(category)[0]
        return self.lexicon.categories.index(first.category)

    def _replaced(
        self, rows: Indices, categories: Sequence[str], terms: Sequence[Term]
    ) -> tuple[Objects, Indices, Indices]:
        """Return the pieces of these texts with other terms.

        Then where each text ends among them, and where the pieces are from.
        """
        starts = self.starts[rows]
        lengths = self.starts[rows + 1] - starts
        ends = np.concatenate([[0], np.cumsum(lengths)])
        # The places of the pieces of all these texts: a run of numbers from each start.
        shifts = np.repeat(starts - ends[:-1], lengths)
        places = np.arange(ends[-1]) + shifts
        pieces = self.pieces[places]
        own_terms = self.term[places]
        own_categories = self._category[places]
        for category, term in zip(categories, terms, strict=True):
            known = self.lexicon.of(category)
            if term not in known:
                raise UsageError(
                    f"category {category!r} has no term {str(term)!r};"
                    f" {nearest(term, map(str, known))}"
                )
            in_category = own_categories == self._position(category)
            changes = in_category & (own_terms != self.lexicon.terms.index(term))
            kinds = self.kind[places[changes]]
            pieces[changes] = written(term)[kinds]
        return pieces, ends, places


def find(texts: Sequence[str], lexicon: Lexicon) -> Matches:
    """Find every term of the lexicon in texts.

    Terms are whole words, in any case and spacing, and of two that begin together the longer one.

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
        _append_pieces(text, forms, pattern, pieces, kinds)
        starts.append(len(pieces))
    packed = np.empty(len(pieces), dtype=object)
    packed[:] = pieces
    columns = np.array(kinds, dtype=np.intp).reshape(-1, 2).T
    term, kind = columns.copy()
    return Matches(
        texts,
        lexicon,
        pieces=packed,
        starts=np.array(starts, dtype=np.intp),
        term=term,
        kind=kind,
    )


def _append_pieces(
    text: str,
    forms: dict[str, _Form],
    pattern: re.Pattern[str],
    pieces: list[str],
    kinds: list[tuple[int, int]],
) -> None:
    """Cut a text into pieces; append them, and the term and kind of each."""
    folded = fold(text)
    done = 0
    for match in pattern.finditer(folded):
        article = match[_ARTICLE_GROUP]
        start, end = match.span(_AFTER_ARTICLE_GROUP if article else _ALONE_GROUP)
        # Words may be spaced and hyphenated otherwise than in the lexicon.
        found = folded[start:end]
        form = forms.get(found) or forms[" ".join(words(found))]
        kind = form.number + _case(text[start:end], form)
        # An article that does not agree with its term is none that was written for it.
        if article and (article == "an") == form.vowel:
            article_start, article_end = match.span(_ARTICLE_GROUP)
            article_text = text[article_start:article_end]
            article_kind = _ARTICLE + form.number + _article_case(article_text, kind)
            pieces += (text[done:article_start], article_text)
            kinds += (_STAYS, (form.term, article_kind))
            done = article_end
        pieces += (text[done:start], text[start:end])
        kinds += (_STAYS, (form.term, kind))
        done = end
    pieces.append(text[done:])
    kinds.append(_STAYS)


def unmarked(text: str) -> str:
    """Return a text of `Matches.marked` without its marks.

    >>> unmarked("I am a ⟦gay⟧ man")
    'I am a gay man'
    """
    return re.sub("([⟦⟧])(\\1?)", r"\2", text)


def texts_of(given: Any, where: str = "texts") -> list[str]:
    """Return texts that a user gave as a list, an array or a column of any dataframe.

    >>> texts_of(["one", None])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    evenhand.runtime.errors.DataError: texts: text 1 is None; leave it out, or write a text ...
    """
    if isinstance(given, str | bytes | Mapping | Set) or hasattr(given, "columns"):
        raise DataError(
            f"{where}: a {type(given).__name__} is not a list of texts; give a list or one column"
            " of texts"
        )
    try:
        texts = list(_as_list(given))
    except TypeError:
        raise DataError(
            f"{where}: {clip(repr(given))} is not a list of texts; give a list or one column"
        ) from None
    if not texts:
        raise DataError(f"{where}: there are no texts; give at least one")
    for row, text in enumerate(texts):
        if not isinstance(text, str):
            raise DataError(
                f"{where}: text {row} is {clip(repr(text))}; leave it out, or write a text in its"
                " place"
            )
    return [str(text) for text in texts]


def _as_list(given: Any) -> Any:
    """Return the values of an array or a column as a list, and anything else as it is."""
    for method in ("to_list", "tolist", "to_pylist"):
        if hasattr(given, method):
            return getattr(given, method)()
    return given


class _Form(NamedTuple):
    """A way in which a term is written, its letters aside."""

    term: int
    number: int
    vowel: bool
    spelt: bool
    """Whether it is written in capitals anyway, such as LGBT."""


def _forms(lexicon: Lexicon) -> dict[str, _Form]:
    """Return the forms of all terms by their words."""
    forms: dict[str, _Form] = {}
    for index, term in enumerate(lexicon.terms):
        for number, text in ((0, term.text), (_PLURAL, term.plural)):
            if text is None:
                continue
            is_spelt = text.isupper() or _acronym(text)
            form = _Form(index, number, _vowel_sound(text), is_spelt)
            # The singular comes first: a noun may have the same plural.
            forms.setdefault(" ".join(words(text)), form)
    return forms


_ALONE_GROUP = 1
_ARTICLE_GROUP = 2
_AFTER_ARTICLE_GROUP = 4
"""The groups of `_pattern`: a term, or an article, white space and a term."""


def _pattern(forms: Mapping[str, _Form]) -> re.Pattern[str]:
    """Return a pattern of all forms, the longest first, and of the article before them."""
    longest = sorted(forms, key=_longest_first)
    # By first letter: most words of a text are then refused at once, however many terms there are.
    letters = []
    for letter, group in groupby(longest, key=lambda form: form[0]):
        endings = "|".join(_ending_pattern(form[1:]) for form in group)
        letters.append(f"{re.escape(letter)}(?:{endings})")
    either = "|".join(letters)
    return re.compile(rf"(?<!\w)(?:({either})|(an?)(\s+)({either}))(?!\w)")


def _longest_first(form: str) -> tuple[str, int, int]:
    """Return the key that sorts forms by first letter, then the longest first."""
    return form[0], -form.count(" "), -len(form)


def _ending_pattern(ending: str) -> str:
    """Return a pattern of the rest of a term, with any gap between its words."""
    escaped = [re.escape(word) for word in ending.split(" ")]
    return GAP.pattern.join(escaped)


def _case(found: str, form: _Form) -> int:
    """Return which letters of a match are capital; an acronym in capitals is not shouted."""
    letters = sum(map(str.isalpha, found))
    if found.isupper() and letters > 1:
        return _AS_LISTED if form.spelt else _ALL
    if not found[:1].isupper():
        return _AS_LISTED
    parts = WORD.findall(found)
    if len(parts) > 1 and all(part[0].isupper() for part in parts):
        return _EACH
    return _FIRST


def _article_case(found: str, kind: int) -> int:
    """Return which letters of an article are capital, given the kind of its term."""
    if not found[0].isupper():
        return _AS_LISTED
    # Whether a single A is shouted shows in the term that follows.
    is_shouted = found == "AN" or (found == "A" and kind % _CASES == _ALL)
    return _ALL if is_shouted else _FIRST


@lru_cache(1024)
def written(term: Term) -> Objects:
    """Return the term in each of its forms, and the articles before them, by kind."""
    forms = np.empty(2 * _ARTICLE, dtype=object)
    for number, text in ((0, term.text), (_PLURAL, term.many)):
        article = "an" if _vowel_sound(text) else "a"
        forms[number : number + _CASES] = _cases(text)
        start = _ARTICLE + number
        forms[start : start + _CASES] = _cases(article)
    return forms


def _cases(text: str) -> tuple[str, str, str, str]:
    """Return a text in the four cases, in their order."""

    def capital(match: re.Match[str]) -> str:
        word = match[0]
        if _acronym(word):
            return word.upper()
        return word[:1].upper() + word[1:]

    first = WORD.sub(capital, text, count=1)
    each = WORD.sub(capital, text)
    return text, first, each, text.upper()


def _acronym(word: str) -> bool:
    """Return whether a word can only be spelt out, such as lgbt."""
    if not word.isascii() or not word.isalpha():
        return False
    return set("aeiouy").isdisjoint(fold(word))


def _vowel_sound(text: str) -> bool:
    """Return whether a term takes "an": by its sound, as far as its letters tell it.

    >>> [_vowel_sound(term) for term in ("atheist", "european", "lgbt", "hispanic", "heir")]
    [True, False, True, False, True]
    >>> [_vowel_sound(term) for term in ("uninsured", "18 year old")]
    [True, True]
    """
    word = words(text)[0]
    if _acronym(word):
        return word[0] in "fhlmnrsx"  # the names of these letters begin with a vowel
    if word[0] in "18":
        return re.match(r"8|1[18](?!\d)", word) is not None  # eight, eleven, eighteen
    if word.startswith(_SILENT):
        return True
    # Without its accent: é is a vowel too.
    first_letter = unicodedata.normalize("NFD", word)[0]
    return first_letter in "aeiou" and _SOUNDS_OTHERWISE.match(word) is None
