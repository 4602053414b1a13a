"""Methods that act after the training, on the answers of a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from evenhand.mitigation.aif360_compat import (
    PRIVILEGED,
    UNPRIVILEGED,
    aif360,
    check_seed,
    dataset,
    seeded,
)
from evenhand.mitigation.base import Mitigation, check_number
from evenhand.runtime.errors import DataError, UsageError, clip, nearest
from evenhand.space.frames.reading import eager

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Bools = NDArray[np.bool_]

METRICS = ("spd", "aod", "eod")
COSTS = ("fnr", "fpr", "weighted")


class PostProcessing(Mitigation):
    """A method that changes the answers of a model, learned from its answers on training rows.

    Subclasses write `_learn` and `_decide`; the model is `model_`.
    """

    kind: ClassVar[str] = "post"

    estimator: Any
    prefit: bool
    validation: float | None
    random_state: int | None

    def __sklearn_clone__(self) -> Any:
        # A copy of a model that is fitted already would not be fitted.
        if self.prefit:
            return type(self)(**self.get_params(deep=False))
        return super().__sklearn_clone__()

    def _fit(self, frame: Any, truth: Floats) -> None:
        check_seed(self.random_state)
        share = self.validation
        is_share = isinstance(share, int | float) and 0 < share < 1
        if share is not None and not is_share:
            raise UsageError(
                f"validation = {clip(repr(share))} must be a share of the rows between 0 and 1, or"
                " None"
            )
        if self.prefit:
            if share is not None:
                raise UsageError(
                    "prefit=True cannot be combined with validation: no model is trained from which"
                    " rows could be kept"
                )
            self.model_ = self._given()
        elif share is None:
            self.model_ = self._model(self.estimator, frame, truth)
        else:
            kept = self._kept(frame, truth, share)
            table = eager(frame)
            training_rows = table.filter((~kept).tolist()).to_native()
            self.model_ = self._model(self.estimator, training_rows, truth[~kept])
            frame = table.filter(kept.tolist()).to_native()
            truth = truth[kept]
        self._learn(frame, truth, self.roles_.are_privileged(frame))

    def _given(self) -> Any:
        if self.estimator is None:
            raise UsageError(
                f"{type(self).__name__} needs an estimator; with prefit=True, one that is fitted"
            )
        if not hasattr(self.estimator, "classes_"):
            raise UsageError(
                f"prefit=True, but {clip(repr(self.estimator))} is not fitted; fit it, or leave"
                " prefit out"
            )
        return self.estimator

    def _kept(self, frame: Any, truth: Floats, share: float) -> Bools:
        """Return which rows are kept from the model: the same share of every group and label."""
        shuffled = np.random.default_rng(self.random_state).permutation(len(truth))
        # Rows of the same group and label stand together, in random order; of these, every so many
        # are kept.
        strata = 2 * self.roles_.codes(frame) + truth
        order = shuffled[np.argsort(strata[shuffled], kind="stable")]
        kept_so_far = np.floor(np.arange(len(truth) + 1) * share)
        kept = np.zeros(len(truth), dtype=np.bool_)
        kept[order] = np.diff(kept_so_far) > 0
        if len(set(truth[~kept].tolist())) < 2:
            raise DataError(
                f"validation = {share} of {len(truth):,} rows leaves the model rows of one label"
                " only; keep fewer rows"
            )
        return kept

    def _answers(self, frame: Any) -> Floats:
        """Return the model's own labels, as 1 for the favourable one."""
        return self.roles_.truth(self.model_.predict(self._inputs(frame)))

    def _check_both_labels(self, truth: Floats, privileged: Bools) -> None:
        """Raise an error if a side has one label only, as its rates of error are not defined."""
        for side, name in ((privileged, "privileged"), (~privileged, "unprivileged")):
            for value, label in enumerate(self.roles_.classes):
                if not (truth[side] == value).any():
                    raise DataError(
                        f"no row of the {name} side that {type(self).__name__} learns from has the"
                        f" label {label!r}, so its rates of error are unknown; give it more rows,"
                        " or other privileged groups"
                    )

    def _learn(self, frame: Any, truth: Floats, privileged: Bools) -> None:
        raise NotImplementedError


class RejectOption(PostProcessing):
    """Changes the answers that the model is least sure of: favourable for the unprivileged.

    The privileged get the other label there.

    Threshold and margin are those of the grid of AIF360 that are most accurate, both labels
    counting the same, among those that keep the metric within ±`bound` (Kamiran, Karim and Zhang,
    2012); they are kept in `threshold_` and `margin_`. The whole grid is counted at once, with the
    result of AIF360. Where none keeps the bound, `satisfied_` is False, and like there the one with
    the lowest metric is taken, which may leave the answers as they were.

    Parameters
    ----------
    estimator, over, positive, privileged, aware
        As for all methods; see `Reweighing`.
    metric
        What is kept within the bound: "spd", "aod" or "eod", unprivileged less privileged.
    bound
        How far from 0 the metric may be on the rows that it learns from.
    thresholds, margins
        The size of the grid.
    prefit
        Whether the estimator is fitted already, and used as it is.
    validation
        The share of the training rows that is kept from the model and that thresholds are chosen
        on; by default these are the rows that the model was trained on.
    random_state
        Which rows are kept for validation.

    Notes
    -----
    See docs/how-to/study.md.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.linear_model import LogisticRegression
    >>> frame = pd.DataFrame({"sex": [0, 0, 0, 0, 1, 1, 1, 1], "points": [1, 2, 3, 4, 3, 4, 5, 6]})
    >>> method = RejectOption(LogisticRegression(), over="sex", aware=False)
    >>> method = method.fit(frame, [0, 0, 0, 1, 0, 1, 1, 1])
    >>> method.predict(frame).tolist()
    [0, 1, 1, 1, 0, 1, 1, 1]
    """

    knob: ClassVar[str | None] = "bound"

    def __init__(
        self,
        estimator: Any = None,
        *,
        over: Any = None,
        positive: Any = None,
        privileged: Any = None,
        aware: bool = True,
        metric: str = "spd",
        bound: float = 0.05,
        thresholds: int = 100,
        margins: int = 50,
        prefit: bool = False,
        validation: float | None = None,
        random_state: int | None = 0,
    ) -> None:
        self.estimator = estimator
        self.over = over
        self.positive = positive
        self.privileged = privileged
        self.aware = aware
        self.metric = metric
        self.bound = bound
        self.thresholds = thresholds
        self.margins = margins
        self.prefit = prefit
        self.validation = validation
        self.random_state = random_state

    @property
    def code(self) -> str:  # type: ignore[override]
        """The short name of the Fairea paper."""
        return f"ROC_{self.metric.upper()}"

    def _fit(self, frame: Any, truth: Floats) -> None:
        if self.metric not in METRICS:
            raise UsageError(
                f"unknown metric {clip(repr(self.metric))}; {nearest(self.metric, METRICS)}"
            )
        check_number("bound", self.bound, low=0)
        for name in ("thresholds", "margins"):
            check_number(name, getattr(self, name), low=1, whole=True)
        super()._fit(frame, truth)

    def _learn(self, frame: Any, truth: Floats, privileged: Bools) -> None:
        if self.metric != "spd":
            self._check_both_labels(truth, privileged)
        thresholds, margins = self._grid()
        cuts = self._cuts(thresholds, margins)
        chances = self._chances(self.model_, frame)
        # How many rows of each side and label there are, and for each point of the grid how many of
        # them get the favourable label: those whose chance lies over the cut of their side.
        favoured = np.empty((2, 2, len(margins)))
        of = np.empty((2, 2, 1))
        for side in (0, 1):
            for label in (0, 1):
                is_inside = (privileged == side) & (truth == label)
                sorted_chances = np.sort(chances[is_inside])
                below = np.searchsorted(sorted_chances, cuts[side], side="right")
                of[side, label] = len(sorted_chances)
                favoured[side, label] = len(sorted_chances) - below
        fairness = _difference(self.metric, favoured, of)
        false_positives, true_positives = favoured.sum(axis=0)
        negatives, positives = of.sum(axis=0)
        true_negatives = negatives - false_positives
        accuracy = 0.5 * (true_positives / positives + true_negatives / negatives)
        kept = (fairness >= -self.bound) & (fairness <= self.bound)
        self.satisfied_ = bool(kept.any())
        if self.satisfied_:
            best = int(np.argmax(np.where(kept, accuracy, -1.0)))
        else:
            best = int(np.argmin(fairness))
        self.threshold_ = float(thresholds[best])
        self.margin_ = float(margins[best])

    def _grid(self) -> tuple[Floats, Floats]:
        """Return the thresholds and margins of AIF360's grid, an entry for each point."""
        thresholds = np.linspace(0.01, 0.99, self.thresholds)
        # No cut may lie below 0 or above 1.
        widest = np.where(thresholds <= 0.5, thresholds, 1.0 - thresholds)
        margins = np.linspace(0.0, widest, self.margins, axis=1)
        return np.repeat(thresholds, self.margins), margins.ravel()

    def _decide(self, frame: Any) -> Bools:
        others, privileged = self._cuts(self.threshold_, self.margin_)
        cut = np.where(self.roles_.are_privileged(frame), privileged, others)
        return np.asarray(self._chances(self.model_, frame) > cut)

    @staticmethod
    def _cuts(threshold: Any, margin: Any) -> tuple[Any, Any]:
        """Return over which chance unprivileged and privileged rows get the favourable label."""
        return threshold - margin, threshold + margin


def _difference(metric: str, favoured: Floats, of: Floats) -> Floats:
    """Return a metric, unprivileged less privileged, from counts by side and label."""
    if metric == "spd":
        rates = favoured.sum(axis=1) / of.sum(axis=1)
        return np.asarray(rates[0] - rates[1])
    rates_by_label = favoured / of
    apart = rates_by_label[0] - rates_by_label[1]
    if metric == "eod":
        return np.asarray(apart[1])
    return np.asarray(0.5 * (apart[0] + apart[1]))


class CalibratedOdds(PostProcessing):
    """Replaces some chances of the side that errs less by its base rate, until both err alike.

    What is equal afterwards is the rate of false negatives, of false positives, or their weighted
    mean, each counted by chances; chances stay calibrated (Pleiss and others, 2017; AIF360's
    CalibratedEqOddsPostprocessing). Which rows are replaced is drawn at random, the same for the
    same rows; the share, of the unprivileged side and of the privileged one, is kept in
    `replaced_`. Where no share is enough, all of a side are replaced, and get one and the same
    label.

    Parameters
    ----------
    estimator, over, positive, privileged, aware, prefit, validation
        As for `RejectOption`.
    cost
        What is made equal: "fnr", "fpr" or "weighted".
    random_state
        Which rows are replaced, and which are kept for validation.

    Notes
    -----
    See docs/how-to/study.md.

    Examples
    --------
    >>> CalibratedOdds(over="sex", cost="fpr").code
    'CO_fpr'
    """

    extra: ClassVar[str] = "aif360"

    def __init__(
        self,
        estimator: Any = None,
        *,
        over: Any = None,
        positive: Any = None,
        privileged: Any = None,
        aware: bool = True,
        cost: str = "weighted",
        prefit: bool = False,
        validation: float | None = None,
        random_state: int | None = 0,
    ) -> None:
        self.estimator = estimator
        self.over = over
        self.positive = positive
        self.privileged = privileged
        self.aware = aware
        self.cost = cost
        self.prefit = prefit
        self.validation = validation
        self.random_state = random_state

    @property
    def code(self) -> str:  # type: ignore[override]
        """The short name of the Fairea paper."""
        return f"CO_{self.cost}"

    def _fit(self, frame: Any, truth: Floats) -> None:
        if self.cost not in COSTS:
            raise UsageError(
                f"unknown cost {clip(repr(self.cost))}; {nearest(self.cost, COSTS)}"
            )
        library = aif360("algorithms.postprocessing", "CalibratedOdds")
        self._odds = library.CalibratedEqOddsPostprocessing(
            UNPRIVILEGED, PRIVILEGED, cost_constraint=self.cost
        )
        super()._fit(frame, truth)

    def _learn(self, frame: Any, truth: Floats, privileged: Bools) -> None:
        self._check_both_labels(truth, privileged)
        # Where both sides err as much, AIF360 divides by zero, and nothing is replaced.
        with np.errstate(divide="ignore", invalid="ignore"):
            self._odds.fit(
                _rows(truth, privileged), self._rows_with_chances(frame, privileged)
            )
        mix_rates = [float(self._odds.unpriv_mix_rate), float(self._odds.priv_mix_rate)]
        self.replaced_: Floats = np.clip(np.nan_to_num(mix_rates), 0.0, 1.0)

    def _decide(self, frame: Any) -> Bools:
        rows = self._rows_with_chances(frame, self.roles_.are_privileged(frame))
        with seeded(self.random_state):
            return np.asarray(self._odds.predict(rows).labels.ravel() == 1)

    def _rows_with_chances(self, frame: Any, privileged: Bools) -> Any:
        chances = self._chances(self.model_, frame)
        return _rows(chances >= 0.5, privileged, chances)


class EqualisedOdds(PostProcessing):
    """Changes some answers at random until both sides have the same true and false positive rates.

    How many is the solution of a linear program (Hardt, Price and Srebro, 2016; AIF360's
    EqOddsPostprocessing): the chance of the favourable label after a favourable and after another
    answer, kept in `chances_` as a row for the unprivileged side and one for the privileged side.
    It is kept as a share of every batch of rows, and the same rows of the same batch are changed;
    in batches of a few rows, few or none are.

    Parameters
    ----------
    estimator, over, positive, privileged, aware, prefit, validation
        As for `RejectOption`.
    random_state
        Which answers are changed, and which rows are kept for validation.

    Notes
    -----
    See docs/how-to/study.md.

    Examples
    --------
    >>> EqualisedOdds(over="sex").code
    'EO'
    """

    code: ClassVar[str] = "EO"
    extra: ClassVar[str] = "aif360"

    def __init__(
        self,
        estimator: Any = None,
        *,
        over: Any = None,
        positive: Any = None,
        privileged: Any = None,
        aware: bool = True,
        prefit: bool = False,
        validation: float | None = None,
        random_state: int | None = 0,
    ) -> None:
        self.estimator = estimator
        self.over = over
        self.positive = positive
        self.privileged = privileged
        self.aware = aware
        self.prefit = prefit
        self.validation = validation
        self.random_state = random_state

    def _fit(self, frame: Any, truth: Floats) -> None:
        library = aif360("algorithms.postprocessing", "EqualisedOdds")
        self._odds = library.EqOddsPostprocessing(UNPRIVILEGED, PRIVILEGED)
        super()._fit(frame, truth)

    def _learn(self, frame: Any, truth: Floats, privileged: Bools) -> None:
        self._check_both_labels(truth, privileged)
        answers = self._answers(frame)
        self._odds.fit(_rows(truth, privileged), _rows(answers, privileged))
        solution = np.asarray(self._odds.model_params.x)
        # AIF360 has the privileged side first.
        self.chances_: Floats = solution.reshape(2, 2)[::-1]

    def _decide(self, frame: Any) -> Bools:
        rows = _rows(self._answers(frame), self.roles_.are_privileged(frame))
        with seeded(self.random_state):
            return np.asarray(self._odds.predict(rows).labels.ravel() == 1)


def _rows(labels: Any, privileged: Bools, chances: Floats | None = None) -> Any:
    return dataset(np.empty((len(privileged), 0)), labels, privileged, scores=chances)
