"""Lattices drawn: what is computed is asserted without drawing, the rest on unseen figures."""

from __future__ import annotations

import itertools

import matplotlib
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.methods.subsets.panel import LatticePanel
from evenhand.methods.subsets.plot import LOOKS, LatticeDisplay, bar_widths, short_names
from evenhand.report.finding_text import STATES
from evenhand.report.rates_display import RatesDisplay, display_of
from evenhand.results.evidence import Finding
from tests.support.displays import cut, estimate, render, result, texts

matplotlib.use("Agg")


def lattice_table(among, minimal=(), cleared=(), undecided=()):
    """Return the lattice of these sets as `subsets` writes it.

    What follows from none of them is not tested.
    """
    tested = {frozenset(names): "discriminating" for names in minimal}
    tested |= {frozenset(names): "cleared" for names in cleared}
    tested |= {frozenset(names): "undecided" for names in undecided}
    sets = []
    levels = []
    for size in range(1, len(among) + 1):
        level = dict.fromkeys(STATES, 0)
        for names in itertools.combinations(among, size):
            state = tested.get(frozenset(names))
            because = "tested"
            if state is None:
                state = implied_state(set(names), minimal, cleared)
                because = REASONS[state]
            level[state] += 1
            if state != "not tested":
                entry = {
                    "about": list(names),
                    "state": state.removeprefix("implied "),
                    "because": because,
                    "of": None,
                    "value": None,
                }
                sets.append(entry)
        levels.append({"size": size, **level})
    return {
        "among": list(among),
        "limit": 0.75,
        "kind": "causal",
        "tests": 3,
        "sets": sets,
        "levels": levels,
    }


REASONS = {
    "implied discriminating": "superset of a discriminating set",
    "implied cleared": "subset of a cleared set",
    "not tested": "not tested",
}


def implied_state(names, minimal, cleared):
    if any(set(other) < names for other in minimal):
        return "implied discriminating"
    if any(names < set(other) for other in cleared):
        return "implied cleared"
    return "not tested"


SMALL = lattice_table(
    ["sex", "race", "age"],
    [("sex", "race")],
    [("sex", "age")],
    [("race", "age")],
)


def test_drawing_leaves_the_global_state_alone(ax):
    from matplotlib import pyplot

    settings_before = dict(matplotlib.rcParams)
    figures_before = pyplot.get_fignums()
    finding = Finding("c", ("sex",), estimate(0.3), 0.05)
    result(finding).plot(ax=ax)
    panel = LatticePanel.from_table(SMALL)
    LatticeDisplay((panel,)).plot(ax=ax)
    assert dict(matplotlib.rcParams) == settings_before
    assert pyplot.get_fignums() == figures_before


def test_the_lattice_shows_what_was_tested_implied_and_neither():
    lattice = LatticePanel.from_table(SMALL)
    states = {node.about: node.state for node in lattice.nodes}
    assert states == {
        ("sex",): "implied cleared",
        ("race",): "not tested",
        ("age",): "implied cleared",
        ("sex", "race"): "discriminating",
        ("sex", "age"): "cleared",
        ("race", "age"): "undecided",
        ("sex", "race", "age"): "implied discriminating",
    }
    assert lattice.minimal == (("sex", "race"),)
    assert lattice.edges == ()


def test_a_tested_superset_of_a_discriminating_set_is_not_minimal_and_joined_to_it():
    discriminating = [("sex",), ("sex", "race")]
    table = lattice_table(["sex", "race"], discriminating, cleared=[("race",)])
    lattice = LatticePanel.from_table(table)
    assert lattice.minimal == (("sex",),)
    assert [node.state for node in lattice.nodes] == [
        "discriminating",
        "cleared",
        "implied discriminating",
    ]
    assert sorted(lattice.edges) == [(0, 2), (1, 2)]


def names(count: int) -> list[str]:
    first = ["sex", "race", "age", "education", "education-num", "marital-status"]
    others = [f"x{number}" for number in range(20)]
    return [*first, *others][:count]


@pytest.mark.parametrize("count", [1, 2, 3, 5, 6])
def test_small_lattices_are_drawn_whole(count, plotted):
    among = names(count)
    first_two = tuple(among[:2])
    all_but_first = tuple(among[1:])
    table = lattice_table(among, [first_two], [all_but_first])
    display = plotted(result(job="subsets", details={"lattice": table}))
    assert isinstance(display, LatticeDisplay)
    markers = 0
    for drawn in display.ax_.collections:
        if drawn.get_label() in LABELS:
            markers += len(drawn.get_offsets())
    assert markers == 2**count - 1
    assert not cut(display)
    assert overlapping(display) == []


LABELS = {look.label for look in LOOKS.values()}


def overlapping(display) -> list[tuple[str, str]]:
    """Return the labels of sets that cover each other."""
    from matplotlib.text import Annotation

    labels = display.figure_.findobj(Annotation)
    found = []
    for label, other in itertools.combinations(labels, 2):
        box = label.get_window_extent()
        if box.overlaps(other.get_window_extent()):
            found.append((label.get_text(), other.get_text()))
    return found


def test_large_lattices_are_bars_and_a_list(plotted, ax):
    among = names(9)
    minimal = list(itertools.combinations(among[:5], 2))
    cleared = tuple(among[4:])
    undecided = tuple(among[6:])
    table = lattice_table(among, minimal, [cleared], [undecided])
    table["levels"][2]["undecided"] += 1
    display = plotted(result(job="subsets", details={"lattice": table}))
    drawn_texts = texts(display)
    assert "minimal discriminating sets (10):" in drawn_texts
    assert "… 2 more" in drawn_texts
    bars = [bar for bar in display.ax_.patches if bar.get_width() > 0]
    parts = 0
    for level in table["levels"]:
        states = [state for state in STATES if level[state] > 0]
        parts += len(states)
    assert len(bars) == parts
    assert not cut(display)
    six = lattice_table(names(6), [("sex",)])
    narrow = result(job="subsets", details={"lattice": six}).plot(ax=ax)
    # There is no room for 20 labels side by side.
    assert "features in a set (number of sets)" in texts(narrow)
    render(narrow)


@given(st.lists(st.integers(0, 200_000), min_size=7, max_size=7))
def test_no_state_disappears_from_its_bar(counts):
    level = dict(zip(STATES, counts, strict=True))
    widths = bar_widths(level)
    for state, count in level.items():
        is_seen = widths[state] >= 0.035
        assert is_seen == (count > 0)
    whole = 1.0 if any(counts) else 0.0
    assert sum(widths.values()) == pytest.approx(whole)


@given(
    st.lists(st.text(min_size=1, max_size=12), min_size=1, max_size=6, unique=True),
    st.integers(3, 9),
)
def test_short_names_are_short_and_never_the_same(given_names, width):
    short = short_names(given_names, width)
    assert list(short) == given_names
    assert len(set(short.values())) == len(given_names)
    assert max(map(len, short.values())) <= width


def test_states_differ_by_more_than_colour():
    assert list(LOOKS) == list(STATES)
    markers = {look.marker for look in LOOKS.values()}
    fills = {(look.colour, look.hatch) for look in LOOKS.values()}
    assert len(markers) == len(STATES)
    assert len(fills) == len(STATES)


def test_several_outputs_have_a_panel_each(plotted, ax):
    amount = lattice_table(["sex", "race"], (), [("sex", "race")])
    tables = {"approved": SMALL, "$amount$": amount}
    shown = result(job="subsets", details={"lattice": {"outputs": tables}})
    display = plotted(shown)
    titles = [axes.get_title(loc="left") for axes in display.axes_]
    outputs = [title.split(":")[0] for title in titles]
    assert outputs == ["approved", r"\$amount\$"]
    first = shown.plot(ax=ax)
    assert first.ax_.get_title(loc="left") == titles[0]


def test_subsets_without_a_lattice_are_scores():
    finding = Finding("c", ("sex",), estimate(0.3), 0.05)
    display = display_of(result(finding, job="subsets"))
    assert isinstance(display, RatesDisplay)
