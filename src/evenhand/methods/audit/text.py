"""An audit as text: what each check says, one verdict, the exit code, and the files written."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from evenhand.methods.audit import messages
from evenhand.methods.audit.statements import all_statements, overall_word, statements
from evenhand.report.definitions import TOGETHER
from evenhand.report.lines import LEAD, Line, Screen
from evenhand.report.statement import NO_LIMIT, NOT_RUN
from evenhand.report.terminal import remark_lines
from evenhand.runtime import number_text
from evenhand.statistics.estimate import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

    from evenhand.methods.audit.audit_result import Audit
    from evenhand.methods.audit.check_result import CheckResult
    from evenhand.report.statement import Statement

MOST = 3
"""The most statements of a check that are shown; the report has all."""
MEANING = {
    0: "pass",
    1: messages.FOUND,
    2: messages.NOT_RUN_AT_ALL,
    3: "undecided",
    4: messages.SOFTWARE_FAILED,
    70: messages.MISTAKE_OF_OURS,
    129: "interrupted",
    130: "interrupted",
    143: "interrupted",
}
"""What the exit codes mean."""
_ORDER = (str(Verdict.FAIL), str(Verdict.UNDECIDED), NOT_RUN, str(Verdict.PASS), NO_LIMIT)


def render_audit(
    audit: Audit,
    files: Sequence[str] = (),
    *,
    code: int | None = None,
    console: Console | None = None,
) -> None:
    """Print an audit on standard output, or on the console given, with the files written.

    `code` is the exit code of the process where that is not the audit's own.
    """
    screen = Screen(console)
    screen.print(list(_lines(audit, files, code)))


def lines(audit: Audit, *, cases: int = 1, width: int | None = None) -> Iterator[Line]:
    """Yield an audit as lines."""
    return _lines(audit, ())


def audit_lines(audit: Audit, files: Sequence[str] = ()) -> list[str]:
    """Return an audit as lines of plain text."""
    return [str(line) for line in _lines(audit, files)]


def _lines(audit: Audit, files: Sequence[str], code: int | None = None) -> Iterator[Line]:
    for check in audit.checks:
        yield Line(check.name)
        yield from _check(check)
    for note in audit.notes:
        yield Line(f"note: {note}")
    yield Line(counted(audit), audit.verdict, word=overall_word(audit))
    if audit.baseline:
        baseline = messages.HELD_AGAINST_LINE.format(baseline=audit.held_against)
        yield Line(baseline, indent=LEAD)
    if code is None:
        code = audit.exit_code
    yield Line(messages.EXIT_CODE.format(code=code, meaning=meaning(audit, code)))
    if files:
        yield Line(f"wrote {', '.join(files)}")


def meaning(audit: Audit, code: int) -> str:
    """Return what an exit code means; where no limit was given, that nothing fails is no pass.

    >>> from evenhand.methods.audit.audit_result import Audit
    >>> from evenhand.runtime.budget import Spent
    >>> meaning(Audit((), 0, Spent(0, 0, 0.0)), 0)
    'no limit was given'
    """
    if not code and audit.verdict is None:
        return messages.NO_LIMIT_WAS_GIVEN
    if code and not audit.exit_code:
        return messages.FILE_NOT_WRITTEN
    return MEANING[code]


def counted(audit: Audit) -> str:
    """Return how many statements have which verdict, and how sure all of them are together.

    >>> from evenhand.methods.audit.audit_result import Audit
    >>> from evenhand.runtime.budget import Spent
    >>> counted(Audit((), 0, Spent(0, 0, 0.0)))
    '0 checks'
    """
    statements_of_all = all_statements(audit)
    number_of = Counter(statement.word for statement in statements_of_all)
    counts = [f"{number_of[word]:,} {word}" for word in _ORDER if number_of[word]]
    number = len(audit.checks)
    checks = "1 check" if number == 1 else f"{number:,} checks"
    if not counts:
        return checks
    verdicts = ", ".join(counts)
    if all(statement.estimate is None for statement in statements_of_all):
        return messages.ALL_COUNTED.format(checks=checks, verdicts=verdicts)
    if audit.level <= 0:
        return messages.COUNTED_EACH_LEVEL.format(checks=checks, verdicts=verdicts)
    together = TOGETHER.format(level=_level_text(audit.level))
    return messages.COUNTED_TOGETHER.format(
        checks=checks, verdicts=verdicts, together=together
    )


def _level_text(level: float) -> str:
    if level == 1:
        return "certainty"
    percent = number_text.percent_figures(level, 4)
    return messages.AT_LEAST_CONFIDENCE.format(level=percent)


def _check(check: CheckResult) -> Iterator[Line]:
    statements_of_check = statements(check)
    for statement in statements_of_check[:MOST]:
        yield from _statement(statement)
    left_out = Counter(statement.word for statement in statements_of_check[MOST:])
    if left_out:
        counts = [f"{number:,} more {word}" for word, number in left_out.items()]
        yield Line(f"… {', '.join(counts)}", indent=LEAD)


def _statement(statement: Statement) -> Iterator[Line]:
    yield Line(statement.claim, statement.verdict, LEAD, word=statement.word)
    if statement.estimate is not None:
        limit = f"; limit {statement.threshold}" if statement.threshold else ""
        yield Line(f"{statement.estimate}{limit}", indent=LEAD)
    yield from remark_lines(statement)
    if statement.held is not None:
        state = messages.AGAINST_BASELINE.format(state=statement.held.text)
        yield Line(state, indent=LEAD)
    if statement.case is not None and statement.verdict is not Verdict.PASS:
        example = messages.FOR_EXAMPLE.format(case=statement.case)
        yield Line(example, indent=LEAD)
