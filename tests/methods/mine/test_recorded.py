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
    older_women = (frame["sex"] == "F") & (frame["age"] >= 45)
    rate = 0.6 - 0.3 * older_women
    return frame.assign(
        ok=(rng.uniform(size=n) < rate).astype(int),
        paid=(rng.uniform(size=n) < 0.5).astype(int),
        other=1.5,
    )


LOG = log()


def holes() -> pd.DataFrame:
    """The same decisions, in which something is missing here and there."""
    rng = np.random.default_rng(1)
    frame = LOG.astype({"age": float, "ok": float, "paid": float})
    for name, share in {"sex": 0.05, "age": 0.1, "ok": 0.02, "paid": 0.03}.items():
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
    mining = entry(result)
    assert str(result.worst.about) == "sex F, age at least 45"
    mask = (LOG["sex"] == "F") & (LOG["age"] >= 45)
    inside = LOG["ok"][mask].mean()
    outside = LOG["ok"][~mask].mean()
    assert result.worst.estimate.value == pytest.approx(outside - inside)
    assert result.worst.claim.startswith(
        f"people with sex F, age at least 45 get the outcome 1 {100 * inside:.1f} % of the time,"
        f" everyone else {100 * outside:.1f} %"
    )
    assert mining["method"] == "recorded"
    assert mining["rows"] == 2000
    assert mining["queries"] == 0
    assert mining["candidates"] == (2 + 1) * (6 + 1) * (54 + 1) - 1
    assert result.job == "mine_log"
    assert result.verdict == "fail"
    assert result.spent.queries == 0
    assert result.notes == ()
    assert result.worst.estimate.population == "decisions like the recorded ones"
    assert not any(finding.cases for finding in result.findings)
    assert [feature["name"] for feature in result.space["features"]] == OVER


def test_a_result_survives_json(tmp_path):
    result = eh.mine_log(LOG, **HOW)
    text = result.to_json(tmp_path / "log.json")
    jsonschema.Draft202012Validator(schema()).validate(json.loads(text))
    back = eh.Result.from_json(tmp_path / "log.json")
    assert back.digest == result.digest == eh.mine_log(LOG, **HOW).digest
    assert isinstance(back.worst.about, Rule)
    nothing = eh.Subject(
        lambda frame: frame["age"] > 0, eh.Space.from_dict(result.space), positive=True
    )
    refused(
        UsageError, lambda: eh.replay(tmp_path / "log.json", nothing), "no cases to replay"
    )


@pytest.mark.parametrize(
    "how",
    [
        pytest.param({}, marks=pytest.mark.slow),
        {"bins": {"age": [30, 50]}, "depth": 2, "support": 0.1},
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
    one = entry(asked)
    other = entry(recorded)
    for key in ("candidates", "frequent", "examined", "depth", "stories", "rest", "maps"):
        asked_text = json.dumps(one[key]).replace(one["population"], "")
        recorded_text = json.dumps(other[key]).replace(other["population"], "")
        assert asked_text == recorded_text
    assert [finding.estimate.low for finding in asked.findings] == [
        f.estimate.low for f in recorded.findings
    ]


HOW: dict[str, Any] = {"outcome": "ok", "over": OVER, "bins": 4, "top": 3}
TRUE: dict[str, Any] = {**HOW, "truth": "paid", "score": ["rate", "tpr", "fpr"]}


@pytest.fixture(scope="module")
def expected() -> tuple[eh.Result, eh.Result]:
    return eh.mine_log(holes(), **TRUE), eh.mine_log(LOG, **HOW)


@pytest.mark.parametrize("engine", ENGINES)
def test_frames_of_any_engine_give_the_same(engine, expected):
    some, whole = expected
    found = eh.mine_log(ENGINES[engine](holes()), **TRUE)
    assert found.notes == some.notes
    assert found.details == some.details
    assert list(map(str, found.findings)) == list(map(str, some.findings))
    complete = eh.mine_log(ENGINES[engine](LOG), **HOW)
    assert complete.details == whole.details


def test_rows_with_something_missing_are_left_out_and_counted():
    frame = holes()
    how: dict[str, Any] = {"outcome": "ok", "over": ["sex", "age"], "top": 3}
    result = eh.mine_log(frame, **how)
    kept = frame.dropna(subset=["sex", "age", "ok"])
    assert entry(result)["rows"] == len(kept)
    assert [note.partition(" of ")[0] for note in result.notes] == [
        f"{frame[name].isna().sum():,}" for name in ("sex", "age", "ok")
    ]
    assert "rows have no sex; they are left out" in result.notes[0]
    assert result.details == eh.mine_log(kept, **how).details
    # A column that is not named may be missing everywhere.
    assert eh.mine_log(frame.assign(race=None), **how).digest == result.digest


@pytest.mark.parametrize(
    ("outcomes", "positive", "favoured"),
    [
        ((True, False), None, "1"),
        pytest.param((1.0, 0.0), 1, "1", marks=pytest.mark.slow),
        (("granted", "refused"), "granted", "granted"),
        pytest.param((2, 7), 2, "2", marks=pytest.mark.slow),
    ],
)
def test_any_outcome_may_be_the_favourable_one(outcomes, positive, favoured):
    good, bad = outcomes
    frame = LOG.assign(ok=[good if ok else bad for ok in LOG["ok"]])
    found = entry(eh.mine_log(frame, positive=positive, **HOW))
    assert found["favoured"] == favoured
    plain = entry(eh.mine_log(LOG, **HOW))
    assert found["stories"] == plain["stories"]
    other = eh.mine_log(frame, positive=outcomes[1], **HOW)
    worst = plain["stories"][0]
    assert other.worst.estimate.value == pytest.approx(abs(worst["difference"]))


def test_true_outcomes_give_gaps_in_error_rates():
    result = eh.mine_log(LOG, outcome="ok", over=OVER, truth="paid", score=["tpr", "fpr"])
    space = eh.Space.from_dict(result.space)
    points = space.encode(LOG)
    paid = LOG["paid"] == 1
    for mining, kept in zip(result.details["mine"], [paid, ~paid], strict=True):
        assert mining["rows"] == kept.sum()
        for story in mining["stories"]:
            rule = Rule.from_dict(story["rule"])
            mask = rule.mask(points, space)
            inside = LOG["ok"][mask & kept].mean()
            outside = LOG["ok"][~mask & kept].mean()
            gap = inside - outside
            assert story["difference"] == pytest.approx(gap)
            assert story["rows"] == (mask & kept).sum()
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
    assert (first["over"], second["over"]) == (["sex", "age"], ["race"])
    worst = first["stories"][0]
    worst_alone = entry(alone)["stories"][0]
    assert worst["difference"] == worst_alone["difference"]
    assert worst["low"] < worst_alone["low"]
    single = eh.mine_log(LOG, outcome="ok", over="race")
    assert entry(single)["over"] == ["race"]


def test_the_bound_on_all_others_comes_last_however_little_is_known():
    """Also where no rule set is sure to differ, and a small group of the others differs most."""
    for seed in range(12):
        rng = np.random.default_rng(seed)
        noise = LOG[:200].assign(ok=rng.integers(0, 2, 200))
        for over in ("sex", ["sex", "age"]):
            result = eh.mine_log(noise, outcome="ok", over=over, bins=3, top=2)
            assert result.worst.about.conditions
            assert result.findings[-1].about == Rule(())
            assert result.findings[-1].estimate.low <= result.worst.estimate.low


def test_few_decisions_are_undecided_and_never_fair():
    few = LOG[:30].assign(ok=1)
    assert eh.mine_log(few, outcome="ok", over="sex", limit=0.05).verdict == "undecided"
    many = pd.concat([LOG.assign(ok=1)] * 20)
    assert eh.mine_log(many, outcome="ok", over="sex", limit=0.05).verdict == "pass"
    assert eh.mine_log(LOG, outcome="ok", over="sex", limit=0.05, level=0.8).exit_code == 1


def test_what_is_wrong_is_refused():
    def no(kind: Any, *words: str, frame: Any = LOG, **options: Any) -> None:
        refused(
            kind,
            lambda: eh.mine_log(frame, **{"outcome": "ok", "over": OVER, **options}),
            *words,
        )

    no(DataError, "outcome = 'okk'", "did you mean 'ok'", outcome="okk")
    no(DataError, "outcome = None", outcome=None)
    no(UsageError, "not 0 and 1", outcome="other")
    no(UsageError, "positive = 3 is not an outcome of 'ok'", positive=3)
    no(DataError, "over names 'sexx'", "did you mean 'sex'", over="sexx")
    no(DataError, "over names 'ok'", over=["sex", "ok"])
    for over in (None, [], "", [()], 5, [5], [["sex"], 5]):
        no(UsageError, "over = ", "names no columns", over=over)
    no(UsageError, "twice", over=["sex", "sex"])
    no(UsageError, "twice", over=[("sex", "age"), ("age", "sex")])
    no(DataError, "truth = 'pay'", "did you mean 'paid'", truth="pay", score="tpr")
    no(UsageError, "truth = 'ok' is the column of outcomes", truth="ok", score="tpr")
    no(UsageError, "needs true outcomes", score="tpr")
    no(UsageError, "score = 'odds'", score="odds", truth="paid")
    no(UsageError, "score = None", score=None)
    words = LOG.assign(paid=np.where(LOG["paid"] == 1, "yes", "no"))
    no(
        DataError,
        "truth = 'paid' has no outcome that is favourable (1)",
        frame=words,
        truth="paid",
        score="fpr",
    )
    no(DataError, "nobody to compare", frame=LOG.assign(paid=1), truth="paid", score="fpr")
    for support in (0, 1, -1, 1.5, "a", True):
        no(UsageError, "support is", support=support)
    no(UsageError, "unknown binning", binning="equal")
    no(UsageError, "bins names 'other'", bins={"other": 3})
    no(UsageError, "depth is 0", depth=0)
    no(UsageError, "top = 2.5", top=2.5)
    no(UsageError, "limit is -1", limit=-1)
    no(UsageError, "level is 2", level=2)
    no(UsageError, "did you mean 'positive'", positiv=1)
    no(DataError, "no rows", frame=LOG[:0])
    no(DataError, "no row has all of sex, race, age, ok", frame=LOG.assign(ok=np.nan))
    no(DataError, "not a dataframe", frame=[1, 2])
    no(DataError, "no rule set over sex", frame=LOG.assign(sex="F"), over="sex")
    no(
        DataError,
        "cannot sample",
        frame=LOG.assign(sex=pd.Timestamp("2020-01-01")),
        over="sex",
    )
    names = LOG.assign(sex=[f"person {number}" for number in range(len(LOG))])
    no(DataError, "no rule set over sex", frame=names, over="sex")
    no(
        SpaceError,
        "'sex' has",
        "take fewer levels",
        frame=pd.concat([names] * 6).assign(
            sex=[f"person {number}" for number in range(12_000)]
        ),
        over="sex",
    )
