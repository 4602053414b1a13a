"""The display of an audit: the scores of all its checks, against their limits."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from evenhand.methods.audit.statements import all_statements
from evenhand.report.canvas import Display
from evenhand.report.rates_display import RatesDisplay
from evenhand.statistics.estimate import Estimate

if TYPE_CHECKING:
    from evenhand.methods.audit.audit_result import Audit


@dataclass
class AuditDisplay(Display):
    """The rates that the checks of an audit found, a panel for each limit.

    Counts of witnesses have no place in it.
    """

    rates: RatesDisplay

    @classmethod
    def from_audit(cls, audit: Audit) -> AuditDisplay:
        """Compute what is drawn of an audit.

        >>> from evenhand.methods.audit.audit_result import Audit
        >>> from evenhand.runtime.budget import Spent
        >>> AuditDisplay.from_audit(Audit((), 0, Spent(0, 0, 0.0))).rates.scores
        ()
        """
        rates = []
        for statement in all_statements(audit):
            finding = statement.finding
            if finding is None or finding.unit != Estimate.unit:
                continue
            label = f"{statement.check.job} {statement.about}"
            rates.append(replace(finding, about=(label,), output="", groups=(), cases=()))
        return cls(RatesDisplay.from_findings(rates))

    def plot(self, ax: Any = None) -> AuditDisplay:
        """Draw on axes given, or on a new figure, and return the display."""
        self.rates.plot(ax=ax)
        self.ax_ = self.rates.ax_
        self.axes_ = self.rates.axes_
        self.figure_ = self.rates.figure_
        return self


def display_of(audit: Audit) -> AuditDisplay:
    """Return the display of an audit."""
    return AuditDisplay.from_audit(audit)
