"""Result: what a verb found, as findings with the best evidence first, that round-trips through
versioned JSON.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from importlib import resources
from typing import TYPE_CHECKING, Any

from evenhand.results.document import FORMAT, RANK, findings_of, read_stop, spent_of, versions
from evenhand.results.evidence import is_rule
from evenhand.results.protocol import Evidence
from evenhand.runtime.errors import UsageError
from evenhand.verbs import VERBS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from os import PathLike

    from evenhand.results.evidence import Finding
    from evenhand.runtime.budget import Spent
    from evenhand.statistics.estimate import StopReason


def _evidence(finding: Finding) -> tuple[bool, int, float, float]:
    """Sort findings by their verdict, then by what is certain of them, then by their value; what is
    unknown is last.

    A bound on all rules that are not told of by themselves, whose rule has no conditions, comes
    after those that are.
    """
    bound = is_rule(finding.about) and not finding.about.conditions
    estimate = finding.estimate
    certain, value = estimate.low, estimate.value
    if finding.least:
        certain, value = 1 - estimate.high, 1 - estimate.value
    return bound, RANK[finding.verdict], -certain, 1.0 if math.isnan(value) else -value


def by_evidence(findings: Sequence[Finding]) -> list[Finding]:
    """Return findings with the best evidence first."""
    return sorted(findings, key=_evidence)


@dataclass(frozen=True)
class Result(Evidence):
    """What a verb found: findings with the best evidence first, and all that is needed to repeat
    the run.
    """

    job: str
    findings: Sequence[Finding]
    seed: int
    spent: Spent
    stop: StopReason
    space: Mapping[str, Any]
    notes: Sequence[str] = ()
    versions: Mapping[str, str] = field(default_factory=versions)
    details: Mapping[str, Any] = field(default_factory=dict)
    """What else a verb has to tell, as JSON holds it: the lattice of `subsets`, for example."""
    domain: Any = field(default=None, repr=False, compare=False)
    """The space itself, which remembers the user's own frame; a result from a file has none."""
    tests: Any = field(default=None, repr=False, compare=False)
    """The tests behind the scores, where the verb can write them down; a result from a file has
    none.
    """

    def __post_init__(self) -> None:
        ranked = by_evidence(self.findings)
        object.__setattr__(self, "findings", tuple(ranked))
        object.__setattr__(self, "notes", tuple(self.notes))

    @property
    def level(self) -> float:
        """The level at which all findings hold together; 1 where every input was asked."""
        return min((finding.estimate.level for finding in self.findings), default=1.0)

    @property
    def worst(self) -> Finding:
        """The finding with the best evidence of discrimination."""
        if not self.findings:
            raise UsageError(f"this {self.job} has no findings")
        return self.findings[0]

    def to_suite(self, path: str | PathLike[str]) -> None:
        """Write every test behind the scores to a CSV or Parquet file, for `replay`."""
        if self.tests is None:
            raise UsageError(
                f"this {self.job} kept no tests; measure with keep_tests=True to write them to a"
                " suite"
            )
        self.tests.write(path)

    def body(self) -> dict[str, Any]:
        """Return what only this kind of evidence holds, as JSON holds it."""
        return {
            "findings": [finding.to_dict() for finding in self.findings],
            "space": self.space,
            **({"details": self.details} if self.details else {}),
        }

    @classmethod
    def owns(cls, table: Mapping[str, Any]) -> bool:
        """Tell whether parsed JSON is a result; other kinds of evidence have findings as well."""
        job = table.get("job")
        other = isinstance(job, str) and job in VERBS and VERBS[job].document() is not cls
        return "findings" in table and not other

    @classmethod
    def read(cls, table: Mapping[str, Any], where: str) -> Result:
        """Rebuild a result from JSON of the present format."""
        return cls(
            table["job"],
            findings_of(table),
            table["seed"],
            spent_of(table),
            read_stop(table["stop"]),
            table["space"],
            table.get("notes", ()),
            table["versions"],
            table.get("details", {}),
        )

    def __str__(self) -> str:
        return "\n".join(str(finding) for finding in self.findings)


def document() -> type[Result]:
    """Return the class that reads the JSON of most verbs."""
    return Result


def schema() -> dict[str, Any]:
    """Return the JSON Schema of a result."""
    folder = resources.files("evenhand.results").joinpath("schema")
    text = folder.joinpath(f"result-{FORMAT}.json").read_text(encoding="utf-8")
    return dict(json.loads(text))
