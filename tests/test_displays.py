"""Displays: what they compute is asserted without drawing, what they draw on figures that nobody sees."""

from __future__ import annotations

import itertools
import math
import sys
import warnings

import matplotlib
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure

from evenhand.methods.subsets.plot import LOOKS, Lattice, LatticeDisplay, bar_widths, short_names
from evenhand.report.finding_text import STATES, shown_groups
from evenhand.report.rates_display import MOST_PANELS, MOST_ROWS, RatesDisplay, display_of
from evenhand.results.result import Finding, Group, Result
from evenhand.runtime.budget import Spent
from evenhand.runtime.errors import MissingExtra
from evenhand.statistics.estimate import Estimate, StopReason
from tests.helpers import refused

matplotlib.use("Agg")


def estimate(value: float, n: int = 400, half: float = 0.03) -> Estimate:
    if not n:
        return Estimate(math.nan, 0.0, 1.0, 0, 0.95, "exact", "all inputs, uniformly")
    low, high = max(0.0, value - half), min(1.0, value + half)
    return Estimate(value, low, high, n, 0.95, "exact", "all inputs, uniformly")


def result(*findings: Finding, job: str = "measure", details: dict[str, object] | None = None) -> Result:
    spent = Spent(20, 10, 1.0)
    return Result(job, findings, 0, spent, StopReason.MARGIN, {}, versions={}, details=details or {})


def group(name: str, value: float, n: int = 400) -> Group:
    return Group({"race": name}, estimate(value, n))


GROUPS = (group("b", 0.6), group("a", 0.2), group("c", 0.0, 0), group("d", 0.4))


def lattice_table(among, minimal=(), cleared=(), undecided=()):
    """Return the lattice of these sets as `subsets` tells it; what follows from none of them is not tested."""
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
                sets.append({"about": list(names), "state": state, "because": because, "of": None, "value": value})
        levels.append({"size": size, **level})
    return {"among": list(among), "limit": 0.75, "kind": "causal", "tests": 3, "sets": sets, "levels": levels}


SMALL = lattice_table(["sex", "race", "age"], [("sex", "race")], [("sex", "age")], [("race", "age")])


@pytest.fixture
def ax():
    return Figure(layout="constrained").subplots()


@pytest.fixture
def plotted():
    """Draw on a new figure, render it with warnings as errors, and close it at the end."""
    from matplotlib import pyplot

    drawn = []

    def draw(shown: Result):
        display = shown.plot()
        drawn.append(display.figure_)
        render(display)
        return display

    yield draw
    for figure in drawn:
        pyplot.close(figure)


def render(display) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        display.figure_.canvas.draw()


def texts(display) -> str:
    from matplotlib.text import Text

    return "\n".join(text.get_text() for text in display.figure_.findobj(Text))


def cut(display) -> bool:
    """Tell whether anything drawn stands out of the figure."""
    box, (wide, high) = display.figure_.get_tightbbox(), display.figure_.get_size_inches()
    return bool(box.x0 < -0.02 or box.y0 < -0.02 or box.x1 > wide + 0.02 or box.y1 > high + 0.02)


def test_scores_are_rows_with_their_verdicts_best_evidence_first():
    display = display_of(
        result(
            Finding("c", ("sex",), estimate(0.02, half=0.01), 0.05),
            Finding("c", ("race", "sex"), estimate(0.3), 0.05),
            Finding("c", ("age",), estimate(0, 0), 0.05),
        )
    )
    assert isinstance(display, RatesDisplay)
    (panel,) = display.scores
    assert [(row.label, row.verdict) for row in panel.rows] == [
        ("race, sex, n = 400", "fail"),
        ("age, n = 0", "undecided"),
        ("sex, n = 400", "pass"),
    ]
    assert [row.value for row in panel.rows] == [0.3, None, 0.02]
    assert panel.rows[1].instead == "no data, undecided"
    assert panel.axis == "score, intervals at 95 %\npopulation: all inputs, uniformly"
    assert (panel.limit, panel.least, display.groups) == (0.05, False, ())


def test_ratios_have_a_panel_of_their_own_with_a_floor_and_share_their_groups(plotted):
    shown = result(
        Finding("differ", ("race",), estimate(0.4), 0.1, groups=GROUPS),
        Finding("ratio", ("race",), estimate(0.33), 0.8, groups=GROUPS, least=True),
    )
    display = plotted(shown)
    assert {(panel.limit, panel.least) for panel in display.scores} == {(0.1, False), (0.8, True)}
    (panel,) = display.groups
    assert set(panel.title.split("\n")) == {"fail: differ", "fail: ratio"}
    assert "engineering threshold 0.8 (at least)" in texts(display)
    assert len(display.axes_) == 3
    assert not cut(display)


def test_groups_are_sorted_and_the_empty_one_reads_as_undecided(plotted):
    display = plotted(result(Finding("differ", ("race",), estimate(0.4), 0.1, groups=GROUPS)))
    rows = display.groups[0].rows
    assert [row.label for row in rows] == ["race a, n = 400", "race d, n = 400", "race b, n = 400", "race c, n = 0"]
    assert rows[-1].value is None
    assert texts(display).count("no data, undecided") == 1


@given(known=st.integers(0, 60), empty=st.integers(0, 60), most=st.integers(4, 40))
def test_no_group_disappears_without_a_word(known, empty, most):
    groups = [group(str(i), (i * 37 % 61) / 61) for i in range(known)] + [group(f"e{i}", 0, 0) for i in range(empty)]
    shown = shown_groups(groups, most)
    drawn = [one for one in shown if isinstance(one, Group)]
    told = sum(int(one.split()[1]) for one in shown if isinstance(one, str))
    assert len(drawn) == min(most, len(groups))
    assert len(drawn) + told == len(groups)
    values = [one.estimate.value for one in drawn if one.estimate.n]
    assert values == sorted(values)
    if known:
        every = [one.estimate.value for one in groups if one.estimate.n]
        assert values[0] == min(every)
        assert len(values) == 1 or values[-1] == max(every)


def test_axes_given_get_the_groups_of_the_worst_finding_or_all_scores(ax):
    scores = result(Finding("c", ("sex",), estimate(0.3), 0.05), Finding("c", ("age",), estimate(0.1), 0.05))
    display = scores.plot(ax=ax)
    assert display.ax_ is ax
    assert display.axes_ == (ax,)
    assert display.figure_ is ax.figure
    assert [label.get_text() for label in ax.get_yticklabels()] == ["sex, n = 400", "age, n = 400"]
    render(display)
    other = Figure(layout="constrained").subplots()
    drawn = result(
        Finding("small", ("sex",), estimate(0.2), 0.1, groups=GROUPS[:2]),
        Finding("large", ("race",), estimate(0.4), 0.1, groups=GROUPS),
    ).plot(ax=other)
    assert other.get_title(loc="left") == "fail: large"
    render(drawn)


def test_drawing_leaves_the_global_state_alone(ax):
    from matplotlib import pyplot

    before = dict(matplotlib.rcParams), pyplot.get_fignums()
    result(Finding("c", ("sex",), estimate(0.3), 0.05)).plot(ax=ax)
    LatticeDisplay((Lattice.from_table(SMALL),)).plot(ax=ax)
    assert (dict(matplotlib.rcParams), pyplot.get_fignums()) == before


def test_very_many_rows_and_panels_are_cut_and_counted(plotted):
    names = [f"feature {i}" for i in range(MOST_ROWS + 5)]
    display = display_of(result(*(Finding("c", (name,), estimate(0.3), 0.05) for name in names), job="mine"))
    assert isinstance(display, RatesDisplay)
    assert len(display.scores[0].rows) == MOST_ROWS
    assert display.scores[0].rows[-1].instead == "… 6 more findings"
    groups = [(group("a", 0.1 * i), group("b", 0.05)) for i in range(MOST_PANELS + 2)]
    drawn = plotted(result(*(Finding("c", ("race",), estimate(0.3), 0.05, groups=each) for each in groups)))
    assert len(drawn.axes_) == 1 + MOST_PANELS
    assert "2 more findings have groups" in texts(drawn)


def test_labels_are_taken_literally_and_long_ones_are_cut(plotted):
    groups = (Group({"$x$": "$\\frac$"}, estimate(0.2)), Group({"name": "long " * 40}, estimate(0.4)))
    display = plotted(result(Finding("costs $5 to $6 " * 9, ("$a$_{", "b" * 90), estimate(0.2), 0.1, groups=groups)))
    assert not cut(display)
    assert max(len(row.label) for row in display.groups[0].rows) < 60


def test_a_result_without_findings_and_one_without_a_limit_are_drawn(plotted):
    assert "no findings" in texts(plotted(result()))
    display = plotted(result(Finding("c", ("sex",), Estimate.exact(0, 4)), Finding("c", "a rule", estimate(0, 0))))
    assert [row.label for row in display.scores[0].rows] == ["sex, n = 4", "a rule, n = 0"]


def test_the_lattice_tells_what_was_tested_implied_and_neither():
    lattice = Lattice.from_table(SMALL)
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
    lattice = Lattice.from_table(table)
    assert lattice.minimal == (("sex",),)
    assert [node.state for node in lattice.nodes] == ["discriminating", "cleared", "implied discriminating"]
    assert sorted(lattice.edges) == [(0, 2), (1, 2)]


def names(count: int) -> list[str]:
    return ["sex", "race", "age", "education", "education-num", "marital-status", *(f"x{i}" for i in range(20))][:count]


@pytest.mark.parametrize("count", [1, 2, 3, 5, 6])
def test_small_lattices_are_drawn_whole(count, plotted):
    among = names(count)
    table = lattice_table(among, [tuple(among[:2])], [tuple(among[1:])])
    display = plotted(result(job="subsets", details={"lattice": table}))
    assert isinstance(display, LatticeDisplay)
    markers = sum(len(drawn.get_offsets()) for drawn in display.ax_.collections if drawn.get_label() in LABELS)
    assert markers == 2**count - 1
    assert not cut(display)
    assert overlapping(display) == []


LABELS = {name for name, *_ in LOOKS.values()}


def overlapping(display) -> list[tuple[str, str]]:
    """Return the labels of sets that cover each other."""
    from matplotlib.text import Annotation

    boxes = [(text.get_text(), text.get_window_extent()) for text in display.figure_.findobj(Annotation)]
    return [(a, b) for (a, one), (b, other) in itertools.combinations(boxes, 2) if one.overlaps(other)]


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
    narrow = result(job="subsets", details={"lattice": lattice_table(names(6), [("sex",)])}).plot(ax=ax)
    assert "features in a set (number of sets)" in texts(narrow)  # no room for 20 labels side by side
    render(narrow)


@given(st.lists(st.integers(0, 200_000), min_size=7, max_size=7))
def test_no_state_disappears_from_its_bar(counts):
    widths = bar_widths(dict(zip(STATES, counts, strict=True)))
    assert all((width >= 0.035) == (count > 0) for width, count in zip(widths.values(), counts, strict=True))
    assert sum(widths.values()) == pytest.approx(1.0 if any(counts) else 0.0)


@given(st.lists(st.text(min_size=1, max_size=12), min_size=1, max_size=6, unique=True), st.integers(3, 9))
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
    assert isinstance(display_of(result(Finding("c", ("sex",), estimate(0.3), 0.05), job="subsets")), RatesDisplay)


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    for name in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    display = display_of(result(Finding("c", ("sex",), estimate(0.3), 0.05)))
    refused(MissingExtra, lambda: display.plot(), "drawing a result", "evenhand[plot]")
