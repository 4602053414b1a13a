"""An audit as text: a table of verdicts, the worst in words, the exit code, the files written."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from evenhand.methods.audit import messages
from evenhand.methods.audit.statements import all_statements, overall_word, statements
from evenhand.methods.audit.terminal.fit import lines_in_sight
from evenhand.methods.audit.terminal.rows import rows_of
from evenhand.methods.audit.terminal.table import counts_text
from evenhand.report.definitions import TOGETHER
from evenhand.report.lines import LEAD, Line, Screen, cut_to, fitted
from evenhand.report.statement import NOT_RUN
from evenhand.report.terminal import remark_lines
from evenhand.runtime import number_text
from evenhand.statistics.estimate import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

    from evenhand.methods.audit.audit_result import Audit
    from evenhand.methods.audit.check_result import CheckResult
    from evenhand.methods.audit.terminal.fit import Style
    from evenhand.methods.audit.terminal.rows import VerdictRow
    from evenhand.report.statement import Statement

MOST = 3
"""The most statements of a check that are shown in full."""
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
WIDTH = 100
"""The columns that an audit takes where there is no terminal."""
_LOST = 12
"""About the columns that a line loses where it ends between words."""
COMMAND = "evenhand "
"""How a command begins; what was run in Python has none."""


def render_audit(
    audit: Audit,
    files: Sequence[str] = (),
    *,
    code: int | None = None,
    full: bool = False,
    console: Console | None = None,
) -> None:
    """Print an audit on standard output, or on the console given, with the files written.

    Without a terminal it is printed in a fixed width. `code` is the exit code of the process where
    that is not the audit's own; `full` prints what each check says, one after another.
    """
    screen = Screen(console)
    if full:
        screen.print(list(_in_full(audit, files, code)))
        return
    width = screen.width or WIDTH
    screen.print(_on_a_screen(audit, files, code, width, screen.height))


def lines(audit: Audit, *, cases: int = 1, width: int | None = None) -> Iterator[Line]:
    """Yield an audit as lines."""
    yield from _on_a_screen(audit, (), None, width or WIDTH, None)


def audit_lines(
    audit: Audit,
    files: Sequence[str] = (),
    *,
    width: int | None = None,
    full: bool = False,
) -> list[str]:
    """Return an audit as lines of plain text."""
    if full:
        return [str(line) for line in _in_full(audit, files, None)]
    on_a_screen = _on_a_screen(audit, files, None, width or WIDTH, None)
    return [str(line) for line in on_a_screen]


def _on_a_screen(
    audit: Audit,
    files: Sequence[str],
    code: int | None,
    width: int,
    height: int | None,
) -> list[Line]:
    """Return the verdicts as a table, the worst in words, the exit code, and where the rest is."""
    rows = rows_of(audit)
    verdict_line = _verdict_line(audit, rows)

    def closing(style: Style) -> list[Line]:
        lines = [Line("")]
        for line in (verdict_line, *_closing(audit, files, code, width, style)):
            lines += fitted(line, width)
        return lines

    return lines_in_sight(rows, closing, width, height)


def _verdict_line(audit: Audit, rows: Sequence[VerdictRow]) -> Line:
    word = overall_word(audit) if audit.verdict is not None else ""
    return Line(counted(audit, rows), audit.verdict, word=word)


def _closing(
    audit: Audit,
    files: Sequence[str],
    code: int | None,
    width: int,
    style: Style,
) -> Iterator[Line]:
    """Yield notes, the exit code, and where the rest is."""
    if audit.baseline:
        baseline = messages.HELD_AGAINST_LINE.format(baseline=audit.held_against)
        yield Line(baseline, indent=LEAD, row=True)
    yield from _notes([*_warnings(audit), *audit.notes], width, style)
    yield _exit_code(audit, code)
    if files:
        yield Line(messages.WROTE.format(files=", ".join(files)), row=True)
    yield from _rest(audit, files)


def _warnings(audit: Audit) -> list[str]:
    """Return what must be told beside a verdict, whether it is in sight or not, each once."""
    found: dict[str, None] = {}  # a set that keeps the order
    for finding in audit.findings:
        # The score over all inputs, and that of chance, are numbers of their own.
        found |= dict.fromkeys(replace(finding, uniform=None, noise=None).remarks)
    return list(found)


def _notes(notes: Sequence[str], width: int, style: Style) -> Iterator[Line]:
    """Yield the first notes, each in as few lines as the style has, and how many more there are."""
    room = style.note_lines * width
    for note in notes[: style.notes]:
        text = messages.NOTE.format(note=note)
        # Words that do not fit a line leave some room at its end.
        yield Line(cut_to(text, room - (style.note_lines - 1) * _LOST))
    left_out = len(notes) - style.notes
    if left_out > 0:
        noun = "more note" if style.notes else "note"
        count = number_text.many(left_out, noun)
        yield Line(messages.MORE_NOTES.format(count=count))


def _exit_code(audit: Audit, code: int | None) -> Line:
    if code is None:
        code = audit.exit_code
    return Line(messages.EXIT_CODE.format(code=code, meaning=meaning(audit, code)))


def _rest(audit: Audit, files: Sequence[str]) -> Iterator[Line]:
    """Yield where all else is that the audit says: in its report, or how to get one."""
    pages = [file for file in files if file.lower().endswith((".html", ".htm"))]
    if not all_statements(audit):
        return
    if pages:
        yield Line(messages.REST_IN_FILE.format(file=pages[0]), row=True)
    elif audit.command.startswith(COMMAND):
        command = audit.command
        yield Line(messages.REST_IN_REPORT.format(command=command), row=True)
        yield Line(messages.REST_IN_FULL.format(command=command), row=True)
    else:
        yield Line(messages.REST_IN_PYTHON)


def _in_full(audit: Audit, files: Sequence[str], code: int | None) -> Iterator[Line]:
    """Yield what each check says, one after another."""
    for check in audit.checks:
        yield Line(check.name)
        yield from _check(check)
    for note in audit.notes:
        yield Line(messages.NOTE.format(note=note))
    yield _verdict_line(audit, rows_of(audit))
    if audit.baseline:
        baseline = messages.HELD_AGAINST_LINE.format(baseline=audit.held_against)
        yield Line(baseline, indent=LEAD)
    yield _exit_code(audit, code)
    if files:
        yield Line(messages.WROTE.format(files=", ".join(files)))


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


def counted(audit: Audit, rows: Sequence[VerdictRow] | None = None) -> str:
    """Return how many questions have which verdict, and how sure all of them are together.

    Each question counts once, however many checks ask it; `rows` are those of the audit.

    >>> from evenhand.methods.audit.audit_result import Audit
    >>> from evenhand.runtime.budget import Spent
    >>> counted(Audit((), 0, Spent(0, 0, 0.0)))
    '0 checks'
    """
    if rows is None:
        rows = rows_of(audit)
    checks = number_text.many(len(audit.checks), "check")
    asked = sum(row.word != NOT_RUN for row in rows)
    if asked:
        questions = number_text.many(asked, "question")
        checks = messages.COUNTED_QUESTIONS.format(checks=checks, questions=questions)
    return _counted(audit, checks, counts_text(rows))


def _counted(audit: Audit, checks: str, verdicts: str) -> str:
    if not verdicts:
        return checks
    if all(statement.estimate is None for statement in all_statements(audit)):
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
    word = statement.word if statement.verdict is not None else ""
    yield Line(statement.claim, statement.verdict, LEAD, word=word)
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
