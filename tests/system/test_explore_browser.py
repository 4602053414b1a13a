"""The what-if page in a real browser: a person edits, looks, walks through cases and saves."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

import evenhand as eh
from evenhand.demo import loan_subject
from evenhand.explore.given_cases import cases_of
from evenhand.explore.tabular import TabularExplorer
from evenhand.explore.texts import TextExplorer
from evenhand.report.page.explore_link import explore_link
from evenhand.results.evidence import Case
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
    from tests.unit.explore.test_session import Visitor

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


def link_to(visitor: Visitor, case: Case) -> str:
    """Return the address of a report's link, on the port of this visit."""
    fragment = explore_link(case).partition("#")[2]
    return f"http://{visitor.host}/#{fragment}"


def test_a_link_of_a_report_opens_its_case(browser, tmp_path):
    subject = loan_subject()
    found = eh.search(subject, over="race", budget=eh.Budget(queries=400), seed=0)
    cases = cases_of(found)
    asked = subject.asked
    with (
        visiting(TabularExplorer(subject), tmp_path / "a.json", cases) as visitor,
        tab(browser) as seen,
    ):
        page = seen.page
        page.goto(link_to(visitor, cases[1].case))
        how = page.locator("#how")
        how.wait_for()
        assert "Open the address that evenhand explore printed" in how.inner_text()
        assert seen.serious() == []
        assert subject.asked == asked

        page.goto(visitor.url)
        page.locator("#body tr").first.wait_for()
        page.goto("about:blank")
        page.goto(link_to(visitor, cases[1].case))
        page.locator("#place", has_text=f"case 2 of {len(cases)}").wait_for()
        answered(seen, str(cases[1].case.outcomes[0]))
        wanted = str(cases[1].case.individual["amount"])
        assert page.get_by_label("amount").input_value() == wanted
        assert page.url == visitor.url
        assert page.locator("#body tr.differs").count() >= 1
        page.locator("#list summary").click()
        chosen = page.locator("#cases li[aria-current=true]")
        assert chosen.inner_text().startswith("race ")
        assert page.locator("#cases li").count() == min(len(cases), 100)
        page.locator("#cases button").first.click()
        page.locator("#place", has_text=f"case 1 of {len(cases)}").wait_for()
        assert (seen.complaints, seen.serious()) == ([], [])
        assert own_or_blank(seen, visitor)
    subject.close()


def test_a_link_to_no_case_of_the_result_is_asked_only_when_a_person_says_so(
    browser, tmp_path
):
    space = Space([category("sex", ["F", "M"]), integer("n", 0, 700)], ["sex"])
    subject = Subject(lambda people: people["n"] >= 700, space)
    case = Case({"sex": "F", "n": 700}, {"sex": "M", "n": 2}, (True, False))
    with (
        visiting(TabularExplorer(subject), tmp_path / "a.json") as visitor,
        tab(browser) as seen,
    ):
        page = seen.page
        page.goto(visitor.url)
        answered(seen, "false")
        before = subject.asked
        page.goto(link_to(visitor, case))
        page.locator("#linked").wait_for()
        assert page.get_by_label("n", exact=True).input_value() == "700"
        page.wait_for_timeout(400)
        assert subject.asked == before
        assert seen.serious() == []
        page.get_by_role("button", name="Ask the software").click()
        answered(seen, "true")
        assert "n: 700 → 2" in page.locator("#body tr.differs").inner_text()
        assert not page.locator("#linked").is_visible()
        assert (seen.complaints, seen.serious()) == ([], [])


ANOTHER_SITE = "data:text/html,<body><a>another site</a></body>"


def fragment_of(text: bytes) -> str:
    """Return the end of an address with anything in the place of a case."""
    return "#case=" + base64.urlsafe_b64encode(text).decode().rstrip("=")


HOSTILE_FRAGMENTS = [
    "#case=",
    "#case=%3Cscript%3Ealert(1)%3C/script%3E",
    "#case=javascript:alert(1)",
    "#case=" + "A" * 200_000,
    fragment_of(b"\xff\xfe"),
    fragment_of(b"null"),
    fragment_of(b"[" * 10_000),
    fragment_of(b'{"individual": {"__proto__": {"sex": "M"}}, "twin": {}}'),
    fragment_of(json.dumps({"individual": {TAG: TAG}, "twin": {TAG: TAG}}).encode()),
    fragment_of(json.dumps({"individual": {"sex": TAG, "n": TAG}, "twin": {}}).encode()),
    fragment_of(b'{"individual": {"sex": "F", "n": 1e999}, "twin": {"sex": "M", "n": 1}}'),
]


def test_a_hostile_link_of_another_site_does_nothing(browser, tmp_path):
    space = Space([category("sex", ["F", "M"]), integer("n", 0, 700)], ["sex"])
    asked: set[int] = set()

    def noting(people):
        asked.update(people["n"].tolist())
        return people["n"] >= 700

    subject = Subject(noting, space)
    with (
        visiting(TabularExplorer(subject), tmp_path / "a.json") as visitor,
        tab(browser) as seen,
    ):
        page, dialogs = seen.page, []

        def shut(dialog):
            dialogs.append(dialog.message)
            dialog.dismiss()

        page.on("dialog", shut)
        page.goto(visitor.url)
        answered(seen, "false")
        (own_number,) = asked
        for fragment in HOSTILE_FRAGMENTS:
            address = f"http://{visitor.host}/{fragment}"
            page.goto(ANOTHER_SITE)
            page.evaluate(
                "address => { const link = document.querySelector('a');"
                " link.href = address; link.rel = 'noopener'; }",
                address,
            )
            page.get_by_text("another site").click()
            page.locator("#error", has_text="link").wait_for()
            answered(seen, "false")
            assert page.url == visitor.url
            assert page.locator("main img, main script").count() == 0
            assert page.evaluate("({}).sex === undefined")
        # Each time the page began with its own individual, and nobody else was asked about.
        assert asked == {own_number}
        assert dialogs == []
        refusals = [text for text in seen.complaints if "400" not in text]
        assert refusals == []


def test_no_other_site_frames_or_reads_the_page_of_links(browser, tmp_path):
    space = Space([category("sex", ["F", "M"]), integer("n", 0, 700)], ["sex"])
    subject = Subject(lambda people: people["n"] >= 700, space)
    explorer = TabularExplorer(subject)
    with (
        visiting(explorer, tmp_path / "a.json") as visitor,
        tab(browser) as seen,
    ):
        page = seen.page
        page.goto(visitor.url)
        answered(seen, "false")
        address = f"http://{visitor.host}/"
        page.goto(ANOTHER_SITE)
        for mode in ("cors", "no-cors"):
            read = page.evaluate(
                "([address, mode]) => fetch(address, {mode}).then(() => 'read', () => 'refused')",
                [address, mode],
            )
            assert read == "refused"
        page.evaluate(
            "address => { const frame = document.createElement('iframe');"
            " frame.src = address; document.body.append(frame); }",
            address,
        )
        page.wait_for_timeout(500)
        assert page.frames[-1].locator("#how").count() == 0
        token = visitor.url.split("/")[3]
        for frame in page.frames:
            assert token not in frame.content()
            assert token not in frame.url


def test_a_token_of_an_earlier_visit_leads_to_the_sentence(browser, tmp_path):
    space = Space([category("sex", ["F", "M"]), integer("n", 0, 700)], ["sex"])
    subject = Subject(lambda people: people["n"] >= 700, space)
    case = Case({"sex": "F", "n": 700}, {"sex": "M", "n": 700}, (True, False))
    with (
        visiting(TabularExplorer(subject), tmp_path / "a.json") as visitor,
        tab(browser) as seen,
    ):
        page = seen.page
        for kept in ("x" * 32, "../../evil", "//evil.example", TAG, ""):
            page.goto(f"http://{visitor.host}/")
            page.evaluate("kept => localStorage.setItem('evenhand.token', kept)", kept)
            page.goto("about:blank")
            page.goto(link_to(visitor, case))
            page.locator("#how").wait_for()
            assert page.url == link_to(visitor, case)
        assert own_or_blank(seen, visitor)
        assert subject.asked == 0


def own_or_blank(seen: Tab, visitor: Visitor) -> bool:
    """Return whether nothing but this server was asked for anything."""
    address = f"http://{visitor.host}/"
    return all(asked.startswith((address, "about:")) for asked in seen.requests)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_curve_is_drawn_and_read_by_keyboard(browser, tmp_path, scheme):
    from sklearn.linear_model import LogisticRegression

    people = np.random.default_rng(0).integers([0, 18, 0], [2, 91, 2], size=(400, 3))
    labels = np.where(people @ [20, 1, 0] > 60, "yes", "no")
    model = LogisticRegression(max_iter=1_000).fit(people, labels)
    space = Space(
        [category("sex", [0, 1]), integer("age", 18, 90), integer("k", 0, 1)], ["sex"]
    )
    subject = Subject(model, space, positive="yes")
    case = Case({"sex": 0, "age": 50, "k": 0}, {"sex": 1, "age": 50, "k": 0}, ("no", "yes"))
    with (
        visiting(TabularExplorer(subject), tmp_path / "a.json") as visitor,
        tab(browser, color_scheme=scheme, viewport={"width": 390, "height": 800}) as seen,
    ):
        page = seen.page
        page.goto(visitor.url)
        page.locator("#body tr").first.wait_for()
        page.goto(link_to(visitor, case))
        page.get_by_role("button", name="Ask the software").click()
        answered(seen, "no")
        before = subject.asked
        page.get_by_label("Feature", exact=True).select_option(label="age")
        page.get_by_role("button", name="Draw the curve").focus()
        page.keyboard.press("Enter")
        page.locator("#curve-state", has_text="asked for this curve").wait_for()
        cost = subject.asked - before
        assert f"{cost} asked for this curve" in page.locator("#curve-state").inner_text()
        assert "different outcomes at" in page.locator("#curve-verdict").inner_text()
        assert "probability of the outcome yes" in page.locator("#curve").inner_text()
        assert page.locator("#plot path.line").count() == 2
        assert page.locator("#plot .dot").count() == 2
        assert page.locator("#plot .boundary").count() == 1
        assert page.locator("#plot rect.apart").count() > 3
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.id") == "plot"
        reading = page.locator("#reading")
        assert reading.inner_text().startswith("age 50: the individual no (0.")
        assert reading.inner_text().endswith("which differ")
        page.keyboard.press("End")
        assert reading.inner_text().startswith("age 90: the individual yes")
        page.keyboard.press("ArrowLeft")
        assert "age 90" not in reading.inner_text()
        slider = page.get_by_role("slider")
        assert slider.get_attribute("aria-valuetext") == reading.inner_text()
        page.keyboard.press("Home")
        assert reading.inner_text().startswith("age 18: ")
        page.locator("#plot").hover(position={"x": 300, "y": 100})
        assert "age 18: " not in reading.inner_text()
        assert not page.locator("#curve-body").is_visible()
        page.get_by_text("The numbers as a table").click()
        assert page.locator("#curve-body tr").count() >= 41
        assert page.locator("#curve-body tr.differs").count() > 3
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        assert (seen.complaints, seen.serious()) == ([], [])
        page.get_by_label("age", exact=True).fill("60")
        page.locator("#curve-state", has_text="draw the curve again").wait_for()


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
