"""Charts in a real browser: keys walk through their marks, numbers follow, series are switched, in
light, in dark, on a phone, on paper and without scripts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from evenhand.report.charts import (
    AxisScale,
    HeatCell,
    HeatChart,
    IntervalRow,
    Intervals,
    LatticeChart,
    LatticeNode,
    PlaneChart,
    PlanePoint,
    PlaneRegion,
    PointSeries,
    StackChart,
    StackPart,
    StackRow,
    figures,
)
from evenhand.report.html_page import SCRIPT, STYLE
from tests.support.browser import chromium, tab

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.browser import Tab

pytestmark = pytest.mark.heavy

PHONE = {"width": 390, "height": 800}
LONG = "people older than 40 with an income under 20 who are not employed, n = 1,204"
PAGE = """<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1"><title>Charts</title>
<style>{style}</style></head><body><main><h1>Charts</h1>
<button type="button" id="theme">Dark theme</button>
<button type="button" id="print">Print</button><a href="#end" id="before">before</a>{figures}
<a href="#before" id="end">after</a></main>
<dialog id="case" aria-label="case"><table><tbody></tbody></table><button>Close</button></dialog>
<script>{script}</script></body></html>"""
SHARES = AxisScale(0.0, 1.0)


def all_kinds() -> list[Any]:
    rows = (
        IntervalRow("race", 0.117, 0.05, 0.222, limit=0.05, verdict="fail", series="all"),
        IntervalRow(LONG, 0.01, 0.0, 0.03, limit=0.1, verdict="pass", series="people"),
        IntervalRow("age", instead="no data", series="people"),
    )
    curve = tuple(PlanePoint(n / 100, n / 200) for n in range(101))
    cloud = tuple(PlanePoint(n / 100, 0.5) for n in range(101))
    cells = []
    for y in range(3):
        line = [HeatCell((x + y) / 20, "12 %", 99, y == 1, x == 2) for x in range(12)]
        cells.append(tuple(line))
    nodes = [LatticeNode((f"f{n}",), 1, "pass", f"f{n}: cleared") for n in range(6)]
    nodes.append(LatticeNode(("f0, f1",), 2, "fail", "f0, f1: discriminating"))
    parts = (StackPart(0.25, "fail", "10", "bad"), StackPart(0.75, "pass", "30", "good"))
    return [
        Intervals(rows, "Scores", axis="score"),
        PlaneChart(
            (
                PointSeries("found", curve, joined=True),
                PointSeries("others", cloud, cloud=True),
                PointSeries(
                    "best", (PlanePoint(0.9, 0.9, name="best one"),), labelled=True
                ),
            ),
            SHARES,
            SHARES,
            "queries",
            "inputs",
            title="How it went",
            regions=(PlaneRegion("win-win", ((0, 1), (1, 1), (1, 0.5)), "region4"),),
        ),
        HeatChart(
            tuple(cells),
            ("age", "race"),
            tuple(f"{n}0 to {n}9" for n in range(12)),
            ("a", "b", "c"),
            0.3,
            "Rates",
        ),
        LatticeChart(
            tuple(nodes),
            ((0, 6), (1, 6)),
            names={"pass": "cleared", "fail": "discriminating"},
            title="Sets",
        ),
        StackChart((StackRow("2 (40)", parts),), "size", "Sizes"),
    ]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("charts") / "charts.html"
    drawn = figures(all_kinds(), "chart", "All kinds")
    page = PAGE.format(style=STYLE, script=SCRIPT, figures=drawn)
    file.write_text(page, encoding="utf-8")
    return file.as_uri()


def focused(seen: Tab) -> str:
    """Return the name of what has the focus, or the text of a cell."""
    return str(
        seen.page.evaluate(
            "document.activeElement.getAttribute('aria-label')"
            " || document.activeElement.textContent"
        )
    )


def tip(seen: Tab) -> Any:
    return seen.page.locator(".chart-tip")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [PHONE, {"width": 1280, "height": 900}])
def test_nothing_is_hard_to_reach_and_nothing_complains(browser, address, scheme, size):
    with tab(browser, color_scheme=scheme, viewport=size) as seen:
        seen.page.goto(address)
        for summary in seen.page.locator("summary").all():
            summary.click()
        assert seen.serious() == []
        assert seen.complaints == []
        assert seen.requests == [address]
        wide = seen.page.evaluate("document.documentElement.scrollWidth")
        assert wide <= size["width"]


def test_each_chart_is_one_tab_stop_with_its_buttons_and_numbers(browser, address):
    with tab(browser) as seen:
        seen.page.goto(address)
        for figure in seen.page.locator("figure.chart").all():
            assert figure.locator("[data-mark][tabindex='0']").count() == 1
            rest = figure.locator("[data-mark]").count() - 1
            assert figure.locator("[data-mark][tabindex='-1']").count() == rest
            assert figure.locator("[data-scroll][tabindex]").count() == 0


def test_keys_walk_through_the_rows_and_numbers_follow(browser, address):
    with tab(browser) as seen:
        seen.page.goto(address)
        first = seen.page.locator("#chart0 [data-mark]").first
        first.focus()
        assert focused(seen).startswith("race: 11.7 % (5.0 to 22.2)")
        assert tip(seen).inner_text() == focused(seen)
        seen.page.keyboard.press("ArrowDown")
        assert focused(seen).startswith("people older than 40")
        seen.page.keyboard.press("End")
        assert focused(seen) == "age: no data"
        seen.page.keyboard.press("ArrowRight")
        assert focused(seen) == "age: no data"
        seen.page.keyboard.press("Home")
        assert focused(seen).startswith("race")
        seen.page.keyboard.press("Escape")
        assert tip(seen).is_hidden()
        assert focused(seen).startswith("race")
        # The place is kept for whoever comes back.
        seen.page.keyboard.press("ArrowDown")
        seen.page.keyboard.press("Tab")
        seen.page.keyboard.press("Shift+Tab")
        assert focused(seen).startswith("people older than 40")


def test_keys_walk_through_a_map_in_both_directions(browser, address):
    with tab(browser) as seen:
        seen.page.goto(address)
        cells = seen.page.locator("#chart2 [data-mark]")
        cells.first.focus()
        assert "00 to 09, a: 12 %" in tip(seen).inner_text()
        seen.page.keyboard.press("ArrowRight")
        seen.page.keyboard.press("ArrowDown")
        assert tip(seen).inner_text().startswith("10 to 19, b: 12 %; 99 rows")
        seen.page.keyboard.press("ArrowDown")
        seen.page.keyboard.press("ArrowDown")  # there is nothing below
        assert tip(seen).inner_text().startswith("10 to 19, c")


def test_numbers_are_shown_where_the_pointer_is(browser, address):
    with tab(browser) as seen:
        seen.page.goto(address)
        seen.page.locator("#chart3 [data-mark]").last.locator("text").hover()
        assert tip(seen).inner_text() == "f0, f1: discriminating"
        box = tip(seen).bounding_box()
        assert box["x"] >= 0
        assert box["y"] >= 0
        seen.page.locator("h1").hover()
        assert tip(seen).is_hidden()
        # The native tooltip would stand beside it.
        assert seen.page.locator("[data-mark] > title, [data-mark][title]").count() == 0


def test_series_are_switched_by_buttons(browser, address):
    with tab(browser) as seen:
        seen.page.goto(address)
        rows = seen.page.locator("#chart0 [data-mark]")
        button = seen.page.locator("#chart0").get_by_role("button", name="people")
        assert button.get_attribute("aria-pressed") == "true"
        button.focus()
        seen.page.keyboard.press("Enter")
        assert button.get_attribute("aria-pressed") == "false"
        assert [row.is_visible() for row in rows.all()] == [True, False, False]
        rows.first.focus()
        seen.page.keyboard.press("End")
        assert focused(seen).startswith("race")
        button.click()
        assert all(row.is_visible() for row in rows.all())
        curve = seen.page.locator("#chart1 path.curve")
        seen.page.locator("#chart1").get_by_role("button", name="found").click()
        assert curve.is_hidden()
        assert seen.serious() == []


def test_a_switched_off_series_never_takes_the_only_tab_stop(browser, address):
    with tab(browser) as seen:
        seen.page.goto(address)
        figure = seen.page.locator("#chart0")
        figure.get_by_role("button", name="all").click()
        stop = figure.locator("[data-mark][tabindex='0']")
        assert stop.count() == 1
        assert stop.is_visible()


def test_letters_are_no_smaller_on_a_phone(browser, address):
    with tab(browser, viewport=PHONE) as seen:
        seen.page.goto(address)
        sizes = seen.page.evaluate(
            """[...document.querySelectorAll("figure.chart *")]
            .filter((one) => [...one.childNodes].some(
              (node) => node.nodeType === 3 && node.textContent.trim()))
            .map((one) => parseFloat(getComputedStyle(one).fontSize))"""
        )
        assert min(sizes) >= 11
        cut = seen.page.evaluate(
            """[...document.querySelectorAll(".chart-label, .chart-cell")].filter((one) => {
              const box = one.getBoundingClientRect();
              return box.left < 0 || box.right > innerWidth;
            }).length"""
        )
        assert cut == 0


def test_without_scripts_numbers_are_native_and_nothing_pretends(browser, address):
    with tab(browser, java_script_enabled=False) as seen:
        seen.page.goto(address)
        figure = seen.page.locator("#chart1")
        assert figure.locator("button").count() == 0
        assert figure.locator("[data-mark] > title").count() > 20
        title = seen.page.locator("#chart0 [data-mark]").first.get_attribute("title")
        assert title.startswith("race: 11.7 %")
        assert all(svg.is_visible() for svg in seen.page.locator("[data-drawing]").all())


def test_on_paper_charts_are_light_and_whole(browser, address):
    with tab(browser, color_scheme="dark") as seen:
        seen.page.goto(address)
        seen.page.locator("#chart0").get_by_role("button", name="people").click()
        seen.page.emulate_media(media="print")
        paper = "getComputedStyle(document.documentElement).getPropertyValue('--s0').trim()"
        assert seen.page.evaluate(paper) == "#0072b2"
        rows = seen.page.locator("#chart0 [data-mark]")
        assert all(row.is_visible() for row in rows.all())
        assert seen.page.pdf(format="A4").startswith(b"%PDF")
