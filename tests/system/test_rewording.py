"""Every sentence of every verb in other words: all that programs read stays the same.

A baseline must not fail because a claim was reworded, and no table, page or report may take a
number, a verdict or an identity out of a sentence. So evidence of every verb is translated, and
what comes of it is compared with the original, in every format.
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
from evenhand.methods.audit.formats import junit, sarif
from evenhand.methods.audit.formats.ci import sentences
from evenhand.methods.audit.formats.markdown import text_of
from evenhand.methods.audit.formats.markdown_escape import inline
from evenhand.methods.audit.formats.markdown_escape import text as card_text
from evenhand.methods.audit.page import table as page_table
from evenhand.report.html_tables import Cell
from evenhand.results.baseline import _BaselineFindings, hold
from evenhand.results.reading import evidence_of
from evenhand.results.result import Result
from evenhand.runtime.json_file import dump
from evenhand.verbs import VERBS
from tests.support.evidence import MAKERS, audited, lend_alike, made
from tests.support.formats import QUICK, content_text
from tests.support.translation import FIRST, TRANSLATED, Translation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from evenhand.results.protocol import Evidence

SENTENCE = "§"
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
    verbs = {verb.name for verb in VERBS.values()}
    made_verbs = {name.partition(",")[0] for name in MAKERS}
    assert verbs <= made_verbs


# Pages, tables and documents, as programs and readers take them apart


class ParsedPage(HTMLParser):
    """A page, taken apart into tags with their attributes, texts, and blocks of data."""

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
        inside = self._inside[-1] if self._inside else ""
        if not data.strip() or inside == "style":
            return
        if inside != "script":
            self.parts.append(data)
        elif self._attributes().get("type") == "application/json":
            self.parts.append(json.loads(data))

    def _attributes(self) -> dict[str, Any]:
        """Return the attributes of the last tag."""
        for part in reversed(self.parts):
            if isinstance(part, tuple):
                attributes: dict[str, Any] = part[1]
                return attributes
        return {}

    def cells(self) -> Iterator[list[tuple[Any, str]]]:
        """Yield the cells of each row of each table: the number to sort by, and the text."""
        row: list[tuple[Any, str]] = []
        for part in self.parts:
            if not isinstance(part, tuple):
                if row:
                    number, text = row[-1]
                    row[-1] = (number, text + str(part))
            elif part[0] == "/tr":
                yield row
                row = []
            elif part[0] in ("td", "th"):
                row.append((part[1].get("data-value"), ""))


def tree(node: ElementTree.Element) -> Any:
    """Return an XML element with all that it holds."""
    text = (node.text or "").strip()
    children = [tree(child) for child in node]
    return node.tag, dict(node.attrib), text, children


def table(frame: Any) -> list[dict[Any, Any]]:
    """Return a frame as rows that can be compared, where nothing stands for what is missing."""
    text = frame.to_json(orient="records", default_handler=str)
    rows: list[dict[Any, Any]] = json.loads(text)
    return rows


SHAPES: dict[str, Callable[[str], Any]] = {
    "html": lambda page: ParsedPage(page).parts,
    "notebook": lambda page: ParsedPage(page).parts,
    "junit": lambda text: tree(ElementTree.fromstring(text)),
    "sarif": json.loads,
    "json": json.loads,
}
"""How formats are taken apart; the others are lines."""


def outputs(found: Evidence) -> dict[str, Any]:
    """Return all that a piece of evidence is written as, taken apart."""
    written: dict[str, Any] = {}
    for name in QUICK:
        taken_apart = SHAPES.get(name, str.splitlines)
        written[name] = taken_apart(content_text(FORMATS[name].render(found)))
    return written | {
        "page": ParsedPage(found.to_html()).parts,
        "text": found.to_text(cases=2).splitlines(),
        "story": found.story().splitlines(),
        "frame": table(found.to_frame()),
        "verdict": [found.verdict, found.exit_code],
    }


def without(value: Any, sentences: dict[str, str]) -> Any:
    """Return what a format holds, with marks for sentences, longest first, and for digests."""
    if isinstance(value, str):
        for sentence in sentences:
            value = value.replace(sentence, SENTENCE)
        marked = TRANSLATED.sub(SENTENCE, value)
        return PRINTS.sub("#", marked)
    if isinstance(value, dict):
        return {key: without(part, sentences) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [without(part, sentences) for part in value]
    return value


def forms_of(words: dict[str, str]) -> dict[str, str]:
    """Return every form in which sentences are written, the longest first."""
    forms: list[str] = []
    for sentence in words:
        capital = sentence[:1].upper() + sentence[1:]
        forms += [
            sentence,
            capital,
            text_of(sentence),
            inline(sentence),
            card_text(sentence),
        ]
    longest_first = sorted(dict.fromkeys(forms), key=len, reverse=True)
    return dict.fromkeys(longest_first, SENTENCE)


@cache
def original(name: str) -> dict[str, Any]:
    return outputs(made(name))


def differences(name: str, *, alike: bool = False) -> dict[str, Any]:
    """Return the formats in which evidence in other words differs from the original, and where."""
    translation = Translation(alike)
    before = original(name)
    with translation.foreign():
        after = outputs(translation.evidence(made(name)))
    assert translation.words, f"{name} has no sentence to translate"
    forms = forms_of(translation.words)
    found = {}
    for form, written in before.items():
        facts_before = without(written, forms)
        facts_after = without(after[form], {})
        if facts_before != facts_after:
            found[form] = next(unlike(facts_before, facts_after))
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
    found = made(name)
    translation = Translation()
    with translation.foreign():
        written = outputs(translation.evidence(found))
    texts = {form: json.dumps(parts, ensure_ascii=False) for form, parts in written.items()}
    claims: set[str] = set()
    for part in found.parts:
        claims.update(finding.claim for finding in part.findings)
    for claim in claims:
        quoted = json.dumps(claim, ensure_ascii=False)
        for form, text in texts.items():
            assert quoted[1:-1] not in text, form
    if claims:
        for form in ("html", "json", "junit", "sarif", "markdown", "card", "notebook"):
            assert FIRST in texts[form], form


# Facts, where an estimate in words says nothing either


def facts(found: Evidence) -> dict[str, Any]:
    """Return the numbers, verdicts and identities of each format that are in no sentence."""
    page = ParsedPage(FORMATS["html"].render(found))
    junit_root = ElementTree.fromstring(FORMATS["junit"].render(found))
    notebook = ParsedPage(FORMATS["notebook"].render(found))
    return {
        "findings": [_finding_facts(finding) for finding in found.findings],
        "badges": [part[1]["class"] for part in page.parts if _is_badge(part)],
        "numbers of the page": _numbers(page),
        "data of the page": [part for part in page.parts if isinstance(part, dict)],
        "sarif": _sarif_facts(found),
        "junit": _counted(junit_root),
        "frame": [_left_out(row, "claim") for row in table(found.to_frame())],
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
        "notebook": [(row[0], row[-1]) for row in notebook.cells() if row],
        "exit code": found.exit_code,
    }


def _finding_facts(finding: Any) -> tuple[Any, ...]:
    return (
        finding.key,
        finding.score,
        finding.unit,
        finding.verdict,
        finding.limit,
        finding.least,
        finding.output,
        finding.estimate.to_dict(),
    )


def _numbers(page: ParsedPage) -> list[Any]:
    """Return the cells that are numbers, row by row."""
    rows = []
    for row in page.cells():
        rows.append([cell for cell in row if cell[0] is not None])
    return rows


_RESULT = ("ruleId", "kind", "level", "partialFingerprints", "properties", "baselineState")


def _sarif_facts(found: Evidence) -> tuple[Any, ...]:
    run = json.loads(FORMATS["sarif"].render(found))["runs"][0]
    invocation = run["invocations"][0]
    results = []
    for result in run["results"]:
        results.append({key: result.get(key) for key in _RESULT})
    return results, invocation["exitCode"], invocation["executionSuccessful"]


def _is_badge(part: Any) -> bool:
    return isinstance(part, tuple) and "badge" in (part[1].get("class") or "")


def _left_out(table: dict[Any, Any], name: str) -> dict[Any, Any]:
    """Return a table without one of its keys."""
    return {key: value for key, value in table.items() if key != name}


def _counted(root: ElementTree.Element) -> list[Any]:
    """Return the counts of JUnit, the names of cases, and what became of each."""
    found: list[Any] = [_left_out(root.attrib, "time")]
    for suite in root:
        found.append(_left_out(suite.attrib, "time"))
        for case in suite:
            outcomes = [(element.tag, element.get("type")) for element in case]
            found.append((case.get("name"), case.get("classname"), outcomes))
    return found


def _columns(text: str, *names: str) -> list[list[str]]:
    """Return some columns of each table of Markdown that has them all."""
    found = []
    places = []
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
    """Return the facts that differ where every sentence and estimate in words is another."""
    translation = Translation()
    before = facts_before(name)
    with translation.foreign(estimates=True):
        found = translation.evidence(made(name))
        assert all(FIRST in str(finding.estimate) for finding in found.findings)
        after = facts(found)
    changed = {}
    for key, fact in before.items():
        if fact != after[key]:
            changed[key] = (fact, after[key])
    return changed


@every
def test_no_fact_comes_from_a_sentence_or_from_an_estimate_in_words(name):
    assert facts_that_changed(name) == {}


@every
def test_the_facts_are_really_there(name):
    """What is compared above must not be empty."""
    present = facts_before(name)
    if name == "plan":
        # A forecast has nothing that formats of findings could list.
        assert present["frame"]
        return
    assert any(present["badges"])
    assert len(present["junit"]) > 1
    assert present["sarif"][0]
    assert present["markdown"]
    assert present["card"]
    assert present["notebook"]
    if present["findings"]:
        assert any(present["numbers of the page"])
        assert present["frame"]


def drop_digests(table: Any) -> None:
    """Drop the digests of a document and of those within it, which are of its first words."""
    if isinstance(table, dict):
        table.pop("digest", None)
        for value in table.values():
            drop_digests(value)
    elif isinstance(table, list):
        for value in table:
            drop_digests(value)


@every
def test_a_document_in_other_words_is_read_as_the_same_evidence(name):
    translation = Translation()
    found = made(name)
    table = json.loads(dump(translation.document(found.to_dict())))
    assert FIRST in json.dumps(table, ensure_ascii=False)
    drop_digests(table)
    again = evidence_of(table, where="translated.json")
    assert type(again) is type(found)
    assert facts(again) == facts_before(name)
    assert again.notes == translation.all(found.notes)


# Baselines


def states(found: Evidence, old: Evidence) -> list[tuple[str, Any]]:
    """Return how each finding compares with a baseline, and the verdict that follows."""
    return [(comparison.state, comparison.verdict) for comparison in hold(found, old)]


def states_of_parts(found: Evidence, old: Evidence) -> list[Any]:
    pairs = zip(found.parts, old.parts, strict=True)
    return [states(part, old_part) for part, old_part in pairs]


def baselines_that_changed(name: str) -> list[Any]:
    """Return the comparisons of evidence with itself, one or both in other words, that differ."""
    found = made(name)
    translation = Translation(alike=True)
    same = states_of_parts(found, found)
    changed = []
    with translation.foreign(estimates=True):
        other = translation.evidence(found)
        for ours, theirs in ((other, found), (found, other), (other, other)):
            compared = states_of_parts(ours, theirs)
            if compared != same:
                changed.append(compared)
    return changed


@every
def test_a_baseline_in_other_words_is_the_same_baseline(name):
    assert baselines_that_changed(name) == []


def verdicts(audit: Audit) -> list[Any]:
    rows: list[Any] = [audit.verdict, audit.exit_code]
    for check in audit.checks:
        held = [(comparison.state, comparison.verdict) for comparison in check.held]
        rows.append([check.name, check.verdict, held])
    return rows


@pytest.mark.parametrize("order", ["worse than before", "better than before"])
def test_an_audit_stands_to_another_as_it_did_whichever_of_them_is_in_other_words(order):
    ours = made("audit")
    theirs = audited(lend_alike)
    if order == "better than before":
        ours, theirs = theirs, ours
    compared = ours.against(theirs)
    seen_states: set[str] = set()
    for check in compared.checks:
        seen_states.update(comparison.state for comparison in check.held)
    assert len(seen_states) > 1
    expected = verdicts(compared)
    translation = Translation(alike=True)
    with translation.foreign(estimates=True):
        mine = translation.evidence(ours)
        other = translation.evidence(theirs)
        assert verdicts(mine.against(theirs)) == expected
        assert verdicts(ours.against(other)) == expected
        assert verdicts(mine.against(other)) == expected


def test_evidence_of_one_verb_stands_to_itself_in_other_words_as_it_does_in_its_own():
    """This is how a reworded claim once turned a passing baseline into a failing one."""
    for name in ("measure, causal", "mine", "search", "impact"):
        found = as_audit(made(name))
        assert found.exit_code
        itself = found.against(found)
        assert itself.exit_code != 1
        translated = Translation(alike=True).evidence(found)
        assert verdicts(found.against(translated)) == verdicts(itself)
        assert verdicts(translated.against(found)) == verdicts(itself)


# The tests above can fail


def test_a_baseline_that_knows_findings_by_their_claims_is_caught(monkeypatch):
    def by_claim(baseline: Any, finding: Any, *_: int) -> Any:
        known = {old.claim: old for old in baseline.findings}
        return known.get(finding.claim)

    monkeypatch.setattr(_BaselineFindings, "matching", by_claim)
    for name in ("measure, causal", "mine", "audit"):
        assert baselines_that_changed(name), name


def test_a_fingerprint_made_of_the_claim_is_caught(monkeypatch):
    mark = sarif._mark

    def by_claim(statement: Any) -> str:
        return f"{len(statement.claim)} {mark(statement)}"

    monkeypatch.setattr(sarif, "_mark", by_claim)
    facts_before.cache_clear()
    assert list(facts_that_changed("measure, causal")) == ["sarif"]
    facts_before.cache_clear()


def test_a_number_taken_out_of_an_estimate_in_words_is_caught(monkeypatch):
    def from_words(statement: Any) -> list[Cell]:
        value, _, _ = str(statement.estimate).partition(" %")
        is_number = value.replace(".", "").isdigit()
        cell = Cell(value, float(value) if is_number else None, number=True)
        return [cell] * 4

    monkeypatch.setattr(page_table, "_score", from_words)
    facts_before.cache_clear()
    assert list(facts_that_changed("measure, causal")) == ["numbers of the page"]
    facts_before.cache_clear()


def test_a_kind_known_by_the_words_of_a_claim_is_caught(monkeypatch):
    def by_claim(statement: Any) -> list[str]:
        number = 2 if statement.claim.startswith("changing") else 1
        return sentences(statement)[:number]

    monkeypatch.setattr(junit, "sentences", by_claim)
    original.cache_clear()
    assert list(differences("measure, causal")) == ["junit"]
    original.cache_clear()


def test_notes_left_out_by_their_words_are_caught(monkeypatch):
    from evenhand.methods.impact import selection_rates
    from evenhand.methods.impact import text as impact_text

    def by_sentence(result: Any) -> tuple[str, ...]:
        remarks: set[str] = set()
        for impact_table in selection_rates.tables_of(result):
            remarks.update(selection_rates.remarks(impact_table))
        return tuple(note for note in result.notes if note not in remarks)

    monkeypatch.setattr(impact_text, "other_notes", by_sentence)
    original.cache_clear()
    assert list(differences("impact")) == ["text"]
    original.cache_clear()


def test_an_order_by_claims_is_caught(monkeypatch):
    by_evidence = Result.__post_init__

    def by_claims(result: Any) -> None:
        by_evidence(result)
        findings = sorted(result.findings, key=lambda finding: finding.claim)
        object.__setattr__(result, "findings", tuple(findings))

    monkeypatch.setattr(Result, "__post_init__", by_claims)
    planted = replace(made("prevalence"))
    monkeypatch.setattr(f"{__name__}.made", lambda name: planted)
    original.cache_clear()
    assert "frame" in differences("prevalence")
    original.cache_clear()
