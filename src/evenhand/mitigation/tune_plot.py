"""A tuning drawn: area, performance and bias against values of a parameter (Fairea, Figure 5)."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.compare.plot import LOOKS, head, span, ticks
from evenhand.methods.compare.text import about, claim_of
from evenhand.report.canvas import (
    BLUE,
    GREY,
    WIDTH,
    Display,
    draw_original,
    inches,
    literal,
)
from evenhand.report.ranked_bars import flowed
from evenhand.runtime import number_text
from evenhand.statistics.estimate import Amount, Verdict

if TYPE_CHECKING:
    from evenhand.mitigation.tune import Tuning
    from evenhand.statistics.estimate import Estimate

CLOSE_TOGETHER = 0.03
"""The least gap between two values, as a share of their range, that an axis to scale can show."""
MOST_TICKS = 12
"""The most values that are written under an axis."""
_AREAS_HEIGHT = 3.6
"""Inches that the panel of areas is high."""
_CURVE_HEIGHT = 1.9
"""Inches that the panels of performance and of bias are high."""


@dataclass(frozen=True, slots=True)
class Curve:
    """One score against the parameter.

    `points` are value, low and high for each value of the parameter; `original` is the score of the
    original, if it has one.
    """

    axis: str
    points: tuple[tuple[float, float, float], ...]
    original: float | None = None
    percent: bool = False


@dataclass
class TuningDisplay(Display):
    """The area of each value of a parameter with its interval; below it performance and bias.

    The best value is marked.

    `places` are those of the values on the axis: the values themselves where they are numbers that
    an axis can show apart, and otherwise 0, 1, 2 and so on. `best` is the place in the order of
    values, or None.

    >>> from evenhand.methods.compare.compare import compare
    >>> from evenhand.mitigation.tune import Tuning
    >>> sex, truth = ["f", "f", "f", "m", "m"] * 60, [0, 1, 0, 1, 1] * 60
    >>> original, first = [0, 0, 0, 1, 1] * 60, [0, 0, 0, 0, 1] * 60
    >>> comparison = compare({"original": original, "eta = 1": first, "eta = 5": truth}, truth, sex)
    >>> display = TuningDisplay.from_tuning(Tuning("eta", (1, 5), comparison, 5, None))
    >>> display.places, display.best, display.curves[1].points[1][0]
    ((1.0, 5.0), 1, 1.0)
    """

    title: str
    note: str
    axis: str
    labels: tuple[str, ...]
    places: tuple[float, ...]
    verdicts: tuple[Verdict, ...]
    contenders: tuple[bool, ...]
    best: int | None
    curves: tuple[Curve, Curve, Curve]

    @classmethod
    def from_tuning(cls, tuning: Tuning) -> TuningDisplay:
        """Compute what is drawn of a tuning."""
        found = tuning.comparison
        standings = found.standings
        names = [standing.name for standing in standings]
        to_scale, places = _places(tuning.values)
        performance, bias = found.start
        areas = Curve(
            "area over blind overwriting",
            tuple(span(standing.gain) for standing in standings),
        )
        performances = _curve(
            f"performance: {found.performance}",
            performance,
            [standing.performance for standing in standings],
        )
        biases = _curve(
            f"bias: {found.bias}",
            bias,
            [standing.bias for standing in standings],
        )
        return cls(
            title=_title(tuning),
            note=f"intervals: {performance.method}",
            axis=tuning.parameter if to_scale else f"{tuning.parameter}, not to scale",
            labels=tuple(map(_label, tuning.values)),
            places=places,
            verdicts=tuple(standing.verdict for standing in standings),
            contenders=tuple(name in found.contenders for name in names),
            best=None if found.best is None else names.index(found.best),
            curves=(areas, performances, biases),
        )

    def plot(self, ax: Any = None) -> TuningDisplay:
        """Draw on axes given (the areas alone), or all on a new figure, and return the display."""
        sizes = [(WIDTH, _AREAS_HEIGHT), (WIDTH, _CURVE_HEIGHT), (WIDTH, _CURVE_HEIGHT)]
        areas, *other_curves = self.curves
        first, *other_axes = self._open(ax, sizes)
        _draw_areas(self, areas, first)
        # Axes given by the user have no room for the other curves.
        for axes, curve in zip(other_axes, other_curves, strict=False):
            _draw_curve(self, curve, axes)
        last = self.axes_[-1]
        width, _ = inches(last)
        note = flowed(self.note, width, 0.9)
        last.set_xlabel(f"{literal(self.axis)}\n{note}", fontsize=9)
        return self


def _label(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return str(value)


def _curve(name: str, start: Estimate, estimates: list[Estimate]) -> Curve:
    points = tuple(map(span, estimates))
    is_share = not isinstance(start, Amount)
    return Curve(name, points, start.value, percent=is_share)


def _places(values: tuple[Any, ...]) -> tuple[bool, tuple[float, ...]]:
    """Return whether values can stand to scale, and their places on the axis.

    >>> _places((1, 2, 5)), _places((0, 0.001, 5)), _places(("low", "high"))
    ((True, (1.0, 2.0, 5.0)), (False, (0.0, 1.0, 2.0)), (False, (0.0, 1.0)))
    """
    if all(_is_number(value) for value in values):
        numbers = np.array(values, dtype=np.float64)
        gaps = np.diff(np.sort(numbers))
        smallest_visible = CLOSE_TOGETHER * np.ptp(numbers)
        if np.isfinite(numbers).all() and (gaps > smallest_visible).all():
            return True, tuple(numbers.tolist())
    return False, tuple(map(float, range(len(values))))


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _title(tuning: Tuning) -> str:
    """Return which value is the best, how many others may be, and how it stands in the end."""
    found = tuning.comparison
    parameter = tuning.parameter
    number_of_values = number_text.many(len(tuning.values), "value")
    compared = about(found, f"{number_of_values} of {parameter}")
    if found.best is None:
        return (
            f"no value of {parameter} lies over the line of blind overwriting\n{compared}"
        )
    others = len(set(found.contenders) - {found.best})
    if others:
        rivals = f"{number_text.many(others, 'other value')} may be the best"
    else:
        rivals = "no other value may be the best"
    lines = [f"best: {found.best}; {rivals}"]
    if tuning.chosen is not None:
        claim = claim_of(tuning.chosen.standings[0])
        lines.append(f"on rows kept for the end: {claim}")
    lines.append(compared)
    return "\n".join(lines)


def _draw_areas(display: TuningDisplay, curve: Curve, ax: Any) -> None:
    values = np.array(curve.points)
    _draw_best(ax, display, label="best")
    _join(ax, display.places, values[:, 0])
    kinds = list(zip(display.verdicts, display.contenders, strict=True))
    for verdict, contends in dict.fromkeys(kinds):
        name, colour, marker = LOOKS[verdict]
        look = {"fmt": marker, "label": name}
        # Nobody takes a hollow marker for the best.
        if not contends and verdict is not Verdict.FAIL:
            look["label"] = f"{name}, not the best"
            look["markerfacecolor"] = "white"
            look["markeredgecolor"] = colour
        chosen = [place for place, kind in enumerate(kinds) if kind == (verdict, contends)]
        _draw_points(ax, display, values, chosen, colour, **look)
    # One long interval must not press the curve to the ground.
    highest = values[:, 2].max()
    top = min(highest, 4 * values[:, 0].max()) or highest or 1.0
    ax.set_ylim(-0.05 * top, 1.08 * top)
    _finish(ax, display, curve)
    head(ax, display.title)


def _draw_best(ax: Any, display: TuningDisplay, **look: Any) -> None:
    """Draw a line at the best value, if there is one."""
    if display.best is None:
        return
    place = display.places[display.best]
    ax.axvline(place, color=BLUE, linewidth=1.2, linestyle="--", zorder=1, **look)


def _draw_curve(display: TuningDisplay, curve: Curve, ax: Any) -> None:
    values = np.array(curve.points)
    if curve.original is not None:
        draw_original(ax, curve.original)
    _draw_best(ax, display)
    _join(ax, display.places, values[:, 0])
    all_values = list(range(len(values)))
    _draw_points(ax, display, values, all_values, BLUE, fmt="o", markersize=5)
    _finish(ax, display, curve)


def _join(ax: Any, places: tuple[float, ...], values: Any) -> None:
    order = np.argsort(places)
    sorted_places = np.array(places)[order]
    ax.plot(sorted_places, values[order], color=GREY, linewidth=1, zorder=2)


def _draw_points(
    ax: Any,
    display: TuningDisplay,
    values: Any,
    chosen: list[int],
    colour: str,
    **look: Any,
) -> None:
    middle, low, high = values[chosen].T
    places = np.array(display.places)[chosen]
    below = np.maximum(middle - low, 0)
    above = np.maximum(high - middle, 0)
    shape = {
        "markersize": 8,
        "markeredgecolor": "black",
        "capsize": 3,
        "elinewidth": 1.2,
        "zorder": 3,
    } | look
    ax.errorbar(places, middle, yerr=[below, above], color=colour, **shape)


def _finish(ax: Any, display: TuningDisplay, curve: Curve) -> None:
    ticks(ax.yaxis, percent=curve.percent)
    ax.set_ylabel(literal(curve.axis, 30), fontsize=9)
    # Rounded up, so that at most MOST_TICKS values are written.
    every = -(-len(display.places) // MOST_TICKS)
    labels = [literal(label, 12) for label in display.labels[::every]]
    ax.set_xticks(display.places[::every], labels)
    margin = 0.05 * np.ptp(display.places) or 0.5
    ax.set_xlim(min(display.places) - margin, max(display.places) + margin)
    ax.grid(axis="y", color="0.92")
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)


def display_of(tuning: Tuning) -> TuningDisplay:
    """Return the display of a tuning."""
    return TuningDisplay.from_tuning(tuning)
