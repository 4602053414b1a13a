"""Optimised preprocessing: rows moved at random, as little as parity takes (Calmon, 2017)."""

from __future__ import annotations

import contextlib
import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from evenhand.mitigation.aif360_compat import aif360, quiet, seeded
from evenhand.mitigation.base import Mitigation, check_estimator, check_number
from evenhand.runtime.errors import DataError, UsageError, clip, nearest
from evenhand.space.frames.reading import check_missing, eager

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Codes = NDArray[np.intp]
    Cell = Mapping[str, int]
    Distortion = Callable[[Cell, Cell, bool, bool], float]

_MOST = 3
"""How many columns take part if none are named."""
_MOST_MOVES = 300_000
"""AIF360 goes through all pairs of cells in Python, and the solver through as many unknowns."""
_GROUP = "the group"
_LABEL = "the label"


class OptimisedPreprocessing(Mitigation):
    """Move training rows and labels at random until parity holds, and train on the moved rows.

    A convex program finds the chances with which a row of some group, features and label becomes
    another: the rates of the favourable label of any two groups end at most `epsilon` apart, few
    rows are moved far, and the distribution of features and labels stays as near to the original as
    it can. It knows cells, not numbers: each column that takes part is cut into at most `bins`
    bins, numbers at quantiles, texts into the most common levels and all others.

    The estimator is trained on the user's own columns. A row that is moved to another bin of a
    column gets the most common level of that bin, or its median; one that is not keeps its value,
    and columns that do not take part stay as they are. Rows to predict are never moved: without
    labels the program has only an average of its chances for them, and a person's answer would be
    drawn at random each time.

    Why AIF360's own route is not taken: the cells grow as bins to the power of columns, and
    it goes through all pairs of them in Python, so that a handful of columns is all it can take;
    columns must be cut by hand, with a distortion written for each data set; moving rows without
    labels fails on pandas 2 and later, and with labels on pandas 3. Here AIF360 solves the program,
    and the moves are drawn by numpy.

    Parameters
    ----------
    features
        The columns that take part; by default the three that tell most of the label, once they are
        cut.
    bins
        The most bins of a column.
    epsilon
        The most that rates of the favourable label may differ between groups in the training rows
        as moved.
    clist, dlist
        For each distortion in `clist`, the most that may be moved that far from any cell, in
        `dlist`.
    distortion
        A function of the bins before and after (two mappings from columns to numbers of bins) and
        whether the label was and becomes favourable. By default, as in AIF360's example for German,
        a number costs 1 for each bin that it moves, a text 1 for any move, a label 1 to become
        favourable and 2 to become unfavourable.

    Notes
    -----
    See docs/how-to/study.md

    Attributes
    ----------
    features_
        The columns that took part.
    moved_, relabelled_
        The shares of training rows whose features, and whose labels, were moved.

    >>> OptimisedPreprocessing(over="sex", epsilon=0.1).knob
    'epsilon'
    """

    kind: ClassVar[str] = "pre"
    code: ClassVar[str] = "OP"
    extra: ClassVar[str] = "aif360"
    knob: ClassVar[str | None] = "epsilon"

    def __init__(
        self,
        estimator: Any = None,
        *,
        over: Any = None,
        positive: Any = None,
        privileged: Any = None,
        aware: bool = True,
        features: Sequence[str] | None = None,
        bins: int = 3,
        epsilon: float = 0.05,
        clist: Sequence[float] = (0.99, 1.99, 2.99),
        dlist: Sequence[float] = (0.1, 0.05, 0.0),
        distortion: Distortion | None = None,
        random_state: int | None = 0,
    ) -> None:
        self.estimator = estimator
        self.over = over
        self.positive = positive
        self.privileged = privileged
        self.aware = aware
        self.features = features
        self.bins = bins
        self.epsilon = epsilon
        self.clist = clist
        self.dlist = dlist
        self.distortion = distortion
        self.random_state = random_state

    def _fit(self, frame: Any, truth: Floats) -> None:
        self._check()
        table = eager(frame)
        cuts = self._cut_columns(table, truth)
        self.features_ = tuple(cuts)
        moves = self._solve(cuts, truth, self.roles_.codes(frame))
        with seeded(self.random_state):
            bins, labels = moves.draw()
        moved_columns = {}
        changes_bin = []
        for name, cut in cuts.items():
            moved_columns[name] = cut.moved(table[name], bins[name])
            changes_bin.append(bins[name] != cut.codes)
        self.moved_ = float(np.any(changes_bin, axis=0).mean())
        self.relabelled_ = float((labels != truth).mean())
        moved_frame = table.with_columns(**moved_columns).to_native()
        self.model_ = self._model(self.estimator, moved_frame, labels)

    def _decide(self, frame: Any) -> Any:
        return self.model_.predict(self._inputs(frame)) == self.roles_.classes[1]

    def _cut_columns(self, table: Any, truth: Floats) -> dict[str, Cut]:
        """Return the columns that take part, each cut into bins."""
        free = [name for name in table.columns if name not in self.roles_.over]
        for name in self.features or ():
            if name not in free:
                raise UsageError(
                    f"features names {clip(repr(name))}, which is not an unprotected column of X;"
                    f" {nearest(name, free)}"
                )
        cuts = {name: Cut.of(table, name, self.bins) for name in self.features or free}
        if self.features is None:
            cuts = _most_informative(cuts, truth)
        if not cuts:
            raise DataError(
                "no column but the protected ones has two different values, so there is nothing to"
                " move"
            )
        bins = [len(cut.stands) for cut in cuts.values()]
        cells = 2 * int(np.prod(bins))
        moves = cells**2 * len(self.roles_.groups)
        if moves > _MOST_MOVES:
            raise UsageError(
                f"features = {clip(', '.join(cuts))} with bins = {self.bins} make {moves:,} moves"
                f" between cells, more than the {_MOST_MOVES:,} that AIF360 can take; choose fewer"
                " of them"
            )
        return cuts

    def _solve(self, cuts: Mapping[str, Cut], truth: Floats, groups: Codes) -> Moves:
        """Return the chances of all moves, which AIF360 finds."""
        import pandas as pd

        tools = aif360(
            "algorithms.preprocessing.optim_preproc_helpers.opt_tools",
            "OptimisedPreprocessing",
        )
        columns: dict[str, Codes] = {name: cut.codes for name, cut in cuts.items()}
        columns[_LABEL] = truth.astype(np.intp)
        columns[_GROUP] = groups
        before = pd.DataFrame(columns)
        # AIF360 prints its progress.
        with quiet(), contextlib.redirect_stdout(io.StringIO()):
            solver = tools.OptTools(df=before, features=list(before.columns))
            solver.set_features(D=[_GROUP], X=list(cuts), Y=[_LABEL])
            solver.set_distortion(self._distortion_of_cells(cuts), clist=list(self.clist))
            try:
                solver.optimize(epsilon=self.epsilon, dlist=list(self.dlist), verbose=False)
            except (RuntimeError, tools.cp.error.SolverError):
                raise UsageError(
                    f"no way was found to move rows within dlist = {clip(repr(self.dlist))} that"
                    f" brings the groups to within epsilon = {self.epsilon!r}; raise epsilon or"
                    " dlist"
                ) from None
        return Moves(before, solver.dfP)

    def _distortion_of_cells(
        self, cuts: Mapping[str, Cut]
    ) -> Callable[[Cell, Cell], float]:
        """Return the function that AIF360 calls for how far a row moves from cell to cell."""

        def distortion(old: Cell, new: Cell) -> float:
            was = old[_LABEL] == 1
            becomes = new[_LABEL] == 1
            if self.distortion is not None:
                return float(self.distortion(_features(old), _features(new), was, becomes))
            steps = 0
            for name, cut in cuts.items():
                if cut.ordered:
                    steps += abs(old[name] - new[name])
                else:
                    steps += old[name] != new[name]
            if was == becomes:
                label_cost = 0
            elif becomes:
                label_cost = 1
            else:
                label_cost = 2
            return float(steps) + label_cost

        return distortion

    def _check(self) -> None:
        check_estimator(self, self.estimator)
        is_text = isinstance(self.features, str)
        is_empty = self.features is not None and not list(self.features)
        if is_text or is_empty:
            raise UsageError(
                f"features = {clip(repr(self.features))} must be a list of columns, or None to"
                " choose"
            )
        check_number("bins", self.bins, low=2, whole=True)
        check_number("epsilon", self.epsilon, low=0, high=1)
        if len(self.clist) != len(self.dlist):
            raise UsageError(
                f"clist has {len(self.clist)} distortions, but dlist has {len(self.dlist)} shares;"
                " give one share for each distortion"
            )


@dataclass(frozen=True)
class Cut:
    """A column cut into bins.

    `codes` is the bin of each row, `stands` for each bin a row whose value stands for it, and
    `ordered` says whether the bins have an order.
    """

    codes: Codes
    stands: Codes
    ordered: bool

    @classmethod
    def of(cls, table: Any, name: str, bins: int) -> Cut:
        """Cut a numeric column at quantiles, any other into its most common levels and the rest.

        >>> import pandas as pd
        >>> jobs = ["a", "b", "b", "c", "c", "c"]
        >>> frame = eager(pd.DataFrame({"job": jobs, "age": [20, 30, 40, 50, 60, 70]}))
        >>> Cut.of(frame, "job", 2).codes.tolist(), Cut.of(frame, "age", 2).codes.tolist()
        ([1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1])
        """
        check_missing(table, name)
        column = table[name]
        ordered = bool(column.dtype.is_numeric())
        if ordered:
            values = np.asarray(column.to_numpy())
        else:
            values = np.array(column.to_list(), dtype=object).astype(str)
        levels, places, counts = np.unique(values, return_inverse=True, return_counts=True)
        if ordered:
            codes = places
            if len(levels) > bins:
                codes = _quantile_bins(values, bins)
        else:
            codes = _common_level_bins(places, counts, bins)
        # Some bins may be empty: number those that are not from 0.
        _, codes = np.unique(codes, return_inverse=True)
        codes = codes.astype(np.intp)
        stands = _standing_rows(codes, places, counts, ordered=ordered)
        return cls(codes, stands, ordered)

    def moved(self, column: Any, codes: Codes) -> Any:
        """Return the column with another value in each row that changes its bin.

        The value is the one that stands for the new bin.
        """
        own_rows = np.arange(len(codes))
        rows = np.where(codes == self.codes, own_rows, self.stands[codes])
        return column[rows]


def _quantile_bins(values: Any, bins: int) -> Codes:
    """Return the bin of each number, cut at quantiles."""
    inner_shares = np.linspace(0, 1, bins + 1)[1:-1]
    # Quantiles that are values themselves, so that equal numbers share a bin.
    quantiles = np.quantile(values, inner_shares, method="inverted_cdf")
    bins_of_rows = np.searchsorted(np.unique(quantiles), values, side="left")
    return np.asarray(bins_of_rows, dtype=np.intp)


def _common_level_bins(places: Codes, counts: Codes, bins: int) -> Codes:
    """Return the bin of each level: the most common ones each have one, all others the last."""
    by_count = np.argsort(-counts, kind="stable")
    rank = np.empty(len(counts), dtype=np.intp)
    rank[by_count] = np.arange(len(counts))
    bin_of_level = np.minimum(rank, bins - 1)
    return np.asarray(bin_of_level[places])


def _standing_rows(codes: Codes, places: Codes, counts: Codes, *, ordered: bool) -> Codes:
    """Return for each bin a row with its median, or with its most common level."""
    sort_key = places if ordered else -counts[places]
    sorted_rows = np.argsort(sort_key, kind="stable")
    stands = []
    for code in range(codes.max() + 1):
        rows = sorted_rows[codes[sorted_rows] == code]
        middle = (len(rows) - 1) // 2 if ordered else 0
        stands.append(rows[middle])
    return np.array(stands, dtype=np.intp)


def _most_informative(cuts: Mapping[str, Cut], truth: Floats) -> dict[str, Cut]:
    """Return the columns that, once cut, have the most mutual information with the label."""
    from sklearn.metrics import mutual_info_score

    information = {}
    for name, cut in cuts.items():
        if len(cut.stands) > 1:
            information[name] = mutual_info_score(truth, cut.codes)
    names = sorted(information, key=lambda name: -information[name])
    return {name: cuts[name] for name in names[:_MOST]}


class Moves:
    """The chances with which each training row moves to each cell of features and label."""

    def __init__(self, before: Any, chances: Any) -> None:
        names = list(chances.index.names)
        cells = before[names].itertuples(index=False, name=None)
        rows = chances.index.get_indexer(list(cells))
        # As in AIF360: what the solver leaves of a chance that is zero.
        solved = chances.to_numpy()
        clean = np.where(solved < 1e-8, 0.0, solved)
        shares = clean / clean.sum(axis=1, keepdims=True)
        self._sums = np.cumsum(shares, axis=1)[rows]
        self._cells = chances.columns.to_frame(index=False)

    def draw(self) -> tuple[dict[str, Codes], Floats]:
        """Draw the bins of each column and the labels from numpy's global generator."""
        draws = np.random.random(len(self._sums))
        # A row moves to the first cell whose cumulated chance its draw does not exceed.
        is_beyond = draws[:, None] > self._sums[:, :-1]
        drawn_cells = is_beyond.sum(axis=1)
        bins = {
            name: column.to_numpy()[drawn_cells] for name, column in self._cells.items()
        }
        labels = bins.pop(_LABEL).astype(np.float64)
        return bins, labels


def _features(cell: Cell) -> dict[str, int]:
    return {name: code for name, code in cell.items() if name != _LABEL}
