"""Results as text: golden texts for a pipe, and the same words on a terminal."""

from __future__ import annotations

import io
import math
import os
import re
import subprocess
import sys
import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from evenhand.report.terminal import lines, printable, render
from evenhand.results.evidence import Case, Finding, Group
from evenhand.results.result import Result
from evenhand.runtime.budget import Spent
from evenhand.statistics.estimate import Estimate, StopReason

UNIFORM = "all inputs, uniformly"


def estimate(
    value: float, low: float, high: float, n: int = 400, population: str = UNIFORM
) -> Estimate:
    return Estimate(value, low, high, n, 0.95, "exact", population)


def result(
    job: str, *findings: Finding, notes=(), details=None, stop=StopReason.DECIDED
) -> Result:
    return Result(
        job, findings, 0, Spent(2884, 852, 5.62), stop, {}, notes, {}, details or {}
    )


def golden(shown: Result, text: str, **settings) -> None:
    assert "\n".join(lines(shown, **settings)) == textwrap.dedent(text).strip("\n")


CASE = Case({"sex": "F", "age": 30}, {"sex": "M", "age": 30}, ("deny", "approve"))
MEASURE = result(
    "measure",
    Finding(
        "changing only sex changes the outcome",
        ("sex",),
        estimate(0.12, 0.1, 0.14),
        0.05,
        (CASE, CASE),
    ),
    Finding(
        "changing only age changes the outcome", ("age",), estimate(0.0, 0.0, 0.02), 0.05
    ),
    Finding("race was not measured", ("race",), estimate(math.nan, 0.0, 1.0, 0), 0.05),
    notes=["a note"],
)


def group(value: float, n: int, **about) -> Group:
    found = (
        estimate(value, max(0.0, value - 0.05), min(1.0, value + 0.05), n)
        if n
        else estimate(math.nan, 0, 1, 0)
    )
    return Group(about, found)


GROUPS = (group(0.4, 1200, sex="M"), group(0.1, 80, sex="F"), group(0, 0, sex="X"))
COUNTS = {
    "implied discriminating": 0,
    "implied cleared": 0,
    "not shown": 0,
    "not tested": 0,
}


def entry(
    about: str,
    state: str,
    because: str = "tested",
    of: str = "",
    value=None,
    low=None,
    high=None,
    n=0,
):
    return {
        "about": about.split(),
        "state": state,
        "because": because,
        "of": of.split() or None,
    } | {
        "value": value,
        "low": low,
        "high": high,
        "n": n,
    }


PRUNED = "1 contain a discriminating set and 2 are part of a cleared set"
SUPERSET, SUBSET = "superset of a discriminating set", "subset of a cleared set"
LATTICE = {
    "among": ["sex", "race", "age"],
    "limit": 0.75,
    "kind": "group",
    "tests": 4,
    "sets": [
        entry("sex", "cleared", SUBSET, "sex age"),
        entry("race", "cleared", SUBSET, "sex age"),
        entry("age", "not shown", value=0.2, low=0.1, high=1.0, n=60),
        entry("sex race", "discriminating", value=0.9, low=0.85, high=0.95, n=400),
        entry("sex age", "cleared", value=0.3, low=0.25, high=0.35, n=400),
        entry("race age", "undecided", value=0.74, low=0.7, high=0.78, n=400),
        entry("sex race age", "discriminating", SUPERSET, "sex race"),
    ],
    "levels": [
        COUNTS
        | {
            "size": 1,
            "discriminating": 0,
            "cleared": 0,
            "implied cleared": 2,
            "undecided": 0,
            "not shown": 1,
        },
        COUNTS | {"size": 2, "discriminating": 1, "cleared": 1, "undecided": 1},
        COUNTS
        | {
            "size": 3,
            "discriminating": 0,
            "cleared": 0,
            "undecided": 0,
            "implied discriminating": 1,
        },
    ],
}
SUBSETS = result(
    "subsets",
    Finding(
        "sex and race discriminate",
        ("sex", "race"),
        estimate(0.9, 0.85, 0.95),
        0.75,
        (CASE,),
    ),
    Finding("race and age are open", ("race", "age"), estimate(0.74, 0.7, 0.78), 0.75),
    notes=["a note"],
    details={"lattice": LATTICE},
)


OF_ALL_INPUTS = "exact, population: all inputs, uniformly"
OF_ROWS = "exact, population: 2,000 rows"


def test_a_measure():
    golden(
        MEASURE,
        f"""
        FAIL      changing only sex changes the outcome
                  12.0 % (10.0 % to 14.0 %, 95 % level, n = 400, {OF_ALL_INPUTS}); limit 5 %
                  for example sex F → M: deny → approve (with age 30)
        UNDECIDED race was not measured
                  unknown (0.0 % to 100.0 %, 95 % level, n = 0, {OF_ALL_INPUTS}); limit 5 %
        PASS      changing only age changes the outcome
                  0.0 % (0.0 % to 2.0 %, 95 % level, n = 400, {OF_ALL_INPUTS}); limit 5 %
        note: a note
        2,884 inputs asked, 852 executed, 5.6 s; the limit was excluded
        """,
    )


def test_without_a_limit_there_is_no_verdict():
    golden(
        result(
            "measure",
            Finding("a claim", ("sex",), Estimate.exact(6, 24)),
            stop=StopReason.ENUMERATED,
        ),
        """
        a claim
                  25.0 % (n = 24, enumerated)
        2,884 inputs asked, 852 executed, 5.6 s; every input was enumerated
        """,
    )


def test_a_group_measure_shows_its_groups():
    golden(
        result(
            "measure",
            Finding("rates differ", ("sex",), estimate(0.3, 0.2, 0.4), 0.1, groups=GROUPS),
        ),
        f"""
        FAIL      rates differ
                  30.0 % (20.0 % to 40.0 %, 95 % level, n = 400, {OF_ALL_INPUTS}); limit 10 %
                  group    rate       95 % interval      n
                  sex F  10.0 %     5.0 % to 15.0 %     80
                  sex M  40.0 %    35.0 % to 45.0 %  1,200
                  sex X          no data, undecided      0
        2,884 inputs asked, 852 executed, 5.6 s; the limit was excluded
        """,
    )


def test_a_log_with_a_ratio_tells_the_same_groups_once():
    rows = "2,000 rows"
    exact = tuple(
        Group({"sex": name}, Estimate.exact(hits, 1000))
        for name, hits in (("F", 1), ("M", 4))
    )
    golden(
        result(
            "measure_log",
            Finding(
                "the lowest rate is a quarter",
                ("sex",),
                estimate(0.25, 0.1, 0.5, 2000, rows),
                0.8,
                (),
                exact,
                "",
                True,
            ),
            Finding(
                "rates differ",
                ("sex",),
                estimate(0.003, 0.001, 0.005, 2000, rows),
                0.1,
                groups=exact,
            ),
            details={"rows": 2000},
        ),
        f"""
        FAIL      the lowest rate is a quarter
                  25.0 % (10.0 % to 50.0 %, 95 % level, n = 2,000, {OF_ROWS}); limit at least 80 %
                  group    ratio    interval      n
                  sex F  0.100 %  enumerated  1,000
                  sex M  0.400 %  enumerated  1,000
        PASS      rates differ
                  0.30 % (0.10 % to 0.50 %, 95 % level, n = 2,000, {OF_ROWS}); limit 10 %
                  groups as above
        2,000 recorded decisions, 5.6 s
        """,
    )


def test_subsets_keep_open_and_cleared_sets_apart():
    golden(
        SUBSETS,
        f"""
        group score of sets of sex, race, age; limit 75 %, 95 % level
                                           implied           implied               not
        size  sets  discriminating  discriminating  cleared  cleared  undecided  shown
           1     3               0               0        0        2          0      1
           2     3               1               0        1        0          1      0
           3     1               0               1        0        0          0      0
        4 sets tested, 3 implied (pruned) because {PRUNED}
        minimal discriminating sets: 1
        FAIL      sex and race discriminate
                  90.0 % (85.0 % to 95.0 %, 95 % level, n = 400, {OF_ALL_INPUTS}); limit 75 %
                  for example sex F → M: deny → approve (with age 30)
        undecided: 1
        UNDECIDED race, age: 74.0 % (70.0 % to 78.0 %, 95 % level, n = 400, {OF_ALL_INPUTS})
        not shown to discriminate (lower bound only): 1
                  age: 20.0 % (at least 10.0 %, n = 60)
        cleared by a test: 1
        PASS      sex, age: 30.0 % (25.0 % to 35.0 %, n = 400)
        note: a note
        2,884 inputs asked, 852 executed, 5.6 s; the limit was excluded
        """,
    )


def test_of_very_many_sets_ten_are_listed_and_the_others_counted():
    sets = [
        entry(f"x{i} y", "undecided", value=0.7, low=0.6, high=0.8, n=40) for i in range(13)
    ]
    findings = [
        Finding("c", (f"x{i}",), estimate(0.9, 0.85, 0.95), 0.75) for i in range(11)
    ]
    table = LATTICE | {
        "tests": 11,
        "sets": sets,
        "levels": [COUNTS | {"size": 1, "discriminating": 11, "not tested": 5}],
    }
    shown_lines = lines(result("subsets", *findings, details={"lattice": table}))
    assert sum(line.startswith("FAIL") for line in shown_lines) == 10
    assert sum(line.startswith("UNDECIDED") for line in shown_lines) == 10
    assert [line.strip() for line in shown_lines if "… " in line] == [
        "… 1 more",
        "… 3 more",
    ]
    assert "11 sets tested, none implied; 5 not tested" in shown_lines


def test_a_finding_that_the_lattice_does_not_hold_is_shown_all_the_same():
    missed = Finding("sex was not reached", ("sex",), estimate(math.nan, 0.0, 1.0, 0), 0.75)
    shown_lines = lines(
        result("subsets", missed, details={"lattice": LATTICE | {"sets": []}})
    )
    assert "UNDECIDED sex was not reached" in shown_lines


def test_several_outputs_are_shown_one_after_the_other():
    tables = {"approved": LATTICE, "amount": LATTICE | {"sets": [], "levels": []}}
    findings = (
        Finding("c", ("sex", "race"), estimate(0.9, 0.85, 0.95), 0.75, output="approved"),
    )
    shown_lines = lines(
        result("subsets", *findings, details={"lattice": {"outputs": tables}})
    )
    first, second = shown_lines.index("output approved"), shown_lines.index("output amount")
    assert any(line.startswith("FAIL") for line in shown_lines[first:second])
    assert "minimal discriminating sets: none found" in shown_lines[second:]


@pytest.mark.parametrize(("known", "empty"), [(70, 3), (5, 40), (73, 0), (12, 0)])
def test_at_most_twelve_groups_are_listed(known, empty):
    groups = [group((i + 1) / 100, 50, country=f"c{i}") for i in range(known)]
    groups += [group(0, 0, country=f"e{i}") for i in range(empty)]
    shown_lines = lines(
        result(
            "measure",
            Finding("c", ("country",), estimate(0.5, 0.4, 0.6), groups=tuple(groups)),
        )
    )
    rows = [line for line in shown_lines if line.strip().startswith("country")]
    assert len(rows) == min(12, known + empty)
    assert "country c0 " in rows[0]
    left_out = [int(line.split()[1]) for line in shown_lines if "more groups" in line]
    assert len(rows) + sum(left_out) == known + empty
    assert any(f"country c{known - 1} " in row for row in rows)


def test_cases_on_request_stand_side_by_side():
    shown_lines = lines(MEASURE, cases=2)
    table = """
                     individual  twin
            sex      F           M        differs
            age      30          30
            outcome  deny        approve  differs
    """
    expected = [
        f"{'':10}{line}".rstrip()
        for line in textwrap.dedent(table).strip("\n").splitlines()
    ]
    at = shown_lines.index(expected[0])
    assert shown_lines[at : at + 8] == expected * 2
    assert not any("for example" in line for line in shown_lines)
    assert not any("deny" in line for line in lines(MEASURE, cases=0))


def test_a_pipe_gets_plain_lines_however_long(capsys):
    render(MEASURE)
    assert capsys.readouterr().out.splitlines() == lines(MEASURE)


def terminal(width: int, **settings) -> Console:
    return Console(file=io.StringIO(), force_terminal=True, width=width, **settings)


def on(console: Console, shown: Result) -> str:
    render(shown, console=console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def without_codes(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def test_a_terminal_gets_coloured_verdicts_and_the_same_words():
    text = on(terminal(200, color_system="standard"), MEASURE)
    assert "\x1b[1;31mFAIL      \x1b[0mchanging" in text
    assert "\x1b[1;33mUNDECIDED \x1b[0mrace" in text
    assert "\x1b[1;32mPASS      \x1b[0mchanging" in text
    assert without_codes(text).splitlines() == lines(MEASURE, width=200)


@pytest.mark.parametrize("width", [70, 80, 100])
@pytest.mark.parametrize("shown", [MEASURE, SUBSETS], ids=["measure", "subsets"])
def test_lines_fit_the_terminal_and_words_stay_whole(width, shown):
    screen = without_codes(on(terminal(width), shown))
    assert all(len(line) <= width for line in screen.splitlines())
    words = set()
    for line in lines(shown, width=width):
        words.update(line.split())
    assert set(screen.split()) <= words
    assert not any(line.strip().startswith("%") for line in screen.splitlines())


def test_long_labels_of_groups_give_way_to_the_numbers():
    groups = (group(0.2, 50, occupation="a very long name of an occupation " * 3), *GROUPS)
    text = on(
        terminal(70),
        result("measure", Finding("c", ("x",), estimate(0.5, 0.4, 0.6), groups=groups)),
    )
    assert all(len(line) <= 70 for line in without_codes(text).splitlines())
    assert "15.0 % to 25.0 %" in text
    assert "…" in text


def test_no_colour_where_the_environment_asks_for_none(monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[1;31m" not in on(terminal(200, color_system="standard"), MEASURE)


def test_markup_and_codes_in_labels_stay_text():
    odd = {"[red]x": "[/bold]\x1b[2J", "emoji": ":smile:"}
    case = Case(odd, odd | {"emoji": ":wave:"}, ("a\nb", "c"))
    groups = (Group(odd, estimate(0.2, 0.1, 0.3)),)
    found = Finding(
        "changing only [red]x[/red]",
        ("[red]x",),
        estimate(0.2, 0.1, 0.3),
        0.05,
        (case, case),
        groups,
    )
    for text in (
        on(terminal(200), result("measure", found)),
        "\n".join(lines(result("measure", found), cases=2)),
    ):
        assert "changing only [red]x[/red]" in text
        assert "[red]x [/bold]\\x1b[2J" in text
        assert ":smile:" in text
        assert "a\\nb" in text
        assert "\x1b[2J" not in text


@given(st.text())
def test_what_is_printed_is_one_line_that_any_terminal_takes(text):
    assert printable(text).isprintable()
    printable(text).encode("utf-8")


def test_a_reader_that_goes_away_is_an_error_of_the_caller_and_no_verdict(tmp_path):
    """Rich would exit with 1, which here means that discrimination was found."""
    file = tmp_path / "result.json"
    MEASURE.to_json(file)
    code = f"""
    import sys
    import evenhand as eh
    from evenhand.report.terminal import render
    try:
        for _ in range(2000):
            render(eh.Result.from_json({str(file)!r}))
    except BrokenPipeError:
        sys.stderr.write("gone")
        sys.stderr.flush()
        import os
        os._exit(0)
    """
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONUTF8": "1"},
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(1)
        process.stdout.close()
        assert process.stderr.read() == b"gone"
        assert process.wait(60) == 0
