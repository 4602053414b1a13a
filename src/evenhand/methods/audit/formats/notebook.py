"""Results as notebooks show them: a table of statements, which follows the notebook's theme."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.methods.audit.audit_result import Audit, as_audit
from evenhand.methods.audit.statements import all_statements, overall_word
from evenhand.report.notebook.forms import COLOURS
from evenhand.report.templates import render

if TYPE_CHECKING:
    from evenhand.results.protocol import Evidence

MOST = 25


def table_of(found: Evidence) -> str:
    """Return any evidence as a table; what one verb found has no column of checks."""
    return summary(as_audit(found), several=isinstance(found, Audit))


def summary(audit: Audit, *, several: bool = True) -> str:
    """Return the statements of an audit as a table; with `several`, it names their checks.

    >>> from evenhand.runtime.budget import Spent
    >>> summary(Audit((), 0, Spent(0, 0, 0.0))).count("<table")
    1
    """
    every_statement = all_statements(audit)
    left_out = len(every_statement) - MOST
    headings = ["verdict", "statement", "score", "limit"]
    if several:
        headings.insert(1, "check")
    table = render(
        "methods/audit/formats/pages/notebook.html.jinja",
        several=several,
        verdict=overall_word(audit),
        headings=headings,
        statements=every_statement[:MOST],
        more=f"{left_out:,}" if left_out > 0 else "",
        colours=COLOURS,
    )
    return str(table).rstrip("\n")
