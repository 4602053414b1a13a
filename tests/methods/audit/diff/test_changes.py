"""Two audits side by side: what got better, worse, new and gone, and why it cannot be told."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import evenhand as eh
from evenhand.methods.audit.audit_result import Audit
from evenhand.methods.audit.check_result import CheckResult
from evenhand.methods.audit.diff.changes import changes_between
from evenhand.methods.audit.diff.entries import ChangeKind, ChangeReason
from evenhand.results.evidence import Finding
from evenhand.results.result import Result
from evenhand.runtime.budget import Spent
from evenhand.statistics.estimate import Amount, Estimate, StopReason, Verdict, Witnesses

SPACE = eh.Space(
    [eh.category("sex", ["F", "M"]), eh.integer("income", 0, 5_000)], protected=["sex"]
)


def rate(low: float, high: float, **more: Any) -> Estimate:
    return Estimate((low + high) / 2, low, high, 500, 0.95, "exact", **more)


def found(
    low: float, high: float, about: Any = ("sex",), limit: float | None = 0.05, **more: Any
) -> Finding:
    return Finding(f"a claim of {about}", about, rate(low, high), limit, **more)


def check(name: str, *findings: Finding, **fields: Any) -> CheckResult:
    result = Result("measure", list(findings), 0, Spent(9, 9, 0.1), StopReason.DECIDED, {})
    return CheckResult(name, "measure", {}, result, **fields)


def audit(*checks: CheckResult, **fields: Any) -> Audit:
    return Audit(checks, 0, Spent(9, 9, 0.1), **fields)


def kinds(old: Audit, new: Audit) -> list[ChangeKind]:
    return [entry.kind for entry in changes_between(old, new).entries]


@pytest.mark.parametrize(
    ("before", "now", "kind"),
    [
        (found(0.1, 0.2), found(0.3, 0.4), ChangeKind.WORSE),
        (found(0.3, 0.4), found(0.1, 0.2), ChangeKind.BETTER),
        (found(0.1, 0.3), found(0.2, 0.4), ChangeKind.UNCLEAR),
        (found(0.1, 0.3), found(0.1, 0.3), ChangeKind.UNCHANGED),
        # Of a ratio a smaller value is worse.
        (found(0.8, 0.9, least=True), found(0.3, 0.4, least=True), ChangeKind.WORSE),
        (found(0.3, 0.4, least=True), found(0.8, 0.9, least=True), ChangeKind.BETTER),
    ],
)
def test_a_score_is_worse_where_the_interval_of_its_change_excludes_zero(before, now, kind):
    (entry,) = changes_between(
        audit(check("one", before)), audit(check("one", now))
    ).entries
    assert entry.kind is kind
    assert entry.change is not None
    assert entry.old is not None and entry.old.estimate == before.estimate
    assert entry.new is not None and entry.new.estimate == now.estimate


def test_answers_to_the_same_inputs_give_the_paired_change():
    def lend(more: int) -> Any:
        return lambda people: people["income"] > 2_500 + more * (people["sex"] == "F")

    checks = [{"job": "measure", "over": ["sex"], "limit": 0.05, "exact": False}]
    audits = []
    for more in (200, 500):
        made = eh.audit(
            eh.Subject(lend(more), SPACE, identity=str(more)),
            SPACE,
            checks=checks,
            keep_answers=True,
            progress=False,
        )
        audits.append(made)
    old, new = audits
    (entry,) = changes_between(old, new).entries
    assert entry.kind is ChangeKind.WORSE
    assert entry.change is not None
    assert entry.change.paired
    # What follows from both intervals alone is not as much.
    unpaired = [replace(one, kept=()) for one in new.checks]
    (alone,) = changes_between(old, replace(new, checks=tuple(unpaired))).entries
    assert alone.change is not None
    assert not alone.change.paired
    assert alone.change.low < entry.change.low


def test_the_worst_comes_first():
    old = audit(
        check(
            "one",
            found(0.1, 0.2, ("a",)),
            found(0.3, 0.4, ("b",)),
            found(0.1, 0.2, ("c",)),
            found(0.1, 0.2, ("d",)),
        )
    )
    new = audit(
        check(
            "one",
            found(0.3, 0.4, ("a",)),
            found(0.1, 0.2, ("b",)),
            found(0.1, 0.2, ("d",)),
            found(0.2, 0.3, ("e",)),
            found(0.0, 0.01, ("f",)),
        )
    )
    changes = changes_between(old, new)
    assert [(entry.kind, entry.newly_fails) for entry in changes.entries] == [
        (ChangeKind.WORSE, False),
        (ChangeKind.NEW, True),
        (ChangeKind.GONE, False),
        (ChangeKind.BETTER, False),
        (ChangeKind.NEW, False),
        (ChangeKind.UNCHANGED, False),
    ]
    assert changes.sentence == (
        "1 got worse, 1 got better, 2 are new, 1 is gone, 1 is unchanged. 1 fails now that did"
        " not fail before."
    )


@pytest.mark.parametrize(
    ("before", "now", "reason", "words"),
    [
        (
            found(0.1, 0.2),
            Finding("x", ("sex",), Amount(3.0, 2.0, 4.0, 50, 0.95, "exact")),
            ChangeReason.UNIT,
            "rate before, amount now",
        ),
        (
            Finding("x", ("sex",), rate(0.1, 0.2, population="all inputs")),
            Finding("x", ("sex",), rate(0.3, 0.4, population="real people")),
            ChangeReason.POPULATION,
            "all inputs before, real people now",
        ),
        (
            Finding("x", ("sex",), Estimate(float("nan"), 0.0, 1.0, 0, 0.95, "exact")),
            found(0.3, 0.4),
            ChangeReason.NOTHING_BEFORE,
            "nothing was observed of it before",
        ),
    ],
)
def test_what_cannot_be_compared_says_why(before, now, reason, words):
    (entry,) = changes_between(
        audit(check("one", before)), audit(check("one", now))
    ).entries
    assert entry.kind is ChangeKind.OTHER
    assert entry.reason is reason
    assert words in entry.why
    assert entry.change is None


def test_another_space_is_another_population_unless_rows_were_recorded():
    other = eh.Space([eh.category("sex", ["F", "M"])], protected=["sex"])
    spaces = SPACE.to_dict(), other.to_dict()
    old, new = (
        audit(check("one", found(low, low + 0.1)), space=space)
        for low, space in zip((0.1, 0.3), spaces, strict=True)
    )
    (entry,) = changes_between(old, new).entries
    assert entry.reason is ChangeReason.SPACE
    (one,) = new.checks
    assert isinstance(one.found, Result)
    recorded = replace(one, found=replace(one.found, spent=Spent(0, 0, 0.1)))
    (entry,) = changes_between(old, replace(new, checks=(recorded,))).entries
    assert entry.kind is ChangeKind.WORSE


def test_a_search_that_finds_more_may_only_have_searched_longer():
    def searched(number: int) -> Audit:
        return audit(check("one", Finding("x", ("sex",), Witnesses.of(number, 99, "a"))))

    assert kinds(searched(3), searched(9)) == [ChangeKind.UNCLEAR]
    assert kinds(searched(0), searched(9)) == [ChangeKind.WORSE]
    assert kinds(searched(3), searched(0)) == [ChangeKind.BETTER]
    assert kinds(searched(3), searched(3)) == [ChangeKind.UNCHANGED]


def test_a_check_that_could_not_be_run_does_not_make_a_finding_go_away():
    broken = CheckResult("one", "measure", {}, error="it crashed")
    (entry,) = changes_between(audit(check("one", found(0.1, 0.2))), audit(broken)).entries
    assert (entry.kind, entry.reason) == (ChangeKind.OTHER, ChangeReason.NOT_RUN_NOW)
    assert "it crashed" in entry.why
    (entry,) = changes_between(audit(broken), audit(check("one", found(0.1, 0.2)))).entries
    assert (entry.kind, entry.reason) == (ChangeKind.NEW, ChangeReason.NOT_RUN_BEFORE)
    assert kinds(audit(broken), audit(broken)) == [ChangeKind.OTHER]


def test_a_question_that_several_checks_share_is_one_entry():
    key = found(0.1, 0.2).key

    def shared(low: float, limit: float) -> Audit:
        return audit(
            check("first", found(low, low + 0.1), same_as={key: "second"}),
            check("second", found(low, low + 0.1, limit=limit), same_as={key: "first"}),
        )

    (entry,) = changes_between(shared(0.1, 0.05), shared(0.3, 0.05)).entries
    assert entry.checks == ("first", "second")
    assert entry.shared == ()
    # Another limit gives another verdict, which is told beside.
    (entry,) = changes_between(shared(0.1, 0.5), shared(0.3, 0.5)).entries
    (other,) = entry.shared
    assert (other.check, other.before, other.now) == ("second", "pass", "pass")
    # Where one of the checks came later, the question is the same.
    alone = audit(check("second", found(0.1, 0.2)))
    (entry,) = changes_between(alone, shared(0.3, 0.05)).entries
    assert entry.kind is ChangeKind.WORSE


def test_a_check_that_has_another_name_now_is_still_compared():
    old = audit(check("measure sex", found(0.1, 0.2)))
    new = audit(check("measure sex; race", found(0.3, 0.4), found(0.1, 0.2, ("race",))))
    first, second = changes_between(old, new).entries
    assert (first.kind, first.checks) == (ChangeKind.WORSE, ("measure sex; race",))
    assert second.kind is ChangeKind.NEW
    # A check of another job asks another question.
    other = replace(old.checks[0], job="impact")
    assert ChangeKind.GONE in kinds(replace(old, checks=(other,)), new)


def test_what_a_baseline_excuses_does_not_change_the_verdicts_that_are_shown():
    old = audit(check("one", found(0.1, 0.2)))
    held = audit(check("one", found(0.11, 0.2))).against(old)
    (entry,) = changes_between(old, held).entries
    assert entry.new is not None
    assert entry.new.verdict is Verdict.FAIL


def test_settings_checks_and_versions_that_differ_are_listed():
    first = replace(check("one", found(0.1, 0.2)), settings={"limit": 0.05, "seed": 1})
    second = replace(first, settings={"limit": 0.1, "seed": 1})
    old = audit(first, check("two"), subject="a", versions={"numpy": "1", "evenhand": "3"})
    new = audit(second, check("three"), subject="b", versions={"numpy": "2"})
    settings = changes_between(old, new).settings
    assert [(one.label, one.before, one.now) for one in settings] == [
        ("software", "a", "b"),
        ("check three", "not there", "there"),
        ("check two", "there", "not there"),
        ("limit of one", "0.05", "0.1"),
        ("version of evenhand", "3", "not given"),
        ("version of numpy", "1", "2"),
    ]


def test_a_configuration_of_another_text_has_its_name_and_says_so():
    old = audit(config={"file": "evenhand.toml", "text": "a"})
    new = audit(config={"file": "evenhand.toml", "text": "b"})
    (setting,) = changes_between(old, new).settings
    assert setting.now == "evenhand.toml, with another text"
