"""Rates drawn: what is computed is asserted without drawing, and what is drawn on its figure."""

from __future__ import annotations

import sys

import matplotlib
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure

from evenhand.report.finding_text import shown_groups
from evenhand.report.rates_display import MOST_PANELS, MOST_ROWS, RatesDisplay, display_of
from evenhand.results.evidence import Finding, Group
from evenhand.runtime.errors import MissingExtra
from evenhand.statistics.estimate import Estimate
from tests.support.displays import cut, estimate, render, result, texts
from tests.support.helpers import refused

matplotlib.use("Agg")


def group(name: str, value: float, n: int = 400) -> Group:
    return Group({"race": name}, estimate(value, n))


def score(feature: str, value: float) -> Finding:
    return Finding("c", (feature,), estimate(value), 0.05)


GROUPS = (
    group("b", 0.6),
    group("a", 0.2),
    group("c", 0.0, 0),
    group("d", 0.4),
)


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
    labels = [row.label for row in panel.rows]
    assert labels == ["race, sex, n = 400", "age, n = 0", "sex, n = 400"]
    assert [row.verdict for row in panel.rows] == ["fail", "undecided", "pass"]
    assert [row.value for row in panel.rows] == [0.3, None, 0.02]
    assert panel.rows[1].instead == "no data, undecided"
    assert panel.axis == "score, intervals at 95 %\npopulation: all inputs, uniformly"
    assert panel.limit == 0.05
    assert not panel.least
    assert display.groups == ()


def test_ratios_have_a_panel_of_their_own_with_a_floor_and_share_their_groups(plotted):
    shown = result(
        Finding("differ", ("race",), estimate(0.4), 0.1, groups=GROUPS),
        Finding("ratio", ("race",), estimate(0.33), 0.8, groups=GROUPS, least=True),
    )
    display = plotted(shown)
    limits = {(panel.limit, panel.least) for panel in display.scores}
    assert limits == {(0.1, False), (0.8, True)}
    (panel,) = display.groups
    assert set(panel.title.split("\n")) == {"fail: differ", "fail: ratio"}
    assert "engineering threshold 0.8 (at least)" in texts(display)
    assert len(display.axes_) == 3
    assert not cut(display)


def test_groups_are_sorted_and_the_empty_one_reads_as_undecided(plotted):
    display = plotted(
        result(Finding("differ", ("race",), estimate(0.4), 0.1, groups=GROUPS))
    )
    rows = display.groups[0].rows
    assert [row.label for row in rows] == [
        "race a, n = 400",
        "race d, n = 400",
        "race b, n = 400",
        "race c, n = 0",
    ]
    assert rows[-1].value is None
    assert texts(display).count("no data, undecided") == 1


@given(known=st.integers(0, 60), empty=st.integers(0, 60), most=st.integers(4, 40))
def test_no_group_disappears_without_a_word(known, empty, most):
    rates = [(number * 37 % 61) / 61 for number in range(known)]
    groups = [group(str(number), rate) for number, rate in enumerate(rates)]
    groups += [group(f"e{number}", 0, 0) for number in range(empty)]
    drawn = []
    left_out = 0
    for shown in shown_groups(groups, most):
        if isinstance(shown, Group):
            drawn.append(shown)
        else:
            _, number, *_ = shown.split()
            left_out += int(number)
    assert len(drawn) == min(most, len(groups))
    assert len(drawn) + left_out == len(groups)
    values = [shown.estimate.value for shown in drawn if shown.estimate.n]
    assert values == sorted(values)
    if known:
        assert values[0] == min(rates)
        assert len(values) == 1 or values[-1] == max(rates)


def test_axes_given_get_the_groups_of_the_worst_finding_or_all_scores(ax):
    by_sex = score("sex", 0.3)
    by_age = score("age", 0.1)
    display = result(by_sex, by_age).plot(ax=ax)
    assert display.ax_ is ax
    assert display.axes_ == (ax,)
    assert display.figure_ is ax.figure
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert labels == ["sex, n = 400", "age, n = 400"]
    render(display)
    other = Figure(layout="constrained").subplots()
    small = Finding("small", ("sex",), estimate(0.2), 0.1, groups=GROUPS[:2])
    large = Finding("large", ("race",), estimate(0.4), 0.1, groups=GROUPS)
    drawn = result(small, large).plot(ax=other)
    assert other.get_title(loc="left") == "fail: large"
    render(drawn)


def test_very_many_rows_and_panels_are_cut_and_counted(plotted):
    names = [f"feature {number}" for number in range(MOST_ROWS + 5)]
    findings = [score(name, 0.3) for name in names]
    display = display_of(result(*findings, job="mine"))
    assert isinstance(display, RatesDisplay)
    assert len(display.scores[0].rows) == MOST_ROWS
    assert display.scores[0].rows[-1].instead == "… 6 more findings"
    with_groups = []
    for number in range(MOST_PANELS + 2):
        groups = (group("a", 0.1 * number), group("b", 0.05))
        with_groups.append(Finding("c", ("race",), estimate(0.3), 0.05, groups=groups))
    drawn = plotted(result(*with_groups))
    assert len(drawn.axes_) == 1 + MOST_PANELS
    assert "2 more findings have groups" in texts(drawn)


def test_labels_are_taken_literally_and_long_ones_are_cut(plotted):
    groups = (
        Group({"$x$": "$\\frac$"}, estimate(0.2)),
        Group({"name": "long " * 40}, estimate(0.4)),
    )
    claim = "costs $5 to $6 " * 9
    about = ("$a$_{", "b" * 90)
    display = plotted(result(Finding(claim, about, estimate(0.2), 0.1, groups=groups)))
    assert not cut(display)
    assert max(len(row.label) for row in display.groups[0].rows) < 60


def test_a_result_without_findings_and_one_without_a_limit_are_drawn(plotted):
    assert "no findings" in texts(plotted(result()))
    exact = Finding("c", ("sex",), Estimate.exact(0, 4))
    without_data = Finding("c", "a rule", estimate(0, 0))
    display = plotted(result(exact, without_data))
    labels = [row.label for row in display.scores[0].rows]
    assert labels == ["sex, n = 4", "a rule, n = 0"]


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    for name in list(sys.modules):
        if name.split(".")[0] == "matplotlib":
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    display = display_of(result(score("sex", 0.3)))
    refused(MissingExtra, lambda: display.plot(), "drawing a result", "evenhand[plot]")
