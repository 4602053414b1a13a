"""Case, Group, Finding: one piece of evidence, with its identity, its numbers and concrete cases.

What a program needs of a finding is a field: `key` identifies the same finding in the next run,
`score` names what was measured, the estimate has its unit, and `detail` holds what only one verb
knows. The claim is a sentence for people, written once and never read back.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from evenhand.results import remarks_text
from evenhand.results.about import about_to_json, detail_to_json, read_about
from evenhand.results.about import is_rule as is_rule
from evenhand.results.about import key_of as key_of
from evenhand.results.json_values import json_value, json_values
from evenhand.results.remarks import around, remarks_of
from evenhand.runtime import number_text
from evenhand.runtime.errors import UsageError
from evenhand.runtime.label_text import (
    Words,
    group_text,
    labelled,
    shown,
    value_shown,
)
from evenhand.statistics.estimate import Estimate, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenhand.space.feature import Label


@dataclass(frozen=True, slots=True)
class Case:
    """One replayable witness: two inputs that differ only in the features at issue.

    Parameters
    ----------
    individual, twin
        The two inputs, as the value of each feature.
    outcomes
        What the software decided about the individual and about the twin.
    realistic, realistic_twin
        Whether the individual, and the twin, are people who could exist, as far as the real rows of
        the space tell; None where there are no rows.

    Notes
    -----
    See docs/how-to/replay.md
    """

    individual: Mapping[str, Label]
    twin: Mapping[str, Label]
    outcomes: tuple[Any, Any]
    realistic: bool | None = None
    realistic_twin: bool | None = None
    outcome_words: Words = field(default_factory=dict, compare=False, repr=False)
    """What people call the outcomes; a result that has labels of them fills it in."""

    def shown(self, name: str) -> tuple[object, object]:
        """Return both values of a feature as people read them: in the user's words, if any.

        >>> Case({"age": None}, {"age": 30}, ("no", "yes")).shown("age")
        ('unknown', 30)
        """
        own = value_shown(self.individual, name)
        if name not in self.twin:
            return own, ""
        return own, value_shown(self.twin, name)

    @property
    def outcomes_shown(self) -> tuple[Any, Any]:
        """Both outcomes as people call them."""
        first, second = self.outcomes
        return shown(first, self.outcome_words), shown(second, self.outcome_words)

    @property
    def unusual(self) -> str:
        """Who of the two is no plausible person, in words; empty where nobody is known to be."""
        doubts = []
        if self.realistic is False:
            doubts.append("person")
        if self.realistic_twin is False:
            doubts.append("twin")
        if doubts:
            return f"unusual {' and '.join(doubts)}"
        return ""

    @property
    def realism_words(self) -> tuple[str, str]:
        """What each of the two is: plausible, unusual, or nothing where that is not known."""
        words = {True: "plausible", False: "unusual", None: ""}
        return words[self.realistic], words[self.realistic_twin]

    @property
    def changed(self) -> tuple[str, ...]:
        """Names of the features in which the two differ."""
        names = []
        for name, value in self.individual.items():
            if self.twin.get(name) != value:
                names.append(name)
        return tuple(names)

    def named(self, words: Mapping[str, Words], outcomes: Words) -> Case:
        """Return the same case in the user's words for values, by feature, and for outcomes."""
        return replace(
            self,
            individual=labelled(self.individual, words),
            twin=labelled(self.twin, words),
            outcome_words=outcomes,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the case as JSON holds it, which `from_dict` reads."""
        table: dict[str, Any] = {
            "individual": json_values(self.individual),
            "twin": json_values(self.twin),
            "outcomes": [json_value(outcome) for outcome in self.outcomes],
        }
        if self.realistic is not None:
            table["realistic"] = self.realistic
        if self.realistic_twin is not None:
            table["realistic_twin"] = self.realistic_twin
        return table

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> Case:
        """Rebuild a case from `to_dict`."""
        first, second = table["outcomes"]
        return cls(
            individual=dict(table["individual"]),
            twin=dict(table["twin"]),
            outcomes=(first, second),
            realistic=table.get("realistic"),
            realistic_twin=table.get("realistic_twin"),
        )

    @property
    def change_text(self) -> str:
        """What differs, and the two outcomes."""
        changes = []
        for name in self.changed:
            individual_value, twin_value = self._around(name)
            changes.append(f"{name} {individual_value} → {twin_value}")
        before, after = map(around, self.outcome_texts)
        return f"{', '.join(changes)}: {before} → {after}"

    @property
    def outcome_texts(self) -> tuple[Any, Any]:
        """Both outcomes as people read them: of fractions also how far apart they are.

        >>> Case({"sex": "F"}, {"sex": "M"}, (40_213.25, 38_100.75)).outcome_texts
        ('40,213', '38,101 (2,112 less)')
        """
        first, second = self.outcomes
        if all(map(_is_number, self.outcomes)) and any(map(_is_fraction, self.outcomes)):
            return number_text.apart(first, second)
        if not self.outcome_words:
            return self.outcomes
        return self.outcomes_shown

    def _around(self, name: str) -> tuple[Any, Any]:
        """Return both values of a feature, long texts cut to what matters in them."""
        first = around(value_shown(self.individual, name))
        return first, around(value_shown(self.twin, name))

    def _repr_html_(self) -> str:
        from evenhand.formats import notebook_html

        return notebook_html("case", self)

    def __str__(self) -> str:
        changed = self.changed
        same = []
        for name in self.individual:
            if name not in changed:
                value, _ = self._around(name)
                same.append(f"{name} {value}")
        text = self.change_text
        if same:
            text = f"{text} (with {', '.join(same)})"
        if self.unusual:
            return f"{text}; {self.unusual}"
        return text


@dataclass(frozen=True, slots=True)
class Group:
    """The people who share some values, and how often they get the favourable outcome.

    Parameters
    ----------
    about
        The values that they share, by feature.
    estimate
        Their rate of favourable outcomes.

    Notes
    -----
    See docs/how-to/measure.md
    """

    about: Mapping[str, Label]
    estimate: Estimate

    def to_dict(self) -> dict[str, Any]:
        """Return the group as JSON holds it, which `from_dict` reads."""
        return {
            "about": json_values(self.about),
            "estimate": self.estimate.to_dict(),
        }

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> Group:
        """Rebuild a group from `to_dict`."""
        estimate = Estimate.from_dict(table["estimate"])
        return cls(dict(table["about"]), estimate)

    def __str__(self) -> str:
        return group_text(self.about)


@runtime_checkable
class Detail(Protocol):
    """What only one verb knows of a finding: a small frozen dataclass that the verb reads back."""

    def to_dict(self) -> dict[str, Any]:
        """Return the detail as JSON holds it."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One claim with its estimate, its verdict and concrete cases.

    Parameters
    ----------
    claim
        A sentence for people.
    about
        The features that the claim is about, as a tuple of names, or a Rule.
    estimate
        The value with its interval.
    limit
        The threshold that the estimate is judged against.
    cases
        Concrete pairs of inputs that show the discrimination.
    groups
        The groups that a group score compares.
    output
        The name of one of several outputs of the software.
    least
        Whether the limit is the least acceptable value (as for a ratio of rates), not the greatest.
    by_construction
        Whether nothing else could have been found, since the software does not see the features: no
        evidence, and never a pass.
    only_answer
        The one answer that the software gave to every input behind the estimate, where it gave no
        other.
    unfavoured
        Whether that one answer is not known to be favourable, or nobody got a favourable one but
        some got what is no class of the software: no evidence, and never a pass.
    uniform
        The same score over all inputs, uniformly, where the estimate is about real rows. No limit
        is held against it, and it is descriptive: its interval holds by itself.
    p_value
        The least error 1 - level at which an interval of the same kind excludes the limit, on the
        side that the score was seen on; corrected for all that the interval holds together with.
    e_value
        The same as a bet against the other side of the limit, by itself and whenever it ended.
    noise
        How often the same input gets another outcome when asked again, of software with chance in
        it. A causal score is what twins differ beyond that.
    gap
        Where outcomes are numbers, how far apart two of them have to be to count as different.
    graded
        Whether a causal score is how far outcomes move on average, not how many of them do.

    Notes
    -----
    See docs/how-to/measure.md

    Examples
    --------
    >>> estimate = Estimate.exact(6, 24)
    >>> finding = Finding("changing only sex matters", ("sex",), estimate, 0.05, score="causal")
    >>> finding.key, finding.unit, finding.verdict.value
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
    """What only its verb knows; plain JSON where the package of the verb is not installed."""
    judged: Verdict | None = None
    """The verdict, where it does not follow from the limit."""
    key: str = ""
    """What distinguishes this finding from the others of a run, and is the same in the next run."""
    by_construction: bool = False
    only_answer: Label | None = None
    unfavoured: bool = False
    uniform: Estimate | None = None
    p_value: float | None = None
    e_value: float | None = None
    noise: Estimate | None = None
    gap: float | None = None
    graded: bool = False
    outcome_words: Words = field(default_factory=dict, compare=False, repr=False)
    """What people call the outcomes."""

    def __post_init__(self) -> None:
        # Beside its limit, an estimate is written in as many digits as show the verdict.
        beside_limit = self.estimate.shown_beside(self.limit)
        object.__setattr__(self, "estimate", beside_limit)
        if not self.key:
            object.__setattr__(self, "key", key_of(self.score, self.about, self.output))
        if self.descriptive and self.limit is not None:
            raise UsageError(
                remarks_text.LIMIT_OF_DESCRIPTION.format(key=self.key, limit=self.limit)
            )

    @property
    def descriptive(self) -> bool:
        """Whether the interval holds by itself alone, and gives no verdict."""
        return self.estimate.descriptive

    @property
    def unit(self) -> str:
        """What the numbers of the estimate are: a rate, a count or an amount."""
        return self.estimate.unit

    @property
    def verdict(self) -> Verdict | None:
        """Pass, fail or undecided against the limit; None where none was given."""
        if self.judged is not None:
            return self.judged
        if self.limit is None:
            return None
        if self.by_construction:
            return Verdict.UNDECIDED
        verdict = self.estimate.verdict(self.limit, least=self.least)
        no_pass = self.vacuous and verdict is Verdict.PASS
        return Verdict.UNDECIDED if no_pass else verdict

    @property
    def vacuous(self) -> bool:
        """Whether a pass would say nothing, whatever the software does to people."""
        return self.unfavoured or self.lost_in_chance

    @property
    def lost_in_chance(self) -> bool:
        """Whether outcomes change by chance so often that twins cannot differ much more often.

        A score beyond chance is at most what chance leaves over, which may be less than the limit.
        """
        if self.noise is None or self.limit is None or self.score != "causal":
            return False
        return 1 - self.noise.value < self.limit

    @property
    def remarks(self) -> tuple[str, ...]:
        """What must be told beside the verdict, as sentences; mostly nothing."""
        return remarks_of(self)

    def named(self, words: Mapping[str, Words], outcomes: Words) -> Finding:
        """Return the same finding in the user's words for values, by feature, and for outcomes."""
        if not words and not outcomes:
            return self
        cases = [case.named(words, outcomes) for case in self.cases]
        groups = [
            replace(group, about=labelled(group.about, words)) for group in self.groups
        ]
        return replace(
            self, cases=tuple(cases), groups=tuple(groups), outcome_words=outcomes
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as JSON holds it, which `from_dict` reads."""
        table: dict[str, Any] = {
            "key": self.key,
            "score": self.score,
            "unit": self.unit,
            "claim": self.claim,
            "about": about_to_json(self.about),
            "estimate": self.estimate.to_dict(),
            "limit": self.limit,
            "verdict": self.verdict,
            "cases": [case.to_dict() for case in self.cases],
        }
        # Fields that most findings do not need are written only where they hold something.
        if self.groups:
            table["groups"] = [group.to_dict() for group in self.groups]
        if self.output:
            table["output"] = self.output
        if self.least:
            table["least"] = True
        if self.judged is not None:
            table["judged"] = True
        if self.by_construction:
            table["by_construction"] = True
        if self.only_answer is not None:
            table["only_answer"] = json_value(self.only_answer)
        if self.unfavoured:
            table["unfavoured"] = True
        if self.uniform is not None:
            table["uniform"] = self.uniform.to_dict()
        if self.p_value is not None:
            table["p_value"] = self.p_value
        if self.e_value is not None:
            table["e_value"] = self.e_value
        if self.noise is not None:
            table["noise"] = self.noise.to_dict()
        if self.gap is not None:
            table["gap"] = self.gap
        if self.graded:
            table["graded"] = True
        if self.detail is not None:
            table["detail"] = detail_to_json(self.detail)
        return table

    @classmethod
    def from_dict(cls, table: Mapping[str, Any], *, read_detail: Any = None) -> Finding:
        """Rebuild a finding from `to_dict`.

        Parameters
        ----------
        table
            The parsed JSON.
        read_detail
            Makes the detail of its verb from JSON; without it the detail stays as JSON holds it.

        Returns
        -------
        Finding
            A finding that is equal to the one that was written.
        """
        detail = table.get("detail")
        if detail is not None and read_detail is not None:
            detail = read_detail(detail)
        if table.get("judged"):
            judged = Verdict(table["verdict"])
        else:
            judged = None
        uniform = table.get("uniform")
        noise = table.get("noise")
        return cls(
            claim=table["claim"],
            about=read_about(table["about"]),
            estimate=Estimate.from_dict(table["estimate"]),
            limit=table["limit"],
            cases=tuple(Case.from_dict(case) for case in table["cases"]),
            groups=tuple(Group.from_dict(group) for group in table.get("groups", ())),
            output=table.get("output", ""),
            least=table.get("least", False),
            score=table["score"],
            detail=detail,
            judged=judged,
            key=table["key"],
            by_construction=table.get("by_construction", False),
            only_answer=table.get("only_answer"),
            unfavoured=table.get("unfavoured", False),
            uniform=None if uniform is None else Estimate.from_dict(uniform),
            p_value=table.get("p_value"),
            e_value=table.get("e_value"),
            noise=None if noise is None else Estimate.from_dict(noise),
            gap=table.get("gap"),
            graded=table.get("graded", False),
        )

    def _repr_html_(self) -> str:
        from evenhand.formats import notebook_html

        return notebook_html("finding", self)

    def __str__(self) -> str:
        text = f"{self.claim}: {self.estimate}"
        if self.limit is not None:
            text = f"{text} against a limit of {self.limit:g}: {self.verdict}"
        if self.p_value is not None:
            text = f"{text} (p-value {number_text.p_value(self.p_value)})"
        return "; ".join([text, *self.remarks])


def _is_number(outcome: Any) -> bool:
    return isinstance(outcome, int | float) and not isinstance(outcome, bool)


def _is_fraction(outcome: Any) -> bool:
    """Return whether an outcome cannot be a class, which whole numbers may be."""
    return isinstance(outcome, float) and not outcome.is_integer()
