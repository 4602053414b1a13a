"""Every sentence of every verb in other words: all that programs read stays the same, in every
format.

A baseline must not fail because a claim was reworded, and no table, page or report may take a
number, a verdict or an identity out of a sentence. So evidence of every verb is translated, and
what comes of it is held against the original.
"""

from __future__ import annotations

import json
import re
import sys
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import pytest

from evenhand.formats import FORMATS
from evenhand.methods.audit.audit_result import Audit, as_audit
from evenhand.methods.audit.formats import html, junit, sarif
from evenhand.methods.audit.formats.ci import sentences
from evenhand.methods.audit.formats.markdown import text_of
from evenhand.methods.audit.formats.markdown_escape import inline
from evenhand.methods.audit.formats.markdown_escape import text as card_text
from evenhand.report.html_tables import Cell
from evenhand.results.baseline import _BaselineFindings, hold
from evenhand.results.reading import evidence_of
from evenhand.results.result import Result
from evenhand.runtime.json_file import dump
from evenhand.verbs import VERBS
from tests.support.evidence import MAKERS, audited, lend_alike, made
from tests.support.translation import FIRST, TRANSLATED, Translation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from evenhand.results.protocol import Evidence

SAID = "§"
"""What stands where a sentence stood."""
PRINTS = re.compile(r"\b[0-9a-f]{64}\b|\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")
"""Digests of all that was found, the sentences included, and what SARIF makes of them."""
every = pytest.mark.parametrize("name", MAKERS)
ways = pytest.mark.parametrize(
    "alike", [False, True], ids=["each its own words", "all the same words"]
)


@pytest.fixture(autouse=True)
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave figures out of pages: they take most of the time, and letters in them are shapes."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)


def test_there_is_evidence_of_every_verb():
    assert {verb.name for verb in VERBS.values()} <= {
        name.partition(",")[0] for name in MAKERS
    }


# Pages, tables and documents, as programs and readers take them apart


class Page(HTMLParser):
    """A page, taken apart: tags with their attributes, texts, and blocks of data; not what is
    drawn.
    """

    def __init__(self, page: str) -> None:
        super().__init__()
        self.parts: list[Any] = []
        self._inside: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self._inside.append(tag)
        self.parts.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        while self._inside and self._inside.pop() != tag:
            continue
        if tag == "tr":
            self.parts.append(("/tr", {}))

    def handle_data(self, data: str) -> None:
        if not data.strip() or self._inside[-1:] == ["style"]:
            return
        attributes: dict[str, Any] = next(
            (part[1] for part in reversed(self.parts) if isinstance(part, tuple)), {}
        )
        if self._inside[-1:] == ["script"] and attributes.get("type") == "application/json":
            self.parts.append(json.loads(data))
        elif self._inside[-1:] != ["script"]:
            self.parts.append(data)

    def cells(self) -> Iterator[list[tuple[Any, str]]]:
        """Return the cells of each row of each table: the number that it is sorted by, and its
        text.
        """
        row: list[tuple[Any, str]] = []
        for part in self.parts:
            if not isinstance(part, tuple):
                if row:
                    row[-1] = (row[-1][0], row[-1][1] + str(part))
            elif part[0] == "/tr":
                yield row
                row = []
            elif part[0] in ("td", "th"):
                row.append((part[1].get("data-value"), ""))


def tree(node: ElementTree.Element) -> Any:
    """Return an XML element with all that it holds."""
    return (
        node.tag,
        dict(node.attrib),
        (node.text or "").strip(),
        [tree(child) for child in node],
    )


def table(frame: Any) -> list[dict[str, Any]]:
    """Return a frame as rows that can be compared, where nothing stands for what is missing."""
    rows = json.loads(frame.to_json(orient="records", default_handler=str))
    return [{str(key): value for key, value in row.items()} for row in rows]


SHAPES: dict[str, Callable[[str], Any]] = {
    "html": lambda page: Page(page).parts,
    "notebook": lambda page: Page(page).parts,
    "junit": lambda text: tree(ElementTree.fromstring(text)),
    "sarif": json.loads,
    "json": json.loads,
}
"""How formats are taken apart; the others are lines."""


def outputs(found: Evidence) -> dict[str, Any]:
    """Return all that a piece of evidence is written as, taken apart."""
    told = {
        name: SHAPES.get(name, str.splitlines)(form.render(found))
        for name, form in FORMATS.items()
    }
    return told | {
        "page": Page(found.to_html()).parts,
        "text": found.to_text(cases=2).splitlines(),
        "story": found.story().splitlines(),
        "frame": table(found.to_frame()),
        "verdict": [found.verdict, found.exit_code],
    }


def without(value: Any, sentences: dict[str, str]) -> Any:
    """Return what a format says with a mark where sentences stand, longest first, and no digests."""
    if isinstance(value, str):
        for sentence in sentences:
            value = value.replace(sentence, SAID)
        return PRINTS.sub("#", TRANSLATED.sub(SAID, value))
    if isinstance(value, dict):
        return {key: without(one, sentences) for key, one in value.items()}
    return (
        [without(one, sentences) for one in value]
        if isinstance(value, list | tuple)
        else value
    )


def forms_of(words: dict[str, str]) -> dict[str, str]:
    """Return every form in which sentences are written, the longest first."""
    found: dict[str, str] = {}
    for sentence in words:
        capital = sentence[:1].upper() + sentence[1:]
        forms = (
            sentence,
            capital,
            text_of(sentence),
            inline(sentence),
            card_text(sentence),
        )
        found |= dict.fromkeys(forms, SAID)
    return dict(sorted(found.items(), key=lambda pair: -len(pair[0])))


@cache
def original(name: str) -> dict[str, Any]:
    return outputs(made(name))


def differences(name: str, *, alike: bool = False) -> dict[str, Any]:
    """Return the formats in which evidence in other words says something else than the original,
    and what.
    """
    translation = Translation(alike)
    before = original(name)
    with translation.foreign():
        after = outputs(translation.evidence(made(name)))
    assert translation.words, f"{name} has no sentence to translate"
    forms = forms_of(translation.words)
    found = {}
    for form, told in before.items():
        one, other = without(told, forms), without(after[form], {})
        if one != other:
            found[form] = next(unlike(one, other))
    return found


def unlike(one: Any, other: Any, place: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Return where two parts differ, and what stands there."""
    if type(one) is type(other) and isinstance(one, list) and len(one) == len(other):
        for at, pair in enumerate(zip(one, other, strict=True)):
            yield from unlike(*pair, f"{place}[{at}]")
    elif type(one) is type(other) and isinstance(one, dict) and one.keys() == other.keys():
        for key in one:
            yield from unlike(one[key], other[key], f"{place}[{key!r}]")
    elif one != other:
        yield place, one, other


@ways
@every
def test_every_format_says_the_same_but_for_the_sentences(name, alike):
    assert differences(name, alike=alike) == {}


@every
def test_the_sentences_are_really_others(name):
    """What is compared above must have been translated: no claim stays as it was, in any format."""
    found, translation = made(name), Translation()
    with translation.foreign():
        told = {
            form: json.dumps(one, ensure_ascii=False)
            for form, one in outputs(translation.evidence(found)).items()
        }
    claims = {finding.claim for part in found.parts for finding in part.findings}
    for form, text in told.items():
        assert not [
            claim for claim in claims if json.dumps(claim, ensure_ascii=False)[1:-1] in text
        ], form
    if claims:
        for form in ("html", "json", "junit", "sarif", "markdown", "card", "notebook"):
            assert FIRST in told[form], form


# Facts, where an estimate in words says nothing either


def facts(found: Evidence) -> dict[str, Any]:
    """Return the numbers, verdicts and identities that each format tells, none of which is part of
    a sentence.
    """
    page = Page(FORMATS["html"].render(found))
    run = json.loads(FORMATS["sarif"].render(found))["runs"][0]
    results = [{key: one.get(key) for key in _RESULT} for one in run["results"]]
    return {
        "findings": [
            (
                one.key,
                one.score,
                one.unit,
                one.verdict,
                one.limit,
                one.least,
                one.output,
                one.estimate.to_dict(),
            )
            for one in found.findings
        ],
        "badges": [part[1]["class"] for part in page.parts if _is_badge(part)],
        "numbers of the page": [
            [cell for cell in row if cell[0] is not None] for row in page.cells()
        ],
        "data of the page": [part for part in page.parts if isinstance(part, dict)],
        "sarif": (
            results,
            run["invocations"][0]["exitCode"],
            run["invocations"][0]["executionSuccessful"],
        ),
        "junit": _counted(ElementTree.fromstring(FORMATS["junit"].render(found))),
        "frame": [
            {key: value for key, value in row.items() if key != "claim"}
            for row in table(found.to_frame())
        ],
        "markdown": _columns(
            FORMATS["markdown"].render(found),
            "verdict",
            "check",
            "n",
            "engineering threshold",
        ),
        "card": _columns(
            FORMATS["card"].render(found),
            "check",
            "about",
            "value",
            "interval",
            "level",
            "n",
            "verdict",
        ),
        "notebook": [
            (row[0], row[-1])
            for row in Page(FORMATS["notebook"].render(found)).cells()
            if row
        ],
        "exit code": found.exit_code,
    }


_RESULT = ("ruleId", "kind", "level", "partialFingerprints", "properties", "baselineState")


def _is_badge(part: Any) -> bool:
    return isinstance(part, tuple) and "badge" in (part[1].get("class") or "")


def _counted(root: ElementTree.Element) -> list[Any]:
    """Return the counts of JUnit, the names of cases, and what became of each."""
    found: list[Any] = [{key: value for key, value in root.attrib.items() if key != "time"}]
    for suite in root:
        found.append({key: value for key, value in suite.attrib.items() if key != "time"})
        for case in suite:
            found.append(
                (
                    case.get("name"),
                    case.get("classname"),
                    [(one.tag, one.get("type")) for one in case],
                )
            )
    return found


def _columns(text: str, *names: str) -> list[list[str]]:
    """Return some columns of each table of Markdown that has them all."""
    found, places = [], []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("| ").split(" | ")]
        if set(names) <= set(cells):
            places = [cells.index(name) for name in names]
        elif not line.startswith("|"):
            places = []
        elif places and len(cells) > max(places):
            found.append([cells[place] for place in places])
    return found


@cache
def facts_before(name: str) -> dict[str, Any]:
    return facts(made(name))


def facts_that_changed(name: str) -> dict[str, Any]:
    """Return the facts that are others where every sentence, and every estimate in words, is
    another.
    """
    translation, before = Translation(), facts_before(name)
    with translation.foreign(estimates=True):
        found = translation.evidence(made(name))
        assert all(FIRST in str(finding.estimate) for finding in found.findings)
        after = facts(found)
    return {key: (before[key], after[key]) for key in before if before[key] != after[key]}


@every
def test_no_fact_comes_from_a_sentence_or_from_an_estimate_in_words(name):
    assert facts_that_changed(name) == {}


@every
def test_the_facts_are_really_there(name):
    """What is compared above must not be empty."""
    told = facts_before(name)
    assert any(told["badges"])
    assert len(told["junit"]) > 1
    assert told["sarif"][0] and told["markdown"] and told["card"] and told["notebook"]
    if told["findings"]:
        assert any(told["numbers of the page"])
        assert told["frame"]


@every
def test_a_document_in_other_words_is_read_as_the_same_evidence(name):
    translation, found = Translation(), made(name)
    table = json.loads(dump(translation.document(found.to_dict())))
    assert FIRST in json.dumps(table, ensure_ascii=False)
    again = evidence_of(table, where="translated.json")
    assert type(again) is type(found)
    assert facts(again) == facts_before(name)
    assert again.notes == translation.all(found.notes)


# Baselines


def states(found: Evidence, old: Evidence) -> list[tuple[str, Any]]:
    """Return how each finding stands to a baseline, and the verdict that follows."""
    return [(one.state, one.verdict) for one in hold(found, old)]


def baselines_that_changed(name: str) -> list[Any]:
    """Return the ways of holding evidence against itself, with a side or both in other words, that
    end otherwise.
    """
    found, translation = made(name), Translation(alike=True)
    same = [states(part, part) for part in found.parts]
    changed = []
    with translation.foreign(estimates=True):
        other = translation.evidence(found)
        for ours, theirs in ((other, found), (found, other), (other, other)):
            held = [
                states(one, two) for one, two in zip(ours.parts, theirs.parts, strict=True)
            ]
            changed += [] if held == same else [held]
    return changed


@every
def test_a_baseline_in_other_words_is_the_same_baseline(name):
    assert baselines_that_changed(name) == []


def verdicts(audit: Audit) -> list[Any]:
    rows = [
        [check.name, check.verdict, [(one.state, one.verdict) for one in check.held]]
        for check in audit.checks
    ]
    return [audit.verdict, audit.exit_code, *rows]


@pytest.mark.parametrize("order", ["worse than before", "better than before"])
def test_an_audit_stands_to_another_as_it_did_whichever_of_them_is_in_other_words(order):
    ours, theirs = made("audit"), audited(lend_alike)
    if order == "better than before":
        ours, theirs = theirs, ours
    expected = verdicts(ours.against(theirs))
    assert len({state for check in expected[2:] for state, _ in check[2]}) > 1
    translation = Translation(alike=True)
    with translation.foreign(estimates=True):
        mine, other = translation.evidence(ours), translation.evidence(theirs)
        assert verdicts(mine.against(theirs)) == expected
        assert verdicts(ours.against(other)) == expected
        assert verdicts(mine.against(other)) == expected


def test_evidence_of_one_verb_passes_as_its_own_baseline_in_other_words():
    """This is how a reworded claim once turned a passing baseline into a failing one."""
    for name in ("measure, causal", "mine", "search", "impact"):
        found = as_audit(made(name))
        assert found.exit_code
        translated = Translation(alike=True).evidence(found)
        assert not found.against(translated).exit_code
        assert not translated.against(found).exit_code


# The tests above can fail


def test_a_baseline_that_knows_findings_by_their_claims_is_caught(monkeypatch):
    def by_claim(past: Any, one: Any) -> Any:
        return {finding.claim: finding for finding in past.findings}.get(one.claim)

    monkeypatch.setattr(_BaselineFindings, "matching", by_claim)
    for name in ("measure, causal", "mine", "audit"):
        assert baselines_that_changed(name), name


def test_a_fingerprint_made_of_the_claim_is_caught(monkeypatch):
    mark = sarif._mark
    monkeypatch.setattr(sarif, "_mark", lambda one: f"{len(one.claim)} {mark(one)}")
    facts_before.cache_clear()
    assert list(facts_that_changed("measure, causal")) == ["sarif"]
    facts_before.cache_clear()


def test_a_number_taken_out_of_an_estimate_in_words_is_caught(monkeypatch):
    def from_words(one: Any) -> list[Cell]:
        value = str(one.estimate).partition(" %")[0]
        return [
            Cell(
                value,
                float(value) if value.replace(".", "").isdigit() else None,
                number=True,
            )
        ] * 4

    monkeypatch.setattr(html, "_score", from_words)
    facts_before.cache_clear()
    assert list(facts_that_changed("measure, causal")) == ["numbers of the page"]
    facts_before.cache_clear()


def test_a_kind_told_by_the_words_of_a_claim_is_caught(monkeypatch):
    monkeypatch.setattr(
        junit,
        "sentences",
        lambda one: sentences(one)[: 2 if one.claim.startswith("changing") else 1],
    )
    original.cache_clear()
    assert list(differences("measure, causal")) == ["junit"]
    original.cache_clear()


def test_notes_left_out_by_their_words_are_caught(monkeypatch):
    from evenhand.methods.impact import selection_rates
    from evenhand.methods.impact import text as impact_text

    def by_sentence(result: Any) -> tuple[str, ...]:
        told = {
            text
            for one in selection_rates.tables_of(result)
            for text in selection_rates.remarks(one)
        }
        return tuple(note for note in result.notes if note not in told)

    monkeypatch.setattr(impact_text, "other_notes", by_sentence)
    original.cache_clear()
    assert list(differences("impact")) == ["text"]
    original.cache_clear()


def test_an_order_by_claims_is_caught(monkeypatch):
    by_evidence = Result.__post_init__

    def by_claims(result: Any) -> None:
        by_evidence(result)
        object.__setattr__(
            result, "findings", tuple(sorted(result.findings, key=lambda one: one.claim))
        )

    monkeypatch.setattr(Result, "__post_init__", by_claims)
    planted = replace(made("prevalence"))
    monkeypatch.setattr(f"{__name__}.made", lambda name: planted)
    original.cache_clear()
    assert "frame" in differences("prevalence")
    original.cache_clear()
