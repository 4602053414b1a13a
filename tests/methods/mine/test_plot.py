"""Displays of mined results: what they compute is asserted without drawing, what they draw on
figures nobody sees.
"""

from __future__ import annotations

import itertools
import warnings
from dataclasses import replace
from functools import cache, partial
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
    is_woman = frame["sex"] == "F"
    is_older = frame["age"] >= 43
    rate = np.where(is_woman & is_older, 0.2, 0.7)
    is_granted = rng.random(rows) < rate
    frame["granted"] = is_granted.astype(int)
    return frame


@cache
def table(over: Any = ("sex", "race", "age"), bins: int = 5, **options: Any) -> eh.Result:
    return eh.mine_log(
        people(),
        outcome="granted",
        over=over,
        bins=bins,
        **options,
    )


def heat_of(result: eh.Result, **options: Any) -> Any:
    """Return the only heat map of a result."""
    (heat,) = HeatDisplay.from_result(result, **options).heats
    return heat


def bars_of(result: eh.Result) -> Bars:
    """Return the bars of the only mining of a result."""
    (bars,) = MineDisplay.from_result(result).bars
    return bars


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
        is_woman = given["sex"] == "F"
        share = np.where(is_woman, 0.5, 0.3)
        return np.column_stack([1 - share, share])

    def predict(self, given: pd.DataFrame) -> Any:
        share = self.predict_proba(given)[:, 1]
        return share >= 0.5


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
    slack = 0.02
    below = min(box.x0, box.y0) < -slack
    right = box.x1 > wide + slack
    above = box.y1 > high + slack
    return bool(below or right or above)


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
    width = right - left
    height = top - bottom
    return bool(width > 1 and height > 1)


def test_bars_are_the_stories_signed_with_their_rates():
    result = table(limit=0.1)
    display = display_of(result)
    assert isinstance(display, MineDisplay)
    (bars,) = display.bars
    frame = result.to_frame()
    differences = frame["difference"].dropna()
    assert [bar.value for bar in bars.bars] == differences.tolist()
    worst = bars.bars[0]
    row = frame.iloc[0]
    assert bars.title == f"fail: {result.worst.claim}"
    assert row["rule"] == worst.label.replace("\n", " ")
    assert worst.low == row["low"]
    assert worst.high == row["high"]
    assert worst.sure
    assert worst.ends == (-row["high"], -row["low"])
    rate, other_rate, rows = worst.beside
    assert rate == f"{100 * row['rate']:.1f} %"
    assert other_rate == f"{100 * row['other']:.1f} %"
    assert rows == f"{row['rows']:,}"


def test_bars_say_what_is_compared_and_bound_the_rest():
    result = table(limit=0.1)
    bars = bars_of(result)
    assert bars.title == f"fail: {result.worst.claim}"
    assert bars.limit == 0.1
    assert bars.percent
    assert bars.headers == ("group", "everyone\nelse", "rows")
    rest = result.details["mine"][0]["rest"]
    points = 100 * rest["value"]
    assert bars.rest == RemainingRules(
        f"{rest['rules']:,} other rule sets:\nnone further than {points:.1f} points",
        rest["value"],
        rest["high"],
    )
    assert bars.notes[0] == "difference from everyone else, in points"
    assert "intervals at 95 %, simultaneous over" in bars.notes[1]
    assert bars.notes[-1] == "population: decisions like the recorded ones"


def test_what_may_be_chance_or_under_the_threshold_is_not_sure():
    free = table()
    sure = [bar.sure for bar in bars_of(free).bars]
    stories = [finding for finding in free.findings if finding.about.conditions]
    assert sure == [finding.estimate.low > 0 for finding in stories]
    assert True in sure
    held = table(limit=0.6)
    for bar in bars_of(held).bars:
        assert not bar.sure


def test_bars_are_drawn_with_intervals_columns_and_the_threshold_on_both_sides(drawn):
    display = drawn(MineDisplay.from_result(table(limit=0.3)))
    (bars,) = display.bars
    ax = display.ax_
    assert display.ax_ is display.axes_[0]
    shapes = [patch for patch in ax.patches if isinstance(patch, Rectangle)]
    widths = [patch.get_width() for patch in shapes]
    assert widths == pytest.approx([bar.value for bar in bars.bars])
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
    assert np.sum(heat.rows) == len(frame)
    assert heat.least == 0.05 * len(frame)
    ages, sexes = heat.labels
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
    entry = table().details["mine"][0]
    maps = {tuple(each["axes"]): each for each in entry["maps"]}
    by_sex_and_age = maps["sex", "age"]
    worst = Rule.from_dict(entry["stories"][0]["rule"])
    inside = HeatCells.of(by_sex_and_age).covered(worst)
    assert np.array_equal(np.array(heat.inside), inside)


def test_axes_are_the_users_choice_and_in_their_order():
    one = heat_of(table(), axes=("race", "sex"))
    other = heat_of(table(), axes=["sex", "race"])
    assert one.axes == ("race", "sex")
    assert other.axes == ("sex", "race")
    for name in ("rates", "rows", "few"):
        cells = np.array(getattr(one, name))
        other_cells = np.array(getattr(other, name))
        assert np.array_equal(cells, other_cells.T)


def test_a_single_feature_is_a_row_of_cells():
    alone = heat_of(table(over="age"))
    assert alone.axes == ("age",)
    assert np.array(alone.rates).shape == (1, 5)
    assert alone.whole


def test_few_rows_are_hatched_and_noted_and_name_no_extreme(drawn):
    display = drawn(HeatDisplay.from_result(table(), axes=("race", "sex")))
    (heat,) = display.heats
    is_green = np.array(heat.labels[0]) == "green"
    assert (heat.few == is_green).all()
    assert any(note.startswith("hatched: under 50 rows (5 %)") for note in heat.notes)
    assert "green" not in heat.title
    hatched = []
    for collection in display.ax_.collections:
        if isinstance(collection, PolyCollection) and collection.get_hatch():
            hatched.append(collection)
    (cells_hatched,) = hatched
    assert len(cells_hatched.get_paths()) == 2
    texts_shown = written(display.ax_)
    for (down, across), rate in np.ndenumerate(np.array(heat.rates)):
        if rate is not None:
            rows = heat.rows[down][across]
            assert f"{100 * rate:.0f} %\n{rows:,}" in texts_shown
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


def outlines(axes: Any) -> list[LineCollection]:
    """Return the lines around the cells that a rule holds."""
    found = []
    for collection in axes.collections:
        if isinstance(collection, LineCollection) and collection.get_zorder() == 3:
            found.append(collection)
    return found


def test_the_outline_follows_the_rule(drawn):
    display = drawn(HeatDisplay.from_result(table(over=("sex", "age"))))
    (heat,) = display.heats
    assert heat.whole
    assert "F" in heat.labels[1]
    (outline,) = outlines(display.ax_)
    covered = int(np.array(heat.inside).sum())
    assert len(outline.get_segments()) == 2 * covered + 2  # a row of cells


def test_the_outline_is_broken_where_the_rule_holds_in_part():
    rule = table().details["mine"][0]["stories"][0]["rule"]
    assert {condition["feature"] for condition in rule["conditions"]} >= {"sex", "age"}
    part = heat_of(table(), axes=("age", "race"))
    assert not part.whole
    assert any(note.startswith("dashed, in part: ") for note in part.notes)


BOUNDS = st.lists(
    st.integers(-2_000_000, 2_000_000),
    min_size=4,
    max_size=8,
    unique=True,
)


@given(bounds=BOUNDS.map(sorted), data=st.data())
def test_cells_of_a_number_that_a_rule_takes_are_found_by_where_they_start_whatever_they_are_called(
    bounds, data
):
    starts = tuple(bounds[:-1])
    number = len(starts)
    first = data.draw(st.integers(0, number - 1))
    last = data.draw(st.integers(first, number - 1))
    low = None if first == 0 else bounds[first]
    below = None
    high = None
    if last < number - 1:
        below = bounds[last + 1]
        high = below - 1
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
    assert heat.title == (
        "how often texts get the favourable outcome, by the term for gender:"
        " from 0.0 % (gay) to 100.0 % (straight)"
    )
    assert len(display.figure_.axes) == 1


def test_texts_are_drawn_as_bars_with_their_matrix(drawn):
    display = drawn(display_of(texts(limit=0.1)))
    (bars,) = display.bars
    (heat,) = display.heats
    first = bars.bars[0]
    assert first.label == "gender gay"
    assert first.beside == ("0.0 %", "100.0 %", "100")
    assert bars.headers == ("these\nterms", "other\nterms", "texts")
    assert heat.inside == ((True, False, False),)
    assert len(display.axes_) == 2
    assert not cut(display)


def test_changes_of_terms_are_shares_of_texts(drawn):
    result = texts(kind="causal")
    display = drawn(display_of(result))
    (bars,) = display.bars
    (heat,) = display.heats
    values = result.to_frame()["value"]
    assert [bar.value for bar in bars.bars] == values.tolist()
    assert bars.sides is None
    assert bars.rest is None
    assert bars.headers == ("changed", "texts")
    first = bars.bars[0]
    assert first.ends == (first.low, first.high)
    left, _ = display.ax_.get_xlim()
    assert left == 0
    assert heat.centre is None
    assert heat.inside == ()
    (entry,) = result.details["mine_text"]
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


def test_several_minings_have_panels_of_their_own():
    scores = table(truth="due", score=("tpr", "fpr"), top=2)
    display = MineDisplay.from_result(scores)
    assert len(display.bars) == 2
    for heat, bars in zip(display.heats, display.bars, strict=True):
        assert heat is not None
        who, _, _ = heat.title.partition(", ")
        assert bars.title.startswith(f"{who}, ")


def test_minings_that_have_no_panel_are_counted(drawn):
    over = (("sex",), ("race",), ("age",), ("sex", "race"))
    sets = table(over=over, bins=10, top=2)
    display = drawn(display_of(sets))
    assert len(display.bars) == MOST_MININGS
    assert display.left_out == 1
    assert "… 1 more sets of features" in display.axes_[-1].get_xlabel()
    assert None in display.heats  # two cells are in the bars already
    maps = [heat for heat in display.heats if heat is not None]
    assert len(display.axes_) == len(maps) + MOST_MININGS


def test_more_rule_sets_than_have_room_are_counted():
    result = eh.mine_log(
        towns(), outcome="granted", over="town", levels=1, support=0.02, top=20
    )
    bars = bars_of(result)
    stories = len(result.details["mine"][0]["stories"])
    assert stories > MOST_BARS
    assert len(bars.bars) == MOST_BARS
    assert bars.notes[-1] == f"… {stories - MOST_BARS} more rule sets"


def towns() -> pd.DataFrame:
    """Return decisions in a city and many towns, which are treated worse or better than it."""
    number = np.arange(12_000) // 300
    is_town = number < 17
    rate = np.where(is_town, 0.05 + 0.9 * (number % 2), 0.5)
    granted = np.arange(12_000) % 100 < 100 * rate
    names = np.where(is_town, [f"town {at}" for at in number], "city")
    return pd.DataFrame({"town": names, "granted": granted.astype(int)})


@pytest.mark.parametrize(
    "mined",
    [
        table,
        texts,
        partial(texts, kind="causal"),
    ],
)
def test_a_result_from_a_file_is_drawn_the_same(mined, tmp_path):
    path = tmp_path / "mined.json"
    result = mined()
    result.to_json(path)
    again = eh.Result.from_json(path)
    display = MineDisplay.from_result(result)
    display_again = MineDisplay.from_result(again)
    assert display.bars == display_again.bars
    assert display.heats == display_again.heats


def test_axes_given_get_the_bars_and_leave_the_global_state_alone():
    from matplotlib import pyplot

    settings_before = dict(matplotlib.rcParams)
    figures_before = pyplot.get_fignums()
    figure = Figure(layout="constrained", figsize=(14, 4))
    left, right = figure.subplots(1, 2)
    display = table().plot(ax=left)
    HeatDisplay.from_result(table()).plot(ax=right)
    assert display.ax_ is left
    assert display.axes_ == (left,)
    assert display.figure_ is figure
    render(display)
    assert not meet(left, "y", "texts")
    assert dict(matplotlib.rcParams) == settings_before
    assert pyplot.get_fignums() == figures_before


@pytest.mark.parametrize(
    ("axes", "words"),
    [
        (("age", "sexx"), ["axes", "'sex and age'"]),
        ("age", ["axes = 'age'", "'race and age'"]),
        (5, ["axes = 5"]),
        ((), ["axes = ()"]),
    ],
)
def test_axes_that_have_no_map_are_refused_in_a_sentence(axes, words):
    refused(UsageError, lambda: HeatDisplay.from_result(table(), axes=axes), *words)


def test_a_result_of_another_kind_is_refused_in_a_sentence():
    refused(UsageError, lambda: HeatDisplay.from_result(texts()), "TermsDisplay")
    refused(UsageError, lambda: TermsDisplay.from_result(table()), "HeatDisplay")


def test_a_result_without_maps_has_bars_only():
    (entry,) = table().details["mine"]
    details = {"mine": [{**entry, "maps": []}]}
    without = replace(table(), details=details)
    refused(
        UsageError,
        lambda: HeatDisplay.from_result(without),
        "no rates of single cells",
    )
    assert MineDisplay.from_result(without).heats == (None,)


@pytest.mark.slow
def test_very_many_bars_and_cells_long_names_and_formulas_are_drawn(drawn):
    bars = []
    for at in range(30):
        label = wrapped(f"${at}_$, " + "long words " * 9)
        value = 0.01 * at - 0.1
        bar = Bar(
            label,
            value,
            0.0,
            0.3,
            sure=False,
            beside=("1",),
        )
        bars.append(bar)
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
    shares = products % 7 / 7
    rates = [tuple(row) for row in shares.tolist()]
    heat = Heat(
        "$many$",
        ("$a$", "b" * 90),
        (names, names[:20]),
        tuple(rates),
        centre=0.4,
        notes=("a note " * 40,),
    )
    display = drawn(MineDisplay((ranked,), (heat,)))
    wide, high = display.figure_.get_size_inches()
    assert wide <= 13
    assert high < 45
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
    sentence = flowed("from 4.5 % (39 to 46) to 6 % (17 to 24)", 1.5)
    assert sentence.split("\n") == [
        "from 4.5 % (39 to 46)",
        "to 6 % (17 to 24)",
    ]


def test_a_label_without_spaces_is_broken():
    first_line, _, _ = wrapped("x" * 40).partition("\n")
    assert len(first_line) <= LABEL
