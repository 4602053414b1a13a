"""mine_log: the same findings in frames of any engine, and rows left out that lack something."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import evenhand as eh
from evenhand.results.result import schema
from evenhand.runtime.errors import DataError, SpaceError, UsageError
from evenhand.space.rule import Rule
from tests.support.helpers import refused

OVER = ["sex", "race", "age"]


def older_women(frame: Any) -> Any:
    is_woman = frame["sex"] == "F"
    is_older = frame["age"] >= 45
    return is_woman & is_older


def log(n: int = 2000, seed: int = 0) -> pd.DataFrame:
    """Decisions in which women from 45 on lose 30 points, and what should have been decided."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "sex": rng.choice(["F", "M"], n),
            "race": rng.choice(["a", "b", "c"], n, p=[0.5, 0.3, 0.2]),
            "age": rng.integers(20, 70, n),
        }
    )
    rate = 0.6 - 0.3 * older_women(frame)
    is_ok = rng.uniform(size=n) < rate
    has_paid = rng.uniform(size=n) < 0.5
    frame["ok"] = is_ok.astype(int)
    frame["paid"] = has_paid.astype(int)
    frame["other"] = 1.5
    return frame


LOG = log()


def holes() -> pd.DataFrame:
    """The same decisions, in which something is missing here and there."""
    rng = np.random.default_rng(1)
    frame = LOG.astype({"age": float, "ok": float, "paid": float})
    shares = {"sex": 0.05, "age": 0.1, "ok": 0.02, "paid": 0.03}
    for name, share in shares.items():
        missing = rng.uniform(size=len(frame)) < share
        frame.loc[missing, name] = None
    return frame


ENGINES = {
    "pandas": lambda frame: frame,
    "nullable": lambda frame: frame.convert_dtypes(),
    "objects": lambda frame: frame.astype({"sex": object, "race": "category"}),
    "polars": pl.from_pandas,
    "polars lazy": lambda frame: pl.from_pandas(frame).lazy(),
    "polars with NaN": lambda frame: pl.from_pandas(frame, nan_to_null=False),
    "pyarrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
}


def entry(result: eh.Result) -> Any:
    (found,) = result.details["mine"]
    return found


def test_it_says_who_was_treated_differently():
    result = eh.mine_log(LOG, outcome="ok", over=OVER, limit=0.1)
    worst = result.worst
    assert str(worst.about) == "sex F, age at least 45"
    mask = older_women(LOG)
    inside = LOG["ok"][mask].mean()
    outside = LOG["ok"][~mask].mean()
    assert worst.estimate.value == pytest.approx(outside - inside)
    assert worst.claim.startswith(
        f"{100 * inside:.1f} % of people with sex F, age at least 45 get the outcome 1, and"
        f" {100 * outside:.1f} % of everyone else"
    )
    assert worst.estimate.population == "decisions like the recorded ones"
    assert result.verdict == "fail"


def test_it_says_how_it_was_found():
    result = eh.mine_log(LOG, outcome="ok", over=OVER, limit=0.1)
    mining = entry(result)
    assert mining["method"] == "recorded"
    assert mining["rows"] == 2000
    assert mining["queries"] == 0
    assert mining["candidates"] == (2 + 1) * (6 + 1) * (54 + 1) - 1
    assert result.job == "mine_log"
    assert result.spent.queries == 0
    assert result.notes == ()
    for finding in result.findings:
        assert finding.cases == ()
    assert [feature["name"] for feature in result.space["features"]] == OVER


def test_a_result_survives_json(tmp_path):
    path = tmp_path / "log.json"
    result = eh.mine_log(LOG, **HOW)
    text = result.to_json(path)
    jsonschema.Draft202012Validator(schema()).validate(json.loads(text))
    back = eh.Result.from_json(path)
    again = eh.mine_log(LOG, **HOW)
    assert back.digest == result.digest
    assert again.digest == result.digest
    assert isinstance(back.worst.about, Rule)
    space = eh.Space.from_dict(result.space)
    software = eh.Subject(lambda frame: frame["age"] > 0, space, positive=True)
    refused(UsageError, lambda: eh.replay(path, software), "no cases to replay")


@pytest.mark.parametrize(
    "how",
    [
        pytest.param({}, marks=pytest.mark.slow),
        {
            "bins": {"age": [30, 50]},
            "depth": 2,
            "support": 0.1,
        },
        pytest.param({"binning": "quantiles"}, marks=pytest.mark.slow),
    ],
)
def test_it_finds_what_mine_finds_on_the_same_rows(how):
    space = eh.Space.from_frame(LOG[OVER], OVER)

    def kinds(people: Any) -> list[Any]:
        return list(people[OVER].itertuples(index=False, name=None))

    decided = dict(zip(kinds(LOG), LOG["ok"], strict=True))
    # One decision for each kind of people, as software has.
    frame = LOG.drop_duplicates(OVER, keep="last")
    frame = frame.assign(ok=[decided[row] for row in kinds(frame)])

    def decide(people: Any) -> Any:
        return [decided.get(row, 0) for row in kinds(people)]

    tested = eh.Subject(decide, space, positive=1)
    asked = eh.mine(tested, data=frame, treatment="rows", **how)
    recorded = eh.mine_log(frame, outcome="ok", over=OVER, **how)
    for key in ("candidates", "frequent", "examined", "depth", "stories", "rest", "maps"):
        assert text_of(asked, key) == text_of(recorded, key)
    asked_lows = [finding.estimate.low for finding in asked.findings]
    recorded_lows = [finding.estimate.low for finding in recorded.findings]
    assert asked_lows == recorded_lows


def text_of(result: eh.Result, key: str) -> str:
    """Return a part of the details as text, without the population, which differs."""
    mining = entry(result)
    return json.dumps(mining[key]).replace(mining["population"], "")


HOW: dict[str, Any] = {
    "outcome": "ok",
    "over": OVER,
    "bins": 4,
    "top": 3,
}
TRUE: dict[str, Any] = {
    **HOW,
    "truth": "paid",
    "score": ["rate", "tpr", "fpr"],
}


@pytest.fixture(scope="module")
def of_holes() -> eh.Result:
    return eh.mine_log(holes(), **TRUE)


@pytest.fixture(scope="module")
def of_whole() -> eh.Result:
    return eh.mine_log(LOG, **HOW)


@pytest.mark.parametrize("engine", ENGINES)
def test_frames_of_any_engine_give_the_same(engine, of_holes, of_whole):
    as_engine = ENGINES[engine]
    found = eh.mine_log(as_engine(holes()), **TRUE)
    assert found.notes == of_holes.notes
    assert found.details == of_holes.details
    for finding, expected in zip(found.findings, of_holes.findings, strict=True):
        assert str(finding) == str(expected)
    complete = eh.mine_log(as_engine(LOG), **HOW)
    assert complete.details == of_whole.details


def test_rows_without_an_outcome_are_left_out_and_counted():
    frame = holes()
    how: dict[str, Any] = {
        "outcome": "ok",
        "over": ["sex", "age"],
        "top": 3,
    }
    result = eh.mine_log(frame, **how)
    kept = frame.dropna(subset=["ok"])
    assert entry(result)["rows"] == len(kept)
    missing = frame["ok"].isna().sum()
    note = f"{missing:,} of {len(frame):,} rows have no ok; they are left out"
    assert result.notes == (note,)
    of_kept = eh.mine_log(kept, **how)
    assert result.details == of_kept.details
    # A column that is not named may be missing everywhere.
    without_race = eh.mine_log(frame.assign(race=None), **how)
    assert without_race.digest == result.digest


@pytest.mark.parametrize(
    ("outcomes", "positive", "favoured"),
    [
        ((True, False), None, "1"),
        pytest.param((1.0, 0.0), 1, "1", marks=pytest.mark.slow),
        (("granted", "refused"), "granted", "granted"),
        pytest.param((2, 7), 2, "2", marks=pytest.mark.slow),
    ],
)
def test_any_outcome_may_be_the_favourable_one(outcomes, positive, favoured, of_whole):
    good, bad = outcomes
    frame = LOG.assign(ok=[good if ok else bad for ok in LOG["ok"]])
    found = entry(eh.mine_log(frame, positive=positive, **HOW))
    assert found["favoured"] == favoured
    plain = entry(of_whole)
    assert found["stories"] == plain["stories"]
    other = eh.mine_log(frame, positive=bad, **HOW)
    difference = plain["stories"][0]["difference"]
    assert other.worst.estimate.value == pytest.approx(abs(difference))


def test_true_outcomes_give_gaps_in_error_rates():
    result = eh.mine_log(
        LOG,
        outcome="ok",
        over=OVER,
        truth="paid",
        score=["tpr", "fpr"],
    )
    space = eh.Space.from_dict(result.space)
    points = space.encode(LOG)
    paid = LOG["paid"] == 1
    for mining, kept in zip(result.details["mine"], [paid, ~paid], strict=True):
        assert mining["rows"] == kept.sum()
        for story in mining["stories"]:
            rule = Rule.from_dict(story["rule"])
            mask = rule.mask(points, space)
            inside = LOG["ok"][mask & kept]
            outside = LOG["ok"][~mask & kept]
            gap = inside.mean() - outside.mean()
            assert story["difference"] == pytest.approx(gap)
            assert story["rows"] == len(inside)
    both = {finding.claim.partition(", ")[0] for finding in result.findings}
    assert both == {
        "of those whose true outcome is favourable",
        "of those whose true outcome is not favourable",
    }
    assert "true outcome" in result.worst.estimate.population


def test_several_sets_share_one_level():
    both = eh.mine_log(LOG, outcome="ok", over=[("sex", "age"), ("race",)])
    alone = eh.mine_log(LOG, outcome="ok", over=["sex", "age"])
    first, second = both.details["mine"]
    assert first["over"] == ["sex", "age"]
    assert second["over"] == ["race"]
    worst = first["stories"][0]
    worst_alone = entry(alone)["stories"][0]
    assert worst["difference"] == worst_alone["difference"]
    assert worst["low"] < worst_alone["low"]


def test_a_single_name_is_a_set_of_one():
    single = eh.mine_log(LOG, outcome="ok", over="race")
    assert entry(single)["over"] == ["race"]


def test_the_bound_on_all_others_comes_last_however_little_is_known():
    """Also where no rule set is sure to differ, and a small group of the others differs most."""
    for seed in range(12):
        rng = np.random.default_rng(seed)
        noise = LOG[:200].assign(ok=rng.integers(0, 2, 200))
        for over in ("sex", ["sex", "age"]):
            result = eh.mine_log(
                noise,
                outcome="ok",
                over=over,
                bins=3,
                top=2,
            )
            worst = result.worst
            last = result.findings[-1]
            chosen = entry(result)["stories"]
            assert bool(worst.about.conditions) == bool(chosen)
            assert last.about == Rule(())
            assert last.estimate.low <= worst.estimate.low
            if not chosen:
                assert worst is last
                assert last.claim.startswith("no rule set is shown to be treated differ")
                assert last.estimate.low == 0


def test_few_decisions_are_undecided_and_never_fair():
    def mined(frame: Any, **options: Any) -> eh.Result:
        return eh.mine_log(frame, outcome="ok", over="sex", limit=0.05, **options)

    alike = LOG.assign(ok=1)
    assert mined(alike[:30]).verdict == "undecided"
    many = pd.concat([alike] * 20)
    assert mined(many).verdict == "pass"
    assert mined(LOG, level=0.8).exit_code == 1


def no(kind: Any, words: list[str], *, frame: Any = LOG, **options: Any) -> None:
    """Check that mining a log is refused in a sentence with these words."""
    given = {"outcome": "ok", "over": OVER, **options}
    refused(kind, lambda: eh.mine_log(frame, **given), *words)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"outcome": "okk"}, ["outcome = 'okk'", "did you mean 'ok'"]),
        ({"outcome": None}, ["outcome = None"]),
        ({"over": "sexx"}, ["over names 'sexx'", "did you mean 'sex'"]),
        ({"over": ["sex", "ok"]}, ["over names 'ok'"]),
        ({"truth": "pay", "score": "tpr"}, ["truth = 'pay'", "did you mean 'paid'"]),
    ],
)
def test_columns_that_are_not_there_are_refused(options, words):
    no(DataError, words, **options)


@pytest.mark.parametrize("over", [None, [], "", [()], 5, [5], [["sex"], 5]])
def test_what_names_no_columns_is_refused(over):
    no(UsageError, ["over = ", "names no columns"], over=over)


@pytest.mark.parametrize("support", [0, 1, -1, 1.5, "a", True])
def test_a_wrong_support_is_refused(support):
    no(UsageError, ["support is"], support=support)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"outcome": "other"}, ["not 0 and 1"]),
        ({"positive": 3}, ["positive = 3 is not an outcome of 'ok'"]),
        ({"over": ["sex", "sex"]}, ["twice"]),
        ({"over": [("sex", "age"), ("age", "sex")]}, ["twice"]),
        ({"truth": "ok", "score": "tpr"}, ["truth = 'ok' is the column of outcomes"]),
        ({"score": "tpr"}, ["needs true outcomes"]),
        ({"score": "odds", "truth": "paid"}, ["score = 'odds'"]),
        ({"score": None}, ["score = None"]),
        ({"binning": "equal"}, ["unknown binning"]),
        ({"bins": {"other": 3}}, ["bins names 'other'"]),
        ({"depth": 0}, ["depth is 0"]),
        ({"top": 2.5}, ["top = 2.5"]),
        ({"limit": -1}, ["limit is -1"]),
        ({"level": 2}, ["level is 2"]),
        ({"positiv": 1}, ["did you mean 'positive'"]),
    ],
)
def test_options_that_are_wrong_are_refused(options, words):
    no(UsageError, words, **options)


def test_true_outcomes_that_compare_nobody_are_refused():
    words = LOG.assign(paid=np.where(LOG["paid"] == 1, "yes", "no"))
    sentence = "truth = 'paid' has no outcome that is favourable (1)"
    no(DataError, [sentence], frame=words, truth="paid", score="fpr")
    all_paid = LOG.assign(paid=1)
    no(DataError, ["nobody to compare"], frame=all_paid, truth="paid", score="fpr")


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (LOG[:0], "no rows"),
        (LOG.assign(ok=np.nan), "no row has all of ok"),
        ([1, 2], "not a dataframe"),
    ],
)
def test_frames_without_decisions_are_refused(frame, words):
    no(DataError, [words], frame=frame)


def persons(n: int) -> list[str]:
    return [f"person {number}" for number in range(n)]


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (LOG.assign(sex="F"), "no rule set over sex"),
        (LOG.assign(sex=pd.Timedelta("1D")), "cannot sample"),
        (LOG.assign(sex=persons(2000)), "no rule set over sex"),
    ],
)
def test_columns_that_have_no_rule_sets_are_refused(frame, words):
    no(DataError, [words], frame=frame, over="sex")


def test_a_column_of_very_many_levels_is_refused():
    many = pd.concat([LOG] * 6).assign(sex=persons(12_000))
    no(SpaceError, ["'sex' has", "take fewer levels"], frame=many, over="sex")


def test_what_is_missing_is_a_condition_of_its_own():
    rng = np.random.default_rng(0)
    job = pd.Series(rng.choice(["clerk", "nurse"], 2000)).mask(rng.random(2000) < 0.2)
    income = pd.Series(rng.integers(0, 100, 2000)).mask(rng.random(2000) < 0.2)
    frame = pd.DataFrame({"job": job, "income": income})
    frame["ok"] = (~income.isna()).astype(int)
    by_income = eh.mine_log(frame, outcome="ok", over=["job", "income"])
    assert str(by_income.worst.about) == "income unknown"
    frame["ok"] = (~job.isna()).astype(int)
    by_job = eh.mine_log(frame, outcome="ok", over=["job", "income"])
    assert str(by_job.worst.about) in ("job unknown", "job known")


def test_cut_points_beyond_the_rows_and_words_for_dates_are_taken():
    days = pd.date_range("2020-01-01", periods=800, freq="D").strftime("%Y-%m-%d")
    late = days >= "2021-01-01"
    log = pd.DataFrame({"day": days, "age": [20, 50] * 400, "ok": late.astype(int)})
    bins: Any = {"day": "year", "age": [0, 40, 99]}
    found = eh.mine_log(log, outcome="ok", over=["day", "age"], bins=bins)
    assert str(found.worst.about) == "day before 2021-01-01"


def test_the_truth_may_have_words_of_its_own():
    people = 400
    log = pd.DataFrame({"sex": ["F", "M"] * people, "ok": ["no", "yes"] * people})
    log["paid"] = ["paid", "paid", "late", "paid"] * (people // 2)
    options: dict[str, Any] = {"outcome": "ok", "positive": "yes", "over": "sex"}
    options["truth"] = "paid"
    found = eh.mine_log(log, score="tpr", truth_positive="paid", **options)
    assert found.worst.score == "tpr"
    with pytest.raises(UsageError, match="truth_positive = 'on time'"):
        eh.mine_log(log, score="tpr", truth_positive="on time", **options)
