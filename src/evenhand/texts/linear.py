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

from evenhand.texts.matching import written
from evenhand.texts.text_subject import text_subject_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from evenhand.texts.lexicon import Term
    from evenhand.texts.matching import Matches
    from evenhand.texts.text_subject import TextEstimator, TextSubject

    Indices = NDArray[np.intp]
    _Tokens = tuple[str, ...]

_BYTES_AT_ONCE = 64_000_000
_ATOM = r"(?:\\[wSd]|\[(?:\\[wSd]|[\w'’&@#.-])+\])"
_WITHOUT_SPACES = re.compile(
    rf"(?:\(\?u\))?(?:\\b)?(?:{_ATOM}(?:[+*?]|\{{\d+(?:,\d*)?\}})?)+(?:\\b)?"
)
"""Patterns of tokens that hold no white space, and look no further than the next letter."""
_OTHER_SPACES = "\t\n\r\f\v"


def linear_path(model: Any) -> LinearPath | None:
    """Return the fast path of a pipeline that begins by counting words; None where the software is
    no such pipeline.

    A subject that keeps a ledger has none either, since each of its texts is to be written down.

    >>> from sklearn.feature_extraction.text import HashingVectorizer, TfidfVectorizer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> for first in (TfidfVectorizer(), HashingVectorizer()):
    ...     model = make_pipeline(first, LogisticRegression()).fit(["good film", "bad film"], [1, 0])
    ...     print(linear_path(model) is not None)
    True
    False
    """
    from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
    from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
    from sklearn.pipeline import Pipeline

    subject = text_subject_of(model)
    searched = isinstance(subject.model, GridSearchCV | RandomizedSearchCV)
    found = subject.model.best_estimator_ if searched else subject.model
    if subject.keeps_ledger or type(found) is not Pipeline or len(found) < 2:
        return None
    first = found[0]
    if (
        type(first) not in (CountVectorizer, TfidfVectorizer)
        or first.analyzer != "word"
        or first.input != "content"
    ):
        return None
    if (
        first.preprocessor is not None
        or first.tokenizer is not None
        or callable(first.strip_accents)
    ):
        return None
    return LinearPath(subject, found) if _WITHOUT_SPACES.fullmatch(first.token_pattern) else None


class LinearPath:
    """The variants of texts, decided by the later steps of a pipeline from counts that are put
    together.
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
        """Return the outcomes of texts with other terms, by text and by combination of one term for
        each category.

        They are those of ``subject.decide(matches.write(rows, categories, combination))`` for each
        combination.
        """
        chosen = np.asarray(rows, dtype=np.intp)
        if not len(chosen) or not len(terms):
            return np.empty((len(chosen), len(terms)), dtype=object)
        windows = _Windows(self._grams, matches, categories, terms)
        owner, template = windows.of(chosen)
        counts = windows.counts()
        base = self._counted(matches, chosen) - _summed(
            owner, windows.standing(template), len(chosen), counts
        )
        at_once = max(1, int(_BYTES_AT_ONCE / (48 * len(terms) * (1 + base.nnz / len(chosen)))))
        parts = []
        for start in range(0, len(chosen), at_once):
            mine = slice(*np.searchsorted(owner, [start, start + at_once]))
            size = min(at_once, len(chosen) - start)
            variants = (owner[mine, None] - start) * len(terms) + np.arange(len(terms))
            added = _summed(variants, windows.written(template[mine]), size * len(terms), counts)
            parts.append(
                self._answered(base[np.repeat(np.arange(start, start + size), len(terms))] + added)
            )
        return np.concatenate(parts).reshape(len(chosen), len(terms))

    def _answered(self, counts: Any) -> NDArray[Any]:
        if self._binary:
            counts.data.fill(1)
        weighed = counts if self._weigh is None else self._weigh.transform(counts, copy=False)
        return self.subject.answer(weighed, counts.shape[0], self._rest)

    def _counted(self, matches: Matches, rows: Indices) -> Any:
        """Return the counts of texts as they stand, each of which is counted once for as long as
        the matches stay.
        """
        from scipy import sparse

        if self._matches is not matches:
            self._matches, self._known = matches, self._grams.counts([])
            self._place = np.full(len(matches.texts), -1)
        new = np.unique(rows[self._place[rows] < 0])
        if len(new):
            tokens = (self._grams.split(matches.texts[row]) for row in new.tolist())
            fresh = self._grams.counts(self._grams.columns((), found, ()) for found in tokens)
            self._place[new] = np.arange(len(new)) + self._known.shape[0]
            self._known = sparse.vstack([self._known, fresh], format="csr")
        return self._known[self._place[rows]]


def _summed(owner: Indices, window: Indices, size: int, counts: Any) -> Any:
    """Return for each owner the sum of the counts of its windows."""
    ones = np.ones(window.size, dtype=counts.dtype)
    found = (
        type(counts)((ones, (owner.ravel(), window.ravel())), shape=(size, counts.shape[0]))
        @ counts
    )
    found.sort_indices()
    return found


class _Grams:
    """What a fitted vectoriser of words counts in texts, and in pieces of them that begin and end
    at white space.

    >>> from sklearn.feature_extraction.text import CountVectorizer
    >>> grams = _Grams(CountVectorizer(ngram_range=(1, 2), stop_words=["the"]).fit(["on the old mat"]))
    >>> grams.tokens("Under the"), grams.columns(("so",), ("old", "mat"), ()), grams.near("the mat again", after=True)
    (('under',), [1, 0, -1, 2], ('mat',))
    """

    def __init__(self, vectoriser: Any) -> None:
        self.least, self.most = vectoriser.ngram_range
        self._vocabulary = vectoriser.vocabulary_
        self._prepare, self._split = vectoriser.build_preprocessor(), vectoriser.build_tokenizer()
        self._left_out = vectoriser.get_stop_words()
        self._kind, self._dtype = type(vectoriser.transform([""])), vectoriser.dtype
        self._known: dict[str, _Tokens] = {}

    def split(self, text: str) -> _Tokens:
        """Return the tokens that n-grams are made of."""
        found = self._split(self._prepare(text))
        return tuple(
            found
            if self._left_out is None
            else (token for token in found if token not in self._left_out)
        )

    def tokens(self, piece: str) -> _Tokens:
        """Return the tokens of a piece that comes up again and again."""
        found = self._known.get(piece)
        if found is None:
            found = self._known[piece] = self.split(piece)
        return found

    def columns(self, before: _Tokens, tokens: _Tokens, after: _Tokens) -> list[int]:
        """Return the columns of the n-grams of tokens among others, -1 for none, without those of
        the others alone.
        """
        made = [*tokens] if self.least == 1 else []
        for size in range(max(self.least, 2), self.most + 1):
            near = before[1 - size :] + tokens + after[: size - 1]
            made += map(" ".join, zip(*[near[at:] for at in range(size)], strict=False))
        get = self._vocabulary.get
        return [get(gram, -1) for gram in made]

    def counts(self, found: Iterable[list[int]]) -> Any:
        """Return a matrix of counts with a row for each list of columns."""
        listed, ends = array("i"), [0]
        for row in found:
            listed.extend(row)
            ends.append(len(listed))
        columns = np.frombuffer(listed, dtype=np.intc)
        counted = columns >= 0
        bounds = np.concatenate([[0], np.cumsum(counted)])[ends]
        shape = (len(ends) - 1, len(self._vocabulary))
        made = self._kind(
            (np.ones(bounds[-1], dtype=self._dtype), columns[counted], bounds), shape=shape
        )
        made.sum_duplicates()
        return made

    def near(self, text: str, *, after: bool) -> _Tokens:
        """Return as many of the first or last tokens as an n-gram can reach; fewer where there are
        no more.
        """
        reach = self.most - 1
        most = 2 * reach
        while reach:
            words = text.split(" ", most) if after else text.rsplit(" ", most)
            rest = len(words) > most
            if rest:
                words.pop(-1 if after else 0)
            tokens = tuple(token for word in words for token in self.tokens(word))
            if not rest or len(tokens) >= reach:
                return tokens[:reach] if after else tokens[-reach:]
            most *= 4
        return ()


class _Slot(NamedTuple):
    """A piece of a text that changes with the term of a category: its own term, its form, and what
    stands there.
    """

    category: int
    own: int
    kind: int
    text: str


class _Template(NamedTuple):
    """A window with its slots open: the tokens before it, texts and slots in turn, and the tokens
    after it.
    """

    before: _Tokens
    parts: tuple[str | _Slot, ...]
    after: _Tokens


class _Windows:
    """The windows of texts in which terms are replaced: for each template as it stands, then with
    its terms in turn.

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
        for place, category in enumerate(categories):
            for term in dict.fromkeys(combination[place] for combination in terms):
                matches.write(
                    np.empty(0, dtype=np.intp), [category], [term]
                )  # refuses what is no term of it
        known = matches.lexicon.terms
        self._grams, self._matches = grams, matches
        self._pieces = matches.pieces.tolist()
        self._forms = [written(term).tolist() for term in known]
        self._codes = np.array(
            [[known.index(term) for term in combination] for combination in terms]
        )
        # The last entry is for pieces that are no match, whose term is -1.
        order = [
            list(categories).index(term.category) if term.category in categories else -1
            for term in known
        ]
        self._category = np.array([*order, -1])[matches.term]
        self._templates: dict[_Template, int] = {}
        self._size = 0
        self._starts: list[int] = []
        self._choice: list[int] = []
        self._choices: dict[tuple[int, ...], tuple[int, list[dict[int, int]], Indices]] = {}
        self._written: dict[tuple[str | _Slot, ...], list[_Tokens]] = {}

    def of(self, rows: Indices) -> tuple[Indices, Indices]:
        """Return for each window in these texts, in order, the position of its text in `rows` and
        its template.
        """
        slots = np.flatnonzero(self._category >= 0)
        bounds = (
            np.searchsorted(slots, self._matches.starts[rows + later]).tolist() for later in (0, 1)
        )
        places = slots.tolist()
        found = [
            (position, self._number(template))
            for position, (row, low, high) in enumerate(zip(rows.tolist(), *bounds, strict=True))
            if low < high
            for template in self._templates_of(row, places[low:high])
        ]
        owner, template = np.array(found, dtype=np.intp).reshape(-1, 2).T
        return owner, template

    def standing(self, templates: Indices) -> Indices:
        """Return the window of each template as it stands."""
        return np.asarray(np.array(self._starts, dtype=np.intp)[templates])

    def written(self, templates: Indices) -> Indices:
        """Return the window of each template with each combination of terms."""
        picks = np.array([pick for _, _, pick in self._choices.values()], dtype=np.intp).reshape(
            -1, len(self._codes)
        )
        choice = np.array(self._choice, dtype=np.intp)[templates]
        return np.asarray(self.standing(templates)[:, None] + 1 + picks[choice])

    def counts(self) -> Any:
        """Return what is counted in each window, apart from what is the same in all windows of a
        template.
        """
        columns = self._grams.columns
        return self._grams.counts(
            columns(template.before, tokens, template.after)
            for template in self._templates
            for tokens in self._written[template.parts]
        )

    def _templates_of(self, row: int, slots: list[int]) -> Iterator[_Template]:
        """Yield the windows of one text from left to right."""
        matches, pieces, near = self._matches, self._pieces, self._grams.near
        begin, end = matches.starts[row : row + 2].tolist()
        middle, _, touching = _plain(pieces[begin : slots[0]]).rpartition(" ")
        before, parts = near(middle, after=False), cast("list[str | _Slot]", [touching])
        for slot, following in zip(slots, [*slots[1:], end], strict=True):
            place, term, kind = (
                int(values[slot]) for values in (self._category, matches.term, matches.kind)
            )
            parts.append(_Slot(place, term, kind, pieces[slot]))
            between = _plain(pieces[slot + 1 : following])
            touching, space, others = between.partition(" ")
            if following == end:
                yield _Template(before, (*parts, touching), near(others, after=True))
                return
            middle, _, next_touching = others.rpartition(" ")
            after = near(middle, after=True)
            if space and len(after) == self._grams.most - 1:
                yield _Template(before, (*parts, touching), after)
                before, parts = near(middle, after=False), [next_touching]
            else:
                parts.append(between)

    def _number(self, template: _Template) -> int:
        """Return the number of a template, whose windows follow those of the templates seen before
        it.
        """
        number = self._templates.setdefault(template, len(self._templates))
        if number == len(self._starts):
            categories = tuple(
                sorted({part.category for part in template.parts if isinstance(part, _Slot)})
            )
            if categories not in self._choices:
                found, pick = np.unique(self._codes[:, categories], axis=0, return_inverse=True)
                terms = [dict(zip(categories, row, strict=True)) for row in found.tolist()]
                self._choices[categories] = (len(self._choices), terms, pick.ravel())
            choice, terms, _ = self._choices[categories]
            if template.parts not in self._written:
                self._written[template.parts] = [
                    self._filled(template.parts, chosen) for chosen in ({}, *terms)
                ]
            self._starts.append(self._size)
            self._choice.append(choice)
            self._size += 1 + len(terms)
        return number

    def _filled(self, parts: tuple[str | _Slot, ...], terms: dict[int, int]) -> _Tokens:
        """Return the tokens of a window whose slots hold the terms of their categories, or else
        what stands there.
        """
        texts = []
        for part in parts:
            if isinstance(part, str):
                texts.append(part)
            else:
                term = terms.get(part.category, part.own)
                texts.append(part.text if term == part.own else self._forms[term][part.kind])
        return self._grams.split("".join(texts))


def _plain(pieces: list[str]) -> str:
    """Return pieces as one text, in which every white space that surely ends a token is a blank."""
    text = "".join(pieces)
    for space in _OTHER_SPACES:
        text = text.replace(space, " ")
    return text
