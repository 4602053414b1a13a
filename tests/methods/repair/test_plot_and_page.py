"""Repairs drawn and as HTML: what is computed is asserted without drawing, and pages by parsing
them.
"""

from __future__ import annotations

import itertools
import math
import re
import sys
import warnings
from collections import Counter
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import matplotlib
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure
from matplotlib.text import Text

from evenhand.methods.compare.compare import compare
from evenhand.methods.compare.plot import TradeoffDisplay
from evenhand.methods.repair import messages
from evenhand.methods.repair.change import PairedChange
from evenhand.methods.repair.paired import paired
from evenhand.methods.repair.plot import RepairDisplay, ScorePanel
from evenhand.methods.repair.plot.display import _LOOKS
from evenhand.methods.repair.plot_steps import Course
from evenhand.methods.repair.repair_result import Repair
from evenhand.methods.repair.section import STYLE, whole_section
from evenhand.methods.repair.steps import (
    NO_HELP,
    NOTHING,
    REPAIRED,
    RepairCheck,
    Step,
    judged,
)
from evenhand.runtime.budget import Spent
from evenhand.runtime.errors import MissingExtra, UsageError
from evenhand.space.rule import Condition, Rule
from evenhand.statistics.estimate import Amount, Estimate
from tests.support.helpers import examples, refused
from tests.support.strategies import TEXTS
from tests.support.strict_html import StrictPage

if TYPE_CHECKING:
    from evenhand.methods.compare.comparison import Comparison

matplotlib.use("Agg")

PEOPLE = "people like the held-out rows"
LONG = "the main source of income of the household in the year before last, all inputs"
NAN = Estimate(math.nan, 0.0, 1.0, 0, 0.95, "exact")


def near(value: float, half: float = 0.02, n: int = 1000) -> Estimate:
    return Estimate(
        value, max(0.0, value - half), min(1.0, value + half), n, 0.95, "bootstrap", PEOPLE
    )


@cache
def change(before: float, after: float, n: int = 2000) -> PairedChange:
    old, new = (np.arange(n) % 97 < 97 * share for share in (before, after))
    return paired(old, new, level=0.95, population="all inputs, uniformly")


def check(name: str, kind: str, found: PairedChange, *about: str) -> RepairCheck:
    fall = found.fall
    rise = Amount(-fall.value, -fall.high, -fall.low, fall.n, fall.level, fall.method)
    return RepairCheck(name, kind, found.before, found.after, rise, about=about)


@cache
def compared(bias: str) -> Comparison:
    rng, rows = np.random.default_rng(0), 400
    man = rng.random(rows) < 0.6
    due = rng.random(rows) < np.where(man, 0.45, 0.2)
    score = 2 * due + rng.normal(size=rows)
    predictions = {
        "original": (score + man > 1.4).astype(int),
        "repaired": (score + 0.2 * man > 1.2).astype(int),
    }
    return compare(
        predictions, due.astype(int), np.where(man, "m", "f"), bias=bias, resamples=100
    )


def accuracy(before: float, after: float) -> RepairCheck:
    rise = Amount(
        after - before,
        after - before - 0.004,
        after - before + 0.004,
        1000,
        0.95,
        "paired melded",
    )
    return RepairCheck("accuracy", "performance", near(before), near(after), rise)


CLAIM = change(0.12, 0.01)
CHECKS = (
    accuracy(0.851, 0.849),
    check("sex, all inputs", "aim", CLAIM),
    check("sex, held-out people", "people", change(0.06, 0.01)),
    check("race, all inputs", "other", change(0.2, 0.2), "race"),
    check("country, all inputs", "other", change(0.1, 0.2), "country"),
    RepairCheck(
        "worst subgroup",
        "subgroup",
        near(0.25, 0.06),
        near(0.2, 0.06),
        None,
        "before: age <= 28; after: race = B",
    ),
    RepairCheck("spd", "group", near(0.18), near(0.15)),
    RepairCheck("f1", "performance", near(0.66), near(0.655)),
)
STEPS = tuple(
    Step(number, percent, round(240 * percent), change(0.12, after), score, kept, why)
    for number, (percent, after, score, kept, why) in enumerate(
        [
            (1.4, 0.12, 0.85, False, "share did not surely fall"),
            (2.9, 0.08, 0.849, True, "kept"),
            (11.8, 0.03, 0.831, False, "accuracy fell by 1.9 points"),
            (100.0, 0.01, 0.85, True, "kept"),
        ],
        2,
    )
)


def repaired(**changes: Any) -> Repair:
    made = Repair(
        method="augment",
        over=("sex",),
        about=("sex",),
        outcome=REPAIRED,
        change=CLAIM,
        checks=CHECKS,
        comparisons={"aim": compared("spd"), "eod": compared("eod")},
        history=STEPS,
        sizes={"training": 24_000, "validation": 6_000, "test": 10_000},
        seed=3,
        level=0.95,
        tolerance=0.01,
        limit=0.05,
        spent=Spent(123_456, 120_000, 12.5),
        notes=("a note",),
        space={},
        versions={"evenhand": "0.1", "numpy": "2.0"},
    )
    return replace(made, **changes)


FULL = repaired()
UNTOUCHED = repaired(
    outcome=NOTHING,
    change=PairedChange.none(CLAIM.before),
    checks=tuple(replace(one, after=one.before, change=None) for one in CHECKS),
    comparisons={},
    history=(),
    limit=None,
)
MANY = repaired(
    checks=CHECKS
    + tuple(
        check(f"{LONG} {at}", "other", change(0.03 * at, 0.02 * at)) for at in range(1, 13)
    )
)
NUMBERS = repaired(
    method="subgroup",
    about=Rule((Condition("sex", levels=("F",)),)),
    checks=(
        check("sex and a dollar $x$, all inputs", "aim", CLAIM),
        RepairCheck(
            "mean gap",
            "group",
            Amount(1200, 900, 1500, 900, 0.95, "b"),
            Amount(300, 100, 500, 900, 0.95, "b"),
        ),
        RepairCheck(
            "r2",
            "performance",
            Amount(0.6, 0.5, 0.7, 900, 0.95, "b"),
            Amount(-0.2, -0.4, 0.1, 900, 0.95, "b"),
        ),
    ),
    history=tuple(
        replace(step, percent=60.0 - 5 * step.number, accuracy=-0.1) for step in STEPS
    ),
)
GAPS = repaired(
    checks=(
        RepairCheck("sex", "aim", NAN, NAN),
        RepairCheck("sex, held-out", "people", near(0.2), NAN),
        CHECKS[0],
    ),
    history=(
        replace(STEPS[0], change=PairedChange(NAN, NAN, CLAIM.fall, CLAIM.fewer)),
        replace(STEPS[1], accuracy=math.nan),
    ),
)
ONE = repaired(checks=CHECKS[:1], history=STEPS[:1], limit=None, comparisons={})
ALL = {
    "full": FULL,
    "untouched": UNTOUCHED,
    "many": MANY,
    "numbers": NUMBERS,
    "gaps": GAPS,
    "one": ONE,
}


def display(repair: Repair, kind: str = "change") -> RepairDisplay:
    found = RepairDisplay.from_repair(repair, kind)
    assert isinstance(found, RepairDisplay)
    return found


def rows(panel: ScorePanel | Course) -> dict[str, list[Any]]:
    assert isinstance(panel, ScorePanel)
    return {heading: list(group) for heading, group in panel.groups}


@pytest.fixture
def drawn():
    """Draw on a new figure, render it with warnings as errors, and close it at the end."""
    from matplotlib import pyplot

    figures = []

    def draw(shown: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            shown.plot()
            figures.append(shown.figure_)
            shown.figure_.canvas.draw()
        return shown

    yield draw
    for figure in figures:
        pyplot.close(figure)


def cut(shown: Any) -> bool:
    """Return whether anything drawn stands out of the figure."""
    box = shown.figure_.get_tightbbox()
    width, height = shown.figure_.get_size_inches()
    margin = 0.02
    below = box.x0 < -margin or box.y0 < -margin
    above = box.x1 > width + margin or box.y1 > height + margin
    return bool(below or above)


def meet(shown: Any) -> list[tuple[str, str]]:
    """Return the labels, headings and numbers that lie over each other."""
    texts: list[Any] = []
    for ax in shown.axes_:
        texts += [*ax.get_yticklabels(), *ax.texts, ax.title, ax.xaxis.label]
    boxes = []
    for text in texts:
        if text.get_text():
            boxes.append((text.get_text(), Text.get_window_extent(text)))
    met = []
    for (first, box), (second, other) in itertools.combinations(boxes, 2):
        shared_width = min(box.x1, other.x1) - max(box.x0, other.x0)
        shared_height = min(box.y1, other.y1) - max(box.y0, other.y0)
        if shared_width > 1 and shared_height > 1:
            met.append((first, second))
    return met


# What is drawn


def test_scores_stand_under_their_kind_and_those_of_one_unit_share_an_axis():
    shares, gaps, scores = display(FULL).panels
    labels = {}
    for heading, group in rows(shares).items():
        labels[heading] = [row.label for row in group]
    assert labels == {
        "what the repair is about": ["sex, all inputs"],
        "held-out people": ["sex, held-out people"],
        "other protected features": ["race, all inputs", "country, all inputs"],
    }
    assert list(rows(gaps)) == ["worst subgroup", "group metrics"]
    assert [row.label for row in rows(scores)["performance"]] == ["accuracy", "f1"]
    assert shares.axis.endswith(": ← less is better")
    assert gaps.axis.endswith(": ← less is better")
    assert scores.axis.endswith(": more is better →")
    assert "intervals at 95 %; population: all inputs, uniformly" in shares.note
    assert display(FULL).title == f"{FULL.verdict}: {FULL.claim}"


def test_a_row_tells_both_values_and_how_sure_the_change_is():
    (aim,) = rows(display(FULL).panels[0])["what the repair is about"]
    assert aim.before == (CLAIM.before.value, CLAIM.before.low, CLAIM.before.high)
    assert aim.after == (CLAIM.after.value, CLAIM.after.low, CLAIM.after.high)
    assert aim.judged == "better"
    assert aim.limit == 0.05
    assert aim.beside == "12.6 % → 1.1 %\nn = 2,000"
    race, country = rows(display(FULL).panels[0])["other protected features"]
    assert race.judged == "not sure"
    assert country.judged == "worse"
    assert country.limit is None
    accuracy, f1 = rows(display(FULL).panels[2])["performance"]
    assert accuracy.judged == "not sure"
    assert f1.judged == "not judged"


def test_what_was_left_as_it_is_has_no_change():
    found: list[Any] = []
    for panel in display(UNTOUCHED).panels:
        assert isinstance(panel, ScorePanel)
        found += panel.rows
    assert {row.judged for row in found} == {"no change"}
    assert all(row.before == row.after for row in found)


def test_scores_without_data_are_reported_and_not_drawn():
    first, second = (group[0] for group in rows(display(GAPS).panels[0]).values())
    assert (first.before, first.after, first.beside) == (
        None,
        None,
        "no data, undecided\nn = 0",
    )
    assert (second.after, second.beside, second.judged) == (
        None,
        "20.0 % → no data\nn = 0",
        "not judged",
    )


def test_numbers_have_an_axis_of_their_own_without_a_unit():
    gap, amounts, scores = display(NUMBERS).panels
    assert [panel.percent for panel in (gap, amounts, scores)] == [True, False, False]
    assert gap.axis == amounts.axis == "gap between groups: ← less is better"
    (row,) = rows(scores)["performance"]
    assert (row.label, row.beside) == ("R²", "0.6 → −0.2\nn = 900")


bounded = st.floats(-1, 1, allow_subnormal=False)


@given(
    st.tuples(bounded, bounded, bounded), st.sampled_from(["aim", "group", "performance"])
)
def test_better_is_worse_the_other_way_round(numbers, kind):
    low, value, high = sorted(numbers)
    there = judged(
        RepairCheck(
            "a", kind, near(0.2), near(0.1), Amount(value, low, high, 9, 0.95, "paired")
        )
    )
    back = judged(
        RepairCheck(
            "a", kind, near(0.1), near(0.2), Amount(-value, -high, -low, 9, 0.95, "paired")
        )
    )
    assert {"better": "worse", "worse": "better"}.get(there, there) == back
    assert (there in ("better", "worse")) == (low > 0 or high < 0)
    if there == "better":
        assert (value > 0) == (kind == "performance")


def test_nobody_needs_colours_to_tell_looks_apart():
    markers = [marker for _, marker in _LOOKS.values()]
    assert len(set(markers)) == len(markers)


def test_steps_are_drawn_against_what_they_added():
    first, second = display(FULL, "history").panels
    assert isinstance(first, Course)
    assert isinstance(second, Course)
    assert [(dot.number, dot.added, dot.kept) for dot in first.dots] == [
        (2, 1.4, False),
        (3, 2.9, True),
        (4, 11.8, False),
        (5, 100.0, True),
    ]
    for dot, step in zip(first.dots, STEPS, strict=True):
        after = step.change.after
        assert dot.found == (after.value, after.low, after.high)
    assert [dot.found and dot.found[0] for dot in second.dots] == [0.85, 0.849, 0.831, 0.85]
    assert first.chosen == 100.0
    assert first.original == CLAIM.before.value
    assert first.score == "share of discriminatory inputs"
    assert display(FULL, "history").title.startswith(
        "augment: 2 of 4 steps kept\nsex: the share"
    )
    assert [panel.percent for panel in display(NUMBERS, "history").panels] == [True, False]


def test_no_step_is_chosen_where_the_model_was_left_as_it_is():
    history = tuple(replace(step, kept=False) for step in STEPS)
    left = repaired(outcome=NO_HELP, history=history, comparisons={})
    first, second = display(left, "history").panels
    assert isinstance(first, Course)
    assert isinstance(second, Course)
    assert first.chosen is None
    assert second.chosen is None


def test_the_trade_off_is_that_of_the_comparison():
    found = RepairDisplay.from_repair(FULL, "trade-off")
    assert isinstance(found, TradeoffDisplay)
    named = replace(FULL.comparisons["aim"], bias="share of discriminatory inputs")
    assert found == TradeoffDisplay.from_comparison(named)
    assert display(UNTOUCHED, "trade-off").instead == messages.MODEL_UNCHANGED
    assert display(repaired(comparisons={}), "trade-off").instead == messages.NOT_COMPARED


def test_a_drawing_that_does_not_exist_is_refused():
    refused(
        UsageError,
        lambda: FULL.plot("histori"),
        "kind = 'histori'",
        "did you mean 'history'?",
    )


# How it is drawn


@pytest.mark.parametrize("name", ["many", "untouched", "numbers", "gaps", "one"])
def test_nothing_is_cut_or_covered_and_rows_are_equally_high(name, drawn):
    found = drawn(display(ALL[name]))
    assert not cut(found)
    assert meet(found) == []
    labels = []
    for ax, panel in zip(found.axes_, found.panels, strict=True):
        height = ax.get_window_extent().height / found.figure_.dpi
        assert height == pytest.approx(panel.height, rel=0.06)
        labels += [label.get_text().replace("\n", " ") for label in ax.get_yticklabels()]
    assert len(set(labels)) == len(labels)
    assert len(labels) == len(ALL[name].checks)
    # A long name loses its middle, since its end tells it from others.
    ends = {label[-13:] for label in labels}
    assert ("all inputs 12" in ends) == (name == "many")


@pytest.mark.parametrize("name", ["full", "numbers", "gaps", "one"])
def test_a_history_is_whole(name, drawn):
    found = drawn(display(ALL[name], "history"))
    assert not cut(found)
    assert {ax.get_xlim() for ax in found.axes_} == {found.ax_.get_xlim()}
    assert found.ax_.get_xscale() == ("log" if name == "full" else "linear")
    assert found.ax_.get_ylim()[0] < 0


def test_kept_steps_are_filled_and_the_legend_names_what_is_seen():
    ax: Any = Figure(layout="constrained").subplots()
    FULL.plot("history", ax)
    points = [
        line
        for line in ax.lines
        if line.get_marker() in ("o", "D") and len(line.get_xdata())
    ]
    assert [
        (line.get_xdata()[0], line.get_markerfacecolor() == "white") for line in points
    ] == [
        (1.4, True),
        (2.9, False),
        (11.8, True),
        (100.0, False),
    ]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "kept",
        "not kept",
        "chosen",
    ]


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [("history", messages.NO_STEPS), ("trade-off", messages.MODEL_UNCHANGED)],
)
def test_where_there_is_nothing_to_draw_a_sentence_says_so(kind, sentence, drawn):
    found = drawn(display(UNTOUCHED, kind))
    assert [text.get_text() for text in found.ax_.texts] == [sentence]
    assert not cut(found)


def test_axes_that_are_given_get_the_first_panel():
    figure = Figure(layout="constrained", figsize=(7, 4))
    ax: Any = figure.subplots()
    found = ONE.plot(ax=ax)
    assert (found.ax_, found.axes_, found.figure_) == (ax, (ax,), figure)
    assert figure.axes == [ax]
    assert tuple(figure.get_size_inches()) == (7, 4)
    assert ax.get_yticklabels()[0].get_text() == "accuracy"
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "before",
        "after: not sure",
    ]


def test_drawing_without_matplotlib_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    refused(MissingExtra, FULL.plot, "evenhand[plot]")


# The page


@cache
def page() -> str:
    return whole_section(FULL)


def row_of(found: StrictPage, name: str) -> list[str]:
    return next(
        cells for cells in found.rows if cells[0].startswith(name) and len(cells) > 1
    )


def test_a_section_tells_the_claim_the_scores_the_steps_and_how_to_make_it_again():
    found = StrictPage(page())
    assert found.elements[0] == (
        "section",
        {"class": "repair", "id": "repair", "aria-labelledby": "repair-heading"},
    )
    for sentence in (
        FULL.claim,
        "a note",
        "training 24,000; validation 6,000; test 10,000",
        FULL.digest,
        "numpy 2.0",
    ):
        assert sentence in found.text
    assert "The score after is under the limit of 5 %." in found.text
    assert (
        "Discrimination over country has clearly risen, from 10.5 % to 21 %; repair sex, country"
        " together." in found.text
    )
    assert (
        "again = eh.repair(estimator, X, y, space=space, over=['sex'], method='augment'"
        in found.text
    )
    assert "limit=0.05, seed=3)" in found.text
    assert "evenhand repair --method augment --over sex --seed 3" in found.text
    moved = change(0.1, 0.2)
    assert row_of(found, "country")[1:] == [
        *(
            f"{100 * one.value:.1f} % ({100 * one.low:.1f} to {100 * one.high:.1f})"
            for one in (moved.before, moved.after)
        ),
        f"+10.5 points (+{-100 * moved.fall.high:.1f} to +{-100 * moved.fall.low:.1f})",
        "worse",
        "2,000",
        "95 %, exact",
        "all inputs, uniformly",
    ]
    assert (
        row_of(found, "worst subgroup")[0]
        == "worst subgroupbefore: age <= 28; after: race = B"
    )
    assert [cells[-3:] for cells in found.rows if cells[0] in "2345"] == [
        [f"{100 * step.accuracy:.2f} %", "yes" if step.kept else "no", step.why]
        for step in STEPS
    ]
    assert row_of(found, "eod")[1] == FULL.comparisons["eod"].standings[0].region


def test_tables_have_headers_and_figures_have_words():
    found = StrictPage(page())
    assert {one["scope"] for one in found.all("th")} == {"col", "row", "rowgroup"}
    tables = len(found.all("table"))
    assert len(found.all("caption")) == len(found.all("thead")) == tables
    # Three of the page, and one for each panel of the figures with curves or points.
    assert tables == 6
    names = {one["id"] for _, one in found.elements if "id" in one}
    assert {
        one["aria-labelledby"] for _, one in found.elements if "aria-labelledby" in one
    } <= names
    pictures = [one for one in found.all("svg") if "data-drawing" in one]
    assert [one["role"] for one in pictures] == ["img"] * 3
    assert all(one["aria-label"] for one in pictures)
    assert len(found.all("figcaption")) == len(found.all("figure")) > 3


def test_ids_are_unique():
    both = page() + whole_section(UNTOUCHED, name="other")
    found = StrictPage(both)
    names = Counter(one["id"] for _, one in found.elements if "id" in one)
    assert set(names.values()) == {1}


def check_page(text: str) -> None:
    """Check that a page loads nothing and runs nothing."""
    assert text.startswith("<!DOCTYPE html>\n<html lang")
    found = StrictPage(text.removeprefix("<!DOCTYPE html>"))
    tags = {tag for tag, _ in found.elements}
    assert tags.isdisjoint({"script", "link", "img", "iframe", "object"})
    assert "http" not in text.replace("http-equiv", "")
    policy = found.all("meta")[2]
    assert "default-src 'none'" in policy["content"]
    for _, attributes in found.elements:
        handlers = [name for name in attributes if name.startswith("on")]
        assert not handlers
    assert len(found.all("section")) == 1


def test_a_page_needs_nothing_and_is_the_same_bytes_whatever_the_user_draws_like(tmp_path):
    from matplotlib import pyplot

    before = pyplot.get_fignums()
    ONE.to_json(tmp_path / "repair.json")
    read = Repair.from_json(tmp_path / "repair.json")
    ONE.to_html(tmp_path / "repair.html")
    text = (tmp_path / "repair.html").read_text(encoding="utf-8")
    with matplotlib.rc_context(
        {"font.size": 20, "svg.fonttype": "none", "lines.linewidth": 7, "figure.dpi": 55}
    ):
        replace(read, spent=Spent(123_456, 0, 99.0)).to_html(tmp_path / "again.html")
    assert (tmp_path / "again.html").read_text(encoding="utf-8") == text
    assert pyplot.get_fignums() == before
    check_page(text)


def test_a_page_that_cannot_be_written_is_reported(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    refused(
        UsageError,
        lambda: UNTOUCHED.to_html(tmp_path / "none" / "a.html"),
        "a.html: cannot write the report",
    )


NASTY = "</section><script>alert('1')</script>&amp;\"--><!--"


def test_names_stay_text_in_drawings_too():
    checks = (RepairCheck(NASTY, "aim", near(0.2), near(0.1), None, NASTY), *CHECKS[:1])
    odd = repaired(
        checks=checks,
        over=(NASTY,),
        about=(NASTY,),
        notes=(NASTY,),
        history=STEPS[:1],
        comparisons={},
    )
    text = whole_section(odd)
    found = StrictPage(text)
    assert not found.all("script")
    assert "<!--" not in text
    assert found.text.count(NASTY) >= 4


@settings(max_examples=examples(60))
@given(name=TEXTS, detail=TEXTS, note=TEXTS, why=TEXTS)
def test_any_text_is_shown_as_it_is(name, detail, note, why):
    odd = repaired(
        checks=(RepairCheck(name, "aim", near(0.2), near(0.1), None, detail), *CHECKS[:1]),
        about=(name,),
        over=(name,),
        notes=(note,),
        history=(replace(STEPS[0], why=why),),
        comparisons={},
    )
    text = whole_section(odd)
    plain = StrictPage(section_of(FULL))
    found = StrictPage(text)
    assert {tag for tag, _ in found.elements} - {tag for tag, _ in plain.elements} == set()
    assert text.encode().decode() == text
    assert all(letter.isprintable() or letter == "\n" for letter in text)
    for sentence in (name, detail, note, why):
        if sentence.isprintable():
            assert sentence in found.text


@cache
def section_of(repair: Repair) -> str:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "matplotlib", None)
        return whole_section(repair)


@pytest.mark.parametrize("name", ALL)
def test_every_check_and_step_has_a_row(name):
    repair = ALL[name]
    if name == "gaps":
        repair = replace(repair, history=repair.history[:1])
    found = StrictPage(section_of(repair))
    counted = (
        sum(len(cells) == 8 for cells in found.rows),
        sum(len(cells) == 10 for cells in found.rows),
    )
    assert counted == (len(repair.checks) + 1, len(repair.history) + bool(repair.history))
    assert "nan" not in found.text.split("How it was made")[0].replace("unan", "")
    assert ("no data, undecided" in found.text) == (name == "gaps")
    assert (messages.NO_STEPS in found.text) == (not repair.history)


def test_what_is_read_stands_out_from_its_ground():
    def light(colour: str) -> float:
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [
            part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
            for part in parts
        ]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    themes = [
        dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", block))
        for block in re.findall(r"\{([^{}]*--ink[^{}]*)\}", STYLE)
    ]
    full = [theme for theme in themes if len(theme) >= 14]
    assert len(full) == 3  # light, dark by the system, dark by choice
    for theme in full:
        for ink in ("ink", "soft", "link", "fail", "pass", "undecided", "none"):
            for ground in ("paper", "card", *(["mark"] if ink == "ink" else [])):
                bright, dim = sorted(
                    (light(theme[ink]), light(theme[ground])), reverse=True
                )
                assert (bright + 0.05) / (dim + 0.05) >= 4.5, (ink, ground)
