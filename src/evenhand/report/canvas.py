"""What the displays share: axes to draw on, texts, and colours that everybody can tell apart."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, TypeAlias

from evenhand.runtime import number_text
from evenhand.runtime.errors import MissingExtra, clip, printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    Size: TypeAlias = tuple[float, float]
    """A width and a height in inches."""

# The palette of Okabe and Ito (2008), which is safe for the colour-blind.
VERMILLION = "#D55E00"
ORANGE = "#E69F00"
YELLOW = "#F0E442"
GREEN = "#009E73"
BLUE = "#0072B2"
SKY = "#56B4E9"
PURPLE = "#CC79A7"
GREY = "0.35"
WIDTH = 8.0
"""Inches that a figure of our own is wide where its content asks for no more."""


class Display(ABC):
    """A drawing of a result.

    What it shows is computed once. `plot` draws it, and keeps `ax_`, `axes_` and `figure_`.
    """

    ax_: Any
    axes_: tuple[Any, ...]
    figure_: Any

    @abstractmethod
    def plot(self, ax: Any = None) -> Any:
        """Draw on axes given, or on a new figure, and return the display."""

    def _repr_html_(self) -> str:
        from evenhand.formats import notebook_html

        return notebook_html("drawing", self)

    def _open(self, ax: Any, sizes: Sequence[Size]) -> tuple[Any, ...]:
        """Return the axes to draw panels on: the one given, or new ones of these sizes."""
        if ax is None:
            self.figure_, axes = _new_axes(sizes)
        else:
            self.figure_ = ax.figure
            axes = [ax]
        self.ax_ = axes[0]
        self.axes_ = tuple(axes)
        return self.axes_


def _new_axes(sizes: Sequence[Size]) -> tuple[Any, list[Any]]:
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise MissingExtra("drawing a result", "plot") from error
    heights = [height for _, height in sizes]
    width = max(width for width, _ in sizes)
    figure, axes = pyplot.subplots(
        len(sizes),
        squeeze=False,
        figsize=(width, sum(heights)),
        height_ratios=heights,
        layout="constrained",
    )
    return figure, list(axes[:, 0])


def inches(ax: Any) -> tuple[float, float]:
    """Return how wide and high axes are."""
    to_inches = ax.figure.dpi_scale_trans.inverted()
    box = ax.get_window_extent().transformed(to_inches)
    return float(box.width), float(box.height)


def intervals(
    ax: Any, rows: Sequence[tuple[int, Any]], colour: str, marker: str, name: str
) -> None:
    """Draw a value with its interval in each of some rows.

    A row is a place, and an object with a `value` between `low` and `high`.
    """
    places = [place for place, _ in rows]
    values = [row.value for _, row in rows]
    lows = [row.low for _, row in rows]
    highs = [row.high for _, row in rows]
    ax.hlines(places, lows, highs, color=colour, linewidth=2)
    ax.plot(
        values,
        places,
        marker,
        color=colour,
        markeredgecolor="black",
        markersize=8,
        label=name,
    )


def finish_rows(
    ax: Any, labels: Sequence[str], axis: str, title: str, *, limited: bool
) -> None:
    """Name the rows from top to bottom, the axis of shares, and the whole; a legend has room."""
    from matplotlib.ticker import FuncFormatter

    rows = len(labels)
    ax.set_yticks(range(rows), labels, fontsize=9)
    ax.set_ylim(rows - 0.4, -0.6)
    in_percent = FuncFormatter(lambda share, _: number_text.percent_plain(share))
    ax.xaxis.set_major_formatter(in_percent)
    ax.set_xlabel(axis, loc="right")
    # The legend stands between the axes and the title.
    pad = 24 if limited else 6
    ax.set_title(title, loc="left", fontsize="medium", pad=pad)
    ax.grid(axis="x", color="0.9")
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)


def literal(text: str, width: int = 60) -> str:
    r"""Return text that matplotlib shows letter by letter, on one line, cut to a width.

    A dollar does not begin a formula.

    >>> literal("$a$ to $b$", 8)
    '\\$a\\$ to …'
    """
    return printable(clip(text, width)).replace("$", r"\$")


def unescaped(text: str, joined: str = " ") -> str:
    r"""Return on one line what a drawing shows of a text, for pages, where nothing is a formula.

    >>> unescaped(literal("$a$") + "\nb", "; ")
    '$a$; b'
    """
    lines = text.replace(r"\$", "$").split("\n")
    shown = ""
    for line in lines:
        between = " " if shown.endswith((",", ";")) else joined
        shown += between if shown else ""
        shown += " ".join(line.split())
    return shown


def draw_original(ax: Any, value: float) -> None:
    """Draw what there was before a change as a line that is named at its right end."""
    ax.axhline(value, color="black", linewidth=1, linestyle=":", zorder=1)
    ax.annotate(
        "original",
        xy=(1, value),
        xytext=(3, 0),
        ha="left",
        va="center",
        fontsize=8,
        xycoords=ax.get_yaxis_transform(),
        textcoords="offset points",
        annotation_clip=False,
    )
