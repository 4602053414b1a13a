"""Comparison: where each mitigation stands against blind overwriting, and how sure that is."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from evenhand.methods.compare import messages
from evenhand.methods.compare.regions import GOOD, REGIONS, WIN_WIN
from evenhand.results.document import read_stop, versions, worst_of
from evenhand.results.protocol import Evidence
from evenhand.runtime import number_text
from evenhand.runtime.errors import UsageError, clip, nearest, printable
from evenhand.statistics.estimate import Estimate, StopReason, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenhand.results.evidence import Finding
    from evenhand.runtime.budget import Spent
    from evenhand.space.feature import Label

BETTER = (REGIONS[GOOD], REGIONS[WIN_WIN])
"""The regions of a mitigation that does better than blind overwriting."""


@dataclass(frozen=True)
class Baseline:
    """The line of blind overwriting: performance and bias at each degree of it.

    `label` is what predictions are overwritten with, and None where each is overwritten with any
    label at random. `method` is "exact" where both scores are linear in the cells of a table,
    "expected cells" where not, "in proportion" for scores that were given, or "monte carlo".
    """

    degrees: tuple[float, ...]
    performance: tuple[float, ...]
    bias: tuple[float, ...]
    label: Label | None
    strategy: str
    method: str

    @property
    def scaled(self) -> tuple[tuple[float, float], ...]:
        """Bias and performance of each point, re-scaled to 0 to 1 as the paper draws them."""
        biases = []
        performances = []
        for bias, performance in zip(self.bias, self.performance, strict=True):
            if not math.isnan(bias):
                biases.append(bias)
                performances.append(performance)
        return tuple(zip(_rescaled(biases), _rescaled(performances), strict=True))

    def to_frame(self) -> Any:
        """Return one row for each degree, as a pandas frame."""
        import pandas as pd

        return pd.DataFrame(
            {"degree": self.degrees, "performance": self.performance, "bias": self.bias}
        )


def _rescaled(values: Sequence[float]) -> list[float]:
    """Return values re-scaled to 0 to 1 (Fairea, footnote 4)."""
    low = min(values)
    span = (max(values) - low) or 1.0
    return [(value - low) / span for value in values]


@dataclass(frozen=True)
class Standing:
    """Where one mitigation stands.

    `region` is that of its point, and `plausible` lists all that its intervals allow. `area` is
    that of a good trade-off and NaN in other regions (Fairea, Section 4.3). `gain` is the same area
    for a good trade-off, goes on into win-win, and is 0 where there is none, so that all can be
    ranked. `share` says in which part of the runs, or of the resamples of one run, each region was
    seen.
    """

    name: str
    performance: Estimate
    bias: Estimate
    region: str
    plausible: tuple[str, ...]
    area: float
    gain: Estimate
    share: Mapping[str, float]

    @property
    def verdict(self) -> Verdict:
        """Pass if every plausible region is better than blind overwriting, fail if none is."""
        better = [region in BETTER for region in self.plausible]
        if all(better):
            return Verdict.PASS
        return Verdict.UNDECIDED if any(better) else Verdict.FAIL

    @property
    def finding(self) -> Finding:
        """How much it gains over the line, judged by the regions that are plausible."""
        from evenhand.results.evidence import Finding

        return Finding(
            self.claim, (self.name,), self.gain, score="gain", judged=self.verdict
        )

    @property
    def claim(self) -> str:
        """Its region in a sentence, which names one only if no other is plausible."""
        if len(self.plausible) == 1:
            return f"{self.name}: {self.region}"
        *others, last = self.plausible
        return messages.UNDECIDED_CLAIM.format(
            name=self.name, regions=", ".join(others), last=last
        )

    def __str__(self) -> str:
        if math.isnan(self.area):
            return messages.STANDING.format(
                claim=self.claim,
                performance=self.performance,
                bias=self.bias,
            )
        return messages.STANDING_WITH_AREA.format(
            claim=self.claim,
            area=number_text.decimal(self.area, 4),
            performance=self.performance,
            bias=self.bias,
        )


@dataclass(frozen=True)
class Comparison(Evidence):
    """How mitigations stand against blindly overwriting predictions of an original.

    It is what `compare` returns. `standings` has one entry for each mitigation, which a name gives
    as well: ``found["reweighing"]``.

    See Also
    --------
    See docs/how-to/compare.md
    """

    document: ClassVar[str] = "comparison"
    job: ClassVar[str] = "compare"

    original: str
    start: tuple[Estimate, Estimate]
    """Performance and bias of the original."""
    standings: Sequence[Standing]
    baseline: Baseline
    bias: str
    performance: str
    level: float
    seed: int
    runs: int
    notes: Sequence[str] = ()
    versions: Mapping[str, str] = field(default_factory=versions)
    stop: StopReason = StopReason.COMPLETED
    resampled: bool = True
    """Whether intervals come from resamples of the same rows, or from runs with a test set each."""
    published: bool = False
    """Whether published scores were compared, without predictions: then nothing has an interval."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "standings", tuple(self.standings))
        object.__setattr__(self, "notes", tuple(self.notes))

    def __getitem__(self, name: str) -> Standing:
        """Return the standing of one mitigation.

        Parameters
        ----------
        name
            The name under which its predictions were given.

        Returns
        -------
        Standing
            Its region, the regions that are plausible, and its scores.

        Raises
        ------
        UsageError
            If no mitigation has this name.
        """
        for standing in self.standings:
            if standing.name == name:
                return standing
        names = [standing.name for standing in self.standings]
        choices = nearest(name, names)
        message = messages.UNKNOWN_MITIGATION.format(
            name=clip(repr(name)),
            choices=choices,
        )
        raise UsageError(message)

    @property
    def region(self) -> dict[str, str]:
        """The region of each mitigation's point."""
        return {standing.name: standing.region for standing in self.standings}

    @property
    def plausible(self) -> dict[str, tuple[str, ...]]:
        """Every region that the intervals of each mitigation allow."""
        return {standing.name: standing.plausible for standing in self.standings}

    @property
    def area(self) -> dict[str, float]:
        """The area of each good trade-off, and NaN for mitigations in other regions."""
        return {standing.name: standing.area for standing in self.standings}

    @property
    def share(self) -> dict[str, dict[str, float]]:
        """The share of runs, or of resamples of one run, in each region."""
        return {standing.name: dict(standing.share) for standing in self.standings}

    @property
    def best(self) -> str | None:
        """The mitigation with the largest gain over the line; None where none is over it."""
        over = [standing for standing in self.standings if standing.region in BETTER]
        if not over:
            return None
        return max(over, key=lambda standing: standing.gain.value).name

    @property
    def contenders(self) -> tuple[str, ...]:
        """Every mitigation that may be the best, by intervals that hold together."""
        # The best gains at least the largest lower end, so whatever stays below that is out.
        floor = max((standing.gain.low for standing in self.standings), default=0.0)
        names = []
        for standing in self.standings:
            may_be_better = any(region in BETTER for region in standing.plausible)
            if may_be_better and standing.gain.high >= floor:
                names.append(standing.name)
        return tuple(names)

    @property
    def spent(self) -> Spent:
        """What was spent on software under test, which is nothing: none is called."""
        from evenhand.runtime.budget import Spent

        return Spent(0, 0, 0.0)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """A finding for each mitigation, in the order in which they were given."""
        return tuple(standing.finding for standing in self.standings)

    def check(self, name: str | None = None) -> Comparison:
        """Return the comparison if mitigations beat blind overwriting, and raise otherwise.

        Parameters
        ----------
        name
            The mitigation that must beat it; by default all of them.

        Returns
        -------
        Comparison
            The comparison itself, so that calls can be chained.

        Raises
        ------
        AssertionError
            If one does not, or may not; the message is the story of all such mitigations.
        """
        __tracebackhide__ = True  # pytest shows the test, not this
        chosen = self.standings if name is None else (self[name],)
        bad = [standing for standing in chosen if standing.verdict is not Verdict.PASS]
        if bad:
            raise AssertionError(_story(bad))
        return self

    def story(self) -> str:
        """Return the mitigations that are not clearly better than blind overwriting, as text."""
        return _story(self._open)

    def story_lines(self) -> list[str]:
        """Return a line for each mitigation that is not clearly better than blind overwriting."""
        return [f"  {standing}" for standing in self._open]

    @property
    def _open(self) -> list[Standing]:
        return [
            standing for standing in self.standings if standing.verdict is not Verdict.PASS
        ]

    def body(self) -> dict[str, Any]:
        """Return what only this kind of evidence holds, as JSON holds it."""
        return {
            "original": self.original,
            "start": [estimate.to_dict() for estimate in self.start],
            "standings": [_standing_table(standing) for standing in self.standings],
            "findings": [finding.to_dict() for finding in self.findings],
            "baseline": _line_table(self.baseline),
            "bias": self.bias,
            "performance": self.performance,
            "runs": self.runs,
            "resampled": self.resampled,
            "published": self.published,
        }

    @classmethod
    def owns(cls, table: Mapping[str, Any]) -> bool:
        """Return whether parsed JSON is a comparison."""
        return table.get("job") == "compare" and "standings" in table

    @classmethod
    def read(cls, table: Mapping[str, Any], where: str) -> Comparison:
        """Rebuild a comparison from JSON of the present format."""
        performance, bias = table["start"]
        keys = (
            "bias",
            "performance",
            "level",
            "seed",
            "runs",
            "resampled",
            "notes",
            "versions",
        )
        return cls(
            table["original"],
            (Estimate.from_dict(performance), Estimate.from_dict(bias)),
            [_standing(standing) for standing in table["standings"]],
            Baseline(**_read_line(table["baseline"])),
            **{key: table[key] for key in keys},
            stop=read_stop(table["stop"]),
            published=table.get("published", False),
        )

    def __str__(self) -> str:
        return "\n".join(str(standing) for standing in self.standings)


def document() -> type[Comparison]:
    """Return the class that reads the JSON of a comparison."""
    return Comparison


def frame(comparison: Comparison) -> Any:
    """Return one row for each mitigation, as a pandas frame."""
    import pandas as pd

    rows = []
    for standing in comparison.standings:
        row: dict[str, Any] = {
            "name": standing.name,
            "region": standing.region,
            "plausible": ", ".join(standing.plausible),
            "area": standing.area,
        }
        for name in ("performance", "bias", "gain"):
            score = getattr(standing, name)
            row[name] = score.value
            row[f"{name}.low"] = score.low
            row[f"{name}.high"] = score.high
        for region in REGIONS:
            row[f"share.{region}"] = standing.share.get(region, 0.0)
        rows.append(row)
    return pd.DataFrame(rows)


def _story(standings: Sequence[Standing]) -> str:
    """Return a line for each standing, after the worst verdict of all."""
    verdict = worst_of(standing.verdict for standing in standings)
    lines = [f"compare: {verdict}", *(f"  {standing}" for standing in standings)]
    return "\n".join(printable(line) for line in lines)


def _standing_table(standing: Standing) -> dict[str, Any]:
    """Return a standing as JSON holds it."""
    return {
        "name": standing.name,
        "region": standing.region,
        "plausible": list(standing.plausible),
        "area": None if math.isnan(standing.area) else standing.area,
        "share": dict(standing.share),
        "performance": standing.performance.to_dict(),
        "bias": standing.bias.to_dict(),
        "gain": standing.gain.to_dict(),
    }


def _line_table(line: Baseline) -> dict[str, Any]:
    """Return the line as JSON holds it, where what is not defined is null."""
    table: dict[str, Any] = {}
    for key, value in asdict(line).items():
        if isinstance(value, tuple):
            table[key] = [None if _is_undefined(number) else number for number in value]
        else:
            table[key] = value
    return table


def _is_undefined(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _read_line(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a line from JSON."""
    fields: dict[str, Any] = {}
    for key, value in table.items():
        if isinstance(value, list):
            fields[key] = tuple(_number(number) for number in value)
        else:
            fields[key] = value
    return fields


def _standing(table: Mapping[str, Any]) -> Standing:
    return Standing(
        table["name"],
        Estimate.from_dict(table["performance"]),
        Estimate.from_dict(table["bias"]),
        table["region"],
        tuple(table["plausible"]),
        _number(table["area"]),
        Estimate.from_dict(table["gain"]),
        table["share"],
    )


def _number(value: Any) -> float:
    return math.nan if value is None else value
