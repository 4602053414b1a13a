"""Replay: tests and cases of one version, asked of another; what changed, and how sure that is."""

from __future__ import annotations

import json
import re
from dataclasses import replace
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

RACE = category("race", ["a", "b"])
AGE = integer("age", 18, 90)
SPACE = Space([category("sex", ["F", "M", "X"]), RACE, AGE], protected=["sex"])


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
    """Return the suite of a causal score: each of n draws, then its other valid variants."""
    rng = np.random.default_rng(seed)
    points = space.draw(n, rng)
    rows = np.concatenate([points, space.variants(points, over)])
    draw = np.tile(np.arange(n), len(rows) // n)
    own = np.arange(len(rows)) < n
    is_variant = (rows != points[draw]).any(axis=1)
    kept = own | (space.valid(rows) & is_variant)
    rows = np.asfortranarray(rows[kept])
    outcomes = answers(decide, rows, space)
    return test_suite.Tests("causal", over, rows, outcomes, draw[kept], own[kept])


def answers(decide, points, space: Space = SPACE):
    """Return what the software answers to some points."""
    return np.asarray(decide(space.decode(points)))


def part_of(tests: test_suite.Tests, kept) -> test_suite.Tests:
    """Return some of the tests of a suite."""
    return test_suite.Tests(
        tests.kind,
        tests.over,
        tests.points[kept],
        tests.outcomes[kept],
        tests.draw[kept],
        tests.own[kept],
    )


def brute(tests: test_suite.Tests, decide, space: Space = SPACE) -> list[bool]:
    """Return which draws are hit, one at a time."""
    outcomes = answers(decide, tests.points, space).tolist()
    by_draw: dict[int, set[object]] = {}
    for number, outcome in zip(tests.draw.tolist(), outcomes, strict=True):
        outcomes_of_draw = by_draw.setdefault(number, set())
        outcomes_of_draw.add(outcome)
    hits = []
    for number in sorted(by_draw):
        hits.append(len(by_draw[number]) > 1)
    return hits


@pytest.fixture
def saved(tmp_path):
    def write(*parts: test_suite.Tests, space: Space = SPACE, name: str = "sex.parquet"):
        file = tmp_path / name
        test_suite.write_suite(file, space, parts)
        return file

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
    assert estimate.low == pytest.approx(float(low))
    assert estimate.high == pytest.approx(float(high))
    assert estimate.n == 300
    assert estimate.method == "anytime"
    assert estimate.level == 0.9
    assert "the suite sex.parquet" in estimate.population
    now = 100 * sum(hits) / 300
    was = 100 * sum(brute(tests, biased)) / 300
    changed = sum(answers(milder, tests.points) != tests.outcomes)
    score = f"changing only sex changes the outcome of {now:.1f} % of inputs (it was {was:.1f} %)"
    changes = f"{changed} of {len(tests.points)} outcomes changed"
    assert result.worst.claim == f"{score}; {changes}"
    assert result.verdict == "pass"
    assert result.notes == ()


def test_cases_are_twins_of_this_version(saved):
    result = replay(saved(drawn(fair)), biased, SPACE, limit=0.01)
    assert result.verdict == "fail"
    assert len(result.worst.cases) == 3
    for case in result.worst.cases:
        own, twin = case.outcomes
        assert case.changed == ("sex",)
        assert own != twin
        assert int(case.individual["age"]) >= 60


def test_a_fair_version_passes_and_csv_is_the_same_as_parquet(saved):
    tests = drawn(biased)
    claims = set()
    for name in ("s.csv", "s.parquet", "s.csv.gz"):
        file = saved(tests, name=name)
        result = replay(file, fair, SPACE, limit=0.1)
        assert result.verdict == "pass"
        assert result.worst.estimate.value == 0
        claims.add(result.worst.claim)
    assert len(claims) == 1


def test_several_sets_hold_together(saved):
    parts = [drawn(biased), drawn(biased, over=("race",), seed=1)]
    result = replay(saved(*parts), milder, SPACE)
    by_set = {finding.about: finding.estimate for finding in result.findings}
    of_race = by_set["race",]
    _, high = mixture(0, 300, 0.975)
    assert of_race.high == pytest.approx(float(high))
    assert of_race.level == 0.95
    assert "simultaneous over 2" in of_race.method
    assert set(result.details["was"]) == {"causal sex", "causal race"}


def test_missing_variants_make_the_score_a_lower_limit(saved):
    tests = drawn(biased)
    # Of a draw that flips, keep only itself and the variants that differ, as a search for flips
    # would.
    own_outcomes = np.empty(300, dtype=bool)
    own_outcomes[tests.draw[tests.own]] = tests.outcomes[tests.own]
    flips = own_outcomes[tests.draw] != tests.outcomes
    hit = np.isin(tests.draw, tests.draw[flips])
    first = part_of(tests, tests.own | flips | ~hit)
    file = saved(first)
    # Every draw that lacks variants still flips.
    assert replay(file, biased, SPACE).notes == ()
    result = replay(file, fair, SPACE, limit=0.2)
    estimate = result.worst.estimate
    tested = np.bincount(first.draw)
    missing = int((tested < 3).sum())
    assert missing > 50
    assert estimate.value == 0
    _, high = mixture(missing, 300, 0.95)
    assert estimate.high == pytest.approx(float(high))
    assert result.verdict == "undecided"
    assert "of inputs, at least (it was" in result.worst.claim
    assert f"{missing} of 300 draws of sex" in result.notes[0]


def test_draws_without_any_variants_are_no_evidence(saved):
    tests = drawn(biased)
    alone = part_of(tests, tests.own)
    result = replay(saved(alone), fair, SPACE, limit=0.99)
    assert result.worst.estimate.high == 1.0
    assert result.verdict == "undecided"


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
    ages = points[:, 1].astype(int)
    outcomes = np.zeros(len(points), dtype=int)
    every = np.ones(len(points), dtype=np.bool_)
    tests = test_suite.Tests("causal", ("sex",), points, outcomes, ages, every)
    file = saved(tests, space=small)

    def older(people):
        return people["age"] > 6

    def older_men(people):
        return older(people) & (people["sex"] == "M")

    result = replay(file, older_men, small, limit=0.0)
    estimate = result.worst.estimate
    assert estimate.value == 0.3
    assert estimate.method == "enumerated"
    assert estimate.n == 20
    assert estimate.level == 1.0
    assert result.verdict == "fail"
    assert replay(file, older, small, limit=0.0).verdict == "pass"


def test_graded_distances_take_the_farthest_variant(saved):
    tests = drawn(lambda people: people["age"] / 100)
    subject = eh.Subject(
        lambda people: people["sex"].map({"F": 0.1, "M": 0.2, "X": 0.5}),
        SPACE,
        differs=lambda a, b: np.abs(a - b),
    )
    result = replay(saved(tests), subject)
    sex = tests.points[tests.own, 0].astype(int)
    farthest = np.choose(sex, [0.4, 0.3, 0.4])
    assert result.worst.estimate.value == pytest.approx(farthest.mean())


def grouped(decide, sizes=(150, 100, 50)) -> test_suite.Tests:
    rng = np.random.default_rng(5)
    parts = []
    for code, size in enumerate(sizes):
        points = SPACE.draw(size, rng)
        points[:, 0] = code
        parts.append(points)
    points = np.concatenate(parts)
    numbers = np.concatenate([np.arange(size) for size in sizes])
    outcomes = answers(decide, points)
    own = np.ones(len(points), dtype=np.bool_)
    return test_suite.Tests("group", ("sex",), points, outcomes, numbers, own)


def test_a_group_score_is_the_spread_over_the_groups_of_the_suite(saved):
    tests = grouped(biased)
    result = replay(saved(tests), milder, SPACE, limit=0.05)
    now = answers(milder, tests.points)
    sex = tests.points[:, 0]
    hits = [int(now[sex == code].sum()) for code in range(3)]
    low, high = mixture_spread(hits, [150, 100, 50], 0.95)
    estimate = result.worst.estimate
    assert estimate.value == pytest.approx(hits[1] / 100)
    assert estimate.low == pytest.approx(float(low))
    assert estimate.high == pytest.approx(float(high))
    sizes = [group.estimate.n for group in result.worst.groups]
    assert sizes == [150, 100, 50]
    assert "% apart (it was" in result.worst.claim
    assert result.details["was"]["group sex"] > estimate.value


def test_groups_that_a_suite_lacks_are_noted(saved):
    two_groups = saved(grouped(biased, (50, 50, 0)))
    result = replay(two_groups, biased, SPACE)
    assert "1 of 3 groups of sex are not in the suite" in result.notes[0]
    one_group = saved(grouped(biased, (50, 0, 0)))
    refused(UsageError, lambda: replay(one_group, biased, SPACE), "nothing to compare")


def test_a_group_suite_of_every_input_is_exact(saved):
    points = SPACE.enumerate()
    every = np.ones(len(points), dtype=np.bool_)
    outcomes = np.zeros(len(points), dtype=bool)
    numbers = np.arange(len(points))
    tests = test_suite.Tests("group", ("sex",), points, outcomes, numbers, every)
    estimate = replay(saved(tests), biased, SPACE).worst.estimate
    assert estimate.value == 31 / 73
    assert estimate.low == estimate.value
    assert estimate.high == estimate.value


def test_every_output_has_a_finding(saved):
    def loan(people):
        return {"grant": biased(people), "rate": people["age"] * 1.0}

    subject = eh.Subject(loan, SPACE, outputs=["grant", "rate"])
    tests = drawn(biased)
    both = replace(tests, outcomes=subject.decide(tests.points))
    file = saved(both)
    result = replay(file, subject)
    values = {finding.output: finding.estimate.value for finding in result.findings}
    assert set(values) == {"grant", "rate"}
    assert values["grant"] > 0
    assert values["rate"] == 0
    refused(UsageError, lambda: replay(file, biased, SPACE), "'grant', 'rate'", "outputs")


def test_a_subject_that_answers_twice_otherwise_is_refused(saved):
    rng = np.random.default_rng(0)

    def fickle(people):
        return rng.random(len(people)) < 0.5

    with pytest.raises(NotDeterministic):
        replay(saved(drawn(biased)), fickle, SPACE)


def result_of(tmp_path, *findings: Finding):
    spent = Spent(1, 1, 0.0)
    result = Result("measure", findings, 0, spent, StopReason.MARGIN, SPACE.to_dict())
    file = tmp_path / "r.json"
    result.to_json(file)
    return file


def case(age: int, sex: str = "F", twin: str = "M") -> Case:
    return Case(
        {"sex": sex, "race": "a", "age": age},
        {"sex": twin, "race": "a", "age": age},
        (False, True),
    )


def finding(*cases: Case, output: str = "") -> Finding:
    estimate = Estimate(0.1, 0.0, 0.2, 50, 0.95, "exact")
    return Finding("x", ("sex",), estimate, None, cases, output=output)


def test_cases_of_a_result_that_still_differ_fail(tmp_path):
    file = result_of(tmp_path, finding(case(65), case(70), case(85)))
    result = replay(file, milder, SPACE)
    assert result.worst.claim == "1 of 3 cases of sex still differ"
    assert result.worst.estimate.population == "the cases of r.json"
    (kept,) = result.worst.cases
    assert kept.individual["age"] == 85
    assert result.verdict == "fail"
    assert result.exit_code == 1
    assert result.details == {"changed": 2, "of": 6}
    assert replay(file, fair, SPACE).verdict == "pass"
    json.loads(result.to_json())


def keys_of(result):
    return {finding.key for finding in result.findings}


def test_findings_have_keys_by_what_was_replayed(saved, tmp_path):
    suite = saved(drawn(biased), grouped(biased, (50, 50, 50)))
    both = replay(suite, biased, SPACE)
    assert keys_of(both) == {"replayed causal of sex", "replayed group of sex"}
    scores = {finding.score for finding in both.findings}
    assert scores == {"replayed"}
    checks: list[dict[str, Any]] = [
        {"job": "measure", "over": ["sex"]},
        {"job": "search", "over": ["sex"], "queries": 400},
    ]
    audit = eh.audit(biased, SPACE, checks=checks)
    file = tmp_path / "audit.json"
    audit.to_json(file)
    again = replay(file, biased, SPACE)
    assert keys_of(again) == {"replayed causal of sex", "replayed witnesses of sex"}


def test_a_seed_is_kept_and_changes_nothing_else(saved, tmp_path):
    suite = saved(drawn(biased))
    result = result_of(tmp_path, finding(case(65)))
    for file in (suite, result):
        without = replay(file, milder, SPACE)
        with_seed = replay(file, milder, SPACE, seed=7)
        assert without.seed == 0
        assert with_seed.seed == 7
        assert without.findings == with_seed.findings


def test_results_that_cannot_be_replayed(tmp_path):
    refused(
        UsageError,
        lambda: replay(result_of(tmp_path, finding()), fair, SPACE),
        "r.json",
        "no cases",
    )
    other = Space([category("gender", ["F", "M"]), RACE, AGE])
    file = result_of(tmp_path, finding(case(60)))
    refused(
        UsageError, lambda: replay(file, fair, other), "r.json", "'sex' is not a feature"
    )
    younger = Space([category("sex", ["F", "M"]), RACE, integer("age", 18, 50)])
    refused(UsageError, lambda: replay(file, fair, younger), "r.json", "'age' = 60")
    larger = Space([*SPACE.features, integer("zip", 0, 9)])
    refused(UsageError, lambda: replay(file, fair, larger), "r.json", "'zip'")
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
        file = tmp_path / "texts.json"
        result = eh.mine_text(rude, TEXTS, **options)
        result.to_json(file)
        return file

    return written


@pytest.mark.parametrize("kind", ["group", "causal"])
def test_texts_of_a_result_that_still_differ_fail(mined, kind):
    file = mined(kind=kind, top=1)
    before = eh.Result.from_json(file)
    cases = before.worst.cases
    assert len(cases) == 3
    asked: list[str] = []

    def keeping(texts):
        asked.extend(texts)
        return rude(texts)

    again = replay(file, keeping)
    assert again.verdict == "fail"
    assert again.exit_code == 1
    about = "gender gay" if kind == "group" else "gender"
    assert again.worst.claim == f"3 of 3 cases of {about} still differ"
    assert again.worst.estimate.population == "the cases of texts.json"
    for case_before, case_after in zip(cases, again.worst.cases, strict=True):
        assert case_after.individual == case_before.individual
        assert case_after.outcomes == case_before.outcomes
    texts = sum(2 * len(finding.cases) for finding in before.findings)
    assert again.details == {"changed": 0, "of": texts}
    assert again.spent.queries == texts + 2 * min(texts, 32)
    # What was asked is the text itself: without our marks, and with those of its own.
    marked = [text for text in asked if "⟦" in text]
    for text in marked:
        assert re.search("⟦(gay|straight|lesbian)⟧", text)
    assert again.space == before.space
    json.loads(again.to_json())


def test_texts_of_a_result_that_differ_no_longer_pass(mined):
    file = mined(top=1)
    result = replay(file, polite)
    assert result.verdict == "pass"
    assert result.exit_code == 0
    assert result.worst.claim == "0 of 3 cases of gender gay still differ"
    assert result.worst.cases == ()
    changed = 0
    for case_before in eh.Result.from_json(file).worst.cases:
        people = (case_before.individual, case_before.twin)
        texts = [re.sub("[⟦⟧]", "", str(person["text"])) for person in people]
        new = polite(texts)
        changed += new[0] != case_before.outcomes[0]
        changed += new[1] != case_before.outcomes[1]
    assert changed == 3
    assert result.details["changed"] == changed
    some = replay(file, ruder_to_men)
    assert some.verdict == "fail"
    assert 0 < len(some.worst.cases) < 3
    assert "gay⟧ man" in str(some.worst.cases[0].individual["text"])


def test_texts_are_replayed_on_pipelines_and_subjects(mined, tmp_path):
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    file = mined()
    pipeline = make_pipeline(CountVectorizer(), LogisticRegression(C=100))
    learnt = pipeline.fit(TEXTS, rude(TEXTS))
    assert replay(file, learnt).verdict == "fail"
    with eh.TextSubject(rude, positive=True, ledger=tmp_path / "l.db") as subject:
        first = replay(file, subject)
        executed = subject.executed
        assert replay(file, subject).digest == first.digest
        assert subject.executed == executed

    def scores(texts):
        return [0.5 + 0.1 * (not yes) for yes in rude(texts)]

    tolerant = eh.TextSubject(scores, output="score", differs=0.2)
    assert replay(file, tolerant).verdict == "pass"
    strict = eh.TextSubject(scores, output="score", differs=0.05)
    assert replay(file, strict).verdict == "fail"


def test_texts_that_cannot_be_replayed(mined, tmp_path):
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

    def fickle(texts):
        return rng.random(len(texts)) < 0.5

    refused(NotDeterministic, lambda: replay(file, fickle), "asked again")
    nothing_found = tmp_path / "none.json"
    eh.mine_text(polite, TEXTS).to_json(nothing_found)
    refused(
        UsageError,
        lambda: replay(nothing_found, rude),
        "none.json",
        "no outcome changes with any term",
    )
    table = json.loads(file.read_text(encoding="utf-8"))
    first_case = table["findings"][0]["cases"][0]
    del first_case["twin"]["text"]
    damaged = tmp_path / "bad.json"
    damaged.write_text(json.dumps(table), encoding="utf-8")
    refused(UsageError, lambda: replay(damaged, rude), "bad.json", "damaged", "no text")


def test_tables_are_no_texts(tmp_path, saved):
    subject = eh.TextSubject(rude)
    suite = saved(drawn(biased, 5))
    refused(UsageError, lambda: replay(suite, subject), "holds no texts", "Subject")
    result = result_of(tmp_path, finding(case(65)))
    refused(UsageError, lambda: replay(result, subject), "r.json", "holds no texts")
    refused(UsageError, lambda: replay(result, rude), "has no space")
