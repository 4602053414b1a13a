"""Case, Finding, Result: evidence that reads well, replays, and round-trips through versioned JSON."""

from __future__ import annotations

import hashlib
import json
import math
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib import import_module, metadata, resources
from typing import TYPE_CHECKING, Any

from evenhand.runtime import json_file
from evenhand.runtime.budget import Spent
from evenhand.runtime.errors import UsageError, printable
from evenhand.space.rule import Rule
from evenhand.statistics.estimate import Estimate, StopReason, Verdict

if TYPE_CHECKING:
    from os import PathLike

    from evenhand.space.feature import Label

FORMAT = 1
EXIT_CODES = {Verdict.PASS: 0, Verdict.FAIL: 1, Verdict.UNDECIDED: 3, None: 0}
"""The one gate policy for the command line, pytest and Python: undecided is not a pass."""
NEAR = 60
"""How much of a long text is shown on both sides of its first mark."""
_RANK = {Verdict.FAIL: 0, Verdict.UNDECIDED: 1, Verdict.PASS: 2, None: 3}


@dataclass(frozen=True, slots=True)
class Case:
    """One replayable witness: two inputs that differ only in the features at issue, and their outcomes."""

    individual: Mapping[str, Label]
    twin: Mapping[str, Label]
    outcomes: tuple[Any, Any]

    @property
    def changed(self) -> tuple[str, ...]:
        """Names of the features in which the two differ."""
        return tuple(name for name, value in self.individual.items() if self.twin.get(name) != value)

    def to_dict(self) -> dict[str, Any]:
        """Return the case as JSON holds it."""
        return {
            "individual": {name: _json(value) for name, value in self.individual.items()},
            "twin": {name: _json(value) for name, value in self.twin.items()},
            "outcomes": [_json(outcome) for outcome in self.outcomes],
        }

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> Case:
        """Rebuild a case from `to_dict`."""
        first, second = table["outcomes"]
        return cls(dict(table["individual"]), dict(table["twin"]), (first, second))

    def __str__(self) -> str:
        changes = ", ".join(
            f"{name} {_around(self.individual[name])} → {_around(self.twin[name])}" for name in self.changed
        )
        same = ", ".join(
            f"{name} {_around(value)}" for name, value in self.individual.items() if name not in self.changed
        )
        before, after = map(_around, self.outcomes)
        return f"{changes}: {before} → {after}" + (f" (with {same})" if same else "")


@dataclass(frozen=True, slots=True)
class Group:
    """The people who share these values, and how often they get the favourable outcome."""

    about: Mapping[str, Label]
    estimate: Estimate

    def to_dict(self) -> dict[str, Any]:
        """Return the group as JSON holds it."""
        return {
            "about": {name: _json(value) for name, value in self.about.items()},
            "estimate": self.estimate.to_dict(),
        }

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> Group:
        """Rebuild a group from `to_dict`."""
        return cls(dict(table["about"]), Estimate.from_dict(table["estimate"]))

    def __str__(self) -> str:
        return ", ".join(f"{name} {value}" for name, value in self.about.items())


@dataclass(frozen=True, slots=True)
class Finding:
    """One sentence of evidence: what is claimed of which features, or of which Rule, how sure, and concrete cases.

    `groups` are the groups that a group score compares, `output` names one of several outputs of the software, and
    `least` says that the limit is the least acceptable value (a ratio of rates) rather than the most.
    """

    claim: str
    about: Any
    estimate: Estimate
    limit: float | None = None
    cases: tuple[Case, ...] = ()
    groups: tuple[Group, ...] = ()
    output: str = ""
    least: bool = False

    @property
    def verdict(self) -> Verdict | None:
        """Pass, fail or undecided against the limit; None where none was given."""
        return None if self.limit is None else self.estimate.verdict(self.limit, least=self.least)

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as JSON holds it."""
        found: dict[str, Any] = {
            "claim": self.claim,
            "about": _about(self.about),
            "estimate": self.estimate.to_dict(),
            "limit": self.limit,
            "verdict": self.verdict,
            "cases": [case.to_dict() for case in self.cases],
        }
        if self.groups:
            found["groups"] = [group.to_dict() for group in self.groups]
        if self.output:
            found["output"] = self.output
        if self.least:
            found["least"] = True
        return found

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> Finding:
        """Rebuild a finding from `to_dict`."""
        about = table["about"]
        return cls(
            table["claim"],
            Rule.from_dict(about) if isinstance(about, Mapping) else tuple(about) if isinstance(about, list) else about,
            Estimate.from_dict(table["estimate"]),
            table["limit"],
            tuple(Case.from_dict(case) for case in table["cases"]),
            tuple(Group.from_dict(group) for group in table.get("groups", ())),
            table.get("output", ""),
            table.get("least", False),
        )

    def __str__(self) -> str:
        against = "" if self.limit is None else f" against a limit of {self.limit:g}: {self.verdict}"
        return f"{self.claim}: {self.estimate}{against}"


def versions() -> dict[str, str]:
    """Return the versions that a result depends on."""
    return dict(_versions())


@cache
def _versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for name in ("evenhand", "numpy", "pandas", "scikit-learn"):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def _evidence(finding: Finding) -> tuple[bool, int, float, float]:
    """Sort findings by their verdict, then by what is certain of them, then by their value; what is unknown is last.

    A bound on all rules that are not told of by themselves, whose rule has no conditions, comes after those that are.
    """
    bound = isinstance(finding.about, Rule) and not finding.about.conditions
    estimate = finding.estimate
    certain, value = (1 - estimate.high, 1 - estimate.value) if finding.least else (estimate.low, estimate.value)
    return bound, _RANK[finding.verdict], -certain, 1.0 if math.isnan(value) else -value


@dataclass(frozen=True)
class Result:
    """What a verb found: findings with the best evidence first, and all that is needed to repeat the run."""

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

    def __post_init__(self) -> None:
        ranked = sorted(self.findings, key=_evidence)
        object.__setattr__(self, "findings", tuple(ranked))
        object.__setattr__(self, "notes", tuple(self.notes))

    @property
    def worst(self) -> Finding:
        """The finding with the best evidence of discrimination."""
        if not self.findings:
            raise UsageError(f"this {self.job} has no findings")
        return self.findings[0]

    @property
    def verdict(self) -> Verdict | None:
        """Fail if any finding fails, undecided if any is undecided, pass if all pass; None where no limit was given."""
        found = {finding.verdict for finding in self.findings} - {None}
        return min(found, key=lambda verdict: _RANK[verdict], default=None)

    @property
    def exit_code(self) -> int:
        """The exit code of this verdict: 0 pass, 1 discrimination found, 3 undecided."""
        return EXIT_CODES[self.verdict]

    def check(self) -> Result:
        """Return the result if it passes; raise an AssertionError that tells the story if it fails or is undecided."""
        __tracebackhide__ = True  # pytest shows the test, not this
        if self.exit_code:
            raise AssertionError(self.story())
        return self

    def story(self) -> str:
        """Return the findings that do not pass, each with its simplest case, as text."""
        lines = [f"{self.job}: {self.verdict}"]
        for finding in self.findings:
            if finding.verdict is not Verdict.PASS:
                lines.append(f"  {finding}")
                lines += [f"    {case}" for case in finding.cases[:1]]
        return "\n".join(printable(line) for line in lines)

    def to_frame(self) -> Any:
        """Return one row per finding as a pandas frame; of a search, one row per discriminatory input."""
        import pandas as pd

        if "search" in self.details:
            table = import_module("evenhand.methods.search.hits_table")  # it is built on results
            return table.frame(self.details["search"], self.domain or self.space)
        if "mine" in self.details or "mine_text" in self.details:
            return import_module("evenhand.methods.mine.table").frame(self)
        if "impact" in self.details:
            return import_module("evenhand.methods.impact.selection_rates").frame(self)
        rows = [
            {
                "about": ", ".join(finding.about) if isinstance(finding.about, tuple) else str(finding.about),
                **finding.estimate.to_dict(),
                "limit": finding.limit,
                "verdict": finding.verdict,
                "claim": finding.claim,
            }
            for finding in self.findings
        ]
        return pd.DataFrame(rows)

    def _repr_html_(self) -> str:
        return str(import_module("evenhand.methods.audit.formats.notebook").table_of(self, self.job))

    def plot(self, ax: Any = None) -> Any:
        """Draw the result with matplotlib (extra: plot) and return the display, with its `ax_` and `figure_`."""
        displays = import_module("evenhand.report.rates_display")  # the core knows nothing of reports until asked
        return displays.display_of(self).plot(ax=ax)

    def _stable(self) -> dict[str, Any]:
        """Return all that depends on seed, subject and settings alone, not on how the run went."""
        return {
            "format": FORMAT,
            "job": self.job,
            "verdict": self.verdict,
            "seed": self.seed,
            "findings": [finding.to_dict() for finding in self.findings],
            "stop": self.stop,
            "queries": self.spent.queries,
            "space": self.space,
            "versions": dict(self.versions),
            "notes": list(self.notes),
        } | ({"details": self.details} if self.details else {})

    @cached_property
    def digest(self) -> str:
        """A hash that two runs share exactly when they found the same, whatever they cost."""
        return hashlib.sha256(json_file.dump(self._stable()).encode()).hexdigest()

    def to_json(self, path: str | PathLike[str] | None = None) -> str:
        """Return the result as JSON, and write it to `path` where one is given."""
        table = self._stable()
        del table["queries"]
        text = json_file.dump({**table, "spent": self.spent.to_dict(), "digest": self.digest})
        return json_file.write(path, text, "result")

    @classmethod
    def from_json(cls, path: str | PathLike[str]) -> Result:
        """Read a result that `to_json` wrote."""
        return cls.from_dict(json_file.read(path, "result"), where=str(path))

    @classmethod
    def from_dict(cls, table: Mapping[str, Any], *, where: str = "result") -> Result:
        """Rebuild a result from the parsed JSON."""
        if not isinstance(table, Mapping) or "format" not in table or "findings" not in table:
            raise UsageError(f"{where}: this is no evenhand result")
        if table["format"] != FORMAT:
            raise UsageError(
                f"{where}: result format {table['format']} is not {FORMAT}; use the evenhand that wrote it"
            )
        try:
            return cls(
                table["job"],
                [Finding.from_dict(finding) for finding in table["findings"]],
                table["seed"],
                Spent(**table["spent"]),
                StopReason(table["stop"]),
                table["space"],
                table.get("notes", ()),
                table["versions"],
                table.get("details", {}),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise UsageError(f"{where}: this evenhand result is damaged ({type(error).__name__}: {error})") from None

    def __str__(self) -> str:
        return "\n".join(str(finding) for finding in self.findings)


def schema() -> dict[str, Any]:
    """Return the JSON Schema of a result."""
    text = resources.files("evenhand.results").joinpath("schema", f"result-{FORMAT}.json").read_text(encoding="utf-8")
    return dict(json.loads(text))


def _around(value: Any) -> Any:
    """Return a long text with its lines joined and what is far from its first mark left out; other values as they are.

    >>> _around("word " * 40 + "⟦gay⟧" + " word" * 40).count("word")
    23
    """
    if not isinstance(value, str) or len(value) <= 2 * NEAR:
        return value
    text = " ".join(value.split())
    mark = max(text.find("⟦"), 0)
    start, stop = max(mark - NEAR, 0), mark + NEAR
    return ("…" if start else "") + text[start:stop] + ("…" if stop < len(text) else "")


def _about(about: Any) -> Any:
    if isinstance(about, Rule):
        return about.to_dict()
    return list(about) if isinstance(about, tuple) else about


def _json(value: Any) -> Any:
    """Return a label or outcome as JSON can hold it; infinities become text."""
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
