"""Outcomes on a scale: how far apart two numbers must be to count as different outcomes.

Two numbers that a model gives are hardly ever the same, so that "any change" would call nearly
every input discriminatory. Where the user does not say how far apart outcomes must be, they differ
when they are further apart than a share of their spread. The spread is the interquartile range of
the outcomes of a fixed set of inputs (`scores/numbers/settling.py`): a few extreme ones cannot
widen it, and so cannot hide differences among all others.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.runtime import number_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from evenhand.subject.outcome_meaning import Meaning
    from evenhand.subject.subject import Subject

SHARE = 0.05
"""The share of the spread that two outcomes must be apart."""
LEAST_VALUES = 20
"""Fractions with fewer different values than this may be labels, and are compared as such."""
FIGURES = 2
"""The significant figures of the threshold: the spread of some inputs is not known to more."""


@dataclass(frozen=True, slots=True)
class OutcomeScale:
    """The spread of numeric outcomes, and how far apart two of them must be to differ.

    >>> scale = OutcomeScale.of(np.arange(2401.0), "all inputs, uniformly")
    >>> scale.spread, scale.differs
    (1200.0, 60.0)
    >>> print(scale.sentence())
    outcomes differ if they are further apart than 60 (5 % of their spread, 1,200)
    """

    differs: float
    spread: float
    """The interquartile range: how wide the middle half of the outcomes is."""
    n: int
    """How many inputs or rows it is of."""
    population: str
    share: float = SHARE

    @classmethod
    def of(cls, outcomes: NDArray[Any], population: str) -> OutcomeScale:
        """Return the scale of the outcomes of some inputs, at least one."""
        spread = spread_of(outcomes)
        threshold = rounded(SHARE * spread)
        return cls(threshold, spread, len(outcomes), population)

    def sentence(self, output: str = "") -> str:
        """Return what counts as different outcomes, as a sentence."""
        outcomes = f"outcomes of {output}" if output else "outcomes"
        if not self.differs:
            return (
                f"{outcomes} differ if they are not equal, since the middle half of them are the"
                " same number"
            )
        return (
            f"{outcomes} differ if they are further apart than"
            f" {number_text.amount(self.differs)}"
            f" ({number_text.percent_plain(self.share)} of their spread,"
            f" {number_text.amount(self.spread)})"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the scale as JSON holds it."""
        return {
            "value": self.differs,
            "share": self.share,
            "spread": self.spread,
            "n": self.n,
            "population": self.population,
        }

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> OutcomeScale:
        """Rebuild a scale from `to_dict`."""
        return cls(
            float(table["value"]),
            float(table["spread"]),
            int(table["n"]),
            str(table["population"]),
            float(table["share"]),
        )


def spread_of(values: NDArray[Any]) -> float:
    """Return the interquartile range of some numbers, of the finite ones among them.

    >>> spread_of(np.array([0.0, 10.0, 20.0, 30.0, 1e9]))
    20.0
    """
    numbers = np.asarray(values, dtype=np.float64)
    finite = numbers[np.isfinite(numbers)]
    if not len(finite):
        return 0.0
    low, high = np.quantile(finite, [0.25, 0.75])
    return float(high - low)


def rounded(value: float) -> float:
    """Return a threshold in few figures, which people can read and platforms agree on.

    >>> rounded(123.4), rounded(0.0)
    (120.0, 0.0)
    """
    if not value or not math.isfinite(value):
        return 0.0
    digits = FIGURES - 1 - math.floor(math.log10(abs(value)))
    return float(round(value, digits))


def notes_of(subject: Subject) -> list[str]:
    """Return a sentence for each output whose outcomes are compared on a scale."""
    sentences = []
    for name, meaning in subject.meanings.items():
        if meaning.scale is not None:
            sentences.append(meaning.scale.sentence(name))
    return sentences


def details_of(subject: Subject) -> dict[str, Any]:
    """Return the scales of a subject as the details of a result hold them, by output."""
    scales = {}
    for name, meaning in subject.meanings.items():
        if meaning.scale is not None:
            scales[name] = meaning.scale.to_dict()
    if scales:
        return {"differs": scales}
    return {}


def take_over(subject: Subject, details: Mapping[str, Any]) -> None:
    """Let outcomes differ as they did in an earlier result, where the user does not say when."""
    for name, table in details.get("differs", {}).items():
        meaning = subject.meanings.get(name)
        if meaning is not None and meaning.open_scale:
            subject.put_on_scale(name, OutcomeScale.from_dict(table))


def on_scale(meaning: Meaning, outcomes: NDArray[Any]) -> bool:
    """Return whether outcomes are numbers on a scale, rather than labels that are numbers."""
    if outcomes.dtype.kind not in "iuf":
        return False
    if meaning.numbers:
        return True
    if outcomes.dtype.kind != "f":
        return False
    values = np.unique(outcomes)
    return len(values) >= LEAST_VALUES and bool((values != np.floor(values)).any())
