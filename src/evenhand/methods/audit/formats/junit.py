"""An audit as JUnit XML, which Jenkins, GitLab and most other CI systems read."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING

from evenhand.methods.audit import messages
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

_COUNTS = (("failures", "failure"), ("errors", "error"), ("skipped", "skipped"))
"""The sums of a test suite, and the elements of its cases that they count."""


def to_junit(found: Evidence) -> str:
    """Return an audit as JUnit XML: a test suite for each check, a test case for each statement.

    What is undecided is a failure of the type "undecided", since undecided is not a pass. A check
    that could not be run, or was interrupted, is an error; a statement without a limit is skipped.
    Names are the same in every run of the same checks and hold no values, so that a CI system
    knows what is new.

    >>> from evenhand.methods.audit.audit_result import Audit
    >>> from evenhand.methods.audit.check_result import CheckResult
    >>> from evenhand.runtime.budget import Spent
    >>> check = CheckResult("search sex", "search", {}, error="it crashed")
    >>> print(to_junit(Audit((check,), 0, Spent(0, 0, 0.0))))
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
    suites = []
    for check in audit.checks:
        name = apart(cut(check.name, NAME), names)
        suites.append(_suite(audit, check, name))
    # Jenkins' schema has no sum of what was skipped.
    for key in ("tests", "failures", "errors"):
        total = sum(int(suite.get(key, 0)) for suite in suites)
        root.set(key, str(total))
    seconds = sum(_seconds(check) for check in audit.checks)
    root.set("time", _time(seconds))
    root.extend(suites)
    ET.indent(root)
    # As text, the declaration would name the encoding of the machine.
    document: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return document.decode() + "\n"


def _suite(audit: Audit, check: CheckResult, name: str) -> ET.Element:
    cases = _cases(audit, check)
    # JUnit wants a time for each case, and only that of the whole check is known.
    number = len(statements(check))
    seconds_of_case = _seconds(check) / max(1, number)
    for case in cases:
        # Jenkins takes a dot for the end of a package.
        case.set("classname", f"evenhand.{name.replace('.', '_')}")
        case.set("time", _time(seconds_of_case))
    suite = ET.Element("testsuite", name=name, tests=str(len(cases)))
    for key, tag in _COUNTS:
        with_tag = [case for case in cases if case.find(tag) is not None]
        suite.set(key, str(len(with_tag)))
    suite.set("time", _time(_seconds(check)))
    file = Places.of(audit).file
    if file:
        suite.set("file", printable(file))
    suite.extend(cases)
    return suite


def _cases(audit: Audit, check: CheckResult) -> list[ET.Element]:
    """Return the test cases of a check, each under a name of its own."""
    names: set[str] = set()
    cases = []
    for statement in statements(check):
        name = apart(cut(statement.about, NAME), names)
        cases.append(_case(audit, statement, name))
    # Where an interrupted check found nothing, its only case says so already.
    if check.interrupted and check.found is not None:
        case = ET.Element("testcase", name=apart("interrupted", names))
        reason = str(StopReason.INTERRUPTED)
        ET.SubElement(case, "error", type="interrupted", message=reason)
        cases.append(case)
    return cases


def _case(audit: Audit, statement: Statement, name: str) -> ET.Element:
    case = ET.Element("testcase", name=name)
    if statement.check.found is None:
        claim = cut(statement.claim)
        reason = _reason(statement.check)
        error = ET.SubElement(case, "error", type=reason, message=claim)
        error.text = "\n".join([claim, *_again(audit)])
        return case
    lines = sentences(statement)
    if statement.verdict in (Verdict.FAIL, Verdict.UNDECIDED):
        summary = "; ".join(lines)
        failure = ET.SubElement(case, "failure", type=statement.word, message=summary)
        lines += _simplest(statement)
        lines += _again(audit)
        failure.text = "\n".join(lines)
        return case
    if statement.verdict is None:
        ET.SubElement(case, "skipped", message=messages.NO_LIMIT_WAS_GIVEN)
    ET.SubElement(case, "system-out").text = "\n".join(lines)
    return case


def _reason(check: CheckResult) -> str:
    """Return why a check found nothing, in a few words that are the type of an error."""
    if check.code == SubjectError.exit_code:
        return messages.SOFTWARE_FAILED
    return messages.CHECK_NOT_RUN


def _simplest(statement: Statement) -> list[str]:
    """Return the simplest case as a table, with the two inputs side by side."""
    if statement.case is None:
        return []
    rows = []
    for row in rows_of(statement.case):
        difference = "differs" if row.differs else ""
        rows.append((row.name, row.individual, row.twin, difference))
    return ["simplest case:", *table_of(("", "individual", "twin", ""), rows, None)]


def _again(audit: Audit) -> list[str]:
    if not audit.command:
        return []
    return [messages.RUN_AGAIN.format(command=printable(audit.command))]


def _seconds(check: CheckResult) -> float:
    if check.found is None:
        return 0.0
    seconds = float(check.found.spent.seconds)
    return round(seconds, 3)


def _time(seconds: float) -> str:
    return f"{seconds:.3f}"
