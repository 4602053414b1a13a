"""A repair as text: the claim, every score, the steps and their reasons, at any width."""

from __future__ import annotations

import io
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console
from sklearn.linear_model import LogisticRegression

import evenhand as eh
from evenhand.methods.repair.change import PairedChange
from evenhand.methods.repair.paired import gap_change, paired
from evenhand.methods.repair.repair_result import Repair
from evenhand.methods.repair.steps import NO_HELP, NOTHING, REPAIRED, RepairCheck, Step
from evenhand.methods.repair.text import render_repair, render_written, repair_lines
from evenhand.runtime.budget import Spent
from evenhand.space.rule import Condition, Rule
from evenhand.statistics.estimate import Amount, Estimate
from tests.support.helpers import examples

N = 2000


def change(before: int, after: int, population: str = "all inputs") -> PairedChange:
    """Return a change from so many discriminatory inputs of 2,000 to so many, most of them the
    same.
    """
    return paired(
        np.arange(N) < before, np.arange(N) < after, level=0.95, population=population
    )


def check(name: str, kind: str, found: PairedChange, *about: str) -> RepairCheck:
    fall = found.fall
    rise = Amount(-fall.value, -fall.high, -fall.low, fall.n, fall.level, fall.method)
    return RepairCheck(name, kind, found.before, found.after, rise, about=about)


def accuracy(before: int, after: int) -> RepairCheck:
    return check(
        "accuracy", "performance", change(before, after, "people like the held-out rows")
    )


def compared(predictions: list[Any], bias: str) -> eh.Comparison:
    truth, sex = [0, 1, 0, 1, 1] * 60, ["f", "f", "f", "m", "m"] * 60
    return eh.compare(
        {"original": [0, 0, 0, 1, 1] * 60, "repaired": predictions},
        truth,
        sex,
        bias=bias,
        resamples=100,
    )


WIN = {
    "aim": compared([0, 1, 0, 1, 1] * 60, "spd"),
    "eod": compared([0, 1, 0, 1, 1] * 60, "eod"),
}
POOR = {"aim": compared([1, 0, 1, 0, 1] * 60, "spd")}
STEPS = (
    Step(
        1, 1.5, 18, change(400, 380), 0.85, kept=False, why="the share did not surely fall"
    ),
    Step(2, 54.0, 1200, change(400, 10), 0.832, kept=True, why="kept"),
)
MADE: dict[str, Any] = {
    "method": "augment",
    "over": ("sex",),
    "about": ("sex",),
    "outcome": REPAIRED,
    "change": change(400, 10),
    "checks": (
        check("sex, all inputs", "aim", change(400, 10)),
        check("race, all inputs", "other", change(20, 19), "race"),
        RepairCheck(
            "worst subgroup",
            "subgroup",
            Estimate.exact(1, 4),
            Estimate.exact(1, 5),
            None,
            "sex F, then race b",
        ),
        accuracy(1700, 1698),
    ),
    "comparisons": WIN,
    "history": STEPS,
    "sizes": {"training": 1200, "validation": 300, "test": 500},
    "seed": 3,
    "level": 0.95,
    "tolerance": 0.01,
    "limit": None,
    "spent": Spent(12345, 12000, 1.25),
    "notes": ("one note",),
}


def made(**other: Any) -> Repair:
    return Repair(**(MADE | other))


def unchanged(outcome: str, **other: Any) -> Repair:
    same = change(400, 400) if outcome == NO_HELP else change(0, 0)
    checks = (
        RepairCheck("sex, all inputs", "aim", same.before, same.before),
        MADE["checks"][-1],
    )
    history = STEPS[:1] if outcome == NO_HELP else ()
    settings = {
        "outcome": outcome,
        "change": PairedChange.none(same.before),
        "checks": checks,
        "history": history,
    }
    return made(**settings, comparisons={}, **other)


def text_of(repair: Repair) -> str:
    return "\n".join(repair_lines(repair))


def terminal(repair: Repair, width: int) -> list[str]:
    console = Console(
        file=io.StringIO(), force_terminal=True, width=width, color_system=None
    )
    render_repair(repair, console=console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().splitlines()


def test_the_claim_comes_first_with_its_intervals_and_where_it_stands():
    lines = repair_lines(made())
    assert lines[0] == f"PASS      {made().claim}"
    assert lines[1].strip().startswith("share of discriminatory inputs: 20.0 % (")
    assert ") before, 0.50 % (" in lines[1]
    assert "after; 97.5 % fewer (" in lines[1]
    assert lines[2].strip() == "95 % level, n = 2,000, exact, population: all inputs"
    assert (
        lines[3].strip()
        == "against blind overwriting: win-win by what was repaired and eod"
    )
    assert lines[4].startswith("check")


def test_every_check_has_a_row_with_its_change_in_points():
    lines = repair_lines(made())
    rows = {line.split("  ")[0]: line for line in lines}
    assert "-19.5 points (" in rows["sex, all inputs"]
    assert rows["sex, all inputs"].split()[-2:] == ["better", "2,000"]
    assert "not sure" in rows["race, all inputs"]
    assert "-5.0 points  not judged" in rows["worst subgroup"]
    assert rows["accuracy"].split()[-3:] == ["not", "sure", "2,000"]
    assert "worst subgroup: sex F, then race b" in lines
    assert "intervals at 95 %" in lines
    assert "populations: all inputs; people like the held-out rows" in lines


def test_every_step_has_a_row_that_says_why():
    lines = repair_lines(made())
    at = next(
        number for number, line in enumerate(lines) if line.startswith("1 of 2 steps kept")
    )
    assert lines[at].endswith(
        "; each against the best before it, accuracy on validation rows"
    )
    assert lines[at + 1].split() == [
        "step",
        "percent",
        "added",
        "before",
        "after",
        "accuracy",
    ]
    assert lines[at + 2].split()[:4] == ["1", "1.5", "%", "18"]
    assert lines[at + 2].endswith("85.0 %  not kept: the share did not surely fall")
    assert lines[at + 3].split()[:4] == ["2", "54", "%", "1,200"]
    assert lines[at + 3].endswith("83.2 %  kept")
    assert lines[at + 4 :] == [
        "note: one note",
        "augment over sex, seed 3; rows: 1,200 for training, 300 for validation, 500 for test",
        "12,345 inputs asked, 12,000 executed, 1.2 s",
    ]


def test_what_speaks_against_a_repair_is_written_in_words():
    assert "clearly risen" not in text_of(made())
    moved = text_of(
        made(
            checks=(
                *MADE["checks"],
                check("age, all inputs", "other", change(20, 200), "age"),
            )
        )
    )
    assert (
        "discrimination over age has clearly risen, from 1 % to 10 %; repair sex, age together"
        in moved
    )
    people = text_of(
        made(
            checks=(
                *MADE["checks"],
                check("sex, held-out people", "people", change(20, 200)),
            )
        )
    )
    assert (
        "of held-out people, more now get another outcome with another sex alone: from 1 % to 10 %"
        in people
    )
    unsure = text_of(made(change=change(400, 395)))
    assert unsure.startswith("UNDECIDED")
    assert "too small to tell" in unsure
    poor = text_of(made(comparisons=POOR))
    assert poor.startswith("FAIL")
    assert "poor trade-off by what was repaired" in poor
    assert "it is no better than giving up as much accuracy" in poor
    costly = text_of(made(checks=(*MADE["checks"][:-1], accuracy(1700, 1500))))
    assert costly.startswith("FAIL")
    assert (
        "accuracy has clearly fallen by more than is tolerated, which is 1 point" in costly
    )
    perhaps = text_of(made(checks=(*MADE["checks"][:-1], accuracy(1700, 1679))))
    assert perhaps.startswith("UNDECIDED")
    assert "accuracy has perhaps fallen" in perhaps
    rose = text_of(made(change=change(10, 400)))
    assert rose.startswith("FAIL")
    assert "% more (" in rose


@pytest.mark.parametrize(
    ("limit", "words"),
    [(0.1, "is under"), (0.001, "is not under"), (0.005, "may not be under")],
)
def test_a_limit_is_written(limit, words):
    assert f"the score after {words} the limit of {100 * limit:g} %" in text_of(
        made(limit=limit)
    )


def test_a_region_that_is_open_is_not_claimed():
    standing = replace(
        WIN["aim"].standings[0], plausible=("good trade-off", "poor trade-off")
    )
    found = text_of(made(comparisons={"aim": replace(WIN["aim"], standings=[standing])}))
    assert found.startswith("UNDECIDED")
    assert "undecided: good or poor by what was repaired" in found
    assert "it may be no better" in found
    assert "against blind overwriting: not compared" in text_of(made(comparisons={}))


def test_nothing_to_repair_and_no_help_are_written_plainly():
    nothing = repair_lines(unchanged(NOTHING))
    assert nothing[0].startswith("PASS      sex: nothing to repair")
    assert nothing[1].strip().startswith("share of discriminatory inputs: 0.00 % (")
    assert nothing[2].split() == ["check", "score", "n"]
    assert not any("steps kept" in line for line in nothing)
    no_help = text_of(unchanged(NO_HELP))
    assert no_help.startswith("FAIL      sex: no step helped")
    assert "0 of 1 steps kept" in no_help
    assert "change" not in no_help.split("validation rows")[0].split("check")[1]


def test_a_subgroup_is_written_as_a_gap():
    inside = np.arange(N) % 2 == 0
    gap = gap_change(
        1.0 * inside, np.ones(N), inside, level=0.95, population="people like these"
    )
    rule = Rule((Condition("sex", levels=("F",)),))
    lines = repair_lines(made(method="subgroup", about=rule, change=gap))
    assert "sex F: the gap fell" in lines[0]
    assert any("each against the original" in line for line in lines)
    assert lines[1].strip().startswith("gap between the subgroup and others: 100.00 % (")


def test_numbers_are_written_as_they_are():
    r2 = [
        Amount(value, value - 0.01, value + 0.01, 500, 0.95, "bootstrap")
        for value in (0.85, 0.8)
    ]
    moved = Amount(-0.05, -0.055, -0.045, 500, 0.95, "bootstrap")
    steps = (replace(STEPS[1], accuracy=0.8),)
    found = text_of(
        made(
            checks=(
                *MADE["checks"][:-1],
                RepairCheck("r2", "performance", r2[0], r2[1], moved),
            ),
            history=steps,
        )
    )
    row = next(line for line in found.splitlines() if line.startswith("R²"))
    cells = (
        "0.850 (0.840 to 0.860) 0.800 (0.790 to 0.810) -0.050 (-0.055 to -0.045) worse 500"
    )
    assert " ".join(row.split()[1:]) == cells
    assert "R² on validation rows" in found
    assert "0.800  kept" in found
    assert "R² has clearly fallen by more than is tolerated, which is 0.01" in found
    open_ = text_of(
        made(
            checks=(RepairCheck("r2", "performance", r2[0], r2[1]),),
            tolerance=0.02,
            history=(),
        )
    )
    assert "R² has perhaps fallen by more than is tolerated, which is 0.02" in open_


def test_empty_groups_and_scores_that_began_at_nothing():
    empty = Estimate(math.nan, 0.0, 1.0, 0, 0.95, "exact")
    found = text_of(
        made(checks=(RepairCheck("spd", "group", empty, empty), MADE["checks"][-1]))
    )
    row = next(line for line in found.splitlines() if line.startswith("spd"))
    assert row.count("no data, undecided") == 2
    assert "there was none before" in text_of(made(change=change(0, 300)))
    few = text_of(made(change=change(3, 3)))
    assert "0 % fewer (" in few


@pytest.mark.parametrize("width", [60, 80, 100, 160])
def test_lines_fit_and_no_number_is_lost(width):
    for repair in (made(), unchanged(NO_HELP)):
        lines = terminal(repair, width)
        assert max(map(len, lines)) <= width
        words = " ".join(" ".join(lines).split())
        for check in repair.checks:
            assert check.name in words
        assert "not kept: the share did not surely fall" in words
        shown = set(words.replace(";", "").replace(",", "").split())
        for line in repair_lines(repair):
            numbers = [word for word in line.split() if word.endswith(")")]
            whole = {word for word in numbers if "," not in word}
            assert whole <= shown


@settings(max_examples=examples(60))
@given(st.integers(0, N), st.integers(0, N), st.integers(0, N), st.integers(0, N))
def test_any_change_can_be_written(before, after, right, still):
    aim = change(before, after)
    found = made(
        change=aim, checks=(check("sex, all inputs", "aim", aim), accuracy(right, still))
    )
    claim, *lines = repair_lines(found)
    assert claim.startswith(found.verdict.upper())
    for word in ("nan", "inf", "-0 ", "--"):
        assert word not in "\n".join(lines)


def written(repair: Repair, path: Any) -> str:
    sheet = io.StringIO()
    render_written(repair, path, sheet)
    return sheet.getvalue()


def test_what_to_do_with_the_model(tmp_path):
    sio = pytest.importorskip("skops.io")
    from sklearn.tree import DecisionTreeClassifier

    assert "-o MODEL.skops" in written(made(model=LogisticRegression()), None)
    path = tmp_path / "model.skops"
    sio.dump(LogisticRegression().fit([[0.0], [1.0]], [0, 1]), path)
    output = written(made(model=LogisticRegression()), path)
    assert output.startswith(f"wrote {path}: the repaired model (LogisticRegression)\n")
    assert f"skops.io.load({str(path)!r})" in output
    model = DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1])
    sio.dump(model, path)
    output = written(made(model=model), path)
    types = sio.get_untrusted_types(file=path)
    assert f"trusted={types!r}" in output
    assert f"trusted = {types!r}" in output
    output = written(made(model=model), tmp_path / "model.joblib")
    assert "joblib.load(" in output
    assert "allow_pickle = true" in output


def test_a_model_that_was_left_as_it_is_is_not_written():
    assert (
        written(unchanged(NOTHING), "m.skops")
        == "m.skops was not written, since there was nothing to repair\n"
    )
    assert (
        written(unchanged(NO_HELP), "m.skops")
        == "m.skops was not written, since no step helped\n"
    )
    assert written(unchanged(NO_HELP), None).strip() == ""


def test_a_repair_read_from_json_reads_alike(tmp_path):
    made().to_json(tmp_path / "out.json")
    assert repair_lines(Repair.from_json(tmp_path / "out.json")) == repair_lines(made())
