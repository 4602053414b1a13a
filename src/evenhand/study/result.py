"""What a study found: the tables of the paper, and where every method stands, as evidence like that
of any verb.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

from evenhand.results.document import findings_of, read_stop, spent_of, versions
from evenhand.results.protocol import Evidence
from evenhand.runtime.budget import Spent
from evenhand.statistics.estimate import StopReason
from evenhand.study import tables
from evenhand.study.text import as_json, shown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenhand.results.evidence import Finding
    from evenhand.study.fits import Cases
    from evenhand.study.text import PrintedTable


@dataclass(frozen=True)
class StudyResult(Evidence):
    """The tables of a study, and a finding for each method with each model on each data set and
    protected column.
    """

    document: ClassVar[str] = "study"
    job: ClassVar[str] = "study"

    findings: Sequence[Finding]
    tables: Sequence[Mapping[str, Any]]
    """Tables 4 to 7 of the Fairea paper, as JSON holds them."""
    splits: int
    test_size: float
    seed: int
    level: float
    fits: int
    failures: Sequence[str] = ()
    notes: Sequence[str] = ()
    training_seconds: float = 0.0
    spent: Spent = field(default_factory=lambda: Spent(0, 0, 0.0))
    stop: StopReason = StopReason.COMPLETED
    versions: Mapping[str, str] = field(default_factory=versions)
    shown: Sequence[PrintedTable] = field(default=(), repr=False, compare=False)
    """The tables as they are printed; those of a study from a file are not here."""

    @classmethod
    def of(
        cls, cases: Cases, bias: Sequence[str], performance: str, *, level: float = 0.95
    ) -> StudyResult:
        """Judge the fits of a study by some biases and a performance."""
        printed = tuple(shown(cases, bias, performance, level=level))
        return cls(
            tuple(_findings(cases, bias, performance, level)),
            tuple(as_json(one) for one in printed),
            cases.splits,
            cases.test_size,
            cases.seed,
            level,
            len(cases.cases),
            cases.failures,
            cases.notes,
            cases.seconds,
            Spent(0, len(cases.cases), cases.seconds),
            shown=printed,
        )

    def body(self) -> dict[str, Any]:
        """Return what only this kind of evidence holds, as JSON holds it."""
        return {
            "splits": self.splits,
            "test_size": self.test_size,
            "fits": self.fits,
            "tables": list(self.tables),
            "findings": [finding.to_dict() for finding in self.findings],
            "failures": list(self.failures),
        }

    @classmethod
    def owns(cls, table: Mapping[str, Any]) -> bool:
        """Tell whether parsed JSON is a study."""
        return table.get("job") == "study" and "tables" in table

    @classmethod
    def read(cls, table: Mapping[str, Any], where: str) -> StudyResult:
        """Rebuild a study from JSON of the present format."""
        spent = spent_of(table)
        return cls(
            tuple(findings_of(table)),
            tuple(table["tables"]),
            table["splits"],
            table["test_size"],
            table["seed"],
            table["level"],
            table["fits"],
            tuple(table["failures"]),
            tuple(table["notes"]),
            spent.seconds,
            spent,
            read_stop(table["stop"]),
            table["versions"],
        )

    def __str__(self) -> str:
        return "\n".join(str(finding) for finding in self.findings)


def document() -> type[StudyResult]:
    """Return the class that reads the JSON of a study."""
    return StudyResult


def _findings(cases: Cases, bias: Sequence[str], performance: str, level: float) -> list[Finding]:
    """Return where each method stands by each bias, with each model, on each data set and protected
    column.
    """
    found: list[Finding] = []
    for name in bias:
        for own in (False, True):
            compared = tables.standings(cases, name, performance, own=own, level=level).comparisons
            for (model, task, protected), comparison in compared:
                place = f"{task}, {protected}, {model}, by {name}"
                for finding in comparison.findings:
                    claim = f"{place}: {finding.claim}"
                    about = (task, protected, model, *finding.about)
                    key = f"{name} {finding.score} of {', '.join(about)}"
                    found.append(
                        replace(finding, claim=claim, about=about, score=f"{name} gain", key=key)
                    )
    return found
