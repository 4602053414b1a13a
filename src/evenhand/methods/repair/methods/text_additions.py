"""Labelled texts, how they are split, and which are added to those that a model is trained on.

Added are twins of training texts, or texts with the opposite outcome (TestSGD, RQ3).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.repair import messages
from evenhand.methods.repair.rows import check_share, parted
from evenhand.runtime import number_text
from evenhand.runtime.errors import DataError, UsageError, clip, nearest
from evenhand.texts.matching import texts_of
from evenhand.texts.text_subject import TextSubject

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evenhand.methods.mine.texts.combinations import Family
    from evenhand.methods.repair.methods.text_gap import TermGap
    from evenhand.statistics.intervals import Floats
    from evenhand.texts.matching import Matches

    Labels = NDArray[Any]
    Generator = np.random.Generator
    Places = NDArray[np.intp]
    Texts = tuple[list[str], Labels]
    """Texts and their labels."""

ADDITIONS = ("twins", "paper", "both")
"""Which texts are added."""
SPARE_DRAWS = 3
"""How many twins are drawn for each that is wanted: a text as it stands is not a twin of itself,
which with two terms is one draw in two.
"""


@dataclass(frozen=True, eq=False)
class LabelledTexts:
    """Texts with their true labels."""

    texts: list[str]
    labels: Labels

    @classmethod
    def of(cls, texts: Any, labels: Any, where: str = "texts") -> LabelledTexts:
        """Read texts and labels as a user gave them.

        >>> LabelledTexts.of(["one", "two"], ["fine"])
        Traceback (most recent call last):
        evenhand.runtime.errors.DataError: there are 2 texts and y is of shape (1,); \
give a label for each
        """
        found = texts_of(texts, where)
        count = number_text.count(len(found))
        if labels is None:
            raise UsageError(messages.LABELS_MISSING.format(texts=count, where=where))
        if hasattr(labels, "to_list"):
            labels = labels.to_list()
        column = np.asarray(labels)
        if column.shape != (len(found),):
            message = messages.LABELS_OF_TEXTS_SHAPE.format(
                texts=count,
                where=where,
                shape=column.shape,
            )
            raise DataError(message)
        for label in column.tolist():
            if not isinstance(label, str | int) and not _is_whole(label):
                shown = clip(repr(label))
                raise DataError(messages.NOT_A_LABEL.format(label=shown))
        return cls(found, column)

    def take(self, rows: Places) -> LabelledTexts:
        """Return some of the texts."""
        texts = [self.texts[row] for row in rows.tolist()]
        return LabelledTexts(texts, self.labels[rows])

    def __len__(self) -> int:
        return len(self.texts)


def _is_whole(label: Any) -> bool:
    return isinstance(label, float) and label.is_integer()


def split_texts(
    texts: Any, y: Any, test: Any, validate: Any, seed: int
) -> tuple[LabelledTexts, LabelledTexts, LabelledTexts]:
    """Return texts for training, validation and test, with the shares of labels alike.

    >>> [len(part) for part in split_texts(["a", "b"] * 20, [0, 1] * 20, 0.25, 0.2, 0)]
    [24, 6, 10]
    """
    data = LabelledTexts.of(texts, y)
    rest, held = _apart(data, test, seed, "test")
    train, valid = _apart(rest, validate, seed, "validation")
    return train, valid, held


def _apart(
    data: LabelledTexts, part: Any, seed: int, name: str
) -> tuple[LabelledTexts, LabelledTexts]:
    """Return the texts that are left, and those set apart: a share, or texts that were given."""
    option = "test" if name == "test" else "validate"
    if not isinstance(part, tuple | list):
        check_share(option, part)
        rest, last = parted(data.labels, part, seed, name, stratify=True)
        return data.take(rest), data.take(last)
    if len(part) != 2:
        raise UsageError(messages.PART_NEITHER_SHARE_NOR_TEXTS.format(option=option))
    texts, labels = part
    where = "held-out texts" if name == "test" else "validation texts"
    held = LabelledTexts.of(texts, labels, where)
    return data, held


def twins(gap: TermGap, truth: Labels, n: int, rng: Generator) -> Texts:
    """Return up to `n` texts with other terms of the rule's categories, and their own true label.

    What is true of a text does not depend on the term, and this is what a model is to learn.

    >>> from evenhand.methods.repair.methods.text_gap import TermGap
    >>> from evenhand.texts.lexicon import Lexicon
    >>> lexicon = Lexicon.from_dict({"gender": ["gay", "straight"]})
    >>> gap = TermGap.of(["a gay man", "no term"], {"gender": lexicon.terms[0]}, lexicon)
    >>> texts, labels = twins(gap, np.array(["fine", "rude"]), 5, np.random.default_rng(0))
    >>> texts, labels.tolist()
    (['a straight man'], ['fine'])
    """
    family = gap.family
    matches = gap.matches
    # Each draw is a text with a combination of terms.
    every = len(family.rows) * family.rules
    draws = min(SPARE_DRAWS * n, every)
    drawn = rng.choice(every, draws, replace=False)
    place = drawn // family.rules
    chosen = drawn % family.rules
    rows = family.rows[place]
    own = _own_terms(family, matches, rows)
    other = np.flatnonzero(chosen != own)[:n]
    rows = rows[other]
    chosen = chosen[other]
    texts = np.empty(len(rows), dtype=object)
    for combination in np.unique(chosen).tolist():
        places = np.flatnonzero(chosen == combination)
        texts[places] = matches.write(
            rows[places],
            family.categories,
            family.terms[combination],
        )
    return texts.tolist(), truth[rows]


def _own_terms(family: Family, matches: Matches, rows: Places) -> Places:
    """Return which combination of terms each text has itself, -1 where it has no single one."""
    by_category = []
    for name in family.categories:
        terms = matches.own(name)
        by_category.append(terms[rows])
    own = np.array(by_category)
    sizes = [len(known) for known in family.choices]
    known_terms = tuple(np.maximum(own, 0))
    combination = np.ravel_multi_index(known_terms, sizes)
    unknown = (own < 0).any(axis=0)
    return np.where(unknown, -1, combination)


def opposite(
    gap: TermGap, subject: TextSubject, truth: Labels, n: int, *, up: bool
) -> tuple[Texts, int]:
    """Return up to `n` texts with the terms of a rule and the opposite outcome.

    These are texts to which the model already gives it (TestSGD, RQ3), and the second value is how
    many they are. Where there are too few, those that are nearest to it by the model's scores
    follow, and are labelled so.

    Parameters
    ----------
    subject
        The model before anything was added.
    up
        Whether texts with the terms are favoured less than others, so that favourable outcomes are
        wanted.

    >>> from evenhand.methods.repair.methods.text_gap import TermGap
    >>> from evenhand.texts.lexicon import Lexicon
    >>> lexicon = Lexicon.from_dict({"gender": ["gay", "straight"]})
    >>> gap = TermGap.of(["a straight line", "so gay!"], {"gender": lexicon.terms[0]}, lexicon)
    >>> model = TextSubject(lambda texts: ["!" not in text for text in texts], positive=True)
    >>> opposite(gap, model, np.array([True, False]), 1, up=True)[0][0]
    ['a gay line']
    """
    label = _wanted_label(subject, truth, up=up)
    texts = gap.written()
    outcomes = subject.decide(texts)
    favourable = subject.meaning.favourable(outcomes)
    has = favourable == up
    with_outcome = np.flatnonzero(has)
    rest = np.flatnonzero(~has)
    rest_texts = [texts[place] for place in rest.tolist()]
    scores = _scores(subject.model, label.item(), rest_texts)
    by_score = np.argsort(-scores, kind="stable")
    order = np.concatenate([with_outcome, rest[by_score]])
    order = order[:n]
    added = [texts[place] for place in order.tolist()]
    own = has[order]
    labels = np.where(own, outcomes[order], label)
    return (added, labels.astype(truth.dtype)), int(own.sum())


def _wanted_label(subject: TextSubject, truth: Labels, *, up: bool) -> Any:
    """Return the most common training label that is favourable, or that is not."""
    labels, counts = np.unique(truth, return_counts=True)
    favourable = subject.meaning.favourable(labels)
    wanted = favourable == up
    if wanted.any():
        candidates = labels[wanted]
        most_common = np.argmax(counts[wanted])
        return candidates[most_common]
    choices = nearest("", labels.tolist())
    if up:
        raise UsageError(messages.NO_LABEL_IS_FAVOURABLE.format(choices=choices))
    raise UsageError(messages.EVERY_LABEL_IS_FAVOURABLE.format(choices=choices))


def _scores(model: Any, label: Any, texts: Sequence[str]) -> Floats:
    """Return how near to a label a model takes texts to be; all alike where it has no scores."""
    classes = getattr(model, "classes_", ())
    two = len(classes) == 2
    scored = hasattr(model, "predict_proba") or hasattr(model, "decision_function")
    if not texts or not two or not scored:
        return np.zeros(len(texts))
    scorer = TextSubject(model, positive=label, output="score")
    scores = scorer.decide(texts)
    return scores.astype(np.float64)


def pool(
    gap: TermGap,
    subject: TextSubject,
    truth: Labels,
    add: str,
    n: int,
    rng: Generator,
    *,
    up: bool,
) -> tuple[list[str], Labels, str]:
    """Return labelled texts, of which each step adds the first few, and a note on their labels.

    Parameters
    ----------
    add
        ``"twins"``, or ``"paper"`` for texts with the opposite outcome, or ``"both"`` in turn.

    >>> from evenhand.methods.repair.methods.text_gap import TermGap
    >>> from evenhand.texts.lexicon import Lexicon
    >>> lexicon = Lexicon.from_dict({"gender": ["gay", "straight"]})
    >>> gap = TermGap.of(["a gay man", "no term"], {"gender": lexicon.terms[0]}, lexicon)
    >>> model = TextSubject(lambda texts: ["gay" not in text for text in texts], positive=True)
    >>> pool(gap, model, np.array([True, False]), "both", 5, np.random.default_rng(0), up=True)[0]
    ['a straight man', 'a gay man']
    """
    texts: list[str] = []
    labels = truth[:0]
    note = ""
    # Twins have the even places and the others the odd ones, so that they come in turn.
    places: list[int] = []
    if add != "paper":
        texts, labels = twins(gap, truth, n, rng)
        places += range(0, 2 * len(texts), 2)
    if add != "twins":
        added, own = opposite(gap, subject, truth, n, up=up)
        more_texts, more_labels = added
        texts = texts + more_texts
        labels = np.concatenate([labels, more_labels])
        places += range(1, 2 * len(more_texts) + 1, 2)
        if own < len(more_texts):
            note = messages.TEXTS_LABELLED_OTHERWISE.format(
                own=number_text.count(own),
                rule=gap.rule,
                others=number_text.count(len(more_texts) - own),
            )
    order = np.argsort(places, kind="stable")[:n]
    ordered = [texts[place] for place in order.tolist()]
    return ordered, labels[order], note
