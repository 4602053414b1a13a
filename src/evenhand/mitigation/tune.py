"""tune: sweep the parameter that trades performance for fairness, and pick the best area (Fairea
RQ3).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.base import clone

from evenhand.methods.compare.columns import coded
from evenhand.methods.compare.compare import compare, compare_trials
from evenhand.methods.compare.comparison import Comparison
from evenhand.methods.compare.contingency import Frame
from evenhand.methods.compare.trials import Trials
from evenhand.mitigation import TUNE
from evenhand.report.lines import Line
from evenhand.results.document import read_stop, spent_of
from evenhand.results.protocol import Evidence
from evenhand.runtime.budget import Budget, Meter, Spent, progress_bar
from evenhand.runtime.errors import DataError, UsageError, clip, nearest
from evenhand.runtime.random_streams import stream
from evenhand.runtime.workers import Workers
from evenhand.space.dataframes import eager
from evenhand.space.feature import plain
from evenhand.statistics.estimate import StopReason

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from evenhand.methods.compare.contingency import Codes, Floats
    from evenhand.mitigation.base import Mitigation
    from evenhand.results.evidence import Finding

ORIGINAL = "original"


@dataclass(frozen=True)
class Tuning(Evidence):
    """A sweep: how each value stands on validation rows, the best of them, and how it stands on
    rows kept for the end.

    `comparison` has a standing for each value, named as in "eta = 5", from splits of the rows that
    were not kept. `chosen` compares the best value alone on the rows kept, which took no part in
    choosing it; it is None where no value beats blind overwriting.
    """

    document: ClassVar[str] = "tuning"
    job: ClassVar[str] = "tune"

    parameter: str
    values: tuple[Any, ...]
    comparison: Comparison
    best: Any
    chosen: Comparison | None
    spent: Spent = field(default_factory=lambda: Spent(0, 0, 0.0))
    stop: StopReason = StopReason.COMPLETED

    @property
    def judged(self) -> Comparison:
        """What the verdict rests on: the best value on rows kept for it, or all values where none
        is any good.
        """
        return self.comparison if self.chosen is None else self.chosen

    @property
    def findings(self) -> Sequence[Finding]:
        """Where the chosen value stands, or where all stand if none was chosen."""
        return self.judged.findings

    @property
    def seed(self) -> int:
        """The seed of the splits."""
        return self.comparison.seed

    @property
    def level(self) -> float:
        """The level at which the findings hold together."""
        return self.judged.level

    @property
    def notes(self) -> Sequence[str]:
        """What else a reader should know."""
        return self.judged.notes

    @property
    def versions(self) -> Mapping[str, str]:
        """What the tuning depends on."""
        return self.comparison.versions

    def body(self) -> dict[str, Any]:
        """Return what only this kind of evidence holds, as JSON holds it."""
        return {
            "parameter": self.parameter,
            "values": [_written(value) for value in self.values],
            "best": _written(self.best),
            "comparison": self.comparison.content(),
            "chosen": None if self.chosen is None else self.chosen.content(),
            "findings": [finding.to_dict() for finding in self.findings],
        }

    @classmethod
    def owns(cls, table: Mapping[str, Any]) -> bool:
        """Tell whether parsed JSON is a tuning."""
        return table.get("job") == "tune" and "parameter" in table

    @classmethod
    def read(cls, table: Mapping[str, Any], where: str) -> Tuning:
        """Rebuild a tuning from JSON of the present format."""
        chosen = table["chosen"]
        return cls(
            table["parameter"],
            tuple(table["values"]),
            Comparison.from_dict(table["comparison"], where=f"{where}, comparison"),
            table["best"],
            None if chosen is None else Comparison.from_dict(chosen, where=f"{where}, chosen"),
            spent_of(table),
            read_stop(table["stop"]),
        )

    @property
    def curve(self) -> Any:
        """Area, performance and bias for each value, as a pandas frame."""
        frame = self.comparison.to_frame().drop(columns="name")
        frame.insert(0, self.parameter, list(self.values))
        return frame

    def told(self) -> list[str]:
        """Return where each value stands, which is the best, and how that stands on the rows kept,
        line by line.
        """
        found = (
            "no value beats blind overwriting"
            if self.best is None
            else f"best: {self.parameter} = {self.best}"
        )
        kept = () if self.chosen is None else self.chosen.standings
        return [*map(str, self.comparison.standings), found, *map(str, kept)]

    def __str__(self) -> str:
        return "\n".join(self.told())


def _written(value: Any) -> Any:
    """Return a value of a parameter as JSON holds it; one that JSON does not hold, such as a model,
    in words.

    >>> _written(np.float64(0.5)), _written(float("inf")), _written((1, 2))
    (0.5, 'inf', '(1, 2)')
    """
    value = plain(value)
    held = (
        value is None
        or isinstance(value, str | int)
        or (isinstance(value, float) and np.isfinite(value))
    )
    return value if held else str(value)


def document() -> type[Tuning]:
    """Return the class that reads the JSON of a tuning."""
    return Tuning


def frame(tuning: Tuning) -> Any:
    """Return one row for each value, as a pandas frame."""
    return tuning.curve


def lines(tuning: Tuning, *, cases: int = 1, width: int | None = None) -> Iterator[Line]:
    """Tell a tuning as lines."""
    for line in tuning.told():
        yield Line(line)


@TUNE.options.checked
def tune(
    method: Mitigation,
    X: Any,  # noqa: N803
    y: Any,
    *,
    values: Sequence[Any],
    parameter: str | None = None,
    bias: Any = "spd",
    performance: Any = "accuracy",
    splits: int = 10,
    test_size: float = 0.3,
    level: float = 0.95,
    seed: int = 0,
    n_jobs: int = 1,
) -> Tuning:
    """Try values of a method's parameter on splits of the rows, and judge the best on rows that
    were kept for it.

    Parameters
    ----------
    method
        A mitigation that is not fitted yet; its other parameters stay as they are.
    values
        The values to try.
    parameter
        The parameter, by default the one that the method names as its knob.
    bias, performance
        As for `compare`, by name or function; groups are those of the method's protected columns.
    splits, test_size
        How often the rows are split into training and validation, and the share of validation rows;
        as large a share of all rows is kept for the end.

    >>> import pandas as pd
    >>> from sklearn.linear_model import LogisticRegression
    >>> from evenhand.mitigation.tune import tune
    >>> tune(None, pd.DataFrame(), [], values=[])
    Traceback (most recent call last):
    evenhand.runtime.errors.UsageError: values is empty; give it the values of the parameter to try
    """
    if not len(values):
        raise UsageError("values is empty; give it the values of the parameter to try")
    name = _parameter(method, parameter)
    if isinstance(splits, bool) or not isinstance(splits, int) or splits < 2:
        raise UsageError(f"splits = {clip(repr(splits))} must be a whole number of 2 or more")
    if not 0 < test_size < 1:
        raise UsageError(
            f"test_size = {clip(repr(test_size))} must lie between 0 and 1, for example 0.3"
        )
    sweep = _Sweep.of(method, name, tuple(values), X, y, test_size, seed)
    with Workers(n_jobs) as workers, progress_bar() as hook:
        meter = Meter(Budget(), hook)
        tables: list[Floats] = []
        for start in range(0, splits, workers.width):
            tables += workers.map(sweep, range(start, min(start + workers.width, splits)))
            meter.report("tune", len(tables) / splits, f"{len(tables)} of {splits} splits")
    names = tuple(f"{name} = {value}" for value in values)
    trials = Trials((ORIGINAL, *names), sweep.frame, np.swapaxes(np.array(tables), 0, 1))
    how = {
        "bias": bias,
        "performance": performance,
        "positive": sweep.positive,
        "level": level,
        "seed": seed,
    }
    found = compare_trials(trials, test_size=test_size, **how)
    best = None if found.best is None else values[names.index(found.best)]
    if best is None:
        return Tuning(name, tuple(values), found, None, None)
    told = sweep.told([best], sweep.rest, sweep.kept)
    outcomes = dict(zip((ORIGINAL, found.best), told, strict=True))
    groups = {column: sweep.columns[column][sweep.kept] for column in sweep.frame.names}
    chosen = compare(outcomes, sweep.labels[sweep.kept], groups, **how)  # type: ignore[arg-type]
    return Tuning(name, tuple(values), found, best, chosen)


def _parameter(method: Mitigation, parameter: str | None) -> str:
    known = sorted(method.get_params(deep=False))
    if parameter is None and method.knob is None:
        raise UsageError(
            f"{type(method).__name__} names no parameter to tune; pass parameter=…;"
            f" {nearest('', known)}"
        )
    name = parameter or str(method.knob)
    if name not in known:
        raise UsageError(
            f"{type(method).__name__} has no parameter {name!r}; {nearest(name, known)}"
        )
    return name


@dataclass(frozen=True)
class _Sweep:
    """All that a split needs: called with its number, it returns the tables of the original and of
    each value.
    """

    method: Mitigation
    name: str
    values: tuple[Any, ...]
    data: Any = field(repr=False)
    labels: Any = field(repr=False)
    columns: dict[str, Any] = field(repr=False)
    frame: Frame
    positive: Any
    rest: Codes = field(repr=False)
    kept: Codes = field(repr=False)
    test_size: float
    seed: int

    @classmethod
    def of(
        cls,
        method: Mitigation,
        name: str,
        values: tuple[Any, ...],
        data: Any,
        y: Any,
        test_size: float,
        seed: int,
    ) -> _Sweep:
        table = eager(data)
        labels = np.asarray(y)
        if len(labels) != len(table):
            raise DataError(
                f"there are {len(table):,} rows and {len(labels):,} labels; give one label for"
                " each row"
            )
        over = [method.over] if isinstance(method.over, str) else list(method.over or ())
        for column in over:
            if column not in table.columns:
                raise DataError(f"there is no column {column!r}; {nearest(column, table.columns)}")
        columns = {column: np.array(table[column].to_list(), dtype=object) for column in over}
        frame = Frame.of(coded(labels, "y")[1], columns)
        order = stream(seed, "tune", "kept").permutation(len(labels))
        cut = round(test_size * len(labels))
        return cls(
            method, name, values, data, labels, columns, frame, method.positive, np.sort(order[cut:]),
            np.sort(order[:cut]), test_size, seed,
        )  # fmt: skip

    def __call__(self, split: int) -> Floats:
        order = stream(self.seed, "tune", "split", split).permutation(self.rest)
        cut = round(self.test_size * len(order))
        test, train = np.sort(order[:cut]), np.sort(order[cut:])
        place = self.frame.place({column: values[test] for column, values in self.columns.items()})
        truth = self.frame.column(self.labels[test], "y")
        told = self.told(self.values, train, test)
        return np.array(
            [
                self.frame.table(
                    self.frame.cells(place, truth, self.frame.column(one, "a prediction"))
                )
                for one in told
            ]
        )

    def told(self, values: Sequence[Any], train: Codes, test: Codes) -> list[Any]:
        """Return the predictions of the original, and of the method with each value, for test rows."""
        table = eager(self.data)
        inputs, others = table[train.tolist()].to_native(), table[test.tolist()].to_native()
        models = [
            self._original(),
            *(clone(self.method).set_params(**{self.name: value}) for value in values),
        ]
        return [model.fit(inputs, self.labels[train]).predict(others) for model in models]

    def _original(self) -> Any:
        """Return what the method is compared with: itself with mitigation off, or the estimator
        inside alone.
        """
        if self.method.off:
            return clone(self.method).set_params(**self.method.off)
        estimator = self.method.get_params(deep=False).get("estimator")
        if estimator is None:
            raise UsageError(
                f"{type(self.method).__name__} has no estimator to compare with; pass estimator=…"
            )
        return clone(estimator)
