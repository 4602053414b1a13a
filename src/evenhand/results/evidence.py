"""Case, Group, Finding: one piece of evidence, with its identity, its numbers and concrete cases.

What a program needs of a finding is a field: `key` says which finding of the next run is the same
one, `score` what was measured, the estimate its unit, and `detail` what only one verb knows. The
claim is a sentence for people, written once and never read back.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from evenhand.statistics.estimate import Estimate, Verdict

if TYPE_CHECKING:
    from evenhand.space.feature import Label

NEAR = 60
"""How much of a long text is shown on both sides of its first mark."""


@dataclass(frozen=True, slots=True)
class Case:
    """One replayable witness: two inputs that differ only in the features at issue, and their
    outcomes.
    """

    individual: Mapping[str, Label]
    twin: Mapping[str, Label]
    outcomes: tuple[Any, Any]

    @property
    def changed(self) -> tuple[str, ...]:
        """Names of the features in which the two differ."""
        return tuple(
            name for name, value in self.individual.items() if self.twin.get(name) != value
        )

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

    @property
    def change_text(self) -> str:
        """What differs, and the two outcomes."""
        changes = ", ".join(
            f"{name} {_around(self.individual[name])} → {_around(self.twin[name])}"
            for name in self.changed
        )
        before, after = map(_around, self.outcomes)
        return f"{changes}: {before} → {after}"

    def __str__(self) -> str:
        same = ", ".join(
            f"{name} {_around(value)}"
            for name, value in self.individual.items()
            if name not in self.changed
        )
        return f"{self.change_text} (with {same})" if same else self.change_text


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


@runtime_checkable
class Detail(Protocol):
    """What only one verb knows of a finding: a small frozen dataclass, which the verb can read
    back.
    """

    def to_dict(self) -> dict[str, Any]:
        """Return the detail as JSON holds it."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One sentence of evidence: what is claimed of which features, or of which Rule, how sure, and
    concrete cases.

    `groups` are the groups that a group score compares, `output` names one of several outputs of
    the software, and `least` says that the limit is the least acceptable value (a ratio of rates)
    rather than the most.

    >>> found = Finding("changing only sex matters", ("sex",), Estimate.exact(6, 24), 0.05, score="causal")
    >>> found.key, found.unit, found.verdict.value
    ('causal of sex', 'rate', 'fail')
    """

    claim: str
    about: Any
    estimate: Estimate
    limit: float | None = None
    cases: tuple[Case, ...] = ()
    groups: tuple[Group, ...] = ()
    output: str = ""
    least: bool = False
    score: str = ""
    """What the estimate is of: "causal", "group", "tpr", "impact ratio", …"""
    detail: Detail | Mapping[str, Any] | None = None
    """What only its verb knows; as JSON holds it where the verb that reads it is not at hand."""
    judged: Verdict | None = None
    """The verdict, where it does not follow from the limit."""
    key: str = ""
    """What tells this finding from the others of a run, and is the same in the next run."""

    def __post_init__(self) -> None:
        if not self.key:
            object.__setattr__(self, "key", key_of(self.score, self.about, self.output))

    @property
    def unit(self) -> str:
        """What the numbers of the estimate are: a rate, a count or an amount."""
        return self.estimate.unit

    @property
    def verdict(self) -> Verdict | None:
        """Pass, fail or undecided against the limit; None where none was given."""
        if self.judged is not None:
            return self.judged
        return None if self.limit is None else self.estimate.verdict(self.limit, least=self.least)

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as JSON holds it."""
        found: dict[str, Any] = {
            "key": self.key,
            "score": self.score,
            "unit": self.unit,
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
        if self.judged is not None:
            found["judged"] = True
        if self.detail is not None:
            found["detail"] = _detail(self.detail)
        return found

    @classmethod
    def from_dict(cls, table: Mapping[str, Any], *, read_detail: Any = None) -> Finding:
        """Rebuild a finding from `to_dict`; `read_detail` makes its detail of what JSON holds."""
        detail = table.get("detail")
        return cls(
            table["claim"],
            _read_about(table["about"]),
            Estimate.from_dict(table["estimate"]),
            table["limit"],
            tuple(Case.from_dict(case) for case in table["cases"]),
            tuple(Group.from_dict(group) for group in table.get("groups", ())),
            table.get("output", ""),
            table.get("least", False),
            table["score"],
            detail if detail is None or read_detail is None else read_detail(detail),
            Verdict(table["verdict"]) if table.get("judged") else None,
            table["key"],
        )

    def __str__(self) -> str:
        against = (
            "" if self.limit is None else f" against a limit of {self.limit:g}: {self.verdict}"
        )
        return f"{self.claim}: {self.estimate}{against}"


def is_rule(about: Any) -> bool:
    """Tell whether a finding is about a rule, which has conditions, rather than about features."""
    return hasattr(about, "conditions")


def key_of(score: str, about: Any, output: str = "") -> str:
    """Return the identity of a finding: what was measured, of which features or rule, and of which
    output.

    >>> key_of("group", ("sex", "race")), key_of("causal", ("sex",), "rate")
    ('group of race, sex', 'causal of sex for rate')
    """
    if is_rule(about):
        conditions = [condition.to_dict() for condition in about.conditions]
        named = json.dumps(conditions, ensure_ascii=False, sort_keys=True)
    elif isinstance(about, tuple):
        named = ", ".join(sorted(about))
    else:
        named = str(about)
    key = f"{score} of {named}" if score else named
    return f"{key} for {output}" if output else key


def _around(value: Any) -> Any:
    """Return a long text with its lines joined and what is far from its first mark left out; other
    values as they are.

    >>> _around("word " * 40 + "⟦gay⟧" + " word" * 40).count("word")
    23
    """
    if not isinstance(value, str) or len(value) <= 2 * NEAR:
        return value
    text = " ".join(value.split())
    mark = max(text.find("⟦"), 0)
    start, stop = max(mark - NEAR, 0), mark + NEAR
    return ("…" if start else "") + text[start:stop] + ("…" if stop < len(text) else "")


def _detail(detail: Detail | Mapping[str, Any]) -> dict[str, Any]:
    return dict(detail) if isinstance(detail, Mapping) else detail.to_dict()


def _read_about(about: Any) -> Any:
    if isinstance(about, Mapping):
        from evenhand.space.rule import (
            Rule,
        )  # which few results need, and takes distributions along

        return Rule.from_dict(about)
    return tuple(about) if isinstance(about, list) else about


def _about(about: Any) -> Any:
    if is_rule(about):
        return about.to_dict()
    return list(about) if isinstance(about, tuple) else about


def _json(value: Any) -> Any:
    """Return a label or outcome as JSON can hold it; infinities become text."""
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
