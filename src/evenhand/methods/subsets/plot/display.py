"""The lattice of sets of features that `subsets` searched, drawn with the state of each set."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from evenhand.methods.subsets import messages
from evenhand.methods.subsets.panel import LatticePanel, neighbours
from evenhand.report.canvas import (
    BLUE,
    ORANGE,
    PURPLE,
    SKY,
    VERMILLION,
    WIDTH,
    YELLOW,
    Display,
    inches,
    literal,
)
from evenhand.report.finding_text import lattices_of
from evenhand.report.rates_display import RatesDisplay
from evenhand.runtime import number_text
from evenhand.runtime.errors import clip
from evenhand.runtime.language import say

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenhand.methods.subsets.evaluators.arrays import Names
    from evenhand.methods.subsets.panel import Edge, Node
    from evenhand.results.result import Result

    Place = tuple[float, float]

MOST_LISTED = 8
"""The most minimal sets that are listed under the bars."""


class StateLook(NamedTuple):
    """How sets in one state are drawn, and what the legend calls them."""

    label: str
    colour: str
    marker: str
    hatch: str


LOOKS = {
    "discriminating": StateLook(messages.STATE_DISCRIMINATING, VERMILLION, "X", ""),
    "implied discriminating": StateLook(
        messages.STATE_IMPLIED_DISCRIMINATING, ORANGE, "s", "///"
    ),
    "cleared": StateLook(messages.STATE_CLEARED, BLUE, "o", ""),
    "implied cleared": StateLook(messages.STATE_IMPLIED_CLEARED, SKY, "v", "\\\\\\"),
    "undecided": StateLook(messages.STATE_UNDECIDED, YELLOW, "D", "..."),
    "not shown": StateLook(messages.STATE_NOT_SHOWN, PURPLE, "^", "++"),
    "not tested": StateLook(messages.STATE_NOT_TESTED, "white", "h", ""),
}
"""The look of each state of a set, in the order of the legend."""

# Inches that a letter is wide, a line of text is high, and a figure is wide at most.
_LETTER = 0.068
_LINE = 0.15
_WIDEST = 14.0
_SLIVER = 0.05
"""The smallest part of a bar that its number still fits on."""
_PLATE = {"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 1.0}


@dataclass
class LatticeDisplay(Display):
    """The lattice of sets of features, single features at the bottom.

    There is a panel for each output of the software.

    >>> table = {"among": ["sex"], "kind": "causal", "limit": 0.75, "sets": [], "levels": []}
    >>> LatticeDisplay((LatticePanel.from_table(table),)).lattices[0].nodes[0].state
    'not tested'
    """

    lattices: tuple[LatticePanel, ...]

    @classmethod
    def from_result(cls, result: Result) -> LatticeDisplay:
        """Compute what is drawn of a result of `subsets`."""
        panels = []
        for output, table in lattices_of(result):
            panels.append(LatticePanel.from_table(table, output))
        return cls(tuple(panels))

    def plot(self, ax: Any = None) -> LatticeDisplay:
        """Draw on axes given (the first output), or all on a new figure, and return the display.

        Every set is drawn where there are at most six features and the axes are wide enough for the
        labels; otherwise there is a bar for each size of sets.
        """
        sizes = [_size(lattice) for lattice in self.lattices]
        panels = self._open(ax, sizes)
        for axes, lattice in zip(panels, self.lattices, strict=False):
            _draw(lattice, axes)
        return self


def short_names(names: Sequence[str], width: int) -> dict[str, str]:
    """Return a name of at most `width` letters for each feature, no two alike.

    Names keep their beginning and as little of their end as tells them apart; where nothing does,
    they are numbered.

    >>> short_names(["age", "education", "education_num"], 7)
    {'age': 'age', 'education': 'educa…n', 'education_num': 'educa…m'}
    """
    flat = [clip(name, 1_000) for name in names]
    for tail in range(max(1, width - 2)):
        short = [_shortened(name, width, tail) for name in flat]
        if len(set(short)) == len(names):
            return dict(zip(names, short, strict=True))
    return {name: str(number) for number, name in enumerate(names, 1)}


def _shortened(name: str, width: int, tail: int) -> str:
    """Return a name cut to a width, with its last `tail` letters."""
    if len(name) <= width:
        return name
    beginning = name[: width - 1 - tail]
    end = name[len(name) - tail :]
    return f"{beginning}…{end}"


def _size(lattice: LatticePanel) -> tuple[float, float]:
    """Return how many inches wide and high the panel of a lattice is."""
    features = len(lattice.among)
    if not lattice.nodes:
        listed = min(len(lattice.minimal), MOST_LISTED + 1)
        high = 1.6 + 0.34 * features + 0.2 * listed
        return WIDTH + 1.5, high
    longest_name = max(len(name) for name in lattice.among)
    letters = 3 + min(longest_name, 10)
    row_wide = letters * _LETTER * _longest_row(features)
    wide = min(max(WIDTH, row_wide), _WIDEST)
    sizes = range(1, features + 1)
    row_heights = [0.42 + _LINE * min(size, 4) for size in sizes]
    return wide, 1.2 + sum(row_heights)


def _longest_row(features: int) -> int:
    """Return how many sets have the commonest size."""
    return math.comb(features, features // 2)


def _draw(lattice: LatticePanel, ax: Any) -> None:
    wide, high = inches(ax)
    across = wide / _LETTER
    longest_row = _longest_row(len(lattice.among))
    letters = int(across / longest_row) - 1
    if lattice.nodes and letters >= 3:
        places, labels = _placed(lattice, letters, int(across))
        _, top = places[-1]
        # What is a little too low for its labels now gets room from the layout.
        if top < high:
            _draw_nodes(lattice, ax, places, labels)
            return
    _draw_levels(lattice, ax)


def _placed(
    lattice: LatticePanel,
    letters: int,
    across: int,
) -> tuple[list[Place], list[str]]:
    """Return where each set stands and its label; rows are as high, in inches, as labels need.

    `letters` fit on a line under a set in the longest row, and `across` on a line over the whole
    width.
    """
    short = short_names(lattice.among, letters - 1)
    places: list[Place] = []
    labels: list[str] = []
    floor = -0.3
    for _, row in itertools.groupby(lattice.nodes, key=_size_of_set):
        nodes = list(row)
        room = max(letters, across // len(nodes) - 2)
        texts = [lines_under(node, short, room) for node in nodes]
        most_lines = max(len(lines) for lines in texts)
        floor += 0.45 + _LINE * most_lines
        for number, lines in enumerate(texts):
            middle = (number + 0.5) / len(nodes)
            places.append((middle, floor))
            labels.append(_label(lines, room))
    return places, labels


def _size_of_set(node: Node) -> int:
    return len(node.about)


def lines_under(node: Node, short: Mapping[str, str], room: int) -> list[str]:
    """Return the lines of the label under a set."""
    short_names_of_set = [short[name] for name in node.about]
    if len(node.about) > 1:
        return _lines(short_names_of_set, room)
    # Single features have room for their whole names, and so explain the short ones.
    whole = clip(node.about[0], room)
    return list(dict.fromkeys([whole, *short_names_of_set]))


def _label(lines: Sequence[str], room: int) -> str:
    literal_lines = [literal(line, room + 9) for line in lines]
    return "\n".join(literal_lines)


def _draw_nodes(
    lattice: LatticePanel,
    ax: Any,
    places: list[Place],
    labels: list[str],
) -> None:
    """Draw every set as a marker with its features under it, and lines between neighbours."""
    tested = set(lattice.edges)
    edges = neighbours(lattice.nodes)
    others = [edge for edge in edges if edge not in tested]
    _draw_edges(ax, places, others, colour="0.9", width=0.6)
    _draw_edges(ax, places, lattice.edges, colour="0.5", width=1.0)
    _draw_markers(lattice, ax, places)
    for place, label, node in zip(places, labels, lattice.nodes, strict=True):
        ax.annotate(
            label,
            place,
            xytext=(0, -8),
            textcoords="offset points",
            ha="center",
            va="top",
            fontsize=8,
            fontweight="bold" if node.state == "discriminating" else "normal",
            bbox=_PLATE,
            zorder=2,
        )
    states = {node.state for node in lattice.nodes}
    above = _legend(ax, len(states))
    ax.set_title(lattice.title, loc="left", fontsize="medium")
    _, top = places[-1]
    ax.set_xlim(0, 1)
    ax.set_ylim(0, top + 0.15 + above)
    ax.set_axis_off()


def _draw_edges(
    ax: Any,
    places: list[Place],
    edges: Sequence[Edge],
    *,
    colour: str,
    width: float,
) -> None:
    from matplotlib.collections import LineCollection

    ends = [(places[smaller], places[larger]) for smaller, larger in edges]
    lines = LineCollection(ends, colors=colour, linewidths=width, zorder=1)
    ax.add_collection(lines)


def _draw_markers(lattice: LatticePanel, ax: Any, places: list[Place]) -> None:
    for state, look in LOOKS.items():
        across = []
        up = []
        for (x, y), node in zip(places, lattice.nodes, strict=True):
            if node.state == state:
                across.append(x)
                up.append(y)
        if across:
            ax.scatter(
                across,
                up,
                s=110,
                marker=look.marker,
                label=look.label,
                zorder=3,
                color=look.colour,
                edgecolors="black",
                linewidths=0.8,
            )


def _lines(names: Sequence[str], width: int) -> list[str]:
    """Return names joined by commas, on lines of about this width; none is broken."""
    lines = [names[0]]
    for name in names[1:]:
        longer = f"{lines[-1]}, {name}"
        if len(longer) < width:
            lines[-1] = longer
        else:
            lines[-1] += ","
            lines.append(name)
    return lines


def _draw_levels(lattice: LatticePanel, ax: Any) -> None:
    """Draw a bar for each size of sets, divided by state with the number in each."""
    sizes = [level["size"] for level in lattice.levels]
    states = _draw_bars(lattice, ax, sizes)
    ticks = []
    for level in lattice.levels:
        total = number_text.count(number_of_sets(level))
        ticks.append(f"{level['size']} ({total})")
    ax.set_xlim(0, 1)
    ax.set_yticks(sizes, ticks)
    ax.set_xticks([])
    ax.set_ylabel(say(messages.SIZE_AXIS))
    ax.set_xlabel(listed(lattice.minimal), loc="left", fontsize="small")
    ax.tick_params(left=False)
    ax.spines[:].set_visible(False)
    above = _legend(ax, states)
    _, high = inches(ax)
    room = max(0.1, high - above)
    bar = room / max(len(sizes), 1)
    top = len(sizes) + 0.5 + above / bar
    ax.set_ylim(0.5, top)
    ax.set_title(lattice.title, loc="left", fontsize="medium")


def _draw_bars(lattice: LatticePanel, ax: Any, sizes: Sequence[int]) -> int:
    """Draw the parts of all bars, state by state, and return how many states there are."""
    widths = [bar_widths(level) for level in lattice.levels]
    left = [0.0] * len(sizes)
    states = 0
    for state, look in LOOKS.items():
        parts = [width[state] for width in widths]
        if not any(parts):
            continue
        states += 1
        ax.barh(
            sizes,
            parts,
            left=list(left),
            color=look.colour,
            edgecolor="black",
            linewidth=0.6,
            hatch=look.hatch,
            label=look.label,
        )
        for row, level in enumerate(lattice.levels):
            if parts[row]:
                middle = left[row] + parts[row] / 2
                _draw_number(ax, middle, level["size"], level[state])
            left[row] += parts[row]
    return states


def _draw_number(ax: Any, middle: float, size: int, number: int) -> None:
    ax.text(
        middle,
        size,
        number_text.count(number),
        ha="center",
        va="center",
        fontsize=8,
        bbox=_PLATE,
    )


def _legend(ax: Any, entries: int) -> float:
    """Put the legend at the top of the axes, and return the inches that it needs there."""
    wide, _ = inches(ax)
    columns = max(1, int(wide / 2.2))
    ax.legend(loc="upper left", ncols=columns, fontsize="small", frameon=False)
    return 0.2 * math.ceil(entries / columns) + 0.2


def bar_widths(level: Mapping[str, int]) -> dict[str, float]:
    """Return how wide the part of each state is in the bar of one size.

    Widths follow the numbers, but no state gets so little that its number has no room: one
    undecided set among thousands must not disappear.

    >>> widths = bar_widths({"cleared": 999, "undecided": 1})
    >>> round(widths["cleared"], 3), round(widths["undecided"], 3)
    (0.952, 0.048)
    """
    total = number_of_sets(level)
    wanted = dict.fromkeys(LOOKS, 0.0)
    for state in LOOKS:
        sets = level.get(state)
        if sets:
            wanted[state] = max(sets / total, _SLIVER)
    # A size without any set has no bar, and nothing to divide by.
    whole = sum(wanted.values()) or 1.0
    return {state: width / whole for state, width in wanted.items()}


def number_of_sets(level: Mapping[str, int]) -> int:
    """Return how many sets of one size there are."""
    return sum(level.get(state, 0) for state in LOOKS)


def listed(minimal: Sequence[Names]) -> str:
    """Return the minimal sets, each on a line, as far as there is room."""
    if not minimal:
        return say(messages.NO_SET_FOUND)
    sets = number_text.count(len(minimal))
    lines = [say(messages.LISTED_SETS, sets=sets)]
    for names in minimal[:MOST_LISTED]:
        features = literal(", ".join(names), 90)
        lines.append(f"  {features}")
    if len(minimal) > MOST_LISTED:
        more = number_text.count(len(minimal) - MOST_LISTED)
        rest = say(messages.MORE_SETS, sets=more)
        lines.append(f"  {rest}")
    return "\n".join(lines)


def display_of(result: Result) -> Display:
    """Return the display of a result; what has no details is drawn by its findings."""
    if not lattices_of(result):
        return RatesDisplay.from_findings(result.findings)
    return LatticeDisplay.from_result(result)
