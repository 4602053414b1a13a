"""Mining texts: which rule sets of terms there are, and which texts are written with them.

Section 4.1 of TestSGD says which rule sets of terms there are, section 4.3 how texts are written
with other terms.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.mine import messages
from evenhand.runtime import number_text
from evenhand.runtime.errors import DataError, UsageError, clip
from evenhand.runtime.random_streams import stream
from evenhand.space.rule import Condition, Rule

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from evenhand.statistics.intervals import Floats
    from evenhand.texts.lexicon import Term
    from evenhand.texts.matching import Matches

    Flags = NDArray[np.bool_]
    Indices = NDArray[np.intp]

MOST, MOST_LINEAR, MOST_EXPENSIVE = 200_000, 3_000_000, 5_000
"""Texts that are asked where no budget is given: of any software, of a linear model, and where each
is expensive.
"""
LEAST = 50
"""The fewest texts of several categories together that are worth asking about."""
MOST_NOTES = 8
"""Categories that one message lists."""
_SLACK = 1e-12
"""The part by which a number of texts may miss a threshold, for rounding."""


@dataclass(frozen=True, eq=False)
class Family:
    """Categories that texts name together, and all combinations of their terms: rule sets."""

    categories: tuple[str, ...]
    rows: Indices
    """The texts that name all of the categories, in random order."""
    choices: tuple[tuple[Term, ...], ...]
    """The terms of each category."""
    texts: int
    """How many texts name all of the categories, whether they are asked about or not."""
    fits: Flags | None = None
    """Whether each text can be written with each combination of terms; None where all can."""

    @property
    def rules(self) -> int:
        """The number of combinations of terms."""
        return math.prod(map(len, self.choices))

    @cached_property
    def terms(self) -> tuple[tuple[Term, ...], ...]:
        """All combinations of terms, one of each category."""
        return tuple(itertools.product(*self.choices))

    def only(self, most: int) -> Family:
        """Return the family with no more texts than this."""
        return self.part(0, most)

    def part(self, start: int, end: int) -> Family:
        """Return the family with some of its texts."""
        fits = None if self.fits is None else self.fits[start:end]
        return replace(self, rows=self.rows[start:end], fits=fits)

    def cost(self, rows: int, *, standing: bool) -> int:
        """Return how many texts are asked about with so many texts of the family."""
        if self.fits is not None:
            return int(self.fits[:rows].sum())
        return min(len(self.rows), rows) * (self.rules + standing)

    @property
    def sizes(self) -> Indices:
        """How many texts are written with each combination of terms."""
        if self.fits is None:
            return np.full(self.rules, len(self.rows))
        return np.asarray(self.fits.sum(axis=0))

    def rule(self, at: int) -> Rule:
        """Return a combination of terms as a rule, with categories for features."""
        conditions = []
        terms = self.terms[at]
        for category, term in zip(self.categories, terms, strict=True):
            levels = (term.text,)
            conditions.append(Condition(category, levels=levels))
        return Rule(tuple(conditions))


@dataclass(frozen=True, eq=False)
class Decided:
    """The outcomes of the texts of a family with each combination of terms.

    Where that was asked, also those of the texts as they stand.
    """

    family: Family
    outcomes: NDArray[Any]
    """By text and combination."""
    standing: NDArray[Any]
    """By text, as they stand; empty where that was not asked."""
    amount: Callable[[NDArray[Any]], Floats]

    @cached_property
    def amounts(self) -> Floats:
        """How favourable the outcomes are, in [0, 1]."""
        flat = self.amount(self.outcomes.ravel())
        return flat.reshape(self.outcomes.shape)

    @property
    def apart(self) -> Floats:
        """How much more favourable each text is with a combination than with all others.

        By combination and text.
        """
        fits = self.family.fits
        if fits is None:
            combinations: Any = len(self.family.terms)
            total = self.amounts.sum(axis=1, keepdims=True)
        else:
            combinations = fits.sum(axis=1, keepdims=True)
            total = np.where(fits, self.amounts, 0.0).sum(axis=1, keepdims=True)
        others = combinations - 1
        # a - (total - a) / others, with one division.
        apart = (self.amounts * combinations - total) / others
        return np.asarray(np.clip(apart, -1.0, 1.0).T)

    @property
    def inside(self) -> Floats:
        """The mean with each combination."""
        fits = self.family.fits
        if fits is None:
            return np.asarray(self.amounts.mean(axis=0))
        sums = np.where(fits, self.amounts, 0.0).sum(axis=0)
        return np.asarray(sums / self.family.sizes)


@dataclass(frozen=True, eq=False)
class _Categories:
    """Some categories, by their numbers, and the texts that name all of them."""

    numbers: tuple[int, ...]
    rows: Indices

    @property
    def next_number(self) -> int:
        """The first category that may be added, so that each set of them is grown once."""
        return self.numbers[-1] + 1 if self.numbers else 0


def families(
    matches: Matches, support: float, depth: int | None, seed: int
) -> list[Family]:
    """Return the families that enough texts name; a DataError where there are none."""
    found = frequent_families(matches, support, depth, seed)
    if not found:
        raise _no_frequent_category(matches, support)
    return found


def frequent_families(
    matches: Matches, support: float, depth: int | None, seed: int
) -> list[Family]:
    """Return the families that enough texts name (Equation 3), single categories first."""
    names = matches.lexicon.categories
    least = least_texts(support, matches.texts)
    largest = min(len(names), depth or len(names))
    found: list[Family] = []
    sets = [_Categories((), order_of(matches, seed))]
    for _ in range(largest):
        sets = _grown(sets, matches, least)
        found += [_family(categories, matches) for categories in sets]
    return found


def order_of(matches: Matches, seed: int) -> Indices:
    """Return the texts in random order."""
    rng = stream(seed, "mine", "texts")
    return rng.permutation(len(matches.texts))


def least_texts(support: float, texts: Sequence[str]) -> float:
    """Return how many texts have to take the terms of a family."""
    return support * len(texts) * (1 - _SLACK)


def _grown(
    sets: Sequence[_Categories], matches: Matches, least: float
) -> list[_Categories]:
    """Return the sets with one more category each that at least so many texts name.

    What too few texts name is named by no more of them together with another category.
    """
    grown = []
    for categories in sets:
        for number in range(categories.next_number, len(matches.lexicon.categories)):
            names_it = matches.has[categories.rows, number]
            rows = categories.rows[names_it]
            if len(rows) >= least:
                numbers = (*categories.numbers, number)
                grown.append(_Categories(numbers, rows))
    return grown


def _family(categories: _Categories, matches: Matches) -> Family:
    """Return the family of some categories."""
    lexicon = matches.lexicon
    names = tuple(lexicon.categories[number] for number in categories.numbers)
    choices = tuple(lexicon.of(name) for name in names)
    return Family(names, categories.rows, choices, len(categories.rows))


def _no_frequent_category(matches: Matches, support: float) -> DataError:
    """Return the error where too few texts name any category, with how many name each."""
    return DataError(
        messages.NO_FREQUENT_CATEGORY.format(
            support=number_text.percent_plain(support),
            texts=number_text.count(len(matches.texts)),
            shares=named_shares(matches),
        )
    )


def named_shares(matches: Matches) -> str:
    """Return how many texts name each category, the most frequent first."""
    shares = matches.has.mean(axis=0).tolist()
    names = matches.lexicon.categories
    pairs = list(zip(shares, names, strict=True))
    pairs.sort(key=lambda pair: -pair[0])
    most_named = []
    for share, name in pairs[:MOST_NOTES]:
        percent = number_text.percent_figures(share, 2)
        most_named.append(f"{clip(name, 40)} {percent}")
    return ", ".join(most_named)


def affordable(
    found: Sequence[Family], most: int, *, standing: bool = False
) -> tuple[list[Family], list[str]]:
    """Return as many families, and texts of each, as can be asked about, and what is left out.

    Parameters
    ----------
    standing
        Whether each text is asked about as it stands, too.
    """
    left_out = _too_expensive(found, most, standing=standing)
    notes = _left_out_notes(left_out, standing=standing)
    left_out_ids = set(map(id, left_out))
    kept = [family for family in found if id(family) not in left_out_ids]
    rows = _most_rows(kept, most, standing=standing)
    if not rows:
        raise _budget_too_small(kept, most, standing=standing)
    most_texts = max(len(family.rows) for family in kept)
    if most_texts > rows:
        texts = number_text.count(rows)
        notes.append(messages.TEXTS_CHOSEN_AT_RANDOM.format(texts=texts))
    return [family.only(rows) for family in kept], notes


def _too_expensive(found: Sequence[Family], most: int, *, standing: bool) -> list[Family]:
    """Return the families of several categories that are left out, the most expensive first.

    Enough are left out for the others to be asked about with a few texts each.
    """
    # No set of categories is named by more texts than one of its categories, and single ones are
    # always kept.
    most_texts = max(len(family.rows) for family in found)
    least = min(LEAST, most_texts)
    cost = _cost(found, least, standing=standing)
    several = [family for family in found if len(family.categories) > 1]
    # The most expensive first; those that cost as much stay in order.
    several.sort(key=lambda family: -_full_cost(family, standing=standing))
    left_out: list[Family] = []
    for family in several:
        if cost <= most:
            break
        left_out.append(family)
        cost -= _cost([family], least, standing=standing)
    return left_out


def _left_out_notes(left_out: Sequence[Family], *, standing: bool) -> list[str]:
    """Return a note for each family that is left out, up to a few."""
    notes = []
    for family in left_out[:MOST_NOTES]:
        texts = number_text.count(_full_cost(family, standing=standing))
        categories = " and ".join(family.categories)
        notes.append(
            messages.CATEGORIES_OVER_BUDGET.format(categories=categories, texts=texts)
        )
    more = len(left_out) - MOST_NOTES
    if more > 0:
        count = number_text.count(more)
        notes.append(messages.MORE_CATEGORIES_OVER_BUDGET.format(count=count))
    return notes


def _budget_too_small(kept: Sequence[Family], most: int, *, standing: bool) -> UsageError:
    """Return the error for a budget under one text of each family."""
    left = number_text.count(max(most, 0))
    one_text_each = sum(family.rules + standing for family in kept)
    needed = number_text.count(one_text_each)
    if len(kept) == 1:
        return UsageError(messages.BUDGET_UNDER_ONE_TEXT.format(left=left, needed=needed))
    return UsageError(messages.BUDGET_UNDER_ONE_TEXT_EACH.format(left=left, needed=needed))


def _most_rows(found: Sequence[Family], most: int, *, standing: bool) -> int:
    """Return the largest number of texts of each family that can be asked about."""
    # By bisection, since the cost rises with the number of texts.
    low = 0
    high = max(len(family.rows) for family in found)
    while low < high:
        middle = (low + high + 1) // 2
        if _cost(found, middle, standing=standing) <= most:
            low = middle
        else:
            high = middle - 1
    return low


def _cost(found: Sequence[Family], rows: int, *, standing: bool) -> int:
    """Return how many texts are asked about with so many texts of each family."""
    # Numbers of Python, since combinations of terms can be more than an array can count.
    cost = 0
    for family in found:
        cost += family.cost(rows, standing=standing)
    return cost


def full_cost(found: Sequence[Family], *, standing: bool) -> int:
    """Return how many texts are asked about with all texts of some families."""
    return sum(_full_cost(family, standing=standing) for family in found)


def _full_cost(family: Family, *, standing: bool) -> int:
    """Return how many texts are asked about with all texts of a family."""
    return family.cost(len(family.rows), standing=standing)
