"""The lattice of sets of features as a chart of a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.methods.subsets import messages
from evenhand.methods.subsets.panel import neighbours
from evenhand.methods.subsets.plot.display import (
    LOOKS,
    LatticeDisplay,
    bar_widths,
    display_of,
    lines_under,
    listed,
    number_of_sets,
    short_names,
)
from evenhand.report.canvas import unescaped
from evenhand.report.charts import (
    LatticeChart,
    LatticeNode,
    StackChart,
    StackPart,
    StackRow,
)
from evenhand.report.charts.rates import finding_charts
from evenhand.runtime import number_text
from evenhand.runtime.language import say, term

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenhand.methods.subsets.panel import LatticePanel, Node
    from evenhand.report.charts.keys import Chart
    from evenhand.results.result import Result

_CHART_LOOKS = {
    "discriminating": "fail",
    "implied discriminating": "fail-implied",
    "cleared": "pass",
    "implied cleared": "pass-implied",
    "undecided": "undecided",
    "not shown": "unshown",
    "not tested": "untested",
}
_NAMES = {look: LOOKS[state].label for state, look in _CHART_LOOKS.items()}
_LETTERS = 12
"""Letters that fit under a set in the longest row."""


def charts_of(result: Result) -> tuple[Chart, ...]:
    """Return a chart of each lattice: of all sets, or of how many of each size are in a state."""
    display = display_of(result)
    if not isinstance(display, LatticeDisplay):
        return finding_charts(result.findings)
    charts: list[Chart] = []
    for panel in display.lattices:
        charts.append(_lattice(panel) if panel.nodes else _levels(panel))
    return tuple(charts)


def _lattice(panel: LatticePanel) -> LatticeChart:
    rows: dict[int, int] = {}
    for node in panel.nodes:
        size = len(node.about)
        rows[size] = rows.get(size, 0) + 1
    across = _LETTERS * max(rows.values())
    short = short_names(panel.among, _LETTERS - 2)
    nodes = []
    for node in panel.nodes:
        room = across // rows[len(node.about)]
        nodes.append(_node(node, short, min(max(room, _LETTERS), 40)))
    return LatticeChart(
        tuple(nodes),
        tuple(neighbours(panel.nodes)),
        strong=frozenset(panel.edges),
        names=_NAMES,
        title=unescaped(panel.title),
    )


def _node(node: Node, short: Mapping[str, str], room: int) -> LatticeNode:
    features = ", ".join(node.about)
    state = term(LOOKS[node.state].label)
    score = ""
    text = say(messages.SET_AND_STATE, features=features, state=state)
    if node.value is not None:
        score = number_text.percent(node.value)
        text = say(
            messages.SET_STATE_AND_SCORE, features=features, state=state, score=score
        )
    return LatticeNode(
        lines=tuple(lines_under(node, short, room)),
        size=len(node.about),
        look=_CHART_LOOKS[node.state],
        full_text=text,
        name=features,
        numbers=score,
    )


def _levels(panel: LatticePanel) -> StackChart:
    rows = [_level(level) for level in reversed(panel.levels)]
    notes = listed(panel.minimal).split("\n")
    return StackChart(
        tuple(rows),
        axis=say(messages.SIZE_AXIS),
        title=unescaped(panel.title),
        notes=tuple(unescaped(note) for note in notes),
    )


def _level(level: Mapping[str, int]) -> StackRow:
    total = number_text.count(number_of_sets(level))
    parts = []
    for state, width in bar_widths(level).items():
        if width:
            number = number_text.count(level[state])
            part = StackPart(width, _CHART_LOOKS[state], number, term(LOOKS[state].label))
            parts.append(part)
    return StackRow(f"{level['size']} ({total})", tuple(parts))
