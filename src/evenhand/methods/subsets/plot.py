"""The lattice of sets of features that `subsets` walked: which discriminate, which are cleared,
which are open.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evenhand.methods.subsets.lattice import TESTED
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
from evenhand.report.finding_text import STATES, lattices_of
from evenhand.report.rates_display import RatesDisplay
from evenhand.runtime import number_text
from evenhand.runtime.errors import clip

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenhand.results.result import Result

    Names = tuple[str, ...]

MOST_DRAWN = 6
"""The most features whose sets are drawn one by one."""
MOST_LISTED = 8
"""The most minimal sets that are listed under the bars."""
LOOKS = dict(
    zip(
        STATES,
        (
            ("discriminating, minimal", VERMILLION, "X", ""),
            ("contains a discriminating set", ORANGE, "s", "///"),
            ("cleared", BLUE, "o", ""),
            ("cleared, implied", SKY, "v", "\\\\\\"),
            ("undecided", YELLOW, "D", "..."),
            ("not shown to discriminate", PURPLE, "^", "++"),
            ("not tested", "white", "h", ""),
        ),
        strict=True,
    )
)
"""What each state of a set is called, its colour, marker and hatch."""
_LETTER, _LINE = 0.068, 0.15
_WIDEST = 14.0
_SLIVER = 0.05
_PLATE = {"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 1.0}


@dataclass(frozen=True, slots=True)
class Node:
    """One set of features in the lattice, its state, and the score where it was tested."""

    about: Names
    state: str
    tested: bool = False
    value: float | None = None


@dataclass(frozen=True, slots=True)
class Lattice:
    """The lattice of one output: how many sets of each size are in which state, the minimal sets,
    and small ones whole.

    `nodes` holds every set by size where there are at most six features, and nothing beyond;
    `edges` are the pairs of sets, as positions in `nodes`, of which the second has one feature more
    and both were tested.
    """

    output: str
    among: Names
    kind: str
    limit: float
    levels: tuple[Mapping[str, int], ...]
    minimal: tuple[Names, ...]
    nodes: tuple[Node, ...] = ()
    edges: tuple[tuple[int, int], ...] = ()

    @classmethod
    def from_table(cls, table: Mapping[str, Any], output: str = "") -> Lattice:
        """Read the lattice that a result of `subsets` holds.

        >>> sets = [{"about": ["sex"], "state": "discriminating", "because": "tested", "value": 0.9}]
        >>> table = {"among": ["sex", "race"], "kind": "causal", "limit": 0.75, "sets": sets, "levels": []}
        >>> [(node.about, node.state) for node in Lattice.from_table(table).nodes]
        [(('sex',), 'discriminating'), (('race',), 'not tested'), (('sex', 'race'), 'not tested')]
        """
        among = tuple(table["among"])
        found = {frozenset(entry["about"]): entry for entry in table["sets"]}
        hits = [
            names
            for names, entry in found.items()
            if _is_tested(entry) and entry["state"] == "discriminating"
        ]
        minimal = [names for names in hits if not any(other < names for other in hits)]
        ordered = sorted(
            (tuple(sorted(names, key=among.index)) for names in minimal),
            key=lambda names: len(names),
        )
        nodes: tuple[Node, ...] = ()
        if len(among) <= MOST_DRAWN:
            sets = [
                names
                for size in range(len(among))
                for names in itertools.combinations(among, size + 1)
            ]
            nodes = tuple(
                _node(names, found.get(frozenset(names)), minimal=set(minimal)) for names in sets
            )
        edges = tuple(pair for pair in neighbours(nodes) if all(nodes[one].tested for one in pair))
        levels = tuple(table["levels"])
        return cls(
            output, among, table["kind"], table["limit"], levels, tuple(ordered), nodes, edges
        )

    @property
    def title(self) -> str:
        """What the lattice shows."""
        of = f"{literal(self.output, 30)}: " if self.output else ""
        return (
            f"{of}{self.kind} score of sets of features, engineering threshold"
            f" {number_text.limit(self.limit)}"
        )


@dataclass
class LatticeDisplay(Display):
    """The lattice of sets of features, single features at the bottom: a panel for each output of
    the software.

    >>> table = {"among": ["sex"], "kind": "causal", "limit": 0.75, "sets": [], "levels": []}
    >>> LatticeDisplay((Lattice.from_table(table),)).lattices[0].nodes[0].state
    'not tested'
    """

    lattices: tuple[Lattice, ...]

    @classmethod
    def from_result(cls, result: Result) -> LatticeDisplay:
        """Compute what is drawn of a result of `subsets`."""
        return cls(
            tuple(Lattice.from_table(table, output) for output, table in lattices_of(result))
        )

    def plot(self, ax: Any = None) -> LatticeDisplay:
        """Draw on axes given (the first output), or all on a new figure, and return the display.

        Every set is drawn where there are at most six features and the axes are wide enough for the
        labels; otherwise there is a bar for each size of sets.
        """
        sizes = [_size(lattice) for lattice in self.lattices]
        for axes, lattice in zip(self._open(ax, sizes), self.lattices, strict=False):
            _draw(lattice, axes)
        return self


def short_names(names: Sequence[str], width: int) -> dict[str, str]:
    """Return a name of at most `width` letters for each feature, no two alike: beginnings, or
    numbers where they clash.

    >>> short_names(["age", "education", "education_num"], 7)
    {'age': 'age', 'education': 'educa…n', 'education_num': 'educa…m'}
    """
    flat = [clip(name, 1_000) for name in names]
    for tail in range(max(1, width - 2)):
        short = [
            name if len(name) <= width else f"{name[: width - 1 - tail]}…{name[len(name) - tail :]}"
            for name in flat
        ]
        if len(set(short)) == len(names):
            return dict(zip(names, short, strict=True))
    return {name: str(number) for number, name in enumerate(names, 1)}


def neighbours(nodes: Sequence[Node]) -> list[tuple[int, int]]:
    """Return the positions of all pairs of sets of which the second is the first and one feature
    more.

    >>> neighbours([Node(("sex",), "cleared"), Node(("age",), "cleared"), Node(("sex", "race"), "undecided")])
    [(0, 2)]
    """
    place = {frozenset(node.about): number for number, node in enumerate(nodes)}
    return [
        (place[smaller], number)
        for number, node in enumerate(nodes)
        for name in node.about
        if (smaller := frozenset(node.about) - {name}) in place
    ]


def _is_tested(entry: Mapping[str, Any]) -> bool:
    return bool(entry["because"] == TESTED)


def _node(names: Names, entry: Mapping[str, Any] | None, *, minimal: set[frozenset[str]]) -> Node:
    if entry is None:
        return Node(names, "not tested")
    state, tested = entry["state"], _is_tested(entry)
    if state == "discriminating" and frozenset(names) not in minimal:
        state = "implied discriminating"
    if state == "cleared" and not tested:
        state = "implied cleared"
    return Node(names, state, tested, entry.get("value"))


def _size(lattice: Lattice) -> tuple[float, float]:
    if not lattice.nodes:
        return WIDTH + 1.5, 1.6 + 0.34 * len(lattice.among) + 0.2 * min(
            len(lattice.minimal), MOST_LISTED + 1
        )
    features = len(lattice.among)
    letters = 3 + min(max(map(len, lattice.among)), 10)
    wide = min(max(WIDTH, letters * _LETTER * math.comb(features, features // 2)), _WIDEST)
    return wide, 1.2 + sum(0.42 + _LINE * min(size, 4) for size in range(1, features + 1))


def _draw(lattice: Lattice, ax: Any) -> None:
    wide, high = inches(ax)
    features = len(lattice.among)
    letters = int(wide / _LETTER / math.comb(features, features // 2)) - 1
    if lattice.nodes and letters >= 3:
        places, labels = _placed(lattice, letters, int(wide / _LETTER))
        if (
            places[-1][1] < high
        ):  # what is a little too low for its labels now gets room from the layout
            _draw_nodes(lattice, ax, places, labels)
            return
    _draw_levels(lattice, ax)


def _placed(
    lattice: Lattice, letters: int, across: int
) -> tuple[list[tuple[float, float]], list[str]]:
    """Return where each set stands and its label; rows are as high, in inches, as their labels
    need.

    `letters` fit on a line under a set in the longest row, and `across` on a line over the whole
    width.
    """
    short = short_names(lattice.among, letters - 1)
    places: list[tuple[float, float]] = []
    labels: list[str] = []
    floor = -0.3
    for _, row in itertools.groupby(lattice.nodes, key=lambda node: len(node.about)):
        nodes = list(row)
        room = max(letters, across // len(nodes) - 2)
        if places:
            texts = [_lines([short[name] for name in node.about], room) for node in nodes]
        else:  # single features have room for their whole names, and so explain the short ones
            texts = [list(dict.fromkeys((clip(name, room), short[name]))) for name in lattice.among]
        floor += 0.45 + _LINE * max(len(lines) for lines in texts)
        places += [((number + 0.5) / len(nodes), floor) for number in range(len(nodes))]
        labels += ["\n".join(literal(line, room + 9) for line in lines) for lines in texts]
    return places, labels


def _draw_nodes(
    lattice: Lattice, ax: Any, places: list[tuple[float, float]], labels: list[str]
) -> None:
    """Draw every set as a marker with its features under it, and lines between neighbours."""
    from matplotlib.collections import LineCollection

    tested = set(lattice.edges)
    others = [pair for pair in neighbours(lattice.nodes) if pair not in tested]
    for pairs, colour, width in ((others, "0.9", 0.6), (lattice.edges, "0.5", 1.0)):
        ends = [(places[one], places[other]) for one, other in pairs]
        ax.add_collection(LineCollection(ends, colors=colour, linewidths=width, zorder=1))
    for state, (name, colour, marker, _) in LOOKS.items():
        mine = [
            place for place, node in zip(places, lattice.nodes, strict=True) if node.state == state
        ]
        if mine:
            look = {"color": colour, "edgecolors": "black", "linewidths": 0.8}
            ax.scatter(*zip(*mine, strict=True), s=110, marker=marker, label=name, zorder=3, **look)
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
    above = _legend(ax, len({node.state for node in lattice.nodes}))
    ax.set_title(lattice.title, loc="left", fontsize="medium")
    ax.set_xlim(0, 1)
    ax.set_ylim(0, places[-1][1] + 0.15 + above)
    ax.set_axis_off()


def _lines(names: Sequence[str], width: int) -> list[str]:
    """Return names joined by commas, on lines of about this width; none is broken."""
    lines = [names[0]]
    for name in names[1:]:
        if len(lines[-1]) + len(name) + 2 < width:
            lines[-1] += f", {name}"
        else:
            lines[-1] += ","
            lines.append(name)
    return lines


def _draw_levels(lattice: Lattice, ax: Any) -> None:
    """Draw a bar for each size of sets, divided by state with the number in each."""
    sizes = [level["size"] for level in lattice.levels]
    widths = [bar_widths(level) for level in lattice.levels]
    left = [0.0] * len(sizes)
    for state, (name, colour, _, hatch) in LOOKS.items():
        mine = [width[state] for width in widths]
        if not any(mine):
            continue
        ax.barh(
            sizes,
            mine,
            left=left,
            color=colour,
            edgecolor="black",
            linewidth=0.6,
            hatch=hatch,
            label=name,
        )
        for level, start, part in zip(lattice.levels, left, mine, strict=True):
            if part:
                middle = start + part / 2
                ax.text(
                    middle,
                    level["size"],
                    f"{level[state]:,}",
                    ha="center",
                    va="center",
                    fontsize=8,
                    bbox=_PLATE,
                )
        left = [start + part for start, part in zip(left, mine, strict=True)]
    totals = [sum(level.get(state, 0) for state in LOOKS) for level in lattice.levels]
    ax.set_xlim(0, 1)
    ax.set_yticks(sizes, [f"{size} ({total:,})" for size, total in zip(sizes, totals, strict=True)])
    ax.set_xticks([])
    ax.set_ylabel("features in a set (number of sets)")
    ax.set_xlabel(_listed(lattice.minimal), loc="left", fontsize="small")
    ax.tick_params(left=False)
    ax.spines[:].set_visible(False)
    above = _legend(ax, sum(any(width[state] for width in widths) for state in LOOKS))
    bar = max(0.1, inches(ax)[1] - above) / max(len(sizes), 1)
    ax.set_ylim(0.5, len(sizes) + 0.5 + above / bar)
    ax.set_title(lattice.title, loc="left", fontsize="medium")


def _legend(ax: Any, entries: int) -> float:
    """Put the legend at the top of the axes, and return the inches that it needs there."""
    columns = max(1, int(inches(ax)[0] / 2.2))
    ax.legend(loc="upper left", ncols=columns, fontsize="small", frameon=False)
    return 0.2 * math.ceil(entries / columns) + 0.2


def bar_widths(level: Mapping[str, int]) -> dict[str, float]:
    """Return how wide the part of each state is in the bar of one size.

    Widths follow the numbers, but no state gets so little that its number has no room: one
    undecided set among thousands must not disappear.

    >>> {state: round(width, 3) for state, width in bar_widths({"cleared": 999, "undecided": 1}).items() if width}
    {'cleared': 0.952, 'undecided': 0.048}
    """
    total = sum(level.get(state, 0) for state in LOOKS)
    wanted = {
        state: max(level[state] / total, _SLIVER) if level.get(state) else 0.0 for state in LOOKS
    }
    return {
        state: width / sum(wanted.values()) if width else 0.0 for state, width in wanted.items()
    }


def _listed(minimal: Sequence[Names]) -> str:
    if not minimal:
        return "no set was found to discriminate"
    lines = [f"  {literal(', '.join(names), 90)}" for names in minimal[:MOST_LISTED]]
    if len(minimal) > MOST_LISTED:
        lines.append(f"  … {len(minimal) - MOST_LISTED:,} more")
    return "\n".join([f"minimal discriminating sets ({len(minimal):,}):", *lines])


def display_of(result: Result) -> Display:
    """Return the display of a result; what has no details is drawn by its findings."""
    if not lattices_of(result):
        return RatesDisplay.from_findings(result.findings)
    return LatticeDisplay.from_result(result)
