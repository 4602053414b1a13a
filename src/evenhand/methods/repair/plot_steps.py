"""The steps of a repair drawn: what came of each against what it added."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evenhand.methods.compare.plot import span, ticks
from evenhand.methods.repair import messages
from evenhand.report.canvas import BLUE, GREY, draw_original, literal
from evenhand.runtime import number_text
from evenhand.runtime.errors import clip
from evenhand.statistics.estimate import Amount

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from evenhand.methods.repair.repair_result import Repair
    from evenhand.methods.repair.steps import RepairCheck, Step
    from evenhand.statistics.estimate import Estimate

    Span = tuple[float, float, float]
    Entry = tuple[dict[str, Any], str]

SHARES = messages.SHARE_OF_INPUTS
PEOPLE = messages.SHARE_OF_PEOPLE
GAPS = messages.GAP_BETWEEN_GROUPS
POINT = {"linestyle": "", "markersize": 7}
_CHOSEN = {"color": BLUE, "linewidth": 1.2, "linestyle": "--"}
_FIRST = 2.6
"""Inches that the panel of the score is high."""
_OTHERS = 1.5
"""Inches that other panels are high."""
_TO_SCALE = 10
"""How often the least percentage may fit into the largest on an axis to scale."""


@dataclass(frozen=True, slots=True)
class Dot:
    """One step in a panel."""

    number: int
    added: float
    """In percent of the training rows."""
    found: Span | None
    """Value, low and high, None where there is no data."""
    kept: bool


@dataclass(frozen=True, slots=True)
class Course:
    """One score of each step against what was added, from 0 on if it is a share.

    `original` is what there was before, and `chosen` is what the step added that the repaired model
    comes from.
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
    """Return what the score is that a repair is about: a share of people or inputs, or a gap."""
    return steps_of(repair) if repair.inputs is None else PEOPLE


def steps_of(repair: Repair) -> str:
    """Return what the score is by which steps are judged: a share of inputs, or a gap."""
    return SHARES if isinstance(repair.about, tuple) else GAPS


def note_of(estimates: Iterable[Estimate]) -> str:
    """Return the levels of the intervals and the populations."""
    known = [estimate for estimate in estimates if estimate.n]
    notes = []
    levels = sorted({estimate.level for estimate in known if estimate.level < 1})
    if levels:
        notes.append(
            messages.INTERVALS_AT.format(levels=number_text.percent_levels(levels))
        )
    populations = [estimate.population for estimate in known if estimate.population]
    for population in dict.fromkeys(populations):
        notes.append(messages.POPULATION.format(population=clip(population, 75)))
    return "; ".join(notes)


def courses_of(repair: Repair) -> tuple[Course, ...]:
    """Return what is drawn of the steps: the score that a repair is about, and the performance."""
    steps = repair.history
    if not steps:
        return ()
    kept = [step.percent for step in steps if step.kept and repair.changed]
    chosen = kept[-1] if kept else None
    start = steps[0].change.before
    original = None
    if not math.isnan(start.value):
        original = start.value
    score = Course(
        score=steps_of(repair),
        axis="",
        dots=tuple(_score_dot(step) for step in steps),
        percent=not isinstance(start, Amount),
        note=note_of(step.change.after for step in steps),
        chosen=chosen,
        original=original,
        share=True,
    )
    performance = Course(
        score=messages.PERFORMANCE_AXIS.format(name=name_of(repair.performance)),
        axis=messages.ADDED_AXIS,
        dots=tuple(_performance_dot(step) for step in steps),
        percent=not isinstance(repair.performance.before, Amount),
        chosen=chosen,
    )
    return score, performance


def _score_dot(step: Step) -> Dot:
    after = step.change.after
    found = None if math.isnan(after.value) else span(after)
    return Dot(step.number, step.percent, found, step.kept)


def _performance_dot(step: Step) -> Dot:
    """Return the performance on validation rows, which has no interval."""
    value = step.accuracy
    found = None if math.isnan(value) else (value, value, value)
    return Dot(step.number, step.percent, found, step.kept)


def course_entries(courses: Iterable[Course]) -> list[Entry]:
    """Return the looks and names of a legend."""
    outcomes = set()
    chosen = False
    for course in courses:
        outcomes |= {dot.kept for dot in course.dots if dot.found}
        chosen = chosen or course.chosen is not None
    entries: list[Entry] = []
    if True in outcomes:
        entries.append((POINT | _step_look(kept=True), "kept"))
    if False in outcomes:
        entries.append((POINT | _step_look(kept=False), "not kept"))
    if chosen:
        entries.append((_CHOSEN, "chosen"))
    return entries


def hollow(marker: str) -> dict[str, Any]:
    """Return the look of a point that is not filled."""
    return {
        "marker": marker,
        "color": GREY,
        "markerfacecolor": "white",
        "markeredgecolor": "black",
    }


def solid(colour: str, marker: str) -> dict[str, Any]:
    """Return the look of a filled point."""
    return {"marker": marker, "color": colour, "markeredgecolor": "black"}


def _step_look(*, kept: bool) -> dict[str, Any]:
    return solid(BLUE, "o") if kept else hollow("D")


def draw_course(course: Course, ax: Any) -> None:
    """Draw one score of all steps on axes."""
    if course.original is not None:
        draw_original(ax, course.original)
    if course.chosen is not None:
        ax.axvline(course.chosen, zorder=1, **_CHOSEN)
    places = []
    values = []
    dots = sorted(course.dots, key=lambda dot: dot.added)
    for dot in dots:
        if dot.found:
            places.append(dot.added)
            values.append(dot.found[0])
    ax.plot(places, values, color="0.6", linewidth=1, zorder=2)
    for dot in dots:
        if dot.found:
            _draw_dot(dot, dot.found, ax)
    _scale(course, ax)


def _draw_dot(dot: Dot, found: Span, ax: Any) -> None:
    """Draw one step with its interval and its number."""
    value, low, high = found
    look = POINT | _step_look(kept=dot.kept)
    ax.errorbar(
        [dot.added],
        [value],
        yerr=[[value - low], [high - value]],
        capsize=3,
        elinewidth=1.4,
        zorder=3,
        **look,
    )
    ax.annotate(
        str(dot.number),
        (dot.added, value),
        (6, 3),
        textcoords="offset points",
        fontsize=8,
    )


def is_to_scale(added: Sequence[float]) -> bool:
    """Return whether percentages span so much that their axis is logarithmic."""
    low = min(added)
    return low > 0 and max(added) >= _TO_SCALE * low


def _scale(course: Course, ax: Any) -> None:
    """Set both axes: that of what was added is logarithmic where steps span much."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    added = [dot.added for dot in course.dots]
    low = min(added)
    high = max(added)
    if is_to_scale(added):
        ax.set_xscale("log")
        ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        ax.xaxis.set_minor_locator(NullLocator())
        ax.set_xlim(low / 1.25, high * 1.25)
    else:
        margin = 0.06 * (high - low) or 0.5 * high or 1.0
        ax.set_xlim(low - margin, high + margin)
    percent = FuncFormatter(lambda added, _: number_text.hundredths(added))
    ax.xaxis.set_major_formatter(percent)
    ax.margins(y=0.12)
    if course.share and course.percent:
        bottom, top = ax.get_ylim()
        # The marker of a share of 0 stays whole.
        ax.set_ylim(bottom=min(bottom, -0.03 * top))
    ticks(ax.yaxis, percent=course.percent)
    label = [literal(line, 34) for line in course.score.split("\n")]
    ax.set_ylabel("\n".join(label), fontsize=9)
    ax.grid(axis="y", color="0.92")
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
