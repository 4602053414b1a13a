"""An audit as text: what each check says, one verdict, the exit code, and the files that were
written.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from evenhand.methods.audit.formats.ci import NOT_RUN, word_of
from evenhand.methods.audit.statements import all_statements, statements
from evenhand.report.definitions import TOGETHER
from evenhand.report.lines import LEAD, Line, Screen
from evenhand.report.statement import NO_LIMIT
from evenhand.runtime import number_text
from evenhand.statistics.estimate import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

    from evenhand.methods.audit.audit_result import Audit
    from evenhand.methods.audit.check_result import CheckResult
    from evenhand.report.statement import Statement

MOST = 3
"""The most statements of a check that are told; the report has all."""
MEANING = {
    0: "pass",
    1: "discrimination found",
    2: "a check could not be run",
    3: "undecided",
    4: "the software failed",
    130: "interrupted",
}
"""What the exit codes mean."""
_ORDER = (*map(str, (Verdict.FAIL, Verdict.UNDECIDED)), NOT_RUN, str(Verdict.PASS), NO_LIMIT)


def render_audit(
    audit: Audit, files: Sequence[str] = (), *, console: Console | None = None
) -> None:
    """Print an audit on standard output, or on the console given, with the files that it was
    written to.
    """
    Screen(console).print(list(_told(audit, files)))


def lines(audit: Audit, *, cases: int = 1, width: int | None = None) -> Iterator[Line]:
    """Tell an audit as lines."""
    return _told(audit, ())


def audit_lines(audit: Audit, files: Sequence[str] = ()) -> list[str]:
    """Return an audit as lines of plain text."""
    return [str(line) for line in _told(audit, files)]


def _told(audit: Audit, files: Sequence[str]) -> Iterator[Line]:
    for check in audit.checks:
        yield Line(check.name)
        yield from _check(check)
    for note in audit.notes:
        yield Line(f"note: {note}")
    yield Line(counted(audit), audit.verdict)
    if audit.baseline:
        yield Line(f"held against {audit.held_against}", indent=LEAD)
    yield Line(f"exit code {audit.exit_code}: {meaning(audit)}")
    if files:
        yield Line(f"wrote {', '.join(files)}")


def meaning(audit: Audit) -> str:
    """Return what the exit code means; where no limit was given, that nothing fails is no pass.

    >>> from evenhand.methods.audit.audit_result import Audit
    >>> from evenhand.runtime.budget import Spent
    >>> meaning(Audit((), 0, Spent(0, 0, 0.0)))
    'no limit was given'
    """
    return MEANING[audit.exit_code] if audit.exit_code or audit.verdict else "no limit was given"


def counted(audit: Audit) -> str:
    """Return how many statements have which verdict, and how sure all of them are together.

    >>> from evenhand.methods.audit.audit_result import Audit
    >>> from evenhand.runtime.budget import Spent
    >>> counted(Audit((), 0, Spent(0, 0, 0.0)))
    '0 checks'
    """
    every = all_statements(audit)
    words = Counter(map(word_of, every))
    told = [f"{words[word]:,} {word}" for word in _ORDER if words[word]]
    checks = f"{len(audit.checks):,} check{'s' * (len(audit.checks) != 1)}"
    if not told:
        return checks
    said = f"{checks}: {', '.join(told)}"
    if all(one.estimate is None for one in every):
        return said
    if audit.level <= 0:
        return f"{said}. Each check holds at its own level; of all together nothing can be said."
    level = (
        "certainty"
        if audit.level == 1
        else f"at least {number_text.percent_figures(audit.level, 4)} confidence"
    )
    return f"{said}. {TOGETHER.format(level=level)}"


def _check(check: CheckResult) -> Iterator[Line]:
    told = statements(check)
    for one in told[:MOST]:
        yield from _statement(one)
    if len(told) > MOST:
        rest = Counter(one.word for one in told[MOST:])
        yield Line(
            f"… {', '.join(f'{number:,} more {word}' for word, number in rest.items())}",
            indent=LEAD,
        )


def _statement(one: Statement) -> Iterator[Line]:
    told = f"{NOT_RUN}: {one.claim}" if one.check.found is None else one.claim
    yield Line(told, one.verdict, LEAD)
    if one.estimate is not None:
        limit = f"; limit {one.threshold}" if one.threshold else ""
        yield Line(f"{one.estimate}{limit}", indent=LEAD)
    if one.held is not None:
        yield Line(f"against the baseline: {one.held.state}", indent=LEAD)
    if one.case is not None and one.verdict is not Verdict.PASS:
        yield Line(f"for example {one.case}", indent=LEAD)
