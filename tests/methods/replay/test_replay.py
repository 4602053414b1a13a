"""Replay: the tests and cases of one version, asked of another; what changed, and how sure the new
score is.
"""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand.methods.replay.replay import replay
from evenhand.results.evidence import Case, Finding
from evenhand.results.result import Result
from evenhand.runtime.budget import Spent
from evenhand.runtime.errors import DataError, NotDeterministic, UsageError
from evenhand.scores import test_suite
from evenhand.space.feature import category, integer, real
from evenhand.space.space import Space
from evenhand.statistics.confidence_sequences import mixture, mixture_spread
from evenhand.statistics.estimate import Estimate, StopReason
from tests.support.helpers import refused

SPACE = Space(
    [category("sex", ["F", "M", "X"]), category("race", ["a", "b"]), integer("age", 18, 90)],
    protected=["sex"],
)


def biased(people):
    """Sex matters from 60 on."""
    return (people["age"] >= 60) & (people["sex"] == "M")


def milder(people):
    """Sex matters from 80 on."""
    return (people["age"] >= 80) & (people["sex"] == "M")


def fair(people):
    return people["age"] >= 60


def drawn(
    decide,
    n: int = 300,
    space: Space = SPACE,
    over: tuple[str, ...] = ("sex",),
    seed: int = 0,
) -> test_suite.Tests:
    """The suite of a causal score over n draws: each draw, then its other valid variants."""
    points = space.draw(n, np.random.default_rng(seed))
    rows = np.concatenate([points, space.variants(points, over)])
    draw = np.tile(np.arange(n), len(rows) // n)
    own = np.arange(len(rows)) < n
    kept = own | (space.valid(rows) & (rows != points[draw]).any(axis=1))
    rows = np.asfortranarray(rows[kept])
    return test_suite.Tests(
        "causal",
        over,
        rows,
        np.asarray(decide(space.decode(rows))),
        draw[kept],
        own[kept],
    )


def brute(tests: test_suite.Tests, decide, space: Space = SPACE) -> list[bool]:
    """Which draws are hit, one at a time."""
    outcomes = np.asarray(decide(space.decode(tests.points))).tolist()
    by_draw: dict[int, set[object]] = {}
    for number, outcome in zip(tests.draw.tolist(), outcomes, strict=True):
        by_draw.setdefault(number, set()).add(outcome)
    return [len(found) > 1 for _, found in sorted(by_draw.items())]


@pytest.fixture
def saved(tmp_path):
    def write(*parts: test_suite.Tests, space: Space = SPACE, name: str = "sex.parquet"):
        test_suite.write_suite(tmp_path / name, space, parts)
        return tmp_path / name

    return write


def test_the_same_version_changes_nothing(saved):
    tests = drawn(biased)
    result = replay(saved(tests), biased, SPACE)
    finding = result.worst
    hits = brute(tests, biased)
    assert result.job == "replay"
    assert result.stop is StopReason.ENUMERATED
    assert result.details["changed"] == 0
    assert result.details["of"] == len(tests.points)
    assert finding.estimate.value == pytest.approx(sum(hits) / len(hits))
    assert result.details["was"] == {"causal sex": finding.estimate.value}
    assert result.spent.queries == len(tests.points) + 64


def test_another_version_is_scored_on_the_same_draws_with_an_interval_for_any_size(saved):
    tests = drawn(biased)
    result = replay(saved(tests), milder, SPACE, level=0.9, limit=0.4)
    hits = brute(tests, milder)
    estimate = result.worst.estimate
    low, high = mixture(sum(hits), len(hits), 0.9)
    assert [estimate.low, estimate.high] == pytest.approx([float(low), float(high)])
    assert (estimate.n, estimate.method, estimate.level) == (300, "anytime", 0.9)
    assert "the suite sex.parquet" in estimate.population
    changed = sum(np.asarray(milder(SPACE.decode(tests.points))) != tests.outcomes)
    was = 100 * sum(brute(tests, biased)) / 300
    assert (
        result.worst.claim
        == f"changing only sex changes the outcome of {100 * sum(hits) / 300:.1f} % of inputs "
        f"(it was {was:.1f} %); {changed} of {len(tests.points)} outcomes changed"
    )
    assert result.verdict == "pass"
    assert result.notes == ()


def test_cases_are_twins_of_this_version(saved):
    result = replay(saved(drawn(fair)), biased, SPACE, limit=0.01)
    assert result.verdict == "fail"
    assert len(result.worst.cases) == 3
    for case in result.worst.cases:
        assert case.changed == ("sex",)
        assert case.outcomes[0] != case.outcomes[1]
        assert int(case.individual["age"]) >= 60


def test_a_fair_version_passes_and_csv_is_the_same_as_parquet(saved):
    tests = drawn(biased)
    results = [
        replay(saved(tests, name=name), fair, SPACE, limit=0.1)
        for name in ("s.csv", "s.parquet", "s.csv.gz")
    ]
    assert {result.verdict for result in results} == {"pass"}
    assert len({result.worst.claim for result in results}) == 1
    assert results[0].worst.estimate.value == 0


def test_several_sets_hold_together(saved):
    parts = [drawn(biased), drawn(biased, over=("race",), seed=1)]
    result = replay(saved(*parts), milder, SPACE)
    by = {finding.about: finding.estimate for finding in result.findings}
    high = mixture(0, 300, 0.975)[1]
    assert by["race",].high == pytest.approx(float(high))
    assert by["race",].level == 0.95
    assert "simultaneous over 2" in by["race",].method
    assert set(result.details["was"]) == {"causal sex", "causal race"}


def test_missing_variants_make_the_score_a_lower_limit(saved):
    tests = drawn(biased)
    # Of a draw that flips, keep only itself and the variants that differ, as a search for flips
    # would.
    own = {
        number: outcome
        for number, outcome, mine in zip(tests.draw, tests.outcomes, tests.own, strict=True)
        if mine
    }
    flips = np.array(
        [own[number] != outcome for number, outcome in zip(tests.draw, tests.outcomes, strict=True)]
    )
    hit = np.isin(tests.draw, tests.draw[flips])
    kept = tests.own | flips | ~hit
    first = test_suite.Tests(
        "causal",
        ("sex",),
        tests.points[kept],
        tests.outcomes[kept],
        tests.draw[kept],
        tests.own[kept],
    )
    assert (
        replay(saved(first), biased, SPACE).notes == ()
    )  # every draw that lacks variants still flips
    result = replay(saved(first), fair, SPACE, limit=0.2)
    estimate = result.worst.estimate
    missing = int((np.bincount(first.draw) < 3).sum())
    assert missing > 50
    assert estimate.value == 0
    assert estimate.high == pytest.approx(float(mixture(missing, 300, 0.95)[1]))
    assert result.verdict == "undecided"
    assert "of inputs, at least (it was" in result.worst.claim
    assert f"{missing} of 300 draws of sex" in result.notes[0]


def test_draws_without_any_variants_are_no_evidence(saved):
    tests = drawn(biased)
    alone = test_suite.Tests(
        "causal",
        ("sex",),
        tests.points[tests.own],
        tests.outcomes[tests.own],
        tests.draw[tests.own],
        tests.own[tests.own],
    )
    result = replay(saved(alone), fair, SPACE, limit=0.99)
    assert (result.worst.estimate.high, result.verdict) == (1.0, "undecided")


def test_variants_that_break_constraints_are_not_missed(saved):
    space = Space(SPACE.features, ["sex"], ["not (sex == 'X' and age < 50)"])
    tests = drawn(biased, space=space)
    result = replay(saved(tests, space=space), fair, space, limit=0.1)
    assert result.notes == ()
    assert result.verdict == "pass"


def test_binned_features_have_draws_that_are_no_variant(saved):
    space = Space([real("rate", 0, 1, bins=4), integer("age", 18, 90)], ["rate"])
    tests = drawn(lambda people: people["rate"] > 0.5, space=space, over=("rate",))
    result = replay(saved(tests, space=space), lambda people: people["age"] > 50, space)
    assert result.notes == ()
    assert result.worst.estimate.value == 0


def test_inputs_that_are_each_others_twins_are_a_population_of_their_own(saved):
    small = Space([category("sex", ["F", "M"]), integer("age", 0, 9)])
    points = small.enumerate()
    every = np.ones(len(points), dtype=np.bool_)
    tests = test_suite.Tests(
        "causal",
        ("sex",),
        points,
        np.zeros(len(points), dtype=int),
        points[:, 1].astype(int),
        every,
    )
    result = replay(
        saved(tests, space=small),
        lambda p: (p["sex"] == "M") & (p["age"] > 6),
        small,
        limit=0.0,
    )
    estimate = result.worst.estimate
    assert (estimate.value, estimate.method, estimate.n, estimate.level) == (
        0.3,
        "enumerated",
        20,
        1.0,
    )
    assert result.verdict == "fail"
    assert (
        replay(saved(tests, space=small), lambda p: p["age"] > 6, small, limit=0.0).verdict
        == "pass"
    )


def test_graded_distances_take_the_farthest_variant(saved):
    tests = drawn(lambda people: people["age"] / 100)
    subject = eh.Subject(
        lambda people: people["sex"].map({"F": 0.1, "M": 0.2, "X": 0.5}),
        SPACE,
        differs=lambda a, b: np.abs(a - b),
    )
    result = replay(saved(tests), subject)
    own = tests.points[tests.own, 0]
    assert result.worst.estimate.value == pytest.approx(
        np.choose(own.astype(int), [0.4, 0.3, 0.4]).mean()
    )


def grouped(decide, sizes=(150, 100, 50)) -> test_suite.Tests:
    rng = np.random.default_rng(5)
    parts = []
    for code, size in enumerate(sizes):
        points = SPACE.draw(size, rng)
        points[:, 0] = code
        parts.append(points)
    points = np.concatenate(parts)
    numbers = np.concatenate([np.arange(size) for size in sizes])
    outcomes = np.asarray(decide(SPACE.decode(points)))
    return test_suite.Tests(
        "group",
        ("sex",),
        points,
        outcomes,
        numbers,
        np.ones(len(points), dtype=np.bool_),
    )


def test_a_group_score_is_the_spread_over_the_groups_of_the_suite(saved):
    tests = grouped(biased)
    result = replay(saved(tests), milder, SPACE, limit=0.05)
    now = np.asarray(milder(SPACE.decode(tests.points)))
    hits = [int(now[tests.points[:, 0] == code].sum()) for code in range(3)]
    low, high = mixture_spread(hits, [150, 100, 50], 0.95)
    estimate = result.worst.estimate
    assert estimate.value == pytest.approx(hits[1] / 100)
    assert [estimate.low, estimate.high] == pytest.approx([float(low), float(high)])
    assert [group.estimate.n for group in result.worst.groups] == [150, 100, 50]
    assert "% apart (it was" in result.worst.claim
    assert result.details["was"]["group sex"] > estimate.value


def test_groups_that_a_suite_lacks_are_told(saved):
    result = replay(saved(grouped(biased, (50, 50, 0))), biased, SPACE)
    assert "1 of 3 groups of sex are not in the suite" in result.notes[0]
    refused(
        UsageError,
        lambda: replay(saved(grouped(biased, (50, 0, 0))), biased, SPACE),
        "nothing to compare",
    )


def test_a_group_suite_of_every_input_is_exact(saved):
    points = SPACE.enumerate()
    every = np.ones(len(points), dtype=np.bool_)
    tests = test_suite.Tests(
        "group",
        ("sex",),
        points,
        np.zeros(len(points), dtype=bool),
        np.arange(len(points)),
        every,
    )
    estimate = replay(saved(tests), biased, SPACE).worst.estimate
    assert (estimate.value, estimate.low, estimate.high) == (31 / 73, 31 / 73, 31 / 73)


def test_every_output_has_a_finding(saved):
    def loan(people):
        return {"grant": biased(people), "rate": people["age"] * 1.0}

    subject = eh.Subject(loan, SPACE, outputs=["grant", "rate"])
    tests = drawn(biased)
    packed = subject.decide(tests.points)
    file = saved(
        test_suite.Tests(tests.kind, tests.over, tests.points, packed, tests.draw, tests.own)
    )
    result = replay(file, subject)
    assert {finding.output: finding.estimate.value > 0 for finding in result.findings} == {
        "grant": True,
        "rate": False,
    }
    refused(UsageError, lambda: replay(file, biased, SPACE), "'grant', 'rate'", "outputs")


def test_a_subject_that_answers_twice_otherwise_is_refused(saved):
    rng = np.random.default_rng(0)
    with pytest.raises(NotDeterministic):
        replay(saved(drawn(biased)), lambda people: rng.random(len(people)) < 0.5, SPACE)


def result_of(tmp_path, *findings: Finding):
    Result("measure", findings, 0, Spent(1, 1, 0.0), StopReason.MARGIN, SPACE.to_dict()).to_json(
        tmp_path / "r.json"
    )
    return tmp_path / "r.json"


def case(age: int, sex: str = "F", twin: str = "M") -> Case:
    return Case(
        {"sex": sex, "race": "a", "age": age}, {"sex": twin, "race": "a", "age": age}, (False, True)
    )


def finding(*cases: Case, output: str = "") -> Finding:
    return Finding(
        "x",
        ("sex",),
        Estimate(0.1, 0.0, 0.2, 50, 0.95, "exact"),
        None,
        cases,
        output=output,
    )


def test_cases_of_a_result_that_still_differ_fail(tmp_path):
    file = result_of(tmp_path, finding(case(65), case(70), case(85)))
    result = replay(file, milder, SPACE)
    assert result.worst.claim == "1 of 3 cases of sex still differ"
    assert result.worst.estimate.population == "the cases of r.json"
    assert [kept.individual["age"] for kept in result.worst.cases] == [85]
    assert (result.verdict, result.exit_code) == ("fail", 1)
    assert result.details == {"changed": 2, "of": 6}
    assert replay(file, fair, SPACE).verdict == "pass"
    json.loads(result.to_json())


def test_findings_are_told_apart_by_what_was_replayed(saved, tmp_path):
    both = replay(saved(drawn(biased), grouped(biased, (50, 50, 50))), biased, SPACE)
    assert {finding.key for finding in both.findings} == {
        "replayed causal of sex",
        "replayed group of sex",
    }
    assert {finding.score for finding in both.findings} == {"replayed"}
    checks: list[dict[str, Any]] = [
        {"job": "measure", "over": ["sex"]},
        {"job": "search", "over": ["sex"], "queries": 400},
    ]
    eh.audit(biased, SPACE, checks=checks).to_json(tmp_path / "audit.json")
    again = replay(tmp_path / "audit.json", biased, SPACE)
    assert {finding.key for finding in again.findings} == {
        "replayed causal of sex",
        "replayed witnesses of sex",
    }


def test_a_seed_is_kept_and_changes_nothing_else(saved, tmp_path):
    for file in (saved(drawn(biased)), result_of(tmp_path, finding(case(65)))):
        one, other = replay(file, milder, SPACE), replay(file, milder, SPACE, seed=7)
        assert (one.seed, other.seed) == (0, 7)
        assert one.findings == other.findings


def test_results_that_cannot_be_replayed(tmp_path):
    refused(
        UsageError,
        lambda: replay(result_of(tmp_path, finding()), fair, SPACE),
        "r.json",
        "no cases",
    )
    other = Space(
        [category("gender", ["F", "M"]), category("race", ["a", "b"]), integer("age", 18, 90)]
    )
    file = result_of(tmp_path, finding(case(60)))
    refused(UsageError, lambda: replay(file, fair, other), "r.json", "'sex' is not a feature")
    younger = Space(
        [category("sex", ["F", "M"]), category("race", ["a", "b"]), integer("age", 18, 50)]
    )
    refused(UsageError, lambda: replay(file, fair, younger), "r.json", "'age' = 60")
    refused(
        UsageError,
        lambda: replay(file, fair, Space([*SPACE.features, integer("zip", 0, 9)])),
        "r.json",
        "'zip'",
    )
    refused(UsageError, lambda: replay(file, fair, SPACE, limit=0.1), "limit", "suite")
    named = result_of(tmp_path, finding(case(60), output="grant"))
    refused(UsageError, lambda: replay(named, fair, SPACE), "no output 'grant'")
    (tmp_path / "list.json").write_text("[1]")
    path = tmp_path / "list.json"
    refused(UsageError, lambda: replay(path, fair, SPACE), "not an evenhand result")
    refused(UsageError, lambda: replay(tmp_path / "none.json", fair, SPACE), "none.json")


def test_wrong_arguments(saved, tmp_path):
    file = saved(drawn(biased, 5))
    refused(UsageError, lambda: replay(file, fair, SPACE, limit=2), "limit")
    refused(UsageError, lambda: replay(file, fair, SPACE, level=1), "level")
    refused(UsageError, lambda: replay(file, fair, SPACE, limt=0.1), "did you mean 'limit'")  # type: ignore[call-arg]
    refused(UsageError, lambda: replay(tmp_path / "x.xml", fair, SPACE), ".xml", ".parquet")
    refused(DataError, lambda: replay(tmp_path / "x.csv", fair, SPACE), "x.csv")


def polite(texts):
    """Gay and straight matter to nobody."""
    return ["!" not in text for text in texts]


def rude(texts):
    return [re.search(r"\bgay\b", text, re.IGNORECASE) is None for text in texts]


def ruder_to_men(texts):
    return ["gay man" not in text.lower() for text in texts]


TEXTS = [
    "I am a gay man",
    "He is an Atheist, and straight",
    "a ⟦gay⟧ person",
    "the lesbian",
    "nothing",
    "Gay!",
] * 8


@pytest.fixture
def mined(tmp_path):
    """The file of a result about the texts."""

    def written(**options):
        eh.mine_text(rude, TEXTS, **options).to_json(tmp_path / "texts.json")
        return tmp_path / "texts.json"

    return written


@pytest.mark.parametrize("kind", ["group", "causal"])
def test_texts_of_a_result_that_still_differ_fail(mined, kind):
    file = mined(kind=kind, top=1)
    cases = eh.Result.from_json(file).worst.cases
    assert len(cases) == 3
    asked: list[str] = []

    def keeping(texts):
        asked.extend(texts)
        return rude(texts)

    again = replay(file, keeping)
    assert (again.verdict, again.exit_code) == ("fail", 1)
    about = "gender gay" if kind == "group" else "gender"
    assert again.worst.claim == f"3 of 3 cases of {about} still differ"
    assert again.worst.estimate.population == "the cases of texts.json"
    assert [case.individual for case in again.worst.cases] == [case.individual for case in cases]
    assert [case.outcomes for case in again.worst.cases] == [case.outcomes for case in cases]
    of = sum(2 * len(finding.cases) for finding in eh.Result.from_json(file).findings)
    assert again.details == {"changed": 0, "of": of}
    assert again.spent.queries == of + 2 * min(of, 32)
    # What was asked is the text itself: without our marks, and with those of its own.
    assert all(
        "⟦" not in text or "⟦gay⟧" in text or "⟦straight⟧" in text or "⟦lesbian⟧" in text
        for text in asked
    )
    assert again.space == eh.Result.from_json(file).space
    json.loads(again.to_json())


def test_texts_of_a_result_that_differ_no_longer_pass(mined):
    file = mined(top=1)
    result = replay(file, polite)
    assert (result.verdict, result.exit_code) == ("pass", 0)
    assert result.worst.claim == "0 of 3 cases of gender gay still differ"
    assert result.worst.cases == ()
    cases = eh.Result.from_json(file).worst.cases
    new = polite(
        [
            re.sub("[⟦⟧]", "", str(person["text"]))
            for case in cases
            for person in (case.individual, case.twin)
        ]
    )
    old = [outcome for case in cases for outcome in case.outcomes]
    assert (
        result.details["changed"]
        == sum(one != other for one, other in zip(new, old, strict=True))
        == 3
    )
    some = replay(file, ruder_to_men)
    assert some.verdict == "fail"
    assert 0 < len(some.worst.cases) < 3
    assert "gay⟧ man" in str(some.worst.cases[0].individual["text"])


def test_texts_are_replayed_on_pipelines_and_subjects(mined, tmp_path):
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    file = mined()
    learnt = make_pipeline(CountVectorizer(), LogisticRegression(C=100)).fit(TEXTS, rude(TEXTS))
    assert replay(file, learnt).verdict == "fail"
    with eh.TextSubject(rude, positive=True, ledger=tmp_path / "l.db") as subject:
        first = replay(file, subject)
        executed = subject.executed
        assert replay(file, subject).digest == first.digest
        assert subject.executed == executed

    def scores(texts):
        return [0.5 + 0.1 * (not yes) for yes in rude(texts)]

    assert replay(file, eh.TextSubject(scores, output="score", differs=0.2)).verdict == "pass"
    assert replay(file, eh.TextSubject(scores, output="score", differs=0.05)).verdict == "fail"


def test_texts_that_cannot_be_replayed(mined, tmp_path, saved):
    file = mined()
    refused(
        UsageError,
        lambda: replay(file, rude, SPACE),
        "texts.json",
        "holds texts",
        "TextSubject",
    )
    refused(
        UsageError,
        lambda: replay(file, eh.Subject(fair, SPACE)),
        "texts.json",
        "holds texts",
        "TextSubject",
    )
    refused(UsageError, lambda: replay(file, rude, limit=0.1), "limit", "suite")
    refused(UsageError, lambda: replay(file, None), "None")
    rng = np.random.default_rng(0)
    refused(
        NotDeterministic,
        lambda: replay(file, lambda texts: rng.random(len(texts)) < 0.5),
        "asked again",
    )
    eh.mine_text(polite, TEXTS).to_json(tmp_path / "none.json")
    refused(
        UsageError,
        lambda: replay(tmp_path / "none.json", rude),
        "none.json",
        "no outcome changes with any term",
    )
    table = json.loads(file.read_text(encoding="utf-8"))
    del table["findings"][0]["cases"][0]["twin"]["text"]
    (tmp_path / "bad.json").write_text(json.dumps(table), encoding="utf-8")
    refused(
        UsageError,
        lambda: replay(tmp_path / "bad.json", rude),
        "bad.json",
        "damaged",
        "no text",
    )
    # And tables are no texts.
    subject = eh.TextSubject(rude)
    refused(
        UsageError,
        lambda: replay(saved(drawn(biased, 5)), subject),
        "holds no texts",
        "Subject",
    )
    refused(
        UsageError,
        lambda: replay(result_of(tmp_path, finding(case(65))), subject),
        "r.json",
        "holds no texts",
    )
    refused(
        UsageError, lambda: replay(result_of(tmp_path, finding(case(65))), rude), "has no space"
    )
