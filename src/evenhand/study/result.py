"""What a study found: the paper's tables and where every method stands, as evidence of a verb."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

from evenhand.results.document import findings_of, read_stop, spent_of, versions
from evenhand.results.protocol import Evidence
from evenhand.runtime.budget import Spent
from evenhand.statistics.estimate import StopReason
from evenhand.study.standings import standings
from evenhand.study.text import as_json, printed_tables

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenhand.results.evidence import Finding
    from evenhand.study.fits import Cases
    from evenhand.study.standings import Place
    from evenhand.study.text import PrintedTable


@dataclass(frozen=True)
class StudyResult(Evidence):
    """The tables of a study, and where each method stands.

    There is a finding for each method with each model on each data set and protected column.
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
        printed = tuple(printed_tables(cases, bias, performance, level=level))
        return cls(
            findings=tuple(_findings(cases, bias, performance, level)),
            tables=tuple(map(as_json, printed)),
            splits=cases.splits,
            test_size=cases.test_size,
            seed=cases.seed,
            level=level,
            fits=len(cases.cases),
            failures=cases.failures,
            notes=cases.notes,
            training_seconds=cases.seconds,
            spent=Spent(0, len(cases.cases), cases.seconds),
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
        """Return whether parsed JSON is a study."""
        return table.get("job") == "study" and "tables" in table

    @classmethod
    def read(cls, table: Mapping[str, Any], where: str) -> StudyResult:
        """Rebuild a study from JSON of the present format."""
        spent = spent_of(table)
        return cls(
            findings=tuple(findings_of(table)),
            tables=tuple(table["tables"]),
            splits=table["splits"],
            test_size=table["test_size"],
            seed=table["seed"],
            level=table["level"],
            fits=table["fits"],
            failures=tuple(table["failures"]),
            notes=tuple(table["notes"]),
            training_seconds=spent.seconds,
            spent=spent,
            stop=read_stop(table["stop"]),
            versions=table["versions"],
        )

    def __str__(self) -> str:
        return "\n".join(str(finding) for finding in self.findings)


def document() -> type[StudyResult]:
    """Return the class that reads the JSON of a study."""
    return StudyResult


def _findings(
    cases: Cases, bias: Sequence[str], performance: str, level: float
) -> list[Finding]:
    """Return where each method stands by each bias, at each place of the study."""
    found: list[Finding] = []
    for name in bias:
        for own in (False, True):
            table = standings(cases, name, performance, own=own, level=level)
            for place, comparison in table.comparisons:
                for finding in comparison.findings:
                    found.append(_with_place(finding, place, name))
    return found


def _with_place(finding: Finding, place: Place, bias: str) -> Finding:
    """Return a finding of a comparison whose claim and key say where it was found."""
    model, task, protected = place
    about = (task, protected, model, *finding.about)
    return replace(
        finding,
        claim=f"{task}, {protected}, {model}, by {bias}: {finding.claim}",
        about=about,
        score=f"{bias} gain",
        key=f"{bias} {finding.score} of {', '.join(about)}",
    )
