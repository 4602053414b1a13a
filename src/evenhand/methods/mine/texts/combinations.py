"""Mining texts: what the software decides on each text with each term, for all rule sets of terms
(TestSGD, Eq. 3).
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.runtime import number_text
from evenhand.runtime.errors import DataError, UsageError, clip
from evenhand.runtime.random_streams import stream
from evenhand.space.rule import Condition, Rule
from evenhand.statistics.estimate import StopReason
from evenhand.texts.linear import linear_path

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from evenhand.runtime.budget import Meter
    from evenhand.statistics.intervals import Floats
    from evenhand.texts.lexicon import Term
    from evenhand.texts.linear import LinearPath
    from evenhand.texts.matching import Matches
    from evenhand.texts.text_subject import TextSubject

MOST, MOST_LINEAR, MOST_EXPENSIVE = 200_000, 3_000_000, 5_000
"""Texts that are asked where no budget is given: of any software, of a linear model, and where each
is expensive.
"""
LEAST = 50
"""The fewest texts of several categories together that are worth asking about."""
MOST_NOTES = 8
"""Categories that one message lists."""


@dataclass(frozen=True, eq=False)
class Family:
    """Categories that texts name together, and all combinations of their terms: one rule set each."""

    categories: tuple[str, ...]
    rows: NDArray[np.intp]
    """The texts that name all of the categories, in random order."""
    choices: tuple[tuple[Term, ...], ...]
    """The terms of each category."""
    texts: int
    """How many texts name all of the categories, whether they are asked about or not."""

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
        return replace(self, rows=self.rows[:most])

    def rule(self, at: int) -> Rule:
        """Return a combination of terms as a rule, with categories for features."""
        return Rule(
            tuple(
                Condition(category, levels=(term.text,))
                for category, term in zip(self.categories, self.terms[at], strict=True)
            )
        )


@dataclass(frozen=True, eq=False)
class Decided:
    """The outcomes of the texts of a family with each combination of terms, and as they stand where
    that was asked.
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
        return self.amount(self.outcomes.ravel()).reshape(self.outcomes.shape)

    @property
    def apart(self) -> Floats:
        """By combination and text: how much more favourable the text is with these terms than with
        others.
        """
        others = len(self.family.terms) - 1
        total = self.amounts.sum(axis=1, keepdims=True)
        return np.asarray(np.clip((self.amounts * (others + 1) - total) / others, -1.0, 1.0).T)

    @property
    def inside(self) -> Floats:
        """The mean with each combination."""
        return np.asarray(self.amounts.mean(axis=0))


def families(matches: Matches, support: float, depth: int | None, seed: int) -> list[Family]:
    """Return the families that enough texts name (Equation 3), single categories first."""
    lexicon, has = matches.lexicon, matches.has
    order = stream(seed, "mine", "texts").permutation(len(matches.texts))
    found: list[Family] = []
    names = lexicon.categories
    grown: list[tuple[tuple[int, ...], NDArray[np.intp]]] = [((), order)]
    for _ in range(min(len(names), depth or len(names))):
        # What too few texts name is named by no more of them together with another category.
        grown = [
            ((*chosen, at), some)
            for chosen, rows in grown
            for at in range(chosen[-1] + 1 if chosen else 0, len(names))
            if len(some := rows[has[rows, at]]) >= support * len(order) * (1 - 1e-12)
        ]
        found += [
            Family(
                tuple(names[at] for at in chosen),
                rows,
                tuple(lexicon.of(names[at]) for at in chosen),
                len(rows),
            )
            for chosen, rows in grown
        ]
    if not found:
        most = sorted(zip(has.mean(axis=0).tolist(), names, strict=True), key=lambda pair: -pair[0])
        shares = [
            f"{clip(name, 40)} {number_text.percent_figures(share, 2)}"
            for share, name in most[:MOST_NOTES]
        ]
        least = number_text.percent_plain(support)
        raise DataError(
            f"no category of the lexicon is named in at least {least} of the {len(order):,} texts "
            f"({', '.join(shares)}); try a smaller support"
        )
    return found


def affordable(
    found: Sequence[Family], most: int, *, standing: bool = False
) -> tuple[list[Family], list[str]]:
    """Return as many families, and as many texts of each, as can be asked about, and what is left
    out.

    Parameters
    ----------
    standing
        Whether each text is asked about as it stands, too.
    """
    sizes = {id(family): len(family.rows) * (family.rules + standing) for family in found}
    # No set of categories is named by more texts than one of its categories, and single ones are
    # always kept.
    least = min(LEAST, max(len(family.rows) for family in found))
    cost = _cost(found, least, standing=standing)
    several = [family for family in found if len(family.categories) > 1]
    out: list[Family] = []
    for family in sorted(several, key=lambda family: -sizes[id(family)]):
        if cost <= most:
            break
        out.append(family)
        cost -= _cost([family], least, standing=standing)
    notes = [
        f"{' and '.join(family.categories)} together were not asked about: {sizes[id(family)]:,}"
        " texts are beyond the budget"
        for family in out[:MOST_NOTES]
    ]
    if len(out) > MOST_NOTES:
        notes.append(f"nor were {len(out) - MOST_NOTES:,} other sets of categories")
    left_out = set(map(id, out))
    kept = [family for family in found if id(family) not in left_out]
    rows = _rows(kept, most, standing=standing)
    if not rows:
        needed = sum(family.rules + standing for family in kept)
        each = "one text" if len(kept) == 1 else "one text of each category"
        raise UsageError(
            f"budget: {max(most, 0):,} queries are left for texts with other terms, but {each}"
            f" takes {needed:,}; raise queries"
        )
    if any(len(family.rows) > rows for family in kept):
        notes.append(
            f"no more than {rows:,} texts of each category were asked about, chosen at random"
        )
    return [family.only(rows) for family in kept], notes


def _rows(found: Sequence[Family], most: int, *, standing: bool) -> int:
    """Return the largest number of texts of each family that can be asked about."""
    low, high = 0, max(len(family.rows) for family in found)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (
            (middle, high) if _cost(found, middle, standing=standing) <= most else (low, middle - 1)
        )
    return low


def _cost(found: Sequence[Family], rows: int, *, standing: bool) -> int:
    """Return how many texts are asked about with so many texts of each family."""
    # Numbers of Python, since combinations of terms can be more than an array can count.
    return sum(min(len(family.rows), rows) * (family.rules + standing) for family in found)


@dataclass(eq=False)
class Asked:
    """What the software decided, and why asking ended."""

    decided: list[Decided] = field(default_factory=list)
    stop: StopReason | None = None


def ask(
    subject: TextSubject,
    matches: Matches,
    found: Sequence[Family],
    meter: Meter,
    *,
    standing: bool = False,
) -> Asked:
    """Ask about every text of every family with every combination of terms, each once.

    Parameters
    ----------
    standing
        Whether each text is asked about as it stands, too, to see whether its outcome changes.
        Otherwise outcomes are weighed, and whatever cannot be is refused at the first of them.
    """
    path = linear_path(subject)
    asked, total, done = (
        Asked(),
        sum(len(family.rows) * (family.rules + standing) for family in found),
        0,
    )
    for family in found:
        parts: list[NDArray[Any]] = []
        at_once = (
            max(1, subject.batch // family.rules) if path is None else max(1, len(family.rows))
        )
        try:
            for start in range(0, len(family.rows), at_once):
                rows = family.rows[start : start + at_once]
                part = _decided(subject, path, matches, rows, family, standing=standing)
                if not standing:
                    subject.amount(part.ravel())
                parts.append(part)
                done += part.size
                meter.queries += part.size
                meter.report(
                    f"texts that name {' and '.join(family.categories)}",
                    done / total,
                    f"{done:,} texts",
                )
                if meter.late and done < total:
                    asked.stop = StopReason.SECONDS
                    break
        except KeyboardInterrupt:
            if not parts and not asked.decided:
                raise
            asked.stop = StopReason.INTERRUPTED
        if parts:
            outcomes, stand = np.split(np.concatenate(parts), [family.rules], axis=1)
            asked.decided.append(
                Decided(family.only(len(outcomes)), outcomes, stand, subject.amount)
            )
        if asked.stop is not None:
            break
    return asked


def _decided(
    subject: TextSubject,
    path: LinearPath | None,
    matches: Matches,
    rows: NDArray[np.intp],
    family: Family,
    *,
    standing: bool,
) -> NDArray[Any]:
    """Return the outcomes of texts, by text and combination, and in a last column as they stand."""
    stand = [matches.texts[row] for row in rows.tolist()] if standing else []
    if path is not None:
        outcomes = path.decide(matches, rows, family.categories, family.terms)
        return np.column_stack([outcomes, subject.decide(stand)]) if standing else outcomes
    texts = [
        text for terms in family.terms for text in matches.write(rows, family.categories, terms)
    ]
    return subject.decide(texts + stand).reshape(-1, len(rows)).T
