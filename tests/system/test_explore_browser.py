"""The what-if page in a real browser: a person edits, looks, walks through cases and saves."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import evenhand as eh
from evenhand.demo import loan_subject
from evenhand.explore.session import cases_of
from evenhand.explore.tabular import TabularExplorer
from evenhand.explore.texts import TextExplorer
from evenhand.results.result import Result
from evenhand.space.feature import category, integer, real
from evenhand.space.space import Space
from evenhand.subject.subject import Subject
from evenhand.texts.lexicon import Lexicon
from evenhand.texts.text_subject import TextSubject
from tests.support.browser import chromium, tab
from tests.support.helpers import TERMS
from tests.unit.explore.test_session import HOSTILE, TAG, visiting

if TYPE_CHECKING:
    from tests.support.browser import Tab

pytestmark = pytest.mark.heavy


@pytest.fixture(scope="module")
def browser():
    with chromium() as found:
        yield found


def answered(seen: Tab, outcome: str) -> None:
    """Wait until the outcome is this one, and the answer is complete."""
    seen.page.locator("#outcomes .big", has_text=outcome).wait_for()
    seen.page.locator("#answer[aria-busy=false]").wait_for()


def own(seen: Tab, url: str) -> bool:
    """Return whether nothing was asked for but by and of the page itself."""
    return bool(seen.requests) and all(asked.startswith(url) for asked in seen.requests)


def test_a_person_edits_walks_and_saves(browser, tmp_path):
    subject = loan_subject()
    found = eh.search(subject, over="race", budget=eh.Budget(queries=400), seed=0)
    file = tmp_path / "explored.json"
    with (
        visiting(TabularExplorer(subject), file, cases_of(found)) as visitor,
        tab(browser, color_scheme="light") as seen,
    ):
        page = seen.page
        page.goto(visitor.url)
        answered(seen, "deny")
        total = len(cases_of(found))
        assert page.locator("#place").inner_text() == f"case 1 of {total}"
        rows = page.locator("#body tr.differs")
        assert rows.count() >= 1
        assert "≠ differs" in rows.first.inner_text()
        assert "race: purple → green" in rows.first.inner_text()
        assert seen.serious() == []

        before = page.get_by_label("amount").input_value()
        page.get_by_role("button", name="Next case").click()
        page.locator("#place", has_text=f"case 2 of {total}").wait_for()
        page.get_by_role("button", name="Previous case").click()
        page.locator("#place", has_text=f"case 1 of {total}").wait_for()
        answered(seen, "deny")
        assert page.get_by_label("amount").input_value() == before

        page.get_by_role("button", name="Save this pair").first.click()
        page.get_by_role("button", name="This pair is saved").wait_for()
        assert page.locator("#saved").inner_text() == "1"
        assert Result.from_json(file).worst.cases[0].outcomes == ("deny", "approve")

        page.get_by_label("amount").fill("1")
        answered(seen, "approve")
        assert "edited" in page.locator("#place").inner_text()
        page.get_by_label("income").fill("0")
        page.get_by_label("savings").fill("0")
        answered(seen, "deny")
        assert (
            page.locator("#summary").inner_text() == "= All 3 twins get the same outcome."
        )

        page.get_by_role("button", name="Edit this twin").first.focus()
        page.keyboard.press("Enter")
        answered(seen, "deny")
        page.get_by_role("button", name="Dark theme").click()
        assert page.evaluate("document.documentElement.dataset.theme") == "dark"
        assert page.get_by_role("button", name="Light theme").count() == 1
        assert seen.serious() == []
        assert seen.complaints == []
        assert own(seen, visitor.url)
    subject.close()
    assert eh.replay(file, loan_subject()).verdict == "fail"


def test_wrong_values_and_software_that_fails_are_reported_and_the_page_goes_on(
    browser, tmp_path
):
    def sick(people):
        if (people["age"] > 80).any():
            raise RuntimeError("out of cheese")
        return people["age"] > 40

    space = Space(
        [category("sex", ["F", "M"]), integer("age", 18, 90), real("rate", 0, 1)],
        ["sex"],
        ["rate < 0.9"],
    )
    with (
        visiting(TabularExplorer(Subject(sick, space)), tmp_path / "a.json") as visitor,
        tab(browser) as seen,
    ):
        page = seen.page
        page.goto(visitor.url)
        page.get_by_label("rate").fill("0.5")
        page.get_by_label("age").fill("50")
        answered(seen, "true")
        for name, value, words in (
            ("age", "95", "the nearest valid value is 90"),
            ("age", "", "not a number"),
            ("rate", "0.95", "rate < 0.9"),
            ("age", "85", "out of cheese"),
        ):
            page.get_by_label(name).fill(value)
            page.locator("#error", has_text=words).wait_for()
            if "cheese" not in words:
                assert page.get_by_label(name).get_attribute("aria-invalid") == "true"
            assert seen.serious() == []
            page.get_by_label(name).fill("0.5" if name == "rate" else "30")
            answered(seen, "false")
            assert not page.locator("#error").is_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_hostile_names_and_values_are_shown_as_text(browser, tmp_path, scheme):
    many = [f"<img src=x onerror=alert({number})>" for number in range(60)]
    space = Space(
        [category(TAG, HOSTILE), category("many", many), integer("n", 0, 9)], [TAG]
    )
    subject = Subject(lambda people: [f"<b>{value}</b>" for value in people[TAG]], space)
    with (
        visiting(TabularExplorer(subject), tmp_path / "a.json") as visitor,
        tab(browser, color_scheme=scheme) as seen,
    ):
        page, dialogs = seen.page, []

        def shut(dialog):
            dialogs.append(dialog.message)
            dialog.dismiss()

        page.on("dialog", shut)
        page.goto(visitor.url)
        page.locator("#body tr").first.wait_for()
        assert page.get_by_label(TAG, exact=True).count() == 1
        for code in range(len(HOSTILE)):
            page.get_by_label(TAG, exact=True).select_option(str(code))
            answered(seen, f"<b>{HOSTILE[code].split(chr(10))[0][:50]}")
        page.get_by_label("many").fill(many[7])
        page.get_by_role("button", name="Save this pair").first.click()
        page.get_by_role("button", name="This pair is saved").wait_for()
        assert page.locator("main img, main b, main script").count() == 0
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        assert (dialogs, seen.complaints, seen.serious()) == ([], [], [])
        assert own(seen, visitor.url)
    assert Result.from_json(tmp_path / "a.json").findings


def test_fast_edits_end_with_the_answer_to_the_last(browser, tmp_path):
    import time

    def slow(people):
        time.sleep(0.3)
        return people["n"]

    space = Space([category("sex", ["F", "M"]), integer("n", 0, 999)], ["sex"])
    subject = Subject(slow, space, memo=False)
    with (
        visiting(TabularExplorer(subject), tmp_path / "a.json") as visitor,
        tab(browser) as seen,
    ):
        seen.page.goto(visitor.url)
        seen.page.locator("#body tr").first.wait_for()
        before = subject.asked
        for digit in range(8):
            seen.page.get_by_label("n", exact=True).fill(str(100 + digit))
            seen.page.wait_for_timeout(120)
        answered(seen, "107")
        assert subject.asked - before <= 2 * 4
        assert seen.complaints == []


def test_a_result_is_copied_as_json(browser, tmp_path):
    space = Space([category("sex", ["F", "M"]), integer("n", 0, 9)], ["sex"])
    subject = Subject(lambda people: people["sex"], space)
    given = {"permissions": ["clipboard-read", "clipboard-write"]}
    with (
        visiting(TabularExplorer(subject), tmp_path / "a.json") as visitor,
        tab(browser, **given) as seen,
    ):
        seen.page.goto(visitor.url)
        seen.page.locator("#body tr").first.wait_for()
        seen.page.get_by_role("button", name="Copy as JSON").click()
        seen.page.get_by_role("button", name="Copied").wait_for()
        copied = json.loads(seen.page.evaluate("navigator.clipboard.readText()"))
    assert copied["individual"]["sex"] == copied["outcomes"][0]["value"]
    assert len(copied["twins"]) == 1


def test_a_text_is_edited_and_its_twins_are_shown(browser, tmp_path):
    subject = TextSubject(
        lambda texts: ["toxic" if "gay" in text else "fine" for text in texts],
        positive="fine",
    )
    desk = TextExplorer(subject, Lexicon.from_dict(TERMS))
    with (
        visiting(desk, tmp_path / "a.json") as visitor,
        tab(browser, color_scheme="dark") as seen,
    ):
        seen.page.goto(visitor.url)
        answered(seen, "fine")
        assert "names no term" in seen.page.locator("#notes").inner_text()
        seen.page.get_by_label("Text").fill("I am a gay muslim.")
        answered(seen, "toxic")
        assert "I am a ⟦straight⟧ muslim." in seen.page.locator("#body").inner_text()
        seen.page.get_by_role("button", name="Save this pair").first.click()
        seen.page.get_by_role("button", name="This pair is saved").wait_for()
        assert (seen.complaints, seen.serious()) == ([], [])
    assert eh.replay(tmp_path / "a.json", subject).verdict == "fail"
