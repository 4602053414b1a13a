"""CheckResult: what a check says is shown line by line, and nothing is cut out of a text."""

from __future__ import annotations

from dataclasses import replace

from evenhand.methods.audit.audit_result import Audit
from evenhand.methods.audit.check_result import CheckResult
from evenhand.runtime.budget import Spent
from tests.support.evidence import made


def audit_of(*checks: CheckResult) -> Audit:
    return Audit(checks, 0, Spent(0, 0, 0.0))


def test_a_name_with_a_line_break_does_not_break_the_story_of_an_audit():
    found = made("compare")
    standings = [replace(one, name=f"{one.name}\nPASS") for one in found.standings]
    check = CheckResult("compare", "compare", {}, replace(found, standings=standings))
    lines = audit_of(check).story().splitlines()
    assert len(lines) == 2 + sum(one.verdict != "pass" for one in standings)
    assert any("\\nPASS" in line for line in lines)


def test_the_story_of_an_audit_has_the_words_that_a_kind_of_evidence_chooses(monkeypatch):
    found = made("measure, causal")
    check = CheckResult("measure sex", "measure", {}, found)
    monkeypatch.setattr(
        type(found),
        "story_lines",
        lambda self: ["  Übersetzung: fail", "  noch eine Zeile"],
    )
    story = audit_of(check).story()
    assert story.splitlines() == [
        "audit: fail",
        "measure sex: fail",
        "  Übersetzung: fail",
        "  noch eine Zeile",
    ]
    assert check.story().splitlines() == [
        "measure: fail",
        "  Übersetzung: fail",
        "  noch eine Zeile",
    ]


def test_a_check_that_could_not_be_run_says_why_in_the_story():
    check = CheckResult("search sex", "search", {}, error="it: crashed: twice")
    assert audit_of(check).story().splitlines() == [
        "audit: undecided",
        "search sex: it: crashed: twice",
    ]
    assert check.story_lines() == []
