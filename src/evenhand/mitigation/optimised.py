"""Optimised preprocessing: training rows moved at random, as little as parity of their labels takes
(Calmon, 2017).
"""

from __future__ import annotations

import contextlib
import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from evenhand.mitigation.aif360_compat import aif360, quiet, seeded
from evenhand.mitigation.base import Mitigation, check_estimator, check_number
from evenhand.runtime.errors import DataError, UsageError, clip, nearest
from evenhand.space.dataframes import check_missing, eager

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Codes = NDArray[np.intp]
    Distortion = Callable[[Mapping[str, int], Mapping[str, int], bool, bool], float]

_MOST = 3
"""How many columns take part if none are named."""
_MOST_MOVES = 300_000
"""AIF360 goes through all pairs of cells in Python, and the solver through as many unknowns."""
_GROUP, _LABEL = "the group", "the label"


class OptimisedPreprocessing(Mitigation):
    """Move training rows and labels at random so that groups have the favourable label alike, and
    train on that.

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

    What is unreasonable about AIF360's route: the cells grow as bins to the power of columns, and
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
        chosen = self._chosen(table, truth)
        self.features_ = tuple(chosen)
        moves = self._solve(chosen, truth, self.roles_.codes(frame))
        with seeded(self.random_state):
            bins, labels = moves.draw()
        moved = {name: cut.moved(table[name], bins[name]) for name, cut in chosen.items()}
        self.moved_ = float(
            np.any([bins[name] != cut.codes for name, cut in chosen.items()], axis=0).mean()
        )
        self.relabelled_ = float((labels != truth).mean())
        self.model_ = self._model(self.estimator, table.with_columns(**moved).to_native(), labels)

    def _decide(self, frame: Any) -> Any:
        return self.model_.predict(self._inputs(frame)) == self.roles_.classes[1]

    def _chosen(self, table: Any, truth: Floats) -> dict[str, Cut]:
        from sklearn.metrics import mutual_info_score

        free = [name for name in table.columns if name not in self.roles_.over]
        for name in self.features or ():
            if name not in free:
                raise UsageError(
                    f"features names {clip(repr(name))}, which is no free column;"
                    f" {nearest(name, free)}"
                )
        cuts = {name: Cut.of(table, name, self.bins) for name in self.features or free}
        if self.features is None:
            cuts = {name: cut for name, cut in cuts.items() if len(cut.stands) > 1}
            told = {name: mutual_info_score(truth, cut.codes) for name, cut in cuts.items()}
            cuts = {name: cuts[name] for name in sorted(told, key=lambda name: -told[name])[:_MOST]}
        if not cuts:
            raise DataError(
                "no column but the protected ones has two different values, so there is nothing to"
                " move"
            )
        cells = 2 * int(np.prod([len(cut.stands) for cut in cuts.values()]))
        if (many := cells**2 * len(self.roles_.groups)) > _MOST_MOVES:
            raise UsageError(
                f"features = {clip(', '.join(cuts))} with bins = {self.bins} make {many:,} moves"
                f" between cells, more than the {_MOST_MOVES:,} that AIF360 can take; choose fewer"
                " of them"
            )
        return cuts

    def _solve(self, chosen: Mapping[str, Cut], truth: Floats, groups: Codes) -> Moves:
        """Have AIF360 find the chances of all moves."""
        import pandas as pd

        tools = aif360(
            "algorithms.preprocessing.optim_preproc_helpers.opt_tools", "OptimisedPreprocessing"
        )
        before = pd.DataFrame({name: cut.codes for name, cut in chosen.items()})
        before = before.assign(**{_LABEL: truth.astype(np.intp), _GROUP: groups})
        ordered = {name: cut.ordered for name, cut in chosen.items()}

        def far(old: Mapping[str, int], new: Mapping[str, int]) -> float:
            was, becomes = old[_LABEL] == 1, new[_LABEL] == 1
            if self.distortion is not None:
                return float(self.distortion(_features(old), _features(new), was, becomes))
            steps = (
                abs(old[name] - new[name]) if ordered[name] else old[name] != new[name]
                for name in ordered
            )
            return float(sum(steps)) + (0 if was == becomes else 1 if becomes else 2)

        with quiet(), contextlib.redirect_stdout(io.StringIO()):
            solver = tools.OptTools(df=before, features=list(before.columns))
            solver.set_features(D=[_GROUP], X=list(chosen), Y=[_LABEL])
            solver.set_distortion(far, clist=list(self.clist))
            try:
                solver.optimize(epsilon=self.epsilon, dlist=list(self.dlist), verbose=False)
            except (RuntimeError, tools.cp.error.SolverError):
                raise UsageError(
                    f"no way was found to move rows within dlist = {clip(repr(self.dlist))} that"
                    f" brings the groups to within epsilon = {self.epsilon!r}; raise epsilon or"
                    " dlist"
                ) from None
        return Moves(before, solver.dfP)

    def _check(self) -> None:
        check_estimator(self, self.estimator)
        if isinstance(self.features, str) or (
            self.features is not None and not list(self.features)
        ):
            raise UsageError(
                f"features = {clip(repr(self.features))} must be a list of columns, or None to"
                " choose"
            )
        check_number("bins", self.bins, low=2, whole=True)
        check_number("epsilon", self.epsilon, low=0, high=1)
        if len(self.clist) != len(self.dlist):
            raise UsageError(
                f"clist has {len(self.clist)} distortions and dlist {len(self.dlist)} shares; give"
                " one share for each"
            )


@dataclass(frozen=True)
class Cut:
    """A column cut into bins: the bin of each row, and for each bin a row whose value stands for
    it.
    """

    codes: Codes
    stands: Codes
    ordered: bool

    @classmethod
    def of(cls, table: Any, name: str, bins: int) -> Cut:
        """Cut a column at its quantiles if it is numeric, else into its most common levels and all
        others.

        >>> import pandas as pd
        >>> frame = eager(pd.DataFrame({"job": ["a", "b", "b", "c", "c", "c"], "age": [20, 30, 40, 50, 60, 70]}))
        >>> Cut.of(frame, "job", 2).codes.tolist(), Cut.of(frame, "age", 2).codes.tolist()
        ([1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1])
        """
        check_missing(table, name)
        column = table[name]
        ordered = bool(column.dtype.is_numeric())
        values = np.asarray(
            column.to_numpy() if ordered else np.array(column.to_list(), dtype=object).astype(str)
        )
        levels, places, counts = np.unique(values, return_inverse=True, return_counts=True)
        if ordered:
            quantiles = np.quantile(
                values, np.linspace(0, 1, bins + 1)[1:-1], method="inverted_cdf"
            )
            few = len(levels) <= bins
            codes = places if few else np.searchsorted(np.unique(quantiles), values, side="left")
        else:
            rank = np.empty(len(levels), dtype=np.intp)
            rank[np.argsort(-counts, kind="stable")] = np.arange(len(levels))
            codes = np.minimum(rank, bins - 1)[places]
        codes = np.unique(codes, return_inverse=True)[1].astype(np.intp)
        by_value = np.argsort(places if ordered else -counts[places], kind="stable")
        inside = [by_value[codes[by_value] == code] for code in range(codes.max() + 1)]
        stands = [rows[(len(rows) - 1) // 2 if ordered else 0] for rows in inside]
        return cls(codes, np.array(stands, dtype=np.intp), ordered)

    def moved(self, column: Any, codes: Codes) -> Any:
        """Return the column with the value that stands for its new bin in each row that changes
        bin.
        """
        return column[np.where(codes == self.codes, np.arange(len(codes)), self.stands[codes])]


class Moves:
    """The chances with which each training row moves to each cell of features and label."""

    def __init__(self, before: Any, chances: Any) -> None:
        rows = chances.index.get_indexer(
            list(before[list(chances.index.names)].itertuples(index=False, name=None))
        )
        # As in AIF360: what the solver leaves of a chance that is zero.
        clean = np.where(chances.to_numpy() < 1e-8, 0.0, chances.to_numpy())
        self._sums = np.cumsum(clean / clean.sum(axis=1, keepdims=True), axis=1)[rows]
        self._cells = chances.columns.to_frame(index=False)

    def draw(self) -> tuple[dict[str, Codes], Floats]:
        """Draw the bins of each column and the labels from numpy's global generator."""
        at = (np.random.random(len(self._sums))[:, None] > self._sums[:, :-1]).sum(axis=1)
        cells = {name: column.to_numpy()[at] for name, column in self._cells.items()}
        labels = cells.pop(_LABEL).astype(np.float64)
        return cells, labels


def _features(cell: Mapping[str, int]) -> dict[str, int]:
    return {name: code for name, code in cell.items() if name != _LABEL}
