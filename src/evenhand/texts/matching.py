"""Find sensitive terms in texts, and write the texts with other terms (TestSGD, section 4.2).

Texts are matched once and kept as pieces, so that writing them with another term is taking some
pieces from elsewhere and joining, without a pattern. A piece that may change knows its term and its
form: number and letter case, so that `GAYS` becomes `MUSLIMS`. The article before a term is such a
piece too, where it agreed with the term. A vacant place takes the term of any category that its
text does not name, one category at a time.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Set
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evenhand.runtime.errors import DataError, UsageError, clip, nearest
from evenhand.texts.forms import (
    ADJECTIVE,
    ARTICLE,
    BEFORE_ADJECTIVE,
    PLURAL,
    acronym,
    article_case,
    case_of,
    vowel_sound,
    written,
)
from evenhand.texts.lexicon import GAP, fold, words

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from evenhand.texts.lexicon import Lexicon, Term

    Flags = NDArray[np.bool_]
    Indices = NDArray[np.intp]
    Objects = NDArray[np.object_]

_STAYS = (-1, 0)
"""The term and kind of a piece that is not a match."""


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
    """The position in the lexicon of each piece's term, -1 where the piece stays as it is.

    It is the number of all terms where the place is vacant.
    """
    kind: Indices
    """The number and case of each piece, and whether it is an article."""
    sexes: Sequence[str] = ()
    """Which sex the noun after the vacant place of each text tells: "women", "men" or neither."""

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
        is_match = (self.term >= 0) & (self.kind < ARTICLE)
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

    @cached_property
    def has(self) -> Flags:
        """Whether each text has a term of each category."""
        shape = (len(self.texts), len(self.lexicon.categories))
        found = np.zeros(shape, dtype=np.bool_)
        rows, category, _ = self._matched
        found[rows, category] = True
        return found

    @cached_property
    def _vacant(self) -> tuple[Indices, Indices]:
        """The vacant pieces, and the text of each."""
        places = np.flatnonzero(self.term == len(self.lexicon))
        rows = np.searchsorted(self.starts, places, side="right") - 1
        return places, rows

    def slots(self, category: str) -> Flags:
        """Return which pieces change with the term of a category.

        A vacant place takes no term of a category that its text names already.
        """
        number = self._position(category)
        is_slot = self._slots.get(number)
        if is_slot is None:
            is_slot = np.asarray(self._category == number)
            places, rows = self._vacant
            is_free = ~self.has[rows, number]
            is_slot[places[is_free]] = True
            self._slots[number] = is_slot
        return is_slot

    @cached_property
    def _slots(self) -> dict[int, Flags]:
        """The pieces that change with the term of a category, by the position of the category."""
        return {}

    def takes(self, category: str) -> Flags:
        """Return whether each text can be written with each term of a category.

        >>> from evenhand.texts.lexicon import Lexicon
        >>> find(["an old man", "a man"], Lexicon.default()).takes("age").any(axis=1).tolist()
        [True, False]
        """
        terms = self.lexicon.of(category)
        named = self.has[:, self._position(category)]
        fits = np.repeat(named[:, None], len(terms), axis=1)
        if not self.sexes:
            return fits
        _, rows = self._vacant
        is_open = ~named
        is_open &= np.bincount(rows, minlength=len(named)) > 0
        sexes = np.array(self.sexes)
        for sex in np.unique(sexes[is_open]).tolist():
            fits[is_open & (sexes == sex)] = [term.fits(sex) for term in terms]
        return fits

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
        is_marked = in_category & (self.kind[places] < ARTICLE)
        if terms is not None:
            is_marked |= self._filled(places, categories)
        texts = []
        for piece, marked in zip(pieces.tolist(), is_marked.tolist(), strict=True):
            # Marks that the text has of its own are doubled, so that `unmarked` can tell them.
            text = re.sub("[⟦⟧]", r"\g<0>\g<0>", piece)
            texts.append(f"⟦{text}⟧" if marked else text)
        return "".join(texts)

    def _filled(self, places: Indices, categories: Sequence[str]) -> Flags:
        """Return which pieces are vacant places that take a term of one of some categories."""
        kinds = self.kind[places]
        is_filled = np.zeros(len(places), dtype=np.bool_)
        for category in categories:
            is_filled |= self.slots(category)[places]
        return np.asarray(is_filled & (kinds >= ADJECTIVE) & (kinds < BEFORE_ADJECTIVE))

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
        for category, term in zip(categories, terms, strict=True):
            known = self.lexicon.of(category)
            if term not in known:
                raise UsageError(
                    f"category {category!r} has no term {str(term)!r};"
                    f" {nearest(term, map(str, known))}"
                )
            in_category = self.slots(category)[places]
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
    search = TermSearch(lexicon)
    pieces = Pieces()
    for text in texts:
        pieces.add(text, search.spans(text))
    return pieces.matches(texts, lexicon)


class Span(NamedTuple):
    """A part of a text that changes with a term."""

    start: int
    end: int
    term: int
    kind: int
    text: str | None = None
    """What is written in its place as the text stands, where that is something else."""


class Pieces:
    """Texts as pieces, one text after the other."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._kinds: list[tuple[int, int]] = []
        self._starts = [0]

    def add(self, text: str, spans: Iterable[Span]) -> None:
        """Cut a text into pieces at its spans, which are in order."""
        done = 0
        for span in spans:
            own = text[span.start : span.end] if span.text is None else span.text
            self._pieces += (text[done : span.start], own)
            self._kinds += (_STAYS, (span.term, span.kind))
            done = span.end
        self._pieces.append(text[done:])
        self._kinds.append(_STAYS)
        self._starts.append(len(self._pieces))

    def matches(
        self, texts: Sequence[str], lexicon: Lexicon, sexes: Sequence[str] = ()
    ) -> Matches:
        """Return the texts that were added as `Matches`."""
        packed = np.empty(len(self._pieces), dtype=object)
        packed[:] = self._pieces
        columns = np.array(self._kinds, dtype=np.intp).reshape(-1, 2).T
        term, kind = columns.copy()
        starts = np.array(self._starts, dtype=np.intp)
        return Matches(texts, lexicon, packed, starts, term, kind, sexes)


class TermSearch:
    """Looks for the terms of a lexicon in one text after the other."""

    def __init__(self, lexicon: Lexicon) -> None:
        self._forms = _forms(lexicon)
        self._pattern = _pattern(self._forms)

    def spans(self, text: str) -> list[Span]:
        """Return the terms of a text and their articles, from left to right."""
        folded = fold(text)
        found = []
        for match in self._pattern.finditer(folded):
            article = match[_ARTICLE_GROUP]
            start, end = match.span(_AFTER_ARTICLE_GROUP if article else _ALONE_GROUP)
            # Words may be spaced and hyphenated otherwise than in the lexicon.
            words_found = folded[start:end]
            form = self._forms.get(words_found) or self._forms[" ".join(words(words_found))]
            kind = form.number + case_of(text[start:end], spelt=form.spelt)
            # An article that does not agree with its term is none that was written for it.
            if article and (article == "an") == form.vowel:
                article_start, article_end = match.span(_ARTICLE_GROUP)
                article_text = text[article_start:article_end]
                article_kind = ARTICLE + form.number + article_case(article_text, kind)
                found.append(Span(article_start, article_end, form.term, article_kind))
            found.append(Span(start, end, form.term, kind))
        return found


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
        for number, text in ((0, term.text), (PLURAL, term.plural)):
            if text is None:
                continue
            is_spelt = text.isupper() or acronym(text)
            form = _Form(index, number, vowel_sound(text), is_spelt)
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
