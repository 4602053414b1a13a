"""What the displays share: axes to draw on, labels taken as they are, and colours that everybody
can tell apart.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from evenhand.runtime import number_text
from evenhand.runtime.errors import MissingExtra, clip, printable

if TYPE_CHECKING:
    from collections.abc import Sequence

VERMILLION, ORANGE, YELLOW, GREEN, BLUE, SKY, PURPLE = (
    "#D55E00",
    "#E69F00",
    "#F0E442",
    "#009E73",
    "#0072B2",
    "#56B4E9",
    "#CC79A7",
)
"""The palette of Okabe and Ito, which is safe for the colour-blind."""
GREY = "0.35"
WIDTH = 8.0
"""Inches that a figure of our own is wide where its content asks for no more."""


class Display(ABC):
    """A drawing of a result: what it shows is computed once, `plot` draws it and keeps `ax_`,
    `axes_` and `figure_`.
    """

    ax_: Any
    axes_: tuple[Any, ...]
    figure_: Any

    @abstractmethod
    def plot(self, ax: Any = None) -> Any:
        """Draw on axes given, or on a new figure, and return the display."""

    def _open(self, ax: Any, sizes: Sequence[tuple[float, float]]) -> tuple[Any, ...]:
        """Return the axes to draw panels on: those given, for the first, or new ones that are this
        wide and high.
        """
        if ax is None:
            self.figure_, axes = _new_axes(sizes)
        else:
            self.figure_, axes = ax.figure, [ax]
        self.ax_, self.axes_ = axes[0], tuple(axes)
        return self.axes_


def _new_axes(sizes: Sequence[tuple[float, float]]) -> tuple[Any, list[Any]]:
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise MissingExtra("drawing a result", "plot") from error
    heights = [high for _, high in sizes]
    figure, axes = pyplot.subplots(
        len(sizes),
        squeeze=False,
        figsize=(max(wide for wide, _ in sizes), sum(heights)),
        height_ratios=heights,
        layout="constrained",
    )
    return figure, list(axes[:, 0])


def inches(ax: Any) -> tuple[float, float]:
    """Return how wide and high axes are."""
    box = ax.get_window_extent().transformed(ax.figure.dpi_scale_trans.inverted())
    return float(box.width), float(box.height)


def intervals(
    ax: Any, rows: Sequence[tuple[int, Any]], colour: str, marker: str, name: str
) -> None:
    """Draw a value with its interval in each of some rows: at a place, from what has a value, a low
    and a high end.
    """
    places = [place for place, _ in rows]
    values, lows, highs = (
        [getattr(one, field) for _, one in rows] for field in ("value", "low", "high")
    )
    ax.hlines(places, lows, highs, color=colour, linewidth=2)
    ax.plot(values, places, marker, color=colour, markeredgecolor="black", markersize=8, label=name)


def finish_rows(ax: Any, labels: Sequence[str], axis: str, title: str, *, limited: bool) -> None:
    """Name the rows from top to bottom, the axis of shares below them, and what they are; a legend
    has room.
    """
    from matplotlib.ticker import FuncFormatter

    ax.set_yticks(range(len(labels)), labels, fontsize=9)
    ax.set_ylim(len(labels) - 0.4, -0.6)
    ax.xaxis.set_major_formatter(FuncFormatter(lambda share, _: number_text.percent_plain(share)))
    ax.set_xlabel(axis, loc="right")
    # The legend stands between the axes and the title.
    ax.set_title(title, loc="left", fontsize="medium", pad=24 if limited else 6)
    ax.grid(axis="x", color="0.9")
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)


def literal(text: str, width: int = 60) -> str:
    r"""Return text as matplotlib shows it letter by letter, on one line and cut to a width; a
    dollar is no formula.

    >>> literal("$a$ to $b$", 8)
    '\\$a\\$ to …'
    """
    return printable(clip(text, width)).replace("$", r"\$")
