"""Ranked bars: what the legend shows is known by its kind, and not by its words."""

from __future__ import annotations

import pytest
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from evenhand.report.ranked_bars import Bar, Bars


@pytest.mark.parametrize(
    ("limit", "sure", "handles"),
    [
        (0.1, True, [Line2D]),
        (0.1, False, [Line2D, Patch]),
        (None, False, [Patch]),
        (None, True, []),
    ],
)
def test_the_threshold_is_a_line_and_what_may_be_chance_a_hollow_bar(
    limit, sure, handles, ax
):
    bars = (Bar("sex F", -0.2, 0.1, 0.3, sure=sure, beside=("90",)),)
    Bars("a title", (), ("rows",), bars, limit=limit, sides=("less", "more")).draw(ax)
    legend = ax.get_legend()
    shown = [] if legend is None else legend.legend_handles
    assert [isinstance(one, kind) for one, kind in zip(shown, handles, strict=True)] == [
        True
    ] * len(handles)


def test_rewording_the_legend_changes_no_handle(ax, monkeypatch):
    monkeypatch.setattr(
        "evenhand.report.ranked_bars.number_text.limit",
        lambda limit, **how: "not a number, and not a line",
    )
    bars = (Bar("sex F", -0.2, 0.1, 0.3, sure=False, beside=("90",)),)
    panel = Bars("a title", (), ("rows",), bars, limit=0.1, sides=("less", "more"))
    reworded = [("line", "nicht sicher"), ("bar", "Schwelle")]
    monkeypatch.setattr(Bars, "_legend", property(lambda self: reworded))
    panel.draw(ax)
    first, second = ax.get_legend().legend_handles
    assert isinstance(first, Line2D)
    assert isinstance(second, Patch)
