"""The work of a study: all fits of one model on one split, each tried, timed and counted."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.mitigation.aif360_compat import seeded
from evenhand.runtime.errors import EvenhandError, clip
from evenhand.study.fits import ORIGINAL, Case

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from evenhand.study.store import Key
    from evenhand.study.study import Entry, Study
    from evenhand.study.tasks import Task

Found = list[Any]
"""What is kept of a case: protected column, method, counts, seconds to fit and to predict, and the
error.
"""


@dataclass(frozen=True)
class Work:
    """Does a unit of work; shipped to each worker once, with the data."""

    study: Study

    def __call__(self, unit: Key) -> tuple[Key, list[Found]]:
        """Return what came of the unit: a case for each fit."""
        from threadpoolctl import threadpool_limits

        # Sums over several threads are rounded otherwise, and workers must not fight for cores. A
        # method may warn of this or that in each of a thousand fits; what it predicts is judged as
        # it is.
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return unit, self._done(unit)

    def _done(self, unit: Key) -> list[Found]:
        name, model, number = unit
        task = next(task for task in self.study.tasks if task.name == name)
        train, test, seed = task.split(number, self.study.test_size, self.study.seed)
        rows = _Rows(
            task, task.frame.take(train), task.frame.take(test), task.labels[train], test, seed
        )
        own = next(
            (entry for entry in self.study.methods if entry.about.own and entry.name == model), None
        )
        return self._alone(rows, own) if own is not None else self._together(rows, model)

    def _together(self, rows: _Rows, name: str) -> list[Found]:
        """Fit a model, and all methods that take one, for each protected column."""
        from sklearn.base import clone

        given = next(model.estimator for model in self.study.models if model.name == name)
        estimator = _settled(clone(given), rows.seed)
        shared, first = rows.tried(lambda: Remembering(estimator), None, ORIGINAL)
        found = [first]
        for column in rows.task.ground.protected:
            for entry in (entry for entry in self.study.methods if not entry.about.own):
                if shared is None:
                    found.append(
                        [column, entry.name, None, 0.0, 0.0, f"the original failed: {first[-1]}"]
                    )
                    continue
                inside = (
                    {"estimator": shared, "prefit": True}
                    if entry.shares
                    else {"estimator": clone(estimator)}
                )
                found.append(
                    rows.tried(
                        partial(entry.make, **inside, **rows.how(column)), column, entry.name
                    )[1]
                )
        return found

    def _alone(self, rows: _Rows, entry: Entry) -> list[Found]:
        """Fit a method with a model of its own, and its original, for each protected column."""
        return [
            rows.tried(partial(entry.make, **(rows.how(column) | more)), column, name)[1]
            for column in rows.task.ground.protected
            for name, more in ((ORIGINAL, dict(entry.off)), (entry.name, {}))
        ]


@dataclass(frozen=True)
class _Rows:
    """The rows of one split."""

    task: Task
    train: Any
    test: Any
    labels: NDArray[Any]
    places: NDArray[np.intp]
    seed: int

    def how(self, column: str) -> dict[str, Any]:
        """Return what a method is told of its protected column."""
        ground = self.task.ground
        privileged = ground.protected[column][0]
        return {
            "over": column,
            "positive": ground.positive,
            "privileged": privileged,
            "random_state": self.seed,
        }

    def tried(self, make: Callable[[], Any], column: str | None, name: str) -> tuple[Any, Found]:
        """Return a fitted estimator, None where it failed, and what is kept of the case."""
        began, ready, fitted, counts, error = time.perf_counter(), None, None, None, None
        try:
            with seeded(self.seed):
                one = make()
                one.fit(self.train, self.labels)
                ready = time.perf_counter()
                told = one.predict(self.test)
            ended = time.perf_counter()
            fitted, counts = one, self.task.table(self.places, told).ravel().tolist()
        except Exception as failure:  # whatever a method raises, the study goes on
            ended, error = time.perf_counter(), sentence(failure)
        ready = ended if ready is None else ready
        return fitted, [column, name, counts, ready - began, ended - ready, error]


class Remembering:
    """A fitted model that all post-processing methods of a split share: it answers about the same
    rows once.

    >>> from sklearn.dummy import DummyClassifier
    >>> rows = np.zeros((2, 1))
    >>> model = Remembering(DummyClassifier().fit(rows, ["no", "no"]))
    >>> model.classes_.tolist(), model.predict(rows).tolist(), hasattr(model, "decision_function")
    (['no'], ['no', 'no'], False)
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        self._answers: dict[tuple[str, int], tuple[Any, Any]] = {}

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.model, name)
        return (
            self._asking(name)
            if name in ("predict", "predict_proba", "decision_function")
            else found
        )

    def _asking(self, name: str) -> Callable[[Any], Any]:
        def ask(rows: Any) -> Any:
            known = self._answers.get((name, id(rows)))
            if known is None or known[0] is not rows:
                known = self._answers[name, id(rows)] = (rows, getattr(self.model, name)(rows))
            return np.array(known[1])

        return ask

    def __repr__(self) -> str:
        return repr(self.model)


def sentence(error: BaseException) -> str:
    """Return what an error says, on one line.

    >>> sentence(ValueError("no\\nrows"))
    'ValueError: no rows'
    """
    said = clip(str(error), 400)
    return said if isinstance(error, EvenhandError) else f"{type(error).__name__}: {said}"


def _settled(estimator: Any, seed: int) -> Any:
    """Return an estimator whose random parts have a seed, but for those that the user gave one."""
    if not hasattr(estimator, "get_params"):
        return estimator
    free = [
        name
        for name, value in estimator.get_params(deep=True).items()
        if value is None and (name == "random_state" or name.endswith("__random_state"))
    ]
    return estimator.set_params(**dict.fromkeys(free, seed)) if free else estimator


def cases_of(unit: Key, found: list[Found], shape: tuple[int, int, int]) -> list[Case]:
    """Return the cases of a finished unit."""
    task, model, split = unit
    return [
        Case(
            task,
            column,
            model,
            name,
            split,
            None if counts is None else np.array(counts, dtype=np.int64).reshape(shape),
            fit,
            predict,
            error,
        )
        for column, name, counts, fit, predict, error in found
    ]
