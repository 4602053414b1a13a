"""Comparison: where each mitigation stands against blind overwriting, how sure that is, and the
line between.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from evenhand.methods.compare.regions import GOOD, REGIONS, WIN_WIN
from evenhand.results.document import read_stop, versions, worst_of
from evenhand.results.protocol import Evidence
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
    """The line of blind overwriting: performance and bias at each degree, and what predictions are
    overwritten with.

    `label` is None where each is overwritten with any label at random. `method` is "exact" where
    both scores are linear in the cells of a table, "expected cells" where not, "in proportion" for
    scores that were given, or "monte carlo".
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
        known = [
            (b, p) for b, p in zip(self.bias, self.performance, strict=True) if not math.isnan(b)
        ]
        low, high = (tuple(end(part) for part in zip(*known, strict=True)) for end in (min, max))
        return tuple(
            ((b - low[0]) / ((high[0] - low[0]) or 1.0), (p - low[1]) / ((high[1] - low[1]) or 1.0))
            for b, p in known
        )

    def to_frame(self) -> Any:
        """Return one row for each degree, as a pandas frame."""
        import pandas as pd

        return pd.DataFrame(
            {"degree": self.degrees, "performance": self.performance, "bias": self.bias}
        )


@dataclass(frozen=True)
class Standing:
    """Where one mitigation stands; `region` is that of its point, `plausible` lists all that its
    intervals allow.

    `area` is that of a good trade-off and NaN in other regions (Fairea 4.3). `gain` is the same
    area for a good trade-off, goes on into win-win, and is 0 where there is none, so that all can
    be ranked. `share` says in which part of the runs, or of the resamples of one run, each region
    was seen.
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
        """Pass if it is better than blind overwriting in every plausible region, fail if in none."""
        better = [region in BETTER for region in self.plausible]
        return Verdict.PASS if all(better) else Verdict.UNDECIDED if any(better) else Verdict.FAIL

    @property
    def finding(self) -> Finding:
        """Where it stands as a finding: how much it gains over the line, judged by the regions that
        are plausible.
        """
        from evenhand.results.evidence import Finding

        return Finding(self.claim, (self.name,), self.gain, score="gain", judged=self.verdict)

    @property
    def claim(self) -> str:
        """What can be said of it in a sentence, which names a region only if no other is plausible."""
        if len(self.plausible) == 1:
            said = self.region
        else:
            said = f"undecided between {', '.join(self.plausible[:-1])} and {self.plausible[-1]}"
        return f"{self.name}: {said}"

    def __str__(self) -> str:
        area = "" if math.isnan(self.area) else f", area {self.area:.4f}"
        return f"{self.claim}{area}; performance {self.performance}; bias {self.bias}"


@dataclass(frozen=True)
class Comparison(Evidence):
    """How mitigations stand against the line from an original to the blind overwriting of all its
    predictions.
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
    """Whether intervals come from resamples of the same rows, rather than from runs with a test set
    each.
    """

    def __post_init__(self) -> None:
        object.__setattr__(self, "standings", tuple(self.standings))
        object.__setattr__(self, "notes", tuple(self.notes))

    def __getitem__(self, name: str) -> Standing:
        """Return the standing of one mitigation."""
        for standing in self.standings:
            if standing.name == name:
                return standing
        names = [standing.name for standing in self.standings]
        raise UsageError(f"this comparison has no {clip(repr(name))}; {nearest(name, names)}")

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
        return max(over, key=lambda standing: standing.gain.value).name if over else None

    @property
    def contenders(self) -> tuple[str, ...]:
        """Every mitigation that may be the best, by intervals that hold for all of them together."""
        floor = max((standing.gain.low for standing in self.standings), default=0.0)
        found = [one for one in self.standings if any(region in BETTER for region in one.plausible)]
        return tuple(standing.name for standing in found if standing.gain.high >= floor)

    @property
    def spent(self) -> Spent:
        """Nothing: no software is asked."""
        from evenhand.runtime.budget import Spent

        return Spent(0, 0, 0.0)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """A finding for each mitigation, in the order in which they were given."""
        return tuple(standing.finding for standing in self.standings)

    def check(self, name: str | None = None) -> Comparison:
        """Return the comparison if all mitigations, or the one named, beat blind overwriting; else
        tell the story.
        """
        __tracebackhide__ = True  # pytest shows the test, not this
        chosen = self.standings if name is None else (self[name],)
        bad = [standing for standing in chosen if standing.verdict is not Verdict.PASS]
        if bad:
            raise AssertionError(_story(bad))
        return self

    def story(self) -> str:
        """Return the mitigations that are not surely better than blind overwriting, as text."""
        return _story(self._open)

    def story_lines(self) -> list[str]:
        """Return the mitigations that are not surely better than blind overwriting, line by line."""
        return [f"  {standing}" for standing in self._open]

    @property
    def _open(self) -> list[Standing]:
        return [standing for standing in self.standings if standing.verdict is not Verdict.PASS]

    def body(self) -> dict[str, Any]:
        """Return what only this kind of evidence holds, as JSON holds it."""
        return {
            "original": self.original,
            "start": [estimate.to_dict() for estimate in self.start],
            "standings": [_standing_table(one) for one in self.standings],
            "findings": [finding.to_dict() for finding in self.findings],
            "baseline": _line_table(self.baseline),
            "bias": self.bias,
            "performance": self.performance,
            "runs": self.runs,
            "resampled": self.resampled,
        }

    @classmethod
    def owns(cls, table: Mapping[str, Any]) -> bool:
        """Tell whether parsed JSON is a comparison."""
        return table.get("job") == "compare" and "standings" in table

    @classmethod
    def read(cls, table: Mapping[str, Any], where: str) -> Comparison:
        """Rebuild a comparison from JSON of the present format."""
        performance, bias = (Estimate.from_dict(one) for one in table["start"])
        keys = ("bias", "performance", "level", "seed", "runs", "resampled", "notes", "versions")
        return cls(
            table["original"],
            (performance, bias),
            [_standing(one) for one in table["standings"]],
            Baseline(**_read_line(table["baseline"])),
            **{key: table[key] for key in keys},
            stop=read_stop(table["stop"]),
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
    for one in comparison.standings:
        row: dict[str, Any] = {
            "name": one.name,
            "region": one.region,
            "plausible": ", ".join(one.plausible),
            "area": one.area,
        }
        for what in ("performance", "bias", "gain"):
            score = getattr(one, what)
            row |= {what: score.value, f"{what}.low": score.low, f"{what}.high": score.high}
        row |= {f"share.{region}": one.share.get(region, 0.0) for region in REGIONS}
        rows.append(row)
    return pd.DataFrame(rows)


def _story(standings: Sequence[Standing]) -> str:
    verdict = worst_of(standing.verdict for standing in standings)
    lines = [f"compare: {verdict}", *(f"  {standing}" for standing in standings)]
    return "\n".join(printable(line) for line in lines)


def _standing_table(one: Standing) -> dict[str, Any]:
    return {
        "name": one.name,
        "region": one.region,
        "plausible": list(one.plausible),
        "area": None if math.isnan(one.area) else one.area,
        "share": dict(one.share),
        **{key: getattr(one, key).to_dict() for key in ("performance", "bias", "gain")},
    }


def _line_table(line: Baseline) -> dict[str, Any]:
    """Return the line as JSON holds it, where what is not defined is null."""
    found: dict[str, Any] = {}
    for key, value in asdict(line).items():
        found[key] = (
            [None if _unknown(part) else part for part in value]
            if isinstance(value, tuple)
            else value
        )
    return found


def _unknown(part: Any) -> bool:
    return isinstance(part, float) and math.isnan(part)


def _read_line(table: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in table.items():
        found[key] = tuple(_number(part) for part in value) if isinstance(value, list) else value
    return found


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
