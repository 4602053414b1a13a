"""Training again: how a model is fitted, and the labelled rows that it learns from, as the user
gave them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.runtime.errors import (
    DataError,
    EvenhandError,
    SubjectCrashed,
    UsageError,
    clip,
    nearest,
)
from evenhand.runtime.estimators import weight_keyword
from evenhand.runtime.random_streams import stream
from evenhand.space.dataframes import check_missing, eager, layout_of, named_frame
from evenhand.space.space import Space

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from evenhand.space.feature import Points

    Rows = NDArray[np.intp]
    Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Trainer:
    """Fits a model afresh each time: a copy of an estimator, or whatever the user's function
    returns.

    >>> from sklearn.tree import DecisionTreeClassifier
    >>> trainer = Trainer.of(DecisionTreeClassifier(), seed=0)
    >>> model = trainer.fit([[0.0], [1.0]], ["no", "yes"])
    >>> model.predict([[1.0]]).tolist(), trainer.regression
    (['yes'], False)
    """

    train: Callable[..., Any]
    name: str
    regression: bool
    weighted: str | None
    """The keyword that carries the weights of rows into the training, where there is one."""

    @classmethod
    def of(cls, estimator: Any, seed: int) -> Trainer:
        """Return how to fit an estimator with `fit`, or a function ``fit(X, y)`` that returns a
        model.

        Every `random_state` of an estimator that is None is set from the seed, so that the same
        seed gives the same model.
        """
        if isinstance(estimator, type):
            raise UsageError(
                f"{estimator.__name__} is a class; pass an instance of it, such as"
                f" {estimator.__name__}()"
            )
        if callable(getattr(estimator, "fit", None)):
            return cls._of_estimator(estimator, seed)
        if callable(estimator):
            name = getattr(estimator, "__name__", type(estimator).__name__)
            return cls(estimator, name, regression=False, weighted=_weights_of(estimator))
        raise UsageError(
            f"{clip(repr(estimator))} cannot be trained; pass an estimator with fit and predict, or"
            " a function fit(X, y) that returns a model"
        )

    @classmethod
    def _of_estimator(cls, estimator: Any, seed: int) -> Trainer:
        from sklearn.base import clone, is_regressor

        name = type(estimator).__name__
        stream(seed, "repair")  # says what is wrong with a seed
        try:
            fresh = clone(estimator)
            unset = sorted(
                key
                for key, value in fresh.get_params().items()
                if key.rpartition("__")[2] == "random_state" and value is None
            )
            fresh.set_params(
                **{key: int(stream(seed, "repair", key).integers(2**31)) for key in unset}
            )
            clone(fresh)
        except Exception as error:  # whatever a class makes of being copied
            raise UsageError(
                f"{name} cannot be cloned ({clip(str(error), 150)}), and repair never trains a"
                " model in place; pass a function fit(X, y) that makes and trains a new one"
            ) from None

        def train(inputs: Any, labels: Any, **options: Any) -> Any:
            model = clone(fresh)
            model.fit(inputs, labels, **options)
            if not isinstance(inputs, np.ndarray | list) and not hasattr(
                model, "feature_names_in_"
            ):
                # Scikit-learn's own note it themselves; without it, a model would be asked with
                # arrays.
                with suppress(AttributeError):
                    model.feature_names_in_ = np.array(eager(inputs).columns, dtype=object)
            return model

        try:
            regression = bool(is_regressor(estimator))
        except AttributeError:  # no class of scikit-learn, but one like them
            regression = False
        return cls(train, name, regression, weight_keyword(fresh))

    def need_weights(self) -> None:
        """Refuse weights of rows that the training cannot take."""
        if self.weighted is None:
            raise UsageError(
                f"{self.name} takes no sample_weight, so that the weights of rows would be lost;"
                " leave out sample_weight, or use a model that takes it, such as"
                " LogisticRegression()"
            )

    def fit(self, inputs: Any, labels: Any, weights: Floats | None = None) -> Any:
        """Return a new model, fitted on these rows."""
        options = {} if weights is None or self.weighted is None else {self.weighted: weights}
        try:
            model = self.train(inputs, labels, **options)
        except EvenhandError:
            raise
        except Exception as error:
            raise SubjectCrashed(
                f"{self.name} raised {type(error).__name__} when trained on {len(labels):,} rows:"
                f" {clip(str(error))}"
            ) from error
        if not callable(getattr(model, "predict", None)) and not callable(model):
            raise UsageError(
                f"{self.name} returned {clip(repr(model))}, which cannot predict; return a model"
                " with predict, or a function of a frame"
            )
        return model


def _weights_of(function: Callable[..., Any]) -> str | None:
    try:
        return (
            "sample_weight" if "sample_weight" in inspect.signature(function).parameters else None
        )
    except (TypeError, ValueError):
        return None


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """Labelled rows: as the model takes them, encoded, with their true outcomes, and their weights
    where given.
    """

    space: Space
    """With the layout of the rows, so that generated inputs look like them."""
    inputs: Any
    """A narwhals frame of what the model takes, or an array where rows came as one."""
    points: Points
    truth: NDArray[Any]
    weights: Floats | None = None

    @classmethod
    def of(cls, rows: Any, truth: Any, space: Space | None, weights: Any = None) -> LabelledRows:
        """Read rows of any dataframe engine, or an array whose columns are the features in order."""
        if space is None:
            raise UsageError(
                "space is None; give the space of inputs, such as Space.from_frame(X,"
                " protected=['sex'])"
            )
        if not isinstance(space, Space):
            raise UsageError(
                f"space = {clip(repr(space))} is no Space; build one, as with Space.from_frame(X)"
            )
        if isinstance(rows, np.ndarray):
            return cls._of_array(rows, truth, space, weights)
        table, truth = _parts(rows, truth, space)
        # A model that goes by the places of columns must be asked with those of the rows that it
        # was trained on.
        features = [space.feature(name) for name in table.columns]
        if len(features) == len(space.features):
            space = replace(space, features=features)
        return cls._of_frame(
            table, truth, replace(space, layout=layout_of(table).fitted(space.features)), weights
        )

    def alike(self, rows: Any, truth: Any) -> LabelledRows:
        """Read other rows, with their columns in the order of these."""
        if isinstance(rows, np.ndarray):
            return self._of_array(rows, truth, self.space, None)
        return self._of_frame(*_parts(rows, truth, self.space), self.space, None)

    @classmethod
    def _of_frame(cls, table: Any, truth: Any, space: Space, weights: Any) -> LabelledRows:
        points = space.encode(table.to_native())
        taken = [space.names[position] for position in space.passed]
        return cls(space, table.select(taken), points, *_checked(truth, weights, len(points)))

    @classmethod
    def _of_array(cls, rows: NDArray[Any], truth: Any, space: Space, weights: Any) -> LabelledRows:
        if rows.ndim != 2 or rows.shape[1] != len(space.features):
            raise DataError(
                f"X is an array of shape {rows.shape}, and the space has {len(space.features)}"
                " features; give a column for each, in their order"
            )
        points = space.encode(named_frame(rows, space.names))
        return cls(
            space, rows[:, list(space.passed)], points, *_checked(truth, weights, len(points))
        )

    def __len__(self) -> int:
        return len(self.points)

    def take(self, rows: Rows) -> LabelledRows:
        """Return some of the rows."""
        weights = None if self.weights is None else self.weights[rows]
        points = np.asfortranarray(self.points[rows])
        return LabelledRows(self.space, self.inputs[rows], points, self.truth[rows], weights)

    @property
    def native(self) -> Any:
        """The rows as the model takes them."""
        return self.inputs if isinstance(self.inputs, np.ndarray) else self.inputs.to_native()

    @property
    def strangers(self) -> Iterator[tuple[str, Any]]:
        """Levels that an input may have and that no row has, with the names of their features."""
        for position in self.space.passed:
            feature, seen = self.space.features[position], set(self.points[:, position].tolist())
            yield from (
                (feature.name, level)
                for code, level in enumerate(feature.levels)
                if code not in seen
            )

    def fitted(self, trainer: Trainer) -> Any:
        """Return a model that was trained on these rows."""
        return trainer.fit(self.native, self.truth, self.weights)

    def joined(
        self, points: Points, labels: NDArray[Any], weights: Floats | None = None
    ) -> LabelledRows:
        """Return these rows with generated ones after them, which weigh as much as the mean of
        these if not given.
        """
        if not len(points):
            return self
        more = self._made(points)
        if isinstance(self.inputs, np.ndarray):
            inputs: Any = np.concatenate([self.inputs, more])
        else:
            import narwhals as nw

            # Of pandas, an index would have values twice.
            inputs = nw.maybe_reset_index(nw.concat([self.inputs, more], how="vertical"))
        if self.weights is not None:
            mean = np.full(len(points), self.weights.mean()) if weights is None else weights
            weights = np.concatenate([self.weights, mean])
        return LabelledRows(
            self.space,
            inputs,
            np.asfortranarray(np.concatenate([self.points, points])),
            np.concatenate([self.truth, labels.astype(self.truth.dtype)]),
            weights if self.weights is not None else None,
        )

    def _made(self, points: Points) -> Any:
        """Return generated inputs in the form of these rows."""
        if isinstance(self.inputs, np.ndarray):
            columns = self.space.decode(points)
            return np.asarray(columns)[:, list(self.space.passed)].astype(self.inputs.dtype)
        order = [self.space.index(name) for name in self.inputs.columns]
        return eager(self.space.layout.build(self.space.features, order, points))


@contextmanager
def unseen_levels_explained(train: LabelledRows) -> Iterator[None]:
    """Where a model fails over a level that no training row has, say so: encoders refuse what they
    have not seen.
    """
    try:
        yield
    except SubjectCrashed as error:
        told = next(
            (f"{name} = {level!r}" for name, level in train.strangers if str(level) in str(error)),
            None,
        )
        if told is None:
            raise
        raise SubjectCrashed(
            f"{error}; no training row has {told}, since some rows are held out: train a model that"
            " takes such levels, as with OneHotEncoder(handle_unknown='ignore'), or leave rare"
            " ones out of the space"
        ) from error


def _parts(rows: Any, truth: Any, space: Space) -> tuple[Any, Any]:
    """Return rows as a frame without their outcomes, and these."""
    table = eager(rows)
    if isinstance(truth, str):
        if truth not in table.columns:
            raise DataError(f"y = {truth!r} is no column of X; {nearest(truth, table.columns)}")
        check_missing(table, truth)
        table, truth = table.drop(truth), table[truth].to_list()
    if extra := [name for name in table.columns if name not in space.names]:
        raise DataError(
            f"column {extra[0]!r} of X is no feature of the space, so that nothing can be generated"
            " for it; leave it out of X, or add it to the space"
        )
    return table, truth


def _checked(truth: Any, weights: Any, rows: int) -> tuple[NDArray[Any], Floats | None]:
    if truth is None or isinstance(truth, Mapping):
        raise UsageError(
            "y is missing; give the true outcome of each row of X, or the name of the column that"
            " has it"
        )
    column = _outcomes(truth)
    if column.ndim != 1 or len(column) != rows:
        raise DataError(
            f"X has {rows:,} rows and y is of shape {column.shape}; give one outcome for each row"
        )
    if weights is None:
        return column, None
    try:
        heavy = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError):
        heavy = np.full(rows, np.nan)
    if (
        heavy.shape != (rows,)
        or not np.isfinite(heavy).all()
        or (heavy < 0).any()
        or not heavy.any()
    ):
        raise DataError(
            f"sample_weight must hold a number of 0 or more for each of the {rows:,} rows of X"
        )
    return column, heavy


def _outcomes(truth: Any) -> NDArray[Any]:
    """Return true outcomes as one column of their own type, none of which is missing."""
    import pandas as pd

    if not isinstance(truth, np.ndarray):
        # As objects first: among texts, numpy would write a missing value out as the text "nan".
        truth = np.asarray(truth.to_list() if hasattr(truth, "to_list") else truth, dtype=object)
    column = truth.ravel() if truth.ndim == 2 and truth.shape[1] == 1 else truth
    if missing := int(np.sum(pd.isna(column))):
        raise DataError(f"y has {missing:,} missing values; leave out their rows")
    if column.dtype != object or column.ndim != 1:
        return np.asarray(column)
    kinds = {isinstance(value, str) for value in column.tolist()}
    if len(kinds) > 1:
        raise DataError("y holds both texts and other values; make all outcomes of one kind")
    return np.asarray(column.tolist())


def split(
    data: LabelledRows, test: Any, validate: Any, seed: int, *, stratify: bool
) -> tuple[LabelledRows, LabelledRows, LabelledRows]:
    """Return rows for training, validation and test; shares of each outcome are kept alike where
    there are labels.
    """
    rest, held = _apart(data, test, seed, "test", stratify=stratify)
    train, valid = _apart(rest, validate, seed, "validation", stratify=stratify)
    return train, valid, held


def _apart(
    data: LabelledRows, part: Any, seed: int, name: str, *, stratify: bool
) -> tuple[LabelledRows, LabelledRows]:
    """Return the rows that are left, and those set apart: a share of them, or rows that were given."""
    if not isinstance(part, tuple | list):
        rest, last = parted(data.truth, part, seed, name, stratify=stratify)
        return data.take(rest), data.take(last)
    option = "test" if name == "test" else "validate"
    if len(part) != 2:
        raise UsageError(
            f"{option} must be a share of the rows, or rows and their outcomes as (X, y)"
        )
    held = data.alike(part[0], part[1])
    if stratify and not set(held.truth.tolist()) & set(data.truth.tolist()):
        strange, known = held.truth.tolist()[0], np.unique(data.truth).tolist()
        raise DataError(
            f"{option}: {clip(repr(strange))} is no outcome of y; {nearest(strange, known)}"
        )
    return data, held


def parted(
    truth: NDArray[Any], share: float, seed: int, name: str, *, stratify: bool
) -> tuple[Rows, Rows]:
    """Return the positions of rows that are kept, and of a share that is set apart at random.

    >>> kept, apart = parted(np.array(["no", "yes"] * 10), 0.2, 0, "test", stratify=True)
    >>> len(kept), len(apart)
    (16, 4)
    """
    rng = stream(seed, "repair", "split", name)
    order = rng.permutation(len(truth))
    if stratify:
        _, codes = np.unique(truth[order], return_inverse=True)
        order = order[np.argsort(codes, kind="stable")]
    # Every so many rows of those in the order of their outcomes, one is set apart.
    marks = np.floor(np.arange(1, len(order) + 1) * share) > np.floor(np.arange(len(order)) * share)
    if not marks.any() or marks.all():
        raise DataError(
            f"{len(order):,} rows are too few to set apart a share of {share:g} for {name}; give"
            " more rows"
        )
    return np.sort(order[~marks]), np.sort(order[marks])


def check_share(name: str, value: Any) -> None:
    """Refuse what is no share of rows."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1:
        raise UsageError(
            f"{name} = {clip(repr(value))} must be a share of the rows between 0 and 1, such as 0.2"
        )
