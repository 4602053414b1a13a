"""Published scores against a published line: regions and areas from the points alone."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

import evenhand as eh
from evenhand.cli.main import main
from evenhand.methods.compare.comparison import Comparison
from evenhand.methods.compare.text import compare_lines
from evenhand.runtime.errors import UsageError
from tests.support.helpers import refused

LINE = [(0.8, 0.5), (0.6, 1 / 6), (0.5, 0.0)]
"""The example of the paper's Table 2: degrees of 0, 0.4 and 1."""


GIVEN: dict[str, Any] = {
    "performance": {"original": 0.8, "method": 0.75},
    "bias": {"original": 0.5, "method": 0.3},
    "baseline": LINE,
}


def published(**options: Any) -> Comparison:
    """Compare a method with the original of the example, unless told otherwise."""
    return eh.compare(**GIVEN | options)


@pytest.mark.parametrize(
    ("performance", "bias", "region", "area"),
    [
        (0.75, 0.30, "good trade-off", 0.0272222),
        (0.70, 0.10, "good trade-off", 0.1088889),
        (0.45, 0.60, "lose-lose", math.nan),  # the released code says inverted
        (0.45, 0.00, "poor trade-off", math.nan),  # the released code says win-win
        # The released code raises for these.
        (0.80, 0.50, "poor trade-off", math.nan),
        (0.80, 0.30, "good trade-off", 0.08),
        (0.70, 0.00, "good trade-off", 0.2222222),
        # Ties, and a point on the line: nothing is better unless it is strictly better.
        (0.75, 0.50, "poor trade-off", math.nan),
        (0.85, 0.50, "inverted trade-off", math.nan),
        (0.60, 1 / 6, "poor trade-off", math.nan),
        (0.85, 0.40, "win-win", math.nan),
    ],
)
def test_the_example_of_the_paper(performance, bias, region, area):
    found = published(
        performance={"original": 0.8, "method": performance},
        bias={"original": 0.5, "method": bias},
    )
    assert found.region == {"method": region}
    assert found.area["method"] == pytest.approx(area, abs=1e-7, nan_ok=True)
    better = region in ("good trade-off", "win-win")
    assert found.verdict == ("pass" if better else "fail")


def test_predictions_with_the_same_scores_stand_in_the_same_place():
    """A straight line has two ends, and what lies between them needs no point."""
    sex = ["f"] * 50 + ["m"] * 50
    truth = ([1] * 20 + [0] * 30) + ([1] * 35 + [0] * 15)
    original = ([1] * 10 + [0] * 40) + ([1] * 40 + [0] * 10)
    mended = ([1] * 18 + [0] * 32) + ([1] * 38 + [0] * 12)
    counted = eh.compare({"original": original, "mended": mended}, truth, sex)
    line = counted.baseline
    accuracy, bias = counted.start
    standing = counted["mended"]
    alone = eh.compare(
        performance={"original": accuracy.value, "mended": standing.performance.value},
        bias={"original": bias.value, "mended": standing.bias.value},
        baseline=[(line.performance[-1], line.bias[-1])],
    )
    assert alone.region == counted.region
    assert alone.area == pytest.approx(counted.area, nan_ok=True)
    assert alone["mended"].gain.value == pytest.approx(standing.gain.value)


def test_nothing_has_an_interval_and_the_text_says_so():
    found = published()
    assert found.published
    assert not eh.compare(
        {"original": [0, 1, 1, 0] * 9, "other": [0, 1, 0, 0] * 9},
        [0, 1, 1, 0] * 9,
        ["f", "m", "m", "f"] * 9,
    ).published
    standing = found["method"]
    for score in (standing.performance, standing.bias, standing.gain, *found.start):
        assert score.low == score.value == score.high
        assert (score.n, score.method) == (0, "given")
    assert standing.plausible == ("good trade-off",)
    lines = compare_lines(found)
    assert lines[0].endswith("of original: published scores without intervals")
    assert "baseline: 3 published points" in lines
    assert "intervals: none" in lines
    assert any("taken as exact" in note for note in found.notes)


def test_it_is_written_read_drawn_and_shown(plotted):
    found = published()
    again = Comparison.from_dict(json.loads(found.to_json()))
    assert again.to_json() == found.to_json()
    assert again.published
    assert all(map(math.isnan, again.baseline.degrees))
    assert "0.027" in found.to_html()
    labels = [text.get_text() for text in plotted(found).ax_.texts]
    assert "method" in labels
    assert not any("nan" in label for label in labels)


def test_the_original_is_so_called_or_comes_first():
    scores = {"mine": 0.75, "original": 0.8}
    found = published(performance=scores, bias={"original": 0.5, "mine": 0.3})
    assert (found.original, list(found.region)) == ("original", ["mine"])
    found = published(performance={"a": 0.8, "b": 0.75}, bias={"a": 0.5, "b": 0.3})
    assert (found.original, list(found.region)) == ("a", ["b"])


def test_scores_that_are_no_shares():
    found = published(
        performance={"original": 3.0, "method": 2.9},
        bias={"original": 7.0, "method": 1.0},
        baseline=[(0.0, 0.0)],
    )
    assert found.region == {"method": "good trade-off"}
    assert found.start[0].unit == "amount"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"outcomes": {"original": [0, 1]}}, "cannot be combined with outcomes"),
        ({"y_true": [0, 1]}, "cannot be combined with y_true"),
        ({"protected": [0, 1]}, "cannot be combined with protected"),
        ({"baseline": "original"}, "must be points of the line"),
        ({"baseline": [0.8, 0.5]}, "baseline has 0.8"),
        ({"baseline": [(0.8, None)]}, "baseline of 'bias' is None"),
        ({"baseline": [(0.9, 0.2)]}, "leads nowhere from the original 'original'"),
        ({"bias": "spd"}, "bias = 'spd' must hold a number for each name"),
        ({"bias": {"original": 0.5}}, "bias has no score for 'method'"),
        ({"bias": {"original": 0.5, "method": -0.1}}, "a number of 0 or more"),
        ({"bias": {"original": 0.0, "method": 0.1}}, "shows no bias"),
        ({"performance": {"original": 0.8}}, "at least two"),
        ({"performance": {"original": 0.8, "method": True}}, "is True"),
    ],
)
def test_what_does_not_go_together_is_refused(options, words):
    refused(UsageError, lambda: published(**options), words)


def test_points_are_for_published_scores_alone():
    outcomes = {"original": [0, 1], "other": [1, 1]}
    refused(
        UsageError,
        lambda: eh.compare(outcomes, [0, 1], ["f", "m"], baseline=LINE),
        "not among the outcomes",
    )


def test_the_command_line_reads_two_small_files(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    scores = "name,performance,bias\noriginal,0.8,0.5\nmethod,0.75,0.3\nlfr,0.45,0\n"
    (tmp_path / "scores.csv").write_text(scores)
    (tmp_path / "line.csv").write_text("performance,bias\n0.6,0.1666666667\n0.5,0\n")
    command = ["compare", "scores.csv", "--points", "line.csv", "--json", "found.json"]
    assert main(command) == 0
    assert "good trade-off" in capsys.readouterr().out
    found = Comparison.from_json(tmp_path / "found.json")
    assert found.region == {"method": "good trade-off", "lfr": "poor trade-off"}
    assert found.area["method"] == pytest.approx(0.0272222, abs=1e-6)
    assert main([*command, "--gate"]) == 1
    assert main([*command, "--bias", "spd"]) == 2
    assert main(["compare", "--points", "line.csv"]) == 2
    (tmp_path / "scores.csv").write_text(scores + "lfr,0.5,0.1\n")
    assert main(command) == 2
    assert "'lfr' stands in several rows" in capsys.readouterr().err
