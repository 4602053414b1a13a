"""The Fairea paper's Tables 4 to 7 from the cases of a study, and beside them the printed ones.

A combination of data set, protected column and model whose original is on average no more right
than blind overwriting, or shows no bias, has no line to stand against: it is left out, and listed.
Splits in which a method failed are left out for that method alone; one that failed in most of them
is left out of the combination, and listed as well.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from evenhand.methods.compare.axes import as_bias, as_performance, favourable
from evenhand.methods.compare.regions import GOOD, REGIONS, SHORT
from evenhand.runtime import number_text
from evenhand.runtime.errors import DataError, UsageError
from evenhand.study.fits import NothingToCompare
from evenhand.study.published_numbers import METHODS

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

_SHARES = [f"share.{region}" for region in REGIONS]
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
    *_SHARES,
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
        texts = self.frame.map(_cell_text)
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
    for place in _places(cases, own=own):
        model, task, protected = place
        methods = [model] if own else _names(cases, own=False)
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


def regions_by_method(
    cases: Cases, bias: Any = "spd", performance: Any = "accuracy"
) -> StudyTable:
    """Return Table 4: the share of cases in each region, by method.

    The row "Mean" is about all cases together. A case is a single run: a split of a data set, for
    one protected column, with one model. It is held against the line of its own original in that
    split.

    >>> import pandas as pd
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from evenhand.study.study import StudyMethod, Model, Study, Task, run
    >>> frame = pd.DataFrame({"sex": [0, 1] * 200, "age": range(400)})
    >>> task = Task("ages", frame, frame["age"] > 150 + 100 * frame["sex"], True, {"sex": 0})
    >>> models = [Model("DT", DecisionTreeClassifier(max_depth=1))]
    >>> cases = run(Study([task], models, [StudyMethod("reweighing")], splits=3))
    >>> regions_by_method(cases).frame["cases"].to_dict()
    {'reweighing': 3, 'Mean': 3}
    """
    shared_models = standings(cases, bias, performance, own=False)
    own_models = standings(cases, bias, performance, own=True)
    found = _joined([shared_models, own_models])
    names = found.frame["method"]
    rows = [(name, names == name) for name in cases.methods]
    rows.append(("Mean", names.notna()))
    return replace(found, frame=_pooled(found.frame, rows, "method"))


def regions_by_model_and_task(
    cases: Cases, bias: Sequence[Any] = ("spd", "aod"), performance: Any = "accuracy"
) -> StudyTable:
    """Return Table 5: the share of cases in each region, by model and by data set and column.

    Cases by all the biases are taken together. Methods that have a model of their own count for the
    data sets alone.

    >>> import pandas as pd
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from evenhand.study.study import StudyMethod, Model, Study, Task, run
    >>> frame = pd.DataFrame({"sex": [0, 1] * 200, "age": range(400)})
    >>> task = Task("ages", frame, frame["age"] > 150 + 100 * frame["sex"], True, {"sex": 0})
    >>> models = [Model("DT", DecisionTreeClassifier(max_depth=1))]
    >>> cases = run(Study([task], models, [StudyMethod("reweighing")], splits=3))
    >>> regions_by_model_and_task(cases).frame["cases"].to_dict()
    {'DT': 6, 'ages sex': 6}
    """
    biases = bias if isinstance(bias, list | tuple) else [bias]
    tables = []
    for measure in biases:
        tables.append(standings(cases, measure, performance, own=False))
        tables.append(standings(cases, measure, performance, own=True))
    found = _joined(tables)
    frame = found.frame
    rows = [(name, frame["model"] == name) for name in cases.models]
    for task, protected in cases.pairs:
        chosen = (frame["task"] == task) & (frame["protected"] == protected)
        rows.append((f"{task} {protected}", chosen))
    return replace(found, frame=_pooled(found.frame, rows, "model or task"))


def areas(
    cases: Cases, bias: Any = "spd", performance: Any = "accuracy", *, level: float = 0.95
) -> StudyTable:
    """Return Table 6: the area of each good trade-off, or else the region.

    Rows are methods; columns are combinations of model, data set and protected column. The mean of
    the runs counts. A "?" is added where the intervals, which hold for all methods of a column
    together, allow more than one region. Combinations without a line have no column.

    >>> import pandas as pd
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from evenhand.study.study import StudyMethod, Model, Study, Task, run
    >>> frame = pd.DataFrame({"sex": [0, 1] * 200, "age": range(400)})
    >>> task = Task("ages", frame, frame["age"] > 150 + 100 * frame["sex"], True, {"sex": 0})
    >>> models = [Model("DT", DecisionTreeClassifier(max_depth=1))]
    >>> cases = run(Study([task], models, [StudyMethod("reweighing")], splits=3))
    >>> areas(cases).frame.columns.tolist()
    [('DT', 'ages', 'sex')]
    """
    found = standings(cases, bias, performance, level=level)
    methods = _names(cases, own=False)
    best: dict[Place, tuple[str, ...]] = {}
    # A single method is not the best of anything.
    if len(methods) > 1:
        best = _best_methods(found.frame.to_dict("records"))
    places = _places(cases, own=False)
    table = _cells(found.frame, methods, places, ["model", "task", "protected"])
    has_line = (table != MISSING).any()
    return replace(found, frame=table.loc[:, has_line], best=best)


def _best_methods(rows: list[dict[str, Any]]) -> dict[Place, tuple[str, ...]]:
    """Return the methods that may be the best of each place, that with the most area first."""
    best: dict[Place, tuple[str, ...]] = {}
    for row in sorted(rows, key=lambda row: -row["gain"]):
        if row["contender"]:
            place = (row["model"], row["task"], row["protected"])
            best[place] = (*best.get(place, ()), row["method"])
    return best


def areas_own_model(
    cases: Cases, bias: Any = "spd", performance: Any = "accuracy", *, level: float = 0.95
) -> StudyTable:
    """Return Table 7: as Table 6, for methods that have a model of their own.

    A cell is "NA" where there is no line. Each stands against its own original, so there is no best
    one among them.

    >>> import pandas as pd
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from evenhand.study.study import StudyMethod, Model, Study, Task, run
    >>> frame = pd.DataFrame({"sex": [0, 1] * 200, "age": range(400)})
    >>> task = Task("ages", frame, frame["age"] > 150 + 100 * frame["sex"], True, {"sex": 0})
    >>> models = [Model("DT", DecisionTreeClassifier(max_depth=1))]
    >>> cases = run(Study([task], models, [StudyMethod("reweighing")], splits=3))
    >>> areas_own_model(cases).frame.empty
    True
    """
    found = standings(cases, bias, performance, own=True, level=level)
    methods = _names(cases, own=True)
    table = _cells(found.frame, methods, cases.pairs, ["task", "protected"])
    return replace(found, frame=table)


def beside(ours: Any, published: Any) -> Any:
    """Return a table as texts, with the paper's value in square brackets where there is one.

    Methods are matched by their names here or in the paper. Where a study has other data sets,
    models or methods than the paper, shares are over other cases.

    >>> import pandas as pd
    >>> ours = pd.DataFrame({"win-win": [0.2, 0.1], "cases": [50, 50]}, index=["RW", "mine"])
    >>> beside(ours, pd.DataFrame({"win-win": [0.23]}, index=["reweighing"]))
              win-win cases
    RW    20 % [23 %]    50
    mine         10 %    50
    """
    left = ours.marked if isinstance(ours, StudyTable) else ours.map(_cell_text)
    names = [METHODS.get(name, name) for name in left.index]
    bracketed = published.map(_in_brackets)
    right = bracketed.reindex(index=names, columns=left.columns, fill_value="")
    return left + right.set_axis(left.index)


def _in_brackets(value: Any) -> str:
    return f" [{_cell_text(value)}]"


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


def _places(cases: Cases, *, own: bool) -> list[Place]:
    """Return every combination, in the order of the paper's columns.

    A method that has a model of its own stands in the place of the model.
    """
    names = _names(cases, own=own)
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


def _names(cases: Cases, *, own: bool) -> list[str]:
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


def _joined(tables: Sequence[StudyTable]) -> StudyTable:
    """Return the rows of several tables as one, with each note of theirs once."""
    import pandas as pd

    frames = [table.frame for table in tables if len(table.frame)]
    if not frames:
        frames = [tables[0].frame]
    # The keys of a dictionary: each line once, in the order in which they come.
    left_out: dict[str, None] = {}
    notes: dict[str, None] = {}
    for table in tables:
        left_out |= dict.fromkeys(table.left_out)
        notes |= dict.fromkeys(table.notes)
    return StudyTable(pd.concat(frames, ignore_index=True), tuple(left_out), tuple(notes))


def _pooled(frame: Any, rows: list[tuple[str, Any]], what: str) -> Any:
    """Return the shares of the cases that each row is about, and the number of these cases.

    A row without any case has NaN for its shares.
    """
    import pandas as pd

    names = []
    sums = []
    numbers = []
    for name, chosen in rows:
        # A standing holds the shares of its runs; weighted by the runs they are counts of cases.
        runs = frame.loc[chosen, "runs"].to_numpy(dtype=float)
        shares_of_standings = frame.loc[chosen, _SHARES].to_numpy(dtype=float)
        names.append(name)
        sums.append(runs @ shares_of_standings)
        numbers.append(runs.sum())
    index = pd.Index(names, name=what)
    counts = pd.Series(numbers, index=index).astype(int)
    cases_by_region = pd.DataFrame(sums, index=index, columns=list(REGIONS))
    shares = cases_by_region.div(counts.where(counts > 0), axis=0)
    return shares.assign(cases=counts)


def _cells(
    frame: Any, methods: Sequence[str], places: Sequence[tuple[str, ...]], names: list[str]
) -> Any:
    """Return the cells of a table of areas, by method and by places with these names."""
    import pandas as pd

    index = pd.Index(methods, name="method")
    columns = pd.MultiIndex.from_tuples(places, names=names)
    table = pd.DataFrame(MISSING, index=index, columns=columns, dtype=object)
    for row in frame.to_dict("records"):
        place = tuple(row[name] for name in names)
        table.loc[row["method"], place] = _area_or_region(row)
    return table


def _area_or_region(row: Mapping[str, Any]) -> str:
    if row["region"] == REGIONS[GOOD]:
        text = f"{row['area']:.3f}"
    else:
        text = SHORT[row["region"]]
    is_uncertain = ", " in row["plausible"]
    return f"{text}?" if is_uncertain else text


def _cell_text(value: Any) -> str:
    """Return a cell as text: shares, which alone are real numbers, in per cent."""
    if not isinstance(value, float):
        return str(value)
    if value != value:  # NaN alone differs from itself
        return MISSING
    return number_text.percent(value, 0)
