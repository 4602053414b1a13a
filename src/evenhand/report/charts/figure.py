"""Charts as figures of a page."""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING

from evenhand.report.charts import messages
from evenhand.report.templates import piece, trusted
from evenhand.runtime.language import say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markupsafe import Markup

    from evenhand.report.charts.keys import Chart

_PAGE = "report/charts/pages/figure.html.jinja"


def figure(chart: Chart, name: str, caption: str = "") -> Markup:
    """Return a chart as a figure of a page: the same chart, the same bytes.

    Parameters
    ----------
    name
        What the ids of the figure begin with; every figure of a page needs one of its own.
    caption
        What it shows, where that is more than the title of the chart.
    """
    words = {
        "legend": say(messages.KEYS),
        "numbers": say(messages.NUMBERS),
        "numbers_caption": say(messages.NUMBERS_CAPTION),
        "no_rows": say(messages.NO_ROWS),
    }
    return piece(_PAGE, "figure", chart, name, caption, words)


def figures(charts: Sequence[Chart], name: str, caption: str = "") -> Markup:
    """Return several charts as figures beside and under each other, with one caption."""
    drawn = []
    for number, chart in enumerate(charts):
        drawn.append(figure(chart, f"{name}{number}"))
    return side_by_side(drawn, caption)


def side_by_side(drawn: Sequence[Markup], caption: str = "") -> Markup:
    """Return figures beside and under each other; one without a caption stays as it is."""
    if len(drawn) == 1 and not caption:
        return drawn[0]
    return piece(_PAGE, "figures", drawn, caption)


def chart_style() -> Markup:
    """Return the looks of all charts, which use the variables of the page's own style."""
    return _asset("charts.css")


def chart_script() -> Markup:
    """Return the script that lets a reader walk through charts by keys, and switch series."""
    return _asset("charts.js")


def _asset(name: str) -> Markup:
    file = resources.files("evenhand.report.charts").joinpath("pages", name)
    return trusted(file.read_text(encoding="utf-8").strip())
