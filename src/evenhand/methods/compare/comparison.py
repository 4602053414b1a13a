"""Comparison: where each mitigation stands against blind overwriting, how sure that is, and the line between."""

from __future__ import annotations

import hashlib
import math
from dataclasses import asdict, dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

from evenhand.methods.compare.regions import GOOD, REGIONS, WIN_WIN
from evenhand.results.result import EXIT_CODES, versions
from evenhand.runtime import json_file
from evenhand.runtime.errors import UsageError, clip, nearest
from evenhand.statistics.estimate import Estimate, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from os import PathLike

    from evenhand.space.feature import Label

FORMAT = 1
BETTER = (REGIONS[GOOD], REGIONS[WIN_WIN])
"""The regions of a mitigation that does better than blind overwriting."""


@dataclass(frozen=True)
class Baseline:
    """The line of blind overwriting: performance and bias at each degree, and what predictions are overwritten with.

    `label` is None where each is overwritten with any label at random. `method` is "exact" where both scores are linear
    in the cells of a table, "expected cells" where not, "in proportion" for scores that were given, or "monte carlo".
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
        known = [(b, p) for b, p in zip(self.bias, self.performance, strict=True) if not math.isnan(b)]
        low, high = (tuple(end(part) for part in zip(*known, strict=True)) for end in (min, max))
        return tuple(
            ((b - low[0]) / ((high[0] - low[0]) or 1.0), (p - low[1]) / ((high[1] - low[1]) or 1.0)) for b, p in known
        )

    def to_frame(self) -> Any:
        """Return one row for each degree, as a pandas frame."""
        import pandas as pd

        return pd.DataFrame({"degree": self.degrees, "performance": self.performance, "bias": self.bias})


@dataclass(frozen=True)
class Standing:
    """Where one mitigation stands; `region` is that of its point, `plausible` lists all that its intervals allow.

    `area` is that of a good trade-off and NaN in other regions (Fairea 4.3). `gain` is the same area for a good
    trade-off, goes on into win-win, and is 0 where there is none, so that all can be ranked. `share` says in which
    part of the runs, or of the resamples of one run, each region was seen.
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
class Comparison:
    """How mitigations stand against the line from an original to the blind overwriting of all its predictions."""

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
    def verdict(self) -> Verdict:
        """Fail if any mitigation is no better than blind overwriting, undecided if that is open for any."""
        found = {standing.verdict for standing in self.standings}
        return next(one for one in (Verdict.FAIL, Verdict.UNDECIDED, Verdict.PASS) if one in found)

    @property
    def exit_code(self) -> int:
        """The exit code of the verdict: 0 pass, 1 no better than blind overwriting, 3 undecided."""
        return EXIT_CODES[self.verdict]

    def check(self, name: str | None = None) -> Comparison:
        """Return the comparison if all mitigations, or the one named, beat blind overwriting; else tell the story."""
        __tracebackhide__ = True  # pytest shows the test, not this
        chosen = self.standings if name is None else (self[name],)
        if bad := [standing for standing in chosen if standing.verdict is not Verdict.PASS]:
            found = Verdict.FAIL if any(one.verdict is Verdict.FAIL for one in bad) else Verdict.UNDECIDED
            raise AssertionError("\n".join([f"compare: {found}", *(f"  {standing}" for standing in bad)]))
        return self

    def to_frame(self) -> Any:
        """Return one row for each mitigation, as a pandas frame."""
        import pandas as pd

        rows = [
            {
                "name": one.name,
                "region": one.region,
                "plausible": ", ".join(one.plausible),
                "area": one.area,
                **{f"{what}{end}": getattr(getattr(one, what), key) for what in ("performance", "bias", "gain")
                   for end, key in (("", "value"), (".low", "low"), (".high", "high"))},
                **{f"share.{region}": one.share.get(region, 0.0) for region in REGIONS},
            }
            for one in self.standings
        ]  # fmt: skip
        return pd.DataFrame(rows)

    def _repr_html_(self) -> str:
        return str(import_module("evenhand.methods.audit.formats.notebook").table_of(self, "compare"))

    def plot(self, ax: Any = None) -> Any:
        """Draw the trade-off plane with matplotlib (extra: plot) and return the display."""
        display = import_module("evenhand.methods.compare.plot")  # the core knows nothing of reports until asked
        return display.TradeoffDisplay.from_comparison(self).plot(ax=ax)

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as JSON-ready values."""
        return {
            "format": FORMAT,
            "job": "compare",
            "verdict": self.verdict,
            "original": self.original,
            "start": [estimate.to_dict() for estimate in self.start],
            "standings": [
                {
                    "name": one.name,
                    "region": one.region,
                    "plausible": list(one.plausible),
                    "area": None if math.isnan(one.area) else one.area,
                    "share": dict(one.share),
                    **{key: getattr(one, key).to_dict() for key in ("performance", "bias", "gain")},
                }
                for one in self.standings
            ],
            "baseline": {
                key: [None if isinstance(part, float) and math.isnan(part) else part for part in value]
                if isinstance(value, tuple)
                else value
                for key, value in asdict(self.baseline).items()
            },
            **{key: getattr(self, key) for key in ("bias", "performance", "level", "seed", "runs")},
            "notes": list(self.notes),
            "versions": dict(self.versions),
        }

    @property
    def digest(self) -> str:
        """A hash that two comparisons share exactly when they found the same."""
        return hashlib.sha256(json_file.dump(self.to_dict()).encode()).hexdigest()

    def to_json(self, path: str | PathLike[str] | None = None) -> str:
        """Return the comparison as JSON, and write it to `path` where one is given."""
        return json_file.write(path, json_file.dump({**self.to_dict(), "digest": self.digest}), "comparison")

    @classmethod
    def from_json(cls, path: str | PathLike[str]) -> Comparison:
        """Read a comparison that `to_json` wrote."""
        return cls.from_dict(json_file.read(path, "comparison"), where=str(path))

    @classmethod
    def from_dict(cls, table: Any, *, where: str = "comparison") -> Comparison:
        """Rebuild a comparison from the parsed JSON."""
        json_file.check(table, where, "comparison", job="compare", holds="standings", known=FORMAT)
        try:
            found = [_standing(one) for one in table["standings"]]
            line: dict[str, Any] = {key: tuple(_number(part) for part in value) if isinstance(value, list) else value
                    for key, value in table["baseline"].items()}  # fmt: skip
            performance, bias = (Estimate.from_dict(one) for one in table["start"])
            rest = {key: table[key] for key in ("bias", "performance", "level", "seed", "runs", "notes", "versions")}
            return cls(table["original"], (performance, bias), found, Baseline(**line), **rest)
        except (KeyError, TypeError, ValueError) as error:
            raise UsageError(
                f"{where}: this evenhand comparison is damaged ({type(error).__name__}: {error})"
            ) from None

    def __str__(self) -> str:
        return "\n".join(str(standing) for standing in self.standings)


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
