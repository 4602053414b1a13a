"""Which cells a heat map shows: rates over features or terms that a mining holds, and where its
worst rule set lies.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.mine.findings import AMONG, outcome_said
from evenhand.methods.mine.plot.heat_map import Heat
from evenhand.methods.mine.table import scores
from evenhand.runtime import number_text
from evenhand.space.rule import Condition, Rule

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    Flags = NDArray[np.bool_]

_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Cells:
    """The rates of the cells of one or two features: an array by the first and the second, NaN
    where a cell is empty.

    `labels` name the cells of each axis, and `values` tell them apart: the level of each, or the
    number that its bin starts with. `rows` are the inputs in each cell; of terms, the same texts
    are in all.
    """

    axes: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]
    values: tuple[tuple[Any, ...], ...]
    rates: NDArray[np.float64]
    rows: NDArray[np.float64]

    @classmethod
    def of(cls, table: Mapping[str, Any]) -> Cells:
        """Read the cells from a map or a matrix as details hold them."""
        labels = tuple(tuple(map(str, names)) for names in table["labels"])
        values = tuple(map(tuple, table.get("values", table["labels"])))  # a term is its own name
        shape = [len(names) for names in labels]
        rates = np.array(table["rates"], dtype=np.float64).reshape(shape)
        rows = np.array(table.get("rows", table.get("texts")), dtype=np.float64)
        return cls(tuple(table["axes"]), labels, values, rates, np.broadcast_to(rows, shape))

    @property
    def spread(self) -> float:
        """How much rates vary from cell to cell: their variance, by the inputs in each."""
        rows = np.where(np.isnan(self.rates), 0.0, self.rows)
        rates, total = np.nan_to_num(self.rates), max(float(rows.sum()), 1.0)
        mean = float((rates * rows).sum()) / total
        return float(((rates - mean) ** 2 * rows).sum()) / total

    def turned(self, axes: Sequence[str]) -> Cells:
        """Return the cells with these axes, which are theirs in some order."""
        order = [self.axes.index(name) for name in axes]
        labels, values = (tuple(part[at] for at in order) for part in (self.labels, self.values))
        return Cells(
            tuple(axes), labels, values, self.rates.transpose(order), self.rows.transpose(order)
        )

    def sorted(self) -> Cells:
        """Return the cells with the labels of each axis by their mean rates, lowest first."""
        rates, rows, labels, values = self.rates, self.rows, [], []
        for axis, (names, known) in enumerate(zip(self.labels, self.values, strict=True)):
            means = self.rates.mean(
                axis=tuple(other for other in range(self.rates.ndim) if other != axis)
            )
            order = np.argsort(means, kind="stable")
            rates, rows = rates.take(order, axis), rows.take(order, axis)
            labels.append(tuple(names[at] for at in order.tolist()))
            values.append(tuple(known[at] for at in order.tolist()))
        return Cells(self.axes, tuple(labels), tuple(values), rates, rows)

    def covered(self, rule: Rule) -> Flags:
        """Tell which cells meet the conditions of a rule on these features.

        >>> ages = Cells(("age",), (("young", "40 to 59", "old"),), ((18, 40, 60),), np.ones(3), np.ones(3))
        >>> ages.covered(Rule((Condition("age", low=40, high=59, below=60),))).tolist()
        [False, True, False]
        """
        met = np.ones(self.rates.shape, dtype=np.bool_)
        for condition in rule.conditions:
            if condition.feature in self.axes:
                axis = self.axes.index(condition.feature)
                cells = _met(condition, self.values[axis])
                met &= cells if axis == self.rates.ndim - 1 else cells[:, None]
        return met

    def extremes(self, least: float) -> list[tuple[float, str]]:
        """Return the lowest and the highest rate and their cells, of those with enough inputs where
        there are two.
        """
        known = ~np.isnan(self.rates) & (self.rows >= least)
        known = known if known.sum() > 1 else ~np.isnan(self.rates)
        if not known.any():
            return []
        rates = np.where(known, self.rates, np.nan)
        found = []
        for at in (np.nanargmin(rates), np.nanargmax(rates)):
            place = np.unravel_index(at, rates.shape)
            names = [labels[int(cell)] for labels, cell in zip(self.labels, place, strict=True)]
            found.append((float(rates[place]), ", ".join(names)))
        return found


def cells_of(entry: Mapping[str, Any]) -> list[Cells]:
    """Return the cells that a mining holds rates of: of single features, categories or pairs of
    them.
    """
    if "over" in entry:
        return [Cells.of(table) for table in entry["maps"]]
    if "changes" not in entry:
        return [Cells.of(table).sorted() for table in entry["matrix"]]
    terms = {category["name"]: category["terms"] for category in entry["categories"]}
    return [
        Cells.of(
            {
                "axes": change["categories"],
                "labels": [terms[name] for name in change["categories"]],
                "rates": [term["changed"] for term in change["terms"]],
                "texts": change["texts"],
            }
        ).sorted()
        for change in entry["changes"]
        if len(change["categories"]) <= 2
    ]


def heat_of(
    entry: Mapping[str, Any], worst: Mapping[str, Any], axes: Sequence[str] | None
) -> Heat | None:
    """Return the heat map over some features, or by default over those of the worst rule set; None
    where none is.
    """
    cells, rule = cells_of(entry), Rule.from_dict(worst.get("rule", {"conditions": []}))
    about = {condition.feature for condition in rule.conditions} | set(worst.get("categories", ()))

    def fit(one: Cells) -> tuple[bool, int, float]:
        return set(one.axes) == about, len(about & set(one.axes)), one.spread

    if axes is None:
        if not cells:
            return None
        chosen = max(cells, key=fit)
        sizes = dict(zip(chosen.axes, chosen.rates.shape, strict=True))
        axes = sorted(sizes, key=lambda name: -sizes[name])  # what has more cells goes across
    else:
        found = [one for one in cells if sorted(one.axes) == sorted(axes)]
        if not found:
            return None
        chosen = found[0]
    return _drawn(entry, worst, rule, chosen.turned(axes))


def _drawn(entry: Mapping[str, Any], worst: Mapping[str, Any], rule: Rule, cells: Cells) -> Heat:
    table, causal = "over" in entry, "changes" in entry
    least = entry["support"] * entry["rows"] if table else 0.0
    centre = (
        None
        if causal
        else _mean(worst)
        if table and "rate" in worst
        else float(np.nanmean(cells.rates))
    )
    inside = cells.covered(rule)
    outlined = not inside.all() and inside.any()
    whole = {condition.feature for condition in rule.conditions} <= set(cells.axes)
    percent = not scores(entry)
    hatched = bool(((cells.rows < least) & (cells.rows > 0)).any())
    notes = [
        _cell_note(entry, cells, centre, percent=percent),
        _hatched_note(entry, least) if hatched else "",
        (
            (f"outlined: {rule.text}" if whole else f"dashed, in part: {rule.text}")
            if outlined
            else ""
        ),
        f"population: {entry['population']}",
    ]
    return Heat(
        _title(entry, cells, least, percent=percent),
        cells.axes,
        cells.labels,
        tuple(
            tuple(None if math.isnan(rate) else rate for rate in line)
            for line in _grid(cells.rates)
        ),
        tuple(tuple(map(int, line)) for line in _grid(cells.rows)) if table else (),
        least,
        centre,
        tuple(tuple(line) for line in _grid(inside)) if outlined else (),
        whole,
        tuple(note for note in notes if note),
        percent,
    )


def _grid(array: NDArray[Any]) -> list[list[Any]]:
    """Return an array by its first axis from left to right and its second from top to bottom."""
    return list(np.atleast_2d(array.T).tolist())


def _mean(story: Mapping[str, Any]) -> float:
    """Return the rate of everybody."""
    share = float(story["support"])
    return share * float(story["rate"]["value"]) + (1 - share) * float(story["other"]["value"])


def _cell_note(
    entry: Mapping[str, Any], cells: Cells, centre: float | None, *, percent: bool
) -> str:
    if "changes" in entry:
        return (
            f"each cell: the share of the same {int(cells.rows.flat[0]):,} texts that change"
            " outcome with the term"
        )
    white = rate_text(centre or 0.0, percent=percent)
    if "over" in entry:
        return (
            "each cell: the rate, without an interval, and the rows; white: the rate of everybody,"
            f" {white}"
        )
    return (
        f"each cell: the same {int(cells.rows.flat[0]):,} texts with these terms; white: the mean"
        f" of all terms, {white}"
    )


def _hatched_note(entry: Mapping[str, Any], least: float) -> str:
    rows, share = number_text.count(math.ceil(least)), number_text.percent_plain(entry["support"])
    return f"hatched: under {rows} rows ({share}), too few for a rule set of their own"


def _title(entry: Mapping[str, Any], cells: Cells, least: float, *, percent: bool) -> str:
    """Say what is shown, and from what to what it goes."""
    names = " and ".join(cells.axes)
    by = f"by {names}" if "over" in entry else f"by the term for {names}"
    if "changes" in entry:
        what = "texts whose outcome changes"
    elif percent:
        who = "people" if "over" in entry else "texts"
        what = f"how often {who} get {outcome_said(entry['favoured'], named=entry['named'])}"
    else:
        what = f"mean of {entry['favoured']}"
    ends = [f"{rate_text(rate, percent=percent)} ({cell})" for rate, cell in cells.extremes(least)]
    return (
        f"{output_of(entry)}{AMONG[entry.get('score', 'rate')]}{what}, {by}: from"
        f" {' to '.join(ends)}"
    )


def _met(condition: Condition, values: Sequence[Any]) -> Flags:
    if condition.levels:
        return np.array([value in condition.levels for value in values])
    # A condition takes whole bins, so that where a bin starts tells whether it is taken.
    starts = np.array(values, dtype=np.float64)
    low = -math.inf if condition.low is None else condition.low
    high = math.inf if condition.high is None else condition.high
    slack = _ROUNDING * np.maximum(np.abs(starts), 1.0)
    return np.asarray((starts >= low - slack) & (starts <= high))


def output_of(entry: Mapping[str, Any]) -> str:
    """Return the name of the output before what is said of it; a single output has none."""
    return f"{entry['output']}: " if entry["output"] else ""


def rate_text(rate: float, *, percent: bool) -> str:
    """Return a rate, or a mean score, in words.

    >>> rate_text(0.273, percent=True)
    '27.3 %'
    """
    return number_text.percent(rate) if percent else number_text.decimal(rate)
