from __future__ import annotations

import json
import math
from functools import partial
from typing import Any

import jsonschema
import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import evenhand as eh
from evenhand.methods.measure.recorded import measure_log
from evenhand.results import result as results
from evenhand.runtime.errors import DataError, SpaceError, UsageError
from evenhand.statistics import intervals, ratios
from tests.support.helpers import examples, refused


def log(**rates: tuple[int, int]) -> pd.DataFrame:
    """Return a log with so many favourable rows of so many in each group."""
    rows = []
    for group, (favourable, size) in rates.items():
        rows += [(group, 1)] * favourable
        rows += [(group, 0)] * (size - favourable)
    return pd.DataFrame(rows, columns=["race", "ok"])


LOANS = log(green=(115, 500), purple=(325, 500))


def difference(result):
    return next(finding for finding in result.findings if not finding.least)


def ratio(result):
    return next(finding for finding in result.findings if finding.least)


def ends(finding):
    return finding.estimate.low, finding.estimate.high


def by_name(finding):
    return {str(group): group.estimate for group in finding.groups}


def test_it_says_how_far_apart_and_in_what_ratio():
    result = measure_log(LOANS, outcome="ok", over="race", limit=0.1, least_ratio=0.8)
    apart = difference(result)
    share = ratio(result)
    rates = "race purple is favoured in 65.0 % of recorded decisions, race green in 23.0 %"
    assert apart.claim == rates
    assert share.claim == "by race, the lowest rate is 35.4 % of the highest"
    assert apart.about == ("race",)
    assert share.about == ("race",)
    # Two findings share the error.
    spread = intervals.spread([115, 325], 500, 0.975)
    assert ends(apart) == pytest.approx(spread)
    impact_ratio = ratios.impact_ratio([115, 325], 500, 0.975)
    assert ends(share) == pytest.approx(impact_ratio)
    assert apart.estimate.n == 1000
    assert apart.estimate.level == 0.95
    assert apart.estimate.population == "the recorded decisions"
    assert result.verdict == "fail"
    assert result.job == "measure_log"
    assert result.spent.queries == 0
    assert result.stop is eh.StopReason.ENUMERATED
    assert result.details == {
        "rows": 1000,
        "unknown": {"race": 0},
        "missing_outcomes": 0,
        "support": 0.02,
        "left_out": [],
    }


def test_one_limit_gets_all_of_the_error():
    by_ratio = measure_log(LOANS, outcome="ok", over="race", least_ratio=0.8)
    impact_ratio = ratios.impact_ratio([115, 325], 500, 0.95)
    assert ends(ratio(by_ratio)) == pytest.approx(impact_ratio)
    assert not ratio(by_ratio).descriptive
    apart = difference(by_ratio)
    assert apart.descriptive
    assert apart.verdict is None
    assert ends(apart) == pytest.approx(intervals.spread([115, 325], 500, 0.95))
    by_difference = measure_log(LOANS, outcome="ok", over="race", limit=0.1)
    assert not difference(by_difference).descriptive
    assert ratio(by_difference).descriptive
    # Rates of groups have no limit of their own.
    groups = (*apart.groups, *difference(by_difference).groups)
    assert all(group.estimate.descriptive for group in groups)


def test_what_is_descriptive_says_so_wherever_it_is_shown(tmp_path):
    result = measure_log(LOANS, outcome="ok", over="race", least_ratio=0.8)
    assert "the finding with a limit holds at 95 %" in result.notes[-1]
    assert "2 groups, descriptive, population" in str(difference(result).estimate)
    assert "descriptive" not in str(ratio(result).estimate)
    assert "95 % interval, descriptive" in result.to_text()
    page = tmp_path / "page.html"
    result.to_html(page)
    html = page.read_text(encoding="utf-8")
    assert "descriptive: the interval holds by itself, and gives no verdict" in html
    assert "interval (descriptive)" in html
    file = tmp_path / "found.json"
    result.to_json(file)
    back = eh.Result.from_json(file)
    assert difference(back).descriptive
    assert not ratio(back).descriptive
    frame = result.to_frame().set_index("claim")
    assert frame.loc[difference(result).claim, "descriptive"]
    assert not frame.loc[ratio(result).claim, "descriptive"]
    nothing_asked = measure_log(LOANS, outcome="ok", over="race")
    assert not any("descriptive" in note for note in nothing_asked.notes)
    assert "descriptive" not in nothing_asked.to_text()


def test_a_limit_of_what_is_descriptive_is_refused():
    result = measure_log(LOANS, outcome="ok", over="race", least_ratio=0.8)
    described = difference(result).estimate
    words = ("rate difference of race", "gives no verdict", "0.1")
    finding = partial(eh.Finding, "a claim", ("race",), described, score="rate difference")
    assert finding().verdict is None
    refused(UsageError, lambda: finding(limit=0.1), *words)


def test_it_lists_the_rate_of_each_group_and_its_ratio_to_the_highest():
    result = measure_log(LOANS, outcome="ok", over="race", limit=0.1, least_ratio=0.8)
    # They are descriptive beside the two limits: the groups of each finding hold together.
    low, high = intervals.by_group([115, 325], 500, 0.95)
    rates = by_name(difference(result))
    assert rates["race green"].low == pytest.approx(low[0])
    assert rates["race purple"].high == pytest.approx(high[1])
    shares = by_name(ratio(result))
    assert shares["race purple"].value == 1
    assert shares["race green"].value == pytest.approx(115 / 325)


def test_enough_equal_decisions_pass_and_few_are_undecided():
    many = measure_log(
        log(a=(5000, 9000), b=(5000, 9000)),
        outcome="ok",
        over="race",
        limit=0.1,
        least_ratio=0.8,
    )
    assert many.verdict == "pass"
    claim = "every group of race is favoured in 55.6 % of recorded decisions"
    assert difference(many).claim == claim
    few = measure_log(
        log(a=(5, 9), b=(5, 9)),
        outcome="ok",
        over="race",
        limit=0.1,
        least_ratio=0.8,
    )
    assert few.verdict == "undecided"


def test_several_sets_share_one_level():
    frame = LOANS.assign(sex=["F", "M"] * 500)
    alone = measure_log(frame, outcome="ok", over="race")
    both = measure_log(frame, outcome="ok", over=[("race",), ("sex",)])
    assert len(both.findings) == 4
    differences = [finding for finding in both.findings if not finding.least]
    (found,) = [finding for finding in differences if finding.about == ("race",)]
    spread = intervals.spread([115, 325], 500, 0.9875)
    assert ends(found) == pytest.approx(spread)
    assert found.estimate.low < difference(alone).estimate.low
    together = measure_log(frame, outcome="ok", over=["race", "sex"])
    assert set(by_name(difference(together))) == {
        "race green, sex F",
        "race green, sex M",
        "race purple, sex F",
        "race purple, sex M",
    }


ENGINES = {
    "pandas": lambda frame: frame,
    "nullable": lambda frame: frame.convert_dtypes(),
    "objects": lambda frame: frame.astype({"sex": object}),
    "polars": pl.from_pandas,
    "polars lazy": lambda frame: pl.from_pandas(frame).lazy(),
    "polars with NaN": lambda frame: pl.from_pandas(frame, nan_to_null=False),
    "pyarrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
}


def people(n: int = 3000) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    labels = np.array(["F", "M", None])
    sex = rng.choice(labels, n, p=[0.4, 0.5, 0.1])
    has_no_age = rng.uniform(size=n) < 0.05
    ages = rng.integers(10, 100, n)
    age = np.where(has_no_age, np.nan, ages)
    rows = rng.choice([1.0, 2.0, np.nan], n)
    has_no_outcome = rng.uniform(size=n) < 0.03
    outcomes = rng.integers(0, 2, n)
    ok = np.where(has_no_outcome, np.nan, outcomes)
    return pd.DataFrame({"sex": sex, "age": age, "rows": rows, "ok": ok})


HOW: dict[str, Any] = {
    "outcome": "ok",
    "over": [("sex", "age"), ("rows",)],
    "bins": {"age": [18, 65, 90]},
    "limit": 0.2,
}


@pytest.fixture(scope="module")
def digest():
    return measure_log(people(), **HOW).digest


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_and_order_of_rows_gives_the_same_bytes(engine, digest):
    shuffled = people().sample(frac=1, random_state=5)
    frame = ENGINES[engine](shuffled)
    assert measure_log(frame, **HOW).digest == digest


def test_a_lazy_frame_hands_over_nothing_but_counts(monkeypatch):
    collected = []
    collect = nw.LazyFrame.collect

    def watched(self, *args, **kwargs):
        found = collect(self, *args, **kwargs)
        collected.append(len(found))
        return found

    monkeypatch.setattr(nw.LazyFrame, "collect", watched)
    measure_log(pl.from_pandas(people()).lazy(), outcome="ok", over="sex")
    assert collected
    assert max(collected) <= 9


def age_label(age):
    if math.isnan(age):
        return "unknown"
    if age < 18:
        return "under 18"
    if age < 40:
        return "18 to 39"
    if age < 65:
        return "40 to 64"
    return "65 to 89" if age < 90 else "90 and over"


def test_groups_are_those_of_a_plain_loop():
    frame = people()
    result = measure_log(
        frame, outcome="ok", over=["sex", "age"], bins={"age": [18, 40, 65, 90]}
    )
    expected: dict[str, list[float]] = {}
    for row in frame.to_dict("records"):
        if math.isnan(row["ok"]):
            continue
        sex = row["sex"] if isinstance(row["sex"], str) else "unknown"
        group = f"sex {sex}, age {age_label(row['age'])}"
        outcomes = expected.setdefault(group, [])
        outcomes.append(row["ok"])
    found = by_name(difference(result))
    assert set(found) == set(expected)
    compared = {}
    for name, outcomes in expected.items():
        rate = np.mean(outcomes)
        assert found[name].n == len(outcomes)
        assert found[name].value == pytest.approx(rate)
        if "unknown" not in name:
            compared[name] = rate
    spread = max(compared.values()) - min(compared.values())
    assert difference(result).estimate.value == pytest.approx(spread)
    assert set(by_name(ratio(result))) == set(compared)


def test_what_is_missing_is_noted_and_left_out():
    unknown_race = pd.DataFrame({"race": [None] * 12, "ok": [1] * 12})
    frame = pd.concat([LOANS, unknown_race], ignore_index=True)
    frame = frame.astype({"ok": float})
    frame.loc[[0, 600], "ok"] = np.nan
    frame.loc[len(frame)] = [None, np.nan]
    result = measure_log(frame, outcome="ok", over="race")
    assert result.notes == (
        "3 of 1,013 rows have no ok; they are left out of everything",
        "12 of 1,010 rows have no race; they are counted as unknown and left out of the comparison",
    )
    assert result.details["rows"] == 1013
    assert result.details["unknown"] == {"race": 12}
    assert result.details["missing_outcomes"] == 3
    apart = difference(result)
    unknown = apart.groups[-1]
    assert unknown.about == {"race": "unknown"}
    assert unknown.estimate.n == 12
    assert unknown.estimate.value == 1.0
    assert apart.estimate.n == 998
    rate_of_purple = 324 / 499
    rate_of_green = 114 / 499
    assert apart.estimate.value == pytest.approx(rate_of_purple - rate_of_green)
    assert "race unknown" not in by_name(ratio(result))


def test_a_group_called_unknown_is_a_group():
    without_race = pd.DataFrame({"race": [None], "ok": [1]})
    with_race = log(unknown=(5, 50), a=(20, 50))
    frame = pd.concat([with_race, without_race])
    result = measure_log(frame, outcome="ok", over="race")
    groups = difference(result).groups
    sizes = {str(group): group.estimate.n for group in groups}
    assert sizes == {"race a": 50, "race unknown": 50, "race missing": 1}


RACES = ["green", "purple", "red"]


def declared_in_call(frame):
    return frame, {"groups": {"race": RACES}}


def declared_by_pandas(frame):
    return frame.astype({"race": pd.CategoricalDtype(RACES)}), {}


def declared_by_polars(frame):
    lazy = pl.from_pandas(frame).lazy()
    race = pl.col("race").cast(pl.Enum(RACES))
    return lazy.with_columns(race), {}


EMPTY: dict[str, Any] = {
    "declared": declared_in_call,
    "pandas": declared_by_pandas,
    "polars": declared_by_polars,
}


@pytest.mark.parametrize("how", EMPTY)
def test_an_empty_group_never_reads_as_fair(how):
    declare = EMPTY[how]
    frame, options = declare(log(green=(4500, 9000), purple=(4500, 9000)))
    result = measure_log(
        frame,
        outcome="ok",
        over="race",
        limit=0.5,
        least_ratio=0.5,
        support=0,
        **options,
    )
    assert result.verdict == "undecided"
    assert difference(result).estimate.high == 1.0
    assert ratio(result).estimate.low == 0.0
    for finding in result.findings:
        red = by_name(finding)["race red"]
        assert math.isnan(red.value)
        assert red.low == 0.0
        assert red.high == 1.0
        assert red.n == 0
    assert "1 of 3 groups of race have no rows" in result.notes[0]
    assert "race red" in result.notes[0]
    # What is certain without it stays so.
    frame, options = declare(LOANS)
    result = measure_log(frame, outcome="ok", over="race", limit=0.1, support=0, **options)
    assert result.verdict == "fail"


def test_combinations_that_no_row_has_are_empty_groups():
    frame = pd.DataFrame(
        {
            "a": ["x", "x", "y"] * 200,
            "b": ["s", "t", "s"] * 200,
            "ok": [1, 0, 1] * 200,
        }
    )
    compare = partial(measure_log, outcome="ok", over=["a", "b"], support=0)
    result = compare(frame, limit=0.9)
    assert by_name(difference(result))["a y, b t"].n == 0
    assert difference(result).estimate.high == 1
    six = list(range(6)) * 50
    ok = [0, 1] * 150
    many = pd.DataFrame({"a": six, "b": six, "ok": ok})
    result = compare(many)
    assert len(difference(result).groups) == 6
    assert len(ratio(result).groups) == 6
    assert difference(result).estimate.high == 1.0
    assert ratio(result).estimate.low == 0.0
    assert "30 of 36 groups of a and b have no rows" in result.notes[0]


def test_small_groups_are_listed_and_left_out():
    frame = log(green=(500, 1000), purple=(500, 1000), amber=(0, 7))
    frame = frame.astype({"race": pd.CategoricalDtype(["red", *frame["race"].unique()])})
    every = measure_log(frame, outcome="ok", over="race", limit=0.2, support=0)
    assert difference(every).estimate.value == 0.5
    result = measure_log(frame, outcome="ok", over="race", limit=0.2)
    assert result.verdict == "pass"
    assert difference(result).estimate.n == 2000
    assert by_name(difference(result))["race amber"].n == 7
    assert set(by_name(ratio(result))) == {"race green", "race purple"}
    assert result.notes[0] == (
        "under 2 % of the rows, shown and left out of the comparison, and nothing is decided of"
        " them: race red (0 rows); race amber (7 rows)"
    )
    assert result.details["left_out"] == [
        {"over": ["race"], "about": {"race": "red"}, "n": 0},
        {"over": ["race"], "about": {"race": "amber"}, "n": 7},
    ]


def test_groups_that_are_declared_are_compared_however_small():
    frame = log(green=(500, 1000), purple=(500, 1000), amber=(0, 7))
    compare = partial(measure_log, frame, outcome="ok", over="race", limit=0.2)
    assert compare().verdict == "pass"
    with_nobody = compare(groups={"race": ["red"]})
    assert with_nobody.verdict == "undecided"
    assert "race red" in with_nobody.notes[-2]
    with_few = compare(groups={"race": ["amber"]})
    assert difference(with_few).estimate.value == 0.5
    assert with_few.details["left_out"] == []


def test_one_group_is_nothing_to_compare():
    one_seen = log(green=(20, 50))
    two_declared = one_seen.astype({"race": pd.CategoricalDtype(["green", "x"])})
    for frame in (one_seen, two_declared):
        result = measure_log(frame, outcome="ok", over="race", limit=0.9, least_ratio=0.1)
        assert result.verdict == "undecided"
        for finding in result.findings:
            assert "fewer than two groups of race have decisions" in finding.claim
            assert ends(finding) == (0.0, 1.0)
            assert finding.estimate.n == 0
            assert finding.verdict == "undecided"


def test_nothing_favourable_leaves_the_ratio_undefined():
    result = measure_log(
        log(a=(0, 900), b=(0, 900)),
        outcome="ok",
        over="race",
        limit=0.1,
        least_ratio=0.8,
    )
    assert "undefined" in ratio(result).claim
    assert ratio(result).verdict == "undecided"
    # Where nobody got the favourable outcome, equal rates are no evidence.
    assert difference(result).verdict == "undecided"
    assert difference(result).unfavoured
    assert result.verdict == "undecided"


@pytest.mark.parametrize(
    ("outcomes", "positive"),
    [
        (["yes", "no"], "yes"),
        ([True, False], None),
        ([True, False], True),
        ([1, 0], True),
        ([1.0, 0.0], 1),
        ([2, 1], 2),
    ],
)
def test_outcomes_of_any_kind(outcomes, positive):
    favourable, unfavourable = outcomes
    renamed = LOANS["ok"].map({1: favourable, 0: unfavourable})
    frame = LOANS.assign(ok=renamed)
    result = measure_log(frame, outcome="ok", over="race", positive=positive)
    assert difference(result).estimate.value == pytest.approx(0.42)


def test_an_outcome_that_never_occurs():
    search = partial(measure_log, outcome="ok", over="race")
    all_refused = pd.Categorical(["no"] * 1000, ["no", "yes"])
    never = LOANS.assign(ok=all_refused)
    declared = search(never, positive="yes")
    assert difference(declared).estimate.value == 0
    zeros = search(LOANS.assign(ok=0), positive=1)
    assert difference(zeros).estimate.value == 0
    plain = LOANS.assign(ok="no")
    words = ("positive = 'yes'", "'no'")
    refused(UsageError, lambda: search(plain, positive="yes"), *words)


def test_the_result_survives_json(tmp_path):
    result = measure_log(
        people(),
        outcome="ok",
        over=["sex", "age"],
        bins={"age": [18, 90]},
        limit=0.1,
        least_ratio=0.8,
    )
    text = result.to_json(tmp_path / "found.json")
    jsonschema.validate(json.loads(text), results.schema())
    back = eh.Result.from_json(tmp_path / "found.json")
    assert back.digest == result.digest
    findings = [str(finding) for finding in result.findings]
    findings_read = [str(finding) for finding in back.findings]
    assert findings_read == findings
    odd = LOANS.assign(race=[math.inf, -0.5] * 500)
    text = measure_log(odd, outcome="ok", over="race").to_json()
    jsonschema.validate(json.loads(text), results.schema())


HITS_AND_MISSES = st.tuples(st.integers(0, 30), st.integers(0, 30))


@settings(deadline=None, max_examples=examples(12))
@given(st.dictionaries(st.sampled_from("abcd"), HITS_AND_MISSES, min_size=1))
def test_any_counts_give_a_valid_result(counts):
    rates = {}
    for name, (hits, misses) in counts.items():
        rates[name] = (hits, hits + misses)
    frame = log(**rates)
    if frame.empty:
        return
    declared = {"race": ["a", "b", "c", "d"]}
    result = measure_log(
        frame,
        outcome="ok",
        over="race",
        limit=0.3,
        least_ratio=0.8,
        groups=declared,
    )
    document = json.loads(result.to_json())
    jsonschema.validate(document, results.schema())
    sizes = [group.estimate.n for group in difference(result).groups]
    assert sum(sizes) == len(frame)
    if len(frame["race"].unique()) < 4:
        assert result.verdict != "pass"


@pytest.mark.parametrize(
    ("kind", "how", "words"),
    [
        (UsageError, {"over": None}, ["over = None", "'race'"]),
        (UsageError, {"over": []}, ["over"]),
        (UsageError, {"over": ["race", "race"]}, ["'race'", "each once"]),
        (UsageError, {"over": "ok"}, ["outcome itself", "'race'"]),
        (DataError, {"over": "rase"}, ["'rase'", "did you mean 'race'"]),
        (DataError, {"over": [1]}, ["over names 1"]),
        (DataError, {"outcome": "okk"}, ["'okk'", "did you mean 'ok'"]),
        (UsageError, {"limit": 1.5}, ["limit is 1.5"]),
        (UsageError, {"limit": "0.1"}, ["limit is '0.1'"]),
        (UsageError, {"least_ratio": 0}, ["least_ratio is 0"]),
        (UsageError, {"level": 1}, ["level is 1"]),
        (UsageError, {"support": 1}, ["support is 1"]),
        (UsageError, {"positive": 3}, ["positive = 3", "0, 1"]),
        (UsageError, {"positive": ["yes"]}, ["positive = ['yes']"]),
        (UsageError, {"bins": {"agee": [1, 2]}}, ["'agee'"]),
        (UsageError, {"bins": {"race": [1, 2]}}, ["'race'", "does not hold numbers"]),
        (UsageError, {"bins": [1, 2]}, ["dictionary"]),
        (UsageError, {"over": "age", "bins": {"age": 5}}, ["rising list of cut points"]),
        (UsageError, {"over": "age", "bins": {"age": [5, 1]}}, ["'age'", "rising"]),
        (
            UsageError,
            {"over": "age"},
            ["'age' holds 1,000 different numbers", "bins={'age'"],
        ),
        (
            UsageError,
            {"outcome": "age", "positive": 5},
            ["'age' holds 1,000 different numbers"],
        ),
        (UsageError, {"groups": {"raze": ["a"]}}, ["did you mean 'race'"]),
        (SpaceError, {"groups": {"race": ["a", None]}}, ["'race'"]),
        (
            UsageError,
            {"over": "age", "bins": {"age": [0, 9]}, "groups": {"age": [1]}},
            ["both name 'age'"],
        ),
        (DataError, {"over": "none"}, ["'none' is missing in every row"]),
        (DataError, {"outcome": "none"}, ["'none' is missing in all 1,000 rows"]),
        (UsageError, {"limt": 0.1}, ["did you mean 'limit'"]),
    ],
)
def test_mistakes_get_a_sentence(kind, how, words):
    names = [f"person {number}" for number in range(1000)]
    frame = LOANS.assign(age=np.arange(1000.0), name=names, none=None)
    arguments = {"outcome": "ok", "over": "race", **how}
    refused(kind, lambda: measure_log(frame, **arguments), *words)


def test_a_thousand_groups_are_compared_and_no_more_are_listed():
    names = [f"person {number}" for number in range(1000)]
    frame = LOANS.assign(name=names)
    found = measure_log(frame, outcome="ok", over="name", support=0, limit=0.1)
    difference, ratio = found.findings
    assert len(difference.groups) == len(ratio.groups) == 1000
    assert difference.estimate.value == 1
    one_more = pd.concat([frame, frame.head(1).assign(name="somebody else")])
    refused(
        UsageError,
        lambda: measure_log(one_more, outcome="ok", over="name", support=0),
        "1,001 groups",
        "over the 1,000 that are listed",
    )


def test_a_seed_is_kept_and_changes_nothing_else():
    without = measure_log(LOANS, outcome="ok", over="race")
    with_seed = measure_log(LOANS, outcome="ok", over="race", seed=7)
    assert without.seed == 0
    assert with_seed.seed == 7
    assert without.findings == with_seed.findings


def test_differences_and_ratios_of_a_set_have_keys_of_their_own():
    result = measure_log(LOANS, outcome="ok", over="race")
    keys = [finding.key for finding in result.findings]
    assert sorted(keys) == ["rate difference of race", "rate ratio of race"]


def test_frames_that_cannot_be_used():
    search = partial(measure_log, outcome="ok", over="race")
    empty = LOANS.iloc[:0]
    refused(DataError, lambda: search(empty), "no rows")
    empty_number = empty.assign(a=1.0)
    binned = partial(search, empty_number, over="a", bins={"a": [0, 1]})
    refused(DataError, binned, "no rows")
    refused(DataError, lambda: search([1, 2]), "not a dataframe")
    twice = pd.DataFrame([[1, 2]], columns=["ok", "ok"])
    refused(DataError, lambda: search(twice), "twice")
    lists = LOANS.assign(race=[["a"]] * 1000)
    refused(DataError, lambda: search(lists), "race")
    words = LOANS.astype({"ok": str})
    refused(UsageError, lambda: search(words), "positive", "did you mean '1'")


def test_recorded_incomes(adult):
    rich = adult.labels == adult.positive
    result = measure_log(
        adult.frame,
        outcome="income",
        positive=adult.positive,
        over=[("sex",), ("race",), ("sex", "race")],
        limit=0.1,
        support=0,
    )
    assert result.verdict == "fail"
    for finding in result.findings:
        columns = [adult.frame[name] for name in finding.about]
        by_group = rich.groupby(columns)
        rates = by_group.mean()
        if finding.least:
            expected = rates / rates.max()
            value = expected.min()
        else:
            expected = rates
            value = rates.max() - rates.min()
        assert finding.estimate.value == pytest.approx(value)
        assert finding.estimate.low < value < finding.estimate.high
        values = [group.estimate.value for group in finding.groups]
        sizes = [group.estimate.n for group in finding.groups]
        assert values == pytest.approx(expected.tolist())
        assert sizes == by_group.size().tolist()
