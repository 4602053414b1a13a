"""The table of contents of a bundle, for auditors: what was tested, on whom, and how sure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenhand.bundle import messages
from evenhand.methods.audit.formats.markdown_escape import code, table, text
from evenhand.methods.audit.statements import all_statements, overall_word
from evenhand.report.statement import NO_LIMIT, NOT_RUN
from evenhand.runtime import number_text
from evenhand.statistics.estimate import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from evenhand.methods.audit.audit_result import Audit
    from evenhand.report.statement import Statement


def contents_of(audit: Audit, about: Mapping[str, Any]) -> str:
    """Return the table of contents as Markdown; `about` is the record of the run."""
    parts = [
        [messages.TITLE.format(subject=text(audit.subject)), "", messages.INTRODUCTION],
        [messages.WHAT_WAS_TESTED, "", *_tested(audit, about)],
        [messages.ON_WHOM, "", *_populations(audit), *_data(about)],
        [messages.WHAT_WAS_FOUND, "", *_found(audit)],
        [messages.HOW_SURE, "", *_sure(audit)],
        [messages.NOT_TESTED, "", *_open(audit)],
        [messages.NOT_SHOWN, "", *messages.NOT_SHOWN_LINES],
        [messages.FILES, "", *_files()],
    ]
    return "\n\n".join("\n".join(lines) for lines in parts) + "\n"


def _tested(audit: Audit, about: Mapping[str, Any]) -> list[str]:
    lines = [messages.SUBJECT.format(subject=text(audit.subject))]
    for software in about["software"]:
        identity = code(software["identity"])
        lines.append(messages.IDENTITY.format(identity=identity))
    if audit.command:
        lines.append(messages.COMMAND.format(command=code(audit.command)))
    versions = [f"{name} {version}" for name, version in about["versions"].items()]
    platform = ", ".join(about["platform"].values())
    lines.append(messages.SEED.format(seed=audit.seed))
    lines.append(
        messages.VERSIONS.format(
            versions=text(", ".join(versions)), platform=text(platform)
        )
    )
    return lines


def _populations(audit: Audit) -> list[str]:
    names = _distinct(
        statement.estimate.population
        for statement in all_statements(audit)
        if statement.estimate is not None
    )
    if not names:
        return [messages.NO_POPULATION]
    return [messages.POPULATION.format(population=text(name)) for name in names]


def _data(about: Mapping[str, Any]) -> list[str]:
    """Return a line for each data file of rows."""
    held = messages.DATA_HELD if about["data"] else messages.DATA_NOT_HELD
    lines = []
    for file in about["files"]:
        if "rows" not in file:
            continue
        lines.append(
            messages.DATA_FILE.format(
                file=code(file["written"]),
                rows=number_text.count(file["rows"]),
                columns=number_text.count(len(file["columns"])),
                digest=file["sha256"],
                held=held,
            )
        )
    return lines


def _found(audit: Audit) -> list[str]:
    overall = messages.OVERALL.format(verdict=overall_word(audit), code=audit.exit_code)
    rows = [_row(statement) for statement in all_statements(audit)]
    return [overall, "", table(messages.HEADINGS, rows)]


def _row(statement: Statement) -> list[str]:
    return [statement.check.name, statement.word, str(statement), statement.threshold]


def _sure(audit: Audit) -> list[str]:
    if audit.level == 1:
        sure = messages.NOTHING_DRAWN
    elif audit.level == 0:
        sure = messages.NO_LEVEL
    else:
        level = number_text.percent_figures(audit.level, 4)
        sure = messages.ALL_TOGETHER.format(level=level)
    lines = [sure]
    if audit.spent.queries:
        queries = number_text.count(audit.spent.queries)
        lines.append(messages.INPUTS.format(queries=queries))
    return [*lines, messages.LIMITS]


def _open(audit: Audit) -> list[str]:
    """Return what was not tested, or not decided."""
    lines = []
    missed = _not_covered(audit)
    if missed:
        lines.append(messages.NOT_COVERED.format(features=text(", ".join(missed))))
    for statement in all_statements(audit):
        name = text(statement.check.name)
        if statement.word == NOT_RUN:
            reason = text(statement.claim)
            lines.append(messages.NOT_RUN.format(check=name, reason=reason))
        elif statement.verdict is Verdict.UNDECIDED:
            lines.append(messages.UNDECIDED.format(check=name))
        elif statement.word == NO_LIMIT:
            lines.append(messages.NO_LIMIT.format(check=name))
    lines.extend(text_of_note(note) for note in audit.notes)
    found = _distinct(lines) or [messages.NOTHING_OPEN]
    return [*found, messages.ONLY_DECLARED]


def text_of_note(note: str) -> str:
    """Return a note of an audit as a line of a list."""
    return messages.POPULATION.format(population=text(note))


def _not_covered(audit: Audit) -> list[str]:
    """Return the protected features that no finding is about."""
    protected = audit.space.get("protected", ())
    covered: set[str] = set()
    for finding in audit.findings:
        if isinstance(finding.about, tuple):
            covered |= set(finding.about)
    return [str(name) for name in protected if name not in covered]


def _files() -> list[str]:
    lines = []
    for name, what in messages.FILE_LINES.items():
        lines.append(messages.FILE_LINE.format(name=name, what=what))
    return lines


def _distinct(texts: Iterable[str]) -> list[str]:
    """Return texts that are not empty, each once, in their order."""
    return list(dict.fromkeys(found for found in texts if found))
