"""Ranked bars: rule sets from top to bottom by how far they are from others, with intervals and
rates beside them.
"""

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
_LINE, _GAP, _BAR = 0.16, 0.16, 0.2
_AROUND, _LETTER, _TITLE_LETTER = 0.95, 0.07, 0.071
"""Inches around the bars, and of a letter beside them and of a title."""
_OURS, _OVER, _UNDER = 0.775, 0.72, 0.8
"""The part of a new figure that axes take before their labels are known, and of that, of lines over
and under them.
"""
_SPARE = 0.15
"""The part of their height that bars can do without."""
_JOINED = "\N{NO-BREAK SPACE}"


@dataclass(frozen=True, slots=True)
class Bar:
    """One rule set: how far it is from others, the interval of how far, whether that is sure, and
    what is beside it.
    """

    label: str
    value: float
    low: float
    high: float
    sure: bool
    beside: tuple[str, ...] = ()

    @property
    def ends(self) -> tuple[float, float]:
        """The interval on the side of nought on which the value lies."""
        return (-self.high, -self.low) if self.value < 0 else (self.low, self.high)


@dataclass(frozen=True, slots=True)
class Rest:
    """All rule sets that have no bar: the largest distance among them, on whichever side, and its
    upper limit.
    """

    label: str
    value: float
    high: float


@dataclass(frozen=True, slots=True)
class Bars:
    """Rule sets from top to bottom, best evidence first, and the rest of them last.

    `sides` say what it means to be left and right of nought; without them nothing is on the left.

    >>> bars = (Bar("sex F", -0.2, 0.1, 0.3, sure=True, beside=("90",)),)
    >>> Bars("women get less", (), ("rows",), bars, Rest("others", 0.1, 0.2), sides=("less", "more")).labels
    ['sex F', 'others']
    """

    title: str
    notes: tuple[str, ...]
    headers: tuple[str, ...]
    bars: tuple[Bar, ...]
    rest: Rest | None = None
    limit: float | None = None
    sides: tuple[str, str] | None = None
    percent: bool = True

    @property
    def size(self) -> tuple[float, float]:
        """Inches that the panel takes."""
        return WIDTH + 1, self._around(_OURS * (WIDTH + 1)) + sum(self._heights)

    @property
    def labels(self) -> list[str]:
        """What stands before each bar, the rest last."""
        return [bar.label for bar in self.bars] + ([self.rest.label] if self.rest else [])

    def _around(self, wide: float) -> float:
        """Return the inches over and under the bars of axes that wide."""
        return _AROUND + _LINE * (
            f"{self._over(wide)}\n{self._under(wide)}".count("\n") + len(self._legend)
        )

    def _over(self, wide: float) -> str:
        return flowed(self.title, _OVER * wide)

    def _under(self, wide: float) -> str:
        return "\n".join(flowed(note, _UNDER * wide, 0.9) for note in self.notes)

    @property
    def _heights(self) -> list[float]:
        """Inches that each bar takes, as its label needs."""
        return [_GAP + _LINE * (1 + label.count("\n")) for label in self.labels]

    @property
    def _legend(self) -> list[tuple[str, str]]:
        """What the legend names: the "line" of the threshold, the hollow "bar" of what may be
        chance.
        """
        found = (
            []
            if self.limit is None
            else [("line", f"engineering threshold {number_text.limit(self.limit)}")]
        )
        if all(bar.sure for bar in self.bars):
            return found
        return [
            *found,
            (
                "bar",
                "not surely different" if self.limit is None else "not surely over the threshold",
            ),
        ]

    def draw(self, ax: Any) -> None:
        """Draw the bars, their intervals, and the columns beside them."""
        from matplotlib.ticker import FuncFormatter, MaxNLocator

        heights = np.array(self._heights)
        places = (np.cumsum(heights) - heights / 2).tolist()
        for place, bar in zip(places, self.bars, strict=False):
            _draw_bar(ax, place, bar, signed=self.sides is not None)
        if self.rest is not None:
            _draw_rest(ax, places[-1], self.rest, signed=self.sides is not None)
        for limit in (
            () if self.limit is None else {self.limit, -self.limit} if self.sides else {self.limit}
        ):
            ax.axvline(limit, color=GREY, linestyle="--", linewidth=1.2, zorder=1)
        ax.axvline(0, color="black", linewidth=0.8, zorder=2.5)
        ends = [bar.high for bar in self.bars] + [
            self.rest.high if self.rest else 0.0,
            self.limit or 0.0,
            1e-4,
        ]
        reach = 1.06 * max(ends)
        ax.set_xlim(-reach if self.sides else 0.0, reach)
        ax.set_ylim(float(heights.sum()), 0)
        ax.set_yticks(places, self._fitting(*inches(ax)), fontsize=9)
        ax.tick_params(axis="y", length=0)
        ax.xaxis.set_major_locator(MaxNLocator(9 if self.sides else 6, steps=[1, 2, 5, 10]))
        ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: self._tick(value)))
        ax.set_xlabel(self._under(inches(ax)[0]), loc="right", fontsize=9)
        self._write_columns(ax, places)
        self._write_head(ax)
        ax.grid(axis="x", color="0.92")
        ax.set_axisbelow(True)
        ax.spines[["top", "right", "left"]].set_visible(False)

    def _fitting(self, wide: float, high: float) -> list[str]:
        """Return the labels, each on one line where axes given are too low for more."""
        if high / _OURS - self._around(wide) >= (1 - _SPARE) * sum(self._heights):
            return self.labels
        return [clip(label, LABEL) for label in self.labels]

    def _tick(self, value: float) -> str:
        if self.sides is None:
            return number_text.percent_plain(value) if self.percent else number_text.plain(value)
        if not value:
            return "0"
        number = 100 * value if self.percent else value
        return number_text.with_minus(number_text.plain(number, sign="+"))

    def _write_columns(self, ax: Any, places: list[float]) -> None:
        """Write the columns right of the axes, each as wide as its longest text."""
        edge = 6.0
        for at, header in enumerate(self.headers):
            texts = [bar.beside[at] for bar in self.bars]
            lines = header.split("\n")
            edge += 72 * _LETTER * (2 + max(len(text) for text in [*texts, *lines]))
            look = {"textcoords": "offset points", "ha": "right", "annotation_clip": False}
            for place, text in zip(places, texts, strict=False):
                ax.annotate(
                    text,
                    (1, place),
                    (edge, 0),
                    xycoords=ax.get_yaxis_transform(),
                    va="center",
                    fontsize=9,
                    **look,
                )
            ax.annotate(
                header,
                (1, 1),
                (edge, 3),
                xycoords="axes fraction",
                va="bottom",
                fontsize=8,
                color=GREY,
                **look,
            )

    def _write_head(self, ax: Any) -> None:
        """Write over the axes what the sides mean, the legend and the title."""
        from matplotlib.lines import Line2D
        from matplotlib.patches import Patch
        from matplotlib.transforms import offset_copy

        pad = 8.0
        if self.sides:
            for side, place, colour in zip(self.sides, (0, 1), (VERMILLION, BLUE), strict=True):
                where = "right" if place else "left"
                ax.annotate(
                    side,
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
            pad += 12
        if legend := self._legend:
            looks = {
                "line": Line2D([], [], color=GREY, linestyle="--"),
                "bar": Patch(facecolor="white", edgecolor=GREY),
            }
            handles, names = [looks[kind] for kind, _ in legend], [name for _, name in legend]
            over = offset_copy(ax.transAxes, fig=ax.figure, y=pad - 6, units="points")
            look = {"frameon": False, "fontsize": 8, "borderaxespad": 0.0, "borderpad": 0.2}
            ax.legend(
                handles, names, loc="lower left", bbox_to_anchor=(0, 1), bbox_transform=over, **look
            )
            pad += 13 * len(names)
        pad = max(pad, 12.0 * max(header.count("\n") + 1 for header in self.headers) + 4)
        ax.set_title(self._over(inches(ax)[0]), loc="left", fontsize="medium", pad=pad)


def _draw_bar(ax: Any, place: float, bar: Bar, *, signed: bool) -> None:
    colour = VERMILLION if signed and bar.value < 0 else BLUE
    # A bar that may be chance is hollow, so that nobody takes it for a finding.
    ax.barh(
        place,
        bar.value,
        _BAR,
        color=colour if bar.sure else "white",
        edgecolor=colour,
        linewidth=1.2,
        zorder=2,
    )
    low, high = bar.ends
    if high > low:
        below, over = max(0.0, bar.value - low), max(0.0, high - bar.value)
        ax.errorbar(
            bar.value,
            place,
            xerr=[[below], [over]],
            color="black",
            capsize=3,
            linewidth=1.2,
            zorder=3,
        )


def _draw_rest(ax: Any, place: float, rest: Rest, *, signed: bool) -> None:
    """Draw a bracket, on both sides of nought, in which all rule sets without a bar lie."""
    for reach, width, colour in ((rest.high, 1.2, "0.6"), (rest.value, 4.0, "0.6")):
        left = -reach if signed else 0.0
        ax.plot(
            [left, reach],
            [place, place],
            color=colour,
            linewidth=width,
            solid_capstyle="butt",
            zorder=2,
        )
    ends = [-rest.high, rest.high] if signed else [rest.high]
    ax.plot(ends, [place] * len(ends), "|", color="0.6", markersize=9, zorder=2)


def wrapped(text: str, width: int = LABEL, most: int = 160) -> str:
    """Return a rule in lines of about a width; a condition starts a line where it does not fit on
    the last one.

    >>> print(wrapped("40 <= age < 60, sex Male, race not White nor Black", 26))
    40 <= age < 60, sex Male,
    race not White nor Black
    """
    lines: list[str] = []
    for part in clip(text, most).split(", "):
        if lines and len(lines[-1]) + len(part) + 2 <= width:
            lines[-1] += f", {part}"
        else:
            lines[-1:] = [f"{line}," for line in lines[-1:]]
            lines += textwrap.wrap(part, width, break_on_hyphens=False) or [""]
    return "\n".join(literal(line, 2 * width) for line in lines)


def flowed(text: str, width: float, size: float = 1.0) -> str:
    """Return a sentence in lines that fit into so many inches, in letters of the size of a title or
    smaller.

    A number and its unit, and a few words in brackets, stay on one line.

    >>> print(flowed("from 4.5 % (39 to 46) to 6 % (17 to 24)", 1.5))
    from 4.5 % (39 to 46)
    to 6 % (17 to 24)
    """
    letters = max(12, int(width / _TITLE_LETTER / size))
    joined = re.sub(
        r"\([^()]{1,44}\)| (%|points)",
        lambda found: found[0].replace(" ", _JOINED),
        clip(text, 400),
    )
    return "\n".join(
        literal(line, 400) for line in textwrap.wrap(joined, letters, break_on_hyphens=False)
    )
