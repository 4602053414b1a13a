"""All variants of texts at once, for scikit-learn pipelines that begin by counting words.

Variants of a text differ only around the terms that are replaced, so the counts of a variant are
those of the text, less those of some windows as they stand, plus those of the windows as they are
written: a window is a term with as many words on both sides as an n-gram can reach. Counts are
whole numbers, so the sums are exact, and the later steps of the pipeline see the very matrix that
its vectoriser would have made of the variants.
"""

from __future__ import annotations

import re
from array import array
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from evenhand.texts.forms import written
from evenhand.texts.text_subject import text_subject_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from evenhand.texts.lexicon import Term
    from evenhand.texts.matching import Indices, Matches
    from evenhand.texts.text_adapter import TextEstimator
    from evenhand.texts.text_subject import TextSubject

    _Tokens = tuple[str, ...]
    _Parts = tuple[str | "_Slot", ...]


_BYTES_AT_ONCE = 64_000_000
"""About as much memory as the counts of variants take at once."""
_BYTES_PER_COUNT = 48
_ATOM = r"(?:\\[wSd]|\[(?:\\[wSd]|[\w'’&@#.-])+\])"
_WITHOUT_SPACES = re.compile(
    rf"(?:\(\?u\))?(?:\\b)?(?:{_ATOM}(?:[+*?]|\{{\d+(?:,\d*)?\}})?)+(?:\\b)?"
)
"""Patterns of tokens that hold no white space, and look no further than the next letter."""
_OTHER_SPACES = "\t\n\r\f\v"


def linear_path(model: Any) -> LinearPath | None:
    """Return the fast path of a pipeline that begins by counting words, or None.

    A subject that keeps a ledger has none either, since each of its texts is to be written down.

    >>> from sklearn.feature_extraction.text import HashingVectorizer, TfidfVectorizer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> texts, labels = ["good film", "bad film"], [1, 0]
    >>> for first in (TfidfVectorizer(), HashingVectorizer()):
    ...     model = make_pipeline(first, LogisticRegression()).fit(texts, labels)
    ...     print(linear_path(model) is not None)
    True
    False
    """
    from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
    from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
    from sklearn.pipeline import Pipeline

    subject = text_subject_of(model)
    pipeline = subject.model
    if isinstance(pipeline, GridSearchCV | RandomizedSearchCV):
        pipeline = pipeline.best_estimator_
    if subject.keeps_ledger or type(pipeline) is not Pipeline or len(pipeline) < 2:
        return None
    # Types, not isinstance: a subclass may count otherwise.
    first = pipeline[0]
    if type(first) not in (CountVectorizer, TfidfVectorizer):
        return None
    if first.analyzer != "word" or first.input != "content":
        return None
    is_custom = first.preprocessor is not None or first.tokenizer is not None
    if is_custom or callable(first.strip_accents):
        return None
    if not _WITHOUT_SPACES.fullmatch(first.token_pattern):
        return None
    return LinearPath(subject, pipeline)


class LinearPath:
    """The variants of texts, decided by the later steps of a pipeline.

    The counts that these steps take are put together from those of texts and windows.
    """

    def __init__(self, subject: TextSubject, pipeline: Any) -> None:
        first = pipeline[0]
        self.subject = subject
        self._rest = cast("TextEstimator", subject.adapter).after(pipeline[1:])
        self._binary = first.binary
        self._weigh = getattr(first, "_tfidf", None)
        self._grams = _Grams(first)
        self._matches: Matches | None = None

    def decide(
        self,
        matches: Matches,
        rows: Indices,
        categories: Sequence[str],
        terms: Sequence[Sequence[Term]],
    ) -> NDArray[Any]:
        """Return the outcomes of texts with other terms, by text and by combination of terms.

        They are those of ``subject.decide(matches.write(rows, categories, combination))`` for each
        combination, which has one term for each category.
        """
        chosen = np.asarray(rows, dtype=np.intp)
        texts = len(chosen)
        combinations = len(terms)
        if not texts or not combinations:
            return np.empty((texts, combinations), dtype=object)
        windows = _Windows(self._grams, matches, categories, terms)
        owner, template = windows.of(chosen)
        counts = windows.counts()
        # The counts of each text without its windows, to which each variant adds its own.
        standing = _summed(owner, windows.standing(template), texts, counts)
        base = self._counted(matches, chosen) - standing
        counts_per_text = 1 + base.nnz / texts
        bytes_per_text = _BYTES_PER_COUNT * combinations * counts_per_text
        at_once = max(1, int(_BYTES_AT_ONCE / bytes_per_text))
        parts = []
        for start in range(0, texts, at_once):
            size = min(at_once, texts - start)
            first, end = np.searchsorted(owner, [start, start + at_once])
            # Variants are numbered text by text.
            position = owner[first:end, None] - start
            variants = position * combinations + np.arange(combinations)
            written_windows = windows.written(template[first:end])
            added = _summed(variants, written_windows, size * combinations, counts)
            repeated = np.repeat(np.arange(start, start + size), combinations)
            parts.append(self._answered(base[repeated] + added))
        return np.concatenate(parts).reshape(texts, combinations)

    def _answered(self, counts: Any) -> NDArray[Any]:
        """Return the outcomes that the later steps make of counts."""
        if self._binary:
            counts.data.fill(1)
        features = counts
        if self._weigh is not None:
            features = self._weigh.transform(counts, copy=False)
        return self.subject.answer(features, counts.shape[0], self._rest)

    def _counted(self, matches: Matches, rows: Indices) -> Any:
        """Return the counts of texts as they stand.

        Each text is counted once for as long as the matches stay.
        """
        from scipy import sparse

        if self._matches is not matches:
            self._matches = matches
            self._known = self._grams.counts([])
            self._place = np.full(len(matches.texts), -1)
        new = np.unique(rows[self._place[rows] < 0])
        if len(new):
            fresh = self._grams.counts(self._columns_of(matches, new))
            known = self._known.shape[0]
            self._place[new] = known + np.arange(len(new))
            self._known = sparse.vstack([self._known, fresh], format="csr")
        return self._known[self._place[rows]]

    def _columns_of(self, matches: Matches, rows: Indices) -> Iterator[list[int]]:
        """Yield the columns that are counted in each text."""
        # As they are in pieces: the noun after a vacant place may have lost its capital.
        for text in matches.write(rows, (), ()):
            tokens = self._grams.split(text)
            yield self._grams.columns((), tokens, ())


def _summed(owner: Indices, window: Indices, size: int, counts: Any) -> Any:
    """Return for each owner the sum of the counts of its windows."""
    ones = np.ones(window.size, dtype=counts.dtype)
    places = (owner.ravel(), window.ravel())
    # A matrix with a 1 for each window of an owner; times the counts, it adds them up.
    windows = counts.shape[0]
    membership = type(counts)((ones, places), shape=(size, windows))
    sums = membership @ counts
    sums.sort_indices()
    return sums


class _Grams:
    """What a fitted vectoriser of words counts in texts, and in pieces that end at white space.

    >>> from sklearn.feature_extraction.text import CountVectorizer
    >>> vectoriser = CountVectorizer(ngram_range=(1, 2), stop_words=["the"])
    >>> grams = _Grams(vectoriser.fit(["on the old mat"]))
    >>> grams.tokens("Under the"), grams.columns(("so",), ("old", "mat"), ())
    (('under',), [1, 0, -1, 2])
    >>> grams.near("the mat again", after=True)
    ('mat',)
    """

    def __init__(self, vectoriser: Any) -> None:
        self.least, self.most = vectoriser.ngram_range
        self._vocabulary = vectoriser.vocabulary_
        self._prepare = vectoriser.build_preprocessor()
        self._split = vectoriser.build_tokenizer()
        self._left_out = vectoriser.get_stop_words()
        self._kind = type(vectoriser.transform([""]))
        self._dtype = vectoriser.dtype
        self._known: dict[str, _Tokens] = {}

    def split(self, text: str) -> _Tokens:
        """Return the tokens that n-grams are made of."""
        tokens = self._split(self._prepare(text))
        if self._left_out is None:
            return tuple(tokens)
        return tuple(token for token in tokens if token not in self._left_out)

    def tokens(self, piece: str) -> _Tokens:
        """Return the tokens of a piece that comes up again and again."""
        tokens = self._known.get(piece)
        if tokens is None:
            tokens = self.split(piece)
            self._known[piece] = tokens
        return tokens

    def columns(self, before: _Tokens, tokens: _Tokens, after: _Tokens) -> list[int]:
        """Return the columns of the n-grams that hold any of these tokens, -1 for unknown ones.

        N-grams reach into the tokens before and after; those of the neighbours alone are left out.
        """
        grams = [*tokens] if self.least == 1 else []
        for size in range(max(self.least, 2), self.most + 1):
            reach = size - 1
            near = before[-reach:] + tokens + after[:reach]
            shifted = [near[offset:] for offset in range(size)]
            grams += map(" ".join, zip(*shifted, strict=False))
        get = self._vocabulary.get
        return [get(gram, -1) for gram in grams]

    def counts(self, found: Iterable[list[int]]) -> Any:
        """Return a matrix of counts with a row for each list of columns."""
        listed = array("i")
        ends = [0]
        for row in found:
            listed.extend(row)
            ends.append(len(listed))
        columns = np.frombuffer(listed, dtype=np.intc)
        is_known = columns >= 0
        known_before = np.concatenate([[0], np.cumsum(is_known)])
        bounds = known_before[ends]
        ones = np.ones(bounds[-1], dtype=self._dtype)
        shape = (len(ends) - 1, len(self._vocabulary))
        counts = self._kind((ones, columns[is_known], bounds), shape=shape)
        counts.sum_duplicates()
        return counts

    def near(self, text: str, *, after: bool) -> _Tokens:
        """Return as many of the first or last tokens as an n-gram can reach, or all if fewer."""
        reach = self.most - 1
        # A word may hold no token, so more and more words are looked at.
        most = 2 * reach
        while reach:
            words = text.split(" ", most) if after else text.rsplit(" ", most)
            has_more = len(words) > most
            if has_more:
                words.pop(-1 if after else 0)  # what was not split
            tokens: _Tokens = ()
            for word in words:
                tokens += self.tokens(word)
            if not has_more or len(tokens) >= reach:
                return tokens[:reach] if after else tokens[-reach:]
            most *= 4
        return ()


class _Slot(NamedTuple):
    """A piece of a text that changes with the term of a category."""

    category: int
    own: int
    """The term that stands there."""
    kind: int
    """Its number and case, and whether it is the article before it."""
    text: str


class _Template(NamedTuple):
    """A window with its slots open: texts and slots in turn, between tokens that stay."""

    before: _Tokens
    parts: _Parts
    after: _Tokens


class _TermChoices(NamedTuple):
    """The different terms that some categories have among the combinations."""

    number: int
    terms: list[dict[int, int]]
    pick: Indices
    """Which of the terms each combination has."""


class _Windows:
    """The windows of texts in which terms are replaced.

    For each template it has the window as it stands, then those with its terms in turn.

    Terms that an n-gram can reach together are in one window, which may depend on the terms of
    several categories.
    """

    def __init__(
        self,
        grams: _Grams,
        matches: Matches,
        categories: Sequence[str],
        terms: Sequence[Sequence[Term]],
    ) -> None:
        nowhere = np.empty(0, dtype=np.intp)
        for place, category in enumerate(categories):
            for term in dict.fromkeys(combination[place] for combination in terms):
                # Nothing is written; it raises an error for a term of another category.
                matches.write(nowhere, [category], [term])
        known = matches.lexicon.terms
        self._grams = grams
        self._matches = matches
        self._pieces = matches.pieces.tolist()
        self._forms = [written(term).tolist() for term in known]
        codes = []
        for combination in terms:
            codes.append([known.index(term) for term in combination])
        self._codes = np.array(codes)
        self._category = np.full(len(matches.term), -1)
        for place, category in enumerate(categories):
            self._category[matches.slots(category)] = place
        self._templates: dict[_Template, int] = {}
        self._size = 0
        self._starts: list[int] = []
        self._choice: list[int] = []
        self._choices: dict[tuple[int, ...], _TermChoices] = {}
        self._written: dict[_Parts, list[_Tokens]] = {}

    def of(self, rows: Indices) -> tuple[Indices, Indices]:
        """Return the text of each window, as its position in `rows`, and the window's template.

        Windows are in the order of the texts, and from left to right.
        """
        slots = np.flatnonzero(self._category >= 0)
        places = slots.tolist()
        starts = self._matches.starts
        first_slots = np.searchsorted(slots, starts[rows]).tolist()
        end_slots = np.searchsorted(slots, starts[rows + 1]).tolist()
        found = []
        for position, row in enumerate(rows.tolist()):
            row_slots = places[first_slots[position] : end_slots[position]]
            if row_slots:
                for template in self._templates_of(row, row_slots):
                    found.append((position, self._number(template)))
        pairs = np.array(found, dtype=np.intp).reshape(-1, 2)
        owner, numbers = pairs.T
        return owner, numbers

    def standing(self, templates: Indices) -> Indices:
        """Return the window of each template as it stands."""
        starts = np.array(self._starts, dtype=np.intp)
        return np.asarray(starts[templates])

    def written(self, templates: Indices) -> Indices:
        """Return the window of each template with each combination of terms."""
        combinations = len(self._codes)
        picks = [choices.pick for choices in self._choices.values()]
        pick_table = np.array(picks, dtype=np.intp).reshape(-1, combinations)
        choice = np.array(self._choice, dtype=np.intp)[templates]
        first_written = self.standing(templates) + 1
        return np.asarray(first_written[:, None] + pick_table[choice])

    def counts(self) -> Any:
        """Return the counts of each window, without what all windows of a template share."""
        return self._grams.counts(self._columns())

    def _columns(self) -> Iterator[list[int]]:
        for template in self._templates:
            for tokens in self._written[template.parts]:
                yield self._grams.columns(template.before, tokens, template.after)

    def _templates_of(self, row: int, slots: list[int]) -> Iterator[_Template]:
        """Yield the windows of one text from left to right."""
        pieces = self._pieces
        near = self._grams.near
        begin, end = self._matches.starts[row : row + 2].tolist()
        # A window begins and ends at white space, so that its tokens are those of the text.
        text_before = _plain(pieces[begin : slots[0]])
        middle, _, touching = text_before.rpartition(" ")
        before = near(middle, after=False)
        parts: list[str | _Slot] = [touching]
        for slot, next_slot in zip(slots, [*slots[1:], end], strict=True):
            parts.append(self._slot(slot))
            between = _plain(pieces[slot + 1 : next_slot])
            touching, space, others = between.partition(" ")
            if next_slot == end:
                yield _Template(before, (*parts, touching), near(others, after=True))
                return
            middle, _, next_touching = others.rpartition(" ")
            after = near(middle, after=True)
            if space and len(after) == self._grams.most - 1:
                # No n-gram reaches from this slot to the next one.
                yield _Template(before, (*parts, touching), after)
                before = near(middle, after=False)
                parts = [next_touching]
            else:
                parts.append(between)

    def _slot(self, piece: int) -> _Slot:
        return _Slot(
            category=int(self._category[piece]),
            own=int(self._matches.term[piece]),
            kind=int(self._matches.kind[piece]),
            text=self._pieces[piece],
        )

    def _number(self, template: _Template) -> int:
        """Return the number of a template; its windows follow those of the templates before it."""
        number = self._templates.setdefault(template, len(self._templates))
        if number == len(self._starts):
            choices = self._choices_of(template)
            if template.parts not in self._written:
                standing = self._filled(template.parts, {})
                others = [self._filled(template.parts, terms) for terms in choices.terms]
                self._written[template.parts] = [standing, *others]
            self._starts.append(self._size)
            self._choice.append(choices.number)
            self._size += 1 + len(choices.terms)
        return number

    def _choices_of(self, template: _Template) -> _TermChoices:
        """Return the different terms that the categories of a template's slots can have."""
        slots = [part for part in template.parts if isinstance(part, _Slot)]
        categories = tuple(sorted({slot.category for slot in slots}))
        choices = self._choices.get(categories)
        if choices is None:
            # Combinations that differ only in other categories write the same window.
            codes = self._codes[:, categories]
            distinct, pick = np.unique(codes, axis=0, return_inverse=True)
            terms = [dict(zip(categories, row, strict=True)) for row in distinct.tolist()]
            choices = _TermChoices(len(self._choices), terms, pick.ravel())
            self._choices[categories] = choices
        return choices

    def _filled(self, parts: _Parts, terms: dict[int, int]) -> _Tokens:
        """Return the tokens of a window whose slots hold the terms of their categories.

        A slot whose category has no term keeps what stands there.
        """
        texts = []
        for part in parts:
            if isinstance(part, str):
                texts.append(part)
                continue
            term = terms.get(part.category, part.own)
            is_same = term == part.own
            texts.append(part.text if is_same else self._forms[term][part.kind])
        return self._grams.split("".join(texts))


def _plain(pieces: list[str]) -> str:
    """Return pieces as one text, in which every white space that surely ends a token is a blank."""
    text = "".join(pieces)
    for space in _OTHER_SPACES:
        text = text.replace(space, " ")
    return text
