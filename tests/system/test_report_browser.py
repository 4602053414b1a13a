"""The report in a real browser: people sort, filter, open cases, change the theme, print, and use
no script at all.
"""

from __future__ import annotations

import json
import re
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import evenhand as eh
from evenhand.methods.audit.statements import statements
from tests.methods.audit.page.test_page import TAG, hostile, many
from tests.support.browser import chromium, tab

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from evenhand.methods.audit.audit_result import Audit
    from tests.support.browser import Tab

pytestmark = pytest.mark.heavy

PHONE = {"width": 390, "height": 800}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("reports")


def made(audit: Audit, file: Path) -> str:
    audit.to_html(file)
    audit.to_json(file.with_suffix(".json"))
    return file.as_uri()


@pytest.fixture(scope="module")
def demo(folder):
    from evenhand.cli.main import main

    file = folder / "demo.html"
    main(["demo", "-o", str(file), "--json", str(file.with_suffix(".json"))])
    return file.as_uri()


@pytest.fixture(scope="module")
def real(adult, folder):
    """The report of a tree on Adult, of every job that real rows have."""
    from sklearn.compose import make_column_transformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder
    from sklearn.tree import DecisionTreeClassifier

    texts = [
        name for name in adult.features if adult.features[name].dtype in ("str", object)
    ]
    model, plain = (
        make_pipeline(
            make_column_transformer((OneHotEncoder(), texts), remainder="passthrough"),
            DecisionTreeClassifier(max_depth=depth, random_state=0),
        ).fit(adult.features, adult.labels)
        for depth in (9, 2)
    )
    space = eh.Space.from_frame(adult.features, adult.protected)
    subject = eh.Subject(model, space, positive=adult.positive)
    checks: list[dict[str, Any]] = [
        {"job": "measure", "over": ["sex"], "limit": 0.05, "queries": 4000},
        {"job": "measure", "over": ["race"], "limit": 0.05, "queries": 4000},
        {"job": "subsets", "among": ["sex", "race"], "limit": 0.05, "queries": 4000},
        {"job": "search", "over": ["sex"], "queries": 3000},
        {"job": "impact", "over": ["sex", "race"], "least_ratio": 0.8},
        {"job": "mine", "over": ["sex", "race", "age"], "limit": 0.1},
        {
            "job": "compare",
            "over": ["sex"],
            "truth": adult.target,
            "models": {"depth 2": plain},
            "resamples": 100,
        },
    ]
    rows = adult.frame.sample(4000, random_state=0)
    return made(eh.audit(subject, checks=checks, data=rows), folder / "adult.html")


@pytest.fixture(scope="module")
def odd(folder):
    return made(hostile(), folder / "hostile.html")


@pytest.fixture(scope="module")
def large(folder):
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "matplotlib", None)  # nobody can draw so much
        many(50_000, 10_000).to_html(folder / "large.html")
    return (folder / "large.html").as_uri()


@pytest.fixture(params=["demo", "real", "odd"])
def report(request) -> str:
    return str(request.getfixturevalue(request.param))


def unfolded(seen: Tab, report: str) -> None:
    """Open a report, and everything that is folded in it."""
    seen.page.goto(report)
    seen.page.evaluate(
        "document.querySelectorAll('details').forEach(one => one.open = true)"
    )


def quiet(seen: Tab, report: str) -> bool:
    """Tell whether nothing was complained of, and nothing was asked for but the file."""
    return seen.complaints == [] and {url.partition("#")[0] for url in seen.requests} == {
        report
    }


def column(sheet: Any, name: str) -> list[str]:
    """Return what a column of a sheet shows."""
    heads = [head.strip() for head in sheet.locator("thead th").all_inner_texts()]
    place = heads.index(name) + 1
    return [
        one.strip()
        for one in sheet.locator(f"tbody tr td:nth-child({place})").all_inner_texts()
    ]


def cases(seen: Tab) -> Any:
    return seen.page.locator("[data-cases]").first


def status(sheet: Any, pattern: str) -> None:
    sheet.get_by_role("status").get_by_text(re.compile(pattern)).wait_for()


def narrowed(sheet: Any, query: str) -> None:
    """Filter a sheet, and wait until it is."""
    sheet.get_by_label("Filter").fill("")
    status(sheet, r"^rows 1 to \d+ of [\d,]+$")
    sheet.get_by_label("Filter").fill(query)
    status(sheet, "that fit, of|^no row fits, of")


def test_a_table_is_sorted_by_pointer_and_by_keys_numbers_as_numbers(browser, demo):
    with tab(browser) as seen:
        unfolded(seen, demo)
        sheet = cases(seen)
        head = sheet.locator("th", has_text=re.compile("^savings"))
        assert head.get_attribute("aria-sort") is None
        head.get_by_role("button").click()
        assert head.get_attribute("aria-sort") == "ascending"
        up = [int(value) for value in column(sheet, "savings")]
        assert up == sorted(up)
        seen.page.keyboard.press("Enter")  # the button that was clicked has the focus
        assert head.get_attribute("aria-sort") == "descending"
        down = [int(value) for value in column(sheet, "savings")]
        assert down == sorted(down, reverse=True)
        assert max(down) > 9 >= min(up)  # as texts they would stand in another order
        seen.page.keyboard.press("Tab")
        seen.page.keyboard.press("Enter")
        assert head.get_attribute("aria-sort") is None
        assert sheet.locator("th[aria-sort=ascending]").inner_text().strip() == "employed"
        short = seen.page.locator("#verdicts")
        short.get_by_role("button", name="score").click()
        shares = [
            float(one.rstrip(" %").replace(",", ""))
            for one in column(short, "score")
            if one.endswith("%")
        ]
        assert shares == sorted(shares)
        assert len(shares) > 5
        assert quiet(seen, demo)


def test_a_table_is_filtered_by_words_and_by_columns(browser, demo):
    with tab(browser) as seen:
        unfolded(seen, demo)
        sheet = cases(seen)
        every = re.search(r"of ([\d,]+)", sheet.get_by_role("status").inner_text())
        assert every
        for query, name, fits in (
            ("age>40", "age", lambda value: int(value) > 40),
            ("AGE <= 30 age>=29", "age", lambda value: int(value) in (29, 30)),
            ("sex=Female", "sex", lambda value: value == "female"),
            ('twin.race = "purple"', "twin.race", lambda value: value == "purple"),
            ("female", "sex", lambda value: value == "female"),
        ):
            narrowed(sheet, query)
            assert sheet.get_by_role("status").inner_text().endswith(f" of {every[1]}")
            assert all(map(fits, column(sheet, name))), query
        narrowed(sheet, "no such thing")
        status(sheet, f"^no row fits, of {every[1]}$")
        assert column(sheet, "age") == []
        short = seen.page.locator("#verdicts")
        narrowed(short, "verdict=fail score>12")
        assert set(column(short, "verdict")) == {"FAIL"}
        assert all(float(one.rstrip(" %")) > 12 for one in column(short, "score"))


def test_columns_whose_names_have_spaces_are_filtered_too(browser, real):
    with tab(browser) as seen:
        unfolded(seen, real)
        sheet = seen.page.locator("[id$=-rules]")
        # A short table has a filter, but does not show it.
        sheet.locator(".tools").evaluate("tools => { tools.hidden = false; }")
        narrowed(sheet, "their rate<0.1 rows>100")
        assert all(float(one) < 0.1 for one in column(sheet, "their rate"))


def test_a_long_table_is_paged(browser, demo):
    with tab(browser) as seen:
        unfolded(seen, demo)
        sheet = cases(seen)
        first = column(sheet, "age")
        back, forth = (
            sheet.get_by_role("button", name=name, exact=True) for name in ("Back", "Next")
        )
        assert back.get_attribute("aria-disabled") == "true"
        forth.focus()
        seen.page.keyboard.press("Enter")
        status(sheet, "^rows 21 to 40 of")
        assert back.get_attribute("aria-disabled") == "false"
        back.click()
        status(sheet, "^rows 1 to 20 of")
        assert column(sheet, "age") == first
        narrowed(sheet, "sex=female")
        while forth.is_visible() and forth.get_attribute("aria-disabled") == "false":
            forth.click()
        # There is no page after the last, and the focus stays.
        seen.page.keyboard.press("Enter")
        assert seen.page.evaluate("document.activeElement.className") == "forth"
        assert len(column(sheet, "age")) > 0


def test_a_case_opens_as_two_people_and_closes_with_escape(browser, demo):
    with tab(browser) as seen:
        unfolded(seen, demo)
        sheet, dialog = cases(seen), seen.page.get_by_role("dialog")
        sheet.get_by_role("button", name="amount").click()
        heads = [head.strip() for head in sheet.locator("thead th").all_inner_texts()]
        cells = [
            one.strip()
            for one in sheet.locator("tbody tr").nth(2).locator("td").all_inner_texts()
        ]
        row = dict(zip(heads, cells, strict=True))
        opener = sheet.get_by_role("button", name="open case").nth(2)
        opener.focus()
        seen.page.keyboard.press("Enter")
        dialog.wait_for()
        lines = []
        for line in dialog.locator("tbody tr").all():
            lines.append(line.locator("th, td").all_inner_texts())
        assert [name for name, *_ in lines] == [
            "race",
            "sex",
            "age",
            "income",
            "savings",
            "employed",
            "amount",
            "outcome",
        ]
        for name, individual, twin, differs in lines:
            assert individual == row[name]
            assert twin == row.get(f"twin.{name}", individual)
            assert differs == ("differs" if individual != twin else "")
        assert dialog.locator("tr.differs th").all_inner_texts() == ["race", "outcome"]
        seen.page.keyboard.press("Escape")
        dialog.wait_for(state="hidden")
        assert opener.evaluate("button => button === document.activeElement")
        opener.click()
        dialog.get_by_role("button", name="Close").click()
        dialog.wait_for(state="hidden")
        assert quiet(seen, demo)


def test_the_theme_is_chosen_and_remembered(browser, demo):
    def paper() -> str:
        return str(seen.page.evaluate("getComputedStyle(document.body).backgroundColor"))

    with tab(browser, color_scheme="light") as seen:
        seen.page.goto(demo)
        light = paper()
        seen.page.get_by_role("button", name="Dark theme").click()
        dark = paper()
        assert light != dark
        try:
            kept = seen.page.evaluate("localStorage.getItem('evenhand-theme')")
        except Exception:  # a browser may give files no storage
            kept = None
        if kept == "dark":
            seen.page.reload()
            assert paper() == dark
        seen.page.get_by_role("button", name="Light theme").click()
        assert paper() == light
        seen.page.emulate_media(color_scheme="dark")
        assert paper() == light  # the choice counts more than the system


def test_on_paper_everything_is_unfolded_and_light(browser, demo):
    from playwright.sync_api import expect  # only where there is a browser

    with tab(browser, color_scheme="dark") as seen:
        page = seen.page
        page.goto(demo)
        page.locator("#verdicts").evaluate(
            "table => { table.closest('details').open = true; }"
        )
        folded = page.locator("details:not([open])").count()
        assert folded
        page.locator("#verdicts").get_by_label("Filter").fill("mine")
        page.emulate_media(media="print")
        still_folded = page.locator("details:not([open])")
        expect(still_folded).to_have_count(0)
        assert (
            page.evaluate("getComputedStyle(document.body).backgroundColor")
            == "rgb(255, 255, 255)"
        )
        assert (
            not page.locator(".tools button, #theme, nav").locator("visible=true").count()
        )
        assert cases(seen).locator("tbody tr").count() == 50
        page.emulate_media(media="screen")
        expect(still_folded).to_have_count(folded)
        assert cases(seen).locator("tbody tr").count() == 20
        made = page.pdf(format="A4")
        assert made.startswith(b"%PDF")
        assert len(re.findall(rb"/Type\s*/Page\b", made)) > 1
        assert page.locator("details:not([open])").count() == folded


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_complained_of_asked_for_or_hard_to_reach(browser, report, scheme):
    with tab(browser, color_scheme=scheme) as seen:
        seen.page.on("dialog", lambda shown: pytest.fail(f"the page ran {shown.message}"))
        unfolded(seen, report)
        assert seen.serious() == []
        cases(seen).get_by_role("button", name="open case").first.click()
        seen.page.get_by_role("dialog").wait_for()
        assert seen.serious() == []
        assert quiet(seen, report)


def test_without_scripts_everything_is_there_and_nothing_pretends(browser, report):
    with tab(browser, java_script_enabled=False) as seen:
        seen.page.goto(report)
        assert (
            not seen.page.locator("button, input, .js-cell, dialog")
            .locator("visible=true")
            .count()
        )
        for tables in seen.page.locator("main table").all():
            assert (
                tables.is_visible()
                or tables.locator("xpath=ancestor::details[not(@open)]").count()
            )
        for picture in seen.page.locator("figure svg[data-drawing]").all():
            folded = picture.locator("xpath=ancestor::details[not(@open)]").count()
            assert picture.is_visible() or folded
        assert cases(seen).locator("tbody tr").count() == 50
        seen.page.locator("#again").get_by_text("The same command").wait_for()


def test_a_phone_scrolls_down_only(browser, report):
    with tab(browser, viewport=PHONE) as seen:
        unfolded(seen, report)
        assert seen.page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        cases(seen).get_by_role("button", name="open case").first.click()
        box = seen.page.get_by_role("dialog").bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= PHONE["width"]


def test_hostile_texts_are_shown_as_they_are(browser, odd):
    with tab(browser) as seen:
        seen.page.on("dialog", lambda shown: pytest.fail(f"the page ran {shown.message}"))
        unfolded(seen, odd)
        sheet = cases(seen)
        assert TAG in sheet.locator("thead").inner_text()
        narrowed(sheet, f'{TAG}="</script>"')
        assert set(column(sheet, TAG)) == {"</script>"}
        narrowed(sheet, '"img src=x"')
        assert '"><img src=x onerror=alert(1)>' in sheet.locator("tbody").inner_text()
        sheet.get_by_role("button", name="open case").first.click()
        assert TAG in seen.page.get_by_role("dialog").inner_text()
        assert seen.page.locator("img, iframe, b").count() == 0
        assert seen.page.title().startswith(
            "Discrimination found: Fairness audit of <script>"
        )
        assert quiet(seen, odd)


def test_very_many_cases_and_rules_still_answer(browser, large, folder):
    assert (folder / "large.html").stat().st_size < 10_000_000
    with tab(browser) as seen:
        unfolded(seen, large)
        sheet = cases(seen)
        status(sheet, "^rows 1 to 20 of 50,000$")
        identity = sheet.get_by_role("button", name="id", exact=True)
        identity.click()
        identity.click()
        assert column(sheet, "id") == [str(49_999 - at) for at in range(20)]
        narrowed(sheet, "sex=Female age>40 id<1000")
        fits = [at for at in range(1000) if at % 2 == 0 and 18 + at % 43 > 40]
        assert column(sheet, "id") == [str(at) for at in fits[::-1][:20]]
        assert (
            sheet.get_by_role("status").inner_text()
            == f"rows 1 to 20 of {len(fits)} that fit, of 50,000"
        )
        rules = seen.page.locator("#verdicts")
        rules.get_by_role("button", name="score").click()
        narrowed(rules, "score>90")
        shares = [float(one.rstrip(" %")) for one in column(rules, "score")]
        assert shares == sorted(shares)
        assert min(shares) > 90
        assert quiet(seen, large)


def test_what_the_page_says_is_what_the_file_says(browser, real, folder):
    table = json.loads((folder / "adult.json").read_text(encoding="utf-8"))
    with tab(browser) as seen:
        unfolded(seen, real)
        text = seen.page.locator("main").inner_text()
        for check in eh.Audit.from_json(folder / "adult.json").checks:
            for statement in statements(check)[:4]:
                assert statement.sentence.lower() in text.lower()
        for check in table["checks"]:
            assert check["name"] in text
        found = next(
            check["found"] for check in table["checks"] if check["job"] == "search"
        )
        frame = eh.Result.from_dict(found).to_frame()
        status(cases(seen), f"of {len(frame):,}$")
        assert column(cases(seen), "age") == [str(age) for age in frame["age"].head(20)]
        ages = np.sort(frame["age"].to_numpy())[::-1]
        age = cases(seen).get_by_role("button", name="age", exact=True)
        age.click()
        age.click()
        assert column(cases(seen), "age") == [str(one) for one in ages[:20]]


def test_a_report_without_checks_opens_too(browser, folder):
    report = made(replace(hostile(), checks=()), folder / "empty.html")
    with tab(browser) as seen:
        seen.page.goto(report)
        seen.page.get_by_text("No check was made").first.wait_for()
        assert seen.serious() == []
        assert quiet(seen, report)
