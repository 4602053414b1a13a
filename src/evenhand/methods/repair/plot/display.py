"""A repair drawn: every score before and after, what came of each step, and the trade-off."""

from __future__ import annotations

import math
import textwrap
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any

from evenhand.methods.compare.plot import TradeoffDisplay, head, span, ticks
from evenhand.methods.compare.text import score_values
from evenhand.methods.repair import messages
from evenhand.methods.repair.plot_steps import (
    GAPS,
    POINT,
    SHARES,
    Course,
    aim_of,
    course_entries,
    courses_of,
    draw_course,
    hollow,
    name_of,
    note_of,
    solid,
)
from evenhand.methods.repair.steps import (
    AIM,
    BETTER,
    KINDS,
    OPEN,
    SAME,
    UNSURE,
    WORSE,
    judged,
)
from evenhand.report.canvas import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    VERMILLION,
    WIDTH,
    Display,
    inches,
    literal,
)
from evenhand.report.finding_text import NO_DATA
from evenhand.report.ranked_bars import flowed
from evenhand.runtime import number_text
from evenhand.runtime.errors import UsageError, clip, nearest
from evenhand.statistics.estimate import Amount

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenhand.methods.repair.plot_steps import Entry, Span
    from evenhand.methods.repair.repair_result import Repair
    from evenhand.methods.repair.steps import RepairCheck
    from evenhand.statistics.estimate import Estimate

DRAWINGS = ("change", "history", "trade-off")
"""What can be drawn of a repair."""
HEADINGS = {
    "aim": messages.ABOUT_AIM,
    "inputs": messages.ABOUT_INPUTS,
    "people": messages.ABOUT_PEOPLE,
    "other": messages.ABOUT_OTHER_FEATURES,
    "subgroup": "worst subgroup",
    "group": "group metrics",
    "performance": "performance",
}
"""The heading of each kind of check."""
_LOOKS = {
    BETTER: (GREEN, "o"),
    WORSE: (VERMILLION, "X"),
    SAME: ("0.75", "s"),
    UNSURE: (ORANGE, "D"),
    OPEN: (BLUE, "^"),
}
_ARROW = {
    "arrowstyle": "->",
    "color": "black",
    "linewidth": 0.9,
    "shrinkA": 4,
    "shrinkB": 4,
}
_ROW = 0.38
"""Inches of a row."""
_HEADING = 0.75
"""Rows that a heading takes."""
_AROUND = 1.5
"""Inches around a panel."""
_OFF = 0.17
"""Rows that before and after stand off."""
_EMPTY = 2.0
"""Inches that a drawing of nothing is high."""
_LETTERS = 32
"""Letters of a label on one line."""


@dataclass(frozen=True, slots=True)
class ScoreRow:
    """One score before and after, and how it changed."""

    label: str
    before: Span | None
    """Value, low and high, None where there is no data."""
    after: Span | None
    judged: str
    beside: str
    """What stands beside the row."""
    limit: float | None = None
    """The engineering threshold that the score is held against."""


@dataclass(frozen=True, slots=True)
class ScorePanel:
    """Scores that share an axis: rows from top to bottom under their headings."""

    axis: str
    groups: tuple[tuple[str, tuple[ScoreRow, ...]], ...]
    percent: bool
    note: str
    less_is_better: bool = True

    @property
    def rows(self) -> list[ScoreRow]:
        """The rows of all groups."""
        rows: list[ScoreRow] = []
        for _, group in self.groups:
            rows += group
        return rows

    @property
    def height(self) -> float:
        """How many inches it is high, headings included."""
        return _ROW * sum(_HEADING + len(rows) for _, rows in self.groups)


@dataclass
class RepairDisplay(Display):
    """The scores of a repair before and after, or the course of its steps, in panels.

    Where there is nothing to draw, `instead` says so.

    >>> from evenhand.runtime.budget import Spent
    >>> from evenhand.statistics.estimate import Estimate
    >>> from evenhand.methods.repair.change import PairedChange
    >>> from evenhand.methods.repair.repair_result import Repair
    >>> from evenhand.methods.repair.steps import NO_HELP, RepairCheck
    >>> tenth = Estimate.exact(2, 20)
    >>> check = RepairCheck("sex", "aim", tenth, tenth)
    >>> found = {"outcome": NO_HELP, "change": PairedChange.none(tenth), "checks": (check,)}
    >>> found |= {"comparisons": {}, "history": (), "sizes": {}}
    >>> about = {"method": "augment", "over": ("sex",), "about": ("sex",)}
    >>> how = {"seed": 0, "level": 0.95, "tolerance": 0.01, "limit": None}
    >>> repair = Repair(**found, **about, **how, spent=Spent(40, 40, 0.1))
    >>> display = RepairDisplay.from_repair(repair)
    >>> [(row.label, row.beside) for row in display.panels[0].rows]
    [('sex', '10.0 % → 10.0 %\\nn = 20')]
    """

    title: str
    panels: tuple[ScorePanel, ...] | tuple[Course, ...]
    instead: str = ""

    @classmethod
    def from_repair(cls, repair: Repair, kind: str = "change") -> Display:
        """Compute what is drawn of a repair.

        Parameters
        ----------
        kind
            The "change" of all scores, the "history" of steps, or the plane of the "trade-off". The
            last is the `TradeoffDisplay` of the comparison that the repair is about, where there is
            one.
        """
        if kind not in DRAWINGS:
            shown = clip(repr(kind))
            choices = nearest(kind, DRAWINGS)
            raise UsageError(messages.DRAWING_UNKNOWN.format(kind=shown, choices=choices))
        if kind == "trade-off":
            return cls._of_tradeoff(repair)
        if kind == "history":
            return cls._of_history(repair)
        title = messages.VERDICT_AND_CLAIM.format(
            verdict=repair.verdict, claim=repair.claim
        )
        instead = "" if repair.checks else NO_DATA
        return cls(title, _panels(repair), instead)

    @classmethod
    def _of_tradeoff(cls, repair: Repair) -> Display:
        if AIM in repair.comparisons:
            comparison = replace(repair.comparisons[AIM], bias=aim_of(repair))
            return TradeoffDisplay.from_comparison(comparison)
        instead = messages.NOT_COMPARED if repair.changed else messages.MODEL_UNCHANGED
        return cls(repair.claim, (), instead)

    @classmethod
    def _of_history(cls, repair: Repair) -> RepairDisplay:
        if not repair.history:
            return cls(repair.claim, courses_of(repair), messages.NO_STEPS)
        kept = sum(step.kept for step in repair.history)
        title = messages.STEPS_KEPT.format(
            method=repair.method,
            kept=number_text.count(kept),
            steps=number_text.count(len(repair.history)),
            claim=repair.claim,
        )
        return cls(title, courses_of(repair))

    def plot(self, ax: Any = None) -> RepairDisplay:
        """Draw on axes given (the first panel alone), or all on a new figure.

        Labels are long: make the figure of axes given with ``layout="constrained"``.

        Returns
        -------
        RepairDisplay
            This display.
        """
        shown: tuple[ScorePanel | Course, ...] = (
            self.panels if ax is None else self.panels[:1]
        )
        if not shown:
            opened = self._open(ax, [(WIDTH, _EMPTY)])
            _draw_instead(self, opened[0])
            return self
        sizes = [(WIDTH, panel.height + _AROUND) for panel in shown]
        for axes, panel in zip(self._open(ax, sizes), shown, strict=False):
            _draw(panel, axes)
        # How wide axes are is known only after the layout.
        self.figure_.figure.draw_without_rendering()
        for axes, panel in zip(self.axes_, shown, strict=False):
            width, _ = inches(axes)
            note = flowed(panel.note, width, 0.9)
            label = f"{panel.axis}\n{note}"
            axes.set_xlabel(label.strip(), fontsize=9)
        for look, name in _entries(shown):
            self.ax_.plot([], [], label=name, **look)
        head(self.ax_, self.title)
        if ax is None:
            self._fit([panel.height for panel in shown])
        return self

    def _fit(self, heights: list[float]) -> None:
        """Make the figure as high as panels of these heights need, whatever texts around take."""
        grid = self.ax_.get_subplotspec().get_gridspec()
        grid.set_height_ratios(heights)
        self.figure_.draw_without_rendering()
        drawn = sum(inches(axes)[1] for axes in self.axes_)
        spare = drawn - sum(heights)
        self.figure_.set_figheight(self.figure_.get_figheight() - spare)


def _panels(repair: Repair) -> tuple[ScorePanel, ...]:
    """Gather scores of one sort and unit into panels, and those of a kind under one heading."""
    aim = aim_of(repair)
    sorts = {
        "aim": aim,
        "inputs": SHARES,
        "people": aim,
        "other": SHARES,
        "performance": messages.SCORE_ON_HELD_OUT_ROWS,
    }
    gathered: dict[tuple[str, bool], list[RepairCheck]] = {}
    for check in sorted(repair.checks, key=lambda check: KINDS.index(check.kind)):
        sort = sorts.get(check.kind, GAPS)
        percent = not isinstance(check.before, Amount)
        gathered.setdefault((sort, percent), []).append(check)
    panels = []
    for (sort, percent), checks in gathered.items():
        less_is_better = sort != messages.SCORE_ON_HELD_OUT_ROWS
        if less_is_better:
            axis = messages.LESS_IS_BETTER.format(score=sort)
        else:
            axis = messages.MORE_IS_BETTER.format(score=sort)
        panel = ScorePanel(
            axis=axis,
            groups=_groups(checks, repair.limit),
            percent=percent,
            note=note_of(check.after for check in checks),
            less_is_better=less_is_better,
        )
        panels.append(panel)
    return tuple(panels)


def _groups(
    checks: Sequence[RepairCheck], limit: float | None
) -> tuple[tuple[str, tuple[ScoreRow, ...]], ...]:
    """Return the rows of checks under the headings of their kinds."""
    groups = []
    for kind, group in groupby(checks, lambda check: check.kind):
        rows = tuple(_row(check, limit) for check in group)
        groups.append((HEADINGS[kind], rows))
    return tuple(groups)


def _row(check: RepairCheck, limit: float | None) -> ScoreRow:
    before = None if math.isnan(check.before.value) else span(check.before)
    after = None if math.isnan(check.after.value) else span(check.after)
    return ScoreRow(
        label=name_of(check),
        before=before,
        after=after,
        judged=judged(check),
        beside=_beside(check),
        limit=limit if check.kind == "aim" else None,
    )


def _beside(check: RepairCheck) -> str:
    """Return the values before and after and n, as they stand beside a row."""
    n = number_text.count(check.after.n)
    estimates = [check.before, check.after]
    known = [estimate for estimate in estimates if not math.isnan(estimate.value)]
    if not known:
        return messages.NO_VALUES.format(no_data=NO_DATA, n=n)
    # Both are written with the same number of digits, so they are made text together.
    texts = _values(known)
    if len(known) == 2:
        before, after = texts
    elif math.isnan(check.before.value):
        before, after = "no data", texts[0]
    else:
        before, after = texts[0], "no data"
    return messages.BEFORE_TO_AFTER.format(before=before, after=after, n=n)


def _values(estimates: Sequence[Estimate]) -> list[str]:
    """Return values alone, with as many digits as their intervals have a use for."""
    if not any(isinstance(estimate, Amount) for estimate in estimates):
        return score_values(estimates)
    amounts = [number_text.amount(estimate.value) for estimate in estimates]
    return [number_text.with_minus(amount) for amount in amounts]


def _entries(panels: Sequence[ScorePanel | Course]) -> list[Entry]:
    """Return the looks and names of the legend: what any panel shows, and nothing else."""
    entries: list[Entry] = []
    rows: list[ScoreRow] = []
    for panel in panels:
        if isinstance(panel, ScorePanel):
            rows += panel.rows
    if any(row.before for row in rows):
        entries.append((POINT | hollow("o"), "before"))
    drawn = {row.judged for row in rows if row.after}
    for verdict, (colour, marker) in _LOOKS.items():
        if verdict in drawn:
            name = messages.AFTER_AND_VERDICT.format(verdict=verdict)
            entries.append((POINT | solid(colour, marker), name))
    limits = [row.limit for row in rows if row.limit is not None]
    for limit in dict.fromkeys(limits):
        name = messages.THRESHOLD.format(limit=number_text.limit(limit))
        entries.append(({"color": GREY, "linestyle": "--"}, name))
    entries += course_entries(panel for panel in panels if isinstance(panel, Course))
    return entries


def _draw_instead(display: RepairDisplay, ax: Any) -> None:
    width, _ = inches(ax)
    ax.set_title(flowed(display.title, width), loc="left", fontsize="medium")
    ax.text(
        0.5,
        0.5,
        display.instead,
        transform=ax.transAxes,
        ha="center",
        va="center",
        style="italic",
    )
    ax.set_axis_off()


def _draw(panel: ScorePanel | Course, ax: Any) -> None:
    if isinstance(panel, ScorePanel):
        _draw_rows(panel, ax)
    else:
        draw_course(panel, ax)


def _draw_rows(panel: ScorePanel, ax: Any) -> None:
    places = []
    labels = []
    top = 0.0
    beside = {"transform": ax.get_yaxis_transform(), "va": "center"}
    for heading, rows in panel.groups:
        # Labels of an axis are right-aligned; a heading stands at its left end, where the next rows
        # begin.
        ax.text(
            0.008,
            top + _HEADING / 2 - 0.5,
            heading,
            fontsize=8,
            fontweight="bold",
            color=GREY,
            **beside,
        )
        top += _HEADING
        for row in rows:
            places.append(top)
            labels.append(_wrapped(row.label))
            _draw_row(ax, row, top)
            ax.text(1.015, top, row.beside, fontsize=8, linespacing=1.1, **beside)
            top += 1
    ax.set_xlim(*_ends(panel))
    ax.set_ylim(top - 0.5, -0.5)
    ax.set_yticks(places, labels, fontsize=9)
    ax.tick_params(axis="y", length=0)
    ticks(ax.xaxis, percent=panel.percent)
    ax.grid(axis="x", color="0.92")
    ax.set_axisbelow(True)
    ax.spines[["top", "right", "left"]].set_visible(False)


def _wrapped(name: str) -> str:
    r"""Return a name in two lines at most, without the middle where it is longer.

    The end is kept, since it tells names apart.

    >>> _wrapped("the source of income in the year before, all inputs")
    'the source of income in the year\nbefore, all inputs'
    """
    short = " ".join(name.split())
    most = 2 * _LETTERS - 6  # words seldom fill a line
    if len(short) > most:
        start = short[: most - 20]
        end = short[-19:]
        short = f"{start}…{end}"
    lines = textwrap.wrap(short, _LETTERS)
    return "\n".join(literal(line) for line in lines)


def _ends(panel: ScorePanel) -> tuple[float, float]:
    """Return the ends of an axis: around everything, and from 0 on for shares to be lowered."""
    known: list[float] = []
    for row in panel.rows:
        known += row.before or ()
        known += row.after or ()
        if row.limit is not None:
            known.append(row.limit)
    low = min(known, default=0.0)
    high = max(known, default=1.0)
    if panel.percent and panel.less_is_better:
        low = min(low, 0.0)
    width = (high - low) or abs(high) or 1.0
    return low - 0.03 * width, high + 0.03 * width


def _draw_row(ax: Any, row: ScoreRow, place: float) -> None:
    """Draw before over after, each with its interval, and an arrow from the one to the other."""
    colour, marker = _LOOKS[row.judged]
    lines: list[tuple[Span | None, float, dict[str, Any]]] = [
        (row.before, place - _OFF, hollow("o")),
        (row.after, place + _OFF, solid(colour, marker)),
    ]
    if row.limit is not None:
        ax.plot(
            [row.limit, row.limit],
            [place - 0.5, place + 0.5],
            color=GREY,
            linestyle="--",
            linewidth=1.2,
        )
    for found, height, look in lines:
        if found is None:
            continue
        value, low, high = found
        ax.plot(
            [low, high],
            [height, height],
            color=look["color"],
            linewidth=2,
            solid_capstyle="butt",
            zorder=2,
        )
        ax.plot([value], [height], markersize=7, zorder=4, **look)
    if row.before and row.after and row.before[0] != row.after[0]:
        ax.annotate(
            "",
            (row.after[0], place + _OFF),
            (row.before[0], place - _OFF),
            arrowprops=_ARROW,
            zorder=3,
        )


def display_of(repair: Repair, *, kind: str = "change") -> Display:
    """Return a display of a repair: of its scores, its steps or the trade-off."""
    return RepairDisplay.from_repair(repair, kind=kind)
