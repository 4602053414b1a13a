"""An audit in GitHub Actions: annotations on the configuration file, and a summary of the step."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from evenhand.methods.audit.formats.ci import NAME, Places, cut, sentences, word_of
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


def in_actions(environ: Mapping[str, str]) -> bool:
    """Tell whether this runs in GitHub Actions.

    >>> in_actions({"GITHUB_ACTIONS": "true"}), in_actions({})
    (True, False)
    """
    return environ.get("GITHUB_ACTIONS") == "true"


def annotations(audit: "Audit") -> list[str]:
    """Return workflow commands, worst first: errors, warnings for what is undecided, and notices.

    A check that could not be run is an error. What passes is told in one notice, since GitHub shows
    few of each kind.

    >>> from evenhand.methods.audit.audit_result import Audit
    >>> from evenhand.methods.audit.check_result import CheckResult
    >>> from evenhand.runtime.budget import Spent
    >>> annotations(Audit((CheckResult("search sex", "search", {}, error="100 % down"),), 0, Spent(0, 0, 0.0)))
    ['::error title=evenhand not run%3A search sex::100 %25 down']
    """
    places, told = Places.of(audit), all_statements(audit)
    kinds = {
        "error": [one for one in told if one.check.found is None or one.verdict is Verdict.FAIL],
        "warning": [
            one for one in told if one.check.found is not None and one.verdict is Verdict.UNDECIDED
        ],
        "notice": [one for one in told if one.verdict is None],
    }
    passed = sum(one.verdict is Verdict.PASS for one in told)
    room = {"error": MOST, "warning": MOST, "notice": MOST - bool(passed)}
    found = [line for kind, some in kinds.items() for line in _kind(kind, some, places, room[kind])]
    if passed:
        found.append(
            _command(
                "notice", {"title": "evenhand pass"}, f"{passed:,} of {len(told):,} statements pass"
            )
        )
    return found


def write_summary(audit: "Audit", environ: Mapping[str, str]) -> str | None:
    """Append the audit to the summary of the step and return its file; None where there is none or
    no room is left.
    """
    name = environ.get("GITHUB_STEP_SUMMARY")
    if not name:
        return None
    file = Path(name)
    try:
        left = SUMMARY - (file.stat().st_size if file.exists() else 0) - 2
        text = to_markdown(audit, room=left)
        if len(text.encode()) > left:
            return None
        with file.open("a", encoding="utf-8", newline="\n") as summary:
            summary.write(f"\n{text}\n")
    except OSError as error:
        raise UsageError(
            f"GITHUB_STEP_SUMMARY: cannot write the summary to {name}: {error.strerror}"
        ) from None
    return name


def _kind(kind: str, told: "list[Statement]", places: Places, room: int) -> list[str]:
    shown = told if len(told) <= room else told[: room - 1]
    found = [_annotation(kind, one, places) for one in shown]
    if left := len(told) - len(shown):
        found.append(
            _command(kind, {"title": "evenhand"}, f"{left:,} more like these are in the report")
        )
    return found


def _annotation(kind: str, one: "Statement", places: Places) -> str:
    where = {"file": printable(places.file), "line": str(places.line(one))} if places.file else {}
    lines = sentences(one)
    if one.case is not None:
        lines.append(f"for example {cut(one.case)}")
    return _command(
        kind,
        {**where, "title": f"evenhand {word_of(one)}: {cut(one.check.name, NAME)}"},
        "\n".join(lines),
    )


def _command(kind: str, properties: Mapping[str, str], message: str) -> str:
    said = ",".join(
        f"{key}={_escaped(value, of_property=True)}" for key, value in properties.items()
    )
    return f"::{kind} {said}::{_escaped(message)}"


def _escaped(text: str, *, of_property: bool = False) -> str:
    for letter in "%\r\n:," if of_property else "%\r\n":
        text = text.replace(letter, f"%{ord(letter):02X}")
    return text
