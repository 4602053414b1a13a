"""Ranked bars: rule sets by how far they are from others, with intervals and rates beside them."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand.report.canvas import BLUE, GREY, VERMILLION, WIDTH, inches, literal
from evenhand.runtime import number_text
from evenhand.runtime.errors import clip

LABEL = 38
"""Letters that fit on a line before a bar."""

# Inches of what a panel is made of.
_GROUPED = 10_000
"""Ticks of at least this have their digits in groups."""
_LINE = 0.16
_GAP = 0.16
_BAR = 0.2
_AROUND = 0.95
_LETTER = 0.07
_TITLE_LETTER = 0.071

_AXES_SHARE = 0.775
"""The part of a new figure that axes take before their labels are known."""
_TITLE_SHARE = 0.72
_NOTE_SHARE = 0.8
"""The parts of the width of axes that the lines over and under them may take."""
_SPARE = 0.15
"""The part of their height that bars can do without."""
_POINTS_PER_INCH = 72
_NO_BREAK_SPACE = "\N{NO-BREAK SPACE}"
_OFFSET: dict[str, Any] = {
    "textcoords": "offset points",
    "annotation_clip": False,
}


@dataclass(frozen=True, slots=True)
class Bar:
    """One rule set: how far it is from others, the interval, whether that is sure, and texts."""

    label: str
    value: float
    low: float
    high: float
    sure: bool
    beside: tuple[str, ...] = ()

    @property
    def ends(self) -> tuple[float, float]:
        """The interval on the side of nought on which the value lies."""
        if self.value < 0:
            return -self.high, -self.low
        return self.low, self.high


@dataclass(frozen=True, slots=True)
class RemainingRules:
    """All rule sets that have no bar: the largest distance among them, and its upper limit."""

    label: str
    value: float
    high: float


@dataclass(frozen=True, slots=True)
class Bars:
    """Rule sets from top to bottom, best evidence first, and the rest of them last.

    `sides` say what it means to be left and right of nought; without them nothing is on the left.

    >>> bar = Bar("sex F", -0.2, 0.1, 0.3, sure=True, beside=("90",))
    >>> rest = RemainingRules("others", 0.1, 0.2)
    >>> Bars("women get less", (), ("rows",), (bar,), rest, sides=("less", "more")).labels
    ['sex F', 'others']
    """

    title: str
    notes: tuple[str, ...]
    headers: tuple[str, ...]
    bars: tuple[Bar, ...]
    rest: RemainingRules | None = None
    limit: float | None = None
    sides: tuple[str, str] | None = None
    percent: bool = True

    @property
    def size(self) -> tuple[float, float]:
        """Inches that the panel takes."""
        width = WIDTH + 1
        around = self._around(_AXES_SHARE * width)
        return width, around + sum(self._heights)

    @property
    def labels(self) -> list[str]:
        """What stands before each bar, the rest last."""
        labels = [bar.label for bar in self.bars]
        if self.rest is not None:
            labels.append(self.rest.label)
        return labels

    @property
    def _signed(self) -> bool:
        """Whether there are bars on both sides of nought."""
        return self.sides is not None

    def _around(self, width: float) -> float:
        """Return the inches over and under the bars of axes that wide."""
        lines = f"{self._over(width)}\n{self._under(width)}"
        breaks = lines.count("\n") + len(self._legend)
        return _AROUND + _LINE * breaks

    def _over(self, width: float) -> str:
        return flowed(self.title, _TITLE_SHARE * width)

    def _under(self, width: float) -> str:
        room = _NOTE_SHARE * width
        notes = [flowed(note, room, 0.9) for note in self.notes]
        return "\n".join(notes)

    @property
    def _heights(self) -> list[float]:
        """Inches that each bar takes, as its label needs."""
        heights = []
        for label in self.labels:
            lines = 1 + label.count("\n")
            heights.append(_GAP + _LINE * lines)
        return heights

    @property
    def _legend(self) -> list[tuple[str, str]]:
        """What the legend names: the "line" of the threshold, the "bar" of what may be chance."""
        entries = []
        if self.limit is not None:
            limit = number_text.limit(self.limit)
            entries.append(("line", f"engineering threshold {limit}"))
        if not all(bar.sure for bar in self.bars):
            not_sure = "not clearly different"
            if self.limit is not None:
                not_sure = "not clearly over the threshold"
            entries.append(("bar", not_sure))
        return entries

    def draw(self, ax: Any) -> None:
        """Draw the bars, their intervals, and the columns beside them."""
        from matplotlib.ticker import FuncFormatter, MaxNLocator

        heights = np.array(self._heights)
        middles = np.cumsum(heights) - heights / 2
        places = middles.tolist()
        for place, bar in zip(places, self.bars, strict=False):
            _draw_bar(ax, place, bar, signed=self._signed)
        if self.rest is not None:
            _draw_rest(ax, places[-1], self.rest, signed=self._signed)
        self._draw_limits(ax)
        ax.axvline(0, color="black", linewidth=0.8, zorder=2.5)
        reach = self._reach()
        start = -reach if self._signed else 0.0
        ax.set_xlim(start, reach)
        ax.set_ylim(float(heights.sum()), 0)
        width, height = inches(ax)
        labels = self._fitting(width, height)
        ax.set_yticks(places, labels, fontsize=9)
        ax.tick_params(axis="y", length=0)
        ticks = 9 if self._signed else 6
        ax.xaxis.set_major_locator(MaxNLocator(ticks, steps=[1, 2, 5, 10]))
        tick_text = FuncFormatter(lambda value, _: self._tick(value))
        ax.xaxis.set_major_formatter(tick_text)
        # Labels may have moved the axes.
        width, _ = inches(ax)
        ax.set_xlabel(self._under(width), loc="right", fontsize=9)
        self._write_columns(ax, places)
        self._write_head(ax)
        ax.grid(axis="x", color="0.92")
        ax.set_axisbelow(True)
        ax.spines[["top", "right", "left"]].set_visible(False)

    def _draw_limits(self, ax: Any) -> None:
        if self.limit is None:
            return
        limits = {self.limit}
        if self._signed:
            limits.add(-self.limit)
        for limit in limits:
            ax.axvline(limit, color=GREY, linestyle="--", linewidth=1.2, zorder=1)

    def _reach(self) -> float:
        """Return how far from nought the axis goes, so that everything is in sight."""
        ends = [bar.high for bar in self.bars]
        if self.rest is not None:
            ends.append(self.rest.high)
        # Without any distance, the axis still has a width.
        ends += [self.limit or 0.0, 1e-4]
        return 1.06 * max(ends)

    def _fitting(self, width: float, height: float) -> list[str]:
        """Return the labels, each on one line where axes given are too low for more."""
        available = height / _AXES_SHARE - self._around(width)
        if available >= (1 - _SPARE) * sum(self._heights):
            return self.labels
        return [clip(label, LABEL) for label in self.labels]

    def _tick(self, value: float) -> str:
        if not self._signed and self.percent:
            return number_text.percent_plain(value)
        if not self._signed:
            return number_text.plain(value)
        if not value:
            return "0"
        number = 100 * value if self.percent else value
        with_sign = number_text.plain(number, sign="+")
        if abs(number) >= _GROUPED:
            with_sign = number_text.amount(number, sign="+")
        return number_text.with_minus(with_sign)

    def _write_columns(self, ax: Any, places: list[float]) -> None:
        """Write the columns right of the axes, each as wide as its longest text."""
        across_axes = ax.get_yaxis_transform()
        edge = 6.0
        for column, header in enumerate(self.headers):
            texts = [bar.beside[column] for bar in self.bars]
            lines = [*texts, *header.split("\n")]
            longest = max(map(len, lines))
            edge += _POINTS_PER_INCH * _LETTER * (2 + longest)
            for place, text in zip(places, texts, strict=False):
                ax.annotate(
                    text,
                    (1, place),
                    (edge, 0),
                    xycoords=across_axes,
                    ha="right",
                    va="center",
                    fontsize=9,
                    **_OFFSET,
                )
            ax.annotate(
                header,
                (1, 1),
                (edge, 3),
                xycoords="axes fraction",
                ha="right",
                va="bottom",
                fontsize=8,
                color=GREY,
                **_OFFSET,
            )

    def _write_head(self, ax: Any) -> None:
        """Write over the axes what the sides mean, the legend and the title."""
        pad = 8.0  # points between the axes and what is written next
        if self.sides is not None:
            left, right = self.sides
            _write_side(ax, left, 0, "left", VERMILLION)
            _write_side(ax, right, 1, "right", BLUE)
            pad += 12
        if self._legend:
            self._write_legend(ax, pad - 6)
            pad += 13 * len(self._legend)
        # The headers of the columns stand beside the title, and may be higher than all of this.
        breaks = max((header.count("\n") for header in self.headers), default=0)
        height_of_headers = 12.0 * (breaks + 1) + 4
        pad = max(pad, height_of_headers)
        width, _ = inches(ax)
        ax.set_title(self._over(width), loc="left", fontsize="medium", pad=pad)

    def _write_legend(self, ax: Any, points: float) -> None:
        """Write the legend so many points over the axes."""
        from matplotlib.lines import Line2D
        from matplotlib.patches import Patch
        from matplotlib.transforms import offset_copy

        looks = {
            "line": Line2D([], [], color=GREY, linestyle="--"),
            "bar": Patch(facecolor="white", edgecolor=GREY),
        }
        handles = [looks[kind] for kind, _ in self._legend]
        names = [name for _, name in self._legend]
        ax.legend(
            handles,
            names,
            loc="lower left",
            bbox_to_anchor=(0, 1),
            bbox_transform=offset_copy(
                ax.transAxes, fig=ax.figure, y=points, units="points"
            ),
            frameon=False,
            fontsize=8,
            borderaxespad=0.0,
            borderpad=0.2,
        )


def _write_side(ax: Any, text: str, place: int, where: str, colour: str) -> None:
    """Write what it means to be on one side of nought, over that end of the axes."""
    ax.annotate(
        text,
        (place, 1),
        (0, 3),
        xycoords="axes fraction",
        textcoords="offset points",
        ha=where,
        va="bottom",
        fontsize=8,
        color=colour,
        fontweight="bold",
    )


def _draw_bar(ax: Any, place: float, bar: Bar, *, signed: bool) -> None:
    colour = VERMILLION if signed and bar.value < 0 else BLUE
    # A bar that may be chance is hollow, so that nobody takes it for a finding.
    filling = colour if bar.sure else "white"
    ax.barh(
        place,
        bar.value,
        _BAR,
        color=filling,
        edgecolor=colour,
        linewidth=1.2,
        zorder=2,
    )
    low, high = bar.ends
    if high > low:
        # Matplotlib refuses an interval that does not hold its value.
        below = max(0.0, bar.value - low)
        above = max(0.0, high - bar.value)
        ax.errorbar(
            bar.value,
            place,
            xerr=[[below], [above]],
            color="black",
            capsize=3,
            linewidth=1.2,
            zorder=3,
        )


def _draw_rest(ax: Any, place: float, rest: RemainingRules, *, signed: bool) -> None:
    """Draw a bracket, on both sides of nought, in which all rule sets without a bar lie."""
    _draw_span(ax, place, rest.high, 1.2, signed=signed)
    _draw_span(ax, place, rest.value, 4.0, signed=signed)
    ends = [rest.high]
    if signed:
        ends.insert(0, -rest.high)
    places = [place] * len(ends)
    ax.plot(ends, places, "|", color="0.6", markersize=9, zorder=2)


def _draw_span(
    ax: Any, place: float, reach: float, line_width: float, *, signed: bool
) -> None:
    left = -reach if signed else 0.0
    ax.plot(
        [left, reach],
        [place, place],
        color="0.6",
        linewidth=line_width,
        solid_capstyle="butt",
        zorder=2,
    )


def wrapped(text: str, width: int = LABEL, most: int = 160) -> str:
    """Return a rule in lines of about a width; a condition that does not fit starts a new line.

    >>> print(wrapped("40 <= age < 60, sex Male, race not White nor Black", 26))
    40 <= age < 60, sex Male,
    race not White nor Black
    """
    lines: list[str] = []
    for part in clip(text, most).split(", "):
        if lines:
            longer = f"{lines[-1]}, {part}"
            if len(longer) <= width:
                lines[-1] = longer
                continue
            lines[-1] += ","
        lines += textwrap.wrap(part, width, break_on_hyphens=False) or [""]
    shown = [literal(line, 2 * width) for line in lines]
    return "\n".join(shown)


def flowed(text: str, width: float, size: float = 1.0) -> str:
    """Return a sentence in lines that fit into so many inches.

    `size` is that of the letters, as a part of those of a title. A number and its unit, and a few
    words in brackets, stay on one line.

    >>> print(flowed("from 4.5 % (39 to 46) to 6 % (17 to 24)", 1.5))
    from 4.5 % (39 to 46)
    to 6 % (17 to 24)
    """
    letters = max(12, int(width / _TITLE_LETTER / size))
    kept_whole = r"\([^()]{1,44}\)| (%|points)"
    unbroken = re.sub(kept_whole, _without_breaks, clip(text, 400))
    lines = textwrap.wrap(unbroken, letters, break_on_hyphens=False)
    return "\n".join(literal(line, 400) for line in lines)


def _without_breaks(found: re.Match[str]) -> str:
    return found[0].replace(" ", _NO_BREAK_SPACE)
