"""Lattices drawn: what is computed is asserted without drawing, what is drawn on figures that
nobody sees.
"""

from __future__ import annotations

import itertools

import matplotlib
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.methods.subsets.plot import (
    LOOKS,
    LatticeDisplay,
    LatticePanel,
    bar_widths,
    short_names,
)
from evenhand.report.finding_text import STATES
from evenhand.report.rates_display import RatesDisplay, display_of
from evenhand.results.evidence import Finding
from tests.support.displays import cut, estimate, render, result, texts

matplotlib.use("Agg")


def lattice_table(among, minimal=(), cleared=(), undecided=()):
    """Return the lattice of these sets as `subsets` tells it; what follows from none of them is not
    tested.
    """
    sets, levels = [], []
    tested = {"discriminating": minimal, "cleared": cleared, "undecided": undecided}
    states = {frozenset(names): state for state, listed in tested.items() for names in listed}
    for size in range(1, len(among) + 1):
        level = dict.fromkeys(STATES, 0)
        for names in itertools.combinations(among, size):
            state, because, value = states.get(frozenset(names)), "tested", None
            counted = state
            if state is None and any(set(one) < set(names) for one in minimal):
                state, because, value = "discriminating", "superset of a discriminating set", None
                counted = "implied discriminating"
            elif state is None and any(set(names) < set(one) for one in cleared):
                state, because, value = "cleared", "subset of a cleared set", None
                counted = "implied cleared"
            level[counted or "not tested"] += 1
            if state:
                sets.append(
                    {
                        "about": list(names),
                        "state": state,
                        "because": because,
                        "of": None,
                        "value": value,
                    }
                )
        levels.append({"size": size, **level})
    return {
        "among": list(among),
        "limit": 0.75,
        "kind": "causal",
        "tests": 3,
        "sets": sets,
        "levels": levels,
    }


SMALL = lattice_table(
    ["sex", "race", "age"],
    [("sex", "race")],
    [("sex", "age")],
    [("race", "age")],
)


def test_drawing_leaves_the_global_state_alone(ax):
    from matplotlib import pyplot

    before = dict(matplotlib.rcParams), pyplot.get_fignums()
    result(Finding("c", ("sex",), estimate(0.3), 0.05)).plot(ax=ax)
    LatticeDisplay((LatticePanel.from_table(SMALL),)).plot(ax=ax)
    assert (dict(matplotlib.rcParams), pyplot.get_fignums()) == before


def test_the_lattice_tells_what_was_tested_implied_and_neither():
    lattice = LatticePanel.from_table(SMALL)
    assert {node.about: node.state for node in lattice.nodes} == {
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


def test_a_tested_superset_of_a_discriminating_set_is_not_minimal_and_tested_neighbours_are_joined():
    table = lattice_table(["sex", "race"], [("sex",), ("sex", "race")], [("race",)])
    lattice = LatticePanel.from_table(table)
    assert lattice.minimal == (("sex",),)
    assert [node.state for node in lattice.nodes] == [
        "discriminating",
        "cleared",
        "implied discriminating",
    ]
    assert sorted(lattice.edges) == [(0, 2), (1, 2)]


def names(count: int) -> list[str]:
    return [
        "sex",
        "race",
        "age",
        "education",
        "education-num",
        "marital-status",
        *(f"x{i}" for i in range(20)),
    ][:count]


@pytest.mark.parametrize("count", [1, 2, 3, 5, 6])
def test_small_lattices_are_drawn_whole(count, plotted):
    among = names(count)
    table = lattice_table(among, [tuple(among[:2])], [tuple(among[1:])])
    display = plotted(result(job="subsets", details={"lattice": table}))
    assert isinstance(display, LatticeDisplay)
    markers = sum(
        len(drawn.get_offsets()) for drawn in display.ax_.collections if drawn.get_label() in LABELS
    )
    assert markers == 2**count - 1
    assert not cut(display)
    assert overlapping(display) == []


LABELS = {name for name, *_ in LOOKS.values()}


def overlapping(display) -> list[tuple[str, str]]:
    """Return the labels of sets that cover each other."""
    from matplotlib.text import Annotation

    boxes = [
        (text.get_text(), text.get_window_extent()) for text in display.figure_.findobj(Annotation)
    ]
    return [
        (a, b) for (a, one), (b, other) in itertools.combinations(boxes, 2) if one.overlaps(other)
    ]


def test_large_lattices_are_bars_and_a_list(plotted, ax):
    among = names(9)
    minimal = [tuple(pair) for pair in itertools.combinations(among[:5], 2)]
    table = lattice_table(among, minimal, [tuple(among[4:])], [tuple(among[6:])])
    table["levels"][2]["undecided"] += 1
    display = plotted(result(job="subsets", details={"lattice": table}))
    told = texts(display)
    assert "minimal discriminating sets (10):" in told
    assert "… 2 more" in told
    bars = [bar for bar in display.ax_.patches if bar.get_width() > 0]
    assert len(bars) == sum(level[state] > 0 for level in table["levels"] for state in STATES)
    assert not cut(display)
    narrow = result(job="subsets", details={"lattice": lattice_table(names(6), [("sex",)])}).plot(
        ax=ax
    )
    assert "features in a set (number of sets)" in texts(
        narrow
    )  # no room for 20 labels side by side
    render(narrow)


@given(st.lists(st.integers(0, 200_000), min_size=7, max_size=7))
def test_no_state_disappears_from_its_bar(counts):
    widths = bar_widths(dict(zip(STATES, counts, strict=True)))
    assert all(
        (width >= 0.035) == (count > 0)
        for width, count in zip(widths.values(), counts, strict=True)
    )
    assert sum(widths.values()) == pytest.approx(1.0 if any(counts) else 0.0)


@given(
    st.lists(st.text(min_size=1, max_size=12), min_size=1, max_size=6, unique=True),
    st.integers(3, 9),
)
def test_short_names_are_short_and_never_the_same(given_names, width):
    short = short_names(given_names, width)
    assert list(short) == given_names
    assert len(set(short.values())) == len(given_names)
    assert all(len(name) <= width for name in short.values())


def test_states_differ_by_more_than_colour():
    assert list(LOOKS) == list(STATES)
    assert len({marker for _, _, marker, _ in LOOKS.values()}) == len(STATES)
    assert len({(colour, hatch) for _, colour, _, hatch in LOOKS.values()}) == len(STATES)


def test_several_outputs_have_a_panel_each(plotted, ax):
    tables = {"approved": SMALL, "$amount$": lattice_table(["sex", "race"], (), [("sex", "race")])}
    shown = result(job="subsets", details={"lattice": {"outputs": tables}})
    display = plotted(shown)
    titles = [one.get_title(loc="left") for one in display.axes_]
    assert [title.split(":")[0] for title in titles] == ["approved", r"\$amount\$"]
    assert shown.plot(ax=ax).ax_.get_title(loc="left") == titles[0]


def test_subsets_without_a_lattice_are_scores():
    assert isinstance(
        display_of(result(Finding("c", ("sex",), estimate(0.3), 0.05), job="subsets")), RatesDisplay
    )
