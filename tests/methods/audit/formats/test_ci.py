"""An audit for CI systems: what is written is read again by other programs, and nothing from data
is obeyed there.
"""

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
    [eh.category("sex", ["F", "M"]), eh.category("race", ["a", "b"]), eh.integer("income", 0, 200)],
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
    log = pd.DataFrame({"sex": rng.choice(["F", "M"], 300), "age": rng.integers(20, 70, 300)})
    log["ok"] = (rng.random(300) + 0.3 * (log["sex"] == "M") > 0.6).astype(int)
    truth, group = rng.integers(0, 2, 200), rng.choice(["f", "m"], 200)
    guesses = {
        name: np.where(rng.random(200) < part, truth, 1 - truth)
        for name, part in (("original", 0.8), ("x", 0.7))
    }
    subject = eh.Subject(loan, SPACE, positive=True)
    both, few = [["sex"], ["race"]], eh.Budget(queries=300)
    checks = (
        checked(
            "measure sex; race",
            "measure",
            eh.measure(subject, over=[("sex",), ("race",)], limit=0.05),
            over=both,
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
            "search sex (2)", "search", eh.search(subject, over="sex", budget=few), over=[["sex"]]
        ),
        checked(
            "log",
            "measure_log",
            eh.measure_log(log, outcome="ok", over="sex", limit=0.1, least_ratio=0.8),
        ),
        checked("mine", "mine_log", eh.mine_log(log, outcome="ok", over=["sex", "age"], limit=0.1)),
        checked("compare", "compare", eh.compare(guesses, truth, group, resamples=100)),
        CheckResult("crashed", "measure", {}, error="the software crashed on input 7"),
        CheckResult("wrong", "search", {}, error="there is no feature 'sexx'", code=2),
    )
    file = {"file": "loans/evenhand.toml", "text": CONFIG}
    return Audit(checks, subject="function loan", config=file, notes=("a note",), **FIELDS)


@cache
def hostile() -> Audit:
    """What has features, labels, outcomes and names that are meant to break something."""
    names = HOSTILE
    space = eh.Space(
        [eh.category(name, [f"{name} 1", f"{name} 2"]) for name in names[:4]], protected=names[:4]
    )
    found = eh.measure(
        lambda people: people.iloc[:, 0].map(lambda level: f"{level} <b>"), space, limit=0.05
    )
    checks = [checked(names[0], "measure", found)]
    for number, name in enumerate(HOSTILE):
        verdict = [0.05, 0.5, None][number % 3]
        case = Case(
            {name: name, "same": name}, {name: name + "!", "same": name}, (name, name + "?")
        )
        one = Finding(
            name,
            (name,),
            Estimate(0.2, 0.1, 0.3, 90, 0.95, name, name),
            verdict,
            (case,),
            output=name,
        )
        checks.append(checked(name, "measure" if number else name, result(one)))
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
    low: float, high: float, limit: float | None = 0.1, about: str = "sex", n: int = 90, **more: Any
) -> Finding:
    case = Case({about: "F"}, {about: "M"}, ("no", "yes"))
    estimate = Estimate((low + high) / 2, low, high, n, 0.95, "exact")
    return Finding(f"{about} matters", (about,), estimate, limit, (case,), **more)


def audit_of(*findings: Finding, **fields: Any) -> Audit:
    return Audit((checked("measure", "measure", result(*findings)),), **{**FIELDS, **fields})


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
        assert {child.tag for child in element} <= INSIDE.get(element.tag, set())
        if element.tag == "testsuite":
            assert {"name", "tests", "failures", "errors"} <= set(element.keys())
            assert re.fullmatch(r"\d+\.\d{3}", element.get("time", ""))


@EACH
def test_the_totals_of_junit_are_right(made):
    audit = made()
    root = parsed(audit)
    assert [suite.get("tests") for suite in root] == [str(len(suite)) for suite in root]
    for element in root.iter():
        if element.tag in ("testsuite", "testsuites"):
            cases = list(element.iter("testcase"))
            assert element.get("tests") == str(len(cases))
            for key, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
                found = sum(case.find(tag) is not None for case in cases)
                assert element.get(key, str(found)) == str(found)
            seconds = sum(float(case.get("time", 0)) for case in cases)
            assert float(element.get("time", 0)) == pytest.approx(
                seconds, abs=0.0006 * max(1, len(cases))
            )
    assert len(list(root.iter("testcase"))) == len(all_statements(audit))


def test_each_verdict_has_its_place_in_junit():
    root, statements = parsed(audited()), all_statements(audited())
    for case, one in zip(root.iter("testcase"), statements, strict=True):
        failure, skipped = case.find("failure"), case.find("skipped")
        if one.check.found is None:
            error = case.find("error")
            assert error is not None
            assert error.get("message") == one.check.error
        elif one.verdict in (Verdict.FAIL, Verdict.UNDECIDED):
            assert failure is not None
            assert failure.get("type") == one.word
        else:
            assert failure is None
            assert case.findtext("system-out", "").startswith(one.claim)
        assert (skipped is not None) == (one.verdict is None)
        if skipped is not None:
            assert skipped.get("message") == messages.NO_LIMIT_WAS_GIVEN
    kinds = [error.get("type") for error in root.iter("error")]
    assert kinds == ["the software failed", "the check could not be run"]


def test_a_failure_tells_the_claim_the_interval_the_limit_the_case_and_how_to_run_it_again():
    case = next(parsed(audited()).iter("testcase"))
    body = case.findtext("failure", "").splitlines()
    assert (case.get("name"), case.get("classname")) == ("sex", "evenhand.measure sex; race")
    assert body[0] == "changing only sex changes the outcome of 14.9 % of inputs"
    assert body[1].startswith("estimate: 14.9 % (n = 804, enumerated")
    assert body[2:4] == ["engineering threshold: 0.05", "simplest case:"]
    assert re.fullmatch(r"sex +F +M +differs", body[5])
    assert re.fullmatch(r"income +(\d+) +\1", body[7])
    assert re.fullmatch(r"outcome +False +True +differs", body[8])
    assert body[9:] == [f"run it again: {FIELDS['command']}"]


def test_names_of_test_cases_are_unlike_each_other_and_hold_no_values():
    pairs = [
        (case.get("classname"), case.get("name")) for case in parsed(audited()).iter("testcase")
    ]
    assert len(set(pairs)) == len(pairs)
    assert ("evenhand.log", "sex") in pairs
    assert ("evenhand.log", "sex (2)") in pairs
    assert not any("." in str(kind).removeprefix("evenhand.") for kind, _ in pairs)


def test_an_interrupted_check_is_an_error_even_if_what_it_found_passes():
    stopped = result(score(0.0, 0.05), stop=StopReason.INTERRUPTED)
    root = parsed(Audit((checked("measure", "measure", stopped),), **FIELDS))
    assert (root.get("tests"), root.get("errors"), root.get("failures")) == ("2", "1", "0")


def test_long_names_are_cut_and_stay_apart():
    about = "x" * 10_000
    cases = list(
        parsed(
            audit_of(score(0.2, 0.3, about=about + "a"), score(0.2, 0.3, about=about + "b"))
        ).iter("testcase")
    )
    names = [str(case.get("name")) for case in cases]
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
    case = Case({name: other}, {name: other + "x"}, (name, other))
    one = Finding(
        name, (name,), Estimate(0.2, 0.1, 0.3, 9, 0.95, "exact", other), 0.05, (case,), output=other
    )
    audit = Audit(
        (checked(name, "measure", result(one)),), **{**FIELDS, "subject": name, "command": other}
    )
    root = parsed(audit)
    assert [suite.get("name") for suite in root] == [cut(name, NAME)]
    sarif = json.loads(to_sarif(audit))
    assert SCHEMA.is_valid(sarif)
    assert [len(line.splitlines()) for line in github.annotations(audit)] == [1]
    assert tags(to_markdown(audit)) <= OURS


# SARIF


def run_of(audit: Audit, **how: Any) -> Any:
    log = json.loads(to_sarif(audit, **how))
    assert [error.message for error in SCHEMA.iter_errors(log)] == []
    return log["runs"][0]


@EACH
def test_sarif_is_valid_by_its_schema(made):
    audit = made()
    run = run_of(audit)
    assert len(run["results"]) == len(all_statements(audit))
    marks = [one["partialFingerprints"]["primaryLocationLineHash"] for one in run["results"]]
    assert len(set(marks)) == len(marks)
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert all(one["ruleId"] == rules[one["ruleIndex"]] for one in run["results"])
    assert "informationUri" not in run["tool"]["driver"]


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
    assert {one.verdict for one in statements} == set(kinds)
    for one, found in zip(statements, run_of(audited())["results"], strict=True):
        assert (found["kind"], found["level"]) == kinds[one.verdict]
        assert found["properties"]["verdict"] == one.word
        if one.estimate is not None:
            assert found["properties"]["n"] == one.estimate.n
            assert {"value", "low", "high", "level", "limit"} <= set(found["properties"])


def test_only_what_does_not_pass_can_be_asked_for():
    levels = {found["level"] for found in run_of(audited(), every=False)["results"]}
    assert levels == {"error", "warning"}


def test_a_message_begins_with_the_claim_and_tells_how_sure_it_is():
    text = run_of(audited())["results"][0]["message"]["text"]
    assert text.startswith(
        "changing only sex changes the outcome of 14.9 % of inputs. estimate: 14.9 % (n = 804"
    )
    assert "population: all inputs, uniformly" in text
    assert "engineering threshold: 0.05; verdict: fail. For example sex F → M" in text


def test_a_result_is_where_its_check_is_declared():
    places = [found["locations"][0]["physicalLocation"] for found in run_of(audited())["results"]]
    assert {place["artifactLocation"]["uri"] for place in places} == {"loans/evenhand.toml"}
    lines = [place["region"]["startLine"] for place in places]
    assert lines[:2] == [10, 5]
    names = [one.check.name for one in all_statements(audited())]
    where = {name: line for name, line in zip(names, lines, strict=True) if "search" in name}
    assert where == {"search sex": 15, "search sex (2)": 20}


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
        assert Places.of(audit_of(config={"file": str(file), "text": ""})).file == shown
    uri = run_of(hostile())["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"][
        "uri"
    ]
    assert uri == "a%20b/%231%25%3F%3A%C3%A9.toml"
    assert "locations" not in run_of(audit_of(score(0.2, 0.3)))["results"][0]


def test_fingerprints_stay_when_values_change_and_differ_by_what_is_asked():
    def marks(audit: Audit) -> list[str]:
        return [found["partialFingerprints"]["evenhand/v1"] for found in run_of(audit)["results"]]

    before = marks(audit_of(score(0.2, 0.3), score(0.0, 0.05, about="race")))
    assert before == marks(audit_of(score(0.5, 0.6, 0.7, n=10), score(0.0, 0.01, about="race")))
    assert len({*before, *marks(audit_of(score(0.2, 0.3, output="rate")))}) == 3
    assert not {*before} & {*marks(audit_of(score(0.2, 0.3, least=True, score="rate ratio")))}


def test_how_the_run_went_is_apart_from_what_it_found():
    (whole,) = run_of(audit_of(score(0.2, 0.3)))["invocations"]
    assert (whole["executionSuccessful"], whole["exitCode"], whole["commandLine"]) == (
        True,
        1,
        FIELDS["command"],
    )
    (broken,) = run_of(audited())["invocations"]
    assert (broken["executionSuccessful"], broken["exitCode"]) == (False, audited().exit_code)
    notifications = [
        (note["level"], note["message"]["text"]) for note in broken["toolExecutionNotifications"]
    ]
    assert notifications[0] == ("error", "crashed: the software crashed on input 7")
    assert notifications[-1] == ("note", "a note")


def test_a_baseline_is_shown_by_states_and_by_its_identity():
    old = audit_of(score(0.2, 0.3), score(0.2, 0.3, about="race"))
    new = audit_of(score(0.2, 0.3), score(0.4, 0.5, about="race"), score(0.2, 0.3, about="age"))
    run = run_of(new.against(old, name="old.json"))
    states = {found["properties"]["about"]: found["baselineState"] for found in run["results"]}
    assert states == {"sex": "unchanged", "race": "updated", "age": "new"}
    assert run["baselineGuid"] == run_of(old)["automationDetails"]["guid"]
    assert "baselineGuid" not in run_of(old)


@pytest.mark.parametrize("state", STATES)
def test_every_state_of_a_baseline_has_a_name_in_sarif(state):
    check = replace(
        audit_of(score(0.2, 0.3)).checks[0],
        held=(BaselineComparison("a", state, Verdict.PASS, "12 %"),),
    )
    (found,) = run_of(Audit((check,), **FIELDS))["results"]
    assert found["baselineState"] in ("new", "updated", "unchanged")
    assert f"against the baseline: {state}; it was 12 %" in found["message"]["text"]


def test_braces_and_links_are_no_placeholders_in_sarif():
    one = replace(score(0.2, 0.3), claim="{0} [x](y)")
    assert run_of(audit_of(one))["results"][0]["message"]["text"].startswith("{{0}} \\[x\\](y). ")


@EACH
@pytest.mark.parametrize(
    "write", [to_junit, to_sarif, to_markdown], ids=lambda write: write.__name__
)
def test_the_same_audit_gives_the_same_bytes_also_from_its_file(made, write, tmp_path):
    audit = made()
    audit.to_json(tmp_path / "audit.json")
    assert write(Audit.from_json(tmp_path / "audit.json")) == write(audit) == write(audit)


# GitHub Actions


def command(line: str) -> tuple[str, dict[str, str], str]:
    """Read a workflow command as the runner does."""
    found = re.fullmatch(r"::(\w+) (.*?)::(.*)", line)
    assert found, line

    def plain(text: str) -> str:
        for code, letter in (
            ("%0D", "\r"),
            ("%0A", "\n"),
            ("%3A", ":"),
            ("%2C", ","),
            ("%25", "%"),
        ):
            text = text.replace(code, letter)
        return text

    properties = dict(part.split("=", 1) for part in found[2].split(","))
    return found[1], {key: plain(value) for key, value in properties.items()}, plain(found[3])


@EACH
def test_annotations_are_commands_of_one_line_and_few_of_a_kind(made):
    kinds = Counter(command(line)[0] for line in github.annotations(made()))
    assert set(kinds) <= {"error", "warning", "notice"}
    assert all(number <= MOST for number in kinds.values())


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
    assert [kind for kind, _, _ in found] == sorted(
        (kind for kind, _, _ in found), key="error warning notice".index
    )
    titles = [properties["title"] for _, properties, _ in found]
    assert "evenhand not run: crashed" in titles
    assert titles[-1] == "evenhand pass"


def test_more_annotations_than_github_shows_end_with_how_many_there_are():
    many = audit_of(*(score(0.2, 0.3, about=f"feature {number}") for number in range(40)))
    found = [command(line) for line in github.annotations(many)]
    assert [kind for kind, _, _ in found] == ["error"] * MOST
    assert found[-1][2] == "31 more like these are in the report"


def test_hostile_names_give_no_commands_and_no_properties():
    for line in github.annotations(hostile()):
        _, properties, _ = command(line)
        assert set(properties) <= {"file", "line", "title"}
    name = "a,b::c%d\ne"
    (line,) = github.annotations(
        Audit((CheckResult(name, "measure", {}, error="100 %\n::error::x"),), **FIELDS)
    )
    assert line == "::error title=evenhand not run%3A a%2Cb%3A%3Ac%25d\\ne::100 %25\\n::error::x"


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
    many = audit_of(*(score(0.2, 0.3, about=f"{number} {'é' * 300}") for number in range(2_000)))
    written = write_summary(many, {"GITHUB_STEP_SUMMARY": str(file)})
    assert (written is None) == (before == SUMMARY - 10)
    assert file.stat().st_size <= SUMMARY
    assert (file.stat().st_size == before) == (written is None)


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

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)


def read(text: str) -> Reader:
    reader = Reader()
    reader.feed(
        MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).render(text)
    )
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
    assert "".join(reader.texts).replace(JOINER, "").strip().splitlines()[-1] == cut(name, 400)


@settings(max_examples=examples(60), deadline=None)
@given(
    st.lists(TEXTS | st.text("|\\`*_[]()<>&#@!$~:/.- \t1aw", max_size=12), min_size=1, max_size=3)
)
def test_cells_of_a_table_stay_what_they_are(cells):
    line = " | ".join(text_of(cell) for cell in cells)
    reader = read(
        f"| {' | '.join('h' * len(cells))} |\n| {' | '.join('-' * len(cells))} |\n| {line} |"
    )
    assert reader.tags == {"table", "thead", "tbody", "tr", "th", "td"}
    shown = [text.replace(JOINER, "") for text in "".join(reader.texts).split("\n") if text.strip()]
    assert shown[len(cells) :] == [cut(cell, 400) for cell in cells if cut(cell, 400)]


@pytest.mark.parametrize(
    "text", ["@you", "#12", "!12", "https://x.y", "www.x.y", ":tada:", "GH-1", "me@x.y", "&3"]
)
def test_nothing_becomes_a_link_by_itself(text):
    shown = "".join(read(text_of(text)).texts)
    assert JOINER in shown
    assert shown.replace(JOINER, "").strip() == text


def test_a_summary_tells_the_verdict_how_sure_it_is_and_how_to_run_it_again():
    text = to_markdown(audited())
    assert text.startswith("## evenhand: fail\n\n")
    words = Counter(
        "not run" if one.check.found is None else one.word for one in all_statements(audited())
    )
    counts = ", ".join(
        f"{words[word]} {word}" for word in ("fail", "not run", "undecided", "no limit", "pass")
    )
    assert f"statements of function loan: {counts}." in text
    assert f"at a level of at least {100 * audited().level:.6g} %." in text
    assert f"\n    {FIELDS['command']}\n" in text
    assert "- note: a note" in text
    assert "### What is not claimed" in text
    assert "A search finds witnesses and never a rate." in text
    assert "a pass is not proof" in text


def test_statements_stand_in_a_table_worst_first():
    lines = [line for line in to_markdown(audited()).splitlines() if line.startswith("| **")]
    rows = [line for line in lines if line.count("|") == 7]
    assert len(rows) == len(all_statements(audited()))
    words = [row.split("**")[1] for row in rows]
    assert words == sorted(words, key=["fail", "not run", "undecided", "no limit", "pass"].index)
    assert rows[0].endswith("| 804 | 0.05 |")
    assert any("at least 0.8 |" in row for row in rows)


def test_the_two_people_of_a_case_stand_side_by_side_and_what_differs_is_marked():
    text = to_markdown(audited())
    assert "| **sex** | **F** | **M** | differs |\n| race | a | a |  |\n" in text
    assert "| **outcome** | **False** | **True** | differs |" in text


def test_long_lists_are_folded():
    few = audit_of(*(score(0.0, 0.01, about=f"feature {number}") for number in range(FEW)))
    many = audit_of(
        score(0.2, 0.3), *(score(0.0, 0.01, about=f"feature {number}") for number in range(FEW))
    )
    assert "<details>" not in to_markdown(few)
    assert f"<summary>{FEW} more statements that pass</summary>" in to_markdown(many)


@pytest.mark.parametrize("number", [1, 30, 1_000])
def test_a_summary_has_room_in_a_comment(number):
    long = "x" * 10_000
    audit = audit_of(
        *(score(0.2, 0.3, about=f"{number} {long}") for number in range(number)),
        subject=long,
        command=long,
    )
    text = to_markdown(audit)
    assert len(text.encode()) <= ROOM
    rows = [line for line in text.splitlines() if line.startswith("| **fail**")]
    assert 1 <= len(rows) <= number
    assert (f"{number - len(rows):,} more statements are in the report." in text) == (
        len(rows) < number
    )
    assert tags(text) <= OURS


@pytest.mark.parametrize(
    ("findings", "words"),
    [
        ([], "Nothing was measured."),
        ([score(0.2, 0.3)], "at a level of at least 95 %."),
        ([replace(score(0, 0), estimate=Estimate.exact(1, 4))], "No interval is needed"),
    ],
)
def test_how_sure_all_of_it_is_together_is_a_sentence(findings, words):
    assert words in to_markdown(audit_of(*findings))


def test_levels_that_say_nothing_together_are_not_shown_as_a_level():
    checks = tuple(
        replace(audit_of(score(0.2, 0.3)).checks[0], name=str(number)) for number in range(30)
    )
    assert "nothing is known of all of them together" in to_markdown(Audit(checks, **FIELDS))


def test_a_baseline_is_in_the_summary_and_in_each_row():
    old, new = audit_of(score(0.2, 0.3)), audit_of(score(0.2, 0.3))
    text = to_markdown(new.against(old, name="old.json"))
    assert text.startswith("## evenhand: pass")
    assert f"Held against a baseline: old.json, digest {old.digest}." in text
    assert "(baseline: not surely worse)" in text


def test_of_many_features_those_that_differ_are_shown_first():
    person = {f"feature {number}": number for number in range(100)}
    rows = rows_of(Case(person, {**person, "feature 99": -1}, ("no", "yes")))
    assert rows[0] == ("feature 99", "99", "-1", True)
    assert len(rows) == MOST_ROWS + 2
    assert rows[-2][0] == "… 70 more features"


def test_of_long_texts_the_part_that_differs_is_shown():
    words = "word " * 200
    case = Case(
        {"text": f"{words}gay {words}"}, {"text": f"{words}straight {words}"}, ("rude", "fine")
    )
    (_, one, other, apart), _ = rows_of(case)
    assert "gay" in one
    assert "straight" in other
    assert max(len(one), len(other)) <= 102
    assert apart


# The page


def test_the_examples_of_the_page_are_valid_yaml():
    yaml = pytest.importorskip("yaml")
    blocks = re.findall(
        r"^```yaml\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    found = [yaml.safe_load(block) for block in blocks]
    assert len(found) >= 3
    steps = next(one["jobs"]["fairness"]["steps"] for one in found if "jobs" in one)
    assert any(
        step.get("uses", "").startswith("github/codeql-action/upload-sarif") for step in steps
    )


def test_the_page_has_lines_of_a_width_and_parses_as_it_is_shown():
    text = PAGE.read_text(encoding="utf-8")
    assert max(map(len, text.splitlines())) <= 128
    assert "legal" not in text
