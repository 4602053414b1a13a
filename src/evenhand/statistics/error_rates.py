"""Rates of decisions against what they should have been: true positive rate, precision and so on.

A table of counts has the axes group, truth (not favourable, favourable, not known) and decision
(not favourable, favourable). Each rate is a share of people: hits over sizes, which all intervals
of proportions take.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.runtime.errors import UsageError, clip, nearest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evenhand.statistics.intervals import Floats, Limits

TRUTHS = 3
"""The places of the axis of truth: not favourable, favourable, and not known."""


@dataclass(frozen=True, slots=True)
class ErrorRate:
    """A rate of groups: of which people it is the share, and of which of them.

    >>> counts = np.array([[[40.0, 10.0], [5.0, 45.0], [0.0, 0.0]]])
    >>> hits, size = RATES["true_positive_rate"].counted(counts)
    >>> hits.tolist(), size.tolist()
    ([45.0], [50.0])
    """

    name: str
    article: str
    hits: tuple[tuple[int, int], ...]
    """The cells that count, each as the places of its truth and its decision."""
    others: tuple[tuple[int, int], ...]
    """The cells that are in the share besides these."""
    meaning: str

    @property
    def title(self) -> str:
        """The rate in words."""
        return self.name.replace("_", " ")

    @property
    def needs_truth(self) -> bool:
        """Whether it takes what decisions should have been."""
        return self.name != "selection_rate"

    def counted(self, counts: Floats) -> Limits:
        """Return hits and sizes of each group."""
        hits = _sum(counts, self.hits)
        return hits, hits + _sum(counts, self.others)


def _sum(counts: Floats, cells: Sequence[tuple[int, int]]) -> Floats:
    total: NDArray[Any] = np.zeros(counts.shape[:-2])
    for truth, decision in cells:
        total = total + counts[..., truth, decision]
    return total


_TRUE_POSITIVE = ((1, 1),)
_FALSE_NEGATIVE = ((1, 0),)
_FALSE_POSITIVE = ((0, 1),)
_TRUE_NEGATIVE = ((0, 0),)
_ALL = (
    ErrorRate(
        "selection_rate",
        "a",
        (*_TRUE_POSITIVE, *_FALSE_POSITIVE, (2, 1)),
        (*_TRUE_NEGATIVE, *_FALSE_NEGATIVE, (2, 0)),
        "the share of a group that gets the favourable outcome",
    ),
    ErrorRate(
        "true_positive_rate",
        "a",
        _TRUE_POSITIVE,
        _FALSE_NEGATIVE,
        "of those who should get the favourable outcome, the share that does",
    ),
    ErrorRate(
        "false_positive_rate",
        "a",
        _FALSE_POSITIVE,
        _TRUE_NEGATIVE,
        "of those who should not get the favourable outcome, the share that does",
    ),
    ErrorRate(
        "precision",
        "a",
        _TRUE_POSITIVE,
        _FALSE_POSITIVE,
        "of those who get the favourable outcome, the share that should",
    ),
    ErrorRate(
        "accuracy",
        "an",
        (*_TRUE_POSITIVE, *_TRUE_NEGATIVE),
        (*_FALSE_POSITIVE, *_FALSE_NEGATIVE),
        "the share of decisions that are as they should be",
    ),
    ErrorRate(
        "false_negative_rate",
        "a",
        _FALSE_NEGATIVE,
        _TRUE_POSITIVE,
        "of those who should get the favourable outcome, the share that does not",
    ),
    ErrorRate(
        "true_negative_rate",
        "a",
        _TRUE_NEGATIVE,
        _FALSE_POSITIVE,
        "of those who should not get the favourable outcome, the share that does not",
    ),
    ErrorRate(
        "base_rate",
        "a",
        (*_TRUE_POSITIVE, *_FALSE_NEGATIVE),
        (*_FALSE_POSITIVE, *_TRUE_NEGATIVE),
        "the share of a group that should get the favourable outcome",
    ),
)
RATES = {rate.name: rate for rate in _ALL}
"""All rates by their names."""
USUAL = (
    "selection_rate",
    "true_positive_rate",
    "false_positive_rate",
    "precision",
    "accuracy",
)
"""The rates that are told where it is known what decisions should have been."""
_SHORT = {
    "rate": "selection_rate",
    "tpr": "true_positive_rate",
    "recall": "true_positive_rate",
    "fpr": "false_positive_rate",
    "fnr": "false_negative_rate",
    "tnr": "true_negative_rate",
    "ppv": "precision",
}


def rates_of(metric: Any, *, truth: bool) -> tuple[str, ...]:
    """Return the names of the rates that `metric` asks for, one name or several.

    Short names stand for long ones. All but the selection rate take what decisions should have
    been, which `truth` says that there is.

    >>> rates_of("tpr", truth=True), rates_of(["FPR", "precision"], truth=True)
    (('true_positive_rate',), ('false_positive_rate', 'precision'))
    """
    given = [metric] if isinstance(metric, str) else metric
    if not isinstance(given, list | tuple) or not given:
        raise UsageError(
            f"metric = {clip(repr(metric))} must be the name of a rate, or a list of names;"
            f" {nearest(metric, RATES)}"
        )
    names = []
    for entry in given:
        written = str(entry).strip().lower().replace(" ", "_").replace("-", "_")
        name = _SHORT.get(written, written)
        if name not in RATES:
            raise UsageError(
                f"metric = {clip(repr(entry))} is unknown; {nearest(entry, RATES)}"
            )
        if RATES[name].needs_truth and not truth:
            raise UsageError(
                f"metric = {clip(repr(entry))} needs what decisions should have been; name that"
                " column with truth"
            )
        names.append(name)
    return tuple(dict.fromkeys(names))


def reported(judged: tuple[str, ...], *, truth: bool) -> tuple[str, ...]:
    """Return the rates that are shown: those that are judged, and the usual ones with a truth.

    >>> reported(("base_rate",), truth=True)[-1], reported(("selection_rate",), truth=False)
    ('base_rate', ('selection_rate',))
    """
    if truth:
        return tuple(dict.fromkeys((*USUAL, *judged)))
    return judged
