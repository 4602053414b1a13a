"""The pages of five real audits in a browser: what the first screen says, how long they are, and
that they are reachable in light, in dark, on a phone and on paper.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import pytest

from evenhand.runtime import number_text
from evenhand.space.rule import Rule
from evenhand.statistics.estimate import Verdict
from tests.support.benchmarks import benchmark
from tests.support.browser import chromium, tab

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import evenhand as eh
    from evenhand.results.evidence import Finding
    from tests.support.browser import Tab

pytestmark = [pytest.mark.heavy, pytest.mark.slow]

AUDITS = ("demo", "adult", "regression", "texts", "log")
SCREEN = {"width": 1280, "height": 800}
PHONE = {"width": 390, "height": 800}
MOST_BYTES = 3_000_000
MOST_PIXELS = 6_000
LOOKS: dict[str, dict[str, Any]] = {
    "light": {"color_scheme": "light", "viewport": SCREEN},
    "dark": {"color_scheme": "dark", "viewport": SCREEN},
    "phone": {"color_scheme": "light", "viewport": PHONE},
    "dark phone": {"color_scheme": "dark", "viewport": PHONE},
    "paper": {"color_scheme": "light", "viewport": SCREEN},
}
FIRST_SCREEN = """() => {
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const seen = [];
    while (texts.nextNode()) {
        const range = document.createRange();
        range.selectNodeContents(texts.currentNode);
        const boxes = [...range.getClientRects()];
        const inSight = boxes.some(box => box.height > 1 && box.top >= 0 && box.bottom <= 800);
        if (inSight && texts.currentNode.parentElement.checkVisibility())
            seen.push(texts.currentNode.data);
    }
    return seen.join(" ").replace(/\\s+/g, " ");
}"""
"""What a reader sees before anything is scrolled."""
FACTS = """() => [...document.querySelectorAll("main [data-fact]")].map(
    fact => [fact.dataset.fact, fact.textContent.replace(/\\s+/g, " ").trim()])"""
IN_CHART = """() => {
    const chart = document.activeElement.closest("figure.chart");
    return chart ? [...document.querySelectorAll("figure.chart")].indexOf(chart) : -1;
}"""
FOCUSED = """() => document.activeElement.getAttribute("aria-label")
    || document.activeElement.textContent"""


@pytest.fixture(scope="session")
def audit_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], eh.Audit]:
    """Make each audit once, when it is first asked for."""
    audits = benchmark("report_audits")
    made: dict[str, Any] = {}

    def of(name: str) -> eh.Audit:
        if name == "adult":
            pytest.importorskip(
                "xgboost", reason="needs xgboost, which `make test-all` installs"
            )
        if name not in made:
            folder = tmp_path_factory.mktemp(name)
            try:
                made[name] = audits.AUDITS[name](folder)
            except audits.MissingDataError as error:
                made[name] = error
        if isinstance(made[name], audits.MissingDataError):
            pytest.skip(str(made[name]))
        audit: eh.Audit = made[name]
        return audit

    return of


@pytest.fixture(scope="session", params=AUDITS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="session")
def audit(name: str, audit_of: Callable[[str], eh.Audit]) -> eh.Audit:
    return audit_of(name)


@pytest.fixture(scope="session")
def file(name: str, audit: eh.Audit, tmp_path_factory: pytest.TempPathFactory) -> Path:
    written = tmp_path_factory.mktemp("pages") / f"{name}.html"
    audit.to_html(written)
    return written


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as found:
        yield found


# How large it is


def test_a_page_is_no_large_file(file):
    assert file.stat().st_size < MOST_BYTES


def test_the_page_of_adult_is_not_long(browser, audit_of, tmp_path):
    written = tmp_path / "adult.html"
    audit_of("adult").to_html(written)
    with tab(browser, viewport=SCREEN) as seen:
        seen.page.goto(written.as_uri())
        assert seen.page.evaluate("document.documentElement.scrollHeight") <= MOST_PIXELS


# What the first screen says


def test_the_first_screen_says_who_is_treated_worse_by_how_much_and_how_sure_that_is(
    browser, audit, file
):
    with tab(browser, viewport=SCREEN) as seen:
        seen.page.goto(file.as_uri())
        text = seen.page.evaluate(FIRST_SCREEN)
    telling = [finding for finding in audit.findings if _is_bad(finding)]
    assert telling, "the audit has found nothing that a page could tell"
    assert any(_who(finding, text) for finding in telling), text
    assert any(_how_much(finding, text) for finding in telling), text
    level = number_text.percent_figures(audit.level, 4)
    assert f"with at least {level} confidence" in text.replace("\xa0", " ") or (
        audit.level == 1 and "exact" in text
    )


def _is_bad(finding: Finding) -> bool:
    """Return whether people are treated differently, as far as is known."""
    is_judged_bad = finding.verdict is not Verdict.PASS
    return is_judged_bad and finding.unit != "count" and finding.estimate.n > 0


def _who(finding: Finding, text: str) -> bool:
    """Return whether a text names those who are treated worse."""
    if isinstance(finding.about, Rule):
        return bool(finding.about.conditions) and finding.about.text in text
    known = [group for group in finding.groups if group.estimate.n]
    if known:
        lowest = min(known, key=lambda group: group.estimate.value)
        return str(lowest) in text
    for case in finding.cases:
        name = case.changed[0]
        value, twin_value = case.shown(name)
        if f"{name} {twin_value} instead of {value}" in text:
            return True
    return False


def _how_much(finding: Finding, text: str) -> bool:
    """Return whether a text has a score with its interval, or says that it is exact."""
    estimate = finding.estimate
    if estimate.level == 1:
        return f"{estimate.value_text} (exact)" in text.replace("\xa0", " ")
    low, high = estimate.ends_text
    return f"{estimate.value_text} ({low} to {high})" in text


# Each fact once, and with one number


def test_no_fact_is_shown_with_two_numbers(browser, file):
    with tab(browser, viewport=SCREEN) as seen:
        seen.page.goto(file.as_uri())
        facts = seen.page.evaluate(FACTS)
    assert facts
    texts = defaultdict(set)
    for key, text in facts:
        texts[key].add(text)
    several = {key: found for key, found in texts.items() if len(found) > 1}
    assert several == {}


# How it looks, and who can use it


@pytest.mark.parametrize("look", LOOKS)
def test_nothing_is_complained_of_asked_for_or_hard_to_reach(browser, file, look):
    with tab(browser, **LOOKS[look]) as seen:
        if look == "paper":
            seen.page.emulate_media(media="print")
        seen.page.goto(file.as_uri())
        assert seen.serious() == []
        assert seen.complaints == []
        assert {url.partition("#")[0] for url in seen.requests} == {file.as_uri()}


def test_a_phone_scrolls_down_only(browser, file):
    with tab(browser, viewport=PHONE) as seen:
        seen.page.goto(file.as_uri())
        assert seen.page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        # What is unfolded does not widen the page either.
        seen.page.evaluate(
            "document.querySelectorAll('details').forEach(one => one.open = true)"
        )
        assert seen.page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def test_every_chart_is_reached_by_keys_and_its_numbers_are_read(browser, file):
    with tab(browser, viewport=SCREEN) as seen:
        seen.page.goto(file.as_uri())
        seen.page.evaluate(
            "document.querySelectorAll('details').forEach(one => one.open = true)"
        )
        charts = seen.page.locator("figure.chart")
        for place in range(charts.count()):
            _walk(seen, charts.nth(place), place)


def _walk(seen: Tab, chart: Any, place: int) -> None:
    """Reach a chart by Tab from what stands before it, and walk through its marks."""
    chart.scroll_into_view_if_needed()
    # The focus is put before the chart; from there on there are only keys.
    chart.evaluate(
        """chart => {
            const before = document.createElement("button");
            chart.before(before);
            before.focus();
        }"""
    )
    for _ in range(12):
        seen.page.keyboard.press("Tab")
        is_mark = seen.page.evaluate("document.activeElement.matches('[data-mark]')")
        if seen.page.evaluate(IN_CHART) == place and is_mark:
            break
    else:
        pytest.fail(f"no mark of chart {place} is reached by Tab")
    names = chart.locator("[data-mark]").evaluate_all(
        "marks => marks.map(mark => mark.getAttribute('aria-label') || mark.textContent)"
    )
    read = [seen.page.evaluate(FOCUSED)]
    for key in ("ArrowRight", "ArrowDown"):
        seen.page.keyboard.press(key)
        assert seen.page.evaluate(IN_CHART) == place
        read.append(seen.page.evaluate(FOCUSED))
    assert set(read) <= set(names)
    assert len(set(read)) > 1 or len(set(names)) == 1
    # The sets of a lattice have a verdict, and no number.
    if not chart.locator(".chart-lattice").count():
        without = [text for text in read if not re.search(r"\d", text)]
        assert without == []
