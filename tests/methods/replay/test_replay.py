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
from evenhand.results.case_id import case_id
from evenhand.results.evidence import Case, Finding
from evenhand.results.result import Result
from evenhand.runtime.budget import Spent
from evenhand.runtime.errors import DataError, NotDeterministic, UsageError
from evenhand.scores import test_suite
from evenhand.space.feature import category, integer, real
from evenhand.space.space import Space
from evenhand.statistics.estimate import Estimate, StopReason
from evenhand.statistics.sequential.confidence_sequences import mixture, mixture_spread
from tests.support.helpers import refused

SEX = category("sex", ["F", "M", "X"])
TWO_SEXES = category("sex", ["F", "M"])
RACE = category("race", ["a", "b"])
AGE = integer("age", 18, 90)
SPACE = Space([SEX, RACE, AGE], protected=["sex"])


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
    variants = space.variants(points, over)
    rows = np.concatenate([points, variants])
    copies = len(rows) // n
    draw = np.tile(np.arange(n), copies)
    own = np.arange(len(rows)) < n
    outcomes = answers(decide, rows, space)
    tests = test_suite.Tests("causal", over, rows, outcomes, draw, own)
    is_variant = (rows != points[draw]).any(axis=1)
    is_valid_variant = space.valid(rows) & is_variant
    return part_of(tests, own | is_valid_variant)


def answers(decide, points, space: Space = SPACE):
    """Return what the software answers to some points."""
    return np.asarray(decide(space.decode(points)))


def part_of(tests: test_suite.Tests, kept) -> test_suite.Tests:
    """Return some of the tests of a suite."""
    return test_suite.Tests(
        tests.kind,
        tests.over,
        np.asfortranarray(tests.points[kept]),
        tests.outcomes[kept],
        tests.draw[kept],
        tests.own[kept],
    )


def suite_by_sex(kind: str, points, outcomes, draw) -> test_suite.Tests:
    """Return a suite in which each input is a draw itself, and none only a variant."""
    own = np.ones(len(points), dtype=np.bool_)
    return test_suite.Tests(kind, ("sex",), points, outcomes, draw, own)


def brute(tests: test_suite.Tests, decide, space: Space = SPACE) -> list[bool]:
    """Return which draws are hit, one at a time."""
    outcomes = answers(decide, tests.points, space)
    hits = []
    for number in np.unique(tests.draw):
        distinct = np.unique(outcomes[tests.draw == number])
        hits.append(len(distinct) > 1)
    return hits


def has_limits(estimate: Estimate, limits) -> None:
    """Check the interval of an estimate."""
    low, high = limits
    assert estimate.low == pytest.approx(float(low))
    assert estimate.high == pytest.approx(float(high))


def replay_refused(*words: str, error=UsageError, **arguments) -> None:
    """Check that a replay with these arguments fails with these words."""
    arguments = {"space": SPACE, **arguments}
    refused(error, lambda: replay(**arguments), *words)


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
    share_of_hits = np.mean(brute(tests, biased))
    assert result.job == "replay"
    assert result.stop is StopReason.ENUMERATED
    assert result.details["changed"] == 0
    assert result.details["of"] == len(tests.points)
    assert finding.estimate.value == pytest.approx(share_of_hits)
    assert result.details["was"] == {"causal sex": finding.estimate.value}
    assert result.spent.queries == len(tests.points) + 64


def test_another_version_is_scored_on_the_same_draws_with_an_interval_for_any_size(saved):
    tests = drawn(biased)
    result = replay(saved(tests), milder, SPACE, level=0.9, limit=0.4)
    estimate = result.worst.estimate
    hits = sum(brute(tests, milder))
    has_limits(estimate, mixture(hits, 300, 0.9))
    assert estimate.n == 300
    assert estimate.method == "anytime"
    assert estimate.level == 0.9
    assert "the suite sex.parquet" in estimate.population
    now = 100 * hits / 300
    was = 100 * sum(brute(tests, biased)) / 300
    answers_now = answers(milder, tests.points)
    changed = sum(answers_now != tests.outcomes)
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
        age = case.individual["age"]
        assert isinstance(age, int)
        assert age >= 60


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
    over_sex = drawn(biased)
    over_race = drawn(biased, over=("race",), seed=1)
    result = replay(saved(over_sex, over_race), milder, SPACE)
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
    own_draws = tests.draw[tests.own]
    own_outcomes[own_draws] = tests.outcomes[tests.own]
    flips = own_outcomes[tests.draw] != tests.outcomes
    of_hit_draw = np.isin(tests.draw, tests.draw[flips])
    searched = part_of(tests, tests.own | flips | ~of_hit_draw)
    file = saved(searched)
    # Every draw that lacks variants still flips.
    assert replay(file, biased, SPACE).notes == ()
    result = replay(file, fair, SPACE, limit=0.2)
    estimate = result.worst.estimate
    tested = np.bincount(searched.draw)
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
    rate = real("rate", 0, 1, bins=4)
    space = Space([rate, AGE], protected=["rate"])
    tests = drawn(lambda people: people["rate"] > 0.5, space=space, over=("rate",))
    file = saved(tests, space=space)
    result = replay(file, fair, space)
    assert result.notes == ()
    assert result.worst.estimate.value == 0


def test_inputs_that_are_each_others_twins_are_a_population_of_their_own(saved):
    small = Space([TWO_SEXES, integer("age", 0, 9)])
    points = small.enumerate()
    ages = points[:, 1].astype(int)
    outcomes = np.zeros(len(points), dtype=int)
    tests = suite_by_sex("causal", points, outcomes, draw=ages)
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
    def by_sex(people):
        return people["sex"].map({"F": 0.1, "M": 0.2, "X": 0.5})

    def distance(a, b):
        return np.abs(a - b)

    tests = drawn(lambda people: people["age"] / 100)
    subject = eh.Subject(by_sex, SPACE, differs=distance)
    result = replay(saved(tests), subject)
    own_points = tests.points[tests.own]
    sex = own_points[:, 0].astype(int)
    farthest = np.choose(sex, [0.4, 0.3, 0.4])
    estimate = result.worst.estimate
    assert estimate.value == pytest.approx(farthest.mean())


def grouped(decide, sizes=(150, 100, 50)) -> test_suite.Tests:
    rng = np.random.default_rng(5)
    parts = []
    for code, size in enumerate(sizes):
        points = SPACE.draw(size, rng)
        points[:, 0] = code
        parts.append(points)
    points = np.concatenate(parts)
    draw = np.concatenate([np.arange(size) for size in sizes])
    outcomes = answers(decide, points)
    return suite_by_sex("group", points, outcomes, draw)


def test_a_group_score_is_the_spread_over_the_groups_of_the_suite(saved):
    tests = grouped(biased)
    result = replay(saved(tests), milder, SPACE, limit=0.05)
    now = answers(milder, tests.points)
    sex = tests.points[:, 0].astype(int)
    hits = np.bincount(sex, weights=now)
    estimate = result.worst.estimate
    # Only men are ever hit.
    assert estimate.value == pytest.approx(hits[1] / 100)
    has_limits(estimate, mixture_spread(hits, [150, 100, 50], 0.95))
    sizes = [group.estimate.n for group in result.worst.groups]
    assert sizes == [150, 100, 50]
    assert "% apart (it was" in result.worst.claim
    assert result.details["was"]["group sex"] > estimate.value


def test_groups_that_a_suite_lacks_are_noted(saved):
    two_groups = saved(grouped(biased, (50, 50, 0)))
    result = replay(two_groups, biased, SPACE)
    assert "1 of 3 groups of sex are not in the suite" in result.notes[0]
    one_group = saved(grouped(biased, (50, 0, 0)))
    replay_refused("nothing to compare", path=one_group, subject=biased)


def test_a_group_suite_of_every_input_is_exact(saved):
    points = SPACE.enumerate()
    outcomes = np.zeros(len(points), dtype=bool)
    draw = np.arange(len(points))
    tests = suite_by_sex("group", points, outcomes, draw)
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
    replay_refused("'grant', 'rate'", "outputs", path=file, subject=biased)


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
    of_three_cases = finding(case(65), case(70), case(85))
    file = result_of(tmp_path, of_three_cases)
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


def test_one_case_of_a_result_is_asked_by_itself(tmp_path):
    file = result_of(tmp_path, finding(case(65), case(70), case(85)))
    wanted = case_id(case(70))
    asked: list[int] = []

    def keeping(people):
        asked.extend(people["age"].tolist())
        return milder(people)

    result = replay(file, keeping, SPACE, case=wanted[:5].upper())
    assert set(asked) == {70}
    assert result.verdict == "pass"
    assert result.details == {"changed": 1, "of": 2}
    assert result.worst.claim == (
        f"case {wanted}: the outcome was False and that of its twin True; now they are False and"
        " False, which differ no longer"
    )
    assert result.notes == (f"case {wanted}: sex F, race a, age 70; its twin has sex M",)
    older = replay(file, milder, SPACE, case=case_id(case(85)))
    assert older.verdict == "fail"
    assert older.worst.claim.endswith("now they are False and True, which still differ")
    json.loads(older.to_json())


def test_one_case_that_several_checks_have_found_is_asked_once(tmp_path):
    checks: list[dict[str, Any]] = [
        {"job": "measure", "over": ["sex"]},
        {"job": "search", "over": ["sex"], "queries": 400},
    ]
    audit = eh.audit(biased, SPACE, checks=checks)
    file = tmp_path / "audit.json"
    audit.to_json(file)
    for found in audit.findings:
        for one in found.cases:
            again = replay(file, biased, SPACE, case=case_id(one))
            assert again.verdict == "fail"
            (still,) = again.findings
            assert [case_id(kept) for kept in still.cases] == [case_id(one)]


def test_a_case_that_is_not_there_gets_the_nearest(tmp_path):
    cases = [case(age) for age in range(60, 90)]
    file = result_of(tmp_path, finding(*cases))
    wanted = case_id(cases[7])
    typo = wanted[:-1] + ("0" if wanted[-1] != "0" else "1")
    replay_refused("r.json", f"did you mean '{wanted}'", path=file, subject=fair, case=typo)
    replay_refused("several cases", path=file, subject=fair, case="")
    replay_refused("several cases", path=file, subject=fair, case=" ")
    without_cases = result_of(tmp_path, finding())
    replay_refused("no cases", path=without_cases, subject=fair, case=wanted)


def test_a_suite_has_no_cases(saved):
    replay_refused("'ab'", "suite", path=saved(drawn(biased)), subject=fair, case="ab")


def test_the_id_of_a_case_outlives_its_file(tmp_path):
    inputs: dict[str, Any] = {
        "sex": None,
        "age": float("inf"),
        "n": np.int64(3),
        "half": 0.5,
        "ü": "ä",
    }
    one = Case(inputs, {**inputs, "sex": "F"}, (False, True), realistic=True)
    again = Case.from_dict(json.loads(json.dumps(one.to_dict(), default=int)))
    assert re.fullmatch("[0-9a-f]{8}", case_id(one))
    assert case_id(again) == case_id(one)
    assert case_id(replace(one, outcomes=(1, 2), realistic=None)) == case_id(one)
    assert case_id(replace(one, individual=one.twin)) != case_id(one)


def keys_of(result):
    return {finding.key for finding in result.findings}


def test_findings_have_keys_by_what_was_replayed(saved, tmp_path):
    by_groups = grouped(biased, (50, 50, 50))
    suite = saved(drawn(biased), by_groups)
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


OTHER_NAME = Space([category("gender", ["F", "M"]), RACE, AGE])
YOUNGER = Space([TWO_SEXES, RACE, integer("age", 18, 50)])
LARGER = Space([*SPACE.features, integer("zip", 0, 9)])


@pytest.mark.parametrize(
    ("space", "words"),
    [
        (OTHER_NAME, "'sex' is not a feature"),
        (YOUNGER, "'age' = 60"),
        (LARGER, "'zip'"),
    ],
)
def test_a_result_of_another_space_is_refused(tmp_path, space, words):
    file = result_of(tmp_path, finding(case(60)))
    replay_refused("r.json", words, path=file, subject=fair, space=space)


def test_results_that_cannot_be_replayed(tmp_path):
    without_cases = result_of(tmp_path, finding())
    replay_refused("r.json", "no cases", path=without_cases, subject=fair)
    with_case = result_of(tmp_path, finding(case(60)))
    replay_refused("limit", "suite", path=with_case, subject=fair, limit=0.1)
    of_output = result_of(tmp_path, finding(case(60), output="grant"))
    replay_refused("no output 'grant'", path=of_output, subject=fair)
    no_result = tmp_path / "list.json"
    no_result.write_text("[1]")
    replay_refused("not an evenhand result", path=no_result, subject=fair)
    replay_refused("none.json", path=tmp_path / "none.json", subject=fair)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"limit": 2}, "limit"),
        ({"level": 1}, "level"),
        ({"limt": 0.1}, "did you mean 'limit'"),
    ],
)
def test_wrong_options_are_refused(saved, options, words):
    file = saved(drawn(biased, 5))
    replay_refused(words, path=file, subject=fair, **options)


def test_files_that_are_no_suites_are_refused(tmp_path):
    replay_refused(".xml", ".parquet", path=tmp_path / "x.xml", subject=fair)
    missing = tmp_path / "x.csv"
    replay_refused("x.csv", error=DataError, path=missing, subject=fair)


def polite(texts):
    """Gay and straight matter to nobody."""
    return ["!" not in text for text in texts]


GAY = re.compile(r"\bgay\b", re.IGNORECASE)


def rude(texts):
    return [GAY.search(text) is None for text in texts]


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
    number_of_cases = sum(len(finding.cases) for finding in before.findings)
    texts = 2 * number_of_cases
    assert again.details == {"changed": 0, "of": texts}
    asked_again = 2 * min(texts, 32)
    assert again.spent.queries == texts + asked_again
    # What was asked is the text itself: without our marks, and with those of its own.
    marked = [text for text in asked if "⟦" in text]
    for text in marked:
        assert re.search("⟦(gay|straight|lesbian)⟧", text)
    assert again.space == before.space
    json.loads(again.to_json())


def unmarked_text(person) -> str:
    """Return the text of an input, without the marks around what changed."""
    return re.sub("[⟦⟧]", "", str(person["text"]))


def test_texts_of_a_result_that_differ_no_longer_pass(mined):
    file = mined(top=1)
    result = replay(file, polite)
    assert result.verdict == "pass"
    assert result.exit_code == 0
    assert result.worst.claim == "0 of 3 cases of gender gay still differ"
    assert result.worst.cases == ()
    changed = 0
    for case_before in eh.Result.from_json(file).worst.cases:
        texts = [unmarked_text(case_before.individual), unmarked_text(case_before.twin)]
        for old, new in zip(case_before.outcomes, polite(texts), strict=True):
            changed += old != new
    assert changed == 3
    assert result.details["changed"] == changed
    some = replay(file, ruder_to_men)
    assert some.verdict == "fail"
    cases = some.worst.cases
    assert 0 < len(cases) < 3
    assert "gay⟧ man" in str(cases[0].individual["text"])


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


def test_texts_that_cannot_be_replayed(mined):
    file = mined()
    of_tables = eh.Subject(fair, SPACE)
    words = ("texts.json", "holds texts", "TextSubject")
    replay_refused(*words, path=file, subject=rude)
    replay_refused(*words, path=file, subject=of_tables, space=None)
    replay_refused("limit", "suite", path=file, subject=rude, space=None, limit=0.1)
    replay_refused("None", path=file, subject=None, space=None)
    rng = np.random.default_rng(0)

    def fickle(texts):
        return rng.random(len(texts)) < 0.5

    refused(NotDeterministic, lambda: replay(file, fickle), "asked again")


def test_a_result_without_changed_texts_cannot_be_replayed(tmp_path):
    file = tmp_path / "none.json"
    nothing_found = eh.mine_text(polite, TEXTS)
    nothing_found.to_json(file)
    refused(
        UsageError,
        lambda: replay(file, rude),
        "none.json",
        "no outcome changes with any term",
    )


def test_a_result_that_lacks_a_text_cannot_be_replayed(mined, tmp_path):
    file = mined()
    table = json.loads(file.read_text(encoding="utf-8"))
    first_case = table["findings"][0]["cases"][0]
    del first_case["twin"]["text"]
    del table["digest"]
    damaged = tmp_path / "bad.json"
    damaged.write_text(json.dumps(table), encoding="utf-8")
    refused(UsageError, lambda: replay(damaged, rude), "bad.json", "damaged", "text")


def test_tables_are_no_texts(tmp_path, saved):
    subject = eh.TextSubject(rude)
    suite = saved(drawn(biased, 5))
    refused(UsageError, lambda: replay(suite, subject), "holds no texts", "Subject")
    result = result_of(tmp_path, finding(case(65)))
    refused(UsageError, lambda: replay(result, subject), "r.json", "holds no texts")
    refused(UsageError, lambda: replay(result, rude), "has no space")


def lender(people):
    """Decide with texts, for women from 60 on and for men from 50 on."""
    least = np.where(people["sex"] == "F", 60, 50)
    return np.where(people["age"] >= least, "approve", "deny")


def cases_of_lender(tmp_path) -> Any:
    file = tmp_path / "result.json"
    subject = eh.Subject(lender, SPACE, positive="approve")
    eh.measure(subject, over="sex").to_json(file)
    return file


def test_a_version_that_answers_something_else_to_all_cases_does_not_pass(tmp_path):
    # Cases that no longer differ would else pass, though nothing is decided any more.
    file = cases_of_lender(tmp_path)
    broken = eh.Subject(
        lambda people: ["database connection lost"] * len(people), SPACE, positive="approve"
    )
    found = replay(file, broken)
    assert found.exit_code == 3
    assert found.worst.only_answer == "database connection lost"
    assert "no evidence" in found.to_text()


@pytest.mark.parametrize("answer", ["approve", "deny"])
def test_a_version_that_treats_all_cases_alike_passes(tmp_path, answer):
    file = cases_of_lender(tmp_path)
    repaired = eh.Subject(lambda people: [answer] * len(people), SPACE, positive="approve")
    assert replay(file, repaired).exit_code == 0


def test_one_case_of_texts_is_asked_by_itself(mined):
    file = mined(kind="causal", top=1)
    cases = eh.Result.from_json(file).worst.cases
    asked: list[str] = []

    def keeping(texts):
        asked.extend(texts)
        return rude(texts)

    again = replay(file, keeping, case=case_id(cases[1])[:6])
    assert again.verdict == "fail"
    assert len(set(asked)) == 2
    assert again.worst.cases[0].individual == cases[1].individual


def test_outcomes_of_one_case_are_written_with_the_digits_that_tell_them_apart(tmp_path):
    paid = replace(case(70), outcomes=(43310.369793811, 41237.54644435693))
    file = result_of(tmp_path, finding(paid))

    def pay(people):
        return 40_000.25 + 1_000.5 * (people["sex"] == "M")

    result = replay(file, eh.Subject(pay, SPACE, differs=500), case=case_id(paid))
    assert (
        "the outcome was 43,310 and that of its twin 41,238 (2,073 less)"
        in result.worst.claim
    )
    assert (
        "now they are 40,000 and 41,001 (1,000 more), which still differ"
        in result.worst.claim
    )
