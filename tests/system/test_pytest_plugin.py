"""The pytest plugin, in runs of pytest of their own: what they print, what they keep, and how they
end.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

import evenhand as eh
from evenhand.methods.audit.formats.ci import beside
from evenhand.pytest_plugin.plugin import Fairness, share_of_cores, whole
from evenhand.pytest_plugin.story import (
    VERDICT,
    VERDICTS,
    Settings,
    VerdictTally,
    file_name,
)
from tests.support.helpers import refused

if TYPE_CHECKING:
    from pathlib import Path

SPACE = eh.Space(
    [eh.category("sex", ["F", "M"]), eh.integer("income", 0, 99_999)], protected=["sex"]
)
VERBS = [
    "measure",
    "prevalence",
    "measure_log",
    "subsets",
    "search",
    "mine",
    "mine_log",
    "mine_text",
    "compare",
]
BAD_ID = "<script>alert('1')</script>\n\"/../..\\ ::x[y] $HOME"

LOANS = """
import evenhand as eh

features = [eh.category("sex", ["F", "M"]), eh.integer("income", 0, 99_999)]
space = eh.Space(features, protected=["sex"])


def unfair(people):
    return people["income"] + 30_000 * (people["sex"] == "M") > 60_000


def fair(people):
    return people["income"] > 60_000
"""
CONFIG = """
[subject]
function = "loans:unfair"
positive = true
[space]
protected = ["sex"]
[space.features.sex]
levels = ["F", "M"]
[space.features.income]
low = 0
high = 99_999
[[checks]]
job = "measure"
over = ["sex"]
limit = 0.05
[[checks]]
job = "search"
over = ["sex"]
"""
TESTS = f"""
import pytest
import evenhand as eh
from loans import fair, space, unfair


def test_passes(fairness):
    result = fairness.measure(fair, space, over="sex", limit=0.05).check()
    assert result.verdict == "pass" and result.seed == 3 and type(result) is eh.Result


def test_fails_plainly(fairness):
    fairness.measure(unfair, space, over="sex", limit=0.05).check()


@pytest.mark.fairness(queries=20)
def test_is_undecided(fairness):
    fairness.measure(unfair, space, limit=0.3).check()


def test_asks_for_several(fairness):
    fairness.measure(unfair, space, limit=0.05)
    fairness.measure(fair, space, limit=0.05)
    fairness.search(unfair, space, limit=0, budget=eh.Budget(queries=300))
    assert fairness.measure(unfair, space).verdict is None
    fairness.check()


def test_forgets_to_check(fairness):
    fairness.measure(unfair, space, limit=0.05)


@pytest.mark.xfail(strict=True)
def test_is_known_to_fail(fairness):
    fairness.measure(unfair, space, limit=0.05).check()


@pytest.mark.fairness(queries=500)
def test_audits_a_file(fairness):
    fairness.audit("evenhand.toml").check()


class TestClass:
    @pytest.fixture
    def asked(self, fairness):
        fairness.measure(unfair, space, limit=0.05)
        return fairness

    @pytest.mark.parametrize("name", [1, 2], ids=[{BAD_ID!r}, "y" * 10_000])
    def test_has_a_strange_name(self, asked, name):
        assert False, "something else"

    def test_fails_at_its_end(self, asked, request):
        request.addfinalizer(asked.check)


def test_shows_what_a_terminal_obeys(fairness):
    names = ["F\\x1b[31m\\n<b>", "M" * 5000 + "a", "M" * 5000 + "b"]
    name = "s\\x1b[2J"
    strange = eh.Space([eh.category(name, names), eh.integer("age", 1, 9)], protected=[name])
    found = fairness.measure(lambda people: people[name].str.endswith("a"), strange, limit=0.05)
    assert found.verdict == "pass"


@pytest.mark.fairness(sed=1)
def test_marks_an_unknown_option(fairness):
    pass


@pytest.mark.fairness(queries=0)
def test_marks_a_bad_value(fairness):
    pass


@pytest.mark.fairness(7)
def test_marks_without_a_name(fairness):
    pass


@pytest.mark.fairness(seed=1, queries=10)
class TestMarked:
    @pytest.mark.fairness(seed=2, queries=None)
    def test_takes_the_nearest_marker(self, fairness):
        assert fairness.measure(fair, space, limit=0.05, seed=9).seed == 9
        assert fairness.measure(fair, space, limit=0.05).check().seed == 2
"""


def run(folder: Path, *arguments: str, expect: int) -> str:
    """Run pytest in a folder, with warnings as errors, and return what it printed."""
    env = {
        name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")
    } | {"COLUMNS": "100"}
    strict = (
        "-W",
        "error",
        "--strict-markers",
        "--strict-config",
        "-p",
        "no:cacheprovider",
        "-q",
    )
    command = [sys.executable, "-m", "pytest", *strict, *arguments]
    done = subprocess.run(
        command, cwd=folder, env=env, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == expect, done.stdout + done.stderr
    return done.stdout + done.stderr


def write(folder: Path, tests: str) -> Path:
    (folder / "tests").mkdir()
    (folder / "tests" / "loans.py").write_text(LOANS)
    (folder / "tests" / "test_loans.py").write_text(tests)
    return folder


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """A run of all tests above, in one process."""
    folder = write(tmp_path_factory.mktemp("ran"), TESTS)
    (folder / "evenhand.toml").write_text(CONFIG)
    return folder, run(
        folder, "--fairness-seed=3", "--junitxml=junit.xml", "--show-capture=no", expect=1
    )


def part(text: str, test: str) -> str:
    """Return what the report of one test says, by how its heading ends or what is in it."""
    heading = rf"^_+ [^\n]*{re.escape(test)}[^\n]* _+$\n"
    found = re.search(
        rf"{heading}(.*?)(?=^_[^\n]* _+$|^=====|^fairness: )", text, re.S | re.M
    )
    assert found, text[-3000:]
    return found.group(1)


def section(text: str, test: str) -> str:
    return re.split(r"^-+ fairness -+$\n", part(text, test), flags=re.M)[1]


def test_a_failure_tells_the_claim_the_estimate_the_case_and_how_to_replay(ran):
    folder, text = ran
    lines = section(text, "test_fails_plainly").splitlines()
    assert re.fullmatch(
        r"FAIL      measure: changing only sex changes the outcome of \d+\.\d % of inputs",
        lines[0],
    )
    assert re.search(
        r"\d % \(.* % to .* %, 95 % level, n = [\d,]+, .*, population: all inputs, uniformly\)",
        lines[1],
    )
    assert lines[2].strip() == "engineering threshold: 5 %"
    assert lines[3].split() == ["individual", "twin"]
    assert set(lines[4].split()) == {"sex", "F", "M", "differs"}
    assert lines[5].split()[0] == "income"
    assert set(lines[6].split()) == {"outcome", "False", "True", "differs"}
    file = lines[7].removeprefix("          kept in ")
    assert lines[8].strip() == f'ask the software again: eh.replay("{file}", subject)'
    command = "pytest tests/test_loans.py::test_fails_plainly --fairness-seed=3"
    assert lines[9] == f"run this test again: {command}"
    assert file.startswith(".evenhand/tests-test_loans.py-test_fails_plainly-")

    kept = eh.Result.from_json(folder / file)
    assert (kept.verdict, kept.seed) == ("fail", 3)
    again = eh.replay(
        folder / file,
        lambda people: people["income"] + 30_000 * (people["sex"] == "M") > 60_000,
        SPACE,
    )
    assert again.verdict == "fail"
    assert (
        eh.replay(folder / file, lambda people: people["income"] > 60_000, SPACE).verdict
        == "pass"
    )


def test_undecided_fails_and_says_why_it_ended(ran):
    report = section(ran[1], "test_is_undecided")
    assert report.startswith("UNDECIDED measure: changing only sex")
    assert "measure ended because the query budget was spent" in report
    assert "--fairness-seed=3 --fairness-queries=20" in report


def test_of_several_results_those_that_do_not_pass_are_shown_and_kept(ran):
    folder, text = ran
    report = section(text, "test_asks_for_several")
    failed = [line for line in report.splitlines() if line.startswith("FAIL")]
    assert [line.split()[1] for line in failed] == ["measure:", "search:"]
    assert report.count("run this test again") == 1
    files = (folder / ".evenhand").glob("*several*")
    assert sorted(file.name[-7:] for file in files) == ["-1.json", "-3.json"]


def test_a_test_that_fails_for_another_reason_tells_of_its_results_too(ran):
    for name in (
        "TestClass.test_has_a_strange_name[<script>",
        "ERROR at teardown of TestClass.test_fails_at_its_end",
    ):
        assert section(ran[1], name).startswith("FAIL      measure: changing only sex")


def test_the_summary_counts_verdicts_and_names_tests_that_passed_over_one(ran):
    folder, text = ran
    assert (
        "fairness: 4 passed, 10 failed, 1 undecided, 1 without a limit in 16 checks; evidence in"
        " .evenhand\n" in text
    )
    passed = "passed although a check did not; fairness.check() at its end would fail it"
    assert [line for line in text.splitlines() if "passed although" in line] == [
        f"fairness: tests/test_loans.py::test_forgets_to_check {passed}"
    ]
    assert not list((folder / ".evenhand").glob("*forgets*")) + list(
        (folder / ".evenhand").glob("*known*")
    )
    assert (folder / ".evenhand" / ".gitignore").read_text() == "*\n"


def test_verdicts_and_files_are_properties_in_junit_xml(ran):
    cases = ElementTree.parse(ran[0] / "junit.xml").iter("testcase")
    found = {}
    for case in cases:
        properties = [tuple(entry.attrib.values()) for entry in case.iter("property")]
        found[case.get("name")] = properties
    assert found["test_passes"] == [("evenhand.verdict", "measure: pass")]
    first, (name, file) = found["test_fails_plainly"]
    assert (first, name) == (("evenhand.verdict", "measure: fail"), "evenhand.evidence")
    assert (ran[0] / file).is_file()


def test_strange_names_make_safe_files_and_commands_that_run(ran):
    folder, text = ran
    files = [file.name for file in (folder / ".evenhand").glob("*strange*")]
    assert len(files) == 2
    assert all(
        re.fullmatch(r"[\w.-]{,100}\.json", name) and ".." not in name for name in files
    )
    commands = [
        line
        for line in text.splitlines()
        if line.startswith("run this test again") and "strange" in line
    ]
    (short,) = (line for line in commands if "#" in line)
    assert "yyy" not in short
    (whole_name,) = set(commands) - {short}
    _, program, *arguments = shlex.split(
        whole_name.replace("run this test again:", "again")
    )
    assert program == "pytest"
    listed = run(folder, *arguments, "--collect-only", expect=0)
    assert "1 test collected" in listed
    assert "script" in listed


def test_values_are_printable_and_cut_around_what_differs(ran):
    text = ran[1]
    assert "\x1b" not in text
    report = section(text, "test_shows_what_a_terminal_obeys")
    assert r"s\x1b[2J" in report
    assert max(map(len, report.splitlines())) < 250
    assert re.search(r"(…M+a +…M+b|F\\x1b\[31m\\n<b> +M+…|M+… +F)", report)


def test_a_wrong_marker_is_one_sentence(ran):
    for test, sentence in {
        "an_unknown_option": (
            "the marker fairness has no option 'sed'; did you mean 'seed'? Valid choices are"
        ),
        "a_bad_value": "the marker fairness: queries = 0 must be a whole number of 1 or more",
        "without_a_name": "the marker fairness takes its options by name, not 7 alone; write",
    }.items():
        (line,) = part(ran[1], f"ERROR at setup of test_marks_{test}").splitlines()
        assert line.startswith(sentence)


def test_other_processes_tell_and_keep_the_same(ran, tmp_path):
    chosen = "passes or plainly or several or strange or its_end or forgets"
    text = run(
        write(tmp_path, TESTS),
        "-n2",
        "--fairness-seed=3",
        "--show-capture=no",
        "-k",
        chosen,
        expect=1,
    )
    for test in (
        "test_fails_plainly",
        "test_asks_for_several",
        "test_fails_at_its_end",
        "strange_name[<script>",
    ):
        assert section(text, test) == section(ran[1], test)
    assert (
        "fairness: 2 passed, 7 failed, 1 without a limit in 10 checks; evidence in .evenhand\n"
        in text
    )
    assert "test_forgets_to_check passed although a check did not" in text
    kept = list((tmp_path / ".evenhand").glob("*.json"))
    assert len(kept) == 6
    for file in kept:
        assert (
            eh.Result.from_json(file).digest
            == eh.Result.from_json(ran[0] / ".evenhand" / file.name).digest
        )


def test_ini_values_count_a_folder_that_is_a_file_hides_nothing_and_an_interrupt_ends_the_run(
    tmp_path,
):
    tests = """
from loans import *

def stopped(people):
    raise KeyboardInterrupt

def test_it(fairness):
    fairness.measure(unfair, space, limit=0.05).check()

def test_is_stopped(fairness):
    fairness.measure(stopped, space, limit=0.05)

def test_after_it():
    pass
"""
    write(tmp_path, tests)
    (tmp_path / "taken").write_text("a file")
    (tmp_path / "pytest.ini").write_text(
        "[pytest]\nfairness_seed = 5\nfairness_queries = 900\nfairness_dir = taken\n"
    )
    (tmp_path / "tests" / "sub").mkdir()
    text = run(tmp_path / "tests" / "sub", "..", "-vv", expect=2)
    assert "KeyboardInterrupt" in text
    assert "test_after_it" not in text
    assert "evenhand: seed 5, at most 900 queries a check\n" in text
    report = section(text, "test_it")
    assert report.startswith("FAIL      measure: changing only sex")
    assert "this result cannot be kept as a file:" in report
    assert (
        "pytest ../test_loans.py::test_it --fairness-seed=5 --fairness-queries=900"
        in report
    )
    assert "fairness: 1 failed in 1 check\n" in text
    assert (tmp_path / "taken").read_text() == "a file"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--fairness-queries=0"],
            "--fairness-queries: queries = '0' must be a whole number of 1 or more",
        ),
        (
            ["--fairness-seed", "x"],
            "--fairness-seed: seed = 'x' must be a whole number of 0 or more",
        ),
        (["-o", "fairness_seed=-1"], "fairness_seed must be a whole number of 0 or more"),
        (
            ["--fairness-n-jobs=0"],
            "--fairness-n-jobs: n_jobs = '0' must be a whole number other than 0",
        ),
        (
            ["-o", "fairness_n_jobs=x"],
            "fairness_n_jobs must be a whole number other than 0",
        ),
        (
            ["-o", "fairness_queries=x"],
            "fairness_queries must be a whole number of 1 or more",
        ),
    ],
)
def test_bad_options_end_the_run_before_it_begins(tmp_path, arguments, message):
    text = run(tmp_path, *arguments, expect=4)
    assert message in text
    assert "Traceback" not in text


def test_a_run_without_fairness_imports_nothing_and_says_nothing(tmp_path):
    tests = """
        import sys

        def test_it():
            ours = {name for name in sys.modules if name.split(".")[0] == "evenhand"}
            plugin = "evenhand.pytest_plugin"
            assert ours == {"evenhand", plugin, f"{plugin}.plugin", f"{plugin}.story"}
            assert not {"numpy", "pandas", "rich", "scipy", "sklearn"} & sys.modules.keys()
    """
    (tmp_path / "test_it.py").write_text("\n".join(line[8:] for line in tests.splitlines()))
    text = run(tmp_path, expect=0)
    assert "fairness" not in text
    assert "evenhand" not in text
    assert [file.name for file in tmp_path.glob("*") if file.name != "__pycache__"] == [
        "test_it.py"
    ]


def half(people):
    return people["income"] + 30_000 * (people["sex"] == "M") > 60_000


def test_the_fixture_offers_every_verb_and_says_what_the_package_says(fairness):
    assert set(VERBS) | {"repair", "replay", "check"} <= set(dir(fairness))
    assert not {"category", "Space", "uniform", "datasets", "needed", "rows"} & set(
        dir(fairness)
    )
    asked = Fairness(Settings(seed=5, queries=400))
    found = asked.measure(half, SPACE, limit=0.05)
    assert (
        found.digest
        == eh.measure(half, SPACE, limit=0.05, seed=5, budget=eh.Budget(queries=400)).digest
    )
    assert asked.measure(half, SPACE, seed=1, budget=None).seed == 1
    assert asked.results[0] is found
    assert len(asked.results) == 2


def test_an_unknown_verb_names_the_nearest(fairness):
    with pytest.raises(
        AttributeError, match="has no verb 'mesure'; did you mean 'measure'"
    ):
        _ = fairness.mesure
    with pytest.raises(AttributeError, match=r"the package has it: evenhand\.category"):
        _ = fairness.category
    assert not hasattr(fairness, "__wrapped__")
    refused(eh.UsageError, lambda: fairness.measure(half, SPACE, limt=1), "limt", "limit")


def test_check_takes_results_or_all_of_them_and_nothing_else():
    asked = Fairness(Settings())
    refused(eh.UsageError, asked.check, "nothing to check yet")
    refused(
        eh.UsageError,
        lambda: asked.check(half, SPACE),
        "takes results of verbs, not a function",
        ".check()",
    )
    good = asked.measure(lambda people: people["income"] > 9, SPACE, limit=0.05)
    asked.check()
    bad = asked.measure(half, SPACE, limit=0.05)
    asked.check(good)
    for results in ((), (bad,), (good, bad)):
        with pytest.raises(AssertionError, match="measure: fail"):
            asked.check(*results)


def test_audits_of_a_file_are_shown_check_by_check(ran):
    report = section(ran[1], "test_audits_a_file")
    assert report.startswith("FAIL      measure sex: changing only sex changes the outcome")
    (file,) = (ran[0] / ".evenhand").glob("*audits*.json")
    assert f"evenhand replay .evenhand/{file.name} evenhand.toml\n" in report
    assert "audit it again: evenhand audit evenhand.toml --queries 500 --seed 3\n" in report


@given(st.lists(st.text(max_size=300), min_size=2, max_size=2, unique=True))
def test_files_of_different_tests_have_different_safe_names(names):
    one, other = map(file_name, names)
    assert one != other
    assert re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]{,100}", one)
    assert ".." not in one


@given(st.text(max_size=200), st.text(max_size=200), st.text(max_size=200))
def test_long_values_that_differ_are_cut_so_that_they_still_do(same, one, other):
    cut = beside(same + one, same + other)
    assert (cut[0] == cut[1]) == (one == other)
    assert max(map(len, cut)) <= 102


@pytest.mark.parametrize(
    "value", [-1, True, 1.5, None, "", "1.5", "x" * 10_000, "9" * 5000, [1]]
)
def test_what_is_no_number_is_refused_in_a_sentence(value):
    with pytest.raises(
        ValueError, match=r"^seed = .{,130} must be a whole number of 0 or more$"
    ):
        whole("seed", value)


def test_verdicts_are_counted_by_a_field_and_not_by_the_words_of_a_property(tmp_path):
    words = [(VERDICT, "Übersetzung: bestanden"), (VERDICT, "measure: pass")]
    given = {VERDICTS: ["fail", "undecided"]}
    report = pytest.TestReport(
        "test_a",
        ("a.py", 1, "a"),
        {},
        "passed",
        None,
        "teardown",
        (),
        0.1,
        0,
        0,
        words,
        **given,
    )
    other_process = pytest.TestReport._from_json(report._to_json())
    for one in (report, other_process):
        tally = VerdictTally(None, tmp_path)  # type: ignore[arg-type]
        tally.pytest_runtest_logreport(one)
        assert tally.verdicts == {"fail": 1, "undecided": 1}
        assert tally.open == {"test_a": 2}


def test_processes_of_xdist_share_the_cores(monkeypatch):
    monkeypatch.setattr("joblib.effective_n_jobs", lambda n_jobs: 8)
    monkeypatch.delenv("PYTEST_XDIST_WORKER_COUNT", raising=False)
    assert [share_of_cores(n_jobs) for n_jobs in (1, 3, -1)] == [1, 3, -1]
    monkeypatch.setenv("PYTEST_XDIST_WORKER_COUNT", "3")
    assert [share_of_cores(n_jobs) for n_jobs in (1, 3, -1)] == [1, 3, 2]
    monkeypatch.setenv("PYTEST_XDIST_WORKER_COUNT", "16")
    assert share_of_cores(-1) == 1
    defaults = Fairness(Settings(n_jobs=-1))._defaults()
    assert defaults["n_jobs"] == 1
    assert "n_jobs" not in Fairness(Settings())._defaults()
