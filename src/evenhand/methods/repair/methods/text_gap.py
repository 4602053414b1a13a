"""How differently texts with some terms are treated, and how that changed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.mine.texts.asking import ask
from evenhand.methods.mine.texts.combinations import MOST, Family
from evenhand.methods.repair import messages
from evenhand.methods.repair.change import PairedChange
from evenhand.runtime import number_text
from evenhand.runtime.budget import Meter
from evenhand.runtime.errors import DataError, UsageError, clip, nearest
from evenhand.runtime.random_streams import stream
from evenhand.space.rule import Rule
from evenhand.statistics.estimate import Amount, Estimate
from evenhand.statistics.intervals import check_level
from evenhand.statistics.sequential.betting import bet
from evenhand.statistics.simultaneous import absolute
from evenhand.texts.lexicon import words
from evenhand.texts.matching import find

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenhand.statistics.intervals import Floats
    from evenhand.texts.lexicon import Lexicon, Term
    from evenhand.texts.matching import Matches
    from evenhand.texts.text_subject import TextSubject

    Ends = tuple[float, float]

Columns = tuple["Floats", ...]
"""How texts are treated: within each text from -1 to 1, or those with the terms and all others,
from 0 to 1.
"""


def terms_of(rule: Any, lexicon: Lexicon) -> dict[str, Term]:
    """Return the term of each category that a rule names, categories in the lexicon's order.

    >>> from evenhand.texts.lexicon import Lexicon
    >>> terms_of({"gender": "gya"}, Lexicon.from_dict({"gender": ["gay", "straight"]}))
    Traceback (most recent call last):
    evenhand.runtime.errors.UsageError: rule: category 'gender' has no term 'gya'; \
did you mean 'gay'? Valid choices are 'gay', 'straight'
    """
    named = _levels_of(rule)
    if not named:
        raise UsageError(messages.RULE_WITHOUT_TERMS.format())
    found = {}
    for name, levels in named.items():
        if len(levels) != 1:
            shown = clip(repr(name))
            message = messages.RULE_WITH_SEVERAL_TERMS.format(
                terms=len(levels), category=shown
            )
            raise UsageError(message)
        found[name] = _term(name, levels[0], lexicon)
    return {name: found[name] for name in lexicon.categories if name in found}


def _levels_of(rule: Any) -> dict[Any, Any]:
    """Return the terms of each category as the rule names them."""
    if isinstance(rule, Rule):
        return {condition.feature: condition.levels for condition in rule.conditions}
    if isinstance(rule, Mapping):
        return {name: (term,) for name, term in rule.items()}
    raise UsageError(messages.RULE_OF_UNKNOWN_KIND.format(rule=clip(repr(rule))))


def _term(category: str, text: Any, lexicon: Lexicon) -> Term:
    """Return the term of a category that is written like this, but for case and spaces."""
    known = {words(term.text): term for term in lexicon.of(category)}
    if isinstance(text, str) and words(text) in known:
        return known[words(text)]
    texts = [term.text for term in known.values()]
    message = messages.RULE_WITH_UNKNOWN_TERM.format(
        category=repr(category),
        term=clip(repr(text)),
        choices=nearest(text, texts),
    )
    raise UsageError(message)


@dataclass(frozen=True, eq=False)
class TermGap:
    """How differently the same texts are treated with the terms of a rule.

    This is Definition 4.1 of TestSGD, for texts.

    >>> from evenhand.texts.lexicon import Lexicon
    >>> from evenhand.texts.text_subject import TextSubject
    >>> lexicon = Lexicon.from_dict({"gender": ["gay", "straight", "trans"]})
    >>> texts = ["a gay man", "no term", "they are trans"]
    >>> gap = TermGap.of(texts, {"gender": lexicon.terms[0]}, lexicon)
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
        names_all = matches.has[order][:, positions].all(axis=1)
        rows = order[names_all]
        choices = tuple(lexicon.of(name) for name in terms)
        family = Family(tuple(terms), rows, choices, len(rows))
        # The same texts are asked of every model, so that what can be afforded must not depend on
        # the model.
        family = family.only(max(1, MOST // family.rules))
        place = []
        sizes = []
        for known, term in zip(choices, terms.values(), strict=True):
            place.append(known.index(term))
            sizes.append(len(known))
        combination = int(np.ravel_multi_index(place, sizes))
        return cls(matches, family, combination, against)

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

    def need_training_texts(self) -> TermGap:
        """Return the gap, or raise if no training text names what the rule is about."""
        if not len(self):
            message = messages.NO_TRAINING_TEXT.format(
                texts=self._texts, categories=self.named
            )
            raise DataError(message)
        return self

    def need_validation_texts(self) -> TermGap:
        """Return the gap, or raise if no validation text names what the rule is about."""
        if not len(self):
            message = messages.NO_VALIDATION_TEXT.format(
                texts=self._texts, categories=self.named
            )
            raise DataError(message)
        return self

    def need_held_out_texts(self) -> TermGap:
        """Return the gap, or raise if no held-out text names what the rule is about."""
        if not len(self):
            message = messages.NO_HELD_OUT_TEXT.format(
                texts=self._texts, categories=self.named
            )
            raise DataError(message)
        return self

    @property
    def validation_population(self) -> str:
        """What the gap on validation texts holds for."""
        return messages.POPULATION_VALIDATION_TEXTS.format(
            texts=self._texts, categories=self.named
        )

    @property
    def held_out_population(self) -> str:
        """What the gap on held-out texts holds for."""
        return messages.POPULATION_HELD_OUT_TEXTS.format(
            texts=self._texts, categories=self.named
        )

    @property
    def _texts(self) -> str:
        """How many texts were looked through."""
        return number_text.count(len(self.matches.texts))

    def written(self) -> list[str]:
        """Return the texts with the terms of the rule."""
        terms = self.family.terms[self.at]
        return self.matches.write(self.family.rows, self.family.categories, terms)

    def columns(self, subject: TextSubject) -> Columns:
        """Return how a model treats the texts.

        The gap is the mean of the column, or that of the first minus that of the second.
        """
        matches = self.matches
        if self.against == "terms":
            answers = ask(subject, matches, [self.family], Meter())
            decided = answers.decided[0]
            return (decided.apart[self.at],)
        all_terms = matches.lexicon.terms
        positions = [all_terms.index(term) for term in self.family.terms[self.at]]
        names_all = matches.names[:, positions].all(axis=1)
        others = np.flatnonzero(~names_all)
        other_texts = [matches.texts[row] for row in others.tolist()]
        with_terms = subject.decide(self.written())
        without_terms = subject.decide(other_texts)
        return subject.amount(with_terms), subject.amount(without_terms)


def gap_of(columns: Columns) -> float:
    """Return how much more favourably texts are treated with the terms; below 0 where less so."""
    means = [_mean(column) for column in columns]
    return means[0] - sum(means[1:])


def _mean(column: Floats) -> float:
    if not len(column):
        return 0.0
    return float(column.mean())


def term_change(
    before: Columns, after: Columns, *, level: float, population: str
) -> PairedChange:
    """Return how the size of a gap changed from one model to another, from the same texts.

    Each text is its own control. Bets hold for values of any kind; half of the error goes to how
    far the gap moved, and the rest to both gaps and to their sum, which matters where the sign of
    the gap turns.

    >>> before, after = (np.full(200, -0.5),), (np.zeros(200),)
    >>> change = term_change(before, after, level=0.95, population="texts")
    >>> change.verdict, change.before.value, change.after.value
    ('fell', 0.5, 0.0)
    """
    error = 1 - check_level(level)
    n = len(before[0])
    # Two columns hold shares of favoured texts, one holds differences within a text.
    least = 0.0 if len(before) > 1 else -1.0
    # Two limits each: 6 of an error / 12, and 2 of an error / 4.
    small = error / 12
    old = _mean_limits(before, small, least, 1.0)
    new = _mean_limits(after, small, least, 1.0)
    value = abs(gap_of(before))
    left = abs(gap_of(after))
    before_ends = _around(value, _size_limits(old))
    after_ends = _around(left, _size_limits(new))
    fall = value - left
    fall_ends = _around(fall, _fall_limits(before, after, least, error))
    part = _part_gone(value, left)
    part_ends = _around(part, _part_limits(before_ends, after_ends, fall_ends))
    return PairedChange(
        before=Estimate(value, *before_ends, n, level, "betting", population),
        after=Estimate(left, *after_ends, n, level, "betting", population),
        fall=Amount(fall, *fall_ends, n, level, "betting"),
        fewer=Amount(part, *part_ends, n, level, "betting"),
    )


def _fall_limits(before: Columns, after: Columns, least: float, error: float) -> Ends:
    """Return limits of the fall of the size of a gap."""
    differences = []
    sums = []
    for old, new in zip(before, after, strict=True):
        differences.append(old - new)
        sums.append(old + new)
    moved_low, moved_high = _mean_limits(
        differences,
        tail=error / 4,
        low=least - 1.0,
        high=1.0 - least,
    )
    total_low, total_high = _mean_limits(
        sums,
        tail=error / 12,
        low=2 * least,
        high=2.0,
    )
    # |x| - |y| is the smaller of x - y and x + y, or of both with the other sign: whichever is
    # larger.
    low = max(
        min(moved_low, total_low),
        min(-moved_high, -total_high),
    )
    high = max(
        min(moved_high, total_high),
        min(-moved_low, -total_low),
    )
    return low, high


def _mean_limits(columns: Sequence[Floats], tail: float, low: float, high: float) -> Ends:
    """Return limits of the mean of a column, or of that of the first minus that of the second."""
    limits = []
    for column in columns:
        below, above = bet(
            column,
            tail / len(columns),
            low=low,
            high=high,
        )
        limits.append((float(below[0]), float(above[0])))
    if len(limits) == 1:
        return limits[0]
    (first_low, first_high), (second_low, second_high) = limits
    return first_low - second_high, first_high - second_low


def _size_limits(ends: Ends) -> Ends:
    """Return limits of the size of a gap, which is 1 at most, from those of the gap."""
    low, high = ends
    least, most = absolute(np.array(low), np.array(high))
    return min(float(least), 1.0), min(float(most), 1.0)


def _around(value: float, ends: Ends) -> Ends:
    """Return limits that hold the value, which rounding may have put outside."""
    low, high = ends
    return min(low, value), max(high, value)


def _part_gone(before: float, after: float) -> float:
    """Return what part of a gap is gone; minus infinity where there was none and now is one."""
    if before > 0:
        return 1 - after / before
    if after > 0:
        return -math.inf
    return 0.0


def _part_limits(before: Ends, after: Ends, fall: Ends) -> Ends:
    """Return limits of what part is gone, by the scores before and after and by the fall."""
    least, most = before
    after_low, after_high = after
    fall_low, fall_high = fall
    if most <= 0:
        return -math.inf, 1.0
    low = -math.inf
    if least > 0:
        low = 1 - after_high / least
    high = 1 - after_low / most
    # The part is the fall over the score before: a fall is least against the largest score, and a
    # rise is most against the smallest.
    if fall_low > 0:
        low = max(low, fall_low / most)
    elif least > 0:
        low = max(low, fall_low / least)
    if fall_high < 0:
        high = min(high, fall_high / most)
    elif least > 0:
        high = min(high, fall_high / least)
    return low, min(high, 1.0)
