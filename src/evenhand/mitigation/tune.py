"""tune: try values of the parameter that trades performance for fairness (Fairea, RQ3)."""

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
from evenhand.runtime.budget import Budget, Meter, Spent
from evenhand.runtime.errors import DataError, UsageError, clip, nearest
from evenhand.runtime.progress import progress_bar
from evenhand.runtime.random_streams import stream
from evenhand.runtime.workers import Workers
from evenhand.space.feature import plain
from evenhand.space.frames.reading import eager
from evenhand.statistics.estimate import StopReason

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from evenhand.methods.compare.contingency import Codes, Floats
    from evenhand.mitigation.base import Mitigation
    from evenhand.results.evidence import Finding

ORIGINAL = "original"


@dataclass(frozen=True)
class Tuning(Evidence):
    """How each value of a parameter stands on validation rows, and the best on rows kept for it.

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
        """What the verdict rests on.

        The best value on the rows kept for it, or all values where none is any good.
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
        """Return whether parsed JSON is a tuning."""
        return table.get("job") == "tune" and "parameter" in table

    @classmethod
    def read(cls, table: Mapping[str, Any], where: str) -> Tuning:
        """Rebuild a tuning from JSON of the present format."""
        chosen = None
        if table["chosen"] is not None:
            chosen = Comparison.from_dict(table["chosen"], where=f"{where}, chosen")
        return cls(
            parameter=table["parameter"],
            values=tuple(table["values"]),
            comparison=Comparison.from_dict(
                table["comparison"], where=f"{where}, comparison"
            ),
            best=table["best"],
            chosen=chosen,
            spent=spent_of(table),
            stop=read_stop(table["stop"]),
        )

    @property
    def curve(self) -> Any:
        """Area, performance and bias for each value, as a pandas frame."""
        frame = self.comparison.to_frame().drop(columns="name")
        frame.insert(0, self.parameter, list(self.values))
        return frame

    def sentences(self) -> list[str]:
        """Return where each value stands, which is the best, and how it stands on the rows kept."""
        if self.best is None:
            conclusion = "no value beats blind overwriting"
        else:
            conclusion = f"best: {self.parameter} = {self.best}"
        kept = () if self.chosen is None else self.chosen.standings
        return [*map(str, self.comparison.standings), conclusion, *map(str, kept)]

    def __str__(self) -> str:
        return "\n".join(self.sentences())


def _written(value: Any) -> Any:
    """Return a value of a parameter as JSON holds it; one that JSON does not hold, as a text.

    >>> _written(np.float64(0.5)), _written(float("inf")), _written((1, 2))
    (0.5, 'inf', '(1, 2)')
    """
    value = plain(value)
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, float) and np.isfinite(value):
        return value
    return str(value)


def document() -> type[Tuning]:
    """Return the class that reads the JSON of a tuning."""
    return Tuning


def frame(tuning: Tuning) -> Any:
    """Return one row for each value, as a pandas frame."""
    return tuning.curve


def lines(tuning: Tuning, *, cases: int = 1, width: int | None = None) -> Iterator[Line]:
    """Return a tuning as lines."""
    for line in tuning.sentences():
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
    """Try values of a method's parameter on splits, and judge the best on rows kept for it.

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
    level
        The level at which the findings hold together.
    seed
        The seed of the splits.
    n_jobs
        How many workers; the tuning is the same for any number.

    Returns
    -------
    Tuning
        Where each value stands, the best of them, and how it stands on the rows kept for it.

    Raises
    ------
    UsageError
        If an option is out of range, or the method has no such parameter.
    DataError
        If rows and labels differ in number, or a protected column is missing.

    Notes
    -----
    See docs/how-to/study.md.

    Examples
    --------
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
        raise UsageError(
            f"splits = {clip(repr(splits))} must be a whole number of 2 or more"
        )
    if not 0 < test_size < 1:
        raise UsageError(
            f"test_size = {clip(repr(test_size))} must lie between 0 and 1, for example 0.3"
        )
    sweep = _Sweep.of(method, name, tuple(values), X, y, test_size, seed)
    tables = _tables_of_splits(sweep, splits, n_jobs)
    names = tuple(f"{name} = {value}" for value in values)
    # By value and then by split.
    counts = np.swapaxes(np.array(tables), 0, 1)
    trials = Trials((ORIGINAL, *names), sweep.frame, counts)
    options = {
        "bias": bias,
        "performance": performance,
        "positive": sweep.positive,
        "level": level,
        "seed": seed,
    }
    found = compare_trials(trials, test_size=test_size, **options)
    if found.best is None:
        return Tuning(name, tuple(values), found, None, None)
    best = values[names.index(found.best)]
    # The best of several values looks better than it is on the rows that it was chosen by.
    original, mitigated = sweep.predictions([best], sweep.rest, sweep.kept)
    groups = {}
    for column in sweep.frame.names:
        groups[column] = sweep.columns[column][sweep.kept]
    chosen = compare(
        {ORIGINAL: original, found.best: mitigated},
        sweep.labels[sweep.kept],
        groups,
        **options,
    )
    return Tuning(name, tuple(values), found, best, chosen)


def _tables_of_splits(sweep: _Sweep, splits: int, n_jobs: int) -> list[Floats]:
    """Return the tables of the original and of each value, split by split."""
    tables: list[Floats] = []
    with Workers(n_jobs) as workers, progress_bar() as hook:
        meter = Meter(Budget(), hook)
        for start in range(0, splits, workers.width):
            stop = min(start + workers.width, splits)
            tables += workers.map(sweep, range(start, stop))
            share = len(tables) / splits
            meter.report("tune", share, f"{len(tables)} of {splits} splits")
    return tables


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
    """All that a split needs.

    Called with its number, it returns the tables of the original and of each value.
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
        columns = {}
        for column in over:
            if column not in table.columns:
                raise DataError(
                    f"there is no column {column!r}; {nearest(column, table.columns)}"
                )
            columns[column] = np.array(table[column].to_list(), dtype=object)
        _, different_labels = coded(labels, "y")
        order = stream(seed, "tune", "kept").permutation(len(labels))
        cut = round(test_size * len(labels))
        return cls(
            method=method,
            name=name,
            values=values,
            data=data,
            labels=labels,
            columns=columns,
            frame=Frame.of(different_labels, columns),
            positive=method.positive,
            rest=np.sort(order[cut:]),
            kept=np.sort(order[:cut]),
            test_size=test_size,
            seed=seed,
        )

    def __call__(self, split: int) -> Floats:
        order = stream(self.seed, "tune", "split", split).permutation(self.rest)
        cut = round(self.test_size * len(order))
        test = np.sort(order[:cut])
        train = np.sort(order[cut:])
        groups = {column: values[test] for column, values in self.columns.items()}
        place = self.frame.place(groups)
        truth = self.frame.column(self.labels[test], "y")
        tables = []
        for predictions in self.predictions(self.values, train, test):
            predicted = self.frame.column(predictions, "a prediction")
            cells = self.frame.cells(place, truth, predicted)
            tables.append(self.frame.table(cells))
        return np.array(tables)

    def predictions(self, values: Sequence[Any], train: Codes, test: Codes) -> list[Any]:
        """Return the predictions of the original, and of the method with each value."""
        table = eager(self.data)
        train_rows = table[train.tolist()].to_native()
        test_rows = table[test.tolist()].to_native()
        models = [self._original()]
        for value in values:
            models.append(clone(self.method).set_params(**{self.name: value}))
        predictions = []
        for model in models:
            fitted = model.fit(train_rows, self.labels[train])
            predictions.append(fitted.predict(test_rows))
        return predictions

    def _original(self) -> Any:
        """Return what the method is compared with.

        The method itself with mitigation off, or the estimator inside alone.
        """
        if self.method.off:
            return clone(self.method).set_params(**self.method.off)
        estimator = self.method.get_params(deep=False).get("estimator")
        if estimator is None:
            raise UsageError(
                f"{type(self.method).__name__} has no estimator to compare with; pass estimator=…"
            )
        return clone(estimator)
