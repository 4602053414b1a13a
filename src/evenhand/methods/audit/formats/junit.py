"""An audit as JUnit XML, which Jenkins, GitLab and most other CI systems read."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING

from evenhand.methods.audit.audit_result import as_audit
from evenhand.methods.audit.formats.ci import NAME, Places, apart, cut, rows_of, sentences
from evenhand.methods.audit.statements import statements
from evenhand.report.lines import printable, table_of
from evenhand.runtime.errors import SubjectError
from evenhand.statistics.estimate import StopReason, Verdict

if TYPE_CHECKING:
    from evenhand.methods.audit.audit_result import Audit
    from evenhand.methods.audit.check_result import CheckResult
    from evenhand.report.statement import Statement
    from evenhand.results.protocol import Evidence

NOT_ASKED = "no limit was given"
"""Why a statement without a verdict is skipped."""


def to_junit(found: Evidence) -> str:
    """Return an audit as JUnit XML: a test suite for each check, and a test case for each
    statement.

    What is undecided is a failure of the type "undecided", since undecided is not a pass. A check
    that could not be run, or was interrupted, is an error; a statement without a limit is skipped.
    Names are the same in every run of the same checks and hold no values, so that a CI system can
    tell what is new.

    >>> from evenhand.methods.audit.audit_result import Audit
    >>> from evenhand.methods.audit.check_result import CheckResult
    >>> from evenhand.runtime.budget import Spent
    >>> print(to_junit(Audit((CheckResult("search sex", "search", {}, error="it crashed"),), 0, Spent(0, 0, 0.0))))
    <?xml version='1.0' encoding='utf-8'?>
    <testsuites name="evenhand" tests="1" failures="0" errors="1" time="0.000">
      <testsuite name="search sex" tests="1" failures="0" errors="1" skipped="0" time="0.000">
        <testcase name="search" classname="evenhand.search sex" time="0.000">
          <error type="the software failed" message="it crashed">it crashed</error>
        </testcase>
      </testsuite>
    </testsuites>
    """
    audit = as_audit(found)
    root = ET.Element("testsuites", name="evenhand")
    names: set[str] = set()
    suites = [_suite(audit, check, apart(cut(check.name, NAME), names)) for check in audit.checks]
    for key in (
        "tests",
        "failures",
        "errors",
    ):  # the schema of Jenkins has no sum of what was skipped
        root.set(key, str(sum(int(suite.get(key, 0)) for suite in suites)))
    root.set("time", _time(sum(_seconds(check) for check in audit.checks)))
    root.extend(suites)
    ET.indent(root)
    # As text, the declaration would name the encoding of the machine.
    made: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return made.decode() + "\n"


def _suite(audit: Audit, check: CheckResult, name: str) -> ET.Element:
    told = statements(check)
    seconds = _seconds(check) / max(1, len(told))
    names: set[str] = set()
    cases = [_case(audit, one, apart(cut(one.about, NAME), names)) for one in told]
    if check.interrupted and check.found is not None:  # otherwise its only case says so
        case = ET.Element("testcase", name=apart("interrupted", names))
        ET.SubElement(case, "error", type="interrupted", message=str(StopReason.INTERRUPTED))
        cases.append(case)
    for case in cases:
        # Jenkins takes a dot for the end of a package.
        case.set("classname", f"evenhand.{name.replace('.', '_')}")
        case.set("time", _time(seconds))
    suite = ET.Element("testsuite", name=name, tests=str(len(cases)))
    for key, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(key, str(sum(case.find(tag) is not None for case in cases)))
    suite.set("time", _time(_seconds(check)))
    if file := Places.of(audit).file:
        suite.set("file", printable(file))
    suite.extend(cases)
    return suite


def _case(audit: Audit, one: Statement, name: str) -> ET.Element:
    case = ET.Element("testcase", name=name)
    if one.check.found is None:
        kind = (
            "the software failed"
            if one.check.code == SubjectError.exit_code
            else "the check could not be run"
        )
        error = ET.SubElement(case, "error", type=kind, message=cut(one.claim))
        error.text = "\n".join([cut(one.claim), *_again(audit)])
        return case
    body = "\n".join(sentences(one))
    if one.verdict in (Verdict.FAIL, Verdict.UNDECIDED):
        failure = ET.SubElement(case, "failure", type=one.word, message="; ".join(sentences(one)))
        failure.text = "\n".join([body, *_simplest(one), *_again(audit)])
        return case
    if one.verdict is None:
        ET.SubElement(case, "skipped", message=NOT_ASKED)
    ET.SubElement(case, "system-out").text = body
    return case


def _simplest(one: Statement) -> list[str]:
    """Return the simplest case as a table, with the two inputs side by side."""
    if one.case is None:
        return []
    rows = [
        (name, first, second, "differs" if apart else "")
        for name, first, second, apart in rows_of(one.case)
    ]
    return ["simplest case:", *table_of(("", "individual", "twin", ""), rows, None)]


def _again(audit: Audit) -> list[str]:
    return [f"run it again: {printable(audit.command)}"] if audit.command else []


def _seconds(check: CheckResult) -> float:
    return 0.0 if check.found is None else round(float(check.found.spent.seconds), 3)


def _time(seconds: float) -> str:
    return f"{seconds:.3f}"
