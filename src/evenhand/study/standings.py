"""Where each method of a study stands, by model, data set and protected column."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from evenhand.methods.compare.axes import as_bias, as_performance, favourable
from evenhand.methods.compare.regions import REGIONS
from evenhand.runtime import number_text
from evenhand.runtime.errors import DataError, UsageError
from evenhand.study.fits import NothingToCompare

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenhand.methods.compare.comparison import Comparison, Standing
    from evenhand.study.fits import Cases

Place = tuple[str, str, str]
"""A model (or a method that has its own), a data set and a protected column."""
Splits = frozenset[int]
"""Numbers of splits."""

MISSING = "NA"
"""What stands in a table where there is no line to compare with."""

_MARKS = (
    "? more than one region is plausible; * the best of its column; (*) the best here, but"
    " another may be"
)
"""What the marks in the cells of a table of areas mean."""

SHARES = [f"share.{region}" for region in REGIONS]
_COLUMNS = [
    "model",
    "task",
    "protected",
    "method",
    "runs",
    "contender",
    "region",
    "plausible",
    "area",
    *SHARES,
]
"""The columns of standings in which nothing could be compared."""


@dataclass(frozen=True)
class StudyTable:
    """A table of a study as a pandas frame, and what a reader must know of it.

    `left_out` says which combinations have no cases, and why. `best` names, for each column of a
    table of areas, every method that may be the best one there, that with the most area first: one
    name is a claim, several are not.
    """

    frame: Any
    left_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    best: Mapping[Place, tuple[str, ...]] = field(default_factory=dict)
    comparisons: tuple[tuple[Place, Comparison], ...] = ()
    """What was compared for each place."""

    @property
    def marked(self) -> Any:
        """The cells as texts, with a mark after the one with the most area in its column."""
        texts = self.frame.map(cell_text)
        for place, names in self.best.items():
            if len(names) == 1:
                mark = " *"
            else:
                mark = " (*)"
            texts.loc[names[0], place] += mark
        return texts

    @property
    def legend(self) -> tuple[str, ...]:
        """What the marks in the cells mean, and what else is to be known."""
        lines = []
        if self.best:
            lines.append(_MARKS)
        for reason in self.left_out:
            lines.append(f"left out: {reason}")
        lines.extend(self.notes)
        return tuple(lines)

    def __str__(self) -> str:
        return "\n".join([self.marked.to_string(), *self.legend])


@dataclass
class _PlaceComparisons:
    """What was compared at one place, what could not be, and why."""

    comparisons: list[Comparison] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def left_out(self) -> list[str]:
        """The reasons that a reader needs."""
        if self.comparisons:
            return self.missing
        # Without any comparison there is no line for any method, so one reason is enough: that of
        # the methods that failed least, which come first.
        return self.missing[:1]


def standings(
    cases: Cases,
    bias: Any = "spd",
    performance: Any = "accuracy",
    *,
    own: bool = False,
    level: float = 0.95,
) -> StudyTable:
    """Return where each method stands, by model, data set and protected column.

    Each row has the region, the area, the number of runs and the share of runs in each region.

    Parameters
    ----------
    bias, performance
        As for `compare`.
    own
        True for the methods that have a model of their own, each compared with its own original;
        False for those that were run with each model.
    level
        The level of the intervals of all methods of one combination together.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from evenhand.study.study import StudyMethod, Model, Study, Task, run
    >>> frame = pd.DataFrame({"sex": [0, 1] * 200, "age": range(400)})
    >>> task = Task("ages", frame, frame["age"] > 150 + 100 * frame["sex"], True, {"sex": 0})
    >>> models = [Model("DT", DecisionTreeClassifier(max_depth=1))]
    >>> cases = run(Study([task], models, [StudyMethod("reweighing")], splits=3))
    >>> standings(cases).frame[["model", "task", "protected", "method", "runs"]]
      model  task protected      method  runs
    0    DT  ages       sex  reweighing     3
    """
    import pandas as pd

    _check_scores(cases, bias, performance)
    rows: list[dict[str, Any]] = []
    left_out: list[str] = []
    notes: list[str] = []
    compared: list[tuple[Place, Comparison]] = []
    failed = _failed_splits(cases)
    for place in places_of(cases, own=own):
        model, task, protected = place
        methods = [model] if own else method_names(cases, own=False)
        groups = _by_failed_splits(failed, place, methods)
        found = _compared(cases, place, groups, bias, performance, level=level)
        for comparison in found.comparisons:
            compared.append((place, comparison))
        left_out += found.left_out
        notes += found.notes
        rows += _rows(found.comparisons, model=model, task=task, protected=protected)
    if rows:
        frame = pd.DataFrame(rows)
    else:
        frame = pd.DataFrame(columns=_COLUMNS)
    return StudyTable(frame, tuple(left_out), tuple(notes), comparisons=tuple(compared))


def _compared(
    cases: Cases,
    place: Place,
    groups: Mapping[Splits, list[str]],
    bias: Any,
    performance: Any,
    *,
    level: float,
) -> _PlaceComparisons:
    """Return the comparisons of one place, one for each group of methods with the same splits."""
    model, task, protected = place
    usable_groups = sum(2 * len(splits) < cases.splits for splits in groups)
    # Bonferroni: the intervals of all groups of a place are to hold together with this level.
    group_level = 1 - (1 - level) / max(usable_groups, 1)
    found = _PlaceComparisons()
    for splits, methods in sorted(groups.items(), key=_number_of_splits):
        names = [f"{task} {protected}", model]
        if splits and len(groups) > 1:
            names += methods
        where = ", ".join(names)
        try:
            comparison = cases.comparison(
                task, protected, model, bias, performance, methods, level=group_level
            )
        except NothingToCompare as error:
            found.missing.append(f"{where}: {error.reason}")
            continue
        except (DataError, UsageError) as error:
            found.missing.append(f"{where}: {error}")
            continue
        found.comparisons.append(comparison)
        for note in comparison.notes:
            found.notes.append(f"{where}: {note}")
    return found


def _number_of_splits(group: tuple[Splits, list[str]]) -> int:
    splits, _ = group
    return len(splits)


def _check_scores(cases: Cases, bias: Any, performance: Any) -> None:
    """Raise an error for an unknown bias or performance.

    Otherwise it would read as if every combination had to be left out.
    """
    info = next(iter(cases.tasks.values()))
    first_column = list(info.protected)[:1]
    frame = info.frame(first_column)
    positive = favourable(frame.labels, info.positive, bias, performance)
    as_bias(bias, frame, positive)
    as_performance(performance, frame, positive)


def places_of(cases: Cases, *, own: bool) -> list[Place]:
    """Return every combination, in the order of the paper's columns.

    A method that has a model of its own stands in the place of the model.
    """
    names = method_names(cases, own=own)
    models: Sequence[str] = ()
    if own:
        models = names
    elif names:
        models = cases.models
    places = []
    for model in models:
        for task, protected in cases.pairs:
            places.append((model, task, protected))
    return places


def method_names(cases: Cases, *, own: bool) -> list[str]:
    """Return the names of the methods that have, or have not, a model of their own."""
    return [name for name, info in cases.methods.items() if info.own == own]


def _by_failed_splits(
    failed: Mapping[tuple[str, ...], Splits], place: Place, methods: Sequence[str]
) -> dict[Splits, list[str]]:
    """Return methods by the splits in which they failed.

    A comparison is over the splits that all of its methods have, so methods with other splits are
    compared apart.
    """
    groups: dict[Splits, list[str]] = {}
    for name in methods:
        splits = failed.get((*place, name), frozenset())
        groups.setdefault(splits, []).append(name)
    return groups


def _failed_splits(cases: Cases) -> dict[tuple[str, ...], Splits]:
    """Return the splits in which each method failed, by place and name."""
    found: dict[tuple[str, ...], Splits] = {}
    for case in cases.failed:
        key = (case.model, case.task, str(case.protected), case.method)
        found[key] = found.get(key, frozenset()) | {case.split}
    return found


def _rows(comparisons: list[Comparison], **place: Any) -> list[dict[str, Any]]:
    """Return a row for each method of one place."""
    if not comparisons:
        return []
    # Methods that were compared apart are ranked together, as their intervals allow it.
    standings: list[Standing] = []
    for comparison in comparisons:
        standings += comparison.standings
    contenders = replace(comparisons[0], standings=standings).contenders
    rows = []
    for comparison in comparisons:
        by_name = comparison.to_frame().set_index("name").to_dict("index")
        for name, scores in by_name.items():
            row = {
                **place,
                "method": name,
                "runs": comparison.runs,
                "contender": name in contenders,
                **scores,
            }
            rows.append(row)
    return rows


def cell_text(value: Any) -> str:
    """Return a cell as text: shares, which alone are real numbers, in per cent."""
    if not isinstance(value, float):
        return str(value)
    if value != value:  # NaN alone differs from itself
        return MISSING
    return number_text.percent(value, 0)
