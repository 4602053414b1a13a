"""Asking: how favourably the software treats given rows, in full or as far as a budget reaches, and
who is compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.mine.findings import Words
from evenhand.methods.mine.rule_sets import Treated
from evenhand.population.rows import Rows
from evenhand.runtime.errors import DataError, UsageError, nearest
from evenhand.runtime.random_streams import stream
from evenhand.runtime.values import as_outcomes
from evenhand.scores.neighbours import Neighbours, walk
from evenhand.space.dataframes import check_missing, eager
from evenhand.space.feature import plain
from evenhand.statistics.estimate import StopReason

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evenhand.runtime.budget import Meter
    from evenhand.runtime.workers import Workers
    from evenhand.subject.subject import Subject
    from evenhand.subject.view import View

MOST, MOST_EXPENSIVE = 2_000_000, 5_000
"""Inputs that are asked where no budget is given, and where each costs a process or a request."""


@dataclass(eq=False)
class Asking:
    """Which rows are asked about, in which way, and how that went."""

    subject: Subject
    given: Rows
    method: str | None
    seed: int
    sensitive: tuple[str, ...]
    kept: int = 0
    """Inputs that are kept for other questions."""

    def __post_init__(self) -> None:
        self.points = self.given.points(self.subject.space)
        self.notes: list[str] = []
        self.stop: StopReason | None = None
        self.whole = self.given.sample_of is None
        self.partial = False
        self.done = 0
        self.order = stream(self.seed, "mine", "order").permutation(len(self.points))

    def level(self, level: float) -> float:
        """Return how sure the rates are to be: where all that there is was asked, they are what
        they are.
        """
        return 1.0 if self.method == "paper" or (self.whole and not self.partial) else level

    def parts(
        self, views: Sequence[View], meter: Meter, workers: Workers
    ) -> list[tuple[View, Treated, NDArray[np.intp]]]:
        """Ask how favourably each row is treated in each view; return that, and which rows were
        asked.
        """
        found = []
        for number, view in enumerate(views):
            share = meter.share(len(views) - number)
            found.append((view, *self._asked(view, share, workers)))
            meter.queries += share.queries
        return found

    def neighbours(self, view: View) -> Neighbours:
        """Return the neighbours of rows that are asked: those one step away, or the rows
        themselves.
        """
        return (
            Neighbours(view, ()) if self.method == "rows" else Neighbours.of(view, self.sensitive)
        )

    def _asked(
        self, view: View, meter: Meter, workers: Workers
    ) -> tuple[Treated, NDArray[np.intp]]:
        if self.method == "paper":
            self._check_weights(full=False)
            return self._treated(np.zeros(len(self.points)), np.arange(len(self.points)), "paper")
        neighbours = self.neighbours(view)
        method, draws, most = self._how(neighbours.cost, meter)
        self._check_weights(full=draws is None and most == len(self.points))
        if (
            self.stop is StopReason.INTERRUPTED
        ):  # of the other outputs, no more is asked than is known of the first
            most = min(most, self.done)
        done, values, stop = walk(
            neighbours,
            self.points,
            draws=draws,
            seed=self.seed,
            order=self.order[:most],
            meter=meter,
            workers=workers,
            task=(
                f"{'rows' if method == 'rows' else 'neighbours of rows'}{f' for {view.name}' if view.name else ''}"
            ),
        )
        self.done = len(done)
        some = draws is not None or most < len(self.points)
        self.stop = self.stop or stop or (StopReason.QUERIES if some else None)
        self.partial |= draws is not None or len(done) < len(self.points)
        if len(done) < len(self.points):
            self.notes.append(
                f"{len(done):,} of {len(self.points):,} rows were asked about, chosen at random"
            )
        place = np.argsort(done)
        self._check_weights(full=not self.partial)
        return self._treated(values[place], done[place], method, len(done) * neighbours.asks(draws))

    def _how(self, cost: int, meter: Meter) -> tuple[str, int | None, int]:
        """Return the method, how many neighbours are drawn for each row (None for all), and how
        many rows are asked.
        """
        n = len(self.points)
        usual = MOST_EXPENSIVE if self.subject.adapter.expensive else MOST
        left = usual if meter.left == float("inf") else int(meter.left)
        left = max(left - min(left // 10, self.kept), 1)
        if self.method in ("neighbours", "rows") or (self.method is None and cost * n <= left):
            return self.method or "neighbours", None, n
        return "drawn", max(1, min(left // n, cost)), min(n, left)

    def _check_weights(self, *, full: bool) -> None:
        if self.given.weights is not None and not full:
            raise UsageError(
                "weights need every row to be asked about in full; raise the budget, or take"
                " method='rows'"
            )

    def _treated(
        self, values: NDArray[np.float64], done: NDArray[np.intp], method: str, queries: int = 0
    ) -> tuple[Treated, NDArray[np.intp]]:
        weights = None if self.given.weights is None else self.given.weights[done]
        around = "" if method == "rows" else ", and their one-step neighbours"
        population = f"{self.given.population(self.subject.space)}{around}"
        return (
            Treated(
                np.asfortranarray(self.points[done]), values, population, method, weights, queries
            ),
            done,
        )


def compared(
    view: View,
    treated: Treated,
    done: NDArray[np.intp],
    scores: Sequence[str],
    good: NDArray[np.bool_],
) -> list[tuple[Words, Treated]]:
    """Return who is compared in each score: everybody, or those whose true outcome is good, or is
    not.
    """
    return [
        (
            Words(view.favoured, view.title, score, view.counts, view.names_outcome),
            treated.truly(good[done], score),
        )
        for score in scores
    ]


def true_outcomes(truth: Any, data: Any, rows: int) -> NDArray[Any]:
    """Return the true outcome of each row: a column of data, or the sequence that is given.

    >>> true_outcomes([1.0, 0.0], None, 2).tolist()
    [1, 0]
    """
    import pandas as pd

    if isinstance(truth, str):
        if isinstance(data, Rows | list):
            raise UsageError(
                f"truth = {truth!r} names a column, but data is no dataframe; give the true"
                " outcomes themselves"
            )
        table = eager(data)
        if truth not in table.columns:
            raise DataError(
                f"truth = {truth!r} is no column of data; {nearest(truth, table.columns)}"
            )
        check_missing(table, truth)
        truth = table[truth].to_list()
    # As objects, since a text beside a missing number would be two texts.
    labels = np.asarray(truth, dtype=object if isinstance(truth, list | tuple) else None)
    if labels.ndim != 1:
        raise UsageError(f"truth has shape {labels.shape}; give one true outcome for each row")
    if len(labels) != rows:
        raise UsageError(
            f"truth has {len(labels):,} outcomes for {rows:,} rows; give one for each row"
        )
    missing = pd.isna(labels)
    if missing.any():
        raise DataError(f"truth has no outcome in row {int(missing.argmax())}; leave such rows out")
    if labels.dtype == object:
        labels = as_outcomes([plain(label) for label in labels.tolist()])
    whole = labels.dtype.kind == "f" and bool((labels == np.floor(labels)).all())
    return labels.astype(np.int64) if whole else labels  # whole numbers often come as floats


def truly_favourable(view: View, labels: NDArray[Any], scores: Sequence[str]) -> NDArray[np.bool_]:
    """Return whose true outcome is favourable; truth values say so themselves where outcomes are no
    truth values.
    """
    told = view.target is None and not {False, True}.intersection(view.meaning.values)
    good = (
        labels
        if labels.dtype == np.bool_ and (told or not view.counts)
        else view.favourable(labels)
    )
    if not good.any():
        there = nearest(view.favoured, labels[:1000].tolist())
        raise DataError(f"truth has no outcome that is favourable ({view.favoured}); {there}")
    if "fpr" in scores and good.all():
        raise DataError(
            "score = 'fpr': every true outcome is favourable; there is nobody to compare"
        )
    return good
