"""What the formats of CI systems share: texts cut to size, the two inputs of a case, and where a
check is declared.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.methods.audit.audit_result import unlike
from evenhand.report.lines import printable
from evenhand.runtime.errors import clip

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from evenhand.methods.audit.audit_result import Audit
    from evenhand.report.statement import Statement
    from evenhand.results.evidence import Case

NAME, SENTENCE = 200, 1_000
"""The most characters of a name, and of a sentence, that another program is given."""
NOT_RUN = "not run"
"""What stands in place of the verdict of a check that could not be run."""
MOST_ROWS = 30
"""The most features of a case that are shown."""
_VALUE = 100
_HEADER = re.compile(r"\s*\[\[\s*(?:tool\s*\.\s*evenhand\s*\.\s*)?checks\s*\]\]")
_APART = ("job", "over", "data", "start")
"""Settings that a run does not have as its table says them: sets are joined, and paths begin
elsewhere.
"""


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
    found = unlike(name, taken)
    taken.add(found)
    return found


def word_of(one: Statement) -> str:
    """Return the verdict of a statement in a word, or that its check could not be run."""
    return NOT_RUN if one.check.found is None else one.word


def sentences(one: Statement) -> list[str]:
    """Return what a statement says: the claim, the estimate with its interval, the limit, and the
    baseline.
    """
    told = [cut(one.claim)]
    if one.estimate is not None:
        told.append(f"estimate: {cut(one.estimate)}")
    if one.against:
        told.append(one.against)
    if one.held is not None:
        before = f"; it was {cut(one.held.before)}" if one.held.before else ""
        told.append(f"against the baseline: {one.held.state}{before}")
    return told


def rows_of(case: Case) -> list[tuple[str, str, str, bool]]:
    """Return the features of two inputs with both values and whether they differ; the outcomes come
    last.

    Of many features those that differ come first, and a sentence says how many are left out.

    >>> from evenhand.results.evidence import Case
    >>> rows_of(Case({"sex": "F", "age": 30}, {"sex": "M", "age": 30}, ("no", "yes")))
    [('sex', 'F', 'M', True), ('age', '30', '30', False), ('outcome', 'no', 'yes', True)]
    """
    changed = set(case.changed)
    names = list(case.individual)
    if len(names) > MOST_ROWS:
        names = [*case.changed, *(name for name in names if name not in changed)][:MOST_ROWS]
    rows = [
        (
            cut(name, _VALUE),
            *beside(case.individual[name], case.twin.get(name, "")),
            name in changed,
        )
        for name in names
    ]
    if left := len(case.individual) - len(names):
        rows.append((f"… {left:,} more features", "…", "…", False))
    first, second = case.outcomes
    return [*rows, ("outcome", *beside(first, second), bool(first != second))]


def beside(one: object, other: object) -> tuple[str, str]:
    """Return two values as text; of long ones, what is near their first difference."""
    texts = printable(str(one)), printable(str(other))
    if max(map(len, texts)) <= _VALUE:
        return texts
    apart = next((at for at, both in enumerate(zip(*texts, strict=False)) if both[0] != both[1]), 0)
    start = max(0, apart - _VALUE // 3)
    ends = [
        text[start:] if len(text) - start <= _VALUE else f"{text[start : start + _VALUE]}…"
        for text in texts
    ]
    first, second = ("…" * bool(start) + end for end in ends)
    return first, second


@dataclass(frozen=True)
class Places:
    """The configuration file of an audit, and the line of each of its [[checks]] tables, as far as
    they are known.
    """

    file: str
    tables: tuple[tuple[int, Mapping[str, Any]], ...] = ()

    @classmethod
    def of(cls, audit: Audit) -> Places:
        """Find the tables in the text of the configuration."""
        text = audit.config.get("text", "")
        starts = [
            number for number, line in enumerate(text.split("\n"), start=1) if _HEADER.match(line)
        ]
        tables = _tables(text)
        # What looks like a header may stand within a text, and tables may be written without any.
        known = tuple(zip(starts, tables, strict=True)) if len(starts) == len(tables) else ()
        return cls(_relative(audit.config.get("file", "")), known)

    def line(self, one: Statement) -> int:
        """Return the line of the table that a statement comes from, 1 where that is not known."""
        settings = one.check.settings
        about = one.finding.about if one.finding is not None else None
        mine = {frozenset(about)} if isinstance(about, tuple) else set()
        found = [place for place in self.tables if place[1].get("job") == one.check.job]
        narrower: tuple[Callable[[Mapping[str, Any]], bool], ...] = (
            lambda table: _rest(table) == _rest(settings),
            lambda table: _sets(table.get("over")) <= _sets(settings.get("over")),
            lambda table: _sets(table.get("over")) == mine,
        )
        for fits in narrower:
            found = [place for place in found if fits(place[1])] or found
        return found[0][0] if found else 1


def _tables(text: str) -> list[Mapping[str, Any]]:
    try:
        table: Any = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return []
    for key in ("tool", "evenhand"):  # in pyproject.toml
        table = (
            table[key] if isinstance(table, dict) and isinstance(table.get(key), dict) else table
        )
    checks = table.get("checks")
    return (
        [check for check in checks if isinstance(check, dict)] if isinstance(checks, list) else []
    )


def _rest(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in settings.items() if key not in _APART}


def _sets(over: Any) -> set[frozenset[str]]:
    """Return the sets of features of a check; a list of names is one set."""
    if not over:
        return set()
    if isinstance(over, str):
        return {frozenset([over])}
    if all(isinstance(name, str) for name in over):
        return {frozenset(over)}
    return {frozenset([names] if isinstance(names, str) else names) for names in over}


def _relative(file: str) -> str:
    """Return a path as seen from here, where CI runs; of one that is elsewhere, the name alone."""
    path = Path(file)
    if path.is_absolute():
        here = Path.cwd()
        path = path.relative_to(here) if path.is_relative_to(here) else Path(path.name)
    return path.as_posix() if file else ""
