"""Charts of subgroups or terms, ranked by how far they are from others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.report.canvas import unescaped
from evenhand.report.charts import messages
from evenhand.report.charts.intervals import IntervalRow, Intervals
from evenhand.report.charts.keys import title_of_claim
from evenhand.report.charts.scale import spread_text
from evenhand.runtime.language import say

if TYPE_CHECKING:
    from evenhand.report.charts.scale import Unit
    from evenhand.report.ranked_bars import Bar, Bars, RemainingRules


def ranked_chart(bars: Bars) -> Intervals:
    """Return ranked bars as a chart.

    >>> from evenhand.report.ranked_bars import Bar, Bars
    >>> bar = Bar("sex F", -0.2, 0.1, 0.3, sure=True, beside=("50 %", "70 %", "90"))
    >>> headers = ("group", "others", "rows")
    >>> bars = Bars("women get less", (), headers, (bar,), sides=("less", "more"))
    >>> ranked_chart(bars).placed().rows[0].cells
    ('−20.0 points (−30.0 to −10.0)', '50 %', '70 %', '90')
    """
    signed = bars.sides is not None
    rows = [_row(bar, bars) for bar in bars.bars]
    if bars.rest is not None:
        rows.append(_rest(bars.rest, signed=signed))
    not_sure = say(messages.NOT_CLEARLY_DIFFERENT)
    sure = say(messages.CLEARLY_DIFFERENT)
    if bars.limit is not None:
        not_sure = say(messages.NOT_CLEARLY_OVER)
        sure = say(messages.CLEARLY_OVER)
    headings: tuple[str, ...] = ()
    if bars.headers:
        names = [unescaped(header) for header in bars.headers]
        headings = (say(messages.DISTANCE), *names)
    return Intervals(
        tuple(rows),
        title=title_of_claim(bars.title),
        notes=tuple(unescaped(note) for note in bars.notes),
        unit=_unit(bars),
        sides=bars.sides,
        bars=True,
        headings=headings,
        names={"open": not_sure, "fail": sure, "none": sure},
    )


def _unit(bars: Bars) -> Unit:
    """Return what distances are: with two sides, differences of shares."""
    if not bars.percent:
        return "amount"
    return "share" if bars.sides is None else "points"


def _row(bar: Bar, bars: Bars) -> IntervalRow:
    low, high = bar.ends
    look = "open"
    if bar.sure:
        look = "none" if bars.limit is None else "fail"
    distance = spread_text(bar.value, low, high, _unit(bars))
    return IntervalRow(
        unescaped(bar.label),
        bar.value,
        low,
        high,
        limit=bars.limit,
        verdict=look,
        beside=(distance, *bar.beside),
    )


def _rest(rest: RemainingRules, *, signed: bool) -> IntervalRow:
    """Return the range, on both sides of nought, in which all others lie."""
    low = -rest.high if signed else 0.0
    return IntervalRow(unescaped(rest.label), None, low, rest.high)
