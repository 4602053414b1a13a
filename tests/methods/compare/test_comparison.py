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
RIGHT = RNG.random(N) < 0.85
FAVOURED = (SEX == "m") & (RNG.random(N) < 0.5)
ORIGINAL = np.where(RIGHT, TRUTH, 1 - TRUTH) | FAVOURED
FALSE = (SEX == "m") & (TRUTH == 0)


def refused_where(rows: Any) -> Any:
    """Return the predictions of the original, but for some rows the unfavourable one."""
    return np.where(rows, 0, ORIGINAL)


OUTCOMES = {
    "original": ORIGINAL,
    "better": refused_where(FALSE & (RNG.random(N) < 0.6)),
    "slightly": refused_where(FALSE & (RNG.random(N) < 0.02)),
    "worse": refused_where((SEX == "f") & (RNG.random(N) < 0.3)),
    "blind": refused_where(RNG.random(N) < 0.4),
}


@pytest.fixture(scope="module")
def found() -> Comparison:
    return eh.compare(OUTCOMES, TRUTH, SEX)


def test_what_it_says(found):
    assert found.original == "original"
    assert found.region["better"] == "win-win"
    assert found.region["worse"] == "lose-lose"
    names = ["better", "slightly", "worse", "blind"]
    for of_mitigations in (found.region, found.plausible, found.area, found.share):
        assert list(of_mitigations) == names
    performance, bias = found.start
    assert performance.value == pytest.approx((ORIGINAL == TRUTH).mean())
    rate_of_men = ORIGINAL[SEX == "m"].mean()
    rate_of_women = ORIGINAL[SEX == "f"].mean()
    gap = rate_of_men - rate_of_women
    assert bias.value == pytest.approx(gap)
    assert bias.n == N
    assert bias.level == 0.95
    assert bias.population
    for standing in found.standings:
        for score in (standing.performance, standing.bias, standing.gain):
            assert score.low <= score.value <= score.high
        assert sum(standing.share.values()) == pytest.approx(1)
        assert standing.region in standing.plausible
        is_good = standing.region == "good trade-off"
        assert math.isnan(standing.area) == (not is_good)
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
    text = str(story.value)
    assert text.startswith("compare: fail\n  ")
    assert "worse: lose-lose" in text
    assert "better: win-win" not in text
    with pytest.raises(AssertionError, match="compare: fail\n  worse: lose-lose"):
        found.check("worse")
    refused(
        UsageError, lambda: found.check("beter"), "no 'beter'", "did you mean 'better'?"
    )
    refused(UsageError, lambda: found["wurse"], "did you mean 'worse'?")


def test_the_story_of_one_does_not_tell_of_another(found):
    open_one = replace(
        found["better"], name="open", plausible=("poor trade-off", "good trade-off")
    )
    mixed = replace(found, standings=[open_one, found["worse"]])
    text = "compare: undecided\n  open: undecided between poor trade-off and good"
    with pytest.raises(AssertionError, match=text):
        mixed.check("open")
    undecided = replace(found, standings=[open_one])
    assert undecided.verdict is Verdict.UNDECIDED
    assert undecided.exit_code == 3
    passed = replace(found, standings=[found["better"]])
    assert passed.exit_code == 0


def standing(
    name: str,
    region: str,
    plausible: tuple[str, ...],
    gain: tuple[float, float, float],
) -> Standing:
    some = eh.Estimate(0.5, 0.4, 0.6, 100, 0.95, "bootstrap")
    area = gain[0] if region == "good trade-off" else math.nan
    amount = Amount(*gain, 100, 0.95, "bootstrap")
    return Standing(name, some, some, region, plausible, area, amount, {region: 1.0})


@pytest.mark.parametrize("code", range(32))
def test_a_verdict_follows_from_what_is_plausible(code):
    # Each bit of the code stands for a region.
    plausible = tuple(name for at, name in enumerate(REGIONS) if code & 2**at)
    if not plausible:
        return
    found = standing("a", plausible[0], plausible, (0.1, 0.0, 0.2))
    good = {"good trade-off", "win-win"}
    if set(plausible) <= good:
        assert found.verdict == "pass"
    elif set(plausible) & good:
        assert found.verdict == "undecided"
    else:
        assert found.verdict == "fail"
    if len(plausible) == 1:
        assert found.claim == f"a: {plausible[0]}"
    else:
        assert found.claim.startswith("a: undecided between ")
        assert all(name in found.claim for name in plausible)


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
    # "c" is under the line for sure, and "d" cannot reach "b".
    assert some.contenders == ("a", "b")
    only_poor = replace(some, standings=[every[2]])
    assert only_poor.best is None
    assert only_poor.contenders == ()
    assert found.best == "better"
    assert found.best in found.contenders
    assert "worse" not in found.contenders


def test_frames(found):
    frame = found.to_frame()
    assert frame["name"].tolist() == list(OUTCOMES)[1:]
    lows = [standing.bias.low for standing in found.standings]
    assert frame["bias.low"].tolist() == lows
    shares = frame[[f"share.{name}" for name in REGIONS]]
    sums = shares.sum(axis=1).tolist()
    assert sums == pytest.approx([1, 1, 1, 1])
    line = found.baseline.to_frame()
    assert list(line) == ["degree", "performance", "bias"]
    _, start_bias = found.start
    shares_left = 1 - np.arange(11) / 10
    expected_bias = start_bias.value * shares_left
    assert line["bias"].to_numpy() == pytest.approx(expected_bias)
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
        "format",
        "job",
        "verdict",
        "seed",
        "level",
        "stop",
        "original",
        "start",
        "standings",
        "findings",
        "baseline",
        "bias",
        "performance",
        "runs",
        "resampled",
        "published",
        "versions",
        "notes",
        "spent",
        "digest",
    ]
    assert table["format"] == 2
    assert table["job"] == "compare"
    assert table["verdict"] == "fail"
    assert table["stop"] == "completed"
    for finding, name in zip(table["findings"], found.region, strict=True):
        assert finding["key"] == f"gain of {name}"
        assert finding["score"] == "gain"
        assert finding["unit"] == "amount"
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


def number_right(true: Any, predicted: Any) -> float:
    return float((true == predicted).sum())


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"bias": "di", "overwrite": "majority"}, "a line with undefined points"),
        (
            {"bias": {name: 50.0 - at for at, name in enumerate(OUTCOMES)}},
            "scores of any size",
        ),
        ({"performance": number_right}, "a performance over 1"),
        ({"overwrite": "random"}, "labels at random"),
        ({"bias": "aod", "performance": "mcc", "positive": 0}, "another favourable label"),
    ],
)
def test_any_comparison_survives_its_file(options, what, tmp_path):
    found = eh.compare(OUTCOMES, TRUTH, SEX, resamples=100, **options)
    found.to_json(tmp_path / "a.json")
    again = Comparison.from_json(tmp_path / "a.json")
    assert again.to_json() == found.to_json(), what
    assert again.baseline.label == found.baseline.label


def test_any_reader_knows_a_comparison(found):
    again = evidence_of(json.loads(found.to_json()), where="found.json")
    assert isinstance(again, Comparison)
    assert again.findings == found.findings
    verdicts = [standing.verdict for standing in found.standings]
    assert [finding.judged for finding in again.findings] == verdicts
    assert again.parts == (again,)
    assert again.level == 0.95
    assert again.seed == 0
    assert again.stop is eh.StopReason.COMPLETED
    assert again.spent.queries == 0


@pytest.mark.parametrize("name", runs_of("compare"))
def test_a_comparison_of_format_1_reads_as_it_was(name):
    document = OLD[name]["document"]
    found = read_old(name)
    assert isinstance(found, Comparison)
    names = [table["name"] for table in document["standings"]]
    assert [standing.name for standing in found.standings] == names
    assert [finding.key for finding in found.findings] == [
        f"gain of {name}" for name in names
    ]
    assert {finding.unit for finding in found.findings} == {"amount"}
    assert found.baseline.strategy == document["baseline"]["strategy"]
    assert found.stop is eh.StopReason.COMPLETED


def test_digests_tell_findings_apart(found):
    assert replace(found, seed=3).digest != found.digest
    without_the_last = replace(found, standings=found.standings[:-1])
    assert without_the_last.digest != found.digest
    same = eh.compare(OUTCOMES, TRUTH, SEX)
    assert same.digest == found.digest
    other_level = eh.compare(OUTCOMES, TRUTH, SEX, level=0.9)
    assert other_level.digest != found.digest


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
    refused(
        UsageError, lambda: Comparison.from_json(tmp_path / "a.json"), "not a JSON file"
    )
    (tmp_path / "b.json").write_text("[1]")
    refused(
        UsageError,
        lambda: Comparison.from_json(tmp_path / "b.json"),
        "not an evenhand comparison",
    )
    refused(
        UsageError,
        lambda: found.to_json(tmp_path / "no" / "a.json"),
        "cannot write the comparison",
    )
