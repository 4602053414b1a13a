"""The report of an audit as a page: every job, hostile texts, very many rows, and no checks."""

from __future__ import annotations

import hashlib
import json
import re
from base64 import b64encode
from collections import Counter
from dataclasses import replace
from functools import cache
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markupsafe import Markup
from matplotlib.figure import Figure

import evenhand as eh
from evenhand.methods.audit.audit_result import Audit, gathered
from evenhand.methods.audit.check_result import CheckResult
from evenhand.methods.audit.page.page import page
from evenhand.methods.audit.plot import AuditDisplay
from evenhand.methods.mine.findings import Place
from evenhand.report import html_tables
from evenhand.report.html_bars import bar, drawable, top_of
from evenhand.report.html_page import boxed, data_block, facts, people, quoted, table, text
from evenhand.report.html_tables import Cell, Column, long_sheet, short_sheet, text_of
from evenhand.report.lines import printable
from evenhand.report.page.explore_link import EXPLORE_ADDRESS
from evenhand.results.evidence import Case, Finding
from evenhand.results.result import Result
from evenhand.runtime.budget import Spent
from evenhand.runtime.errors import UsageError
from evenhand.space.rule import Condition, Rule
from evenhand.statistics.estimate import Amount, Estimate, StopReason
from tests.methods.repair.test_plot_and_page import FULL
from tests.support.helpers import COMMENTS, TERMS, examples, refused
from tests.support.strict_html import StrictPage

matplotlib.use("Agg")

NO_TIME = Spent(0, 0, 0.0)
TAG = "<script>alert(1)</script>"
LONG = "a" * 10_000
OVERRIDE = "\u202eecalp fo tuo"
HOSTILE = (
    *(
        TAG,
        '"><img src=x onerror=alert(1)>',
        'it\'s "quoted" & so &amp;',
        "two\nlines",
        "nul\x00",
        LONG,
        OVERRIDE,
    ),
    *("שלום", "</script>", "<!--", "]]>", "${x}", "$title", "{{ 7 * 7 }}", "{% if %}", ""),
)
HALF = "\ud800"
"""Half a character, which no frame and no file can hold, but a message of the software can."""
ANY = st.text(max_size=20) | st.sampled_from([*HOSTILE, HALF])


class Page(StrictPage):
    """A page of an audit, which has no comments and holds blocks of data."""

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"the page has a comment: {data[:80]}")

    def data(self, name: str) -> dict[str, Any]:
        """Return what a block of data of the page holds."""
        ids = [attributes.get("id") for attributes in self.all("script")]
        place = ids.index(f"{name}-data")
        return dict(json.loads(self.scripts[place]))


def whole(html: str) -> Page:
    """Parse a page and check what holds of every one: it is complete, and needs nothing else."""
    assert html.startswith("<!DOCTYPE html>\n<html lang")
    html.encode()
    assert all(letter.isprintable() or letter == "\n" for letter in html)
    found = Page(html.removeprefix("<!DOCTYPE html>"))
    check_references(found)
    check_that_nothing_is_loaded(found, html)
    check_policy(found)
    return found


def check_references(found: Page) -> None:
    """Everything that is named is there, once."""
    ids: Counter[str] = Counter()
    for _, attributes in found.elements:
        if "id" in attributes:
            ids[attributes["id"]] += 1
    assert set(ids.values()) == {1}
    for _, attributes in found.elements:
        for key in ("for", "aria-labelledby", "aria-describedby"):
            if key in attributes:
                assert attributes[key] in ids, attributes
        for key in ("href", "xlink:href"):
            if key in attributes:
                check_link(attributes, attributes[key], ids)


def check_link(attributes: dict[str, str], address: str, ids: Counter[str]) -> None:
    """A link leads to a place of the page, or to a case in `explore`, which is on this machine."""
    if address.startswith(f"{EXPLORE_ADDRESS}#case="):
        assert attributes["rel"] == "noreferrer"
        return
    assert address.startswith("#"), attributes
    assert address[1:] in ids, attributes


def check_that_nothing_is_loaded(found: Page, html: str) -> None:
    tags = {tag for tag, _ in found.elements}
    assert (
        not {"img", "link", "iframe", "object", "embed", "base", "form", "audio", "video"}
        & tags
    )
    for _, attributes in found.elements:
        assert not {"src", "srcset", "action", "formaction"} & set(attributes), attributes
        handlers = [key for key in attributes if key.startswith("on")]
        assert handlers == [], attributes
    styles = "".join(re.findall(r"<style>.*?</style>", html, re.DOTALL))
    assert re.findall(r"url\((?!#)[^)]*\)|@import", styles) == []


def check_policy(found: Page) -> None:
    """The page allows its one script by its hash, and no other."""
    (policy,) = [meta["content"] for meta in found.all("meta") if "http-equiv" in meta]
    code = []
    for script, attributes in zip(found.scripts, found.all("script"), strict=True):
        if "type" not in attributes:
            code.append(script)
    assert len(code) == 1
    digest = hashlib.sha256(code[0].encode()).digest()
    encoded = b64encode(digest).decode()
    assert (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{encoded}'"
        in policy
    )


# What is looked at

SPACE = eh.Space(
    [
        eh.category("sex", ["F", "M"]),
        eh.integer("age", 18, 60),
        eh.category("town", ["x", "y", "z"]),
    ],
    protected=["sex", "town"],
)


def biased(rows: Any) -> Any:
    granted = (rows["age"] > 40) & (rows["sex"] == "M")
    return np.where(granted, "grant", "deny")


def with_rates(people: Any) -> Any:
    rates = people["age"] + (people["town"] == "x")
    return {"grant": biased(people), "rates": rates}


def fair(rows: Any) -> Any:
    return np.where(rows["age"] > 40, "grant", "deny")


@cache
def rows(n: int = 600) -> Any:
    return SPACE.decode(SPACE.draw(n, np.random.default_rng(0)))


def checked(job: str, found: Any, **settings: Any) -> CheckResult:
    return CheckResult(f"{job} of it", job, settings, found)


def audit_of(*checks: CheckResult, **fields: Any) -> Audit:
    return Audit(checks, 0, NO_TIME, **fields)


def result(job: str, findings: Any, space: Any = None, **rest: Any) -> Result:
    return Result(job, findings, 0, NO_TIME, StopReason.QUERIES, space or {}, **rest)


def page_of(*findings: Finding) -> str:
    return page(audit_of(checked("measure", result("measure", findings))))


@cache
def every() -> dict[str, CheckResult]:
    """One check of every kind there is."""
    model = eh.Subject(biased, SPACE, positive="grant")
    kept = eh.Subject(
        with_rates,
        SPACE,
        outputs=["grant", "rates"],
        positive={"grant": "grant"},
        differs={"rates": 0.5},
    )
    logged = rows().assign(granted=biased(rows()))
    hired = pd.DataFrame(
        {
            "sex": ["F"] * 90 + ["M"] * 100 + ["X"] + ["unknown"] * 9,
            "points": [*range(90), *range(40, 150)],
        }
    )
    hired["hired"] = hired["points"] % 3 == 0
    old_enough = rows()["age"] > 35
    truth = old_enough.to_numpy().astype(int)
    predictions = {
        "original": (biased(rows()) == "grant").astype(int),
        "blind <b>": (fair(rows()) == "grant").astype(int),
    }
    few = eh.Budget(queries=120)
    features = [eh.category("sex", ["F", "M"]), eh.integer("age", 38, 43)]
    small = eh.Space(features, protected=["sex"])
    loud = eh.TextSubject(
        lambda texts: ["rude" if "gay" in one else "fine" for one in texts], positive="fine"
    )
    found: dict[str, Any] = {
        "measure": eh.measure(model, over="sex", limit=0.05),
        "group": eh.measure(model, over="sex", kind="group", limit=0.05),
        "prevalence": eh.prevalence(model, over="sex"),
        "measure_log": eh.measure_log(
            logged, outcome="granted", over="sex", positive="grant"
        ),
        "subsets": eh.subsets(kept, among=["sex", "town"], limit=0.3),
        "search": eh.search(model, over="sex", budget=few),
        "nothing": eh.search(eh.Subject(fair, SPACE), over="sex", budget=few),
        "complete": eh.search(
            eh.Subject(biased, small), over="sex", budget=eh.Budget(queries=10_000)
        ),
        "mine": eh.mine(model, data=rows(), over=["sex", "town"], limit=0.1),
        "mine_log": eh.mine_log(logged, outcome="granted", over="sex", positive="grant"),
        "mine_text": eh.mine_text(loud, COMMENTS * 20, lexicon=TERMS, support=0.2),
        "terms": eh.mine_text(loud, COMMENTS, lexicon=TERMS, kind="causal", limit=0.05),
        "selection": eh.impact(hired, outcome="hired", over="sex", least_ratio=0.8),
        "scoring": eh.impact(hired, outcome="points", over="sex", scored=True),
        "compare": eh.compare(predictions, truth, rows()["sex"], resamples=100),
        "repair": FULL,
    }
    checks = {name: checked(name, evidence) for name, evidence in found.items()}
    error = "the program ended with code 3, <oops>"
    checks["failed"] = CheckResult("it fails", "measure", {"over": ["sex"]}, error=error)
    return checks


def section_of(name: str) -> Page:
    return whole(page(audit_of(every()[name])))


# Sections


def test_a_page_of_every_job_is_whole_and_links_to_all_of_them():
    found = whole(page(audit_of(*every().values())))
    sections = [section["id"] for section in found.all("section")]
    first, *topics, statements, method, again = sections
    assert [first, statements, method, again] == ["summary", "all", "method", "again"]
    assert topics == [f"topic{number + 1}" for number in range(len(topics))]
    links = Counter(link["href"] for link in found.all("a"))
    assert all(links[f"#{section}"] for section in sections)
    checks = [f"check{number + 1}" for number in range(len(every()))]
    headings = [heading["id"] for heading in found.all("h3") if "id" in heading]
    assert headings == checks
    assert all(links[f"#{check}"] for check in checks)
    assert "nan" not in re.findall(r"\w+", found.text)
    for cells in found.rows:
        assert not {"None", "nan"} & set(cells)


WORDS = {
    "measure": (
        "Changing only sex",
        "engineering threshold 5 %",
        "population: all inputs",
        "For example: Sex F, 41 years old, town x: deny. With sex M instead of F: grant.",
    ),
    "group": ("The groups that are compared", "sex F", "sex M"),
    "prevalence": ("Which share of all inputs", "The prevalence is"),
    "measure_log": ("recorded decisions", "Nothing was asked of the software"),
    "subsets": ("for grant", "for rates", "superset of a discriminating set"),
    "search": (
        "Every input that was found",
        "How the search went, and where the inputs lie",
        "Their number says nothing of how common this is",
    ),
    "nothing": ("0 found", "This is no proof that there is none"),
    "complete": ("Every input was tried, so there is no other.",),
    "mine": (
        "Rule sets: how much",
        "sex F",
        "Tree of subgroups",
        "all other rule sets",
    ),
    "mine_log": ("Rule sets: how much", "the recorded decisions"),
    "mine_text": ("With which sensitive terms", "gender gay"),
    "terms": ("terms of", "changed with it"),
    "selection": (
        "9 rows have an unknown sex",
        "under 2 %",
        "at least 80 %",
        "selection rate",
    ),
    "scoring": ("scoring rate", "the median of points"),
    "compare": (
        "blind <b>",
        "The plane of performance and bias",
        "gain over the line",
        "the original has a performance of",
    ),
    "repair": ("Before and after", "a note", "The same repair"),
    "failed": (
        "This check could not be run: the program ended with code 3, <oops>.",
        "not run",
    ),
}


@pytest.mark.parametrize("name", WORDS)
def test_a_section_tells_what_its_job_found(name):
    found = section_of(name)
    shown = found.text
    for _, attributes in found.elements:
        shown += attributes.get("aria-label", "")
    for words in WORDS[name]:
        assert words in shown


def test_every_found_input_is_in_the_data_as_in_the_frame():
    found = section_of("search")
    frame = every()["search"].found.to_frame()  # type: ignore[union-attr]
    data = found.data("check1-search0-cases")
    assert data["rows"] == len(frame)
    columns = data["columns"]
    for column in columns:
        values = column["values"]
        if "levels" in column:
            values = [column["levels"][place] for place in values]
        assert values == frame[column["name"]].tolist()
    features = [column["name"] for column in columns if column["feature"]]
    assert features == ["sex", "age", "town"]
    written = []
    for cells in found.rows:
        if cells[0] in ("F", "M") and len(cells) == len(columns):
            written.append(cells)
    first_rows = frame.head(html_tables.WRITTEN)
    assert written == first_rows.astype(str).to_numpy().tolist()


def test_what_was_replayed_is_shown(tmp_path):
    first: Any = every()["search"].found
    first.to_json(tmp_path / "found.json")
    again = eh.replay(tmp_path / "found.json", eh.Subject(biased, SPACE))
    found = whole(page(audit_of(checked("replay", again))))
    assert "Does the software still answer as it did?" in found.text
    assert "Inputs of an earlier run were asked again" in found.text
    assert again.worst.claim in found.text


def test_notes_of_a_repair_are_shown_once():
    assert section_of("repair").text.count("a note") == 1


def titles_of_figures(found: Page) -> list[str]:
    return [figure["id"] for figure in found.all("figure")]


def test_a_figure_of_each_kind_is_in_the_page():
    names = ("measure", "subsets", "selection", "compare")
    checks = [every()[name] for name in names]
    found = whole(page(audit_of(*checks)))
    assert titles_of_figures(found) == [
        "scores",
        "check3-picture00",
        "check2-picture0",
        "check2-picture1",
        "check4-plane0",
    ]


def test_the_same_audit_gives_the_same_bytes_also_from_its_file(tmp_path):
    audit = audit_of(*every().values(), subject="loan.py", command="evenhand audit")
    html = audit.to_html(tmp_path / "report.html")
    assert html == page(audit)
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == html
    audit.to_json(tmp_path / "audit.json")
    assert Audit.from_json(tmp_path / "audit.json").to_html() == html


def test_a_report_that_cannot_be_written_is_an_error(tmp_path):
    refused(
        UsageError,
        lambda: audit_of().to_html(tmp_path / "no" / "a.html"),
        "a.html: cannot write the report",
    )


def test_an_audit_without_checks_has_a_page():
    found = whole(page(audit_of()))
    assert "No check was made" in found.text
    assert "statement" not in found.text
    assert found.all("table") == [{}]  # the one of the dialog


def test_what_could_not_be_run_is_no_pass():
    shown = section_of("failed").text
    assert "Not every check could be run" in shown
    assert "1 of 1 checks could not be run: that is not a pass." in shown


def test_checks_of_the_same_name_have_sections_and_links_of_their_own(tmp_path):
    files = []
    for name in ("measure", "failed"):
        check = replace(every()[name], name="same")
        file = tmp_path / f"{name}.json"
        audit_of(check).to_json(file)
        files.append(file)
    found = whole(page(gathered(files)))
    links = [link["href"] for link in found.all("a")]
    to_checks = [link for link in links if "check" in link]
    assert to_checks == ["#check1", "#check2"]


def test_the_summary_begins_with_what_fails():
    def check(*shares: float) -> CheckResult:
        findings = []
        for share in shares:
            estimate = Estimate(share, share - 0.01, share + 0.01, 900, 0.95, "exact")
            feature = f"f{100 * share:.0f}"
            findings.append(Finding(f"it is {feature}", (feature,), estimate, 0.05))
        over = [finding.about for finding in findings]
        return checked("measure", result("measure", findings), over=over)

    found = whole(page(audit_of(check(0.05), check(0.01, 0.2, 0.3, 0.4, 0.5))))
    summary = found.text.partition("Summary")[2].partition("Not tested:")[0]
    assert re.findall(r"It is f(\d+)\.", summary) == ["50", "40", "30"]


def test_a_check_held_against_a_baseline_says_how_it_stands():
    def audit(value: float, low: float, high: float) -> Audit:
        estimate = Estimate(value, low, high, 900, 0.95, "exact")
        finding = Finding("sex matters", ("sex",), estimate, 0.05)
        return audit_of(checked("measure", result("measure", [finding])))

    mild = audit(0.1, 0.08, 0.12)
    bad = audit(0.3, 0.25, 0.35)
    found = whole(page(bad.against(mild, name="old.json")))
    assert "Compared with a baseline: old.json, digest" in found.text
    assert "What clearly got worse, or is new, fails;" in found.text
    change = "change +20.0 points (+13.0 to +27.0); tolerance 1 point"
    assert f"Against the baseline: worse; {change}. It was: 10.0 %" in found.text
    row_that_fails = next(cells for cells in found.rows if cells[0] == "fail")
    assert row_that_fails[-2:] == ["5 %", f"worse; {change}"]


def test_how_sure_all_statements_are_is_in_words_that_fit():
    estimate = Estimate(0.1, 0.05, 0.2, 90, 0.95, "exact")
    sampled = Finding("a", ("a",), estimate)
    check = checked("measure", result("measure", [sampled]))
    assert "together with at least 90 % confidence" in page(audit_of(check, check))
    many = [check] * 21
    assert "they are too many to hold together" in page(audit_of(*many))
    exact = Finding("a", ("a",), Estimate.exact(1, 4))
    assert "exact: nothing here depends on which inputs" in page_of(exact)


def test_numbers_are_sorted_as_they_are_read():
    rate = Estimate(0.117, 0.052, 0.215, 247, 0.95, "anytime")
    amount = Amount(3.5, 3.0, 4.0, 90, 0.95, "bootstrap")
    unknown = Estimate(float("nan"), 0.0, 1.0, 0, 0.95, "exact")
    html = page_of(
        Finding("a rate", ("a",), rate, 0.05),
        Finding("a score", ("b",), amount),
        Finding("nothing seen", ("c",), unknown, 0.05),
    )
    found = whole(html)
    scores = {}
    for cells in found.rows:
        if len(cells) == 7:
            _, _, claim, *score = cells
            scores[claim] = score
    assert scores["a rate"] == ["11.7 %", "5.2 % to 21.5 %", "247", "5 %"]
    assert scores["a score"] == ["3.5", "3 to 4", "90", ""]
    assert scores["nothing seen"] == ["no data, undecided", "", "0", "5 %"]
    values = [cell["data-value"] for cell in found.all("td") if "data-value" in cell]
    assert values == ["11.7", "5.2", "247", "5", "", "", "", "5", "3.5", "3", "90", ""]


# Hostile texts


@cache
def hostile() -> Audit:
    """An audit whose every text is an attack or an accident, run for real."""
    space = eh.Space(
        [
            eh.category(TAG, HOSTILE),
            eh.category("$title", ["</script>", "<!--"]),
            eh.category(OVERRIDE, ["$main", "${x}"]),
            eh.integer("age", 0, 90),
            eh.category(LONG, ["a", "b"]),
        ],
        protected=[TAG, "$title"],
    )

    def decide(rows: Any) -> Any:
        favoured = rows[TAG].isin(HOSTILE[:7]) & (rows["age"] > 30)
        return np.where(favoured, "<b>yes</b>${x}", "no\x00")

    subject = eh.Subject(decide, space, positive="<b>yes</b>${x}")
    checks: list[dict[str, Any]] = [
        {"job": "measure", "over": [TAG], "limit": 0.05},
        {"job": "measure", "over": [TAG], "kind": "group"},
        {"job": "subsets", "among": [TAG, "$title"], "limit": 0.05},
        {"job": "search", "over": [TAG], "queries": 500},
        {"job": "impact", "over": [TAG, "$title"]},
        {"job": "mine", "over": [TAG, "$title"], "limit": 0.1},
    ]
    data = space.decode(space.draw(400, np.random.default_rng(0)))
    found = eh.audit(subject, checks=checks, data=data)
    truth = np.arange(400) % 2
    predictions = {"original": truth}
    for number, name in enumerate(HOSTILE, start=1):
        predictions[name or "empty"] = np.roll(truth, number)
    compared = eh.compare(predictions, truth, data["$title"], resamples=100)
    claims = []
    for name in HOSTILE:
        estimate = Estimate.exact(1, 9)
        claims.append(Finding(f"{name}{HALF}", (name,), estimate, cases=(_odd(name),)))
    claimed = result("measure", claims, notes=[*HOSTILE, HALF])
    more = (
        checked("compare", compared),
        CheckResult(HALF + TAG, "measure", {TAG: HOSTILE}, claimed),
        CheckResult(LONG, TAG, {}, error=f"{TAG}{HALF}\n"),
        replace(checked("repair", FULL), found=replace(FULL, notes=HOSTILE)),
    )
    texts: dict[str, Any] = {
        "subject": TAG + HALF,
        "command": " ".join(HOSTILE),
        "ledger": TAG,
        "notes": (*HOSTILE, HALF),
    }
    config = {"file": TAG, "text": "\n".join(HOSTILE) + HALF}
    return replace(
        found,
        checks=found.checks + more,
        config=config,
        versions={"evenhand": TAG, TAG: "$title"},
        **texts,
    )


def _odd(text: str) -> Case:
    return Case(
        {text: text, "text": f"a ⟦{text}⟧ man"},
        {text: text[::-1], "text": f"a ⟦{HALF}⟧ man"},
        (text, HALF),
    )


def test_hostile_texts_stay_text_everywhere():
    found = whole(page(hostile()))
    assert len(found.all("script")) == len(found.scripts)
    kinds = [one.get("type", "the script") for one in found.all("script")]
    assert Counter(kinds) == {"application/json": 2, "the script": 1}
    assert not {"b", "img"} & {tag for tag, _ in found.elements}
    for hostile_text in HOSTILE:
        assert text_of(hostile_text) in found.text
    assert "${x}" in found.text
    assert found.text.count("$title") > 5
    assert r"\u202e" in found.text
    assert "\u202e" not in found.text
    assert "שלום" in found.text
    assert r"\ud800" in found.text
    assert "Fairness audit of <script>" in found.text
    names = [column["name"] for column in found.data("check4-search0-cases")["columns"]]
    assert names[:4] == [TAG, "$title", text_of(OVERRIDE), "age"]


def test_hostile_names_can_be_drawn():
    drawn = ("subsets", "search", "impact")
    checks = [check for check in hostile().checks if check.job in drawn]
    found = whole(page(audit_of(*checks)))
    assert len(titles_of_figures(found)) == 5


@settings(max_examples=examples(100), deadline=None)
@given(ANY, ANY, ANY)
def test_pieces_of_a_page_keep_any_text_as_text(one, other, third):
    individual = {one: other, "text": third}
    twin = {one: third, "text": other}
    case = Case(individual, twin, (one, third))
    columns = [
        Column(one, [other, third, None]),
        Column("n", [1, 2.5, None]),
        Column(third, [1, "2", True]),
    ]
    headings = [other, "n"]
    row: list[str] = [text(one), boxed(other)]
    cells = [Cell(boxed(third)), Cell("1", 1.0, number=True)]
    block = data_block("block", {one: other, "rows": [third]})
    long = long_sheet("long", one, columns, cases=True)
    pieces = [
        f"<p>{text(one)}</p>",
        f"<p>{boxed(one)}</p>",
        block,
        people(case, one),
        facts({one: other}),
        quoted([one, other], third),
        table("table", one, headings, [(third, [row])]),
        short_sheet("short", one, headings, [cells]),
        long,
    ]
    known = {
        "p",
        "bdi",
        "mark",
        "script",
        "div",
        "span",
        "label",
        "input",
        "button",
        "dl",
        "dt",
        "dd",
        "pre",
        "code",
    }
    known |= {"table", "caption", "thead", "tbody", "tr", "th", "td"}
    for piece in pieces:
        found = Page(piece)
        tags = {tag for tag, _ in found.elements}
        assert tags <= known
        before_data = piece.partition("<script")[0]
        assert all(letter.isprintable() or letter == "\n" for letter in before_data)
        piece.encode()
        for attributes in found.all("script"):
            assert attributes["type"] == "application/json"
    assert Page(pieces[0]).text == printable(one)
    (script,) = Page(block).scripts
    assert json.loads(script) == {one: other, "rows": [third]}
    first, numbers, last = Page(long).data("long")["columns"]
    assert first["name"] == text_of(one)
    assert numbers["name"] == "n"
    assert last["name"] == text_of(third)
    assert numbers["values"] == [1, 2.5, None]


def test_marks_around_a_term_are_seen():
    case = Case(
        {"text": "I am a ⟦<gay>⟧ man"}, {"text": "I am a ⟦straight⟧ man"}, ("rude", "fine")
    )
    html = people(case, "")
    assert "I am a <mark>⟦&lt;gay&gt;⟧</mark> man" in html
    assert "I am a <mark>⟦straight⟧</mark> man" in html


def test_outcomes_that_are_equal_are_not_marked():
    html = people(Case({"a": 1}, {"a": 2}, ("no", "no")), "")
    last_cells = [cells[-1] for cells in Page(html).rows]
    assert last_cells == ["what differs", "differs", ""]


# Very many rows


def counted(html: str) -> int:
    return len(Page(html).rows) - 1


def test_of_a_long_sheet_the_page_has_the_first_rows_and_the_data_all():
    html = long_sheet(
        "many", "People.", [Column("n", range(70_000)), Column("town", ["x", "y"] * 35_000)]
    )
    found = Page(html)
    assert counted(html) == html_tables.WRITTEN
    assert found.data("many")["rows"] == html_tables.MOST_ROWS
    assert (
        "People. The first 50,000 of 70,000 are here; the file of the result has all of them."
        in found.text
    )
    assert "On paper and without scripts, the first 50 are shown." in found.text


def test_a_sheet_that_would_be_too_large_is_cut_and_says_so():
    wide = "漢" * 20
    names = [f"{number} é<{wide}" for number in range(4000)]
    html = long_sheet("many", "People.", [Column("name", names)], room=20_000)
    found = Page(html)
    kept = found.data("many")["rows"]
    assert 10_000 < len(found.scripts[0].encode()) <= 20_000
    assert f"The first {kept:,} of 4,000 are here" in found.text


def test_one_huge_value_is_cut_and_the_caption_says_so():
    html = long_sheet("one", "People.", [Column("name", ["b" * 5_000, "c…"])])
    (column,) = Page(html).data("one")["columns"]
    assert column["levels"] == ["b" * 1000 + "…", "c…"]
    assert "Values are cut after 1,000 letters." in html
    assert "Values are cut" not in long_sheet("one", "People.", [Column("name", ["c…"])])


def test_whole_numbers_that_scripts_would_round_are_texts():
    def packed(*values: Any) -> Any:
        html = long_sheet("n", "", [Column("n", values)])
        (column,) = Page(html).data("n")["columns"]
        return column

    assert packed(2**53, None, -0.5)["values"] == [2**53, None, -0.5]
    assert packed(2**53 + 1, 3)["levels"] == ["9007199254740993", "3"]
    assert packed(float("inf"), float("nan"))["values"] == [None, None]


def test_a_short_sheet_of_very_many_rows_becomes_a_long_one():
    lines = []
    for number in range(501):
        bold = Cell(Markup("<b>{}</b>").format(number))
        share = Cell(f"{number} %", float(number), number=True)
        lines.append([bold, share])
    assert counted(short_sheet("few", "", ["a", "b"], lines[:500])) == 500
    html = short_sheet("many", "", ["a", "b"], lines)
    first, second = Page(html).data("many")["columns"]
    assert counted(html) == html_tables.WRITTEN
    assert first["levels"][7] == "7"
    assert second["levels"][7] == "7 %"
    assert second["keys"][7] == 7


def test_a_cell_that_is_no_markup_is_escaped():
    html = short_sheet("few", "", ["a"], [[Cell("<b>bold</b>")]])
    assert "<td>&lt;b&gt;bold&lt;/b&gt;</td>" in html


def test_few_rows_have_no_filter():
    lines = [[Cell("a")]] * 6
    assert 'class="tools" hidden' in short_sheet("few", "", ["a"], lines[:5])
    assert 'class="tools" hidden' not in short_sheet("more", "", ["a"], lines)


@cache
def many(number: int, rules: int) -> Audit:
    """A search that found very many inputs and a mining with many rules, as files hold them."""
    features = [
        eh.category("sex", ["Female", "Male"]),
        eh.integer("age", 18, 60),
        eh.integer("id", 0, number),
    ]
    space = eh.Space(features).to_dict()
    return audit_of(
        checked("search", search_of_many(number, space)),
        checked("mine", mining_of_many(rules, space)),
    )


def search_of_many(number: int, space: Any) -> Result:
    places = np.arange(number)

    def codes(values: Any) -> str:
        return " ".join(map(str, values))

    sexes = codes(places % 2)
    other_sexes = codes(1 - places % 2)
    ages = codes(18 + places % 43)
    inputs = {
        "rows": number,
        "features": {"sex": sexes, "age": ages, "id": codes(places)},
        "twins": {"sex": other_sexes},
        "outcomes": {"values": ["no", "yes"], "individual": sexes, "twin": other_sexes},
    }
    entry = {"about": ["sex"], "output": "", "found": number, "curve": [], "inputs": inputs}
    witnesses = eh.Witnesses.of(number, 2 * number, "adaptive")
    finding = Finding("changing only sex changes the outcome", ("sex",), witnesses)
    return result("search", [finding], space=space, details={"search": [entry]})


def mining_of_many(rules: int, space: Any) -> Result:
    rate = Estimate(0.5, 0.4, 0.6, 100, 0.95, "exact", "rows").to_dict()
    findings = []
    stories = []
    for number in range(rules):
        rule = Rule((Condition("id", low=number, high=number + 1),))
        share = (number % 997) / 1000
        high = min(1.0, share + 0.1)
        estimate = Estimate(share, share / 2, high, 100, 0.95, "exact", "rows")
        claim = f"people with id {number} get it less often than everyone else"
        place = Place(0, "story", number)
        findings.append(Finding(claim, rule, estimate, 0.1, score="rate", detail=place))
        stories.append(
            {
                "rule": rule.to_dict(),
                "text": rule.text,
                "difference": -share,
                "low": share / 2,
                "high": high,
                "rate": rate,
                "other": rate,
                "rows": 100,
                "support": 0.1,
                "rules": 1,
                "ratio": None,
            }
        )
    entry = {
        "rows": 100,
        "stories": stories,
        "output": "",
        "population": "rows",
        "score": "rate",
        "over": ["id"],
        "favoured": "yes",
        "counts": True,
        "named": True,
        "maps": [],
        "examined": rules,
    }
    return result("mine", findings, space=space, details={"mine": [entry]})


def test_very_many_inputs_and_rules_make_a_page_that_can_be_opened():
    html = page(many(50_000, 2_000))
    found = whole(html)
    assert len(html.encode()) < 10_000_000
    assert found.data("check1-search0-cases")["rows"] == 50_000
    assert found.data("check2-rules")["rows"] == 2_000
    assert found.data("verdicts")["rows"] == 2_001
    assert len(found.rows) < 400
    assert "1,996 more are in" in found.text


# Bars


def test_bars_tell_their_numbers_and_the_limit():
    html = bar(Estimate(0.2, 0.1, 0.3, 90, 0.95, "exact"), 0.05)
    (drawing,) = Page(html).all("svg")
    assert drawing["aria-label"] == (
        "20.0 %, between 10.0 % and 30.0 %; engineering threshold 5 %"
    )
    assert Page(html).text == "5 %40 %"
    assert Page(bar(Estimate(0.2, 0.1, 0.3, 90, 0.95, "exact"))).text == "0 %40 %"
    assert Page(bar(Estimate(0.9, 0.8, 1.0, 90, 0.95, "exact"), 0.9)).text == "0 %90 %"


def test_scales_end_where_everything_is_in_sight():
    assert top_of([]) == 1.0
    assert top_of([Estimate(0.001, 0.0, 0.004, 90, 0.95, "exact")], [None]) == 0.01
    assert top_of([Estimate(0.001, 0.0, 0.004, 90, 0.95, "exact")], [0.5]) == 0.75
    assert not drawable(Estimate(-0.1, -0.2, 0.0, 90, 0.95, "exact"))
    assert not drawable(eh.Witnesses.of(1, 4, "random"))


# Notebooks and figures


@pytest.mark.parametrize("name", ["measure", "search", "mine", "compare", "repair"])
def test_results_show_themselves_in_notebooks(name):
    found: Any = every()[name].found
    shown = Page(found._repr_html_())
    assert len(shown.all("table")) == 1
    assert len(found._repr_html_()) < 30_000
    assert "verdict" in shown.rows[0]


def test_a_notebook_shows_hostile_audits_as_text_and_not_all_of_a_large_one():
    shown = Page(hostile()._repr_html_())
    tags = {tag for tag, _ in shown.elements}
    assert tags <= {
        "table",
        "caption",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "strong",
        "small",
        "br",
        "bdi",
    }
    assert TAG in shown.text
    large = many(50_000, 2_000)._repr_html_()
    assert len(large) < 30_000
    assert "1,976 more" in large


@pytest.mark.parametrize("name", [name for name in WORDS if name != "failed"])
def test_every_result_draws_on_axes_that_are_given(name):
    ax: Any = Figure(figsize=(7, 5)).subplots()
    found: Any = every()[name].found
    assert found.plot(ax=ax).ax_ is ax
    assert ax.has_data() or ax.texts


def test_an_audit_draws_the_scores_of_all_checks():
    from matplotlib import pyplot

    audit = audit_of(*every().values())
    display = AuditDisplay.from_audit(audit)
    labels = []
    for panel in display.rates.scores:
        labels += [row.label for row in panel.rows]
    assert any(label.startswith("measure sex") for label in labels)
    assert not any(label.startswith("search") for label in labels)
    ax: Any = Figure().subplots()
    assert audit.plot(ax=ax).ax_ is ax
    drawn = audit_of(every()["measure"]).plot()
    assert drawn.axes_ == tuple(drawn.figure_.axes)
    pyplot.close(drawn.figure_)
    without_rates = audit_of(every()["search"]).plot(ax=Figure().subplots())
    assert without_rates.rates.scores == ()


@pytest.mark.slow
def test_several_searches_share_the_room_of_a_page():
    search, _ = many(50_000, 100).checks
    checks = [replace(search, name=f"search {number}") for number in range(9)]
    html = page(audit_of(*checks))
    assert len(html.encode()) < 10_000_000
    assert len(re.findall(r"The first [\d,]+ of 50,000 are here", html)) == 9
