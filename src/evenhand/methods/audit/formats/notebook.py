"""Results as notebooks show them: a table of statements with verdicts, that follows the theme of
the notebook.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.methods.audit.audit_result import Audit, as_audit
from evenhand.methods.audit.statements import all_statements
from evenhand.report.html_page import boxed, text
from evenhand.report.statement import NO_LIMIT

if TYPE_CHECKING:
    from evenhand.results.protocol import Evidence
    from evenhand.statistics.estimate import Verdict

MOST = 25
_COLOURS = {"fail": "#c2571a", "pass": "#0b8a66", "undecided": "#a87900", NO_LIMIT: "#767676"}
"""Colours that can be read on white and on black."""
_CELL = "text-align:left;vertical-align:top;padding:0.2em 0.8em 0.2em 0"


def table_of(found: Evidence) -> str:
    """Return any evidence as a table; what one verb found has no column of checks."""
    return summary(as_audit(found), several=isinstance(found, Audit))


def summary(audit: Audit, *, several: bool = True) -> str:
    """Return the statements of an audit as a table, with styles of its own: a notebook may drop any
    other.

    >>> from evenhand.runtime.budget import Spent
    >>> summary(Audit((), 0, Spent(0, 0, 0.0))).count("<table")
    1
    """
    told = all_statements(audit)
    rows = []
    for one in told[:MOST]:
        score = "" if one.estimate is None else str(one.estimate)
        case = "" if one.case is None else f"<br><small>for example {boxed(one.case)}</small>"
        cells = [_word(one.verdict), *([boxed(one.check.name)] if several else [])]
        cells += [f"{boxed(one.claim)}{case}", text(score), one.threshold]
        rows.append(
            "<tr>" + "".join(f'<td style="{_CELL}">{cell}</td>' for cell in cells) + "</tr>"
        )
    if len(told) > MOST:
        rows.append(f'<tr><td colspan="5" style="{_CELL}">… {len(told) - MOST:,} more</td></tr>')
    headings = ["verdict", *(["check"] if several else []), "statement", "score", "limit"]
    heads = "".join(f'<th style="{_CELL}">{one}</th>' for one in headings)
    inside = "\n".join(
        [f"<caption style='text-align:left'>{_word(audit.verdict)}</caption>"] if several else []
    )
    return (
        f"<table>{inside}<thead><tr>{heads}</tr></thead><tbody>\n"
        + "\n".join(rows)
        + "\n</tbody></table>"
    )


def _word(verdict: Verdict | None) -> str:
    word = str(verdict or NO_LIMIT)
    return f'<strong style="color:{_COLOURS[word]}">{word}</strong>'
