"""Software that gives everybody one and the same answer passes only where that is favourable."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.results.baseline import held
from evenhand.texts.text_subject import TextSubject
from tests.support.helpers import COMMENTS, TERMS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SPACE = eh.Space([eh.category("sex", ["F", "M"]), eh.integer("age", 18, 90)], ["sex"])
ROWS = pd.DataFrame({"sex": ["F", "M"] * 100, "age": np.arange(200) % 70 + 18})
LOST = "database connection lost"
LABELS = ["approve", LOST]
NO_EVIDENCE = "one answer only, and no evidence: every outcome was"


def always(answer: Any) -> Callable[[Any], Any]:
    return lambda people: np.full(len(people), answer)


def audit_of(**check: Any) -> Callable[..., Any]:
    return partial(eh.audit, data=ROWS, checks=[check])


VERBS: dict[str, Callable[..., Any]] = {
    "causal": partial(eh.measure, limit=0.1),
    "sampled": partial(eh.measure, limit=0.1, exact=False),
    "group": partial(eh.measure, kind="group", limit=0.1),
    "rows": partial(eh.measure, kind="group", limit=0.1, sampler=eh.rows(ROWS)),
    "subsets": partial(eh.subsets, limit=0.1, among=["sex"]),
    "group subsets": partial(eh.subsets, limit=0.1, kind="group", among=["sex"]),
    "search": partial(eh.search, limit=0),
    "mine": partial(eh.mine, data=ROWS, limit=0.1),
    "audit": audit_of(job="measure", limit=0.1),
    "audit of groups": audit_of(job="measure", kind="group", limit=0.1),
}
SILENT = ("causal", "sampled", "subsets", "search", "audit")
"""Verbs that need not be told what is favourable."""


@pytest.mark.parametrize("verb", VERBS)
def test_an_answer_that_is_not_favourable_is_no_pass(verb: str) -> None:
    subject = eh.Subject(always(LOST), SPACE, positive="approve", labels=LABELS)
    found = VERBS[verb](subject)
    assert found.verdict == "undecided"
    assert found.exit_code == 3
    assert NO_EVIDENCE in found.to_text()
    for finding in found.findings:
        assert finding.unfavoured
        assert finding.only_answer == LOST


@pytest.mark.parametrize("verb", VERBS)
def test_an_answer_that_is_favourable_passes_and_is_seen(verb: str) -> None:
    subject = eh.Subject(always("approve"), SPACE, positive="approve")
    found = VERBS[verb](subject)
    assert found.verdict == "pass"
    assert "one answer only: every outcome was approve" in found.to_text()
    assert not any(finding.unfavoured for finding in found.findings)


@pytest.mark.parametrize("verb", SILENT)
@pytest.mark.parametrize("answer", [LOST, "deny", 0, False, 0.5])
def test_an_answer_that_nobody_called_favourable_is_no_pass(verb: str, answer: Any) -> None:
    assert VERBS[verb](eh.Subject(always(answer), SPACE)).verdict == "undecided"


@pytest.mark.parametrize("answer", [True, 1])
def test_truth_is_favourable(answer: Any) -> None:
    assert VERBS["causal"](eh.Subject(always(answer), SPACE)).verdict == "pass"


def test_a_function_says_what_is_favourable() -> None:
    for answer, verdict in {0.9: "pass", 0.1: "undecided"}.items():
        subject = eh.Subject(always(answer), SPACE, positive=lambda score: score > 0.5)
        assert eh.measure(subject, limit=0.1).verdict == verdict


def test_texts() -> None:
    texts = [f"{text}, {number}" for number in range(40) for text in COMMENTS]
    for answer, verdict in {"fine": "pass", LOST: "undecided"}.items():
        subject = TextSubject(always(answer), positive="fine", labels=["fine", LOST])
        found = eh.mine_text(subject, texts, lexicon=TERMS, limit=0.5, kind="causal")
        assert found.verdict == verdict, answer


@pytest.mark.parametrize("verb", [eh.measure_log, eh.mine_log])
def test_recorded_decisions(verb: Any) -> None:
    granted = pd.Categorical(["no"] * len(ROWS), categories=["no", "yes"])
    people = ROWS.assign(granted=granted)
    for positive, verdict in {"no": "pass", "yes": "undecided"}.items():
        found = verb(people, outcome="granted", over=["sex"], positive=positive, limit=0.3)
        assert found.verdict == verdict, positive


def test_recorded_twins() -> None:
    people = pd.DataFrame({"sex": ["F", "M"] * 50, "granted": ["no"] * 100})
    options: dict[str, Any] = {"outcome": "granted", "over": ["sex"], "kind": "causal"}
    assert eh.measure_log(people, **options, limit=0.1).verdict == "undecided"
    assert eh.measure_log(people, **options, positive="no", limit=0.1).verdict == "pass"


def test_every_format_says_so(tmp_path: Path) -> None:
    from evenhand.formats import FORMATS

    found = VERBS["audit"](eh.Subject(always(LOST), SPACE))
    assert '"unfavoured": true' in found.to_json()
    assert '"unfavoured": true' in FORMATS["sarif"].render(found)
    assert NO_EVIDENCE.casefold() in found.to_html().casefold()
    for name in ("markdown", "junit"):
        assert "no evidence" in FORMATS[name].render(found), name
    file = tmp_path / "found.json"
    found.to_json(file)
    again = eh.Audit.from_json(file)
    assert again.verdict == "undecided"
    assert again.digest == found.digest


def test_a_baseline_does_not_excuse_it() -> None:
    biased = eh.measure(lambda people: people["sex"] == "F", SPACE, limit=0.1)
    broken = VERBS["causal"](eh.Subject(always(LOST), SPACE))
    assert held(broken.findings[0], biased.findings[0]).verdict == "undecided"


def test_a_suite_that_is_replayed(tmp_path: Path) -> None:
    def rule(people: Any) -> Any:
        return np.where(people["age"] > 40, "approve", "deny")

    suite = tmp_path / "tests.csv"
    subject = eh.Subject(rule, SPACE, positive="approve")
    eh.measure(subject, limit=0.1, keep_tests=True).to_suite(suite)
    broken = eh.Subject(always("deny"), SPACE, positive="approve")
    found = eh.replay(suite, broken, limit=0.1)
    assert found.verdict == "undecided"
