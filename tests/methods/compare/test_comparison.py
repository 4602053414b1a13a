"""A comparison: what it holds and says, its verdicts, and the file that it makes."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand.methods.compare.comparison import Baseline, Comparison, Standing
from evenhand.methods.compare.regions import REGIONS
from evenhand.results.reading import evidence_of
from evenhand.runtime.errors import UsageError
from evenhand.statistics.estimate import Amount, Verdict
from tests.support.format_1 import OLD, read_old, runs_of
from tests.support.helpers import refused

RNG = np.random.default_rng(1)
N = 1500
SEX = RNG.choice(["f", "m"], N)
TRUTH = RNG.integers(0, 2, N)
ORIGINAL = np.where(RNG.random(N) < 0.85, TRUTH, 1 - TRUTH) | ((SEX == "m") & (RNG.random(N) < 0.5))
FALSE = (SEX == "m") & (TRUTH == 0)
TOLD = {
    "original": ORIGINAL,
    "better": np.where(FALSE & (RNG.random(N) < 0.6), 0, ORIGINAL),
    "slightly": np.where(FALSE & (RNG.random(N) < 0.02), 0, ORIGINAL),
    "worse": np.where((SEX == "f") & (RNG.random(N) < 0.3), 0, ORIGINAL),
    "blind": np.where(RNG.random(N) < 0.4, 0, ORIGINAL),
}


@pytest.fixture(scope="module")
def found() -> Comparison:
    return eh.compare(TOLD, TRUTH, SEX)


def test_what_it_says(found):
    assert found.original == "original"
    assert found.region["better"] == "win-win"
    assert found.region["worse"] == "lose-lose"
    assert (
        list(found.region)
        == list(found.plausible)
        == list(found.area)
        == list(found.share)
        == list(TOLD)[1:]
    )
    assert found.start[0].value == pytest.approx((ORIGINAL == TRUTH).mean())
    gap = ORIGINAL[SEX == "m"].mean() - ORIGINAL[SEX == "f"].mean()
    assert found.start[1].value == pytest.approx(gap)
    assert found.start[1].n == N
    assert found.start[1].level == 0.95
    assert found.start[1].population
    for one in found.standings:
        assert one.performance.low <= one.performance.value <= one.performance.high
        assert one.bias.low <= one.bias.value <= one.bias.high
        assert one.gain.low <= one.gain.value <= one.gain.high
        assert sum(one.share.values()) == pytest.approx(1)
        assert one.region in one.plausible
        assert math.isnan(one.area) == (one.region != "good trade-off")
    assert found["better"].plausible == ("win-win",)
    assert found["worse"].plausible == ("lose-lose",)
    assert str(found["better"]).startswith("better: win-win; performance ")
    assert str(found).count("\n") == 3


def test_verdicts(found):
    assert found["better"].verdict is Verdict.PASS
    assert found["worse"].verdict is Verdict.FAIL
    assert found["blind"].verdict is not Verdict.PASS
    assert found.verdict is Verdict.FAIL
    assert found.exit_code == 1
    assert found.check("better") is found
    with pytest.raises(AssertionError) as story:
        found.check()
    told = str(story.value)
    assert told.startswith("compare: fail\n  ")
    assert "worse: lose-lose" in told
    assert "better: win-win" not in told
    with pytest.raises(AssertionError, match="compare: fail\n  worse: lose-lose"):
        found.check("worse")
    refused(UsageError, lambda: found.check("beter"), "no 'beter'", "did you mean 'better'?")
    refused(UsageError, lambda: found["wurse"], "did you mean 'worse'?")


def test_the_story_of_one_does_not_tell_of_another(found):
    open_one = replace(found["better"], name="open", plausible=("poor trade-off", "good trade-off"))
    mixed = replace(found, standings=[open_one, found["worse"]])
    with pytest.raises(
        AssertionError,
        match="compare: undecided\n  open: undecided between poor trade-off and good",
    ):
        mixed.check("open")
    assert replace(found, standings=[open_one]).verdict is Verdict.UNDECIDED
    assert replace(found, standings=[open_one]).exit_code == 3
    assert replace(found, standings=[found["better"]]).exit_code == 0


def standing(
    name: str, region: str, plausible: tuple[str, ...], gain: tuple[float, float, float]
) -> Standing:
    some = eh.Estimate(0.5, 0.4, 0.6, 100, 0.95, "bootstrap")
    area = gain[0] if region == "good trade-off" else math.nan
    amount = Amount(*gain, 100, 0.95, "bootstrap")
    return Standing(name, some, some, region, plausible, area, amount, {region: 1.0})


@pytest.mark.parametrize("code", range(32))
def test_a_verdict_follows_from_what_is_plausible(code):
    plausible = tuple(name for at, name in enumerate(REGIONS) if code >> at & 1)
    if not plausible:
        return
    one = standing("a", plausible[0], plausible, (0.1, 0.0, 0.2))
    good = {"good trade-off", "win-win"}
    expected = (
        "pass" if set(plausible) <= good else "undecided" if set(plausible) & good else "fail"
    )
    assert one.verdict == expected
    if len(plausible) == 1:
        assert one.claim == f"a: {plausible[0]}"
    else:
        assert one.claim.startswith("a: undecided between ")
        assert all(name in one.claim for name in plausible)


def test_the_best_and_those_that_may_be(found):
    line = Baseline((0.0, 1.0), (0.8, 0.5), (0.3, 0.0), 1, "tightest", "exact")
    good, win, poor = ("good trade-off",), ("win-win",), ("poor trade-off",)
    every = [
        standing("a", *good, good, (0.2, 0.15, 0.25)),
        standing("b", *win, win, (0.3, 0.22, 0.4)),
        standing("c", *poor, poor, (0.0, 0.0, 0.9)),
        standing("d", *good, good, (0.1, 0.05, 0.2)),
    ]
    some = replace(found, standings=every, baseline=line)
    assert some.best == "b"
    assert some.contenders == ("a", "b")  # c is under the line for sure, and d cannot reach b
    assert replace(some, standings=[every[2]]).best is None
    assert replace(some, standings=[every[2]]).contenders == ()
    assert found.best == "better"
    assert found.best in found.contenders
    assert "worse" not in found.contenders


def test_frames(found):
    frame = found.to_frame()
    assert frame["name"].tolist() == list(TOLD)[1:]
    assert frame["bias.low"].tolist() == [one.bias.low for one in found.standings]
    assert frame[[f"share.{name}" for name in REGIONS]].sum(axis=1).tolist() == pytest.approx(
        [1] * 4
    )
    line = found.baseline.to_frame()
    assert list(line) == ["degree", "performance", "bias"]
    assert line["bias"].tolist() == pytest.approx(
        [found.start[1].value * (1 - step / 10) for step in range(11)]
    )
    assert found.baseline.scaled[0] == pytest.approx((1, 1))
    assert found.baseline.scaled[-1] == pytest.approx((0, 0))


def test_the_file(found, tmp_path):
    path = tmp_path / "found.json"
    text = found.to_json(path)
    assert path.read_text(encoding="utf-8") == text
    again = Comparison.from_json(path)
    assert again.digest == found.digest
    assert again.to_json() == text
    assert str(again) == str(found)
    table = json.loads(text)
    assert list(table) == [
        "format", "job", "verdict", "seed", "level", "stop", "original", "start", "standings", "findings", "baseline",
        "bias", "performance", "runs", "resampled", "versions", "notes", "spent", "digest",
    ]  # fmt: skip
    assert (table["format"], table["job"], table["verdict"], table["stop"]) == (
        2,
        "compare",
        "fail",
        "completed",
    )
    assert [
        (finding["key"], finding["score"], finding["unit"]) for finding in table["findings"]
    ] == [(f"gain of {one.name}", "gain", "amount") for one in found.standings]
    assert set(table["standings"][0]) == {
        "name",
        "region",
        "plausible",
        "area",
        "share",
        "performance",
        "bias",
        "gain",
    }
    assert set(table["baseline"]) == {
        "degrees",
        "performance",
        "bias",
        "label",
        "strategy",
        "method",
    }
    assert {"value", "low", "high", "n", "level", "method"} <= set(table["start"][0])
    assert table["standings"][0]["area"] is None


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"bias": "di", "overwrite": "majority"}, "a line with undefined points"),
        ({"bias": {name: 50.0 - at for at, name in enumerate(TOLD)}}, "scores of any size"),
        ({"performance": lambda true, told: float((true == told).sum())}, "a performance over 1"),
        ({"overwrite": "random"}, "labels at random"),
        ({"bias": "aod", "performance": "mcc", "positive": 0}, "another favourable label"),
    ],
)
def test_any_comparison_survives_its_file(options, what, tmp_path):
    found = eh.compare(TOLD, TRUTH, SEX, resamples=100, **options)
    found.to_json(tmp_path / "a.json")
    again = Comparison.from_json(tmp_path / "a.json")
    assert again.to_json() == found.to_json(), what
    assert again.baseline.label == found.baseline.label


def test_any_reader_knows_a_comparison(found):
    again = evidence_of(json.loads(found.to_json()), where="found.json")
    assert isinstance(again, Comparison)
    assert again.findings == found.findings
    assert [finding.judged for finding in again.findings] == [
        one.verdict for one in found.standings
    ]
    assert again.parts == (again,)
    assert (again.level, again.seed, again.stop) == (0.95, 0, eh.StopReason.COMPLETED)
    assert again.spent.queries == 0


@pytest.mark.parametrize("name", runs_of("compare"))
def test_a_comparison_of_format_1_is_told_as_it_was(name):
    document = OLD[name]["document"]
    found = read_old(name)
    assert isinstance(found, Comparison)
    assert [one.name for one in found.standings] == [
        table["name"] for table in document["standings"]
    ]
    assert [finding.key for finding in found.findings] == [
        f"gain of {one.name}" for one in found.standings
    ]
    assert {finding.unit for finding in found.findings} == {"amount"}
    assert found.baseline.strategy == document["baseline"]["strategy"]
    assert found.stop is eh.StopReason.COMPLETED


def test_digests_tell_findings_apart(found):
    assert replace(found, seed=3).digest != found.digest
    assert replace(found, standings=found.standings[:-1]).digest != found.digest
    assert eh.compare(TOLD, TRUTH, SEX).digest == found.digest
    assert eh.compare(TOLD, TRUTH, SEX, level=0.9).digest != found.digest


def damaged(found: Comparison, **changes: Any) -> dict[str, Any]:
    table: dict[str, Any] = json.loads(found.to_json())
    for key, value in changes.items():
        if value is None:
            del table[key]
        else:
            table[key] = value
    return table


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"job": "measure"}, ["not an evenhand comparison"]),
        ({"standings": None}, ["not an evenhand comparison"]),
        ({"format": 99}, ["format 99 is not 2"]),
        ({"format": None}, ["not an evenhand comparison"]),
        ({"start": None}, ["damaged"]),
        ({"baseline": {"degrees": [0]}}, ["damaged"]),
        ({"standings": [{"name": "a"}]}, ["damaged"]),
        ({"standings": [3]}, ["damaged"]),
        ({"start": 3}, ["damaged"]),
    ],
)
def test_files_that_are_none(found, changes, words, tmp_path):
    path = tmp_path / "bad.json"
    path.write_text(json.dumps(damaged(found, **changes)))
    refused(UsageError, lambda: Comparison.from_json(path), "bad.json", *words)


def test_files_that_cannot_be_read(found, tmp_path):
    refused(
        UsageError,
        lambda: Comparison.from_json(tmp_path / "none.json"),
        "cannot read the comparison",
    )
    (tmp_path / "a.json").write_text("{")
    refused(UsageError, lambda: Comparison.from_json(tmp_path / "a.json"), "not a JSON file")
    (tmp_path / "b.json").write_text("[1]")
    refused(
        UsageError, lambda: Comparison.from_json(tmp_path / "b.json"), "not an evenhand comparison"
    )
    refused(
        UsageError, lambda: found.to_json(tmp_path / "no" / "a.json"), "cannot write the comparison"
    )
