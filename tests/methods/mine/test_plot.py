"""Displays of mined results: what they compute is asserted without drawing, what they draw on
figures nobody sees.
"""

from __future__ import annotations

import itertools
import warnings
from dataclasses import replace
from functools import cache
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.text import Text

import evenhand as eh
from evenhand.methods.mine.plot.display import (
    MOST_BARS,
    MOST_MININGS,
    HeatDisplay,
    MineDisplay,
    TermsDisplay,
    display_of,
)
from evenhand.methods.mine.plot.heat_cells import HeatCells
from evenhand.methods.mine.plot.heat_map import Heat
from evenhand.report.ranked_bars import LABEL, Bar, Bars, RemainingRules, flowed, wrapped
from evenhand.runtime.errors import UsageError
from evenhand.space.rule import Condition, Rule
from tests.support.helpers import COMMENTS, TERMS, refused

matplotlib.use("Agg")

OVER = ["sex", "race", "age"]


@cache
def people(rows: int = 1000) -> pd.DataFrame:
    """Return people of whom women over 42 are granted little, and of whom few are green."""
    rng = np.random.default_rng(5)
    sexes = rng.choice(["F", "M"], rows)
    ages = rng.integers(18, 68, rows)
    frame = pd.DataFrame({"sex": sexes, "age": ages})
    races = rng.choice(["blue", "red", "green"], rows, p=[0.5, 0.48, 0.02])
    frame.insert(1, "race", races)
    frame["due"] = rng.integers(0, 2, rows)
    old = (frame["sex"] == "F") & (frame["age"] >= 43)
    rate = np.where(old, 0.2, 0.7)
    frame["granted"] = (rng.random(rows) < rate).astype(int)
    return frame


@cache
def table(**options: Any) -> eh.Result:
    return eh.mine_log(
        people(),
        outcome="granted",
        **{"over": ("sex", "race", "age"), "bins": 5, **options},
    )


@cache
def texts(**options: Any) -> eh.Result:
    def favoured(given: list[str]) -> list[bool]:
        return ["gay" not in text or "christian" in text for text in given]

    return eh.mine_text(favoured, COMMENTS * 20, lexicon=TERMS, **options)


class ScoringWomenHigher:
    """A model that gives women 0.5 and men 0.3."""

    classes_ = np.array([0, 1])
    feature_names_in_ = np.array(OVER)

    def predict_proba(self, given: pd.DataFrame) -> Any:
        share = np.where(given["sex"] == "F", 0.5, 0.3)
        return np.column_stack([1 - share, share])

    def predict(self, given: pd.DataFrame) -> Any:
        return self.predict_proba(given)[:, 1] >= 0.5


@pytest.fixture
def drawn():
    """Draw on a new figure, render it with warnings as errors, and close it at the end."""
    from matplotlib import pyplot

    figures = []

    def draw(display: Any) -> Any:
        display.plot()
        figures.append(display.figure_)
        render(display)
        return display

    yield draw
    for figure in figures:
        pyplot.close(figure)


def render(display: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        display.figure_.canvas.draw()


def written(axes: Any) -> list[str]:
    return [text.get_text() for text in axes.findobj(Text) if text.get_text()]


def cut(display: Any) -> bool:
    """Return whether anything drawn stands out of the figure."""
    box = display.figure_.get_tightbbox()
    wide, high = display.figure_.get_size_inches()
    below = box.x0 < -0.02 or box.y0 < -0.02
    above = box.x1 > wide + 0.02 or box.y1 > high + 0.02
    return bool(below or above)


def meet(axes: Any, *kinds: str) -> list[tuple[str, str]]:
    """Return the labels of an axis, or the texts in the cells, that lie over each other."""
    shown = []
    if "texts" in kinds:
        shown += [text for text in axes.texts if text.get_text()]
    if "y" in kinds:
        shown += axes.get_yticklabels()
    pairs = []
    for text, other in itertools.combinations(shown, 2):
        if lie_over(text.get_window_extent(), other.get_window_extent()):
            pairs.append((text.get_text(), other.get_text()))
    return pairs


def lie_over(box: Any, other: Any) -> bool:
    """Return whether two boxes share more than a line of pixels."""
    left = max(box.x0, other.x0)
    right = min(box.x1, other.x1)
    bottom = max(box.y0, other.y0)
    top = min(box.y1, other.y1)
    return right - left > 1 and top - bottom > 1


def test_bars_are_the_stories_signed_with_their_rates_and_the_rest():
    result = table(limit=0.1)
    display = display_of(result)
    assert isinstance(display, MineDisplay)
    (bars,) = display.bars
    frame = result.to_frame()
    differences = frame["difference"].dropna()
    assert [bar.value for bar in bars.bars] == differences.tolist()
    worst = bars.bars[0]
    row = frame.iloc[0]
    assert row["rule"] == worst.label.replace("\n", " ")
    assert worst.low == row["low"]
    assert worst.high == row["high"]
    assert worst.sure
    assert worst.ends == (-row["high"], -row["low"])
    rate, other_rate, rows = worst.beside
    assert rate == f"{100 * row['rate']:.1f} %"
    assert other_rate == f"{100 * row['other']:.1f} %"
    assert rows == f"{row['rows']:,}"
    assert bars.title == f"fail: {result.worst.claim}"
    assert (bars.limit, bars.percent, bars.headers) == (
        0.1,
        True,
        ("group", "everyone\nelse", "rows"),
    )
    rest = result.details["mine"][0]["rest"]
    assert bars.rest == RemainingRules(
        f"{rest['rules']:,} other rule sets:\nnone further than {100 * rest['value']:.1f} points",
        rest["value"],
        rest["high"],
    )
    assert bars.notes[0] == "difference from everyone else, in points"
    assert "intervals at 95 %, simultaneous over" in bars.notes[1]
    assert bars.notes[-1] == "population: decisions like the recorded ones"


def test_what_may_be_chance_or_under_the_threshold_is_not_sure():
    free = table()
    held = table(limit=0.6)
    free_bars = MineDisplay.from_result(free).bars[0]
    sure = [bar.sure for bar in free_bars.bars]
    stories = [finding for finding in free.findings if finding.about.conditions]
    assert sure == [finding.estimate.low > 0 for finding in stories]
    assert True in sure
    held_bars = MineDisplay.from_result(held).bars[0]
    assert not any(bar.sure for bar in held_bars.bars)


def test_bars_are_drawn_with_intervals_columns_and_the_threshold_on_both_sides(drawn):
    display = drawn(MineDisplay.from_result(table(limit=0.3)))
    bars, ax = display.bars[0], display.ax_
    assert display.ax_ is display.axes_[0]
    shapes = [patch for patch in ax.patches if isinstance(patch, Rectangle)]
    assert [patch.get_width() for patch in shapes] == pytest.approx(
        [bar.value for bar in bars.bars]
    )
    assert len(ax.containers) == 2 * len(bars.bars)  # a bar and its interval
    dashed = [line for line in ax.lines if line.get_linestyle() == "--"]
    threshold = sorted(line.get_xdata()[0] for line in dashed)
    assert threshold == [-0.3, 0.3]
    texts_shown = written(ax)
    for bar in bars.bars:
        assert set(bar.beside) <= set(texts_shown)
    assert [label.get_text() for label in ax.get_yticklabels()] == bars.labels
    assert "engineering threshold 0.3" in texts_shown
    assert not meet(ax, "y", "texts")
    assert not cut(display)


def test_the_heat_map_beside_the_bars_is_over_features_of_the_worst_rule_set():
    (heat,) = MineDisplay.from_result(table()).heats
    assert heat is not None
    assert heat.axes == ("age", "sex")
    frame = people()
    entry = table().details["mine"][0]
    rows = np.array(heat.rows)
    assert rows.sum() == len(frame)
    assert heat.least == 0.05 * len(frame)
    sexes, ages = heat.labels[1], heat.labels[0]
    assert sexes == ("F", "M")
    assert len(ages) == 5
    for down, sex in enumerate(sexes):
        for across, age in enumerate(ages):
            low, high = age.split(" to ")
            in_age = frame["age"].between(int(low), int(high))
            cell = frame[in_age & (frame["sex"] == sex)]
            rate = cell["granted"].mean()
            assert heat.rows[down][across] == len(cell)
            assert heat.rates[down][across] == pytest.approx(rate, abs=1e-6)
    assert heat.centre == pytest.approx(frame["granted"].mean())
    inside = HeatCells.of(
        next(one for one in entry["maps"] if one["axes"] == ["sex", "age"])
    ).covered(Rule.from_dict(entry["stories"][0]["rule"]))
    assert np.array_equal(np.array(heat.inside), inside)


def test_axes_are_the_users_choice_and_in_their_order():
    one = HeatDisplay.from_result(table(), axes=("race", "sex")).heats[0]
    other = HeatDisplay.from_result(table(), axes=["sex", "race"]).heats[0]
    assert (one.axes, other.axes) == (("race", "sex"), ("sex", "race"))
    for name in ("rates", "rows", "few"):
        cells = np.array(getattr(one, name))
        other_cells = np.array(getattr(other, name))
        assert np.array_equal(cells, other_cells.T)
    alone = HeatDisplay.from_result(table(over="age")).heats[0]
    assert alone.axes == ("age",)
    assert np.array(alone.rates).shape == (1, 5)
    assert alone.whole


def test_few_rows_are_hatched_and_noted_and_name_no_extreme(drawn):
    display = drawn(HeatDisplay.from_result(table(), axes=("race", "sex")))
    (heat,) = display.heats
    green = np.array(heat.labels[0]) == "green"
    assert (heat.few == green).all()
    assert any(note.startswith("hatched: under 50 rows (5 %)") for note in heat.notes)
    assert "green" not in heat.title
    hatched = []
    for collection in display.ax_.collections:
        if isinstance(collection, PolyCollection) and collection.get_hatch():
            hatched.append(collection)
    (cells_hatched,) = hatched
    assert len(cells_hatched.get_paths()) == 2
    cells = set()
    for (down, across), rate in np.ndenumerate(np.array(heat.rates)):
        if rate is not None:
            rows = heat.rows[down][across]
            cells.add(f"{100 * rate:.0f} %\n{rows:,}")
    assert cells <= set(written(display.ax_))
    assert not meet(display.ax_, "texts", "y")
    assert not cut(display)


def test_an_empty_cell_is_a_dash_and_of_no_rate(drawn):
    frame = people().query("not (sex == 'F' and race == 'red')")
    result = eh.mine_log(frame, outcome="granted", over=["sex", "race"])
    display = drawn(HeatDisplay.from_result(result, axes=("race", "sex")))
    (heat,) = display.heats
    at = heat.labels[0].index("red")
    assert heat.rates[0][at] is None
    assert heat.rows[0][at] == 0
    assert not heat.few[0][at]
    assert written(display.ax_).count("–") == 1


def test_the_outline_follows_the_rule_and_is_broken_where_it_holds_in_part(drawn):
    whole = drawn(HeatDisplay.from_result(table(over=("sex", "age"))))
    (heat,) = whole.heats
    assert heat.whole
    assert "F" in heat.labels[1]
    (outline,) = [
        one
        for one in whole.ax_.collections
        if isinstance(one, LineCollection) and one.get_zorder() == 3
    ]
    covered = int(np.array(heat.inside).sum())
    assert len(outline.get_segments()) == 2 * covered + 2  # a row of cells
    rule = table().details["mine"][0]["stories"][0]["rule"]
    assert {condition["feature"] for condition in rule["conditions"]} >= {"sex", "age"}
    part = HeatDisplay.from_result(table(), axes=("age", "race")).heats[0]
    assert not part.whole
    assert any(note.startswith("dashed, in part: ") for note in part.notes)


@given(
    bounds=st.lists(
        st.integers(-2_000_000, 2_000_000), min_size=4, max_size=8, unique=True
    ).map(sorted),
    data=st.data(),
)
def test_cells_of_a_number_that_a_rule_takes_are_found_by_where_they_start_whatever_they_are_called(
    bounds, data
):
    starts = tuple(bounds[:-1])
    number = len(starts)
    first = data.draw(st.integers(0, number - 1))
    last = data.draw(st.integers(first, number - 1))
    low = None if first == 0 else bounds[first]
    below = None if last == number - 1 else bounds[last + 1]
    high = None if below is None else below - 1
    labels = ("a bin",) * number
    ones = np.ones(number)
    cells = HeatCells(("x",), (labels,), (starts,), ones, ones)
    condition = Condition("x", low, high, below=below)
    met = cells.covered(Rule((condition,)))
    assert met.tolist() == [first <= at <= last for at in range(number)]


def test_terms_are_a_matrix_by_their_means_around_the_mean(drawn):
    result = texts()
    display = drawn(TermsDisplay.from_result(result, axes=("gender", "religion")))
    (heat,) = display.heats
    assert heat.axes == ("gender", "religion")
    rates = np.array(heat.rates)
    gay = heat.labels[0].index("gay")
    expected = [0.0, 0.0, 0.0]
    expected[heat.labels[1].index("christian")] = 1.0
    assert rates[:, gay].tolist() == expected
    assert (np.diff(rates.mean(axis=0)) >= 0).all()
    assert (np.diff(rates.mean(axis=1)) >= 0).all()
    assert heat.centre == pytest.approx(rates.mean())
    assert not heat.few.any()
    assert not heat.rows
    assert "the same 20 texts" in heat.notes[0]
    assert len(display.figure_.axes) == 2  # the cells and their scale
    assert not cut(display)


def test_one_category_is_a_row_of_terms(drawn):
    display = drawn(TermsDisplay.from_result(texts(), axes="gender"))
    (heat,) = display.heats
    assert heat.labels == (("gay", "straight", "lesbian"),)
    assert np.array(heat.rates).tolist() == [[0.0, 1.0, 1.0]]
    assert (
        heat.title
        == "how often texts get the favourable outcome, by the term for gender: from 0.0 % (gay) to"
        " 100.0 % (straight)"
    )
    assert len(display.figure_.axes) == 1


def test_texts_are_drawn_as_bars_with_their_matrix(drawn):
    display = drawn(display_of(texts(limit=0.1)))
    (bars,), (heat,) = display.bars, display.heats
    assert bars.bars[0].label == "gender gay"
    assert bars.bars[0].beside == ("0.0 %", "100.0 %", "100")
    assert bars.headers == ("these\nterms", "other\nterms", "texts")
    assert heat.inside == ((True, False, False),)
    assert len(display.axes_) == 2
    assert not cut(display)


def test_changes_of_terms_are_shares_of_texts(drawn):
    display = drawn(display_of(texts(kind="causal")))
    (bars,), (heat,) = display.bars, display.heats
    frame = texts(kind="causal").to_frame()
    assert [bar.value for bar in bars.bars] == frame["value"].tolist()
    assert (bars.sides, bars.rest, bars.headers) == (None, None, ("changed", "texts"))
    first = bars.bars[0]
    assert first.ends == (first.low, first.high)
    assert display.ax_.get_xlim()[0] == 0
    assert heat.centre is None
    assert heat.inside == ()
    (entry,) = texts(kind="causal").details["mine_text"]
    changed = [term["changed"] for term in entry["changes"][0]["terms"]]
    rates = np.array(heat.rates).ravel()
    assert sorted(rates) == sorted(changed)


def test_scores_are_no_percentages(drawn):
    frame = people()[OVER]
    space = eh.Space.from_frame(frame, protected=["sex", "age"])
    subject = eh.Subject(ScoringWomenHigher(), space, output="score", positive=1)
    mined = eh.mine(subject, data=eh.rows(frame), treatment="rows")
    display = drawn(display_of(mined))
    bars = display.bars[0]
    assert not bars.percent
    assert sorted(bars.bars[0].beside[:2]) == ["0.300", "0.500"]
    assert bars.notes[0] == "difference from everyone else"
    assert "at 95 %" not in " ".join(bars.notes)  # all rows are the population
    shown = [text for text in written(display.axes_[1]) if "hatched" not in text]
    assert "%" not in " ".join(shown)


def test_several_minings_have_panels_of_their_own_and_more_are_counted(drawn):
    scores = table(truth="due", score=("tpr", "fpr"), top=2)
    display = MineDisplay.from_result(scores)
    assert len(display.bars) == len(display.heats) == 2
    for heat, bars in zip(display.heats, display.bars, strict=True):
        assert heat is not None
        who, _, _ = heat.title.partition(", ")
        assert bars.title.startswith(f"{who}, ")
    sets = eh.mine_log(
        people(),
        outcome="granted",
        over=[("sex",), ("race",), ("age",), ("sex", "race")],
        top=2,
    )
    fewer = drawn(display_of(sets))
    assert (len(fewer.bars), fewer.left_out) == (MOST_MININGS, 1)
    assert "… 1 more sets of features" in fewer.axes_[-1].get_xlabel()
    assert [
        None for heat in fewer.heats if heat is None
    ]  # two cells are in the bars already
    maps = [heat for heat in fewer.heats if heat is not None]
    assert len(fewer.axes_) == len(maps) + MOST_MININGS


def test_more_rule_sets_than_have_room_are_counted():
    result = table(over="age", bins=25, top=20, support=0.02)
    (bars,) = MineDisplay.from_result(result).bars
    stories = len(result.details["mine"][0]["stories"])
    assert len(bars.bars) == MOST_BARS < stories
    assert bars.notes[-1] == f"… {stories - MOST_BARS} more rule sets"


def test_a_result_from_a_file_is_drawn_the_same(tmp_path):
    for number, result in enumerate((table(), texts(), texts(kind="causal"))):
        result.to_json(tmp_path / f"{number}.json")
        again = eh.Result.from_json(tmp_path / f"{number}.json")
        one = MineDisplay.from_result(result)
        other = MineDisplay.from_result(again)
        assert one.bars == other.bars
        assert one.heats == other.heats


def test_axes_given_get_the_bars_and_leave_the_global_state_alone():
    from matplotlib import pyplot

    before = dict(matplotlib.rcParams), pyplot.get_fignums()
    figure = Figure(layout="constrained", figsize=(14, 4))
    left, right = figure.subplots(1, 2)
    display = table().plot(ax=left)
    HeatDisplay.from_result(table()).plot(ax=right)
    assert display.ax_ is left
    assert display.axes_ == (left,)
    assert display.figure_ is figure
    render(display)
    assert not meet(left, "y", "texts")
    assert (dict(matplotlib.rcParams), pyplot.get_fignums()) == before


def test_what_cannot_be_drawn_is_refused_in_a_sentence():
    refused(
        UsageError,
        lambda: HeatDisplay.from_result(table(), axes=("age", "sexx")),
        "axes",
        "'sex and age'",
    )
    refused(
        UsageError,
        lambda: HeatDisplay.from_result(table(), axes="age"),
        "axes = 'age'",
        "'race and age'",
    )
    wrong: Any = 5
    refused(UsageError, lambda: HeatDisplay.from_result(table(), axes=wrong), "axes = 5")
    refused(UsageError, lambda: HeatDisplay.from_result(table(), axes=()), "axes = ()")
    refused(UsageError, lambda: HeatDisplay.from_result(texts()), "TermsDisplay")
    refused(UsageError, lambda: TermsDisplay.from_result(table()), "HeatDisplay")
    (entry,) = table().details["mine"]
    without_maps = {**entry, "maps": []}
    without = replace(table(), details={"mine": [without_maps]})
    refused(
        UsageError, lambda: HeatDisplay.from_result(without), "no rates of single cells"
    )
    assert MineDisplay.from_result(without).heats == (None,)


@pytest.mark.slow
def test_very_many_bars_and_cells_long_names_and_formulas_are_drawn(drawn):
    bars = []
    for at in range(30):
        label = wrapped(f"${at}_$, " + "long words " * 9)
        value = 0.01 * at - 0.1
        bars.append(Bar(label, value, 0.0, 0.3, sure=False, beside=("1",)))
    ranked = Bars(
        "$x_{$ " * 30,
        ("$y$",),
        ("n",),
        tuple(bars),
        RemainingRules("9 others", 0.1, 0.2),
        0.1,
        ("less", "more"),
    )
    names = tuple(f"$level {at} of a category with a long name" for at in range(40))
    products = np.multiply.outer(np.arange(20), np.arange(40))
    rates = tuple(map(tuple, (products % 7 / 7).tolist()))
    heat = Heat(
        "$many$",
        ("$a$", "b" * 90),
        (names, names[:20]),
        rates,
        centre=0.4,
        notes=("a note " * 40,),
    )
    display = drawn(MineDisplay((ranked,), (heat,)))
    assert max(display.figure_.get_size_inches()) < 45
    assert display.figure_.get_size_inches()[0] <= 13
    assert not cut(display)


@given(
    st.lists(st.text("abcdef <=$,", min_size=1, max_size=60), min_size=1, max_size=5),
    st.integers(12, 60),
)
def test_wrapped_rules_keep_every_letter_and_their_width(parts, width):
    text = ", ".join(parts)
    lines = wrapped(text, width, 10_000).split("\n")
    plain_lines = [line.replace("\\$", "$") for line in lines]
    letters = "".join(plain_lines).split()
    assert "".join(letters) == "".join(text.split())
    assert max(map(len, plain_lines)) <= width + 1


def test_sentences_are_broken_between_words_but_not_within_brackets():
    assert flowed("from 4.5 % (39 to 46) to 6 % (17 to 24)", 1.5).split("\n") == [
        "from 4.5 % (39 to 46)",
        "to 6 % (17 to 24)",
    ]
    assert len(wrapped("x" * 40).split("\n")[0]) <= LABEL
