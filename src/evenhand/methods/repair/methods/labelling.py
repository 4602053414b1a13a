"""Labels for generated inputs that nobody has labelled, for a model to be fitted again.

- "vote" is what most of three models predict that are fitted on the training rows: a linear one, a
  forest and boosted trees (Aequitas, section 4.4). It is the default, for truth that can be learnt
  from the data.
- "majority" is the model's most common outcome over the protected variants. It keeps the model's
  own view of people, but for what is protected.
- "advantaged" is the most favourable outcome of the protected variants. It extends the better
  treatment to all (levelling up).
- "disadvantaged" is the least favourable of them, where a favourable outcome does harm when it is
  given wrongly.
- "neighbours" is the most common label of the five nearest training rows, protected features left
  out. It suits real rows that are dense around the inputs found.
- A function returns labels for a frame of inputs, where a person or a rule decides.

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

from evenhand.methods.repair import messages
from evenhand.methods.search.explain.diversity import Distances
from evenhand.runtime import number_text
from evenhand.runtime.errors import DataError, EvenhandError, UsageError, clip, nearest
from evenhand.runtime.interruption import exits_reported
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
    Places = NDArray[np.intp]
    Labels = NDArray[Any]
    """Numbers, or places among the classes; and what these stand for."""

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
    truth: Labels,
    regression: bool,
    seed: int,
    weights: Floats | None = None,
) -> Labeller:
    """Return what labels generated inputs, or raise if nothing can.

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
    >>> def granted(people):
    ...     return people["sex"].map({"F": "no", "M": "yes"})
    >>> model = View(Subject(granted, space, positive="yes"))
    >>> rows, truth = np.array([[0.0, 30.0], [1.0, 50.0]]), np.array(["no", "yes"])
    >>> training = {"points": rows, "truth": truth, "regression": False}
    >>> options = {"view": model, "names": ("sex",), "seed": 0, **training}
    >>> labeller("advantaged", **options).shared(rows).tolist()
    ['yes', 'yes']
    >>> labeller("majority", **options).shared(rows).tolist()
    ['no', 'yes']
    """
    if not callable(labels) and labels not in LABELS:
        shown = clip(repr(labels))
        choices = nearest(labels, LABELS)
        raise UsageError(messages.LABELS_UNKNOWN.format(labels=shown, choices=choices))
    made = Labeller(
        labels,
        view,
        names,
        points,
        truth,
        regression,
        seed,
        weights,
    )
    if labels in ("advantaged", "disadvantaged"):
        made.liked  # noqa: B018 - raises where it is not known which outcomes are favourable
    if labels == "neighbours" and not made.free:
        raise UsageError(messages.NEIGHBOURS_NEED_FREE_FEATURE)
    return made


@dataclass(frozen=True, eq=False)
class Labeller:
    """Labels inputs in the type of the truth, but regressors' in real numbers.

    Built with `labeller`.

    >>> from evenhand.space.feature import category, integer
    >>> from evenhand.space.space import Space
    >>> from evenhand.subject.subject import Subject
    >>> from evenhand.subject.view import View
    >>> space = Space([category("sex", ["F", "M"]), integer("age", 18, 90)], protected=["sex"])
    >>> model = View(Subject(lambda people: people["sex"] == "M", space))
    >>> rows = space.draw(100, np.random.default_rng(0))
    >>> truth = np.where(rows[:, 1] > 50, "old", "young")
    >>> training = {"points": rows, "truth": truth, "regression": False}
    >>> vote = labeller("vote", view=model, names=("sex",), seed=0, **training)
    >>> vote.single(np.array([[0.0, 20.0], [1.0, 85.0]])).tolist()
    ['young', 'old']
    """

    labels: str | Callable[[Any], Any]
    view: View
    names: tuple[str, ...]
    points: Points
    truth: Labels
    regression: bool
    seed: int
    weights: Floats | None = None

    def single(self, points: Points) -> Labels:
        """Return the label of each input by itself."""
        if callable(self.labels):
            by_function = partial(self._by_function, self.labels)
            return self._labelled(points, by_function, len(points))
        if self.labels == "neighbours":
            rows, _, _ = self._rows
            return self._labelled(points, self._by_neighbours, BLOCK // len(rows))
        if self.labels == "vote":
            return self._labelled(points, self._by_vote, ROWS // VARIANTS)
        return self._labelled(points, self._by_variants, ROWS // VARIANTS)

    def shared(self, points: Points) -> Labels:
        """Return one label for each input that all its protected variants are to have."""
        if callable(self.labels) or self.labels == "neighbours":
            return self.single(points)
        return self._labelled(points, self._by_variants, ROWS // VARIANTS)

    def _labelled(
        self, points: Points, label: Callable[[Points], Labels], size: int
    ) -> Labels:
        """Return labels, so many inputs at a time.

        `label` returns a number for each input, or its place among the classes.
        """
        none: Labels = np.zeros(0, dtype=np.float64 if self.regression else np.intp)
        parts = [none]
        size = max(size, 1)
        for start in range(0, len(points), size):
            part = points[start : start + size]
            parts.append(label(part))
        found = np.concatenate(parts)
        if not self.regression:
            return np.asarray(self.classes[found])
        if self.truth.dtype.kind == "f":
            return found.astype(self.truth.dtype)
        return found

    @property
    def space(self) -> Space:
        """What an input can be."""
        return self.view.subject.space

    @property
    def free(self) -> tuple[int, ...]:
        """Positions of the features that the model takes and that are not protected."""
        space = self.space
        names = (*self.names, *space.protected)
        protected = {space.index(name) for name in names}
        free = [position for position in space.passed if position not in protected]
        return tuple(free)

    @cached_property
    def classes(self) -> Labels:
        """The labels that the training rows have, in order."""
        return np.unique(self.truth)

    @cached_property
    def _targets(self) -> Labels:
        """The labels of the training rows: numbers, or places among the classes."""
        if self.regression:
            return self.truth
        return np.searchsorted(self.classes, self.truth)

    @cached_property
    def liked(self) -> NDArray[np.bool_]:
        """Which of the classes are favourable; for a regressor, whether high outcomes are."""
        if not self.regression:
            return self.view.favourable(self.classes)
        if not callable(self.view.positive):
            return np.ones(1, dtype=np.bool_)
        extremes = np.array([self.truth.min(), self.truth.max()])
        low, high = self.view.favourable(extremes).tolist()
        return np.array([high or not low])

    @cached_property
    def _rank(self) -> Places:
        """The place of each class when they are sorted, the rarer and the later ones first."""
        totals = np.bincount(self._targets, weights=self.weights)
        places = np.arange(len(totals))
        order = np.lexsort((-places, totals))
        rank = np.empty(len(totals), dtype=np.intp)
        rank[order] = places
        return rank

    @cached_property
    def _table(self) -> Points:
        """The assignments under which an input is asked, first of all its own."""
        table = self.space.assignments(self.names)
        if len(table) > VARIANTS:
            rng = stream(self.seed, "repair", "labels")
            chosen = rng.choice(len(table), VARIANTS - 1, replace=False)
            table = table[np.sort(chosen)]
        own = np.full((1, table.shape[1]), np.nan)
        return np.concatenate([own, table])

    def _by_variants(self, points: Points) -> Labels:
        """Label inputs by all their valid protected variants."""
        size = len(points)
        space = self.space
        table = self._table
        columns = list(space.sets(self.names))
        variants = space.under(points, self.names, table)
        rows = np.tile(np.arange(size), len(table))
        own = points[rows]
        differs = (variants[:, columns] != own[:, columns]).any(axis=1)
        counts = differs & space.valid(variants)
        # An input itself always counts; it comes first of its variants, and once.
        counts[:size] = True
        asked = np.asfortranarray(variants[counts])
        return self._merged(self._answers(asked), rows[counts], size)

    def _by_vote(self, points: Points) -> Labels:
        """Label inputs by what is answered to them alone."""
        size = len(points)
        return self._merged(self._answers(points), np.arange(size), size)

    def _answers(self, points: Points) -> Labels:
        """Return what each of the models answers: numbers, or places among the classes."""
        if self.labels == "vote":
            design, models = self._voters
            inputs = design(points)
            with threadpool_limits(1):
                return np.stack([model.predict(inputs) for model in models])
        outcomes = self.view.decide(points)
        if self.regression:
            return outcomes[None].astype(np.float64)
        return self._places(outcomes, "the model")[None]

    def _merged(self, answers: Labels, rows: Places, size: int) -> Labels:
        """Return one answer for each of so many inputs, from the answers to its variants.

        The inputs themselves come first among the variants. `answers` has a row for each model.
        """
        if self.regression:
            return self._merged_numbers(answers, rows, size)
        cells = rows * len(self.classes) + answers
        counts = self._counted(cells, size)
        own = self._counted(cells[:, :size], size)
        if self.labels in ("advantaged", "disadvantaged"):
            wanted = self.liked if self.labels == "advantaged" else ~self.liked
            some = (counts * wanted).sum(axis=1, keepdims=True) > 0
            counts[some & ~wanted] = 0
        # An input's own answers break ties and nothing else: they count for less than one vote.
        votes = counts * (len(answers) + 1) + own
        return _largest(votes, self._rank)

    def _counted(self, cells: Places, size: int) -> Places:
        """Return how many answers each class (column) of each input has."""
        labels = len(self.classes)
        counts = np.bincount(cells.ravel(), minlength=size * labels)
        return counts.reshape(size, labels)

    def _merged_numbers(self, answers: Floats, rows: Places, size: int) -> Floats:
        """Return the mean of the answers for each input, or the most or least favourable one."""
        if self.labels in ("vote", "majority"):
            mean_of_models = answers.mean(axis=0)
            totals = np.bincount(rows, mean_of_models, size)
            return totals / np.bincount(rows, minlength=size)
        high = (self.labels == "advantaged") == bool(self.liked.all())
        extreme = np.maximum if high else np.minimum
        found = answers[0, :size].copy()
        extreme.at(found, rows, answers[0])
        return found

    @cached_property
    def _voters(self) -> tuple[_Design, tuple[Any, ...]]:
        """Three models of different kinds, fitted on the training rows."""
        design = _Design.of(self.space, self.points)
        rows = design(self.points)
        fitted = []
        # Boosting waits for its threads, and takes twenty times as long where others are at work
        # too.
        with threadpool_limits(1):
            for model in self._unfitted_voters():
                model.fit(rows, self._targets, sample_weight=self.weights)
                fitted.append(model)
        return design, tuple(fitted)

    def _unfitted_voters(self) -> tuple[Any, ...]:
        from sklearn import ensemble, linear_model

        state = int(stream(self.seed, "repair", "vote").integers(2**31))
        forest = {"n_estimators": TREES, "min_samples_leaf": LEAF, "random_state": state}
        boosted = {"early_stopping": False, "random_state": state}
        if self.regression:
            return (
                linear_model.Ridge(),
                ensemble.RandomForestRegressor(**forest),
                ensemble.HistGradientBoostingRegressor(**boosted),
            )
        if len(self.classes) > 1:
            return (
                linear_model.LogisticRegression(max_iter=1000),
                ensemble.RandomForestClassifier(**forest),
                ensemble.HistGradientBoostingClassifier(**boosted),
            )
        from sklearn.dummy import DummyClassifier

        return (DummyClassifier(),)

    @cached_property
    def _rows(self) -> tuple[Points, Labels, Floats]:
        """The training rows that label others, with their targets and weights."""
        weights = self.weights
        if weights is None:
            weights = np.ones(len(self.truth))
        chosen = np.flatnonzero(weights > 0)
        if len(chosen) > MOST_ROWS:
            rng = stream(self.seed, "repair", "rows")
            chosen = rng.choice(chosen, MOST_ROWS, replace=False)
            chosen = np.sort(chosen)
        return self.points[chosen], self._targets[chosen], weights[chosen]

    def _by_neighbours(self, points: Points) -> Labels:
        """Label inputs by the training rows nearest to them; all as near as the last count too."""
        rows, truth, weights = self._rows
        gaps = Distances(self.space, self.free).between(points, rows)
        last = min(NEAREST, len(rows)) - 1
        farthest = np.partition(gaps, last, axis=1)[:, last, None]
        place, row = np.nonzero(gaps <= farthest)
        weight = weights[row]
        target = truth[row]
        if self.regression:
            totals = np.bincount(place, weight * target)
            return totals / np.bincount(place, weight)
        labels = len(self.classes)
        size = len(points)
        cells = place * labels + target
        counted = np.bincount(cells, weight, size * labels)
        votes = counted.reshape(size, labels)
        return _largest(votes, self._rank)

    def _by_function(self, function: Callable[[Any], Any], points: Points) -> Labels:
        """Label inputs by a function of the user."""
        name = clip(getattr(function, "__qualname__", type(function).__name__))
        try:
            people = self.space.decode(points)
            with exits_reported(name):
                given = function(people)
            is_list = isinstance(given, list | tuple)
            answers = as_outcomes(given) if is_list else np.asarray(given)
        except EvenhandError:
            raise
        except Exception as error:
            message = messages.LABELS_FUNCTION_FAILED.format(
                name=name,
                kind=type(error).__name__,
                error=clip(str(error)),
            )
            raise UsageError(message) from error
        if answers.shape != (len(points),):
            message = messages.LABELS_SHAPE.format(
                name=name,
                shape=answers.shape,
                inputs=number_text.count(len(points)),
            )
            raise DataError(message)
        if not self.regression:
            return self._places(answers, f"labels = {name}")
        if answers.dtype.kind not in "biuf" or not np.isfinite(answers).all():
            raise DataError(messages.LABELS_ARE_NOT_NUMBERS.format(name=name))
        return answers.astype(np.float64)

    def _places(self, outcomes: Labels, who: str) -> Places:
        """Return the place of each label among the classes, or raise with one that has none."""
        import pandas as pd

        # As objects, since labels may be of another type than those of the training rows and yet
        # equal to them.
        known = pd.Index(self.classes.astype(object), dtype=object)
        wanted = pd.Index(outcomes.astype(object), dtype=object)
        places = known.get_indexer(wanted)
        unknown = places < 0
        if unknown.any():
            strange = outcomes[unknown].tolist()[0]
            message = messages.UNKNOWN_LABEL.format(
                who=who,
                label=clip(repr(strange)),
                choices=nearest(strange, self.classes.tolist()),
            )
            raise DataError(message)
        return np.asarray(places, dtype=np.intp)


@dataclass(frozen=True)
class _Design:
    """Points as columns for a model: categories one column for each level, numbers standardised."""

    space: Space
    centre: Floats
    scale: Floats

    @classmethod
    def of(cls, space: Space, points: Points) -> _Design:
        design = columns(space, points, space.passed)
        kinds = [space.features[position].kind for position in space.passed]
        is_category = np.array([kind == "category" for kind in kinds])
        category = is_category[owners(space, space.passed)]
        spread = design.std(axis=0)
        constant = spread == 0
        return cls(
            space=space,
            centre=np.where(category, 0.0, design.mean(axis=0)),
            scale=np.where(category | constant, 1.0, spread),
        )

    def __call__(self, points: Points) -> Floats:
        design = columns(self.space, points, self.space.passed)
        return (design - self.centre) / self.scale


def _largest(votes: Labels, rank: Places) -> Places:
    """Return the place of the most votes in each row; of several, that of the highest rank."""
    most = votes.max(axis=1, keepdims=True)
    best = np.where(votes == most, rank, -1)
    return np.asarray(best.argmax(axis=1), dtype=np.intp)
