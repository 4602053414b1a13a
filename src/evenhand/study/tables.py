"""The Fairea paper's Tables 4 to 7 from the cases of a study, and beside what the paper printed.

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

    from evenhand.methods.compare.comparison import Comparison
    from evenhand.study.fits import Cases

Place = tuple[str, str, str]
"""A model (or a method that has its own), a data set and a protected column."""
MISSING = "NA"
"""What stands in a table where there is no line to compare with."""
_SHARES = [f"share.{region}" for region in REGIONS]


@dataclass(frozen=True)
class Table:
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
        shown = self.frame.map(_said)
        for place, names in self.best.items():
            shown.loc[names[0], place] += " *" if len(names) == 1 else " (*)"
        return shown

    @property
    def legend(self) -> tuple[str, ...]:
        """What the marks in the cells mean, and what else is to be known."""
        marks = (
            "? more than one region is plausible; * the best of its column; (*) the best here, but"
            " another may be"
        )
        return (
            *((marks,) if self.best else ()),
            *(f"left out: {one}" for one in self.left_out),
            *self.notes,
        )

    def __str__(self) -> str:
        return "\n".join([self.marked.to_string(), *self.legend])


def standings(
    cases: Cases,
    bias: Any = "spd",
    performance: Any = "accuracy",
    *,
    own: bool = False,
    level: float = 0.95,
) -> Table:
    """Return a row for each method, model, data set and protected column: its region, area, runs
    and region shares.

    Parameters
    ----------
    bias, performance
        As for `compare`.
    own
        Whether to tell of the methods that have a model of their own, each held against its own
        original, or of those that were run with each model.
    level
        The level of the intervals of all methods of one combination together.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from evenhand.study.study import Entry, Model, Study, Task, run
    >>> frame = pd.DataFrame({"sex": [0, 1] * 200, "age": range(400)})
    >>> task = Task("ages", frame, frame["age"] > 150 + 100 * frame["sex"], True, {"sex": 0})
    >>> cases = run(Study([task], [Model("DT", DecisionTreeClassifier(max_depth=1))], [Entry("reweighing")], splits=3))
    >>> standings(cases).frame[["model", "task", "protected", "method", "runs"]]
      model  task protected      method  runs
    0    DT  ages       sex  reweighing     3
    """
    import pandas as pd

    _check(cases, bias, performance)
    rows: list[dict[str, Any]] = []
    left_out: list[str] = []
    notes: list[str] = []
    compared: list[tuple[Place, Comparison]] = []
    failed = _failed(cases)
    for place in _places(cases, own=own):
        model, task, protected = place
        groups = _alike(failed, place, [model] if own else _names(cases, own=False))
        each = 1 - (1 - level) / max(sum(2 * len(splits) < cases.splits for splits in groups), 1)
        found, missing = [], []
        for splits, group in sorted(groups.items(), key=lambda one: len(one[0])):
            where = ", ".join(
                [f"{task} {protected}", model, *(group if splits and len(groups) > 1 else [])]
            )
            try:
                one = cases.comparison(task, protected, model, bias, performance, group, level=each)
            except NothingToCompare as error:
                missing.append(f"{where}: {error.reason}")
                continue
            except (DataError, UsageError) as error:
                missing.append(f"{where}: {error}")
                continue
            found.append(one)
            compared.append((place, one))
            notes += [f"{where}: {note}" for note in one.notes]
        # Where nothing was compared, those that failed least tell why: there is no line for anyone.
        left_out += missing if found else missing[:1]
        rows += _rows(found, model=model, task=task, protected=protected)
    columns = [
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
    frame = pd.DataFrame(rows) if rows else pd.DataFrame(columns=columns)
    return Table(frame, tuple(left_out), tuple(notes), comparisons=tuple(compared))


def regions_by_method(cases: Cases, bias: Any = "spd", performance: Any = "accuracy") -> Table:
    """Return Table 4: the share of cases in each region, for each method and for all cases together
    ("Mean").

    A case is a single run: a split of a data set, for one protected column, with one model. It is
    held against the line of its own original in that split.

    >>> import pandas as pd
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from evenhand.study.study import Entry, Model, Study, Task, run
    >>> frame = pd.DataFrame({"sex": [0, 1] * 200, "age": range(400)})
    >>> task = Task("ages", frame, frame["age"] > 150 + 100 * frame["sex"], True, {"sex": 0})
    >>> cases = run(Study([task], [Model("DT", DecisionTreeClassifier(max_depth=1))], [Entry("reweighing")], splits=3))
    >>> regions_by_method(cases).frame["cases"].to_dict()
    {'reweighing': 3, 'Mean': 3}
    """
    found = _joined([standings(cases, bias, performance, own=own) for own in (False, True)])
    names = found.frame["method"]
    rows = [*((name, names == name) for name in cases.methods), ("Mean", names.notna())]
    return replace(found, frame=_pooled(found.frame, rows, "method"))


def regions_by_model_and_task(
    cases: Cases, bias: Sequence[Any] = ("spd", "aod"), performance: Any = "accuracy"
) -> Table:
    """Return Table 5: the share of cases in each region, for each model and for each data set and
    protected column.

    Cases by all the biases are taken together. Methods that have a model of their own count for the
    data sets alone.

    >>> import pandas as pd
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from evenhand.study.study import Entry, Model, Study, Task, run
    >>> frame = pd.DataFrame({"sex": [0, 1] * 200, "age": range(400)})
    >>> task = Task("ages", frame, frame["age"] > 150 + 100 * frame["sex"], True, {"sex": 0})
    >>> cases = run(Study([task], [Model("DT", DecisionTreeClassifier(max_depth=1))], [Entry("reweighing")], splits=3))
    >>> regions_by_model_and_task(cases).frame["cases"].to_dict()
    {'DT': 6, 'ages sex': 6}
    """
    biases = bias if isinstance(bias, list | tuple) else [bias]
    found = _joined(
        [standings(cases, one, performance, own=own) for one in biases for own in (False, True)]
    )
    model, task, protected = (found.frame[name] for name in ("model", "task", "protected"))
    rows = [(name, model == name) for name in cases.models]
    rows += [(" ".join(pair), (task == pair[0]) & (protected == pair[1])) for pair in cases.pairs]
    return replace(found, frame=_pooled(found.frame, rows, "model or task"))


def areas(
    cases: Cases, bias: Any = "spd", performance: Any = "accuracy", *, level: float = 0.95
) -> Table:
    """Return Table 6: the area of each good trade-off, or else the region, by method and by model,
    data set and column.

    The mean of the runs counts. A "?" is added where the intervals, which hold for all methods of a
    column together, allow more than one region. Combinations without a line have no column.

    >>> import pandas as pd
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from evenhand.study.study import Entry, Model, Study, Task, run
    >>> frame = pd.DataFrame({"sex": [0, 1] * 200, "age": range(400)})
    >>> task = Task("ages", frame, frame["age"] > 150 + 100 * frame["sex"], True, {"sex": 0})
    >>> cases = run(Study([task], [Model("DT", DecisionTreeClassifier(max_depth=1))], [Entry("reweighing")], splits=3))
    >>> areas(cases).frame.columns.tolist()
    [('DT', 'ages', 'sex')]
    """
    found = standings(cases, bias, performance, level=level)
    methods = _names(cases, own=False)
    best: dict[Place, tuple[str, ...]] = {}
    rows = found.frame.to_dict("records")
    for row in sorted(rows, key=lambda row: -row["gain"]):
        if row["contender"] and len(methods) > 1:
            place = (row["model"], row["task"], row["protected"])
            best[place] = (*best.get(place, ()), row["method"])
    table = _cells(found.frame, methods, _places(cases, own=False), ["model", "task", "protected"])
    return replace(found, frame=table.loc[:, (table != MISSING).any()], best=best)


def areas_own_model(
    cases: Cases, bias: Any = "spd", performance: Any = "accuracy", *, level: float = 0.95
) -> Table:
    """Return Table 7: as Table 6, for methods that have a model of their own; "NA" where there is
    no line.

    Each stands against its own original, so there is no best one among them.

    >>> import pandas as pd
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from evenhand.study.study import Entry, Model, Study, Task, run
    >>> frame = pd.DataFrame({"sex": [0, 1] * 200, "age": range(400)})
    >>> task = Task("ages", frame, frame["age"] > 150 + 100 * frame["sex"], True, {"sex": 0})
    >>> cases = run(Study([task], [Model("DT", DecisionTreeClassifier(max_depth=1))], [Entry("reweighing")], splits=3))
    >>> areas_own_model(cases).frame.empty
    True
    """
    found = standings(cases, bias, performance, own=True, level=level)
    table = _cells(found.frame, _names(cases, own=True), cases.pairs, ["task", "protected"])
    return replace(found, frame=table)


def beside(ours: Any, published: Any) -> Any:
    """Return a table as texts, and in square brackets what the paper printed, where it has such a
    cell.

    Methods are matched by their names here or in the paper. Where a study has other data sets,
    models or methods than the paper, shares are over other cases.

    >>> import pandas as pd
    >>> ours = pd.DataFrame({"win-win": [0.2, 0.1], "cases": [50, 50]}, index=["RW", "mine"])
    >>> beside(ours, pd.DataFrame({"win-win": [0.23]}, index=["reweighing"]))
              win-win cases
    RW    20 % [23 %]    50
    mine         10 %    50
    """
    left = ours.marked if isinstance(ours, Table) else ours.map(_said)
    keys = [METHODS.get(name, name) for name in left.index]
    right = published.map(lambda value: f" [{_said(value)}]").reindex(
        index=keys, columns=left.columns, fill_value=""
    )
    return left + right.set_axis(left.index)


def _check(cases: Cases, bias: Any, performance: Any) -> None:
    """Refuse scores that are none, which would otherwise read as if every combination had to be
    left out.
    """
    ground = next(iter(cases.tasks.values()))
    frame = ground.frame(list(ground.protected)[:1])
    positive = favourable(frame.labels, ground.positive, bias, performance)
    as_bias(bias, frame, positive)
    as_performance(performance, frame, positive)


def _places(cases: Cases, *, own: bool) -> list[Place]:
    """Return every combination, as the paper orders its columns; a method with its own model stands
    for it.
    """
    names = _names(cases, own=own)
    return [
        (model, *pair)
        for model in (names if own else cases.models if names else ())
        for pair in cases.pairs
    ]


def _names(cases: Cases, *, own: bool) -> list[str]:
    return [name for name, about in cases.methods.items() if about.own == own]


def _alike(
    failed: Mapping[tuple[str, ...], frozenset[int]], place: Place, methods: Sequence[str]
) -> dict[frozenset[int], list[str]]:
    """Return methods by the splits in which they failed, since a comparison is over the splits that
    all of it have.
    """
    found: dict[frozenset[int], list[str]] = {}
    for name in methods:
        found.setdefault(failed.get((*place, name), frozenset()), []).append(name)
    return found


def _failed(cases: Cases) -> dict[tuple[str, ...], frozenset[int]]:
    """Return the splits in which each method failed, by place and name."""
    found: dict[tuple[str, ...], frozenset[int]] = {}
    for case in cases.failed:
        key = (case.model, case.task, str(case.protected), case.method)
        found[key] = found.get(key, frozenset()) | {case.split}
    return found


def _rows(found: list[Comparison], **about: Any) -> list[dict[str, Any]]:
    """Return a row for each method; those that were compared apart are ranked together, as their
    intervals allow.
    """
    if not found:
        return []
    contenders = replace(
        found[0], standings=[one for part in found for one in part.standings]
    ).contenders
    return [
        {**about, "method": name, "runs": one.runs, "contender": name in contenders, **row}
        for one in found
        for name, row in one.to_frame().set_index("name").to_dict("index").items()
    ]


def _joined(tables: Sequence[Table]) -> Table:
    """Return the rows of several tables as one, and what is to be known of any of them once."""
    import pandas as pd

    some = [table.frame for table in tables if len(table.frame)] or [tables[0].frame]
    left_out, notes = (
        tuple(dict.fromkeys(line for table in tables for line in getattr(table, part)))
        for part in ("left_out", "notes")
    )
    return Table(pd.concat(some, ignore_index=True), left_out, notes)


def _pooled(frame: Any, rows: list[tuple[str, Any]], what: str) -> Any:
    """Return the shares of the cases that each row is about, and how many these are; NaN where
    there are none.
    """
    import pandas as pd

    runs = [frame.loc[chosen, "runs"].to_numpy(dtype=float) for _, chosen in rows]
    sums = [
        n @ frame.loc[chosen, _SHARES].to_numpy(dtype=float)
        for n, (_, chosen) in zip(runs, rows, strict=True)
    ]
    index = pd.Index([name for name, _ in rows], name=what)
    counts = pd.Series([n.sum() for n in runs], index=index).astype(int)
    shares = pd.DataFrame(sums, index=index, columns=list(REGIONS)).div(
        counts.where(counts > 0), axis=0
    )
    return shares.assign(cases=counts)


def _cells(
    frame: Any, methods: Sequence[str], places: Sequence[tuple[str, ...]], names: list[str]
) -> Any:
    """Return the cells of a table of areas, by method and by places with these names."""
    import pandas as pd

    columns = pd.MultiIndex.from_tuples(places, names=names)
    table = pd.DataFrame(
        MISSING, index=pd.Index(methods, name="method"), columns=columns, dtype=object
    )
    for row in frame.to_dict("records"):
        table.loc[row["method"], tuple(row[name] for name in names)] = _cell(row)
    return table


def _cell(row: Mapping[str, Any]) -> str:
    said = f"{row['area']:.3f}" if row["region"] == REGIONS[GOOD] else SHORT[row["region"]]
    return f"{said}?" if ", " in row["plausible"] else said


def _said(value: Any) -> str:
    """Return a cell as text: shares, which alone are real numbers, in per cent; all else as it is."""
    if not isinstance(value, float):
        return str(value)
    return MISSING if value != value else number_text.percent(value, 0)
