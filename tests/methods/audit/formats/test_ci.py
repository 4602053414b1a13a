"""An audit for CI systems: other programs read what is written, and obey nothing from data."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from collections import Counter
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from markdown_it import MarkdownIt

import evenhand as eh
from evenhand.methods.audit import messages
from evenhand.methods.audit.audit_result import Audit
from evenhand.methods.audit.check_result import CheckResult
from evenhand.methods.audit.formats import github
from evenhand.methods.audit.formats.ci import MOST_ROWS, NAME, Places, cut, rows_of
from evenhand.methods.audit.formats.github import MOST, SUMMARY, in_actions, write_summary
from evenhand.methods.audit.formats.junit import to_junit
from evenhand.methods.audit.formats.markdown import FEW, ROOM, text_of, to_markdown
from evenhand.methods.audit.formats.markdown_escape import JOINER
from evenhand.methods.audit.formats.sarif import to_sarif
from evenhand.methods.audit.statements import all_statements
from evenhand.results.baseline import STATES, BaselineComparison
from evenhand.results.evidence import Case, Finding
from evenhand.results.result import Result
from evenhand.runtime.budget import Spent
from evenhand.runtime.errors import UsageError
from evenhand.statistics.estimate import Estimate, StopReason, Verdict
from tests.support.helpers import examples, refused
from tests.support.paths import DATA, ROOT
from tests.support.strategies import TEXTS

SCHEMA = Draft202012Validator(json.loads((DATA / "sarif-schema-2.1.0.json").read_text()))
PAGE = ROOT / "docs" / "how-to" / "ci.md"
HOSTILE = [
    '</failure><script>alert("1")</script>',
    "a]]>b <!-- & --> '\"",
    "two\nlines\r\n::error::stop",
    "\u202eright to left\u202c, \u2066apart",
    "bell\x07, escape\x1b[31m, null\x00, \ufffe\uffff",
    "`code` **bold** | cell | ~~gone~~ $x$ # 7 #7 !7",
    (
        "@everyone [link](https://evil.example) ![image](https://evil.example) www.evil.example"
        " :tada: GH-7"
    ),
    "{0} {{1}} %0A %s, file=x::",
    "long " * 2_000,
]
SPACE = eh.Space(
    [
        eh.category("sex", ["F", "M"]),
        eh.category("race", ["a", "b"]),
        eh.integer("income", 0, 200),
    ],
    protected=["sex", "race"],
)
CONFIG = """\
# [[checks]] in a comment
[subject]
function = "loan:decide"

[[checks]]
job = "measure"
over = ["race"]
limit = 0.05

  [[ checks ]]
job = "measure"
over = "sex"
limit = 0.05

[[checks]]
job = "search"
limit = 0
over = ["sex"]

[[checks]]
job = "search"
over = ["sex"]
"""
FIELDS: dict[str, Any] = {
    "seed": 0,
    "spent": Spent(9, 9, 0.5),
    "command": "evenhand audit loans/evenhand.toml --seed 0",
}


def loan(people: Any) -> Any:
    return people["income"] + 30 * (people["sex"] == "M") > 100


def checked(name: str, job: str, found: Any, **table: Any) -> CheckResult:
    return CheckResult(name, job, table, found)


@cache
def audited() -> Audit:
    """All sorts of checks: they fail, pass, are undecided, have no limit, could not be run."""
    rng = np.random.default_rng(0)
    log = pd.DataFrame()
    log["sex"] = rng.choice(["F", "M"], 300)
    log["age"] = rng.integers(20, 70, 300)
    points = rng.random(300) + 0.3 * (log["sex"] == "M")
    log["ok"] = (points > 0.6).astype(int)
    truth = rng.integers(0, 2, 200)
    group = rng.choice(["f", "m"], 200)
    guesses = {}
    for name, accuracy in (("original", 0.8), ("x", 0.7)):
        right = rng.random(200) < accuracy
        guesses[name] = np.where(right, truth, 1 - truth)
    subject = eh.Subject(loan, SPACE, positive=True)
    few = eh.Budget(queries=300)
    checks = (
        checked(
            "measure sex; race",
            "measure",
            eh.measure(subject, over=[("sex",), ("race",)], limit=0.05),
            over=[["sex"], ["race"]],
            limit=0.05,
        ),
        checked(
            "group",
            "measure",
            eh.measure(subject, over="sex", kind="group", limit=0.05),
            kind="group",
        ),
        checked(
            "search sex",
            "search",
            eh.search(subject, over="sex", budget=few, limit=0),
            over=[["sex"]],
            limit=0,
        ),
        checked(
            "search sex (2)",
            "search",
            eh.search(subject, over="sex", budget=few),
            over=[["sex"]],
        ),
        checked(
            "log",
            "measure_log",
            eh.measure_log(log, outcome="ok", over="sex", limit=0.1, least_ratio=0.8),
        ),
        checked(
            "mine",
            "mine_log",
            eh.mine_log(log, outcome="ok", over=["sex", "age"], limit=0.1),
        ),
        checked("compare", "compare", eh.compare(guesses, truth, group, resamples=100)),
        CheckResult("crashed", "measure", {}, error="the software crashed on input 7"),
        CheckResult("wrong", "search", {}, error="there is no feature 'sexx'", code=2),
    )
    file = {"file": "loans/evenhand.toml", "text": CONFIG}
    return Audit(checks, subject="function loan", config=file, notes=("a note",), **FIELDS)


@cache
def hostile() -> Audit:
    """What has features, labels, outcomes and names that are meant to break something."""
    protected = HOSTILE[:4]
    features = [eh.category(name, [f"{name} 1", f"{name} 2"]) for name in protected]
    space = eh.Space(features, protected=protected)

    def first_level(people: Any) -> Any:
        return people.iloc[:, 0].map(lambda level: f"{level} <b>")

    found = eh.measure(first_level, space, limit=0.05)
    checks = [checked(HOSTILE[0], "measure", found)]
    limits = (0.05, 0.5, None)
    for number, name in enumerate(HOSTILE):
        individual = {name: name, "same": name}
        twin = {name: f"{name}!", "same": name}
        case = Case(individual, twin, (name, f"{name}?"))
        estimate = Estimate(0.2, 0.1, 0.3, 90, 0.95, name, name)
        limit = limits[number % 3]
        finding = Finding(name, (name,), estimate, limit, (case,), output=name)
        job = "measure" if number else name
        checks.append(checked(name, job, result(finding)))
    checks += [CheckResult(name, "measure", {}, error=name) for name in HOSTILE]
    file = {"file": "a b/#1%?:é.toml", "text": "\x00"}
    return Audit(
        tuple(checks),
        subject=HOSTILE[0],
        config=file,
        notes=tuple(HOSTILE),
        **{**FIELDS, "command": HOSTILE[2]},
    )


def result(*findings: Finding, stop: StopReason = StopReason.DECIDED) -> Result:
    return Result("measure", findings, 0, Spent(90, 90, 0.25), stop, {})


def score(
    low: float,
    high: float,
    limit: float | None = 0.1,
    about: str = "sex",
    n: int = 90,
    **more: Any,
) -> Finding:
    case = Case({about: "F"}, {about: "M"}, ("no", "yes"))
    estimate = Estimate((low + high) / 2, low, high, n, 0.95, "exact")
    return Finding(f"{about} matters", (about,), estimate, limit, (case,), **more)


def audit_of(*findings: Finding, **fields: Any) -> Audit:
    check = checked("measure", "measure", result(*findings))
    return Audit((check,), **{**FIELDS, **fields})


def scores_of_features(number: int, low: float, high: float) -> list[Finding]:
    return [score(low, high, about=f"feature {place}") for place in range(number)]


AUDITS = {"audited": audited, "hostile": hostile, "empty": lambda: Audit((), **FIELDS)}
EACH = pytest.mark.parametrize("made", AUDITS.values(), ids=AUDITS)


# JUnit

ATTRIBUTES = {
    "testsuites": {"name", "time", "tests", "failures", "errors"},
    "testsuite": {"name", "time", "tests", "failures", "errors", "skipped", "file"},
    "testcase": {"name", "time", "classname"},
    "failure": {"type", "message"},
    "error": {"type", "message"},
    "skipped": {"message"},
    "system-out": set(),
}
"""What the schema of Jenkins (junit-10.xsd) has, which is the strictest; others ignore what they do
not know.
"""
INSIDE = {
    "testsuites": {"testsuite"},
    "testsuite": {"testcase"},
    "testcase": {"failure", "error", "skipped", "system-out"},
}


def parsed(audit: Audit) -> ET.Element:
    return ET.fromstring(to_junit(audit).encode())


@EACH
def test_junit_has_the_structure_that_jenkins_and_gitlab_read(made):
    root = parsed(made())
    assert root.tag == "testsuites"
    for element in root.iter():
        assert set(element.keys()) <= ATTRIBUTES[element.tag]
        inside = {child.tag for child in element}
        assert inside <= INSIDE.get(element.tag, set())
        if element.tag == "testsuite":
            assert {"name", "tests", "failures", "errors"} <= set(element.keys())
            assert re.fullmatch(r"\d+\.\d{3}", element.get("time", ""))


@EACH
def test_the_totals_of_junit_are_right(made):
    audit = made()
    root = parsed(audit)
    for suite in root:
        assert suite.get("tests") == str(len(suite))
    for element in root.iter():
        if element.tag not in ("testsuite", "testsuites"):
            continue
        cases = list(element.iter("testcase"))
        assert element.get("tests") == str(len(cases))
        for key, tag in (
            ("failures", "failure"),
            ("errors", "error"),
            ("skipped", "skipped"),
        ):
            with_tag = [case for case in cases if case.find(tag) is not None]
            count = str(len(with_tag))
            assert element.get(key, count) == count
        seconds = sum(float(case.get("time", 0)) for case in cases)
        rounding = 0.0006 * max(1, len(cases))
        assert float(element.get("time", 0)) == pytest.approx(seconds, abs=rounding)
    every_case = list(root.iter("testcase"))
    assert len(every_case) == len(all_statements(audit))


def test_each_verdict_has_its_place_in_junit():
    root = parsed(audited())
    statements = all_statements(audited())
    for case, statement in zip(root.iter("testcase"), statements, strict=True):
        failure = case.find("failure")
        skipped = case.find("skipped")
        if statement.check.found is None:
            error = case.find("error")
            assert error is not None
            assert error.get("message") == statement.check.error
        elif statement.verdict in (Verdict.FAIL, Verdict.UNDECIDED):
            assert failure is not None
            assert failure.get("type") == statement.word
        else:
            assert failure is None
            assert case.findtext("system-out", "").startswith(statement.claim)
        assert (skipped is not None) == (statement.verdict is None)
        if skipped is not None:
            assert skipped.get("message") == messages.NO_LIMIT_WAS_GIVEN
    kinds = [error.get("type") for error in root.iter("error")]
    assert kinds == ["the software failed", "the check could not be run"]


def test_a_failure_tells_the_claim_the_interval_the_limit_the_case_and_how_to_run_it_again():
    case = next(parsed(audited()).iter("testcase"))
    body = case.findtext("failure", "").splitlines()
    assert case.get("name") == "sex"
    assert case.get("classname") == "evenhand.measure sex; race"
    assert body[0] == "changing only sex changes the outcome of 14.9 % of inputs"
    assert body[1].startswith("estimate: 14.9 % (n = 804, enumerated")
    assert body[2:4] == ["engineering threshold: 5 %", "simplest case:"]
    assert re.fullmatch(r"sex +F +M +differs", body[5])
    assert re.fullmatch(r"income +(\d+) +\1", body[7])
    assert re.fullmatch(r"outcome +False +True +differs", body[8])
    assert body[9:] == [f"run it again: {FIELDS['command']}"]


def test_names_of_test_cases_are_unlike_each_other_and_hold_no_values():
    pairs = []
    for case in parsed(audited()).iter("testcase"):
        pairs.append((case.get("classname"), case.get("name")))
    assert len(set(pairs)) == len(pairs)
    assert ("evenhand.log", "sex") in pairs
    assert ("evenhand.log", "sex (2)") in pairs
    for class_name, _ in pairs:
        assert "." not in str(class_name).removeprefix("evenhand.")


def test_an_interrupted_check_is_an_error_even_if_what_it_found_passes():
    stopped = result(score(0.0, 0.05), stop=StopReason.INTERRUPTED)
    check = checked("measure", "measure", stopped)
    root = parsed(Audit((check,), **FIELDS))
    assert root.get("tests") == "2"
    assert root.get("errors") == "1"
    assert root.get("failures") == "0"


def test_long_names_are_cut_and_stay_apart():
    about = "x" * 10_000
    first = score(0.2, 0.3, about=f"{about}a")
    second = score(0.2, 0.3, about=f"{about}b")
    root = parsed(audit_of(first, second))
    names = [str(case.get("name")) for case in root.iter("testcase")]
    assert len(set(names)) == 2
    assert max(map(len, names)) <= NAME + 4
    assert len(to_junit(hostile())) < 200_000


def test_hostile_names_stay_text_in_junit():
    names = [str(suite.get("name")) for suite in parsed(hostile())]
    assert names[0] == HOSTILE[0]
    assert cut(HOSTILE[4], NAME) in names
    assert "\\x07" in cut(HOSTILE[4])
    assert "\\u202e" in to_junit(hostile())


@settings(max_examples=examples(40), deadline=None)
@given(TEXTS, TEXTS)
def test_any_text_survives_every_format(name, other):
    case = Case({name: other}, {name: f"{other}x"}, (name, other))
    estimate = Estimate(0.2, 0.1, 0.3, 9, 0.95, "exact", other)
    finding = Finding(name, (name,), estimate, 0.05, (case,), output=other)
    check = checked(name, "measure", result(finding))
    fields = {**FIELDS, "subject": name, "command": other}
    audit = Audit((check,), **fields)
    root = parsed(audit)
    assert [suite.get("name") for suite in root] == [cut(name, NAME)]
    sarif = json.loads(to_sarif(audit))
    assert SCHEMA.is_valid(sarif)
    (annotation,) = github.annotations(audit)
    assert len(annotation.splitlines()) == 1
    assert tags(to_markdown(audit)) <= OURS


# SARIF


def results_of(audit: Audit, **how: Any) -> Any:
    return run_of(audit, **how)["results"]


def run_of(audit: Audit, **how: Any) -> Any:
    log = json.loads(to_sarif(audit, **how))
    assert [error.message for error in SCHEMA.iter_errors(log)] == []
    return log["runs"][0]


@EACH
def test_sarif_is_valid_by_its_schema(made):
    audit = made()
    run = run_of(audit)
    assert len(run["results"]) == len(all_statements(audit))
    driver = run["tool"]["driver"]
    rules = [rule["id"] for rule in driver["rules"]]
    marks = set()
    for found in run["results"]:
        marks.add(found["partialFingerprints"]["primaryLocationLineHash"])
        assert found["ruleId"] == rules[found["ruleIndex"]]
    assert len(marks) == len(run["results"])
    assert "informationUri" not in driver


def test_the_schema_itself_refuses_what_is_no_sarif():
    log = json.loads(to_sarif(audited()))
    log["runs"][0]["results"][0]["level"] = "bad"
    assert not SCHEMA.is_valid(log)


def test_levels_and_kinds_follow_the_verdicts():
    kinds = {
        Verdict.FAIL: ("fail", "error"),
        Verdict.UNDECIDED: ("fail", "warning"),
        Verdict.PASS: ("pass", "none"),
        None: ("informational", "none"),
    }
    statements = all_statements(audited())
    assert {statement.verdict for statement in statements} == set(kinds)
    for statement, found in zip(statements, results_of(audited()), strict=True):
        assert (found["kind"], found["level"]) == kinds[statement.verdict]
        properties = found["properties"]
        assert properties["verdict"] == statement.word
        if statement.estimate is not None:
            assert properties["n"] == statement.estimate.n
            assert {"value", "low", "high", "level", "limit"} <= set(properties)


def test_only_what_does_not_pass_can_be_asked_for():
    levels = {found["level"] for found in results_of(audited(), every=False)}
    assert levels == {"error", "warning"}


def test_a_message_begins_with_the_claim_and_tells_how_sure_it_is():
    text = results_of(audited())[0]["message"]["text"]
    assert text.startswith(
        "changing only sex changes the outcome of 14.9 % of inputs. estimate: 14.9 % (n = 804"
    )
    assert "population: all inputs, uniformly" in text
    assert "engineering threshold: 5 %; verdict: fail. For example sex F → M" in text


def test_a_result_is_where_its_check_is_declared():
    lines = []
    for found in results_of(audited()):
        place = found["locations"][0]["physicalLocation"]
        assert place["artifactLocation"]["uri"] == "loans/evenhand.toml"
        lines.append(place["region"]["startLine"])
    assert lines[:2] == [10, 5]
    names = [statement.check.name for statement in all_statements(audited())]
    line_of = dict(zip(names, lines, strict=True))
    assert line_of["search sex"] == 15
    assert line_of["search sex (2)"] == 20


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", 1),
        ("this is no TOML", 1),
        ("checks = [{job = 'measure'}]", 1),
        ("a = '''\n[[checks]]\n'''\n[[checks]]\njob = 'measure'", 1),
        ("[tool.evenhand]\n[[tool.evenhand.checks]]\njob = 'measure'", 2),
        ("\r\n\r\n[[checks]]\r\njob = 'measure'\r\n", 3),
        ("[[checks]]\njob = 'search'\n[[checks]]\njob = 'measure'\nover = ['race']", 3),
        ("checks = 7", 1),
    ],
)
def test_a_line_that_is_not_known_is_the_first(text, line):
    audit = audit_of(score(0.2, 0.3), config={"file": "evenhand.toml", "text": text})
    assert Places.of(audit).line(all_statements(audit)[0]) == line


def test_paths_begin_where_ci_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for file, shown in (
        (tmp_path / "a" / "x.toml", "a/x.toml"),
        (tmp_path.parent / "x.toml", "x.toml"),
        ("", ""),
    ):
        audit = audit_of(config={"file": str(file), "text": ""})
        assert Places.of(audit).file == shown
    place = results_of(hostile())[0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "a%20b/%231%25%3F%3A%C3%A9.toml"
    (without_file,) = results_of(audit_of(score(0.2, 0.3)))
    assert "locations" not in without_file


def test_fingerprints_stay_when_values_change_and_differ_by_what_is_asked():
    def marks(*findings: Finding) -> list[str]:
        results = results_of(audit_of(*findings))
        return [found["partialFingerprints"]["evenhand/v1"] for found in results]

    before = marks(score(0.2, 0.3), score(0.0, 0.05, about="race"))
    after = marks(score(0.5, 0.6, 0.7, n=10), score(0.0, 0.01, about="race"))
    assert after == before
    (of_output,) = marks(score(0.2, 0.3, output="rate"))
    assert len({*before, of_output}) == 3
    (of_ratio,) = marks(score(0.2, 0.3, least=True, score="rate ratio"))
    assert of_ratio not in before


def test_how_the_run_went_is_apart_from_what_it_found():
    (whole,) = run_of(audit_of(score(0.2, 0.3)))["invocations"]
    assert whole["executionSuccessful"] is True
    assert whole["exitCode"] == 1
    assert whole["commandLine"] == FIELDS["command"]
    (broken,) = run_of(audited())["invocations"]
    assert broken["executionSuccessful"] is False
    assert broken["exitCode"] == audited().exit_code
    first, *_, last = broken["toolExecutionNotifications"]
    assert first["level"] == "error"
    assert first["message"]["text"] == "crashed: the software crashed on input 7"
    assert last["level"] == "note"
    assert last["message"]["text"] == "a note"


def test_a_baseline_is_shown_by_states_and_by_its_identity():
    by_sex = score(0.2, 0.3)
    old = audit_of(by_sex, score(0.2, 0.3, about="race"))
    new = audit_of(by_sex, score(0.4, 0.5, about="race"), score(0.2, 0.3, about="age"))
    run = run_of(new.against(old, name="old.json"))
    states = {}
    for found in run["results"]:
        about = found["properties"]["about"]
        states[about] = found["baselineState"]
    assert states == {"sex": "unchanged", "race": "updated", "age": "new"}
    assert run["baselineGuid"] == run_of(old)["automationDetails"]["guid"]
    assert "baselineGuid" not in run_of(old)


@pytest.mark.parametrize("state", STATES)
def test_every_state_of_a_baseline_has_a_name_in_sarif(state):
    comparison = BaselineComparison("a", state, Verdict.PASS, "12 %")
    (check,) = audit_of(score(0.2, 0.3)).checks
    held = replace(check, held=(comparison,))
    (found,) = results_of(Audit((held,), **FIELDS))
    assert found["baselineState"] in ("new", "updated", "unchanged")
    assert f"against the baseline: {state}; it was 12 %" in found["message"]["text"]


def test_braces_and_links_are_no_placeholders_in_sarif():
    finding = replace(score(0.2, 0.3), claim="{0} [x](y)")
    (found,) = results_of(audit_of(finding))
    assert found["message"]["text"].startswith("{{0}} \\[x\\](y). ")


@EACH
@pytest.mark.parametrize(
    "write", [to_junit, to_sarif, to_markdown], ids=lambda write: write.__name__
)
def test_the_same_audit_gives_the_same_bytes_also_from_its_file(made, write, tmp_path):
    audit = made()
    audit.to_json(tmp_path / "audit.json")
    document = write(audit)
    assert write(audit) == document
    read_back = Audit.from_json(tmp_path / "audit.json")
    assert write(read_back) == document


# GitHub Actions


def command(line: str) -> tuple[str, dict[str, str], str]:
    """Read a workflow command as the runner does."""
    found = re.fullmatch(r"::(\w+) (.*?)::(.*)", line)
    assert found, line
    kind, escaped_properties, message = found.groups()
    properties = {}
    for part in escaped_properties.split(","):
        key, value = part.split("=", 1)
        properties[key] = unescaped(value)
    return kind, properties, unescaped(message)


def unescaped(text: str) -> str:
    for code, letter in (
        ("%0D", "\r"),
        ("%0A", "\n"),
        ("%3A", ":"),
        ("%2C", ","),
        ("%25", "%"),
    ):
        text = text.replace(code, letter)
    return text


@EACH
def test_annotations_are_commands_of_one_line_and_few_of_a_kind(made):
    number_of: Counter[str] = Counter()
    for line in github.annotations(made()):
        kind, _, _ = command(line)
        number_of[kind] += 1
    assert set(number_of) <= {"error", "warning", "notice"}
    assert max(number_of.values(), default=0) <= MOST


def test_annotations_tell_what_does_not_pass_where_it_is_declared():
    found = [command(line) for line in github.annotations(audited())]
    kind, properties, message = found[0]
    assert kind == "error"
    assert properties == {
        "file": "loans/evenhand.toml",
        "line": "10",
        "title": "evenhand fail: measure sex; race",
    }
    lines = message.splitlines()
    assert lines[0] == "changing only sex changes the outcome of 14.9 % of inputs"
    assert lines[-1].startswith("for example sex F → M")
    kinds = [kind for kind, _, _ in found]
    assert kinds == sorted(kinds, key="error warning notice".index)
    titles = [properties["title"] for _, properties, _ in found]
    assert "evenhand not run: crashed" in titles
    assert titles[-1] == "evenhand pass"


def test_more_annotations_than_github_shows_end_with_how_many_there_are():
    many = audit_of(*scores_of_features(40, 0.2, 0.3))
    found = [command(line) for line in github.annotations(many)]
    assert [kind for kind, _, _ in found] == ["error"] * MOST
    _, _, last_message = found[-1]
    assert last_message == "31 more like these are in the report"


def test_hostile_names_give_no_commands_and_no_properties():
    for line in github.annotations(hostile()):
        _, properties, _ = command(line)
        assert set(properties) <= {"file", "line", "title"}
    name = "a,b::c%d\ne"
    check = CheckResult(name, "measure", {}, error="100 %\n::error::x")
    (line,) = github.annotations(Audit((check,), **FIELDS))
    assert (
        line
        == "::error title=evenhand not run%3A a%2Cb%3A%3Ac%25d\\ne::100 %25\\n::error::x"
    )


def test_a_run_in_actions_is_known_by_its_environment():
    assert in_actions({"GITHUB_ACTIONS": "true"})
    assert not in_actions({"GITHUB_ACTIONS": "false"})
    assert not in_actions({})


def test_the_summary_of_a_step_is_appended(tmp_path):
    file = tmp_path / "summary.md"
    file.write_text("before")
    assert write_summary(audited(), {"GITHUB_STEP_SUMMARY": str(file)}) == str(file)
    assert file.read_text(encoding="utf-8").startswith("before\n## evenhand: fail\n")
    assert write_summary(audited(), {}) is None


@pytest.mark.parametrize("before", [0, SUMMARY - 20_000, SUMMARY - 10])
def test_a_summary_keeps_to_the_size_that_github_takes(before, tmp_path):
    file = tmp_path / "summary.md"
    file.write_bytes(b"x" * before)
    long = "é" * 300
    findings = [score(0.2, 0.3, about=f"{number} {long}") for number in range(2_000)]
    written = write_summary(audit_of(*findings), {"GITHUB_STEP_SUMMARY": str(file)})
    is_written = written is not None
    has_room = before < SUMMARY - 10
    assert is_written == has_room
    size = file.stat().st_size
    assert size <= SUMMARY
    assert (size > before) == is_written


def test_a_summary_that_cannot_be_written_is_a_sentence(tmp_path):
    refused(
        UsageError,
        lambda: write_summary(audited(), {"GITHUB_STEP_SUMMARY": str(tmp_path)}),
        "GITHUB_STEP_SUMMARY",
    )


# Markdown

OURS = {
    "h2",
    "h3",
    "p",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "strong",
    "details",
    "summary",
    "pre",
    "code",
}
OURS |= {"ul", "li"}


class Reader(HTMLParser):
    """Collects the tags of a page, and its text."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    @property
    def text(self) -> str:
        """What is read, without the letters that keep links from being made."""
        return "".join(self.texts).replace(JOINER, "")

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)


def read(text: str) -> Reader:
    markdown = MarkdownIt("commonmark", {"html": True})
    markdown.enable(["table", "strikethrough"])
    reader = Reader()
    reader.feed(markdown.render(text))
    return reader


def tags(text: str) -> set[str]:
    return read(text).tags


@EACH
def test_markdown_has_only_our_own_tags(made):
    assert tags(to_markdown(made())) <= OURS


@pytest.mark.parametrize("name", [*HOSTILE, "\ud800 half"], ids=range(len(HOSTILE) + 1))
def test_hostile_names_stay_text_in_markdown(name):
    reader = read(f"| a |\n| - |\n| **{text_of(name)}** |")
    assert reader.tags == {"table", "thead", "tbody", "tr", "th", "td", "strong"}
    last_line = reader.text.strip().splitlines()[-1]
    assert last_line == cut(name, 400)


@settings(max_examples=examples(60), deadline=None)
@given(
    st.lists(
        TEXTS | st.text("|\\`*_[]()<>&#@!$~:/.- \t1aw", max_size=12), min_size=1, max_size=3
    )
)
def test_cells_of_a_table_stay_what_they_are(cells):
    headings = " | ".join("h" * len(cells))
    marks = " | ".join("-" * len(cells))
    line = " | ".join(text_of(cell) for cell in cells)
    reader = read(f"| {headings} |\n| {marks} |\n| {line} |")
    assert reader.tags == {"table", "thead", "tbody", "tr", "th", "td"}
    shown = [text for text in reader.text.split("\n") if text.strip()]
    expected = [cut(cell, 400) for cell in cells]
    assert shown[len(cells) :] == [text for text in expected if text]


@pytest.mark.parametrize(
    "text",
    ["@you", "#12", "!12", "https://x.y", "www.x.y", ":tada:", "GH-1", "me@x.y", "&3"],
)
def test_nothing_becomes_a_link_by_itself(text):
    shown = "".join(read(text_of(text)).texts)
    assert JOINER in shown
    assert shown.replace(JOINER, "").strip() == text


def test_a_summary_tells_the_verdict_how_sure_it_is_and_how_to_run_it_again():
    text = to_markdown(audited())
    assert text.startswith("## evenhand: fail\n\n")
    number_of: Counter[str] = Counter()
    for statement in all_statements(audited()):
        word = "not run" if statement.check.found is None else statement.word
        number_of[word] += 1
    words = ("fail", "not run", "undecided", "no limit", "pass")
    counts = [f"{number_of[word]} {word}" for word in words]
    assert f"statements of function loan: {', '.join(counts)}." in text
    level = f"hold together at a level of at least {100 * audited().level:.6g} %."
    assert level in text
    assert f"\n    {FIELDS['command']}\n" in text
    assert "- note: a note" in text
    assert "### What is not claimed" in text
    assert "A search finds witnesses and never a rate." in text
    assert "a pass is not proof" in text


def test_statements_stand_in_a_table_worst_first():
    lines = [
        line for line in to_markdown(audited()).splitlines() if line.startswith("| **")
    ]
    rows = [line for line in lines if line.count("|") == 7]
    assert len(rows) == len(all_statements(audited()))
    words = [row.split("**")[1] for row in rows]
    assert words == sorted(
        words, key=["fail", "not run", "undecided", "no limit", "pass"].index
    )
    assert rows[0].endswith("| 804 | 5 % |")
    assert any("at least 80 % |" in row for row in rows)


def test_the_two_people_of_a_case_stand_side_by_side_and_what_differs_is_marked():
    text = to_markdown(audited())
    assert "| **sex** | **F** | **M** | differs |\n| race | a | a |  |\n" in text
    assert "| **outcome** | **False** | **True** | differs |" in text


def test_long_lists_are_folded():
    passing = scores_of_features(FEW, 0.0, 0.01)
    few = audit_of(*passing)
    many = audit_of(score(0.2, 0.3), *passing)
    assert "<details>" not in to_markdown(few)
    assert f"<summary>{FEW} more statements that pass</summary>" in to_markdown(many)


@pytest.mark.parametrize("number", [1, 30, 1_000])
def test_a_summary_has_room_in_a_comment(number):
    long = "x" * 10_000
    findings = [score(0.2, 0.3, about=f"{place} {long}") for place in range(number)]
    audit = audit_of(*findings, subject=long, command=long)
    text = to_markdown(audit)
    assert len(text.encode()) <= ROOM
    rows = [line for line in text.splitlines() if line.startswith("| **fail**")]
    assert 1 <= len(rows) <= number
    left_out = number - len(rows)
    says_so = f"{left_out:,} more statements are in the report." in text
    assert says_so == (left_out > 0)
    assert tags(text) <= OURS


@pytest.mark.parametrize(
    ("findings", "words"),
    [
        ([], "Nothing was measured."),
        ([score(0.2, 0.3)], "hold together at a level of at least 95 %."),
        ([replace(score(0, 0), estimate=Estimate.exact(1, 4))], "No interval is needed"),
    ],
)
def test_how_sure_all_of_it_is_together_is_a_sentence(findings, words):
    assert words in to_markdown(audit_of(*findings))


def test_levels_that_say_nothing_together_are_not_shown_as_a_level():
    (check,) = audit_of(score(0.2, 0.3)).checks
    checks = [replace(check, name=str(number)) for number in range(30)]
    text = to_markdown(Audit(tuple(checks), **FIELDS))
    assert "nothing is known of all of them together" in text


def test_a_baseline_is_in_the_summary_and_in_each_row():
    old = audit_of(score(0.2, 0.2))
    new = audit_of(score(0.2, 0.204))
    text = to_markdown(new.against(old, name="old.json"))
    assert text.startswith("## evenhand: pass")
    assert f"Compared with a baseline: old.json, digest {old.digest}." in text
    assert "(baseline: not worse; change +0.20 points (0 to +0.40); tolerance" in text


def test_of_many_features_those_that_differ_are_shown_first():
    person = {f"feature {number}": number for number in range(100)}
    rows = rows_of(Case(person, {**person, "feature 99": -1}, ("no", "yes")))
    assert rows[0] == ("feature 99", "99", "-1", True)
    assert len(rows) == MOST_ROWS + 2
    assert rows[-2][0] == "… 70 more features"


def test_of_long_texts_the_part_that_differs_is_shown():
    words = "word " * 200
    individual = {"text": f"{words}gay {words}"}
    twin = {"text": f"{words}straight {words}"}
    row, _ = rows_of(Case(individual, twin, ("rude", "fine")))
    assert "gay" in row.individual
    assert "straight" in row.twin
    assert max(len(row.individual), len(row.twin)) <= 102
    assert row.differs


# The page


def test_the_examples_of_the_page_are_valid_yaml():
    yaml = pytest.importorskip("yaml")
    page = PAGE.read_text(encoding="utf-8")
    blocks = re.findall(r"^```yaml\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    documents = [yaml.safe_load(block) for block in blocks]
    assert len(documents) >= 3
    workflow = next(document for document in documents if "jobs" in document)
    steps = workflow["jobs"]["fairness"]["steps"]
    actions = [step.get("uses", "") for step in steps]
    assert any(action.startswith("github/codeql-action/upload-sarif") for action in actions)


def test_the_page_has_lines_of_a_width_and_parses_as_it_is_shown():
    text = PAGE.read_text(encoding="utf-8")
    assert max(map(len, text.splitlines())) <= 128
    assert "legal" not in text
