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
from evenhand.runtime.interruption import exits_reported
from evenhand.study.fits import ORIGINAL, StudyCase

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from evenhand.study.store import Key
    from evenhand.study.study import Study, StudyMethod
    from evenhand.study.tasks import Task

KeptCase = list[Any]
"""What is kept of a case, as JSON holds it.

Protected column, method, counts, seconds to fit, seconds to predict, and the error.
"""

_ANSWERS = ("predict", "predict_proba", "decision_function")
"""The methods of a classifier that answer about rows."""


@dataclass(frozen=True)
class Work:
    """Does a unit of work; shipped to each worker once, with the data."""

    study: Study

    def __call__(self, unit: Key) -> tuple[Key, list[KeptCase]]:
        """Return what came of the unit: a case for each fit."""
        from threadpoolctl import threadpool_limits

        # Sums over several threads are rounded otherwise, and workers must not fight for cores. A
        # method may warn of this or that in each of a thousand fits; what it predicts is judged as
        # it is.
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return unit, self._kept_cases(unit)

    def _kept_cases(self, unit: Key) -> list[KeptCase]:
        task_name, model, number = unit
        task = next(task for task in self.study.tasks if task.name == task_name)
        train, test, seed = task.split(number, self.study.test_size, self.study.seed)
        rows = _SplitRows(
            task=task,
            train=task.frame.take(train),
            test=task.frame.take(test),
            labels=task.labels[train],
            places=test,
            seed=seed,
        )
        for method in self.study.methods:
            if method.info.own and method.name == model:
                return self._fit_alone(rows, method)
        return self._fit_together(rows, model)

    def _fit_together(self, rows: _SplitRows, name: str) -> list[KeptCase]:
        """Fit a model, and all methods that take one, for each protected column."""
        from sklearn.base import clone

        given = next(model.estimator for model in self.study.models if model.name == name)
        estimator = _with_seed(clone(given), rows.seed)
        shared, original = rows.tried(lambda: Remembering(estimator), None, ORIGINAL)
        methods = [method for method in self.study.methods if not method.info.own]
        found = [original]
        for column in rows.task.info.protected:
            for method in methods:
                if shared is None:
                    error = f"the original failed: {original[-1]}"
                    found.append([column, method.name, None, 0.0, 0.0, error])
                    continue
                # A method that only changes answers takes those of the one fitted model.
                if method.shares:
                    inside = {"estimator": shared, "prefit": True}
                else:
                    inside = {"estimator": clone(estimator)}
                make = partial(method.make, **inside, **rows.roles(column))
                _, case = rows.tried(make, column, method.name)
                found.append(case)
        return found

    def _fit_alone(self, rows: _SplitRows, method: StudyMethod) -> list[KeptCase]:
        """Fit a method with a model of its own, and its original, for each protected column."""
        found = []
        for column in rows.task.info.protected:
            roles = rows.roles(column)
            # The original of such a method is the method itself with its mitigation turned off.
            make_original = partial(method.make, **(roles | dict(method.off)))
            make = partial(method.make, **roles)
            _, original = rows.tried(make_original, column, ORIGINAL)
            _, mitigated = rows.tried(make, column, method.name)
            found += [original, mitigated]
        return found


@dataclass(frozen=True)
class _SplitRows:
    """The rows of one split."""

    task: Task
    train: Any
    test: Any
    labels: NDArray[Any]
    places: NDArray[np.intp]
    seed: int

    def roles(self, column: str) -> dict[str, Any]:
        """Return the settings of a method that depend on the data set and the protected column."""
        info = self.task.info
        privileged, _ = info.protected[column]
        return {
            "over": column,
            "positive": info.positive,
            "privileged": privileged,
            "random_state": self.seed,
        }

    def tried(
        self, make: Callable[[], Any], column: str | None, name: str
    ) -> tuple[Any, KeptCase]:
        """Return a fitted estimator, None where it failed, and what is kept of the case."""
        fitted = None
        counts = None
        error = None
        began = time.perf_counter()
        ready = None
        try:
            with exits_reported(name), seeded(self.seed):
                estimator = make()
                estimator.fit(self.train, self.labels)
                ready = time.perf_counter()
                predictions = estimator.predict(self.test)
            ended = time.perf_counter()
            counts = self.task.table(self.places, predictions).ravel().tolist()
            fitted = estimator
        except Exception as failure:  # whatever a method raises, the study goes on
            ended = time.perf_counter()
            error = sentence(failure)
        if ready is None:
            ready = ended
        return fitted, [column, name, counts, ready - began, ended - ready, error]


class Remembering:
    """A fitted model that answers about the same rows once.

    All post-processing methods of a split share it.

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
        # The model first: a method that it lacks must be lacking here, too.
        attribute = getattr(self.model, name)
        if name in _ANSWERS:
            return self._remembered(name)
        return attribute

    def _remembered(self, name: str) -> Callable[[Any], Any]:
        def ask(rows: Any) -> Any:
            key = (name, id(rows))
            known = self._answers.get(key)
            # Python may give the id of an object that is gone to another one.
            if known is None or known[0] is not rows:
                known = (rows, getattr(self.model, name)(rows))
                self._answers[key] = known
            _, answers = known
            # A copy: a method may change the array that it gets.
            return np.array(answers)

        return ask

    def __repr__(self) -> str:
        return repr(self.model)


def sentence(error: BaseException) -> str:
    """Return the message of an error on one line, with its class if it is not one of evenhand's.

    >>> sentence(ValueError("no\\nrows"))
    'ValueError: no rows'
    """
    message = clip(str(error), 400)
    if isinstance(error, EvenhandError):
        return message
    return f"{type(error).__name__}: {message}"


def _with_seed(estimator: Any, seed: int) -> Any:
    """Return an estimator whose random parts have a seed, but for those that the user gave one."""
    if not hasattr(estimator, "get_params"):
        return estimator
    free = []
    for name, value in estimator.get_params(deep=True).items():
        is_seed = name == "random_state" or name.endswith("__random_state")
        if is_seed and value is None:
            free.append(name)
    if not free:
        return estimator
    return estimator.set_params(**dict.fromkeys(free, seed))


def cases_of(
    unit: Key, kept: list[KeptCase], shape: tuple[int, int, int]
) -> list[StudyCase]:
    """Return the cases of a finished unit."""
    task, model, split = unit
    cases = []
    for column, method, counts, fit_seconds, predict_seconds, error in kept:
        table = None
        if counts is not None:
            table = np.array(counts, dtype=np.int64).reshape(shape)
        case = StudyCase(
            task=task,
            protected=column,
            model=model,
            method=method,
            split=split,
            counts=table,
            fit_seconds=fit_seconds,
            predict_seconds=predict_seconds,
            error=error,
        )
        cases.append(case)
    return cases
