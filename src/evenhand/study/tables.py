"""The Fairea paper's Tables 4 to 7 from the cases of a study, and beside them the printed ones.

A combination of data set, protected column and model whose original is on average no more right
than blind overwriting, or shows no bias, has no line to stand against: it is left out, and listed.
Splits in which a method failed are left out for that method alone; one that failed in most of them
is left out of the combination, and listed as well.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from evenhand.methods.compare.regions import GOOD, REGIONS, SHORT
from evenhand.study.published_numbers import METHODS
from evenhand.study.standings import (
    MISSING,
    SHARES,
    StudyTable,
    cell_text,
    method_names,
    places_of,
    standings,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenhand.study.fits import Cases
    from evenhand.study.standings import Place


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
    cases: Cases,
    bias: Sequence[Any] = ("spd", "aod"),
    performance: Any = "accuracy",
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
    cases: Cases,
    bias: Any = "spd",
    performance: Any = "accuracy",
    *,
    level: float = 0.95,
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
    methods = method_names(cases, own=False)
    best: dict[Place, tuple[str, ...]] = {}
    # A single method is not the best of anything.
    if len(methods) > 1:
        best = _best_methods(found.frame.to_dict("records"))
    places = places_of(cases, own=False)
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
    cases: Cases,
    bias: Any = "spd",
    performance: Any = "accuracy",
    *,
    level: float = 0.95,
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
    methods = method_names(cases, own=True)
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
    left = ours.marked if isinstance(ours, StudyTable) else ours.map(cell_text)
    names = [METHODS.get(name, name) for name in left.index]
    bracketed = published.map(_in_brackets)
    right = bracketed.reindex(index=names, columns=left.columns, fill_value="")
    return left + right.set_axis(left.index)


def _in_brackets(value: Any) -> str:
    return f" [{cell_text(value)}]"


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
        shares_of_standings = frame.loc[chosen, SHARES].to_numpy(dtype=float)
        names.append(name)
        sums.append(runs @ shares_of_standings)
        numbers.append(runs.sum())
    index = pd.Index(names, name=what)
    counts = pd.Series(numbers, index=index).astype(int)
    cases_by_region = pd.DataFrame(sums, index=index, columns=list(REGIONS))
    shares = cases_by_region.div(counts.where(counts > 0), axis=0)
    return shares.assign(cases=counts)


def _cells(
    frame: Any,
    methods: Sequence[str],
    places: Sequence[tuple[str, ...]],
    names: list[str],
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
