"""Values with their intervals, one under another on a scale that they share."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from evenhand.report.charts import messages
from evenhand.report.charts.keys import (
    LOOKS,
    Key,
    NumbersTable,
    look_of,
    series_numbers,
)
from evenhand.report.charts.scale import AxisScale, spread_text
from evenhand.runtime import number_text
from evenhand.runtime.language import say, term

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenhand.report.charts.scale import Tick, Unit
    from evenhand.statistics.estimate import Verdict

    Span = tuple[float, float, float]

_THINNEST = 1 / 250
"""The part of a scale that the narrowest interval takes, so that it is seen."""


@dataclass(frozen=True, slots=True)
class IntervalRow:
    """One row: a label, a value with its interval, the limit that it is held against, and texts.

    Parameters
    ----------
    value
        None where there is none: then `instead` stands in its place, or the interval alone.
    verdict
        A `Verdict`, or the look of the mark: "fail", "pass", "undecided", "none" or "open".
    numbers
        The value with its interval as text; by default the numbers are written as the unit asks.
    beside
        Texts under the headings of the chart, instead of `numbers`.
    before
        Value, low and high of what there was before, drawn hollow over the value.
    series
        The series that the row belongs to; a reader switches series on and off.
    group
        The heading under which it stands; rows of a group follow each other.
    fact
        What the first text beside the row is a fact of (`report.page.facts`).
    """

    label: str
    value: float | None = None
    low: float = math.nan
    high: float = math.nan
    limit: float | None = None
    verdict: Verdict | str | None = None
    numbers: str = ""
    beside: tuple[str, ...] = ()
    before: Span | None = None
    series: str = ""
    group: str = ""
    instead: str = ""
    fact: str = ""

    @property
    def known(self) -> bool:
        """Whether there is a value to draw."""
        return self.value is not None and math.isfinite(self.value)

    @property
    def ends(self) -> tuple[float, float]:
        """The interval; a value without one stands alone."""
        if math.isfinite(self.low) and math.isfinite(self.high):
            return self.low, self.high
        value = self.value if self.value is not None else math.nan
        return value, value


@dataclass(frozen=True, slots=True)
class PlacedRow:
    """A row as it is drawn; what is empty is not drawn."""

    label: str
    cells: tuple[str, ...]
    instead: str
    look: str
    series: int
    heading: str
    full_text: str
    about: str
    zero: str
    low: str
    high: str
    value: str
    limit: str
    before: tuple[str, str, str] | None
    fact: str = ""


@dataclass(frozen=True, slots=True)
class PlacedIntervals:
    """Rows as they are drawn, with what stands over and under them."""

    rows: tuple[PlacedRow, ...]
    ticks: tuple[Tick, ...]
    headings: tuple[str, ...]
    sides: tuple[str, str] | None
    axis: str
    cells: int
    zero: str


@dataclass(frozen=True, slots=True)
class Intervals:
    """Values with their intervals on one scale, from top to bottom.

    Parameters
    ----------
    unit
        "share", "points" (differences of shares, with a sign), "amount" or "count".
    axis
        What the scale shows.
    scale
        Its ends; by default all rows are in sight.
    from_zero
        Whether the scale has nought.
    sides
        What it means to be left and right of nought, which then is the middle.
    bars
        Whether a bar goes from nought to the value.
    headings
        What stands over the texts beside the rows.
    names
        What a legend calls the looks, where not by their verdicts.
    least
        Whether limits are the least acceptable values.
    legend
        Whether there is a legend.

    >>> row = IntervalRow("race", 0.117, 0.05, 0.222, limit=0.05, verdict="fail")
    >>> placed = Intervals((row,)).placed().rows[0]
    >>> placed.full_text
    'race: 11.7 % (5.0 to 22.2); engineering threshold 5 %; fail'
    >>> placed.low, placed.value, placed.limit
    ('20.00%', '46.80%', '20.00%')
    """

    rows: tuple[IntervalRow, ...]
    title: str = ""
    notes: tuple[str, ...] = ()
    unit: Unit = "share"
    axis: str = ""
    scale: AxisScale | None = None
    from_zero: bool = True
    sides: tuple[str, str] | None = None
    bars: bool = False
    headings: tuple[str, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    least: bool = False
    legend: bool = True
    wide: bool = True
    kind: str = "intervals"

    @property
    def _scale(self) -> AxisScale:
        if self.scale is not None:
            return self.scale
        values: list[float] = []
        for row in self.rows:
            values += row.ends
            values += row.before or ()
            if row.limit is not None:
                values.append(row.limit)
                if self.sides is not None:
                    values.append(-row.limit)
        return AxisScale.around(
            values,
            self.unit,
            from_zero=self.from_zero,
            symmetric=self.sides is not None,
        )

    def entries(self) -> list[Key]:
        """Return the looks in sight, the limit, and the series that can be switched."""
        if not self.legend:
            return []
        keys = []
        looks = {look_of(row.verdict) for row in self.rows if row.known}
        if any(row.before for row in self.rows):
            keys.append(Key("before", say(messages.BEFORE)))
        for look, name in LOOKS.items():
            # A legend of plain estimates would explain nothing.
            explained = look != "none" or len(looks) > 1
            if look in looks and explained:
                keys.append(Key(look, term(self.names.get(look, name))))
        limits = {row.limit for row in self.rows if row.limit is not None}
        if len(limits) > 1:
            keys.append(Key("limit", say(messages.LIMITS)))
        for limit in limits:
            if len(limits) == 1:
                keys.append(Key("limit", self._limit_text(limit)))
        series = series_numbers(row.series for row in self.rows)
        if len(series) > 1:
            keys += [Key("", name, number) for name, number in series.items()]
        return keys

    def numbers(self) -> NumbersTable | None:
        """Return None: each row has its numbers as text."""
        return None

    def placed(self) -> PlacedIntervals:
        """Return the rows with their places on the scale."""
        scale = self._scale
        series = series_numbers(row.series for row in self.rows)
        rows = []
        group = ""
        for row in self.rows:
            heading = row.group if row.group != group else ""
            group = row.group
            rows.append(self._placed_row(row, scale, series.get(row.series, -1), heading))
        crosses_zero = scale.low < 0 < scale.high
        return PlacedIntervals(
            rows=tuple(rows),
            ticks=scale.ticks,
            headings=self.headings,
            sides=self.sides,
            axis=self.axis,
            cells=max([1, *(len(row.cells) for row in rows)]),
            zero=scale.at(0) if crosses_zero else "",
        )

    def _placed_row(
        self, row: IntervalRow, scale: AxisScale, series: int, heading: str
    ) -> PlacedRow:
        numbers = row.numbers or self._numbers(row)
        instead = row.instead
        low, high = row.ends
        drawn = math.isfinite(low)
        if not drawn and not instead:
            instead = say(messages.NO_DATA)
        cells = row.beside
        if not cells and numbers:
            cells = (numbers,)
        about = self._about(row)
        full_text = self._full_text(row, numbers or instead, about)
        start = scale.place(low)
        end = max(scale.place(high), min(start + _THINNEST, 1.0))
        value = row.value if row.known and row.value is not None else math.nan
        return PlacedRow(
            label=row.label,
            cells=cells,
            instead=instead,
            look=look_of(row.verdict),
            series=series,
            heading=heading,
            full_text=full_text,
            about=about,
            zero=scale.at(0) if self.bars and row.known else "",
            low=number_text.page_place(start) if drawn else "",
            high=number_text.page_place(end) if drawn else "",
            value=scale.at(value) if row.known else "",
            limit="" if row.limit is None else scale.at(self._limit_place(row)),
            before=_before(row, scale),
            fact=row.fact,
        )

    def _limit_place(self, row: IntervalRow) -> float:
        """Return where a limit stands: of signed values, on the side of the value."""
        limit = row.limit or 0.0
        if self.sides is not None and row.value is not None and row.value < 0:
            return -limit
        return limit

    def _numbers(self, row: IntervalRow) -> str:
        if not row.known or row.value is None:
            return ""
        return spread_text(row.value, *row.ends, self.unit)

    def _limit_text(self, limit: float) -> str:
        template = messages.LEAST_LIMIT if self.least else messages.LIMIT
        shown = number_text.plain(limit)
        if self.unit == "share" and not self.least:
            shown = number_text.percent_plain(limit)
        elif self.unit == "points":
            shown = number_text.points_plain(limit)
        return say(template, limit=shown)

    def _about(self, row: IntervalRow) -> str:
        """Return the limit and the verdict in words."""
        parts = []
        if row.limit is not None:
            parts.append(self._limit_text(row.limit))
        look = look_of(row.verdict)
        if row.known and (look != "none" or look in self.names):
            parts.append(term(self.names.get(look, LOOKS[look])))
        return "; ".join(parts)

    def _full_text(self, row: IntervalRow, numbers: str, about: str) -> str:
        """Return all that a row shows in one line."""
        parts = []
        if numbers and not (row.beside and self.headings):
            parts.append(numbers)
        elif numbers:
            parts.append(self._numbers(row) or numbers)
        for heading, text in zip(self.headings, row.beside, strict=False):
            parts.append(say(messages.CELL, heading=heading, text=text))
        if row.before is not None:
            numbers_before = spread_text(*row.before, self.unit)
            parts.append(say(messages.MARK_BEFORE, numbers=numbers_before))
        if about:
            parts.append(about)
        return say(messages.MARK, label=row.label, numbers="; ".join(parts))


def _before(row: IntervalRow, scale: AxisScale) -> tuple[str, str, str] | None:
    if row.before is None or not all(map(math.isfinite, row.before)):
        return None
    value, low, high = row.before
    return scale.at(value), scale.at(low), scale.at(high)
