"""What a search found, as text and drawn, of results built by hand."""

from __future__ import annotations

import io
import itertools
import json
import math
import re
import warnings
from typing import Any

import jsonschema
import matplotlib
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text
from rich.console import Console

from evenhand.methods.search.plot import (
    MOST_BARS,
    MOST_SEARCHES,
    OutcomeMap,
    ProgressCurve,
    SearchDisplay,
    ShareBars,
)
from evenhand.report.rates_display import RatesDisplay
from evenhand.report.terminal import lines, render
from evenhand.results.evidence import Case, Finding
from evenhand.results.result import Result, schema
from evenhand.runtime.budget import Spent
from evenhand.space.feature import category, integer
from evenhand.space.space import Space
from evenhand.statistics.estimate import Estimate, StopReason, Witnesses
from evenhand.verbs import VERBS

matplotlib.use("Agg")

SPACE = Space(
    [category("sex", ["F", "M"]), category("race", ["a", "b"]), integer("age", 18, 90)],
    ["sex"],
)
CASE = Case(
    {"sex": "F", "race": "a", "age": 61},
    {"sex": "M", "race": "a", "age": 61},
    ("deny", "approve"),
)
LONG = (
    "education Bachelors or Masters or Doctorate or Prof-school, hours-per-week 40 to 99,"
    " capital-gain at most 4,650"
)


def share(
    value: float, n: int = 400, half: float = 0.04, population: str = "uniform inputs"
) -> dict[str, Any]:
    if not n:
        return Estimate(math.nan, 0.0, 1.0, 0, 0.95, "exact", population).to_dict()
    low, high = max(0.0, value - half), min(1.0, value + half)
    return Estimate(
        value, low, high, n, 0.95, "exact, simultaneous over 3 rules", population
    ).to_dict()


def region(text: str, found: int, value: float) -> dict[str, Any]:
    return {
        "rule": {"conditions": []},
        "text": text,
        "found": found,
        "estimate": share(value),
    }


def entry(about: str = "sex", output: str = "", **changed: Any) -> dict[str, Any]:
    queries = range(0, 100_001, 2_000)
    return {
        "about": about.split(),
        "output": output,
        "strategy": "adaptive",
        "prefer": "many",
        "found": 41_230,
        "cells": 31_402,
        "tried": 50_000,
        "queries": 100_000,
        "curve": [[asked, int(asked * 0.4123), int(asked * 0.31402)] for asked in queries],
        "spread": {"cells": 31_402, "clusters": 57, "distance": 0.4312, "real": None},
        "regions": [
            region("age at least 60", 30_000, 0.41),
            region("everybody", 41_230, 0.06),
        ],
        "drivers": [
            {
                "feature": "age",
                "estimate": share(0.8),
                "example": {"before": 61, "after": 40, "pair": CASE.to_dict()},
            },
            {"feature": "race", "estimate": share(0.01, half=0.01)},
        ],
        "map": {
            "axes": ["+age, race", "race"],
            "found": [[0.1 * math.cos(i), math.sin(i)] for i in range(60)],
            "others": [
                [math.cos(i * i), math.sin(i), "approve" if math.cos(i * i) > 0 else "deny"]
                for i in range(90)
            ],
        },
    } | changed


NOTHING: dict[str, Any] = {
    "found": 0,
    "cells": 0,
    "curve": [[0, 0, 0], [100_000, 0, 0]],
    "regions": [],
    "drivers": [],
    "map": None,
    "spread": {"cells": 0, "clusters": 0, "distance": None, "real": None},
}


def finding(
    about: str = "sex", output: str = "", found: int = 41_230, **settings: Any
) -> Finding:
    limit, cases = settings.get("limit"), settings.get("cases", (CASE,) if found else ())
    claim = f"changing only {about} changes the outcome of {found:,} inputs that were found"
    count = Witnesses.of(
        found, 50_000, "adaptive", complete=settings.get("complete", False)
    )
    return Finding(claim, tuple(about.split()), count, limit, cases, output=output)


def result(*found: tuple[Finding, dict[str, Any]], notes=()) -> Result:
    return Result(
        "search",
        [each for each, _ in found],
        0,
        Spent(103_200, 99_000, 5.62),
        StopReason.QUERIES,
        SPACE.to_dict(),
        notes,
        {},
        {"search": [details for _, details in found]},
    )


def indented(text: str) -> list[str]:
    return [line[8:].rstrip() for line in text.strip("\n").splitlines()]


def test_a_search_is_written_from_what_to_how_spread():
    real = {"median": 0.114, "nearest": 0.02, "most": 0.3, "rows": 30_162}
    spread = {"cells": 31_402, "clusters": 57, "distance": 0.4312, "real": real}
    where = "95 % level, n = 400, exact, simultaneous over 3 rules)"
    head = (
        "sex: 41,230 discriminatory inputs found in 31,402 coarse cells"
        " (adaptive, 50,000 inputs tried, 100,000 queries); limit 0"
    )
    not_a_rate = "not a rate: a search goes where it finds; for the share of all inputs use prevalence"
    share = "the share of discriminatory inputs among fresh uniform inputs that meet a rule"
    how_spread = (
        "31,402 coarse cells, 57 clusters,"
        " two of them are 0.43 apart on average (0 is equal, 1 is all different),"
        " the nearest of 30,162 real rows is 0.11 away from half of them, and 0.02 from one"
    )
    text = f"""
        FAIL      {head}
                  {not_a_rate}
                  the simplest case:
                           individual  twin
                  sex      F           M        differs
                  race     a           a
                  age      61          61
                  outcome  deny        approve  differs
                  where: {share}
                    age at least 60: 41.0 % (37.0 % to 45.0 %, {where}; 30,000 of those found
                    everybody: 6.0 % (2.0 % to 10.0 %, {where}; 41,230 of those found
                  why: how often another value of one feature ends it, among the inputs found
                  feature              ends it     95 % interval    n
                  age, as 61 → 40 did   80.0 %  76.0 % to 84.0 %  400
                  race                   1.0 %    0.0 % to 2.0 %  400
                  how spread: {how_spread}
        note: a note
        103,200 inputs asked, 99,000 executed, 5.6 s; the query budget was spent
    """
    shown = result((finding(limit=0), entry(spread=spread)), notes=["a note"])
    assert lines(shown) == indented(text.rstrip())


def test_nothing_found_is_no_proof_of_absence_unless_every_input_was_tried():
    text_lines = lines(result((finding(found=0, limit=0), entry(**NOTHING))))
    how = "(adaptive, 50,000 inputs tried, 100,000 queries); limit 0"
    assert text_lines[0] == f"UNDECIDED sex: no discriminatory input found {how}"
    assert "this is no proof that there is none" in text_lines[1]
    assert len(text_lines) == 3
    text_lines = lines(result((finding(found=0, limit=0, complete=True), entry(**NOTHING))))
    assert text_lines[0] == f"PASS      sex: no discriminatory input found {how}"
    assert text_lines[1].strip() == "every input was tried, so there is no other"


def test_without_a_limit_there_is_no_verdict_and_one_is_one():
    text_lines = lines(result((finding(found=1), entry(found=1, cells=1, spread=None))))
    assert text_lines[0].startswith(
        "sex: 1 discriminatory input found in 1 coarse cell (adaptive"
    )
    assert "limit" not in text_lines[0]
    assert not any("how spread" in line for line in text_lines)


def test_three_cases_are_shown_and_others_or_none_on_request():
    shown = result((finding(cases=(CASE,) * 5), entry()))

    def count(cases: int) -> int:
        return sum("individual" in line for line in lines(shown, cases=cases))

    assert [count(cases) for cases in (1, 0, 2, 5)] == [1, 0, 2, 5]
    others = [line.strip() for line in lines(shown) if line.strip().startswith("or ")]
    assert others == ["or sex F → M: deny → approve (with race a, age 61)"] * 2
    assert not any("or sex" in line or "simplest" in line for line in lines(shown, cases=0))


def test_no_rule_and_very_many_drivers_are_written():
    drivers = [{"feature": f"x{i}", "estimate": share(0.5)} for i in range(11)]
    text_lines = lines(
        result(
            (finding(), entry(regions=[region("everybody", 41_230, 0.4)], drivers=drivers))
        )
    )
    assert any("no rule was found" in line for line in text_lines)
    assert sum(line.strip().startswith("x") for line in text_lines) == 8
    assert any(line.strip() == "… 3 more" for line in text_lines)


def test_every_set_and_output_is_written_best_evidence_first():
    shown = result(
        (finding("race", "rate", found=3), entry("race", "rate", found=3)),
        (finding("sex race", "grant"), entry("sex race", "grant")),
    )
    heads = [line for line in lines(shown) if "discriminatory inputs found in" in line]
    assert [head.split(" ", 3)[:3] for head in heads] == [
        ["grant:", "sex,", "race:"],
        ["rate:", "race:", "3"],
    ]


@pytest.mark.parametrize("width", [70, 100])
def test_lines_fit_the_terminal(width):
    console = Console(file=io.StringIO(), force_terminal=True, width=width)
    render(
        result(
            (
                finding(limit=0),
                entry(regions=[region(LONG, 9, 0.4), region("everybody", 9, 0.1)]),
            )
        ),
        console=console,
    )
    assert isinstance(console.file, io.StringIO)
    text = re.sub(r"\x1b\[[0-9;]*m", "", console.file.getvalue())
    assert all(len(line) <= width for line in text.splitlines())
    assert "capital-gain" in text


@pytest.fixture
def plotted():
    """Draw on a new figure, render it with warnings as errors, and close it at the end."""
    from matplotlib import pyplot

    drawn = []

    def draw(shown: Result) -> SearchDisplay:
        display: SearchDisplay = shown.plot()
        drawn.append(display.figure_)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            display.figure_.canvas.draw()
        return display

    yield draw
    for figure in drawn:
        pyplot.close(figure)


def display_of(shown: Result) -> Any:
    """What the verb that made a result draws of it."""
    return VERBS[shown.job].plot(shown)


def cut(figure: Figure) -> bool:
    """Return whether anything drawn stands out of the figure."""
    box = figure.get_tightbbox()
    wide, high = figure.get_size_inches()
    slack = 0.02
    out_on_the_left = box.x0 < -slack or box.y0 < -slack
    out_on_the_right = box.x1 > wide + slack or box.y1 > high + slack
    return bool(out_on_the_left or out_on_the_right)


def written(figure: Figure) -> str:
    return "\n".join(text.get_text() for text in figure.findobj(Text))


def test_a_search_has_a_curve_a_map_rules_and_drivers(plotted):
    display = plotted(result((finding(), entry())))
    assert isinstance(display, SearchDisplay)
    curve, spots, rules, drivers = display.panels
    assert isinstance(curve, ProgressCurve)
    assert curve.queries[-1] == 100_000
    assert curve.found[-1] == 41_230
    assert curve.cells[-1] == 31_402
    assert isinstance(spots, OutcomeMap)
    assert (len(spots.found), len(spots.others)) == (60, 90)
    assert isinstance(rules, ShareBars)
    assert [bar.value for bar in rules.bars] == [0.41, 0.06]
    assert rules.compared
    assert isinstance(drivers, ShareBars)
    assert [bar.label for bar in drivers.bars] == ["age, n = 400", "race, n = 400"]
    assert (drivers.bars[0].low, drivers.bars[0].high) == pytest.approx((0.76, 0.84))
    assert len(display.axes_) == 4
    figure_text = written(display.figure_)
    for words in (
        "500 per 1,000",
        "+age, race",
        "outcome approve",
        "everybody",
        "intervals at 95 %",
    ):
        assert words in figure_text
    assert not cut(display.figure_)


def test_what_has_no_data_is_left_out(plotted):
    display = plotted(result((finding(found=0), entry(**NOTHING))))
    (curve,) = display.panels
    assert curve.title == "sex: nothing found"
    alone = display_of(
        result(
            (finding(), entry(regions=[region("everybody", 9, 0.1)], drivers=[], map=None))
        )
    )
    assert isinstance(alone, SearchDisplay)
    assert len(alone.panels) == 1
    assert not cut(display.figure_)
    empty = plotted(result((finding(found=0), entry(**NOTHING | {"curve": []}))))
    assert len(empty.panels) == 1


def test_axes_given_get_the_curve():
    ax = Figure(layout="constrained").subplots()
    display = result((finding(), entry())).plot(ax=ax)
    assert display.ax_ is ax
    assert display.axes_ == (ax,)
    assert ax.get_title(loc="left") == "sex: 41,230 discriminatory inputs found"


@pytest.mark.parametrize(
    ("outcomes", "words"),
    [
        ([0, 1], "outcome 1"),
        ([True, False], "outcome True"),
        ([i / 90 for i in range(90)], "outcome of other inputs"),
        ([f"class {i}" for i in range(20)], "other inputs, 20 outcomes"),
        ([f"an outcome with a name {i}" for i in range(6)], "outcome an outcome with a n…"),
        (["a", 1, 2.5], "outcome 2.5"),
    ],
)
def test_outcomes_of_any_kind_are_on_the_map(outcomes, words):
    others = tuple((i / 90, i % 7, outcomes[i % len(outcomes)]) for i in range(90))
    figure = Figure((8, 4), layout="constrained")
    OutcomeMap("a map", ("+age", ""), ((0.5, 0.5),), others).draw(figure.subplots())
    figure.draw_without_rendering()
    assert words in written(figure)
    assert not cut(figure)


def test_long_rules_are_wrapped_and_literal_and_bars_beyond_twelve_counted(plotted):
    drivers = [
        {"feature": "$x$" + "y" * i * 6, "estimate": share(0.5, n=0 if i == 3 else 90)}
        for i in range(15)
    ]
    regions = [region(f"{LONG} and $more$ {LONG}", 9, 0.4), region("everybody", 9, 0.0)]
    display = plotted(
        result((finding(), entry(regions=regions, drivers=drivers, map=None)))
    )
    _, rules, bars = display.panels
    assert isinstance(rules, ShareBars)
    assert isinstance(bars, ShareBars)
    assert max(len(line) for line in rules.bars[0].label.split("\n")) < 50
    assert len(bars.bars) == MOST_BARS
    assert bars.bars[3].value is None
    assert "3 more features" in written(display.figure_)
    assert not cut(display.figure_)
    labels = display.axes_[1].get_yticklabels() + display.axes_[2].get_yticklabels()
    boxes = [label.get_window_extent() for label in labels]
    assert not [
        pair for pair in itertools.combinations(boxes, 2) if pair[0].overlaps(pair[1])
    ]


def test_findings_beyond_four_are_counted(plotted):
    shown = result(
        *(
            (finding(f"x{i}", found=0), entry(f"x{i}", **NOTHING))
            for i in range(MOST_SEARCHES + 2)
        )
    )
    display = plotted(shown)
    assert len(display.panels) == MOST_SEARCHES
    assert "2 more findings" in written(display.figure_)


def test_a_result_read_from_json_is_written_and_drawn_alike(tmp_path):
    shown = result(
        (finding(limit=0), entry()),
        (finding("race", found=0, limit=0), entry("race", **NOTHING)),
    )
    text = shown.to_json(tmp_path / "result.json")
    jsonschema.validate(json.loads(text), schema())
    again = Result.from_json(tmp_path / "result.json")
    assert again.worst.estimate == shown.worst.estimate
    assert isinstance(again.worst.estimate, Witnesses)
    assert again.to_json() == text
    assert lines(again) == lines(shown)
    assert display_of(again) == display_of(shown)


def test_the_schema_keeps_counts_and_rates_apart():
    table = json.loads(result((finding(limit=3), entry())).to_json())
    jsonschema.validate(table, schema())
    (found,) = table["findings"]
    rate = json.loads(
        result((Finding("c", ("sex",), Estimate.exact(1, 4), 0.1), entry())).to_json()
    )["findings"][0]
    jsonschema.validate(table | {"findings": [rate]}, schema())
    for wrong in (
        found | {"limit": 0.5},
        found | {"estimate": found["estimate"] | {"value": 0.5}},
        found | {"estimate": found["estimate"] | {"unit": "people"}},
        found
        | {
            "estimate": {
                key: value for key, value in found["estimate"].items() if key != "unit"
            }
        },
        rate | {"limit": 2},
        rate | {"estimate": rate["estimate"] | {"high": None}},
    ):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(table | {"findings": [wrong]}, schema())


def test_a_set_that_an_interrupted_run_did_not_come_to_is_written():
    missed = Finding("race was not searched", ("race",), Witnesses.of(0, 0, "adaptive"), 0)
    spent, entries = Spent(1, 1, 0.0), {"search": [entry()]}
    shown = Result(
        "search",
        [missed, finding(limit=0)],
        0,
        spent,
        StopReason.INTERRUPTED,
        {},
        details=entries,
    )
    text_lines = lines(shown)
    assert text_lines[0].startswith("FAIL      sex: 41,230")
    assert "UNDECIDED race was not searched" in text_lines
    display = display_of(shown)
    assert isinstance(display, SearchDisplay)
    assert len(display.panels) == 4


def test_a_search_whose_details_are_gone_is_written_by_its_findings():
    shown = Result(
        "search", [finding(limit=0)], 0, Spent(1, 1, 0.0), StopReason.QUERIES, {}
    )
    assert (
        lines(shown)[0]
        == "FAIL      changing only sex changes the outcome of 41,230 inputs that were found"
    )
    assert isinstance(display_of(result((finding(), entry()))), SearchDisplay)
    assert isinstance(
        display_of(Result("measure", [], 0, shown.spent, shown.stop, {})), RatesDisplay
    )
