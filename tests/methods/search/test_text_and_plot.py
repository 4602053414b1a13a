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
    [
        category("sex", ["F", "M"]),
        category("race", ["a", "b"]),
        integer("age", 18, 90),
    ],
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
        unknown = Estimate(math.nan, 0.0, 1.0, 0, 0.95, "exact", population)
        return unknown.to_dict()
    estimate = Estimate(
        value,
        low=max(0.0, value - half),
        high=min(1.0, value + half),
        n=n,
        level=0.95,
        method="exact, simultaneous over 3 rules",
        population=population,
    )
    return estimate.to_dict()


def region(text: str, found: int, value: float) -> dict[str, Any]:
    return {
        "rule": {"conditions": []},
        "text": text,
        "found": found,
        "estimate": share(value),
    }


def curve_of(*queries: int) -> list[list[int]]:
    """Return what was asked, found and reached of cells after so many queries each."""
    curve = []
    for asked in queries:
        found = int(asked * 0.4123)
        cells = int(asked * 0.31402)
        curve.append([asked, found, cells])
    return curve


def other_inputs() -> list[list[Any]]:
    """Return places on a map, with an outcome each."""
    places = []
    for i in range(90):
        x = math.cos(i * i)
        outcome = "approve" if x > 0 else "deny"
        places.append([x, math.sin(i), outcome])
    return places


def entry(about: str = "sex", output: str = "", **changed: Any) -> dict[str, Any]:
    return {
        "about": about.split(),
        "output": output,
        "strategy": "adaptive",
        "prefer": "many",
        "found": 41_230,
        "cells": 31_402,
        "tried": 50_000,
        "queries": 100_000,
        "curve": curve_of(*range(0, 100_001, 2_000)),
        "spread": {
            "cells": 31_402,
            "clusters": 57,
            "distance": 0.4312,
            "real": None,
        },
        "regions": [
            region("age at least 60", 30_000, 0.41),
            region("everybody", 41_230, 0.06),
        ],
        "drivers": [
            {
                "feature": "age",
                "estimate": share(0.8),
                "example": {
                    "before": 61,
                    "after": 40,
                    "pair": CASE.to_dict(),
                },
            },
            {
                "feature": "race",
                "estimate": share(0.01, half=0.01),
            },
        ],
        "map": {
            "axes": ["+age, race", "race"],
            "found": [[0.1 * math.cos(i), math.sin(i)] for i in range(60)],
            "others": other_inputs(),
        },
    } | changed


NOTHING: dict[str, Any] = {
    "found": 0,
    "cells": 0,
    "curve": [[0, 0, 0], [100_000, 0, 0]],
    "regions": [],
    "drivers": [],
    "map": None,
    "spread": {
        "cells": 0,
        "clusters": 0,
        "distance": None,
        "real": None,
    },
}


def finding(
    about: str = "sex",
    output: str = "",
    found: int = 41_230,
    *,
    limit: int | None = None,
    cases: tuple[Case, ...] | None = None,
    complete: bool = False,
) -> Finding:
    if cases is None:
        cases = (CASE,) if found else ()
    claim = f"changing only {about} changes the outcome of {found:,} inputs that were found"
    count = Witnesses.of(found, 50_000, "adaptive", complete=complete)
    return Finding(claim, tuple(about.split()), count, limit, cases, output=output)


def nothing_found(about: str = "sex", **options: Any) -> tuple[Finding, dict[str, Any]]:
    """Return the finding and the details of a search that found nothing."""
    details = entry(about, **NOTHING)
    return finding(about, found=0, **options), details


def result(*found: tuple[Finding, dict[str, Any]], notes=()) -> Result:
    findings = [each for each, _ in found]
    details = [details for _, details in found]
    return Result(
        "search",
        findings,
        0,
        Spent(103_200, 99_000, 5.62),
        StopReason.QUERIES,
        SPACE.to_dict(),
        notes,
        {},
        {"search": details},
    )


def indented(text: str) -> list[str]:
    return [line[8:].rstrip() for line in text.strip("\n").splitlines()]


def stripped(shown: Result) -> list[str]:
    return [line.strip() for line in lines(shown)]


def test_a_search_is_written_from_what_to_how_spread():
    real = {"median": 0.114, "nearest": 0.02, "most": 0.3, "rows": 30_162}
    spread = {"cells": 31_402, "clusters": 57, "distance": 0.4312, "real": real}
    where = "95 % level, n = 400, exact, simultaneous over 3 rules)"
    head = (
        "sex: 41,230 discriminatory inputs found in 31,402 coarse cells"
        " (adaptive, 50,000 inputs tried, 100,000 queries); limit 0"
    )
    not_a_rate = (
        "not a rate: a search goes where it finds;"
        " for the share of all inputs use prevalence"
    )
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


def test_nothing_found_is_no_proof_of_absence():
    text_lines = lines(result(nothing_found(limit=0)))
    how = "(adaptive, 50,000 inputs tried, 100,000 queries); limit 0"
    assert text_lines[0] == f"UNDECIDED sex: no discriminatory input found {how}"
    assert "this is no proof that there is none" in text_lines[1]
    assert len(text_lines) == 3


def test_nothing_found_is_proof_of_absence_where_every_input_was_tried():
    text_lines = lines(result(nothing_found(limit=0, complete=True)))
    how = "(adaptive, 50,000 inputs tried, 100,000 queries); limit 0"
    assert text_lines[0] == f"PASS      sex: no discriminatory input found {how}"
    assert text_lines[1].strip() == "every input was tried, so there is no other"


def test_without_a_limit_there_is_no_verdict_and_one_is_one():
    details = entry(found=1, cells=1, spread=None)
    text_lines = lines(result((finding(found=1), details)))
    head = text_lines[0]
    assert head.startswith("sex: 1 discriminatory input found in 1 coarse cell (adaptive")
    assert "limit" not in head
    assert "how spread" not in "\n".join(text_lines)


def test_three_cases_are_shown_and_others_or_none_on_request():
    shown = result((finding(cases=(CASE,) * 5), entry()))

    def count(cases: int) -> int:
        return sum("individual" in line for line in lines(shown, cases=cases))

    assert count(1) == 1
    assert count(0) == 0
    assert count(2) == 2
    assert count(5) == 5
    others = [line for line in stripped(shown) if line.startswith("or ")]
    assert others == ["or sex F → M: deny → approve (with race a, age 61)"] * 2
    without_cases = "\n".join(lines(shown, cases=0))
    assert "or sex" not in without_cases
    assert "simplest" not in without_cases


def test_no_rule_and_very_many_drivers_are_written():
    drivers = [{"feature": f"x{i}", "estimate": share(0.5)} for i in range(11)]
    only_everybody = [region("everybody", 41_230, 0.4)]
    details = entry(regions=only_everybody, drivers=drivers)
    text_lines = stripped(result((finding(), details)))
    assert any("no rule was found" in line for line in text_lines)
    assert sum(line.startswith("x") for line in text_lines) == 8
    assert "… 3 more" in text_lines


def test_every_set_and_output_is_written_best_evidence_first():
    shown = result(
        (finding("race", "rate", found=3), entry("race", "rate", found=3)),
        (finding("sex race", "grant"), entry("sex race", "grant")),
    )
    heads = [line for line in lines(shown) if "discriminatory inputs found in" in line]
    first_words = [head.split(" ", 3)[:3] for head in heads]
    assert first_words == [
        ["grant:", "sex,", "race:"],
        ["rate:", "race:", "3"],
    ]


@pytest.mark.parametrize("width", [70, 100])
def test_lines_fit_the_terminal(width):
    regions = [region(LONG, 9, 0.4), region("everybody", 9, 0.1)]
    shown = result((finding(limit=0), entry(regions=regions)))
    console = Console(file=io.StringIO(), force_terminal=True, width=width)
    render(shown, console=console)
    assert isinstance(console.file, io.StringIO)
    text = re.sub(r"\x1b\[[0-9;]*m", "", console.file.getvalue())
    for line in text.splitlines():
        assert len(line) <= width
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
    assert len(spots.found) == 60
    assert len(spots.others) == 90
    assert isinstance(rules, ShareBars)
    assert [bar.value for bar in rules.bars] == [0.41, 0.06]
    assert rules.compared
    assert isinstance(drivers, ShareBars)
    assert [bar.label for bar in drivers.bars] == ["age, n = 400", "race, n = 400"]
    age = drivers.bars[0]
    assert age.low == pytest.approx(0.76)
    assert age.high == pytest.approx(0.84)
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
    display = plotted(result(nothing_found()))
    (curve,) = display.panels
    assert curve.title == "sex: nothing found"
    assert not cut(display.figure_)


def test_of_a_search_without_rules_drivers_and_a_map_the_curve_is_left():
    only_everybody = [region("everybody", 9, 0.1)]
    details = entry(regions=only_everybody, drivers=[], map=None)
    display = display_of(result((finding(), details)))
    assert isinstance(display, SearchDisplay)
    assert len(display.panels) == 1


def test_a_curve_without_points_is_drawn(plotted):
    details = entry(**NOTHING)
    details["curve"] = []
    display = plotted(result((finding(found=0), details)))
    assert len(display.panels) == 1


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
    spots = OutcomeMap("a map", ("+age", ""), ((0.5, 0.5),), others)
    figure = Figure((8, 4), layout="constrained")
    spots.draw(figure.subplots())
    figure.draw_without_rendering()
    assert words in written(figure)
    assert not cut(figure)


def test_long_rules_are_wrapped_and_literal_and_bars_beyond_twelve_counted(plotted):
    drivers = []
    for i in range(15):
        name = "$x$" + "y" * i * 6
        n = 0 if i == 3 else 90
        drivers.append({"feature": name, "estimate": share(0.5, n=n)})
    regions = [region(f"{LONG} and $more$ {LONG}", 9, 0.4), region("everybody", 9, 0.0)]
    details = entry(regions=regions, drivers=drivers, map=None)
    display = plotted(result((finding(), details)))
    _, rules, bars = display.panels
    assert isinstance(rules, ShareBars)
    assert isinstance(bars, ShareBars)
    first_label = rules.bars[0].label
    assert max(map(len, first_label.split("\n"))) < 50
    assert len(bars.bars) == MOST_BARS
    assert bars.bars[3].value is None
    assert "3 more features" in written(display.figure_)
    assert not cut(display.figure_)
    _, rules_axes, drivers_axes = display.axes_
    labels = [*rules_axes.get_yticklabels(), *drivers_axes.get_yticklabels()]
    boxes = [label.get_window_extent() for label in labels]
    for one, other in itertools.combinations(boxes, 2):
        assert not one.overlaps(other)


def test_findings_beyond_four_are_counted(plotted):
    names = [f"x{i}" for i in range(MOST_SEARCHES + 2)]
    found = [nothing_found(name) for name in names]
    display = plotted(result(*found))
    assert len(display.panels) == MOST_SEARCHES
    assert "2 more findings" in written(display.figure_)


def test_a_result_read_from_json_is_written_and_drawn_alike(tmp_path):
    shown = result(
        (finding(limit=0), entry()),
        nothing_found("race", limit=0),
    )
    path = tmp_path / "result.json"
    text = shown.to_json(path)
    jsonschema.validate(json.loads(text), schema())
    again = Result.from_json(path)
    assert again.worst.estimate == shown.worst.estimate
    assert isinstance(again.worst.estimate, Witnesses)
    assert again.to_json() == text
    assert lines(again) == lines(shown)
    assert display_of(again) == display_of(shown)


def table_of(shown: Result) -> dict[str, Any]:
    table: dict[str, Any] = json.loads(shown.to_json())
    return table


def test_the_schema_keeps_counts_and_rates_apart():
    table = table_of(result((finding(limit=3), entry())))
    jsonschema.validate(table, schema())
    (found,) = table["findings"]
    count = found["estimate"]
    without_unit = dict(count)
    del without_unit["unit"]
    share_found = Finding("c", ("sex",), Estimate.exact(1, 4), 0.1)
    (rate,) = table_of(result((share_found, entry())))["findings"]
    jsonschema.validate(table | {"findings": [rate]}, schema())
    for wrong in (
        found | {"limit": 0.5},
        found | {"estimate": count | {"value": 0.5}},
        found | {"estimate": count | {"unit": "people"}},
        found | {"estimate": without_unit},
        rate | {"limit": 2},
        rate | {"estimate": rate["estimate"] | {"high": None}},
    ):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(table | {"findings": [wrong]}, schema())


def test_a_set_that_an_interrupted_run_did_not_come_to_is_written():
    nothing = Witnesses.of(0, 0, "adaptive")
    missed = Finding("race was not searched", ("race",), nothing, 0)
    shown = Result(
        "search",
        [missed, finding(limit=0)],
        0,
        Spent(1, 1, 0.0),
        StopReason.INTERRUPTED,
        {},
        details={"search": [entry()]},
    )
    text_lines = lines(shown)
    assert text_lines[0].startswith("FAIL      sex: 41,230")
    assert "UNDECIDED race was not searched" in text_lines
    display = display_of(shown)
    assert isinstance(display, SearchDisplay)
    assert len(display.panels) == 4


def test_a_search_whose_details_are_gone_is_written_by_its_findings():
    shown = Result(
        "search",
        [finding(limit=0)],
        0,
        Spent(1, 1, 0.0),
        StopReason.QUERIES,
        {},
    )
    claim = "changing only sex changes the outcome of 41,230 inputs that were found"
    assert lines(shown)[0] == f"FAIL      {claim}"


def test_each_verb_draws_its_own_display():
    searched = result((finding(), entry()))
    assert isinstance(display_of(searched), SearchDisplay)
    measured = Result("measure", [], 0, searched.spent, searched.stop, {})
    assert isinstance(display_of(measured), RatesDisplay)
