"""plan: what an audit is going to take, before it is run."""

from __future__ import annotations

import itertools
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.report.terminal import lines
from evenhand.runtime.errors import SubjectError, UsageError
from evenhand.verbs import VERBS
from tests.support.evidence import LOANS, inputs, lend, people
from tests.support.helpers import refused

if TYPE_CHECKING:
    from evenhand.results.result import Result

ENDLESS = eh.Space(
    [eh.category("sex", ["F", "M"]), eh.real("income", 0, 99)], protected=["sex"]
)


def lend_by_sex(frame: Any) -> Any:
    """Lend by income, to women with more of it."""
    return frame["income"] > 50 + 20 * (frame["sex"] == "F")


def counting(calls: list[int]) -> Any:
    """Return software that notes how many inputs it is asked at once."""

    def decide(frame: Any) -> Any:
        calls.append(len(frame))
        return lend(frame)

    return decide


def parts(found: Result) -> dict[str, dict[str, Any]]:
    """Return the forecast of each check by its name, of checks with one question."""
    by_name = {}
    for check in found.details["plan"]["checks"]:
        by_name[check["name"]] = check["parts"][0]
    return by_name


# What it costs


def test_it_asks_no_more_than_it_says():
    calls: list[int] = []
    found = eh.plan(counting(calls), LOANS, data=inputs())
    assert sum(calls) == found.spent.queries == found.spent.executed
    assert found.spent.queries <= 256


def test_it_has_no_verdict_and_runs_no_check():
    found = eh.plan(lend, LOANS)
    assert found.verdict is None
    assert found.exit_code == 0
    assert not found.findings


def test_slow_software_is_asked_less():
    def lend_slowly(frame: Any) -> Any:
        time.sleep(0.2)
        return lend(frame)

    assert eh.plan(lend_slowly, LOANS, checks=[{"job": "measure"}]).spent.queries == 32


# What it says


WHOLE: list[dict[str, Any]] = [
    {"job": "measure", "over": ["sex"], "limit": 0.05},
    {"job": "measure", "kind": "group", "over": ["race"], "limit": 0.05},
    {"job": "impact"},
]


@pytest.mark.parametrize("check", WHOLE, ids=lambda check: check["job"])
def test_what_is_known_beforehand_is_what_the_audit_takes(check):
    foreseen = eh.plan(lend, LOANS, checks=[check], data=inputs()).to_frame()
    audit = eh.audit(lend, LOANS, checks=[check], data=inputs())
    # How many hits are asked again, and cases shown, is not known beforehand.
    assert foreseen["inputs"].sum() == pytest.approx(audit.spent.queries, rel=0.15)
    assert audit.spent.queries <= foreseen["most"].sum()
    assert (foreseen["how"] == "all rows").all()


def test_a_small_space_is_enumerated():
    small = eh.Space([eh.category("sex", ["F", "M"]), eh.integer("income", 0, 99)], ["sex"])
    found = eh.plan(lend_by_sex, small, checks=[{"job": "measure"}, {"job": "search"}])
    assert found.to_frame()["how"].tolist() == ["every input", "every input"]
    assert found.to_frame()["inputs"].tolist() == [200 + 200 // 16 + 64, 200]


@pytest.mark.parametrize("kind", ["causal", "group"])
def test_what_is_drawn_is_about_what_measure_takes(kind):
    check = {"job": "measure", "kind": kind, "limit": 0.1}
    foreseen = eh.plan(lend_by_sex, ENDLESS, checks=[check])
    (part,) = parts(foreseen).values()
    inputs_by_score = {case["score"]: case["inputs"] for case in part["scenarios"]}
    assert list(inputs_by_score) == [0.0, 0.05, 0.1, 0.2]
    taken = []
    for seed in range(10):
        found = eh.measure(lend_by_sex, ENDLESS, kind=kind, limit=0.1, seed=seed)
        taken.append(found.spent.queries)
    # The score is 0.2; hits are asked again, and others before and after.
    assert np.mean(taken) == pytest.approx(inputs_by_score[0.2], rel=0.25)
    assert max(taken) <= part["most"]


def test_a_budget_bounds_all_of_it():
    found = eh.plan(lend_by_sex, ENDLESS, budget=eh.Budget(queries=500))
    table = found.to_frame()
    assert (table["most"] <= 500).all()
    assert (table["inputs"] <= 500).all()


def test_the_most_is_never_passed_where_answers_are_expensive():
    subject = eh.Subject(lend_by_sex, ENDLESS)
    subject.adapter.expensive = True
    check = {"job": "measure", "margin": 0.1}
    (part,) = parts(eh.plan(subject, checks=[check])).values()
    for seed in range(5):
        found = eh.measure(subject, margin=0.1, seed=seed)
        assert found.spent.queries <= part["most"]


def test_seconds_follow_from_the_speed():
    found = eh.plan(lend, LOANS, checks=[{"job": "search"}])
    table = found.to_frame()
    each = found.spent.seconds / found.spent.queries
    assert table["seconds"].tolist() == pytest.approx((table["inputs"] * each).tolist())


def test_every_verb_that_an_audit_runs_is_foreseen():
    assert [verb.name for verb in VERBS.values() if verb.run and not verb.forecast] == []


def test_a_comparison_asks_about_all_rows():
    rows = people()
    check: dict[str, Any] = {"job": "compare", "models": {"other": lend}, "truth": "right"}
    (part,) = parts(eh.plan(lend, LOANS, checks=[check], data=rows)).values()
    assert part["way"] == "all rows"
    assert part["inputs"] == len(rows)
    recorded = {**check, "outcomes": ["before"], "baseline": "before"}
    (part,) = parts(eh.plan(lend, LOANS, checks=[recorded], data=rows)).values()
    assert part["inputs"] == 0


@pytest.mark.parametrize("settings", ["", 'kind = "causal"', 'against = "rest"'])
def test_texts_are_asked_as_often_as_foreseen(tmp_path, monkeypatch, settings):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    texts = ["I am a gay man", "a straight answer", "my old muslim friend", "nothing"] * 20
    pd.DataFrame({"comment": texts}).to_csv("comments.csv", index=False)
    tmp_path.joinpath("harsh_words.py").write_text(
        "def decide(texts):\n    return ['gay' in text for text in texts]\n"
    )
    config = tmp_path / "evenhand.toml"
    config.write_text(
        '[subject]\nfunction = "harsh_words:decide"\npositive = false\n'
        '[texts]\nfrom = "comments.csv"\ncolumn = "comment"\n'
        f'[[checks]]\njob = "mine"\n{settings}\n'
    )
    foreseen = eh.plan(config)
    (part,) = parts(foreseen).values()
    assert part["way"] == "all texts"
    assert foreseen.spent.queries == len(texts)
    (checked,) = eh.audit(config).checks
    assert checked.found is not None
    assert part["inputs"] == checked.found.spent.queries


def test_a_check_that_cannot_be_run_says_why_and_keeps_no_other_from_being_foreseen():
    checks: list[dict[str, Any]] = [{"job": "measure", "over": ["agee"]}, {"job": "search"}]
    found = eh.plan(lend, LOANS, checks=checks)
    assert "agee" in found.notes[0]
    assert len(found.to_frame()) == 3


def test_wrong_options_are_refused():
    options: dict[str, Any] = {"chekcs": []}
    refused(UsageError, lambda: eh.plan(lend, LOANS, **options), "did you mean 'checks'?")


def test_software_that_fails_says_so():
    def crash(frame: Any) -> Any:
        raise RuntimeError("out of order")

    with pytest.raises(SubjectError, match="out of order"):
        eh.plan(crash, LOANS)


def test_the_text_tells_what_the_audit_takes():
    text = "\n".join(lines(eh.plan(lend_by_sex, ENDLESS)))
    assert "measure sex" in text
    assert "where the score is 0 % · 2.5 % · 5 % · 10 %" in text
    assert "256 inputs were asked to measure the speed" in text
    assert "in all about" in text


# What can be seen


def loans(
    rows: int, rng: np.random.Generator, *, rate: float = 0.6, of_few: float = 0.6
) -> pd.DataFrame:
    """Return decisions at a rate, of which those about a tenth of the people have another."""
    race = np.where(np.arange(rows) < rows // 10, "b", "w")
    rates = np.where(race == "b", of_few, rate)
    granted = rng.random(rows) < rates
    return pd.DataFrame({"race": race, "granted": granted.astype(int)})


def detectable(frame: pd.DataFrame, folder: Any, check: str) -> dict[str, Any]:
    """Return what a check of recorded decisions can see of the smallest group."""
    frame.to_csv(folder / "loans.csv", index=False)
    config = folder / "evenhand.toml"
    config.write_text(
        '[log]\nfrom = "loans.csv"\noutcome = "granted"\nover = ["race"]\n[[checks]]\n'
        + check
    )
    found = eh.plan(config)
    assert found.spent.queries == 0
    (part,) = parts(found).values()
    (seen,) = part["detectable"]
    return dict(seen)


LOG_CHECKS: list[tuple[str, Any]] = [
    (
        'job = "measure_log"\nlimit = 0.1\n',
        lambda frame: eh.measure_log(frame, outcome="granted", over="race", limit=0.1),
    ),
    (
        'job = "impact"\nleast_ratio = 0.8\n',
        lambda frame: eh.impact(frame, outcome="granted", over="race", least_ratio=0.8),
    ),
    (
        'job = "mine_log"\nlimit = 0.05\nsupport = 0.1\n',
        lambda frame: eh.mine_log(
            frame, outcome="granted", over="race", limit=0.05, support=0.1
        ),
    ),
]


@pytest.mark.parametrize(
    ("check", "run"), LOG_CHECKS, ids=["measure_log", "impact", "mine_log"]
)
def test_a_difference_of_that_size_is_seen_with_the_power_foreseen(tmp_path, check, run):
    rng = np.random.default_rng(5)
    seen = detectable(loans(3_000, rng), tmp_path, check)
    assert seen["n"] == 300
    runs = 60
    fails = 0
    for _ in range(runs):
        found = run(loans(3_000, rng, rate=seen["base"], of_few=seen["rate"]))
        fails += found.verdict == "fail"
    # 80 % are expected; 60 runs tell it to within 11 points or so.
    assert 0.65 <= fails / runs <= 0.95


def test_more_rows_see_smaller_differences(tmp_path):
    rng = np.random.default_rng(6)
    check = 'job = "measure_log"\n'
    few = detectable(loans(1_000, rng), tmp_path, check)
    many = detectable(loans(8_000, rng), tmp_path, check)
    assert many["difference"] < few["difference"] / 2


def test_a_group_that_is_too_small_is_never_seen(tmp_path):
    rng = np.random.default_rng(7)
    check = 'job = "measure_log"\nlimit = 0.5\n'
    seen = detectable(loans(60, rng), tmp_path, check)
    assert seen["rate"] is None


def test_what_was_foreseen_has_one_digest_however_fast_the_software_was(monkeypatch):
    space = eh.Space([eh.category("sex", ["F", "M"]), eh.integer("age", 0, 99)], ["sex"])

    def foreseen() -> eh.Result:
        return eh.plan(
            lambda people: people["age"] > 40, space, checks=[{"job": "measure"}]
        )

    quick = foreseen()
    clock = itertools.count()
    monkeypatch.setattr(
        "evenhand.methods.plan.plan.time.perf_counter", lambda: next(clock) * 0.5
    )
    slow = foreseen()
    assert slow.to_json() != quick.to_json()
    assert slow.digest == quick.digest
