"""Charts of sets: a lattice with a node for each, and bars divided by state."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from evenhand.report.charts import messages
from evenhand.report.charts.keys import Key, NumbersTable
from evenhand.runtime import number_text
from evenhand.runtime.language import say, term

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_TOP = 14
_LINE = 15
_GAP = 34
"""Pixels over the first row, of a line of a label, and between rows."""
_SLOT = 84
"""Pixels that a node needs at least; a narrow page scrolls."""


@dataclass(frozen=True, slots=True)
class LatticeNode:
    """A set: its label in lines, its size, its look, and everything that is known of it."""

    lines: tuple[str, ...]
    size: int
    look: str
    full_text: str
    name: str = ""
    numbers: str = ""


@dataclass(frozen=True, slots=True)
class PlacedNode:
    """A node as it is drawn."""

    x: str
    y: int
    look: str
    lines: tuple[tuple[int, str], ...]
    full_text: str


@dataclass(frozen=True, slots=True)
class PlacedEdge:
    """A line between two nodes."""

    x1: str
    y1: int
    x2: str
    y2: int
    look: str


@dataclass(frozen=True, slots=True)
class PlacedLattice:
    """A lattice as it is drawn."""

    title: str
    nodes: tuple[PlacedNode, ...]
    edges: tuple[PlacedEdge, ...]
    height: int
    least_width: int


@dataclass(frozen=True, slots=True)
class LatticeChart:
    """Sets of features by size, larger ones above, with lines between neighbours.

    `nodes` stand by size, smaller ones first; `edges` are pairs of their places, and `strong` are
    those edges that stand out. `names` says what each look means.

    >>> sex = LatticeNode(("sex",), 1, "fail", "sex: 20 %")
    >>> placed = LatticeChart((sex, LatticeNode(("age",), 1, "pass", "")), ()).placed()
    >>> [(node.x, node.y) for node in placed.nodes]
    [('25.00%', 14), ('75.00%', 14)]
    """

    nodes: tuple[LatticeNode, ...]
    edges: tuple[tuple[int, int], ...]
    strong: frozenset[tuple[int, int]] = frozenset()
    names: Mapping[str, str] | None = None
    title: str = ""
    notes: tuple[str, ...] = ()
    wide: bool = True
    kind: str = "lattice"

    def entries(self) -> list[Key]:
        """Return the looks in sight."""
        looks = {node.look for node in self.nodes}
        names = self.names or {}
        return [Key(look, term(name)) for look, name in names.items() if look in looks]

    def numbers(self) -> NumbersTable | None:
        """Return the state of each set."""
        names = self.names or {}
        rows = []
        for node in self.nodes:
            state = term(names.get(node.look, node.look))
            rows.append((node.name, state, node.numbers))
        headings = (
            say(messages.COLUMN_LABEL),
            say(messages.COLUMN_STATE),
            say(messages.COLUMN_NUMBERS),
        )
        return NumbersTable(headings, tuple(rows))

    def placed(self) -> PlacedLattice:
        """Return nodes and edges with their places."""
        rows = [list(row) for _, row in groupby(self.nodes, key=_size_of)]
        top = _TOP
        tops: list[int] = []
        for row in reversed(rows):
            tops.insert(0, top)
            most_lines = max(len(node.lines) for node in row)
            top += _GAP + _LINE * most_lines
        nodes: list[PlacedNode] = []
        for row, y in zip(rows, tops, strict=True):
            nodes += _placed_row(row, y)
        edges = []
        for pair in self.edges:
            edges.append(self._placed_edge(pair, nodes))
        longest = max([1, *(len(row) for row in rows)])
        return PlacedLattice(
            self.title,
            nodes=tuple(nodes),
            edges=tuple(edges),
            height=top - _GAP + 10,
            least_width=_SLOT * longest,
        )

    def _placed_edge(
        self, pair: tuple[int, int], nodes: Sequence[PlacedNode]
    ) -> PlacedEdge:
        first = nodes[pair[0]]
        second = nodes[pair[1]]
        look = "strong" if pair in self.strong else "weak"
        return PlacedEdge(first.x, first.y, second.x, second.y, look)


def _size_of(node: LatticeNode) -> int:
    return node.size


def _placed_row(row: Sequence[LatticeNode], y: int) -> list[PlacedNode]:
    placed = []
    for number, node in enumerate(row):
        x = number_text.page_place((number + 0.5) / len(row))
        lines = []
        for place, line in enumerate(node.lines):
            lines.append((y + 22 + _LINE * place, line))
        placed.append(PlacedNode(x, y, node.look, tuple(lines), node.full_text))
    return placed


@dataclass(frozen=True, slots=True)
class StackPart:
    """A part of a bar: the share of the bar that it takes, its look, and its number."""

    share: float
    look: str
    number: str
    name: str


@dataclass(frozen=True, slots=True)
class StackRow:
    """A bar that is divided into parts."""

    label: str
    parts: tuple[StackPart, ...]


@dataclass(frozen=True, slots=True)
class PlacedPart:
    """A part as it is drawn."""

    x: str
    width: str
    middle: str
    look: str
    number: str
    full_text: str


@dataclass(frozen=True, slots=True)
class PlacedStack:
    """A bar as it is drawn."""

    label: str
    parts: tuple[PlacedPart, ...]


@dataclass(frozen=True, slots=True)
class StackChart:
    """Bars that are divided into parts, from top to bottom.

    >>> part = StackPart(0.25, "pass", "10", "cleared")
    >>> row = StackRow("2", (part, StackPart(0.75, "fail", "30", "discriminating")))
    >>> [(one.x, one.full_text) for one in StackChart((row,)).placed()[0].parts]
    [('0.00%', '2: 10 cleared'), ('25.00%', '2: 30 discriminating')]
    """

    rows: tuple[StackRow, ...]
    axis: str = ""
    title: str = ""
    notes: tuple[str, ...] = ()
    wide: bool = True
    kind: str = "stacks"

    def entries(self) -> list[Key]:
        """Return the looks of all parts."""
        names: dict[str, str] = {}
        for row in self.rows:
            for part in row.parts:
                names.setdefault(part.look, part.name)
        return [Key(f"fill {look}", name) for look, name in names.items()]

    def numbers(self) -> NumbersTable | None:
        """Return the number of each part."""
        rows = []
        for row in self.rows:
            for part in row.parts:
                rows.append((row.label, part.name, part.number))
        headings = (self.axis, say(messages.COLUMN_STATE), say(messages.COLUMN_NUMBERS))
        return NumbersTable(headings, tuple(rows))

    def placed(self) -> tuple[PlacedStack, ...]:
        """Return the parts with their places."""
        return tuple(_placed_stack(row) for row in self.rows)


def _placed_stack(row: StackRow) -> PlacedStack:
    start = 0.0
    parts = []
    for part in row.parts:
        text = say(messages.PART, label=row.label, number=part.number, name=part.name)
        parts.append(
            PlacedPart(
                x=number_text.page_place(start),
                width=number_text.page_place(part.share),
                middle=number_text.page_place(start + part.share / 2),
                look=part.look,
                number=part.number,
                full_text=text,
            )
        )
        start += part.share
    return PlacedStack(row.label, tuple(parts))
