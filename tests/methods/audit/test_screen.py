"""An audit on a screen: all of it in sight, nothing open hidden, each question counted once."""

from __future__ import annotations

import io
import math
import re
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings
from rich.cells import cell_len
from rich.console import Console

from evenhand.methods.audit.audit_result import Audit
from evenhand.methods.audit.check_result import CheckResult
from evenhand.methods.audit.page.placed import each_fact_once
from evenhand.methods.audit.terminal.fit import LEAST_HEIGHT, PIPE_HEIGHT
from evenhand.methods.audit.terminal.rows import rows_of
from evenhand.methods.audit.text import audit_lines, counted, render_audit
from evenhand.results.evidence import Case, Finding
from evenhand.results.result import Result
from evenhand.runtime.budget import Spent
from evenhand.statistics.estimate import Estimate, StopReason
from tests.support.helpers import examples

NOTHING = Spent(0, 0, 0.0)
WIDE = "民族グループ"
LONG = "people of a kind that takes many words to tell apart from all the others " * 4


def estimate(value: float) -> Estimate:
    return Estimate(value, value - 0.02, value + 0.02, 2048, 0.99, "exact", "all inputs")


def finding(name: str, value: float, limit: float | None = 0.05) -> Finding:
    person: dict[str, Any] = {name: "a", "age": 31, "income": 91, "savings": 55}
    case = Case(person, {**person, name: "b"}, ("deny", "approve"))
    score = estimate(value)
    return Finding(f"{name}: {LONG}", (name,), score, limit, cases=(case,), score="causal")


def audit(*checks: list[Finding], notes: int = 0) -> Audit:
    results = []
    for number, findings in enumerate(checks):
        found = Result("measure", findings, 0, NOTHING, StopReason.DECIDED, {})
        results.append(CheckResult(f"check {number}", "measure", {}, found))
    texts = tuple(f"note {number}: {LONG}" for number in range(notes))
    command = "evenhand audit " + "--over " * 20
    return Audit(tuple(results), 0, NOTHING, notes=texts, command=command.strip())


def many(failing: int, passing: int, notes: int = 0) -> Audit:
    findings = [finding(f"{WIDE}{number}", 0.3) for number in range(failing)]
    findings += [finding(f"fine {number}", 0.021) for number in range(passing)]
    return audit(findings, notes=notes)


def printed(found: Audit, width: int, height: int) -> list[str]:
    file = io.StringIO()
    console = Console(
        file=file, force_terminal=True, color_system=None, width=width, height=height
    )
    render_audit(found, ["report.json"], console=console)
    return file.getvalue().splitlines()


@pytest.mark.parametrize("size", [(80, 24), (120, 24), (120, 50), (80, 10)])
@pytest.mark.parametrize("counts", [(0, 30), (2, 5), (7, 3), (30, 30)])
@pytest.mark.parametrize("notes", [0, 6])
def test_an_audit_is_in_sight_at_once(size, counts, notes):
    width, height = size
    failing, passing = counts
    found = many(failing, passing, notes)
    lines = printed(found, width, height)
    taken = sum(max(1, -(-cell_len(line) // width)) for line in lines)
    assert taken < max(height, LEAST_HEIGHT)
    text = "\n".join(lines)
    assert "questions: " in text
    assert f"exit code {found.exit_code}: " in text
    assert "wrote report.json" in text
    assert "the report has the rest: evenhand audit" in text
    assert len(audit_lines(found)) <= PIPE_HEIGHT


@pytest.mark.parametrize("failing", [1, 12, 40])
def test_no_question_that_fails_is_hidden_without_being_counted(failing):
    lines = printed(many(failing, 9), 80, 24)
    blank = lines.index("")
    shown = sum(line.startswith("FAIL ") for line in lines[:blank])
    left_out = re.search(r"more rows?: (?:(\d+) fail)?", "\n".join(lines))
    counted_only = int(left_out[1] or 0) if left_out else 0
    assert shown + counted_only == failing


def test_a_question_counts_once_wherever_it_is_counted():
    found = audit(
        [finding("sex", 0.3), finding("race", 0.021)], [finding("sex", 0.3, None)]
    )
    expected = "2 checks, 2 questions: 1 fail, 1 pass"
    assert counted(found).startswith(expected)
    for full in (False, True):
        assert expected in "\n".join(audit_lines(found, full=full))
    words = sorted(item.statement.word for item in each_fact_once(found))
    assert words == sorted(row.word for row in rows_of(found))


def test_a_verdict_by_another_limit_is_a_question_of_its_own():
    found = audit([finding("sex", 0.3, 0.9)], [finding("sex", 0.3, 0.1)])
    assert [row.word for row in rows_of(found)] == ["fail", "pass"]
    assert len(each_fact_once(found)) == 2


def test_words_of_labels_stay_whole_where_scores_can_be_broken():
    score = estimate(0.3)
    label = "race not African-American"
    of_rates = Finding("c", (label,), score, 0.1, score="false positive rate difference")
    found = audit([of_rates, finding("sex", 0.3)])
    lines = audit_lines(found, width=80)
    assert "race not" in lines[1] or "race not" in lines[2]
    assert "African-American" in "\n".join(lines[:6])
    assert max(map(cell_len, lines[:6])) <= 80


UNSAID = st.builds(
    Finding,
    st.sampled_from(["", "a claim"]),
    st.sampled_from([(), ("sex",)]),
    st.just(Estimate(math.nan, 0.0, 1.0, 0, 0.95, "exact")) | st.just(estimate(0.3)),
    st.sampled_from([None, 0.05]),
    score=st.sampled_from(["", "rate"]),
)


@given(found=st.lists(UNSAID, max_size=3), width=st.sampled_from([20, 80]))
@settings(max_examples=examples(50), deadline=None)
def test_a_finding_that_says_hardly_anything_is_shown_all_the_same(found, width):
    whole = audit(found)
    text = " ".join(audit_lines(whole, width=width))
    assert " ".join(counted(whole).split()) in " ".join(text.split())
