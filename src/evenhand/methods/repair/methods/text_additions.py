"""Repairing texts: how differently texts with some terms are treated, and labelled texts to add
(TestSGD, RQ3).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.mine.texts.combinations import MOST, Family, ask
from evenhand.methods.repair.change import PairedChange
from evenhand.methods.repair.rows import check_share, parted
from evenhand.runtime.budget import Meter
from evenhand.runtime.errors import DataError, UsageError, clip, nearest
from evenhand.runtime.random_streams import stream
from evenhand.space.rule import Rule
from evenhand.statistics.betting import bet
from evenhand.statistics.estimate import Amount, Estimate
from evenhand.statistics.intervals import check_level
from evenhand.statistics.simultaneous import absolute
from evenhand.texts.lexicon import words
from evenhand.texts.matching import find, texts_of
from evenhand.texts.text_subject import TextSubject

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evenhand.statistics.intervals import Floats
    from evenhand.texts.lexicon import Lexicon, Term
    from evenhand.texts.matching import Matches

    Ends = tuple[float, float]
    Texts = tuple[list[str], NDArray[Any]]
    """Texts and their labels."""

ADDITIONS = ("twins", "paper", "both")
"""Which texts are added."""
Columns = tuple["Floats", ...]
"""How texts are treated: within each text from -1 to 1, or those with the terms and all others,
from 0 to 1.
"""


@dataclass(frozen=True, eq=False)
class LabelledTexts:
    """Texts with their true labels."""

    texts: list[str]
    labels: NDArray[Any]

    @classmethod
    def of(cls, texts: Any, labels: Any, where: str = "texts") -> LabelledTexts:
        """Read texts and labels as a user gave them.

        >>> LabelledTexts.of(["one", "two"], ["fine"])
        Traceback (most recent call last):
        evenhand.runtime.errors.DataError: there are 2 texts and y is of shape (1,); give a label for each
        """
        found = texts_of(texts, where)
        if labels is None:
            raise UsageError(
                f"y is missing; give the true label of each of the {len(found):,} {where}"
            )
        column = np.asarray(labels.to_list() if hasattr(labels, "to_list") else labels)
        if column.shape != (len(found),):
            raise DataError(
                f"there are {len(found):,} {where} and y is of shape {column.shape}; give a label"
                " for each"
            )
        strange = [
            label
            for label in column.tolist()
            if not isinstance(label, str | int) and not _whole(label)
        ]
        if strange:
            raise DataError(
                f"y has {clip(repr(strange[0]))}, which is no label; texts are repaired by their"
                " labels"
            )
        return cls(found, column)

    def take(self, rows: NDArray[np.intp]) -> LabelledTexts:
        """Return some of the texts."""
        return LabelledTexts([self.texts[row] for row in rows.tolist()], self.labels[rows])

    def __len__(self) -> int:
        return len(self.texts)


def _whole(label: Any) -> bool:
    return isinstance(label, float) and label.is_integer()


def split_texts(
    texts: Any, y: Any, test: Any, validate: Any, seed: int
) -> tuple[LabelledTexts, LabelledTexts, LabelledTexts]:
    """Return texts for training, validation and test, with the shares of labels alike.

    >>> [len(part) for part in split_texts(["a", "b"] * 20, [0, 1] * 20, 0.25, 0.2, 0)]
    [24, 6, 10]
    """
    rest, held = _apart(LabelledTexts.of(texts, y), test, seed, "test")
    train, valid = _apart(rest, validate, seed, "validation")
    return train, valid, held


def _apart(data: LabelledTexts, part: Any, seed: int, name: str) -> tuple[LabelledTexts, LabelledTexts]:
    """Return the texts that are left, and those set apart: a share of them, or texts that were
    given.
    """
    if not isinstance(part, tuple | list):
        check_share("test" if name == "test" else "validate", part)
        rest, last = parted(data.labels, part, seed, name, stratify=True)
        return data.take(rest), data.take(last)
    if len(part) != 2:
        option = "test" if name == "test" else "validate"
        raise UsageError(
            f"{option} must be a share of the texts, or texts and their labels as (texts, y)"
        )
    return data, LabelledTexts.of(
        part[0], part[1], "held-out texts" if name == "test" else "validation texts"
    )


def terms_of(rule: Any, lexicon: Lexicon) -> dict[str, Term]:
    """Return the term of each category that a rule names, categories in the order of the lexicon.

    >>> from evenhand.texts.lexicon import Lexicon
    >>> terms_of({"gender": "gya"}, Lexicon.from_dict({"gender": ["gay", "straight"]}))
    Traceback (most recent call last):
    evenhand.runtime.errors.UsageError: rule: category 'gender' has no term 'gya'; did you mean 'gay'? Valid choices \
are 'gay', 'straight'
    """
    if isinstance(rule, Rule):
        named: dict[Any, Any] = {
            condition.feature: condition.levels for condition in rule.conditions
        }
    elif isinstance(rule, Mapping):
        named = {name: (term,) for name, term in rule.items()}
    else:
        raise UsageError(
            f"rule = {clip(repr(rule))} must be a Rule, or terms by category such as {{'gender':"
            " 'gay'}"
        )
    if not named:
        raise UsageError("rule names no term; give at least one, such as {'gender': 'gay'}")
    found = {}
    for name, levels in named.items():
        if len(levels) != 1:
            raise UsageError(
                f"rule names {len(levels)} terms of category {clip(repr(name))}; give one of each"
            )
        known = {words(term.text): term for term in lexicon.of(name)}
        term = known.get(words(levels[0])) if isinstance(levels[0], str) else None
        if term is None:
            valid = nearest(levels[0], [term.text for term in known.values()])
            raise UsageError(
                f"rule: category {name!r} has no term {clip(repr(levels[0]))}; {valid}"
            )
        found[name] = term
    return {name: found[name] for name in lexicon.categories if name in found}


@dataclass(frozen=True, eq=False)
class TermGap:
    """How differently the same texts are treated with the terms of a rule (TestSGD, Definition
    4.1).

    >>> from evenhand.texts.lexicon import Lexicon
    >>> lexicon = Lexicon.from_dict({"gender": ["gay", "straight", "trans"]})
    >>> gap = TermGap.of(["a gay man", "no term", "they are trans"], {"gender": lexicon.terms[0]}, lexicon)
    >>> str(gap.rule), len(gap)
    ('gender gay', 2)
    >>> strict = TextSubject(lambda texts: ["gay" not in text for text in texts])
    >>> [column.tolist() for column in gap.columns(strict)]
    [[-1.0, -1.0]]
    """

    matches: Matches
    family: Family
    at: int
    """Which combination of terms of the family is that of the rule."""
    against: str = "terms"

    @classmethod
    def of(
        cls,
        texts: Sequence[str],
        terms: Mapping[str, Term],
        lexicon: Lexicon,
        *,
        against: str = "terms",
        seed: int = 0,
    ) -> TermGap:
        """Find the texts that name all categories of a rule, in random order."""
        matches = find(texts, lexicon)
        positions = [lexicon.categories.index(name) for name in terms]
        order = stream(seed, "repair", "texts").permutation(len(texts))
        rows = order[matches.has[order][:, positions].all(axis=1)]
        choices = tuple(lexicon.of(name) for name in terms)
        family = Family(tuple(terms), rows, choices, len(rows))
        # The same texts are asked of every model, so that what can be afforded must not depend on
        # it.
        family = family.only(max(1, MOST // family.rules))
        place = [known.index(term) for known, term in zip(choices, terms.values(), strict=True)]
        at = int(np.ravel_multi_index(place, [len(known) for known in choices]))
        return cls(matches, family, at, against)

    def __len__(self) -> int:
        return len(self.family.rows)

    @property
    def rule(self) -> Rule:
        """The rule, with categories for features."""
        return self.family.rule(self.at)

    @property
    def named(self) -> str:
        """The categories of the rule in words."""
        return " and ".join(self.family.categories)

    def need(self, kind: str, advice: str) -> TermGap:
        """Return the gap, or say that no text names what the rule is about."""
        if not len(self):
            raise DataError(
                f"none of the {len(self.matches.texts):,} {kind} texts names {self.named}; {advice}"
            )
        return self

    def written(self) -> list[str]:
        """Return the texts with the terms of the rule."""
        return self.matches.write(
            self.family.rows, self.family.categories, self.family.terms[self.at]
        )

    def columns(self, subject: TextSubject) -> Columns:
        """Return how a model treats the texts: the gap is the mean, or that of the first minus that
        of the second.
        """
        if self.against == "terms":
            return (ask(subject, self.matches, [self.family], Meter()).decided[0].apart[self.at],)
        lexicon = self.matches.lexicon
        mine = [lexicon.terms.index(term) for term in self.family.terms[self.at]]
        others = np.flatnonzero(~self.matches.names[:, mine].all(axis=1))
        rest = [self.matches.texts[row] for row in others.tolist()]
        return subject.amount(subject.decide(self.written())), subject.amount(subject.decide(rest))


def gap_of(columns: Columns) -> float:
    """Return how much more favourably texts are treated with the terms of the rule; below 0 where
    less so.
    """
    means = [float(column.mean()) if len(column) else 0.0 for column in columns]
    return means[0] - sum(means[1:])


def term_change(before: Columns, after: Columns, *, level: float, population: str) -> PairedChange:
    """Return how the size of a gap changed from one model to another, from the same texts.

    Each text is its own control. Bets hold for values of any kind; half of the error goes to how
    far the gap moved, and the rest to both gaps and to their sum, which matters where the sign of
    the gap turns.

    >>> change = term_change((np.full(200, -0.5),), (np.zeros(200),), level=0.95, population="texts")
    >>> change.verdict, change.before.value, change.after.value
    ('fell', 0.5, 0.0)
    """
    error, n = 1 - check_level(level), len(before[0])
    least = 0.0 if len(before) > 1 else -1.0
    small, large = error / 12, error / 4
    pairs = list(zip(before, after, strict=True))
    old, new = _mean(before, small, least, 1.0), _mean(after, small, least, 1.0)
    moved = _mean([one - other for one, other in pairs], large, least - 1.0, 1.0 - least)
    total = _mean([one + other for one, other in pairs], small, 2 * least, 2.0)
    # |x| - |y| is the smaller of x - y and x + y, or of both with the other sign: whichever is
    # larger.
    low = max(min(moved[0], total[0]), min(-moved[1], -total[1]))
    high = max(min(moved[1], total[1]), min(-moved[0], -total[0]))
    value, left = abs(gap_of(before)), abs(gap_of(after))
    ends = [
        tuple(float(end) for end in absolute(np.array(one[0]), np.array(one[1])))
        for one in (old, new)
    ]
    first, second = (
        _around(one, (min(end[0], 1.0), min(end[1], 1.0)))
        for one, end in zip((value, left), ends, strict=True)
    )
    fall = _around(value - left, (low, high))
    part = 1 - left / value if value > 0 else -math.inf if left > 0 else 0.0
    return PairedChange(
        Estimate(value, *first, n, level, "betting", population),
        Estimate(left, *second, n, level, "betting", population),
        Amount(value - left, *fall, n, level, "betting"),
        Amount(part, *_around(part, _fewer(first, second, fall)), n, level, "betting"),
    )


def _mean(columns: Sequence[Floats], tail: float, low: float, high: float) -> Ends:
    """Return limits of the mean of a column, or of that of the first minus that of the second."""
    ends = [bet(column, tail / len(columns), low=low, high=high) for column in columns]
    found = [(float(below[0]), float(above[0])) for below, above in ends]
    return found[0] if len(found) == 1 else (found[0][0] - found[1][1], found[0][1] - found[1][0])


def _around(value: float, ends: Ends) -> Ends:
    """Return limits that hold the value, which rounding may have put outside."""
    return min(ends[0], value), max(ends[1], value)


def _fewer(before: Ends, after: Ends, fall: Ends) -> Ends:
    """Return limits of what part is gone, by the scores before and after and by the fall."""
    some, most = before
    if most <= 0:
        return -math.inf, 1.0
    low = 1 - after[1] / some if some > 0 else -math.inf
    high = 1 - after[0] / most
    if fall[0] > 0:
        low = max(low, fall[0] / most)
    elif some > 0:
        low = max(low, fall[0] / some)
    if fall[1] < 0:
        high = min(high, fall[1] / most)
    elif some > 0:
        high = min(high, fall[1] / some)
    return low, min(high, 1.0)


def twins(gap: TermGap, truth: NDArray[Any], n: int, rng: np.random.Generator) -> Texts:
    """Return up to `n` texts that name the categories of a rule, with other terms of these and
    their own true label.

    What is true of a text does not depend on the term, and this is what a model is to learn.

    >>> from evenhand.texts.lexicon import Lexicon
    >>> lexicon = Lexicon.from_dict({"gender": ["gay", "straight"]})
    >>> gap = TermGap.of(["a gay man", "no term"], {"gender": lexicon.terms[0]}, lexicon)
    >>> texts, labels = twins(gap, np.array(["fine", "rude"]), 5, np.random.default_rng(0))
    >>> texts, labels.tolist()
    (['a straight man'], ['fine'])
    """
    family, matches = gap.family, gap.matches
    every = len(family.rows) * family.rules
    # A text as it stands is no twin of itself: with two terms that is one draw in two.
    drawn = rng.choice(every, min(3 * n, every), replace=False)
    place, chosen = drawn // family.rules, drawn % family.rules
    own = np.array([matches.own(name)[family.rows[place]] for name in family.categories])
    sizes = [len(known) for known in family.choices]
    standing = np.where(
        (own < 0).any(axis=0), -1, np.ravel_multi_index(tuple(np.maximum(own, 0)), sizes)
    )
    other = np.flatnonzero(standing != chosen)[:n]
    rows, chosen = family.rows[place[other]], chosen[other]
    texts = np.empty(len(rows), dtype=object)
    for at in np.unique(chosen).tolist():
        mine = np.flatnonzero(chosen == at)
        texts[mine] = matches.write(rows[mine], family.categories, family.terms[at])
    return texts.tolist(), truth[rows]


def opposite(
    gap: TermGap, subject: TextSubject, truth: NDArray[Any], n: int, *, up: bool
) -> tuple[Texts, int]:
    """Return up to `n` texts with the terms of a rule and the opposite outcome, and how many are so
    by themselves.

    These are texts to which the model already gives it (TestSGD, RQ3). Where there are too few,
    those that are nearest to it by the model's scores follow, and are labelled so.

    Parameters
    ----------
    subject
        The model before anything was added.
    up
        Whether texts with the terms are favoured less than others, so that favourable outcomes are
        wanted.

    >>> from evenhand.texts.lexicon import Lexicon
    >>> lexicon = Lexicon.from_dict({"gender": ["gay", "straight"]})
    >>> gap = TermGap.of(["a straight line", "so gay!"], {"gender": lexicon.terms[0]}, lexicon)
    >>> model = TextSubject(lambda texts: ["!" not in text for text in texts], positive=True)
    >>> opposite(gap, model, np.array([True, False]), 1, up=True)[0][0]
    ['a gay line']
    """
    labels, counts = np.unique(truth, return_counts=True)
    wanted = subject.meaning.favourable(labels) == up
    if not wanted.any():
        raise UsageError(
            f"positive: {'no' if up else 'every'} training label is favourable"
            f" ({nearest('', labels.tolist())}), so that there is no opposite outcome to train with"
        )
    label = labels[wanted][np.argmax(counts[wanted])]
    texts = gap.written()
    outcomes = subject.decide(texts)
    has = subject.meaning.favourable(outcomes) == up
    rest = np.flatnonzero(~has)
    scores = _scores(subject.model, label.item(), [texts[at] for at in rest.tolist()])
    order = np.concatenate([np.flatnonzero(has), rest[np.argsort(-scores, kind="stable")]])[:n]
    given = np.where(has[order], outcomes[order], label).astype(truth.dtype)
    return ([texts[at] for at in order.tolist()], given), int(has[order].sum())


def _scores(model: Any, label: Any, texts: Sequence[str]) -> Floats:
    """Return how near to a label a model takes texts to be; all alike where it does not tell."""
    two = len(getattr(model, "classes_", ())) == 2
    if (
        not texts
        or not two
        or not (hasattr(model, "predict_proba") or hasattr(model, "decision_function"))
    ):
        return np.zeros(len(texts))
    return TextSubject(model, positive=label, output="score").decide(texts).astype(np.float64)


def pool(
    gap: TermGap,
    subject: TextSubject,
    truth: NDArray[Any],
    add: str,
    n: int,
    rng: np.random.Generator,
    *,
    up: bool,
) -> tuple[list[str], NDArray[Any], str]:
    """Return labelled texts, of which each step adds the first few, and a note on how they were
    labelled.

    Parameters
    ----------
    add
        ``"twins"``, or ``"paper"`` for texts with the opposite outcome, or ``"both"`` in turn.

    >>> from evenhand.texts.lexicon import Lexicon
    >>> lexicon = Lexicon.from_dict({"gender": ["gay", "straight"]})
    >>> gap = TermGap.of(["a gay man", "no term"], {"gender": lexicon.terms[0]}, lexicon)
    >>> model = TextSubject(lambda texts: ["gay" not in text for text in texts], positive=True)
    >>> pool(gap, model, np.array([True, False]), "both", 5, np.random.default_rng(0), up=True)[0]
    ['a straight man', 'a gay man']
    """
    texts: list[str] = []
    labels, note = truth[:0], ""
    places: list[int] = []
    if add != "paper":
        made, labels = twins(gap, truth, n, rng)
        texts, places = made, list(range(0, 2 * len(made), 2))
    if add != "twins":
        (more, given), own = opposite(gap, subject, truth, n, up=up)
        texts, labels = texts + more, np.concatenate([labels, given])
        places += range(1, 2 * len(more) + 1, 2)
        if own < len(more):
            note = (
                f"the model gives the opposite outcome to {own:,} training texts with {gap.rule};"
                f" up to {len(more) - own:,} that are nearest to it were labelled so"
            )
    order = np.argsort(places, kind="stable")[:n]
    return [texts[at] for at in order.tolist()], labels[order], note
