"""The steps of a repair drawn: what came of each against what it added."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evenhand.methods.compare.plot import span, ticks
from evenhand.report.canvas import BLUE, GREY, literal
from evenhand.runtime import number_text
from evenhand.runtime.errors import clip
from evenhand.statistics.estimate import Amount

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenhand.methods.repair.repair_result import Repair
    from evenhand.methods.repair.steps import RepairCheck
    from evenhand.statistics.estimate import Estimate

    Span = tuple[float, float, float]
    Entry = tuple[dict[str, Any], str]

SHARES, GAPS = "share of discriminatory inputs", "gap between groups"
POINT = {"linestyle": "", "markersize": 7}
_CHOSEN = {"color": BLUE, "linewidth": 1.2, "linestyle": "--"}
_FIRST, _OTHERS, _TO_SCALE = 2.6, 1.5, 10
"""Inches that panels are high, and how often the least percentage may fit into the largest on an
axis to scale.
"""


@dataclass(frozen=True, slots=True)
class Dot:
    """One step: its number, what it added in percent, value, low and high or None, and whether it
    was kept.
    """

    number: int
    added: float
    found: Span | None
    kept: bool


@dataclass(frozen=True, slots=True)
class Course:
    """One score of each step against what was added, from 0 on if it is a share; `original` is what
    there was before.

    `chosen` is what the step added that the repaired model comes from.
    """

    score: str
    axis: str
    dots: tuple[Dot, ...]
    percent: bool
    note: str = ""
    chosen: float | None = None
    original: float | None = None
    share: bool = False

    @property
    def height(self) -> float:
        """How many inches it is high."""
        return _FIRST if self.share else _OTHERS


def name_of(check: RepairCheck) -> str:
    """Return the name of a score as people write it."""
    return "R²" if check.name == "r2" else check.name


def aim_of(repair: Repair) -> str:
    """Return what the score that a repair is about says: a share of inputs, or for a subgroup a
    gap.
    """
    return SHARES if isinstance(repair.about, tuple) else GAPS


def note_of(estimates: Iterable[Estimate]) -> str:
    """Return the levels of the intervals and the populations."""
    known = [one for one in estimates if one.n]
    levels = sorted({one.level for one in known if one.level < 1})
    populations = dict.fromkeys(one.population for one in known if one.population)
    at = [f"intervals at {number_text.percent_levels(levels)}"] if levels else []
    return "; ".join([*at, *(f"population: {clip(name, 75)}" for name in populations)])


def courses_of(repair: Repair) -> tuple[Course, ...]:
    """Return what is drawn of the steps of a repair: the score that it is about, and that of the
    performance.
    """
    steps = repair.history
    if not steps:
        return ()
    kept = [step.percent for step in steps if step.kept and repair.changed]
    chosen, start, performance = (
        kept[-1] if kept else None,
        steps[0].change.before,
        repair.performance,
    )
    shares = [
        None if math.isnan(step.change.after.value) else span(step.change.after) for step in steps
    ]
    scores = [None if math.isnan(step.accuracy) else (step.accuracy,) * 3 for step in steps]
    dots = [
        tuple(
            Dot(step.number, step.percent, one, step.kept)
            for step, one in zip(steps, found, strict=True)
        )
        for found in (shares, scores)
    ]
    note, original = (
        note_of(step.change.after for step in steps),
        (None if math.isnan(start.value) else start.value),
    )
    first = Course(
        aim_of(repair),
        "",
        dots[0],
        not isinstance(start, Amount),
        note,
        chosen,
        original,
        share=True,
    )
    score, percent = (
        f"{name_of(performance)},\nvalidation rows",
        not isinstance(performance.before, Amount),
    )
    return first, Course(
        score, "added, in percent of the training rows", dots[1], percent, chosen=chosen
    )


def course_entries(courses: Iterable[Course]) -> list[Entry]:
    """Return the looks and names of a legend."""
    shown = list(courses)
    steps = {dot.kept for course in shown for dot in course.dots if dot.found}
    entries = [
        (POINT | _step_look(kept=kept), "kept" if kept else "not kept")
        for kept in sorted(steps, reverse=True)
    ]
    return entries + [(_CHOSEN, "chosen")] * any(course.chosen is not None for course in shown)


def hollow(marker: str) -> dict[str, Any]:
    """Return the look of a point that is not filled."""
    return {"marker": marker, "color": GREY, "markerfacecolor": "white", "markeredgecolor": "black"}


def solid(colour: str, marker: str) -> dict[str, Any]:
    """Return the look of a filled point."""
    return {"marker": marker, "color": colour, "markeredgecolor": "black"}


def _step_look(*, kept: bool) -> dict[str, Any]:
    return solid(BLUE, "o") if kept else hollow("D")


def draw_course(course: Course, ax: Any) -> None:
    """Draw one score of all steps on axes."""
    if course.original is not None:
        ax.axhline(course.original, color="black", linewidth=1, linestyle=":", zorder=1)
        where = {
            "xycoords": ax.get_yaxis_transform(),
            "textcoords": "offset points",
            "annotation_clip": False,
        }
        ax.annotate(
            "original", (1, course.original), (3, 0), ha="left", va="center", fontsize=8, **where
        )
    if course.chosen is not None:
        ax.axvline(course.chosen, zorder=1, **_CHOSEN)
    dots = [(dot, dot.found) for dot in sorted(course.dots, key=lambda dot: dot.added) if dot.found]
    ax.plot(
        [dot.added for dot, _ in dots],
        [found[0] for _, found in dots],
        color="0.6",
        linewidth=1,
        zorder=2,
    )
    for dot, (value, low, high) in dots:
        look = POINT | _step_look(kept=dot.kept) | {"capsize": 3, "elinewidth": 1.4, "zorder": 3}
        ax.errorbar([dot.added], [value], yerr=[[value - low], [high - value]], **look)
        ax.annotate(
            str(dot.number), (dot.added, value), (6, 3), textcoords="offset points", fontsize=8
        )
    _scale(course, ax)


def _scale(course: Course, ax: Any) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    low, high = (end(dot.added for dot in course.dots) for end in (min, max))
    if low > 0 and high >= _TO_SCALE * low:
        ax.set_xscale("log")
        ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        ax.xaxis.set_minor_locator(NullLocator())
        ax.set_xlim(low / 1.25, high * 1.25)
    else:
        margin = 0.06 * (high - low) or 0.5 * high or 1.0
        ax.set_xlim(low - margin, high + margin)
    ax.xaxis.set_major_formatter(FuncFormatter(lambda added, _: number_text.hundredths(added)))
    ax.margins(y=0.12)
    if course.share and course.percent:
        bottom, top = ax.get_ylim()
        ax.set_ylim(bottom=min(bottom, -0.03 * top))  # the marker of a share of 0 stays whole
    ticks(ax.yaxis, percent=course.percent)
    ax.set_ylabel("\n".join(literal(line, 34) for line in course.score.split("\n")), fontsize=9)
    ax.grid(axis="y", color="0.92")
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
