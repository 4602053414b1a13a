"""One question has one answer in an audit, whichever checks ask it."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.config.audit import audit_config
from evenhand.demo import loan_config
from evenhand.methods.audit import audit as audit_module
from evenhand.methods.audit.check_result import CheckResult
from evenhand.methods.audit.checks import planned
from evenhand.methods.audit.same_questions import AskedQuestion, one_answer
from evenhand.methods.audit.statements import all_statements
from evenhand.methods.audit.terminal.rows import ORDER, rows_of
from evenhand.methods.audit.text import audit_lines
from evenhand.report.finding_text import lattices_of
from evenhand.results.evidence import Finding
from evenhand.results.result import Result
from evenhand.runtime.budget import Spent
from evenhand.statistics.estimate import Estimate, StopReason
from tests.quality.test_audit_level import software_checks
from tests.quality.test_subsets_error import either, software
from tests.support.evidence import LOANS, inputs, lend

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenhand.methods.audit.audit_result import Audit

STATE_OF = {"pass": "cleared", "fail": "discriminating"}


def contradictions(audit: Audit) -> list[str]:
    """Return what an audit says in two ways: of the same score, and of sets and their verdicts."""
    return [*_two_answers(audit), *_other_states(audit)]


def _two_answers(audit: Audit) -> Iterator[str]:
    """Yield findings on one score that differ in their intervals, or in verdicts on one limit."""
    findings = [statement.finding for statement in all_statements(audit)]
    for first, second in itertools.combinations(filter(None, findings), 2):
        question = AskedQuestion.of(first)
        if question is None or AskedQuestion.of(second) != question:
            continue
        disjoint = (
            first.estimate.high < second.estimate.low
            or second.estimate.high < first.estimate.low
        )
        same_limit = first.limit is not None and first.limit == second.limit
        if disjoint or (same_limit and first.verdict != second.verdict):
            yield f"{first} | {second}"
        elif first.estimate != second.estimate:
            yield f"two answers: {first} | {second}"


def _other_states(audit: Audit) -> Iterator[str]:
    """Yield sets that stand on another side of a limit than a finding on them says."""
    for check in audit.checks:
        if check.job != "subsets" or not isinstance(check.found, Result):
            continue
        for output, lattice in lattices_of(check.found):
            state_of = {
                frozenset(entry["about"]): entry["state"] for entry in lattice["sets"]
            }
            for finding in audit.findings:
                same = finding.score == lattice["kind"] and finding.output == output
                if not same or finding.limit != lattice["limit"]:
                    continue
                state = state_of.get(frozenset(finding.about), "")
                own_state = STATE_OF.get(str(finding.verdict), "")
                if {state, own_state} == set(STATE_OF.values()):
                    yield f"{state}: {finding}"
                if state in STATE_OF.values() and finding.verdict == "undecided":
                    yield f"{state}, though undecided: {finding}"


def planted_audit(seed: int, limit: float = 0.3) -> Audit:
    """Return an audit of random software, all of whose scores are drawn."""
    rng = np.random.default_rng([seed, 3])
    checks = software_checks(limit)
    return eh.audit(software(either(rng)), checks=checks, seed=seed, progress=False)


@cache
def demo(seed: int) -> Audit:
    return audit_config(loan_config(), {}, seed=seed)


def rows_like_adult() -> pd.DataFrame:
    """Return people whose income goes along with their sex and race."""
    rng = np.random.default_rng(4)
    n = 600
    sex = rng.choice(["Female", "Male"], n)
    race = rng.choice(["White", "Black", "Other"], n, p=[0.7, 0.2, 0.1])
    hours = rng.integers(20, 60, n)
    education = np.clip(rng.integers(6, 17, n) + (race == "White"), 6, 16)
    people = {"sex": sex, "race": race, "hours": hours, "education": education}
    return pd.DataFrame(people)


def well_paid(people: Any) -> Any:
    score = people["hours"] + 3 * people["education"] + 3 * (people["sex"] == "Male")
    return (score > 78).astype(int)


def test_the_demonstration_has_no_contradicting_lines():
    for seed in (0, 1):
        assert contradictions(demo(seed)) == []


def test_the_demonstration_has_one_level():
    found = demo(0)
    assert found.level == 0.95
    assert {check.level for check in found.checks} == {0.99, 1.0}
    together = "holds together with at least 95 % confidence, but for what is descriptive."
    for full in (False, True):
        lines = [line.strip() for line in audit_lines(found, full=full)]
        assert " ".join(lines).count(together) == 1


def test_a_question_that_two_checks_ask_is_one_row():
    rows = rows_of(demo(0))
    of_race = []
    for row in rows:
        finding = row.statement.finding
        if finding is not None and finding.key == "causal of race":
            of_race.append(row)
    assert [len(row.checks) for row in of_race] == [2]
    words = [row.word for row in rows]
    assert words == sorted(words, key=ORDER.index)


@pytest.mark.parametrize("seed", range(12))
def test_planted_software_gives_no_contradictions(seed):
    assert contradictions(planted_audit(seed)) == []
    assert contradictions(planted_audit(seed, limit=0.1)) == []


@pytest.mark.parametrize("limit", [0.02, 0.05, 0.12])
def test_real_rows_give_no_contradictions(limit):
    rows = rows_like_adult()
    space = eh.Space.from_frame(rows, protected=["sex", "race"])
    usual = eh.audit(well_paid, space, progress=False)
    assert contradictions(usual) == []
    checks = [
        {"job": "measure", "limit": limit},
        {"job": "measure", "kind": "group", "limit": limit},
        {"job": "prevalence", "limit": limit},
        {"job": "subsets", "limit": limit, "among": ["sex", "race"]},
        {"job": "subsets", "kind": "group", "limit": limit, "among": ["sex", "race"]},
    ]
    named = eh.audit(well_paid, space, checks=checks, progress=False)
    assert contradictions(named) == []


def test_without_sharing_answers_there_are_contradictions(monkeypatch):
    monkeypatch.setattr(audit_module, "one_answer", list)
    monkeypatch.setattr(audit_module, "known_findings", lambda checks: ())
    found = [contradictions(planted_audit(seed)) for seed in range(12)]
    assert sum(map(bool, found)) > 6


# How one answer comes about


def result(job: str, *findings: Finding, **details: Any) -> CheckResult:
    spent = Spent(1, 1, 0.0)
    evidence = Result(job, findings, 0, spent, StopReason.DECIDED, {}, details=details)
    return CheckResult(f"{job} sex", job, {}, evidence).levelled()


def causal(
    value: float,
    low: float,
    high: float,
    *,
    n: int = 100,
    limit: float | None = None,
    about: tuple[str, ...] = ("sex",),
    **more: Any,
) -> Finding:
    level = 1.0 if low == high else 0.99
    estimate = Estimate(value, low, high, n, level, "exact", "all")
    return Finding(f"{value} of inputs", about, estimate, limit, score="causal", **more)


def estimates(checks: list[CheckResult]) -> list[tuple[float, ...]]:
    found = []
    for check in checks:
        estimate = check.findings[0].estimate
        ends = (estimate.value, estimate.low, estimate.high, estimate.level)
        found.append(tuple(round(end, 9) for end in ends))
    return found


def test_the_answer_is_the_best_value_in_what_all_intervals_have_in_common():
    wide = result("measure", causal(0.2, 0.1, 0.3, limit=0.15))
    narrow = result("subsets", causal(0.24, 0.16, 0.31, limit=0.5))
    both = one_answer([wide, narrow])
    assert estimates(both) == [(0.24, 0.16, 0.3, 0.98)] * 2
    assert [check.findings[0].claim for check in both] == ["0.24 of inputs"] * 2
    assert [check.findings[0].limit for check in both] == [0.15, 0.5]
    assert [check.verdict for check in both] == ["fail", "pass"]
    assert [check.level for check in both] == [0.99, 0.99]
    assert both[0].same_as == {"causal of sex": "subsets sex"}


def test_an_exact_answer_is_that_of_all():
    exact = result("prevalence", causal(0.25, 0.25, 0.25))
    drawn = result("measure", causal(0.2, 0.1, 0.3))
    assert estimates(one_answer([drawn, exact])) == [(0.25, 0.25, 0.25, 1.0)] * 2


def test_intervals_without_a_common_value_leave_the_narrower_one():
    first = result("measure", causal(0.1, 0.05, 0.2))
    second = result("prevalence", causal(0.4, 0.3, 0.6))
    assert estimates(one_answer([first, second])) == [(0.1, 0.05, 0.2, 0.99)] * 2


def test_larger_and_smaller_sets_bound_a_score():
    alone = result("measure", causal(0.06, 0.02, 0.12, limit=0.1))
    both = causal(0.05, 0.0, 0.09, about=("sex", "age"), limit=0.1)
    bounded = one_answer([alone, result("subsets", both)])
    assert estimates(bounded)[0] == (0.06, 0.02, 0.09, 0.98)
    assert bounded[0].verdict == "pass"
    # Nothing follows from sets that nobody searched.
    apart = one_answer([alone, result("measure", both)])
    assert estimates(apart)[0] == (0.06, 0.02, 0.12, 0.99)


def test_other_questions_stay_apart():
    mine = causal(0.2, 0.1, 0.3)
    others = [
        causal(0.25, 0.2, 0.26, about=("race",)),
        causal(0.25, 0.2, 0.26, output="rate"),
        Finding("x", ("sex",), mine.estimate, score="group"),
        Finding(
            "x",
            ("sex",),
            Estimate(0.25, 0.2, 0.26, 9, 0.99, "exact", "rows"),
            score="causal",
        ),
    ]
    for other in others:
        checks = one_answer([result("measure", mine), result("subsets", other)])
        assert estimates(checks)[0] == (0.2, 0.1, 0.3, 0.99)
        assert checks[0].same_as == {}


def test_the_method_of_the_paper_joins_no_others():
    mine = result("measure", causal(0.2, 0.1, 0.3))
    paper = result("subsets", causal(0.25, 0.2, 0.26))
    checks = one_answer([mine, replace(paper, settings={"interval": "wald"})])
    assert estimates(checks) == [(0.2, 0.1, 0.3, 0.99), (0.25, 0.2, 0.26, 0.99)]


def test_a_score_beside_another_population_is_that_of_the_check_that_asks_for_it():
    beside = Estimate(0.3, 0.1, 0.5, 50, 0.99, "exact", "all", descriptive=True)
    rows = Estimate.exact(1, 5, population="rows")
    real = Finding("x", ("sex",), rows, score="causal", uniform=beside)
    checks = one_answer(
        [result("measure", real), result("prevalence", causal(0.2, 0.15, 0.3))]
    )
    uniform = checks[0].findings[0].uniform
    assert uniform is not None
    assert (uniform.low, uniform.high, uniform.descriptive) == (0.15, 0.3, False)


def test_everybody_of_a_search_is_who_was_measured():
    checks = [
        {"job": "search", "over": ["sex"], "queries": 3_000},
        {"job": "measure", "over": ["sex"], "limit": 0.05, "exact": False},
    ]
    found = eh.audit(lend, LOANS, checks=checks, progress=False)
    (search,) = found["search"].found.details["search"]  # type: ignore[union-attr]
    everybody = Estimate.from_dict(search["regions"][-1]["estimate"])
    measured = found["measure"].findings[0].estimate
    assert everybody == replace(measured, descriptive=True)
    alone = eh.audit(lend, LOANS, checks=checks[:1], progress=False)
    (search,) = alone["search"].found.details["search"]  # type: ignore[union-attr]
    assert search["regions"][-1]["estimate"]["n"] < everybody.n


def test_the_summary_of_a_page_names_one_question_once():
    summary, _, rest = demo(0).to_html().partition("</nav>")
    sections, _, _ = rest.partition('id="all"')
    # Inputs that a search found are counted in a sentence of their own.
    share = r"about \d+ get another outcome when nothing but race is changed"
    assert len(re.findall(share, summary)) == 1
    assert len(re.findall(share, sections)) == 1


# What is known is not asked again


def test_subsets_takes_what_measure_has_found():
    measured = eh.measure(lend, LOANS, over="sex", limit=0.05, exact=False)
    asked: dict[str, Any] = {"among": ["sex", "race"], "limit": 0.05, "exact": False}
    alone = eh.subsets(lend, LOANS, **asked)
    helped = eh.subsets(lend, LOANS, **asked, known=measured.findings)
    (known,) = [finding for finding in helped.findings if finding.about == ("sex",)]
    assert known.estimate == measured.worst.estimate
    assert known.cases == measured.worst.cases
    assert helped.spent.queries < alone.spent.queries
    entry = helped.details["lattice"]["sets"][0]
    assert entry["because"] == "found by another check"
    other_limit = eh.subsets(lend, LOANS, **{**asked, "limit": 0.5}, known=alone.findings)
    assert {finding.about for finding in other_limit.findings}


def test_subsets_is_run_after_what_it_can_learn_from_and_stays_in_its_place():
    checks: list[dict[str, Any]] = [
        {"job": "subsets", "among": ["sex", "race"], "limit": 0.05},
        {"job": "search", "over": ["sex"], "queries": 100},
        {"job": "measure", "over": ["sex"], "limit": 0.05},
        {"job": "impact"},
    ]
    order = []

    def note(_: int, check: CheckResult) -> None:
        order.append(check.job)

    plans = planned(LOANS, checks, eh.Budget(), real=True)
    source = audit_module.FrameSource(LOANS, inputs())
    subject = eh.Subject(lend, LOANS, positive=True)
    found = audit_module.run_all(subject, source, plans, each=note)
    assert order == ["search", "measure", "subsets", "impact"]
    assert [check.job for check in found.checks] == [check["job"] for check in checks]


def test_the_report_says_which_check_has_the_same_question():
    found = planted_audit(0)
    same = [check for check in found.checks if check.same_as]
    assert same
    text = "\n".join(audit_lines(found, full=True))
    assert "one question, one answer: the same as in subsets a and b and c" in text
    again = type(found).read(found.to_dict(), "audit.json")
    assert [check.same_as for check in again.checks] == [
        check.same_as for check in found.checks
    ]
