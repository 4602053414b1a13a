"""Which cells a heat map shows: the rates of a mining, and where its worst rule set lies."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.mine import messages
from evenhand.methods.mine.claims.scores import among
from evenhand.methods.mine.claims.words import sentences_for
from evenhand.methods.mine.plot.heat_map import Heat, mean_text
from evenhand.methods.mine.table import in_percent
from evenhand.report.page.plain import say_list
from evenhand.runtime import number_text
from evenhand.runtime.language import say, term
from evenhand.space.rule import Condition, Rule

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    Flags = NDArray[np.bool_]
    Floats = NDArray[np.float64]
    Entry = Mapping[str, Any]
    Grid = tuple[tuple[Any, ...], ...]
    Names = tuple[Any, ...]
    Extreme = tuple[float, str]

_ROUNDING = 1e-9
"""The part by which the start of a bin may miss the end of a condition, for rounding."""


@dataclass(frozen=True, slots=True)
class HeatCells:
    """The rates of the cells of one or two features: an array by the first and the second.

    A rate is NaN where a cell is empty. `labels` name the cells of each axis, and `values` tell
    them apart: the level of each, or the number that its bin starts with. `rows` are the inputs in
    each cell; of terms, the same texts are in all.
    """

    axes: tuple[str, ...]
    labels: Grid
    values: Grid
    rates: Floats
    rows: Floats

    @classmethod
    def of(cls, table: Entry) -> HeatCells:
        """Read the cells from a map or a matrix as details hold them."""
        names = table["labels"]
        labels = _texts(names)
        # A term is its own name.
        given_values = table.get("values", names)
        values = tuple(map(tuple, given_values))
        shape = tuple(map(len, labels))
        rates = np.array(table["rates"], dtype=np.float64)
        counts = table.get("rows", table.get("texts"))
        rows = np.array(counts, dtype=np.float64)
        return cls(
            axes=tuple(table["axes"]),
            labels=labels,
            values=values,
            rates=rates.reshape(shape),
            rows=np.broadcast_to(rows, shape),
        )

    @property
    def mean(self) -> float:
        """The rate of everybody: the mean of the cells, by the inputs in each."""
        rows = self._known_rows
        hits = np.nan_to_num(self.rates) * rows
        return float(hits.sum()) / max(float(rows.sum()), 1.0)

    @property
    def spread(self) -> float:
        """How much rates vary from cell to cell: their variance, by the inputs in each."""
        rows = self._known_rows
        squares = (np.nan_to_num(self.rates) - self.mean) ** 2 * rows
        return float(squares.sum()) / max(float(rows.sum()), 1.0)

    @property
    def _known_rows(self) -> Floats:
        """The inputs in each cell; none where their rate is not known."""
        return np.where(np.isnan(self.rates), 0.0, self.rows)

    def turned(self, axes: Sequence[str]) -> HeatCells:
        """Return the cells with these axes, which are theirs in some order."""
        order = [self.axes.index(name) for name in axes]
        labels = _reordered(self.labels, order)
        values = _reordered(self.values, order)
        rates = self.rates.transpose(order)
        rows = self.rows.transpose(order)
        return HeatCells(tuple(axes), labels, values, rates, rows)

    def sorted(self) -> HeatCells:
        """Return the cells with the labels of each axis by their mean rates, lowest first."""
        rates = self.rates
        rows = self.rows
        labels = []
        values = []
        axes = range(self.rates.ndim)
        for axis in axes:
            other_axes = tuple(other for other in axes if other != axis)
            means = self.rates.mean(axis=other_axes)
            order = np.argsort(means, kind="stable")
            rates = rates.take(order, axis)
            rows = rows.take(order, axis)
            numbers = order.tolist()
            labels.append(_reordered(self.labels[axis], numbers))
            values.append(_reordered(self.values[axis], numbers))
        return HeatCells(
            self.axes,
            labels=tuple(labels),
            values=tuple(values),
            rates=rates,
            rows=rows,
        )

    def covered(self, rule: Rule) -> Flags:
        """Return which cells meet the conditions of a rule on these features.

        >>> labels = ("young", "40 to 59", "old")
        >>> ages = HeatCells(("age",), (labels,), ((18, 40, 60),), np.ones(3), np.ones(3))
        >>> ages.covered(Rule((Condition("age", low=40, high=59, below=60),))).tolist()
        [False, True, False]
        """
        covered = np.ones(self.rates.shape, dtype=np.bool_)
        last_axis = self.rates.ndim - 1
        for condition in rule.conditions:
            if condition.feature not in self.axes:
                continue
            axis = self.axes.index(condition.feature)
            cells = _met(condition, self.values[axis])
            if axis != last_axis:
                cells = cells[:, None]
            covered &= cells
        return covered

    def extremes(self, least: float) -> list[Extreme]:
        """Return the lowest and the highest rate and their cells.

        Cells with fewer than `least` inputs count only where fewer than two others are left.
        """
        known = ~np.isnan(self.rates)
        enough = known & (self.rows >= least)
        if enough.sum() > 1:
            known = enough
        if not known.any():
            return []
        rates = np.where(known, self.rates, np.nan)
        lowest = int(np.nanargmin(rates))
        highest = int(np.nanargmax(rates))
        numbers = (lowest, highest)
        return [self._extreme(number, rates) for number in numbers]

    def _extreme(self, number: int, rates: Floats) -> Extreme:
        """Return the rate of a cell and its name."""
        place = np.unravel_index(number, rates.shape)
        names = []
        for labels, at in zip(self.labels, place, strict=True):
            label = labels[int(at)]
            names.append(label)
        rate = float(rates[place])
        return rate, ", ".join(names)


def _texts(names: Sequence[Sequence[Any]]) -> Grid:
    """Return the names of the cells of each axis as texts."""
    return tuple(tuple(map(str, names_of_axis)) for names_of_axis in names)


def _reordered(names: Names, order: Sequence[int]) -> Names:
    return tuple(names[number] for number in order)


def cells_of(entry: Entry) -> list[HeatCells]:
    """Return the cells that a mining holds rates of: of features, categories, or pairs of them."""
    if "over" in entry:
        return [HeatCells.of(table) for table in entry["maps"]]
    if "changes" not in entry:
        matrices = map(HeatCells.of, entry["matrix"])
        return [matrix.sorted() for matrix in matrices]
    terms = {}
    for category in entry["categories"]:
        terms[category["name"]] = category["terms"]
    cells = []
    for change in entry["changes"]:
        categories = change["categories"]
        if len(categories) > 2:
            continue
        table = {
            "axes": categories,
            "labels": [terms[name] for name in categories],
            "rates": [term["changed"] for term in change["terms"]],
            "texts": change["texts"],
        }
        changes = HeatCells.of(table)
        cells.append(changes.sorted())
    return cells


def heat_of(entry: Entry, worst: Entry, axes: Sequence[str] | None) -> Heat | None:
    """Return the heat map over some features, by default those of the worst rule set.

    None where the mining has no such map.
    """
    rule = Rule.from_dict(worst.get("rule", {"conditions": []}))
    cells = cells_of(entry)
    chosen = None
    if axes is not None:
        chosen = _cells_over(cells, axes)
    elif cells:
        chosen = _best_cells(cells, rule, worst)
    if chosen is None:
        return None
    return _heat(entry, worst, rule, chosen)


def _cells_over(cells: Sequence[HeatCells], axes: Sequence[str]) -> HeatCells | None:
    """Return the cells over some features, turned to their order."""
    for candidate in cells:
        if sorted(candidate.axes) == sorted(axes):
            return candidate.turned(axes)
    return None


def _best_cells(cells: Sequence[HeatCells], rule: Rule, worst: Entry) -> HeatCells:
    """Return the cells that show the worst rule set best: over its features, or most of them."""
    features = {condition.feature for condition in rule.conditions}
    features.update(worst.get("categories", ()))

    def fit(candidate: HeatCells) -> tuple[bool, int, float]:
        axes = set(candidate.axes)
        shared = len(features & axes)
        return axes == features, shared, candidate.spread

    best = max(cells, key=fit)
    shape = best.rates.shape
    sizes = dict(zip(best.axes, shape, strict=True))
    # What has more cells goes across.
    axes = sorted(sizes, key=sizes.__getitem__, reverse=True)
    return best.turned(axes)


def _heat(entry: Entry, worst: Entry, rule: Rule, cells: HeatCells) -> Heat:
    """Return the heat map of some cells, with its title and notes."""
    is_table = "over" in entry
    least = entry["support"] * entry["rows"] if is_table else 0.0
    centre = _centre(entry, worst, cells)
    inside = cells.covered(rule)
    outlined = not inside.all() and inside.any()
    features = {condition.feature for condition in rule.conditions}
    whole = features <= set(cells.axes)
    notes = [_cell_note(entry, cells, centre)]
    some_rows = cells.rows > 0
    too_few = some_rows & (cells.rows < least)
    if too_few.any():
        notes.append(_hatched_note(entry, least))
    if outlined and whole:
        notes.append(say(messages.OUTLINED, rule=rule.spoken_text))
    elif outlined:
        notes.append(say(messages.OUTLINED_IN_PART, rule=rule.spoken_text))
    notes.append(say(messages.POPULATION, population=term(entry["population"])))
    return Heat(
        title=_title(entry, cells, least),
        axes=cells.axes,
        labels=cells.labels,
        rates=_known_rates(cells.rates),
        rows=_grid(cells.rows.astype(int)) if is_table else (),
        least=least,
        centre=centre,
        inside=_grid(inside) if outlined else (),
        whole=whole,
        notes=tuple(notes),
        percent=in_percent(entry),
    )


def _centre(entry: Entry, worst: Entry, cells: HeatCells) -> float | None:
    """Return the rate that is drawn white: that of everybody, or the mean of all terms.

    Shares of texts that change have none: they rise from nought.
    """
    if "changes" in entry:
        return None
    if "over" in entry and "rate" in worst:
        return _mean(worst)
    if "over" in entry:
        return cells.mean
    return float(np.nanmean(cells.rates))


def _grid(array: NDArray[Any]) -> Grid:
    """Return an array by its first axis from left to right and its second from top to bottom."""
    lines = np.atleast_2d(array.T).tolist()
    return tuple(map(tuple, lines))


def _known_rates(rates: Floats) -> Grid:
    """Return rates as a grid, None where a cell is empty."""
    known = rates.astype(object)
    known[np.isnan(rates)] = None
    return _grid(known)


def _mean(story: Entry) -> float:
    """Return the rate of everybody."""
    share = float(story["support"])
    rate = float(story["rate"]["value"])
    other_rate = float(story["other"]["value"])
    return share * rate + (1 - share) * other_rate


def _cell_note(entry: Entry, cells: HeatCells, centre: float | None) -> str:
    """Return what the colour and the numbers of a cell stand for."""
    first_rows = int(cells.rows.flat[0])
    texts = number_text.count(first_rows)
    if "changes" in entry:
        return say(messages.CELLS_OF_CHANGES, texts=texts)
    white = rate_text(centre or 0.0, percent=in_percent(entry))
    if "over" in entry and not entry["counts"]:
        return say(messages.CELLS_OF_MEANS, rate=white)
    if "over" in entry:
        return say(messages.CELLS_OF_ROWS, rate=white)
    return say(messages.CELLS_OF_TERMS, texts=texts, rate=white)


def _hatched_note(entry: Entry, least: float) -> str:
    rows = number_text.count(math.ceil(least))
    share = number_text.percent_plain(entry["support"])
    return say(messages.HATCHED, rows=rows, share=share)


def _title(entry: Entry, cells: HeatCells, least: float) -> str:
    """Return what is shown, and its lowest and highest rate."""
    percent = in_percent(entry)
    extremes = []
    for rate, cell in cells.extremes(least):
        text = rate_text(rate, percent=percent)
        extremes.append(say(messages.MAP_END, rate=text, cell=cell))
    ends = ""
    if extremes:
        lowest, highest = extremes
        ends = say(messages.MAP_ENDS, lowest=lowest, highest=highest)
    names = say_list(cells.axes)
    favoured = term(entry["favoured"])
    outcome = _spoken_outcome(entry)
    if "over" in entry:
        title = say(
            sentences_for(entry).map,
            outcome=outcome if percent else favoured,
            features=names,
            ends=ends,
        )
    elif "changes" in entry:
        title = say(messages.MAP_OF_CHANGES, categories=names, ends=ends)
    elif percent:
        title = say(
            messages.MAP_OF_TERM_RATES,
            outcome=outcome,
            categories=names,
            ends=ends,
        )
    else:
        title = say(
            messages.MAP_OF_TERM_MEANS,
            outcome=favoured,
            categories=names,
            ends=ends,
        )
    return of_output(entry, among(entry.get("score", "rate"), title, outcome))


def _spoken_outcome(entry: Entry) -> str:
    """Return the favourable outcome as sentences of a page name it."""
    if entry["named"]:
        return say(messages.NAMED_OUTCOME, label=entry["favoured"])
    return term(entry["favoured"])


def _met(condition: Condition, values: Sequence[Any]) -> Flags:
    """Return which cells of a feature meet a condition."""
    missing = np.array([value is None for value in values])
    if condition.levels or condition.only_missing:
        taken = np.array([value in condition.levels for value in values])
        return np.asarray(taken | missing if condition.missing else taken & ~missing)
    # A condition takes whole bins, so that where a bin starts tells whether it is taken.
    starts = np.array(values, dtype=np.float64)
    met = ~missing
    if condition.low is not None:
        sizes = np.maximum(np.abs(starts), 1.0)
        slack = _ROUNDING * sizes
        met &= starts >= condition.low - slack
    if condition.high is not None:
        met &= starts <= condition.high
    return met


def of_output(entry: Entry, sentence: str) -> str:
    """Return a sentence with the name of the output that it is about; a single output has none."""
    if entry["output"]:
        return say(messages.OF_OUTPUT, output=entry["output"], sentence=sentence)
    return sentence


def rate_text(rate: float, *, percent: bool) -> str:
    """Return a rate, or a mean score, in words.

    >>> rate_text(0.273, percent=True)
    '27.3 %'
    """
    if percent:
        return number_text.percent(rate)
    return mean_text(rate)
