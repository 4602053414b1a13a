"""What the formats of CI systems share: texts cut to size, cases, and where checks are declared."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from evenhand.methods.audit import messages
from evenhand.methods.audit.audit_result import unlike
from evenhand.report.lines import printable
from evenhand.runtime.errors import clip
from evenhand.runtime.label_text import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from evenhand.methods.audit.audit_result import Audit
    from evenhand.report.statement import Statement
    from evenhand.results.evidence import Case

NAME = 200
SENTENCE = 1_000
"""The most characters of a name, and of a sentence, that another program is given."""
MOST_ROWS = 30
"""The most features of a case that are shown."""
_VALUE = 100
_HEADER = re.compile(r"\s*\[\[\s*(?:tool\s*\.\s*evenhand\s*\.\s*)?checks\s*\]\]")
_NOT_COMPARED = ("job", "over", "data", "start")
"""Settings that a run does not have as in its table: sets are joined, and paths begin elsewhere."""


def cut(text: object, width: int = SENTENCE) -> str:
    r"""Return a text on one line, nothing in it that would be obeyed, and cut where it is long.

    >>> cut("a\x1b[31m\nb")
    'a\\x1b[31m\\nb'
    """
    return clip(printable(str(text)), width)


def apart(name: str, taken: set[str]) -> str:
    """Return a name that is not taken, and take it.

    >>> taken = set()
    >>> apart("sex", taken), apart("sex", taken)
    ('sex', 'sex (2)')
    """
    distinct = unlike(name, taken)
    taken.add(distinct)
    return distinct


def sentences(statement: Statement) -> list[str]:
    """Return what a statement says: its claim, estimate, limit, and how it stands to a baseline."""
    found = [cut(statement.claim)]
    if statement.estimate is not None:
        found.append(f"estimate: {cut(statement.estimate)}")
    found += [cut(remark) for remark in statement.remarks]
    if statement.against:
        found.append(statement.against)
    held = statement.held
    if held is not None and held.before:
        before = cut(held.before)
        found.append(
            messages.AGAINST_BASELINE_BEFORE.format(state=held.text, before=before)
        )
    elif held is not None:
        found.append(messages.AGAINST_BASELINE.format(state=held.text))
    return found


class CaseRow(NamedTuple):
    """A feature of two inputs, or their outcome: both values, and whether they differ."""

    name: str
    individual: str
    twin: str
    differs: bool


def rows_of(case: Case) -> list[CaseRow]:
    """Return the features of two inputs side by side; the outcomes come last.

    Of many features those that differ come first, and a sentence says how many are left out.

    >>> from evenhand.results.evidence import Case
    >>> rows = rows_of(Case({"sex": "F", "age": 30}, {"sex": "M", "age": 30}, ("no", "yes")))
    >>> [tuple(row) for row in rows]
    [('sex', 'F', 'M', True), ('age', '30', '30', False), ('outcome', 'no', 'yes', True)]
    """
    names = _shown_features(case)
    rows = []
    for name in names:
        individual, twin = beside(*case.shown(name))
        rows.append(CaseRow(cut(name, _VALUE), individual, twin, name in case.changed))
    left_out = len(case.individual) - len(names)
    if left_out:
        more = messages.MORE_FEATURES.format(count=f"{left_out:,}")
        rows.append(CaseRow(more, "…", "…", differs=False))
    outcome, twin_outcome = case.outcome_texts
    differs = bool(outcome != twin_outcome)
    rows.append(CaseRow("outcome", *beside(outcome, twin_outcome), differs))
    return rows


def _shown_features(case: Case) -> list[str]:
    names = list(case.individual)
    if len(names) <= MOST_ROWS:
        return names
    same = [name for name in names if name not in case.changed]
    return [*case.changed, *same][:MOST_ROWS]


def beside(first: object, second: object) -> tuple[str, str]:
    """Return two values as text; of long ones, what is near their first difference."""
    first_text = printable(str(shown(first)))
    second_text = printable(str(shown(second)))
    if max(len(first_text), len(second_text)) <= _VALUE:
        return first_text, second_text
    difference = 0
    for place, (letter, other) in enumerate(zip(first_text, second_text, strict=False)):
        if letter != other:
            difference = place
            break
    start = max(0, difference - _VALUE // 3)
    return _excerpt(first_text, start), _excerpt(second_text, start)


def _excerpt(text: str, start: int) -> str:
    """Return the part of a long text from a place on, with dots where something is left out."""
    before = "…" if start else ""
    after = "…" if len(text) - start > _VALUE else ""
    return before + text[start : start + _VALUE] + after


@dataclass(frozen=True)
class Places:
    """The configuration file of an audit, and the lines of its [[checks]] tables, where known."""

    file: str
    tables: tuple[tuple[int, Mapping[str, Any]], ...] = ()

    @classmethod
    def of(cls, audit: Audit) -> Places:
        """Find the tables in the text of the configuration."""
        text = audit.config.get("text", "")
        starts = []
        for number, line in enumerate(text.split("\n"), start=1):
            if _HEADER.match(line):
                starts.append(number)
        tables = _tables(text)
        file = _relative(audit.config.get("file", ""))
        # What looks like a header may stand within a text, and tables may be written without any.
        if len(starts) != len(tables):
            return cls(file)
        return cls(file, tuple(zip(starts, tables, strict=True)))

    def line(self, statement: Statement) -> int:
        """Return the line of the table that a statement comes from, 1 where that is not known."""
        job = statement.check.job
        places = [place for place in self.tables if place[1].get("job") == job]
        # Several tables of a job become one run: each condition narrows down which of them it was.
        for fits in _conditions(statement):
            narrowed = [(line, table) for line, table in places if fits(table)]
            if narrowed:
                places = narrowed
        if not places:
            return 1
        line, _ = places[0]
        return line


def _conditions(statement: Statement) -> tuple[Callable[[Mapping[str, Any]], bool], ...]:
    """Return what the table of a statement fulfils, what counts most first."""
    settings = statement.check.settings
    compared = _compared(settings)
    sets_of_run = _sets(settings.get("over"))
    about = None if statement.finding is None else statement.finding.about
    own_set = {frozenset(about)} if isinstance(about, tuple) else set()
    return (
        lambda table: _compared(table) == compared,
        lambda table: _sets(table.get("over")) <= sets_of_run,
        lambda table: _sets(table.get("over")) == own_set,
    )


def _tables(text: str) -> list[Mapping[str, Any]]:
    """Return the [[checks]] tables of a configuration, none where it cannot be read."""
    try:
        table: Any = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return []
    for key in ("tool", "evenhand"):  # in pyproject.toml
        inside = table.get(key)
        if isinstance(inside, dict):
            table = inside
    checks = table.get("checks")
    if not isinstance(checks, list):
        return []
    return [check for check in checks if isinstance(check, dict)]


def _compared(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in settings.items() if key not in _NOT_COMPARED}


def _sets(over: Any) -> set[frozenset[str]]:
    """Return the sets of features of a check; a list of names is one set."""
    if not over:
        return set()
    if isinstance(over, str):
        return {frozenset([over])}
    if all(isinstance(name, str) for name in over):
        return {frozenset(over)}
    sets = set()
    for names in over:
        sets.add(frozenset([names] if isinstance(names, str) else names))
    return sets


def _relative(file: str) -> str:
    """Return a path as seen from here, where CI runs; of one that is elsewhere, the name alone."""
    if not file:
        return ""
    path = Path(file)
    if not path.is_absolute():
        return path.as_posix()
    here = Path.cwd()
    if path.is_relative_to(here):
        return path.relative_to(here).as_posix()
    return path.name
