"""Labels for generated inputs: what a model that is fitted again should say of inputs that nobody
has labelled.

    labels           the label of an input                              when to use it
    "vote"           what most of three models say that are fitted on   the default: where the truth can be learnt from
                     the training rows: a linear one, a forest,         the data
                     boosted trees (Aequitas, section 4.4)
    "majority"       the model's most common outcome over the           to keep the model's own view of people, but for
                     protected variants                                 what is protected
    "advantaged"     the most favourable outcome of the protected       to extend the better treatment to all
                     variants                                           (levelling up)
    "disadvantaged"  the least favourable of them                       where a favourable outcome does harm when it is
                                                                        given wrongly
    "neighbours"     the most common label of the five nearest          where real rows are dense around what is found
                     training rows, protected features left out
    a function       what it returns for a frame of inputs              where a person or a rule decides

For a regressor, the mean takes the place of the most common, and the largest outcome that of the
most favourable (the least one where a function given as `positive` says that low outcomes are
favourable).

A tie falls to the label that the input has by itself, as it always does for the majority over a
feature of two values; then to the label that more of the training rows have; then to the first in
order. A label depends on nothing but the input, whatever else is labelled with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from threadpoolctl import threadpool_limits

from evenhand.methods.search.explain.diversity import Distances
from evenhand.runtime.errors import DataError, EvenhandError, UsageError, clip, nearest
from evenhand.runtime.random_streams import stream
from evenhand.runtime.values import as_outcomes
from evenhand.scores.twins import ROWS
from evenhand.space.design_matrix import columns, owners

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from evenhand.space.feature import Points
    from evenhand.space.space import Space
    from evenhand.subject.view import View

    Floats = NDArray[np.float64]

LABELS = ("vote", "majority", "advantaged", "disadvantaged", "neighbours")
VARIANTS = 16
"""How many protected variants of an input are asked at most, itself included; of more, the same at
random for all.
"""
NEAREST = 5
"""How many training rows label an input; those that are as near as the last of them count too."""
MOST_ROWS = 20_000
"""How many training rows are looked at for the nearest; of more, so many at random."""
BLOCK = 1 << 19
"""How many distances are worked out at once: few enough to stay in the processor's cache."""
TREES, LEAF = 50, 5
"""The forest's trees, and the fewest rows in a leaf, so that it does not learn single rows by
heart.
"""


def labeller(
    labels: str | Callable[[Any], Any],
    *,
    view: View,
    names: tuple[str, ...],
    points: Points,
    truth: NDArray[Any],
    regression: bool,
    seed: int,
    weights: Floats | None = None,
) -> Labeller:
    """Return what labels generated inputs, or say why nothing can.

    Parameters
    ----------
    labels
        One of `LABELS`, or a function that takes a frame of inputs and returns one label each.
    view
        The model before it is repaired.
    names
        The protected features at issue.
    points, truth, weights
        The training rows, their labels, and how much each of them counts.
    regression
        Whether labels are numbers to be met as nearly as possible, rather than classes.

    >>> from evenhand.space.feature import category, integer
    >>> from evenhand.space.space import Space
    >>> from evenhand.subject.subject import Subject
    >>> from evenhand.subject.view import View
    >>> space = Space([category("sex", ["F", "M"]), integer("age", 18, 90)], protected=["sex"])
    >>> model = View(Subject(lambda people: people["sex"].map({"F": "no", "M": "yes"}), space, positive="yes"))
    >>> rows, truth = np.array([[0.0, 30.0], [1.0, 50.0]]), np.array(["no", "yes"])
    >>> given = {"view": model, "names": ("sex",), "points": rows, "truth": truth, "regression": False, "seed": 0}
    >>> labeller("advantaged", **given).shared(rows).tolist(), labeller("majority", **given).shared(rows).tolist()
    (['yes', 'yes'], ['no', 'yes'])
    """
    if not callable(labels) and labels not in LABELS:
        raise UsageError(
            f"labels = {clip(repr(labels))} is no way to label inputs; {nearest(labels, LABELS)}"
        )
    made = Labeller(labels, view, names, points, truth, regression, seed, weights)
    if labels in ("advantaged", "disadvantaged"):
        made.liked  # noqa: B018
    if labels == "neighbours" and not made.free:
        raise UsageError(
            "labels = 'neighbours' needs a feature that is not protected; take 'vote' or 'majority'"
        )
    return made


@dataclass(frozen=True, eq=False)
class Labeller:
    """Labels inputs in the type of the truth, but regressors' in real numbers; built with
    `labeller`.

    >>> from evenhand.space.feature import category, integer
    >>> from evenhand.space.space import Space
    >>> from evenhand.subject.subject import Subject
    >>> from evenhand.subject.view import View
    >>> space = Space([category("sex", ["F", "M"]), integer("age", 18, 90)], protected=["sex"])
    >>> rows = space.draw(100, np.random.default_rng(0))
    >>> vote = labeller("vote", view=View(Subject(lambda people: people["sex"] == "M", space)), names=("sex",),
    ...                 points=rows, truth=np.where(rows[:, 1] > 50, "old", "young"), regression=False, seed=0)
    >>> vote.single(np.array([[0.0, 20.0], [1.0, 85.0]])).tolist()
    ['young', 'old']
    """

    labels: str | Callable[[Any], Any]
    view: View
    names: tuple[str, ...]
    points: Points
    truth: NDArray[Any]
    regression: bool
    seed: int
    weights: Floats | None = None

    def single(self, points: Points) -> NDArray[Any]:
        """Return the label of each input by itself."""
        if callable(self.labels):
            return self._parts(points, partial(self._told, self.labels), len(points))
        if self.labels == "neighbours":
            return self._parts(points, self._near, BLOCK // len(self._rows[0]))
        return self._parts(
            points, self._voted if self.labels == "vote" else self._shared, ROWS // VARIANTS
        )

    def shared(self, points: Points) -> NDArray[Any]:
        """Return one label for each input that all its protected variants are to have."""
        if callable(self.labels) or self.labels == "neighbours":
            return self.single(points)
        return self._parts(points, self._shared, ROWS // VARIANTS)

    def _parts(
        self, points: Points, label: Callable[[Points], NDArray[Any]], size: int
    ) -> NDArray[Any]:
        """Label so many inputs at a time, each with a number or a place among the classes, and
        return the labels.
        """
        none: NDArray[Any] = np.zeros(0, dtype=np.float64 if self.regression else np.intp)
        size = max(size, 1)
        found = np.concatenate(
            [none, *(label(points[at : at + size]) for at in range(0, len(points), size))]
        )
        if self.regression:
            return found.astype(self.truth.dtype) if self.truth.dtype.kind == "f" else found
        return np.asarray(self.classes[found])

    @property
    def space(self) -> Space:
        """What an input can be."""
        return self.view.subject.space

    @property
    def free(self) -> tuple[int, ...]:
        """Positions of the features by which rows are near: those that the model takes and that are
        not protected.
        """
        left = {self.space.index(name) for name in (*self.names, *self.space.protected)}
        return tuple(position for position in self.space.passed if position not in left)

    @cached_property
    def classes(self) -> NDArray[Any]:
        """The labels that the training rows have, in order."""
        return np.unique(self.truth)

    @cached_property
    def _targets(self) -> NDArray[Any]:
        """The labels of the training rows: numbers, or places among the classes."""
        return self.truth if self.regression else np.searchsorted(self.classes, self.truth)

    @cached_property
    def liked(self) -> NDArray[np.bool_]:
        """Which of the classes are favourable; for a regressor, whether high outcomes are."""
        if not self.regression:
            return self.view.favourable(self.classes)
        if not callable(self.view.positive):
            return np.ones(1, dtype=np.bool_)
        low, high = self.view.favourable(np.array([self.truth.min(), self.truth.max()])).tolist()
        return np.array([high or not low])

    @cached_property
    def _rank(self) -> NDArray[np.intp]:
        """The place of each class when they are sorted: the rarer first, and the later in order
        first.
        """
        totals = np.bincount(self._targets, weights=self.weights)
        rank = np.empty(len(totals), dtype=np.intp)
        rank[np.lexsort((-np.arange(len(totals)), totals))] = np.arange(len(totals))
        return rank

    @cached_property
    def _table(self) -> Points:
        """The assignments under which an input is asked, first of all its own."""
        table = self.space.assignments(self.names)
        if len(table) > VARIANTS:
            chosen = stream(self.seed, "repair", "labels").choice(
                len(table), VARIANTS - 1, replace=False
            )
            table = table[np.sort(chosen)]
        return np.concatenate([np.full((1, table.shape[1]), np.nan), table])

    def _shared(self, points: Points) -> NDArray[Any]:
        """Label inputs by all their valid protected variants."""
        at = list(self.space.sets(self.names))
        asked = self.space.under(points, self.names, self._table)
        rows = np.tile(np.arange(len(points)), len(self._table))
        counts = (asked[:, at] != points[rows][:, at]).any(axis=1) & self.space.valid(asked)
        counts[: len(points)] = True
        return self._merged(
            self._answers(np.asfortranarray(asked[counts])), rows[counts], len(points)
        )

    def _voted(self, points: Points) -> NDArray[Any]:
        """Label inputs by what is answered to them alone."""
        return self._merged(self._answers(points), np.arange(len(points)), len(points))

    def _answers(self, points: Points) -> NDArray[Any]:
        """Return what each of the models answers: numbers, or places among the classes."""
        if self.labels == "vote":
            design, models = self._voters
            with threadpool_limits(1):
                return np.stack([model.predict(design(points)) for model in models])
        outcomes = self.view.decide(points)
        return (
            outcomes[None].astype(np.float64)
            if self.regression
            else self._places(outcomes, "the model")[None]
        )

    def _merged(self, answers: NDArray[Any], rows: NDArray[np.intp], size: int) -> NDArray[Any]:
        """Return one answer for each of so many inputs from those to its variants, of which the
        inputs come first.
        """
        if self.regression:
            return self._middle(answers, rows, size)
        cells = rows * len(self.classes) + answers
        shape = size, len(self.classes)
        counts = np.bincount(cells.ravel(), minlength=size * len(self.classes)).reshape(shape)
        own = np.bincount(cells[:, :size].ravel(), minlength=size * len(self.classes)).reshape(
            shape
        )
        if self.labels in ("advantaged", "disadvantaged"):
            wanted = self.liked if self.labels == "advantaged" else ~self.liked
            some = (counts * wanted).sum(axis=1, keepdims=True) > 0
            counts[some & ~wanted] = 0
        return _largest(counts * (len(answers) + 1) + own, self._rank)

    def _middle(self, answers: Floats, rows: NDArray[np.intp], size: int) -> Floats:
        if self.labels in ("vote", "majority"):
            return np.bincount(rows, answers.mean(axis=0), size) / np.bincount(rows, minlength=size)
        high = (self.labels == "advantaged") == bool(self.liked.all())
        found = answers[0, :size].copy()
        (np.maximum if high else np.minimum).at(found, rows, answers[0])
        return found

    @cached_property
    def _voters(self) -> tuple[_Design, tuple[Any, ...]]:
        """Three models of different kinds, fitted on the training rows."""
        from sklearn import ensemble, linear_model

        state = int(stream(self.seed, "repair", "vote").integers(2**31))
        forest = {"n_estimators": TREES, "min_samples_leaf": LEAF, "random_state": state}
        boosted = {"early_stopping": False, "random_state": state}
        models: tuple[Any, ...]
        if self.regression:
            models = (
                linear_model.Ridge(),
                ensemble.RandomForestRegressor(**forest),
                ensemble.HistGradientBoostingRegressor(**boosted),
            )
        elif len(self.classes) > 1:
            models = (
                linear_model.LogisticRegression(max_iter=1000),
                ensemble.RandomForestClassifier(**forest),
                ensemble.HistGradientBoostingClassifier(**boosted),
            )
        else:
            from sklearn.dummy import DummyClassifier

            models = (DummyClassifier(),)
        design = _Design.of(self.space, self.points)
        rows = design(self.points)
        # Boosting waits for its threads, and takes twenty times as long where others are at work
        # too.
        with threadpool_limits(1):
            return design, tuple(
                model.fit(rows, self._targets, sample_weight=self.weights) for model in models
            )

    @cached_property
    def _rows(self) -> tuple[Points, NDArray[Any], Floats]:
        """The training rows that label others, their numbers or places among the classes, and their
        weights.
        """
        weights = np.ones(len(self.truth)) if self.weights is None else self.weights
        chosen = np.flatnonzero(weights > 0)
        if len(chosen) > MOST_ROWS:
            chosen = np.sort(
                stream(self.seed, "repair", "rows").choice(chosen, MOST_ROWS, replace=False)
            )
        return self.points[chosen], self._targets[chosen], weights[chosen]

    def _near(self, points: Points) -> NDArray[Any]:
        """Label inputs by the training rows nearest to them, of which those as near as the last all
        count.
        """
        rows, truth, weights = self._rows
        gaps = Distances(self.space, self.free).between(points, rows)
        last = min(NEAREST, len(rows)) - 1
        at, row = np.nonzero(gaps <= np.partition(gaps, last, axis=1)[:, last, None])
        if self.regression:
            return np.bincount(at, weights[row] * truth[row]) / np.bincount(at, weights[row])
        size = len(self.classes)
        votes = np.bincount(at * size + truth[row], weights[row], len(points) * size)
        return _largest(votes.reshape(len(points), size), self._rank)

    def _told(self, function: Callable[[Any], Any], points: Points) -> NDArray[Any]:
        """Label inputs by a function of the user."""
        name = f"labels = {clip(getattr(function, '__qualname__', type(function).__name__))}"
        try:
            given = function(self.space.decode(points))
            answers = as_outcomes(given) if isinstance(given, list | tuple) else np.asarray(given)
        except EvenhandError:
            raise
        except Exception as error:
            raise UsageError(f"{name} raised {type(error).__name__}: {clip(str(error))}") from error
        if answers.shape != (len(points),):
            raise DataError(
                f"{name} returned shape {answers.shape} for {len(points):,} inputs; return one"
                " label each"
            )
        if not self.regression:
            return self._places(answers, name)
        if answers.dtype.kind not in "biuf" or not np.isfinite(answers).all():
            raise DataError(
                f"{name} must return finite numbers, since the labels of the training rows are"
                " numbers"
            )
        return answers.astype(np.float64)

    def _places(self, outcomes: NDArray[Any], who: str) -> NDArray[np.intp]:
        """Return the place of each label among the classes, or say which is none of them."""
        import pandas as pd

        # As objects, since labels may be of another type than those of the training rows and yet
        # equal to them.
        known = pd.Index(self.classes.astype(object), dtype=object)
        places = known.get_indexer(pd.Index(outcomes.astype(object), dtype=object))
        if (places < 0).any():
            strange = outcomes[places < 0].tolist()[0]
            raise DataError(
                f"{who} gave {clip(repr(strange))}, which is no label of the training rows; "
                f"{nearest(strange, self.classes.tolist())}"
            )
        return np.asarray(places, dtype=np.intp)


@dataclass(frozen=True)
class _Design:
    """Points as columns for a model: categories one column for each level, numbers standardised."""

    space: Space
    centre: Floats
    scale: Floats

    @classmethod
    def of(cls, space: Space, points: Points) -> _Design:
        found = columns(space, points, space.passed)
        named = [space.features[position].kind == "category" for position in space.passed]
        category = np.array(named)[owners(space, space.passed)]
        spread = found.std(axis=0)
        return cls(
            space,
            np.where(category, 0.0, found.mean(axis=0)),
            np.where(category | (spread == 0), 1.0, spread),
        )

    def __call__(self, points: Points) -> Floats:
        return (columns(self.space, points, self.space.passed) - self.centre) / self.scale


def _largest(votes: NDArray[Any], rank: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the place of the most votes in each row; of several, that of the highest rank."""
    best = np.where(votes == votes.max(axis=1, keepdims=True), rank, -1)
    return np.asarray(best.argmax(axis=1), dtype=np.intp)
