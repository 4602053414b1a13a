"""A repair drawn: every score before and after, what came of each step, and where it stands in the
trade-off.
"""

from __future__ import annotations

import math
import textwrap
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any

from evenhand.methods.compare.plot import TradeoffDisplay, head, span, ticks
from evenhand.methods.compare.text import score_values
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
from evenhand.methods.repair.steps import AIM, KINDS
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
UNCHANGED = "the model was left as it is, so there is nothing to compare"
NOT_COMPARED = "this repair was not compared with blind overwriting"
NO_STEPS = "no model was trained again"
HEADINGS = {
    "aim": "what the repair is about",
    "people": "held-out people",
    "other": "other protected features",
    "subgroup": "worst subgroup",
    "group": "group metrics",
    "performance": "performance",
}
"""What is said of each kind of check."""
BETTER, WORSE, SAME, UNSURE, OPEN = "better", "worse", "no change", "not sure", "not judged"
"""How a score has changed: surely for better or for worse, not at all, perhaps, or with no interval
of the change.
"""
_LOOKS = {
    BETTER: (GREEN, "o"),
    WORSE: (VERMILLION, "X"),
    SAME: ("0.75", "s"),
    UNSURE: (ORANGE, "D"),
    OPEN: (BLUE, "^"),
}
_PERFORMANCE = "score on held-out rows"
_LESS, _MORE = "← less is better", "more is better →"
_ROW, _HEADING, _AROUND, _OFF = 0.38, 0.75, 1.5, 0.17
"""Inches of a row, rows that a heading takes, inches around a panel, and rows that before and after
stand off.
"""
_EMPTY, _LETTERS = 2.0, 32
"""Inches that a drawing of nothing is high, and letters of a label on one line."""


@dataclass(frozen=True, slots=True)
class ScoreRow:
    """One score: value, low and high before and after, None where there is no data, and how it
    changed.

    `limit` is the engineering threshold that it is held against, and `told` what stands beside it.
    """

    label: str
    before: Span | None
    after: Span | None
    judged: str
    told: str
    limit: float | None = None


@dataclass(frozen=True, slots=True)
class ScorePanel:
    """Scores that share an axis: rows from top to bottom under their headings, and which way is
    better.
    """

    axis: str
    groups: tuple[tuple[str, tuple[ScoreRow, ...]], ...]
    percent: bool
    note: str

    @property
    def height(self) -> float:
        """How many inches it is high, headings included."""
        return _ROW * sum(_HEADING + len(rows) for _, rows in self.groups)


@dataclass
class RepairDisplay(Display):
    """The scores of a repair before and after, or the course of its steps: panels from top to
    bottom.

    Where there is nothing to draw, `instead` says so.

    >>> from evenhand.runtime.budget import Spent
    >>> from evenhand.statistics.estimate import Estimate
    >>> from evenhand.methods.repair.change import PairedChange
    >>> from evenhand.methods.repair.repair_result import NO_HELP, Repair
    >>> from evenhand.methods.repair.steps import RepairCheck
    >>> tenth = Estimate.exact(2, 20)
    >>> found = {"outcome": NO_HELP, "change": PairedChange.none(tenth), "checks": (RepairCheck("sex", "aim", tenth, tenth),)}
    >>> about = {"method": "augment", "over": ("sex",), "about": ("sex",), "comparisons": {}, "history": ()}
    >>> how = {"seed": 0, "level": 0.95, "tolerance": 0.01, "limit": None, "sizes": {}, "spent": Spent(40, 40, 0.1)}
    >>> display = RepairDisplay.from_repair(Repair(**found, **about, **how))
    >>> [(row.label, row.told) for heading, rows in display.panels[0].groups for row in rows]
    [('sex', '10.0 % → 10.0 %\\nn = 20')]
    """

    title: str
    panels: tuple[ScorePanel, ...] | tuple[Course, ...]
    instead: str = ""

    @classmethod
    def from_repair(cls, repair: Repair, kind: str = "change") -> Display:
        """Compute what is drawn: the "change" of all scores, the "history" of steps, or the plane
        of the "trade-off".

        The last is the `TradeoffDisplay` of the comparison that the repair is about, where there is
        one.
        """
        if kind not in DRAWINGS:
            raise UsageError(
                f"kind = {clip(repr(kind))} is no drawing of a repair; {nearest(kind, DRAWINGS)}"
            )
        if kind == "trade-off":
            if AIM in repair.comparisons:
                return TradeoffDisplay.from_comparison(
                    replace(repair.comparisons[AIM], bias=aim_of(repair))
                )
            return cls(repair.claim, (), NOT_COMPARED if repair.changed else UNCHANGED)
        if kind == "history":
            kept = sum(step.kept for step in repair.history)
            title = (
                f"{repair.method}: {kept:,} of {len(repair.history):,} steps kept\n"
                if repair.history
                else ""
            )
            return cls(
                f"{title}{repair.claim}", courses_of(repair), "" if repair.history else NO_STEPS
            )
        return cls(
            f"{repair.verdict}: {repair.claim}", _panels(repair), "" if repair.checks else NO_DATA
        )

    def plot(self, ax: Any = None) -> RepairDisplay:
        """Draw on axes given (the first panel alone), or all on a new figure, and return the
        display.

        Labels are long: make the figure of axes given with ``layout="constrained"``.
        """
        shown = self.panels if ax is None else self.panels[:1]
        if not shown:
            _draw_instead(self, self._open(ax, [(WIDTH, _EMPTY)])[0])
            return self
        sizes = [(WIDTH, panel.height + _AROUND) for panel in shown]
        panels: tuple[ScorePanel | Course, ...] = tuple(shown)
        for axes, panel in zip(self._open(ax, sizes), panels, strict=False):
            _draw(panel, axes)
        self.figure_.figure.draw_without_rendering()  # how wide axes are is known only after the layout
        for at, one in enumerate(self.axes_):
            note = flowed(shown[at].note, inches(one)[0], 0.9)
            one.set_xlabel(f"{shown[at].axis}\n{note}".strip(), fontsize=9)
        for look, name in _entries(shown):
            self.ax_.plot([], [], label=name, **look)
        head(self.ax_, self.title)
        if ax is None:
            self._fit([panel.height for panel in shown])
        return self

    def _fit(self, heights: list[float]) -> None:
        """Make the figure as high as it must be for panels of these heights, whatever the texts
        around them take.
        """
        self.ax_.get_subplotspec().get_gridspec().set_height_ratios(heights)
        self.figure_.draw_without_rendering()
        spare = sum(inches(one)[1] for one in self.axes_) - sum(heights)
        self.figure_.set_figheight(self.figure_.get_figheight() - spare)


def judged(check: RepairCheck) -> str:
    """Return how a score has changed, as far as the interval of its change can tell.

    >>> from evenhand.statistics.estimate import Amount, Estimate
    >>> from evenhand.methods.repair.steps import RepairCheck
    >>> before, after = Estimate(0.2, 0.1, 0.3, 99, 0.95, "exact"), Estimate(0.1, 0.0, 0.2, 99, 0.95, "exact")
    >>> less = Amount(-0.1, -0.15, -0.05, 99, 0.95, "paired")
    >>> judged(RepairCheck("sex", "aim", before, after, less)), judged(RepairCheck("f1", "performance", before, after, less))
    ('better', 'worse')
    """
    change = check.change
    if math.isnan(check.before.value) or math.isnan(check.after.value):
        return OPEN
    if change is None:
        return SAME if check.before == check.after else OPEN
    if change.low == change.high == 0:
        return SAME
    if change.low <= 0 <= change.high:
        return UNSURE
    return BETTER if check.rose == (check.kind == "performance") else WORSE


def _panels(repair: Repair) -> tuple[ScorePanel, ...]:
    """Gather scores of the same sort and unit into panels, and scores of a kind under one heading."""
    aim = aim_of(repair)
    sorts = {"aim": aim, "people": aim, "other": SHARES, "performance": _PERFORMANCE}
    found: dict[tuple[str, bool], list[RepairCheck]] = {}
    for check in sorted(repair.checks, key=lambda check: KINDS.index(check.kind)):
        found.setdefault(
            (sorts.get(check.kind, GAPS), not isinstance(check.before, Amount)), []
        ).append(check)
    return tuple(
        ScorePanel(
            f"{sort}: {_MORE if sort == _PERFORMANCE else _LESS}",
            tuple(
                (HEADINGS[kind], tuple(_row(check, repair.limit) for check in group))
                for kind, group in groupby(checks, lambda check: check.kind)
            ),
            percent,
            note_of(check.after for check in checks),
        )
        for (sort, percent), checks in found.items()
    )


def _row(check: RepairCheck, limit: float | None) -> ScoreRow:
    both = (check.before, check.after)
    known = [one for one in both if not math.isnan(one.value)]
    told = iter(_values(known))
    values = (
        " → ".join("no data" if math.isnan(one.value) else next(told) for one in both)
        if known
        else NO_DATA
    )
    before, after = (None if math.isnan(one.value) else span(one) for one in both)
    held = limit if check.kind == "aim" else None
    return ScoreRow(
        name_of(check), before, after, judged(check), f"{values}\nn = {check.after.n:,}", held
    )


def _values(estimates: Sequence[Estimate]) -> list[str]:
    """Return values alone, with as many digits as their intervals have a use for."""
    if any(isinstance(one, Amount) for one in estimates):
        return [number_text.with_minus(number_text.amount(one.value)) for one in estimates]
    return score_values(estimates) if estimates else []


def _entries(panels: Sequence[ScorePanel | Course]) -> list[Entry]:
    """Return the looks and names of the legend: what any panel shows, and nothing else."""
    entries: list[Entry] = []
    rows = [
        row
        for panel in panels
        if isinstance(panel, ScorePanel)
        for _, group in panel.groups
        for row in group
    ]
    if any(row.before for row in rows):
        entries.append((POINT | hollow("o"), "before"))
    for name, (colour, marker) in _LOOKS.items():
        if any(row.after and row.judged == name for row in rows):
            entries.append((POINT | solid(colour, marker), f"after: {name}"))
    limits = dict.fromkeys(row.limit for row in rows if row.limit is not None)
    names = [f"engineering threshold {number_text.limit(limit)}" for limit in limits]
    entries += [({"color": GREY, "linestyle": "--"}, name) for name in names]
    entries += course_entries(panel for panel in panels if isinstance(panel, Course))
    return entries


def _draw_instead(display: RepairDisplay, ax: Any) -> None:
    ax.set_title(flowed(display.title, inches(ax)[0]), loc="left", fontsize="medium")
    ax.text(
        0.5, 0.5, display.instead, transform=ax.transAxes, ha="center", va="center", style="italic"
    )
    ax.set_axis_off()


def _draw(panel: ScorePanel | Course, ax: Any) -> None:
    if isinstance(panel, ScorePanel):
        _draw_rows(panel, ax)
    else:
        draw_course(panel, ax)


def _draw_rows(panel: ScorePanel, ax: Any) -> None:
    places, labels, top = [], [], 0.0
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
            ax.text(1.015, top, row.told, fontsize=8, linespacing=1.1, **beside)
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
    r"""Return a name in two lines at most, without the middle of one that is longer: its end tells
    names apart.

    >>> _wrapped("the source of income in the year before, all inputs")
    'the source of income in the year\nbefore, all inputs'
    """
    flat = " ".join(name.split())
    most = 2 * _LETTERS - 6  # words seldom fill a line
    short = flat if len(flat) <= most else f"{flat[: most - 20]}…{flat[-19:]}"
    return "\n".join(literal(line) for line in textwrap.wrap(short, _LETTERS))


def _ends(panel: ScorePanel) -> tuple[float, float]:
    """Return the ends of an axis: around everything, and from 0 on where it shows shares of which
    less is better.
    """
    rows = [row for _, group in panel.groups for row in group]
    known = [end for row in rows for one in (row.before, row.after) if one for end in one]
    known += [row.limit for row in rows if row.limit is not None]
    low, high = min(known, default=0.0), max(known, default=1.0)
    if panel.percent and _LESS in panel.axis:
        low = min(low, 0.0)
    wide = (high - low) or abs(high) or 1.0
    return low - 0.03 * wide, high + 0.03 * wide


def _draw_row(ax: Any, row: ScoreRow, place: float) -> None:
    """Draw before over after, each with its interval, and an arrow from the one to the other."""
    colour, marker = _LOOKS[row.judged]
    lines: list[tuple[Span | None, float, dict[str, Any]]] = [
        (row.before, place - _OFF, hollow("o")),
        (row.after, place + _OFF, solid(colour, marker)),
    ]
    if row.limit is not None:
        ax.plot(
            [row.limit] * 2, [place - 0.5, place + 0.5], color=GREY, linestyle="--", linewidth=1.2
        )
    for found, at, look in lines:
        if found is not None:
            value, *limits = found
            ax.plot(
                limits, [at, at], color=look["color"], linewidth=2, solid_capstyle="butt", zorder=2
            )
            ax.plot([value], [at], markersize=7, zorder=4, **look)
    if row.before and row.after and row.before[0] != row.after[0]:
        arrow = {"arrowstyle": "->", "color": "black", "linewidth": 0.9, "shrinkA": 4, "shrinkB": 4}
        ax.annotate(
            "",
            (row.after[0], place + _OFF),
            (row.before[0], place - _OFF),
            arrowprops=arrow,
            zorder=3,
        )


def display_of(repair: Repair, *, kind: str = "change") -> Display:
    """Return a display of a repair: of its scores, its steps or the trade-off."""
    return RepairDisplay.from_repair(repair, kind=kind)
