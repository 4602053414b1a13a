"""A tuning drawn: area, performance and bias against the values of a parameter (Fairea RQ3, Figure
5).
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.compare.plot import LOOKS, head, span, ticks
from evenhand.methods.compare.text import about, claim_of
from evenhand.report.canvas import BLUE, GREY, WIDTH, Display, inches, literal
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
_FIRST, _OTHERS = 3.6, 1.9
"""Inches that the panel of areas is high, and those of performance and bias."""


@dataclass(frozen=True, slots=True)
class Curve:
    """One score against the parameter: value, low and high for each, and what the original has, if
    it has any.
    """

    axis: str
    points: tuple[tuple[float, float, float], ...]
    original: float | None = None
    percent: bool = False


@dataclass
class TuningDisplay(Display):
    """The area of each value of a parameter with its interval, the best of them marked; below it
    performance and bias.

    `places` are those of the values on the axis: the values themselves where they are numbers that
    an axis can show apart, and otherwise 0, 1, 2 and so on. `best` is the place in the order of
    values, or None.

    >>> from evenhand.methods.compare.compare import compare
    >>> from evenhand.mitigation.tune import Tuning
    >>> sex, truth = ["f", "f", "f", "m", "m"] * 60, [0, 1, 0, 1, 1] * 60
    >>> told = {"original": [0, 0, 0, 1, 1] * 60, "eta = 1": [0, 0, 0, 0, 1] * 60, "eta = 5": truth}
    >>> display = TuningDisplay.from_tuning(Tuning("eta", (1, 5), compare(told, truth, sex), 5, None))
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
        standings, names = found.standings, [one.name for one in found.standings]
        scaled, places = _places(tuning.values)
        return cls(
            _title(tuning),
            f"intervals: {found.start[0].method}",
            f"{tuning.parameter}{'' if scaled else ', not to scale'}",
            tuple(
                f"{value:.6g}" if isinstance(value, float) else str(value)
                for value in tuning.values
            ),
            places,
            tuple(one.verdict for one in standings),
            tuple(name in found.contenders for name in names),
            None if found.best is None else names.index(found.best),
            (
                Curve("area over blind overwriting", tuple(span(one.gain) for one in standings)),
                _curve(
                    f"performance: {found.performance}",
                    found.start[0],
                    [one.performance for one in standings],
                ),
                _curve(f"bias: {found.bias}", found.start[1], [one.bias for one in standings]),
            ),
        )

    def plot(self, ax: Any = None) -> TuningDisplay:
        """Draw on axes given (the areas alone), or all on a new figure, and return the display."""
        sizes = [(WIDTH, _FIRST), (WIDTH, _OTHERS), (WIDTH, _OTHERS)]
        areas, *others = self.curves
        first, *rest = self._open(ax, sizes)
        _draw_areas(self, areas, first)
        for axes, curve in zip(rest, others, strict=False):
            _draw_curve(self, curve, axes)
        last = self.axes_[-1]
        under = f"{literal(self.axis)}\n{flowed(self.note, inches(last)[0], 0.9)}"
        last.set_xlabel(under, fontsize=9)
        return self


def _curve(name: str, start: Estimate, estimates: list[Estimate]) -> Curve:
    return Curve(name, tuple(map(span, estimates)), start.value, not isinstance(start, Amount))


def _places(values: tuple[Any, ...]) -> tuple[bool, tuple[float, ...]]:
    """Return whether values can stand to scale, and their places on the axis.

    >>> _places((1, 2, 5)), _places((0, 0.001, 5)), _places(("low", "high"))
    ((True, (1.0, 2.0, 5.0)), (False, (0.0, 1.0, 2.0)), (False, (0.0, 1.0)))
    """
    if all(isinstance(value, Real) and not isinstance(value, bool) for value in values):
        numbers = np.array(values, dtype=np.float64)
        gaps = np.diff(np.sort(numbers))
        if np.isfinite(numbers).all() and (gaps > CLOSE_TOGETHER * np.ptp(numbers)).all():
            return True, tuple(numbers.tolist())
    return False, tuple(map(float, range(len(values))))


def _title(tuning: Tuning) -> str:
    """Say which value is the best, how many others may be, and how it stands on the rows kept for
    the end.
    """
    found, what = tuning.comparison, tuning.parameter
    compared = about(found, f"{number_text.many(len(tuning.values), 'value')} of {what}")
    if found.best is None:
        return f"no value of {what} lies over the line of blind overwriting\n{compared}"
    others = len(set(found.contenders) - {found.best})
    said = (
        f"{number_text.many(others, 'other value')} may be the best"
        if others
        else "no other value may be the best"
    )
    kept = (
        ""
        if tuning.chosen is None
        else f"\non rows kept for the end: {claim_of(tuning.chosen.standings[0])}"
    )
    return f"best: {found.best}; {said}{kept}\n{compared}"


def _draw_areas(display: TuningDisplay, curve: Curve, ax: Any) -> None:
    values = np.array(curve.points)
    if display.best is not None:
        ax.axvline(
            display.places[display.best],
            color=BLUE,
            linewidth=1.2,
            linestyle="--",
            label="best",
            zorder=1,
        )
    _join(ax, display.places, values[:, 0])
    kinds = list(zip(display.verdicts, display.contenders, strict=True))
    for verdict, contends in dict.fromkeys(kinds):
        name, colour, marker = LOOKS[verdict]
        look = {"fmt": marker, "label": name}
        if not contends and verdict is not Verdict.FAIL:  # nobody takes a hollow one for the best
            look |= {
                "label": f"{name}, not the best",
                "markerfacecolor": "white",
                "markeredgecolor": colour,
            }
        at = [place for place, kind in enumerate(kinds) if kind == (verdict, contends)]
        _draw_points(ax, display, values, at, colour, **look)
    # One long interval must not press the curve to the ground.
    top = min(values[:, 2].max(), 4 * values[:, 0].max()) or values[:, 2].max() or 1.0
    ax.set_ylim(-0.05 * top, 1.08 * top)
    _finish(ax, display, curve)
    head(ax, display.title)


def _draw_curve(display: TuningDisplay, curve: Curve, ax: Any) -> None:
    values = np.array(curve.points)
    if curve.original is not None:
        ax.axhline(curve.original, color="black", linewidth=1, linestyle=":", zorder=1)
        where = {
            "xycoords": ax.get_yaxis_transform(),
            "textcoords": "offset points",
            "annotation_clip": False,
        }
        ax.annotate(
            "original", (1, curve.original), (3, 0), ha="left", va="center", fontsize=8, **where
        )
    if display.best is not None:
        ax.axvline(
            display.places[display.best], color=BLUE, linewidth=1.2, linestyle="--", zorder=1
        )
    _join(ax, display.places, values[:, 0])
    _draw_points(ax, display, values, list(range(len(values))), BLUE, fmt="o", markersize=5)
    _finish(ax, display, curve)


def _join(ax: Any, places: tuple[float, ...], values: Any) -> None:
    order = np.argsort(places)
    ax.plot(np.array(places)[order], values[order], color=GREY, linewidth=1, zorder=2)


def _draw_points(
    ax: Any, display: TuningDisplay, values: Any, at: list[int], colour: str, **look: Any
) -> None:
    (middle, low, high), places = values[at].T, np.array(display.places)[at]
    errors = [np.maximum(middle - low, 0), np.maximum(high - middle, 0)]
    shape = {
        "markersize": 8,
        "markeredgecolor": "black",
        "capsize": 3,
        "elinewidth": 1.2,
        "zorder": 3,
    } | look
    ax.errorbar(places, middle, yerr=errors, color=colour, **shape)


def _finish(ax: Any, display: TuningDisplay, curve: Curve) -> None:
    ticks(ax.yaxis, percent=curve.percent)
    ax.set_ylabel(literal(curve.axis, 30), fontsize=9)
    every = -(-len(display.places) // MOST_TICKS)
    ax.set_xticks(
        display.places[::every], [literal(label, 12) for label in display.labels[::every]]
    )
    margin = 0.05 * np.ptp(display.places) or 0.5
    ax.set_xlim(min(display.places) - margin, max(display.places) + margin)
    ax.grid(axis="y", color="0.92")
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)


def display_of(tuning: Tuning) -> TuningDisplay:
    """Return the display of a tuning."""
    return TuningDisplay.from_tuning(tuning)
