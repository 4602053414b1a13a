"""Comparisons and tunings as text and drawn: texts are golden, drawings are looked into."""

from __future__ import annotations

import io
import math
import re
import sys
import textwrap
import warnings
from dataclasses import replace
from functools import cache
from itertools import combinations
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.figure import Figure
from matplotlib.text import Text
from rich.console import Console

from evenhand.methods.compare.compare import compare
from evenhand.methods.compare.comparison import Baseline, Comparison, Standing
from evenhand.methods.compare.plot import MOST_LABELS, SharesDisplay, TradeoffDisplay
from evenhand.methods.compare.regions import REGIONS, OverwritingLine, regions
from evenhand.methods.compare.text import (
    compare_lines,
    render_comparison,
    render_table,
    score_text,
    table_lines,
)
from evenhand.mitigation.tune import Tuning
from evenhand.mitigation.tune_plot import TuningDisplay
from evenhand.runtime.errors import MissingExtra, UsageError
from evenhand.statistics.estimate import Amount, Estimate, Verdict
from evenhand.study import published_numbers
from tests.support.helpers import refused

matplotlib.use("Agg")

DEGREES = tuple(step / 10 for step in range(11))
STRAIGHT = Baseline(
    DEGREES,
    tuple(0.8 - 0.3 * d for d in DEGREES),
    tuple(0.5 - 0.5 * d for d in DEGREES),
    0,
    "tightest",
    "exact",
)
"""The line of the paper's Table 2: from an accuracy of 0.8 and a bias of 0.5 to 0.5 and 0."""


STRAIGHT_LINE = OverwritingLine.through(
    np.array(STRAIGHT.bias), np.array(STRAIGHT.performance)
)


def region_codes(bias: Any, performance: Any) -> Any:
    """Return the region of each point against the straight line."""
    height = STRAIGHT_LINE.height(bias, performance)
    return regions(performance - 0.8, bias - 0.5, height)


def near(
    value: float,
    half: float = 0.02,
    method: str = "bootstrap, simultaneous over 4",
) -> Estimate:
    low = max(0.0, value - half)
    high = min(1.0, value + half)
    return Estimate(
        value, low, high, 1000, 0.95, method, "people like those of the test set"
    )


def standing(
    name: str,
    performance: float,
    bias: float,
    *plausible: str,
    half: float = 0.02,
) -> Standing:
    code = int(region_codes(bias, performance))
    region = REGIONS[code]
    area = float(STRAIGHT_LINE.area(bias, performance))
    all_plausible = {*plausible, region}
    in_order = tuple(name for name in REGIONS if name in all_plausible)
    low = max(0.0, area - half)
    method = "bootstrap, simultaneous over 3"
    share = dict.fromkeys(REGIONS, 0.0)
    for name_of_region in in_order:
        share[name_of_region] = 1 / len(in_order)
    return Standing(
        name=name,
        performance=near(performance),
        bias=near(bias),
        region=region,
        plausible=in_order,
        area=area if region == "good trade-off" else math.nan,
        gain=Amount(area, low, area + half, 1000, 0.95, method),
        share=share,
    )


GOOD = standing("reweighing", 0.75, 0.3, "win-win")
POOR = standing("noise", 0.55, 0.3)
OPEN = standing("half overwritten", 0.66, 0.25, "poor trade-off")
LOST = standing("lost", 0.7, 0.6)
WON = standing("won", 0.83, 0.2)
INVERTED = standing("inverted", 0.83, 0.6)


def comparison(*standings: Standing, **changes: Any) -> Comparison:
    made = Comparison(
        "original",
        (near(0.8), near(0.5)),
        standings,
        STRAIGHT,
        "spd",
        "accuracy",
        0.95,
        0,
        1,
        ["a note"],
        {},
    )
    return replace(made, **changes)


THREE = comparison(GOOD, POOR, OPEN)
FIVE = comparison(GOOD, POOR, WON, INVERTED, LOST)


def spread_out(at: int) -> Standing:
    """Return one of twelve mitigations that stand apart from each other."""
    performance = 0.56 + 0.024 * at
    # 5 and 12 have no common factor, so that no bias comes twice.
    bias = 0.03 + 0.05 * (at * 5 % 12)
    return standing(f"method {at}", performance, bias)


TWELVE = comparison(*(spread_out(at) for at in range(12)))


@cache
def people(**options: Any) -> Comparison:
    """Compare on one test set, or with `runs` on several."""
    rng = np.random.default_rng(0)
    rows = 600
    runs = options.pop("runs", 0)
    original = []
    less = []
    sex = []
    truth = []
    for _ in range(runs or 1):
        man = rng.random(rows) < 0.6
        due = rng.random(rows) < np.where(man, 0.45, 0.2)
        score = 2 * due + rng.normal(size=rows)
        truth.append(due.astype(int))
        sex.append(np.where(man, "m", "f"))
        original.append((score + man > 1.4).astype(int))
        less.append((score + 0.4 * man > 1.2).astype(int))
    if runs:
        return compare({"original": original, "less": less}, truth, sex, **options)
    outcomes = {"original": original[0], "less": less[0]}
    return compare(outcomes, truth[0], sex[0], resamples=200, **options)


def tuning(values: tuple[Any, ...] = (1, 5, 10, 30), **changes: Any) -> Tuning:
    standings = []
    for at, value in enumerate(values):
        performance = 0.79 - 0.03 * at
        bias = 0.45 - 0.12 * at
        standings.append(standing(f"eta = {value}", performance, bias, half=0.03))
    found = comparison(*standings)
    best = None
    if found.best is not None:
        names = list(found.region)
        best = values[names.index(found.best)]
    return replace(Tuning("eta", values, found, best, comparison(GOOD)), **changes)


@pytest.fixture
def drawn():
    """Draw on a new figure, render it with warnings as errors, and close it at the end."""
    from matplotlib import pyplot

    figures = []

    def draw(display: Any, **options: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            display.plot(**options)
            figures.append(display.figure_)
            display.figure_.canvas.draw()
        return display

    yield draw
    for figure in figures:
        pyplot.close(figure)


def written(ax: Any) -> list[str]:
    return [text.get_text() for text in ax.texts]


def cut(display: Any) -> bool:
    """Return whether anything drawn stands out of the figure."""
    box = display.figure_.get_tightbbox()
    width, height = display.figure_.get_size_inches()
    slack = 0.02
    beyond = [-box.x0, -box.y0, box.x1 - width, box.y1 - height]
    return bool(max(beyond) > slack)


def meet(ax: Any) -> list[tuple[str, str]]:
    """Return the texts in axes that lie over each other."""
    found = []
    for first, second in combinations(ax.texts, 2):
        # The extent of the text itself, without a line to its point.
        if overlap(Text.get_window_extent(first), Text.get_window_extent(second)):
            found.append((first.get_text(), second.get_text()))
    return found


def overlap(first: Any, second: Any) -> bool:
    """Return whether two boxes share more than a pixel."""
    left = max(first.x0, second.x0)
    right = min(first.x1, second.x1)
    bottom = max(first.y0, second.y0)
    top = min(first.y1, second.y1)
    return bool(right - left > 1 and top - bottom > 1)


def polygons(ax: Any) -> list[Any]:
    return [shape for shape in ax.collections if isinstance(shape, PolyCollection)]


def segments(ax: Any) -> list[Any]:
    """Return the lines of all intervals."""
    found = []
    for shape in ax.collections:
        if isinstance(shape, LineCollection):
            found.extend(shape.get_segments())
    return found


def texts_of(labels: Any) -> list[str]:
    return [label.get_text() for label in labels]


def golden(lines: list[str], text: str) -> None:
    assert "\n".join(lines) == textwrap.dedent(text).strip("\n")


# The text


HEAD = "mitigation        claim                                 accuracy                    spd"
ROWS = (
    "reweighing        good or win-win          75.0 % (73.0 to 77.0)  30.0 % (28.0 to 32.0)",
    "noise             poor trade-off           55.0 % (53.0 to 57.0)  30.0 % (28.0 to 32.0)",
    "half overwritten  undecided: poor or good  66.0 % (64.0 to 68.0)  25.0 % (23.0 to 27.0)",
)


def test_a_comparison_as_text():
    assert compare_lines(THREE) == [
        "3 mitigations against blind overwriting of original: accuracy and spd, 1,000 rows"
        " (95 % level)",
        "baseline: predictions overwritten with 0, the label of the tightest line; exact",
        "intervals: bootstrap, simultaneous over 4; population: people like those of the test set",
        "regions hold together at the level; intervals of scores and areas are descriptive",
        "original: accuracy 80.0 % (78.0 to 82.0), spd 50.0 % (48.0 to 52.0)",
        f"          {HEAD}                    area",
        f"PASS      {ROWS[0]}  0.027 (0.007 to 0.047)",
        f"FAIL      {ROWS[1]}                       –",
        f"UNDECIDED {ROWS[2]}  0.001 (0.000 to 0.021)",
        "best: reweighing, with a gain of 0.027 (0.007 to 0.047) over the line; it may as well be"
        " half overwritten",
        "FAIL      noise does no better than blind overwriting; whether half overwritten does"
        " better than blind overwriting is undecided; reweighing does better than blind"
        " overwriting",
        "note: a note",
    ]


def test_a_region_is_claimed_only_where_no_other_is_plausible():
    for found in (GOOD, POOR, OPEN, LOST, WON, INVERTED):
        lines = compare_lines(comparison(found))
        row = next(line for line in lines if line.startswith(found.verdict.upper()))
        only_region = len(found.plausible) == 1
        assert (found.region in row) == (only_region or found.region == "win-win")
        for region in REGIONS:
            if region != found.region and region not in found.plausible:
                assert region not in row
        assert ("undecided:" in row) == (found.verdict is Verdict.UNDECIDED)


@pytest.mark.parametrize(
    ("standings", "best", "verdict"),
    [
        (
            (GOOD,),
            "best: reweighing, with a gain of 0.027 (0.007 to 0.047) over the line",
            "PASS      reweighing does",
        ),
        (
            (POOR, LOST),
            "best: none lies over the line",
            "FAIL      noise and lost do no better",
        ),
        (
            (OPEN,),
            "best: half overwritten, with",
            "UNDECIDED whether half overwritten does better than blind",
        ),
        (
            (WON, GOOD),
            "no other may be the best",
            "PASS      won and reweighing do better than blind overwriting",
        ),
        (
            (replace(POOR, plausible=("poor trade-off", "good trade-off")),),
            "best: none lies over the line; the best may be noise",
            "UNDECIDED whether noise does",
        ),
    ],
)
def test_the_best_and_the_verdict(standings, best, verdict):
    *_, first, second, note = compare_lines(comparison(*standings))
    assert best in first
    assert second.startswith(verdict)
    assert note == "note: a note"


def test_many_names_of_a_sentence_are_counted():
    standings = [replace(POOR, name=f"m{at}") for at in range(9)]
    line = compare_lines(comparison(*standings))[-2]
    assert (
        line
        == "FAIL      m0, m1, m2, m3, m4 and 4 more do no better than blind overwriting"
    )


@pytest.mark.parametrize(
    ("label", "strategy", "method", "words"),
    [
        (
            "no",
            "majority",
            "monte carlo",
            "with 'no', the commonest true label; by the paper's repetitions",
        ),
        (1, "label", "expected cells", "with 1; from expected cells"),
        (
            None,
            "random",
            "in proportion",
            "with labels at random; in proportion to what is left alone",
        ),
    ],
)
def test_the_baseline_in_words(label, strategy, method, words):
    line = replace(STRAIGHT, label=label, strategy=strategy, method=method)
    lines = compare_lines(comparison(GOOD, baseline=line))
    assert lines[1] == f"baseline: predictions overwritten {words}"


def test_rows_and_runs_are_distinguished():
    about = "less against blind overwriting of original: accuracy and spd, 600 rows (95 % level)"
    assert about in compare_lines(people())
    splits = compare_lines(people(runs=4))
    assert (
        "accuracy and spd, 4 runs, each with a test set of its own (95 % level)"
        in splits[0]
    )
    assert splits[2].startswith("intervals: corrected t over splits")
    assert "5 runs on the same 1,000 rows" in compare_lines(replace(THREE, runs=5))[0]


def test_scores_that_are_no_shares_have_no_unit():
    amounts = [
        Amount(12.5, 11.0, 14.0, 300, 0.95, "bootstrap"),
        Amount(3.0, 3.0, 3.0, 0, 1.0, "given"),
    ]
    assert score_text(amounts) == ["12.500 (11.000 to 14.000)", "3.000"]
    share = Estimate(0.5, 0.499, 0.501, 10, 0.95, "bootstrap")
    assert score_text([share]) == ["50.00 % (49.90 to 50.10)"]


@given(st.tuples(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1)))
def test_a_score_lies_in_its_interval_as_it_is_written(numbers):
    low, value, high = sorted(numbers)
    (text,) = score_text([Estimate(value, low, high, 10, 0.95, "bootstrap")])
    numbers_shown = re.findall(r"[\d.]+", text)
    shown_value, *ends = map(float, numbers_shown)
    assert shown_value == pytest.approx(100 * value, abs=0.051)
    if ends:
        shown_low, shown_high = ends
        assert shown_low <= shown_value <= shown_high


def terminal(width: int) -> Console:
    return Console(
        file=io.StringIO(), force_terminal=True, width=width, color_system="standard"
    )


def shown(console: Console) -> list[str]:
    assert isinstance(console.file, io.StringIO)
    plain = re.sub(r"\x1b\[[0-9;]*m", "", console.file.getvalue())
    return plain.splitlines()


def test_a_pipe_gets_plain_lines_and_a_terminal_colours(capsys):
    file = io.StringIO()
    render_comparison(THREE, file)
    render_comparison(THREE)
    expected = "\n".join(compare_lines(THREE)) + "\n"
    assert file.getvalue() == expected
    assert capsys.readouterr().out == expected
    console = terminal(200)
    render_comparison(THREE, console=console)
    assert "\x1b[1;33mUNDECIDED \x1b[0mhalf overwritten" in console.file.getvalue()  # type: ignore[attr-defined]
    assert shown(console) == compare_lines(THREE)


@pytest.mark.parametrize("width", [70, 80, 100, 130])
@pytest.mark.parametrize("found", [THREE, TWELVE], ids=["three", "twelve"])
def test_lines_fit_the_terminal_and_numbers_stay_whole(width, found):
    console = terminal(width)
    render_comparison(found, console=console)
    lines = shown(console)
    assert max(map(len, lines)) <= width
    text = "\n".join(lines)
    for standing in found.standings:
        (bias,) = score_text([standing.bias])
        assert bias in text
        assert standing.name in text


def test_codes_in_names_stay_text():
    odd = comparison(replace(GOOD, name="[red]x[/red]\x1b[2J"))
    console = terminal(200)
    render_comparison(odd, console=console)
    for text in ("\n".join(shown(console)), "\n".join(compare_lines(odd))):
        assert "[red]x[/red]\\x1b[2J" in text
        assert "\x1b[2J" not in text


# Tables of studies


def test_a_table_of_shares_is_in_per_cent():
    shares = published_numbers.regions_by_method("spd").head(2)
    golden(
        table_lines(shares, "Table 4, spd"),
        """
        Table 4, spd
                                                 poor   inverted       good
        method                   lose-lose  trade-off  trade-off  trade-off  win-win
        lfr                           19 %       48 %        0 %       20 %     13 %
        optimised-preprocessing       11 %       16 %       14 %       40 %     18 %
        """,
    )


def test_a_wide_table_is_split_by_model_and_loses_nothing():
    frame = published_numbers.areas("spd")
    lines = table_lines(frame, "Table 6, spd")
    assert max(map(len, lines)) <= 100
    models = [line for line in lines if line in ("LR", "DT", "SVM")]
    assert models == ["LR", "DT", "SVM"]
    lines_of_model = 3 + len(frame)
    assert len(lines) == 1 + 3 * lines_of_model + 2
    cells = []
    for line in lines:
        if line.startswith("equalised-odds"):
            cells.extend(line.split()[1:])
    expected = []
    for value in frame.loc["equalised-odds"].tolist():
        expected.append(f"{value:.3f}" if isinstance(value, float) else value)
    assert cells == expected
    heading, *_ = table_lines(frame, width=400)
    expected_heading = np.repeat(["LR", "DT", "SVM"], [5, 4, 5])
    assert heading.split() == expected_heading.tolist()


def test_a_flat_table_is_split_in_halves_and_what_is_missing_is_shown():
    columns = {}
    for at in range(12):
        columns[f"column {at}"] = [at / 7, None, "x", pd.NA]
    frame = pd.DataFrame(columns, index=list("abcd"), dtype=object)
    lines = table_lines(frame, width=60)
    assert max(map(len, lines)) <= 60
    headings = " ".join(line for line in lines if "column" in line)
    assert re.sub(" +", " ", headings).strip() == " ".join(columns)
    assert sum(line.count("NA") for line in lines) == 24
    assert "0.857" in "\n".join(lines)
    assert table_lines(pd.DataFrame({"cases": [1200]})) == ["cases", "1,200"]


def test_tables_on_a_terminal_fit_it():
    console = terminal(70)
    spd = published_numbers.regions_by_method("spd")
    aod = published_numbers.regions_by_method("aod")
    frame = pd.concat({"spd": spd, "aod": aod}, axis=1)
    render_table(frame, "shares of regions", console=console)
    lines = shown(console)
    assert max(map(len, lines)) <= 70
    assert [line for line in lines if line in ("spd", "aod")]
    file = io.StringIO()
    render_table(frame, "shares of regions", file)
    assert file.getvalue().splitlines() == table_lines(frame, "shares of regions")


# The plane


def ends_of(score: Estimate) -> tuple[float, float, float]:
    return score.value, score.low, score.high


def test_the_plane_holds_what_was_compared():
    display = TradeoffDisplay.from_comparison(THREE)
    assert [mark.label for mark in display.marks] == [
        "reweighing",
        "noise",
        "half overwritten",
    ]
    for mark, expected in zip(display.marks, THREE.standings, strict=True):
        assert mark.bias == ends_of(expected.bias)
        assert mark.performance == ends_of(expected.performance)
        assert mark.verdict is expected.verdict
    assert display.start.place == (0.5, 0.8)
    assert display.start.verdict is None
    line = zip(STRAIGHT.degrees, STRAIGHT.bias, STRAIGHT.performance, strict=True)
    assert display.line == tuple(line)
    assert display.axes == ("spd", "accuracy")
    assert display.percent == (True, True)
    for part in ("3 mitigations", "1,000 rows", "95 % level"):
        assert part in display.title
    assert "people like those of the test set" in display.note


def test_the_plane_is_drawn_with_all_that_belongs_to_it(drawn):
    display = drawn(TradeoffDisplay.from_comparison(FIVE))
    ax = display.ax_
    assert display.figure_ is ax.figure
    assert display.axes_ == (ax,)
    names = [standing.name for standing in FIVE.standings]
    assert set(written(ax)) == {"original", "0 %", "100 %", *REGIONS, *names}
    assert not meet(ax)
    assert not cut(display)
    assert len(polygons(ax)) == 5
    # Both intervals of five mitigations and the original.
    assert len(segments(ax)) == 2 * 6
    legend = texts_of(ax.get_legend().get_texts())
    assert legend == ["blind overwriting", "original", "pass: better", "fail: no better"]
    assert ax.get_xlabel().startswith("bias: spd\n")
    assert ax.get_ylabel() == "performance: accuracy"
    assert "95 % level" in ax.get_title(loc="left").replace("\n", " ")


def test_each_region_is_shaded_where_points_of_it_fall_and_named_in_it(drawn):
    ax = drawn(TradeoffDisplay.from_comparison(FIVE)).ax_
    rng = np.random.default_rng(1)
    left, right = ax.get_xlim()
    bottom, top = ax.get_ylim()
    x = rng.uniform(left, right, 300)
    y = rng.uniform(bottom, top, 300)
    points = np.column_stack([x, y])
    inside = []
    for shade in polygons(ax):
        (path,) = shade.get_paths()
        inside.append(path.contains_points(points))
    assert (np.sum(inside, axis=0) == 1).all()
    assert (np.argmax(inside, axis=0) == region_codes(x, y)).all()
    to_data = ax.transData.inverted()
    for text in ax.texts:
        if text.get_text() in REGIONS:
            (left, bottom), (right, top) = to_data.transform(text.get_window_extent())
            corners_x = np.array([left, left, right, right])
            corners_y = np.array([bottom, top, bottom, top])
            code = REGIONS.index(text.get_text())
            assert (region_codes(corners_x, corners_y) == code).all(), text.get_text()
    assert set(REGIONS) <= set(written(ax))


def test_scaled_axes_run_from_0_to_1_along_the_line(drawn):
    display = drawn(TradeoffDisplay.from_comparison(THREE), scaled=True)
    ax = display.ax_
    (dots,) = [
        line
        for line in ax.lines
        if line.get_marker() == "o" and len(line.get_xdata()) == 11
    ]
    assert np.allclose(np.column_stack(dots.get_data()), STRAIGHT.scaled)
    (point,) = [line for line in ax.lines if line.get_marker() == "D"]
    x, y = point.get_data()
    assert np.allclose(x, [0.5])
    assert np.allclose(y, [0.16 / 0.3])
    assert ax.get_xlabel().startswith("bias: spd, re-scaled")
    assert "%" not in "".join(label.get_text() for label in ax.get_xticklabels())
    assert display.start.place == (0.5, 0.8)  # the display keeps what was measured


def test_of_many_mitigations_the_names_stand_in_a_list(drawn):
    assert len(TWELVE.standings) > MOST_LABELS
    display = drawn(TradeoffDisplay.from_comparison(TWELVE))
    ax = display.ax_
    numbers = range(1, 13)
    assert set(map(str, numbers)) <= set(written(ax))
    listed = texts_of(ax.get_legend().get_texts())
    expected = [f"{number}  method {number - 1}" for number in numbers]
    assert listed == expected
    assert not cut(display)


def test_long_intervals_leave_the_plane_and_do_not_press_it(drawn):
    wide = replace(
        GOOD,
        bias=replace(GOOD.bias, low=0.0, high=1.0),
        performance=replace(near(0.75), low=-1.0, high=1.0),
    )
    ax = drawn(TradeoffDisplay.from_comparison(comparison(wide))).ax_
    assert ax.get_ylim()[0] > 0
    assert ax.get_xlim()[1] > 0.9


@pytest.mark.parametrize(
    "options", [{}, {"runs": 3}, {"bias": "di", "performance": "f1"}], ids=str
)
def test_comparisons_of_every_kind_are_drawn(options, drawn):
    display = drawn(TradeoffDisplay.from_comparison(people(**options)))
    assert not meet(display.ax_)
    assert not cut(display)


def test_a_line_that_ends_where_the_bias_is_undefined_is_drawn_so_far(drawn):
    *biases, _ = STRAIGHT.bias
    line = replace(STRAIGHT, bias=(*biases, math.nan))
    found = comparison(GOOD, baseline=line)
    display = drawn(TradeoffDisplay.from_comparison(found))
    assert len(display.line) == 10
    assert "90 %" in written(display.ax_)


def test_points_in_one_place_keep_their_own_names(drawn):
    names = ("same", "again", "a $long$ name that goes on and on")
    same = [standing(name, 0.8, 0.5) for name in names]
    display = drawn(TradeoffDisplay.from_comparison(comparison(*same)))
    shown = written(display.ax_)
    assert "same" in shown
    assert "again" in shown
    assert r"a \$long\$ name that goes on an…" in shown
    assert not meet(display.ax_)


def test_axes_given_are_drawn_on():
    figure = Figure(figsize=(9, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    assert THREE.plot(ax=left).ax_ is left
    assert SharesDisplay.from_comparison(THREE).plot(right).figure_ is figure
    part: Any = Figure(layout="constrained").subfigures(1, 1)
    assert THREE.plot(ax=part.subplots()).ax_.figure is part
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure.draw_without_rendering()


PLACES = st.tuples(st.floats(0, 1), st.floats(0, 1))


@settings(max_examples=5, deadline=None)
@given(st.lists(PLACES, min_size=1, max_size=6))
def test_any_points_are_drawn_within_the_axes(points):
    names = []
    standings = []
    for at, (performance, bias) in enumerate(points):
        names.append(f"m{at}")
        standings.append(standing(f"m{at}", performance, bias))
    found = comparison(*standings)
    ax = Figure(layout="constrained").subplots()
    display = TradeoffDisplay.from_comparison(found).plot(ax)
    left, right = ax.get_xlim()
    bottom, top = ax.get_ylim()
    for mark in (display.start, *display.marks):
        bias, performance = mark.place
        assert left < bias < right
        assert bottom < performance < top
    assert set(names) <= set(written(ax))


# Shares


def test_shares_are_stacked_in_the_order_of_the_regions(drawn):
    found = {
        "a": dict(zip(REGIONS, (0.1, 0.2, 0.3, 0.36, 0.04), strict=True)),
        "b": {"win-win": 1.0},
    }
    display = drawn(SharesDisplay.from_shares(found, "regions"))
    assert display.shares == ((0.1, 0.2, 0.3, 0.36, 0.04), (0.0, 0.0, 0.0, 0.0, 1.0))
    ax = display.ax_
    assert len(ax.containers) == 5
    lefts = []
    widths = []
    for first, second in ax.containers:
        lefts.append(first.get_x())
        widths.append((first.get_width(), second.get_width()))
    assert np.allclose(np.transpose(widths), display.shares)
    # Each bar starts where the shares before it end.
    shares_of_a, _ = display.shares
    ends = np.cumsum(shares_of_a)
    assert np.allclose(lefts[1:], ends[:-1])
    assert written(ax) == ["10 %", "20 %", "30 %", "36 %", "100 %"]  # 4 % has no room
    assert texts_of(ax.get_yticklabels()) == ["a", "b"]
    assert texts_of(ax.get_legend().get_texts()) == list(REGIONS)
    assert not cut(display)


def test_published_shares_are_rounded_and_no_data_is_no_share(drawn):
    table = published_numbers.regions_by_method("spd").T.to_dict()
    table["none"] = dict.fromkeys(REGIONS, math.nan)
    display = drawn(SharesDisplay.from_shares(table))
    assert len(display.names) == 14
    assert "no data, undecided" in written(display.ax_)


def test_shares_that_are_none_are_refused():
    refused(UsageError, lambda: SharesDisplay.from_shares({}), "shares is empty")
    refused(
        UsageError,
        lambda: SharesDisplay.from_shares({"a": {"good": 1.0}}),
        "'good'",
        "'good trade-off'",
    )
    refused(
        UsageError,
        lambda: SharesDisplay.from_shares({"a": {"win-win": 100.0}}),
        "add up to 1",
    )


def test_shares_of_runs_are_of_runs_and_others_of_resamples():
    assert SharesDisplay.from_comparison(people(runs=4)).axis == "share of 4 runs"
    display = SharesDisplay.from_comparison(THREE)
    assert display.axis == "share of resamples of 1,000 rows"
    assert display.shares[2] == (0.0, 0.5, 0.0, 0.5, 0.0)


# Tuning


def test_a_tuning_is_three_curves_over_the_values():
    found = tuning()
    display = TuningDisplay.from_tuning(found)
    assert display.labels == ("1", "5", "10", "30")
    assert display.places == (1.0, 5.0, 10.0, 30.0)
    areas, performance, bias = display.curves
    standings = found.comparison.standings
    gains = [standing.gain.value for standing in standings]
    assert [area for area, _, _ in areas.points] == gains
    assert list(bias.points) == [ends_of(standing.bias) for standing in standings]
    assert performance.original == 0.8
    assert bias.original == 0.5
    assert bias.percent is True
    assert areas.percent is False
    assert display.best == 3
    assert found.best == 30
    assert display.title.split("\n")[:2] == [
        "best: eta = 30; 1 other value may be the best",
        "on rows kept for the end: good or win-win",
    ]
    assert "4 values of eta against blind overwriting of original" in display.title


def test_a_tuning_is_drawn_with_its_best_marked(drawn):
    display = drawn(TuningDisplay.from_tuning(tuning()))
    assert len(display.axes_) == 3
    for ax, curve in zip(display.axes_, display.curves, strict=True):
        (best,) = [line for line in ax.lines if line.get_linestyle() == "--"]
        assert best.get_xdata()[0] == 30.0
        drawn_ends = [tuple(segment[:, 1]) for segment in segments(ax)]
        ends = [(low, high) for _, low, high in curve.points]
        assert np.allclose(sorted(drawn_ends), sorted(ends))
        assert texts_of(ax.get_xticklabels()) == ["1", "5", "10", "30"]
    first, second, third = display.axes_
    assert written(first) == []
    assert written(second) == ["original"]
    assert written(third) == ["original"]
    assert third.get_xlabel().startswith("eta\nintervals: bootstrap")
    names = texts_of(display.ax_.get_legend().get_texts())
    assert names == ["best", "pass: better, not the best", "pass: better"]
    assert not cut(display)


def test_values_that_no_axis_shows_apart_stand_at_even_distances(drawn):
    for values in (
        (0, 0.001, 5),
        ("low", "middle", "high"),
        (True, False),
        (1.0, math.inf),
    ):
        display = TuningDisplay.from_tuning(tuning(values))
        assert display.places == tuple(map(float, range(len(values))))
        assert display.axis == "eta, not to scale"
    ax = drawn(TuningDisplay.from_tuning(tuning(("low", "middle", "high")))).ax_
    assert texts_of(ax.get_xticklabels()) == ["low", "middle", "high"]


def test_a_tuning_without_a_best_value_says_so(drawn):
    standings = [replace(POOR, name=f"eta = {value}") for value in (1, 2)]
    found = Tuning("eta", (1, 2), comparison(*standings), None, None)
    display = drawn(TuningDisplay.from_tuning(found))
    assert display.best is None
    title = "no value of eta lies over the line of blind overwriting\n2 values of eta"
    assert display.title.startswith(title)
    assert not [line for line in display.ax_.lines if line.get_linestyle() == "--"]


def test_axes_given_get_the_areas_alone():
    ax = Figure(layout="constrained").subplots()
    display = tuning().plot(ax)
    assert display.axes_ == (ax,)
    assert ax.get_ylabel() == "area over blind overwriting"
    assert ax.get_xlabel().startswith("eta")


def test_without_matplotlib_all_is_computed_and_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    displays = (
        TradeoffDisplay.from_comparison(THREE),
        SharesDisplay.from_comparison(THREE),
        TuningDisplay.from_tuning(tuning()),
    )
    for display in displays:
        refused(MissingExtra, display.plot, "evenhand[plot]")
