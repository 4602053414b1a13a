"""Every table of an audit: verdicts, what each verb tells of its findings, groups, cases, details.

A cell is a number, a text, a truth value or None. What a verb leaves in its details becomes tables
too, whatever verb it is: each list of records is one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from evenhand.methods.audit.exports import messages
from evenhand.methods.audit.exports.details import RecordTable, records_in
from evenhand.methods.audit.statements import all_statements, frame
from evenhand.report.finding_text import subject_of
from evenhand.runtime.errors import printable
from evenhand.statistics.estimate import Estimate
from evenhand.verbs import verb_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from evenhand.methods.audit.audit_result import Audit
    from evenhand.methods.audit.check_result import CheckResult
    from evenhand.results.evidence import Case, Finding

    Value: TypeAlias = float | str | bool | None

_SHARES = ("value", "low", "high", "limit", "change_value", "change_low", "change_high")
"""The columns of findings that are shares where the unit of a row is a rate."""


@dataclass(frozen=True)
class AuditTable:
    """A table of an audit.

    Parameters
    ----------
    name
        A short name, which no other table of the audit has.
    title
        What it holds, as a sentence without its period.
    check
        The check that it belongs to, empty where it is about all of them.
    columns, rows
        The headings, and the cells of each row.
    shares
        The columns that hold shares, in rows whose unit is a rate where there is a column "unit".
    """

    name: str
    title: str
    check: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[Value, ...]]
    shares: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        # Names of features and checks are the words of others, as the cells are.
        for field in ("name", "title", "check"):
            object.__setattr__(self, field, printable(getattr(self, field)))
        object.__setattr__(self, "columns", tuple(map(printable, self.columns)))

    def is_share(self, row: Sequence[Value], place: int) -> bool:
        """Return whether a cell holds a share, which people read in per cent."""
        if self.columns[place] not in self.shares:
            return False
        if "unit" not in self.columns:
            return True
        return row[self.columns.index("unit")] == Estimate.unit


def tables_of(audit: Audit) -> list[AuditTable]:
    """Return every table of an audit that has rows, that of its verdicts first."""
    tables = [_verdicts(audit), _run(audit)]
    for number, check in enumerate(audit.checks, start=1):
        tables += _of_check(check, f"{number} {check.job}")
    return [table for table in tables if table.rows]


def _verdicts(audit: Audit) -> AuditTable:
    shown = frame(audit)
    units = []
    for statement in all_statements(audit):
        units.append("" if statement.estimate is None else statement.estimate.unit)
    if len(shown.columns):
        shown.insert(shown.columns.get_loc("value"), "unit", units)
    return _of_frame("verdicts", messages.TABLE_OF_VERDICTS, "", shown, _SHARES)


def _run(audit: Audit) -> AuditTable:
    facts = {
        "software": audit.subject,
        "verdict": audit.verdict,
        "exit code": audit.exit_code,
        "level": audit.level,
        "seed": audit.seed,
        "inputs asked": audit.spent.queries,
        "command": audit.command,
        "configuration": audit.config.get("file", ""),
        "baseline": audit.held_against,
        "digest": audit.digest,
    }
    for package, version in sorted(audit.versions.items()):
        facts[f"version of {package}"] = version
    for number, note in enumerate(audit.notes, start=1):
        facts[f"note {number}"] = note
    rows = [(name, cell(value)) for name, value in facts.items()]
    return AuditTable("run", messages.TABLE_OF_RUN, "", ("what", "value"), rows)


def _of_check(check: CheckResult, name: str) -> Iterator[AuditTable]:
    """Yield the tables of a check, all named after it."""
    if check.found is None:
        return
    title = messages.TABLE_OF_CHECK.format(check=check.name)
    of_verb = verb_of(check.found.job).frame(check.found)
    yield _of_frame(name, title, check.name, of_verb, _shares_in(check))
    yield _groups(check, f"{name} groups")
    yield _cases(check, f"{name} cases")
    for records in records_in(_details_of(check)):
        yield _details(check, name, records)


def _shares_in(check: CheckResult) -> Sequence[str]:
    """Return the columns of the frame of a verb that hold shares, where all findings are rates."""
    assert check.found is not None
    units = {finding.unit for finding in check.found.findings}
    return _SHARES if units == {Estimate.unit} else ()


def _details_of(check: CheckResult) -> Mapping[str, Any]:
    """Return what only the verb of a check knows, as JSON holds it."""
    assert check.found is not None
    body = check.found.body()
    details = dict(body.get("details", {}))
    for key, value in body.items():
        if key not in ("findings", "space", "details"):
            details[key] = value
    return details


def _groups(check: CheckResult, name: str) -> AuditTable:
    """Return the groups of all findings of a check, a row for each group of each finding."""
    features: dict[str, None] = {}
    for finding in check.findings:
        for group in finding.groups:
            features |= dict.fromkeys(map(str, group.about))
    numbers = ("value", "low", "high", "n", "level", "method")
    columns = ("about", "score", "output", *features, "unit", *numbers)
    rows = []
    for finding in check.findings:
        for group in finding.groups:
            estimate = group.estimate.to_dict()
            about = {str(feature): value for feature, value in group.about.items()}
            cells: list[Any] = [subject_of(finding), finding.score, finding.output]
            cells += [about.get(feature) for feature in features]
            cells.append(group.estimate.unit)
            cells += [estimate.get(number) for number in numbers]
            rows.append(tuple(map(cell, cells)))
    title = messages.TABLE_OF_GROUPS.format(check=check.name)
    return AuditTable(name, title, check.name, columns, rows, frozenset(_SHARES))


def _cases(check: CheckResult, name: str) -> AuditTable:
    """Return all cases of a check: the person, the twin, and both outcomes."""
    pairs: list[tuple[Finding, Case]] = []
    features: dict[str, None] = {}
    for finding in check.findings:
        for case in finding.cases:
            pairs.append((finding, case))
            features |= dict.fromkeys(map(str, case.individual))
    twins = [f"twin.{feature}" for feature in features]
    outcomes = ("outcome", "twin.outcome", "realistic", "twin.realistic")
    columns = ("about", "verdict", *features, *twins, *outcomes)
    rows = []
    for finding, case in pairs:
        person = {str(key): value for key, value in case.individual.items()}
        twin = {str(key): value for key, value in case.twin.items()}
        cells: list[Any] = [subject_of(finding), finding.verdict]
        cells += [person.get(feature) for feature in features]
        cells += [twin.get(feature) for feature in features]
        cells += [*case.outcomes, case.realistic, case.realistic_twin]
        rows.append(tuple(map(cell, cells)))
    title = messages.TABLE_OF_CASES.format(check=check.name)
    return AuditTable(name, title, check.name, columns, rows)


def _details(check: CheckResult, name: str, records: RecordTable) -> AuditTable:
    columns: dict[str, None] = {}
    for record in records.rows:
        columns |= dict.fromkeys(record)
    rows = []
    for record in records.rows:
        rows.append(tuple(cell(record.get(column)) for column in columns))
    title = messages.TABLE_OF_DETAILS.format(check=check.name, name=records.name)
    shares = frozenset(records.shares)
    return AuditTable(
        _detail_name(name, records.name), title, check.name, tuple(columns), rows, shares
    )


def _detail_name(name: str, records: str) -> str:
    """Return the name of a table of details, without the verb twice.

    >>> _detail_name("5 mine", "mine stories"), _detail_name("5 mine", "mine")
    ('5 mine stories', '5 mine details')
    """
    _, _, job = name.partition(" ")
    first, _, others = records.partition(" ")
    if first != job:
        return f"{name} {records}"
    return f"{name} {others or 'details'}"


def _of_frame(
    name: str, title: str, check: str, shown: Any, shares: Sequence[str]
) -> AuditTable:
    columns = tuple(map(str, shown.columns))
    values = [shown.iloc[:, place].tolist() for place in range(len(columns))]
    rows = []
    for row in zip(*values, strict=True):
        rows.append(tuple(map(cell, row)))
    return AuditTable(name, title, check, columns, rows, frozenset(shares))


def cell(value: Any) -> Value:
    """Return a value as a cell holds it; what is unknown or endless is None.

    >>> cell(float("nan")), cell("a\\x07"), cell(["sex", "race"])
    (None, 'a\\\\x07', 'sex, race')
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return value if math.isfinite(value) else None
    if isinstance(value, list | tuple):
        return ", ".join(printable(str(part)) for part in value)
    return printable(str(value))
