"""An audit in GitHub Actions: annotations on the configuration file, and a summary of the step."""

# No postponed annotations: a function of this module is called `annotations`.
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from evenhand.methods.audit import messages
from evenhand.methods.audit.formats.ci import NAME, Places, cut, sentences
from evenhand.methods.audit.formats.markdown import to_markdown
from evenhand.methods.audit.statements import all_statements
from evenhand.report.lines import printable
from evenhand.runtime.errors import UsageError
from evenhand.statistics.estimate import Verdict

if TYPE_CHECKING:
    from evenhand.methods.audit.audit_result import Audit
    from evenhand.report.statement import Statement

MOST = 10
"""The most annotations of a kind that GitHub shows of a step."""
SUMMARY = 1024 * 1024
"""The most bytes of a summary; one that is longer is not shown at all."""
_IN_MESSAGES = "%\r\n"
_IN_PROPERTIES = "%\r\n:,"
"""What a workflow command must have escaped."""


def in_actions(environ: Mapping[str, str]) -> bool:
    """Return whether this runs in GitHub Actions.

    >>> in_actions({"GITHUB_ACTIONS": "true"}), in_actions({})
    (True, False)
    """
    return environ.get("GITHUB_ACTIONS") == "true"


def annotations(audit: "Audit") -> list[str]:
    """Return workflow commands, worst first: errors, warnings for what is undecided, and notices.

    A check that could not be run is an error. All that passes is one notice, since GitHub shows
    few of each kind.

    >>> from evenhand.methods.audit.audit_result import Audit
    >>> from evenhand.methods.audit.check_result import CheckResult
    >>> from evenhand.runtime.budget import Spent
    >>> check = CheckResult("search sex", "search", {}, error="100 % down")
    >>> annotations(Audit((check,), 0, Spent(0, 0, 0.0)))
    ['::error title=evenhand not run%3A search sex::100 %25 down']
    """
    places = Places.of(audit)
    by_kind: dict[str, list[Statement]] = {"error": [], "warning": [], "notice": []}
    passed = 0
    every_statement = all_statements(audit)
    for statement in every_statement:
        kind = _kind_of(statement)
        if kind is None:
            passed += 1
        else:
            by_kind[kind].append(statement)
    lines = []
    for kind, statements in by_kind.items():
        # What passes takes the place of one notice.
        room = MOST - 1 if kind == "notice" and passed else MOST
        lines += _annotations_of_kind(kind, statements, places, room)
    if passed:
        message = messages.PASSING_STATEMENTS.format(
            passed=f"{passed:,}", all=f"{len(every_statement):,}"
        )
        lines.append(_command("notice", {"title": "evenhand pass"}, message))
    return lines


def _kind_of(statement: "Statement") -> str | None:
    """Return the kind of annotation that a statement gets, None where it passes."""
    if statement.check.found is None or statement.verdict is Verdict.FAIL:
        return "error"
    if statement.verdict is Verdict.UNDECIDED:
        return "warning"
    return "notice" if statement.verdict is None else None


def write_summary(audit: "Audit", environ: Mapping[str, str]) -> str | None:
    """Append the audit to the summary of the step, and return its file.

    Where there is no summary, or no room is left in it, None is returned.
    """
    name = environ.get("GITHUB_STEP_SUMMARY")
    if not name:
        return None
    file = Path(name)
    try:
        taken = file.stat().st_size if file.exists() else 0
        left = SUMMARY - taken - 2
        text = to_markdown(audit, room=left)
        if len(text.encode()) > left:
            return None
        with file.open("a", encoding="utf-8", newline="\n") as summary:
            summary.write(f"\n{text}\n")
    except OSError as error:
        reason = error.strerror
        raise UsageError(
            messages.SUMMARY_NOT_WRITTEN.format(file=name, reason=reason)
        ) from None
    return name


def _annotations_of_kind(
    kind: str, statements: "Sequence[Statement]", places: Places, room: int
) -> list[str]:
    shown = statements
    if len(statements) > room:
        # The last one says how many there is no room for.
        shown = statements[: room - 1]
    lines = [_annotation(kind, statement, places) for statement in shown]
    left_out = len(statements) - len(shown)
    if left_out:
        message = messages.MORE_LIKE_THESE.format(count=f"{left_out:,}")
        lines.append(_command(kind, {"title": "evenhand"}, message))
    return lines


def _annotation(kind: str, statement: "Statement", places: Places) -> str:
    properties = {}
    if places.file:
        properties["file"] = printable(places.file)
        properties["line"] = str(places.line(statement))
    check = cut(statement.check.name, NAME)
    properties["title"] = f"evenhand {statement.word}: {check}"
    lines = sentences(statement)
    if statement.case is not None:
        lines.append(messages.FOR_EXAMPLE.format(case=cut(statement.case)))
    return _command(kind, properties, "\n".join(lines))


def _command(kind: str, properties: Mapping[str, str], message: str) -> str:
    """Return a workflow command, as GitHub reads it from standard output."""
    parts = []
    for key, value in properties.items():
        escaped = _escaped(value, _IN_PROPERTIES)
        parts.append(f"{key}={escaped}")
    return f"::{kind} {','.join(parts)}::{_escaped(message, _IN_MESSAGES)}"


def _escaped(text: str, letters: str) -> str:
    # The per cent sign comes first: the others become codes that begin with one.
    for letter in letters:
        text = text.replace(letter, f"%{ord(letter):02X}")
    return text
