"""Mining texts: what the software decides on each text with each term, for all rule sets of terms (TestSGD, Eq. 3)."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.core.errors import DataError
from evenhand.core.estimate import StopReason
from evenhand.core.rules import Condition, Rule
from evenhand.core.seeds import stream
from evenhand.core.textlinear import linear_path

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evenhand.core.budget import Meter
    from evenhand.core.intervals import Floats
    from evenhand.core.lexicon import Term
    from evenhand.core.matching import Matches
    from evenhand.core.textsubject import TextSubject

MOST, MOST_LINEAR, MOST_DEAR = 200_000, 3_000_000, 5_000
"""Texts that are asked where no budget is given: of any software, of a linear model, and where each is dear."""
LEAST = 50
"""The fewest texts of several categories together that are worth asking about."""


@dataclass(frozen=True, eq=False)
class Family:
    """Categories that texts name together, and all combinations of their terms: one rule set each."""

    categories: tuple[str, ...]
    rows: NDArray[np.intp]
    """The texts that name all of the categories, in random order."""
    terms: tuple[tuple[Term, ...], ...]
    texts: int
    """How many texts name all of the categories, whether they are asked about or not."""

    @property
    def cost(self) -> int:
        """Texts that are written and asked about."""
        return len(self.rows) * len(self.terms)

    def only(self, most: int) -> Family:
        """Return the family with no more texts than this."""
        return Family(self.categories, self.rows[:most], self.terms, self.texts)

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
    """The outcomes of the texts of a family: as they stand, and with each combination of terms."""

    family: Family
    outcomes: NDArray[Any]
    """By text and combination."""
    amounts: Floats
    """How favourable they are, in [0, 1]."""

    @property
    def apart(self) -> Floats:
        """By combination and text: how much more favourable the text is with these terms than with others."""
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
    for size in range(1, min(len(names), depth or len(names)) + 1):
        for chosen in itertools.combinations(range(len(names)), size):
            rows = order[has[order][:, list(chosen)].all(axis=1)]
            if len(rows) >= support * len(order) * (1 - 1e-12):
                terms = tuple(itertools.product(*(lexicon.of(names[at]) for at in chosen)))
                found.append(Family(tuple(names[at] for at in chosen), rows, terms, len(rows)))
    if not found:
        shares = ", ".join(f"{name} {100 * share:.2g} %" for name, share in zip(names, has.mean(axis=0), strict=True))
        raise DataError(
            f"no category of the lexicon is named in at least {100 * support:g} % of the {len(order):,} texts "
            f"({shares}); try a smaller support"
        )
    return found


def affordable(found: Sequence[Family], most: float) -> tuple[list[Family], list[str]]:
    """Return as many families, and as many texts of each, as can be asked about, and what is left out."""
    kept, notes = list(found), []
    while True:
        rows = _rows(kept, most)
        several = [family for family in kept if len(family.categories) > 1]
        if rows >= min(LEAST, max(len(family.rows) for family in kept)) or not several:
            break
        largest = max(several, key=lambda family: family.cost)
        kept.remove(largest)
        notes.append(
            f"{' and '.join(largest.categories)} together were not asked about: "
            f"{largest.cost:,} texts are beyond the budget"
        )
    if not rows:
        cheapest = min(len(family.terms) for family in kept)
        raise DataError(f"budget: {int(most):,} queries are left, but one text takes {cheapest}; raise queries")
    if any(len(family.rows) > rows for family in kept):
        notes.append(f"no more than {rows:,} texts of each category were asked about, chosen at random")
    return [family.only(rows) for family in kept], notes


def _rows(found: Sequence[Family], most: float) -> int:
    """Return the largest number of texts of each family that can be asked about."""
    sizes = np.array([len(family.rows) for family in found])
    terms = np.array([len(family.terms) for family in found])
    low, high = 0, int(sizes.max())
    if math.isinf(most):
        return high
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if (np.minimum(sizes, middle) * terms).sum() <= most else (low, middle - 1)
    return low


@dataclass(eq=False)
class Asked:
    """What the software decided, and why asking ended."""

    decided: list[Decided] = field(default_factory=list)
    stop: StopReason | None = None


def ask(subject: TextSubject, matches: Matches, found: Sequence[Family], meter: Meter) -> Asked:
    """Ask about every text of every family with every combination of terms, each once."""
    path = linear_path(subject)
    asked, total, done = Asked(), sum(family.cost for family in found), 0
    for family in found:
        try:
            parts = []
            at_once = max(1, subject.batch // len(family.terms)) if path is None else max(1, len(family.rows))
            for start in range(0, len(family.rows), at_once):
                rows = family.rows[start : start + at_once]
                if path is not None:
                    parts.append(path.decide(matches, rows, family.categories, family.terms))
                else:
                    parts.append(_written(subject, matches, rows, family))
                done += parts[-1].size
                meter.queries += parts[-1].size
                meter.report(f"texts that name {' and '.join(family.categories)}", done / total, f"{done:,} texts")
                if meter.late:
                    asked.stop = StopReason.SECONDS
                    break
        except KeyboardInterrupt:
            if not asked.decided:
                raise
            asked.stop = StopReason.INTERRUPTED
            break
        outcomes = np.concatenate(parts)
        amounts = subject.amount(outcomes.ravel()).reshape(outcomes.shape)
        asked.decided.append(Decided(family.only(len(outcomes)), outcomes, amounts))
        if asked.stop is not None:
            break
    return asked


def _written(subject: TextSubject, matches: Matches, rows: NDArray[np.intp], family: Family) -> NDArray[Any]:
    """Return the outcomes of texts, by text and combination, from the texts as they are written."""
    texts = [text for terms in family.terms for text in matches.write(rows, family.categories, terms)]
    return subject.decide(texts).reshape(len(family.terms), len(rows)).T
