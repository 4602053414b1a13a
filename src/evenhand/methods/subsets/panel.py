"""What is drawn of a lattice: its sets with their states, and which of them are neighbours."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evenhand.methods.subsets import messages
from evenhand.methods.subsets.lattice import TESTED
from evenhand.report.canvas import literal
from evenhand.runtime import number_text
from evenhand.runtime.language import say, term

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from evenhand.methods.subsets.evaluators.arrays import Names

    Edge = tuple[int, int]
    Entry = Mapping[str, Any]
    Entries = Mapping[frozenset[str], Entry]

MOST_DRAWN = 6
"""The most features whose sets are drawn one by one."""


@dataclass(frozen=True, slots=True)
class Node:
    """One set of features in the lattice, its state, and the score where it was tested."""

    about: Names
    state: str
    tested: bool = False
    value: float | None = None


@dataclass(frozen=True, slots=True)
class LatticePanel:
    """What is drawn of the lattice of one output.

    `levels` holds how many sets of each size are in which state, `minimal` the minimal sets;
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
    edges: tuple[Edge, ...] = ()

    @classmethod
    def from_table(cls, table: Mapping[str, Any], output: str = "") -> LatticePanel:
        """Read the lattice that a result of `subsets` holds.

        >>> found = {"about": ["sex"], "state": "discriminating", "because": "tested", "value": 0.9}
        >>> table = {"among": ["sex", "race"], "kind": "causal", "limit": 0.75, "levels": []}
        >>> table["sets"] = [found]
        >>> [(node.about, node.state) for node in LatticePanel.from_table(table).nodes]
        [(('sex',), 'discriminating'), (('race',), 'not tested'), (('sex', 'race'), 'not tested')]
        """
        among = tuple(table["among"])
        entries = {frozenset(entry["about"]): entry for entry in table["sets"]}
        minimal = _minimal(entries)
        in_order = [tuple(sorted(names, key=among.index)) for names in minimal]
        in_order.sort(key=len)
        nodes: tuple[Node, ...] = ()
        if len(among) <= MOST_DRAWN:
            nodes = tuple(_nodes(among, entries, set(minimal)))
        edges = []
        for smaller, larger in neighbours(nodes):
            if nodes[smaller].tested and nodes[larger].tested:
                edges.append((smaller, larger))
        return cls(
            output,
            among,
            table["kind"],
            table["limit"],
            tuple(table["levels"]),
            tuple(in_order),
            nodes,
            tuple(edges),
        )

    @property
    def title(self) -> str:
        """What the lattice shows."""
        limit = number_text.limit(self.limit, "rate")
        kind = term(self.kind)
        if not self.output:
            return say(messages.TITLE, kind=kind, limit=limit)
        output = literal(self.output, 30)
        return say(messages.TITLE_OF_OUTPUT, output=output, kind=kind, limit=limit)


def neighbours(nodes: Sequence[Node]) -> list[Edge]:
    """Return the positions of all pairs of sets where the second has one feature more.

    >>> singles = [Node(("sex",), "cleared"), Node(("age",), "cleared")]
    >>> neighbours([*singles, Node(("sex", "race"), "undecided")])
    [(0, 2)]
    """
    positions = {frozenset(node.about): number for number, node in enumerate(nodes)}
    pairs = []
    for number, node in enumerate(nodes):
        for name in node.about:
            smaller = frozenset(node.about) - {name}
            if smaller in positions:
                pairs.append((positions[smaller], number))
    return pairs


def _minimal(entries: Entries) -> list[frozenset[str]]:
    """Return the sets that were found to discriminate, and hold no other that was."""
    discriminating = []
    for names, entry in entries.items():
        if _is_tested(entry) and entry["state"] == "discriminating":
            discriminating.append(names)
    minimal = []
    for names in discriminating:
        holds_another = any(other < names for other in discriminating)
        if not holds_another:
            minimal.append(names)
    return minimal


def _nodes(among: Names, entries: Entries, minimal: set[frozenset[str]]) -> Iterator[Node]:
    """Yield every set of the features, smaller ones first."""
    for size in range(1, len(among) + 1):
        for names in itertools.combinations(among, size):
            entry = entries.get(frozenset(names))
            yield _node(names, entry, minimal=minimal)


def _is_tested(entry: Entry) -> bool:
    return bool(entry["because"] == TESTED)


def _node(names: Names, entry: Entry | None, *, minimal: set[frozenset[str]]) -> Node:
    if entry is None:
        return Node(names, "not tested")
    state = entry["state"]
    tested = _is_tested(entry)
    if state == "discriminating" and frozenset(names) not in minimal:
        state = "implied discriminating"
    if state == "cleared" and not tested:
        state = "implied cleared"
    return Node(names, state, tested, entry.get("value"))
