"""Result: what a verb found, with the best evidence first, written as versioned JSON."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field, replace
from importlib import resources
from typing import TYPE_CHECKING, Any, ClassVar

from evenhand.results.about import is_of_the_rest
from evenhand.results.document import (
    FORMAT,
    RANK,
    findings_of,
    read_stop,
    spent_of,
    versions,
)
from evenhand.results.layout import ResultFields
from evenhand.results.protocol import Evidence
from evenhand.runtime.errors import UsageError
from evenhand.runtime.label_text import words_of_output, words_of_space
from evenhand.verbs import VERBS, verb_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from os import PathLike

    from evenhand.results.evidence import Finding
    from evenhand.runtime.budget import Spent
    from evenhand.runtime.label_text import Words
    from evenhand.space.rule import Rule
    from evenhand.statistics.estimate import StopReason


def _strength(finding: Finding) -> tuple[bool, int, float, float]:
    """Return the sort key of a finding: its verdict, then what is certain of it, then its value.

    A bound on all rules that have no finding of their own is about a rule without conditions. It
    comes after the rules themselves, and unknown values come last.
    """
    is_bound = is_of_the_rest(finding.about)
    estimate = finding.estimate
    certain = estimate.low
    value = estimate.value
    if finding.least:
        # Of a ratio small values are discrimination, and 1 is none.
        certain = 1 - estimate.high
        value = 1 - estimate.value
    by_value = 1.0 if math.isnan(value) else -value
    return is_bound, RANK[finding.verdict], -certain, by_value


def _bet(finding: Finding) -> float:
    """Return the bet that a score is at or over its limit; 0 where it was seen below."""
    estimate = finding.estimate
    limit = float(finding.limit or 0)
    is_over = estimate.value >= limit and (limit > 0 or estimate.value > 0)
    if not is_over or finding.by_construction:
        return 0.0
    if estimate.level == 1 or limit == 0:
        return math.inf
    if finding.e_value is None:
        raise UsageError(
            f"{finding.key!r} has no e-value; only scores that were drawn one by one have, as"
            " those of measure"
        )
    return finding.e_value


def by_evidence(findings: Sequence[Finding]) -> list[Finding]:
    """Return findings with the best evidence first."""
    return sorted(findings, key=_strength)


@dataclass(frozen=True)
class Result(Evidence):
    """What a verb found: findings with the best evidence first, and what repeats the run.

    Attributes
    ----------
    job
        The verb that made it.
    findings
        The findings, the best evidence first.
    seed
        The seed of the run.
    spent
        Inputs that were asked, inputs that were executed, and seconds.
    stop
        Why the run ended.
    space
        What an input can be, as JSON holds it.
    notes
        What else a reader should know.

    Notes
    -----
    See docs/how-to/measure.md
    """

    json_fields: ClassVar[Any] = ResultFields

    job: str
    findings: Sequence[Finding]
    seed: int
    spent: Spent
    stop: StopReason
    space: Mapping[str, Any]
    notes: Sequence[str] = ()
    versions: Mapping[str, str] = field(default_factory=versions)
    details: Mapping[str, Any] = field(default_factory=dict)
    """Further data of a verb, as JSON holds it: the lattice of `subsets`, for example."""
    domain: Any = field(default=None, repr=False, compare=False)
    """The space itself, which remembers the user's own frame; a result from a file has none."""
    outcome_labels: Mapping[str, Words] = field(default_factory=dict)
    """What people call the outcomes of each output, by their text; a single output has no name."""
    log: Mapping[str, Any] = field(default_factory=dict, compare=False)
    """Where the log lies and which engine read it, where it was opened; the digest is the same."""
    tests: Any = field(default=None, repr=False, compare=False)
    """The tests behind the scores, where the verb kept them; a result from a file has none."""

    def __post_init__(self) -> None:
        words = self.words
        named = []
        for finding in by_evidence(self.findings):
            outcomes = words_of_output(self.outcome_labels, finding.output)
            named.append(finding.named(words, outcomes))
        object.__setattr__(self, "findings", tuple(named))
        object.__setattr__(self, "notes", tuple(self.notes))

    @property
    def words(self) -> dict[str, Words]:
        """What people call the values of the features, of those that have labels."""
        return words_of_space(self.space)

    @property
    def level(self) -> float:
        """The level at which all findings hold together; 1 where every input was asked.

        Descriptive ones hold by themselves, and do not count.
        """
        levels = []
        for finding in self.findings:
            if not finding.descriptive:
                levels.append(finding.estimate.level)
        return min(levels, default=1.0)

    @property
    def worst(self) -> Finding:
        """The finding with the best evidence of discrimination.

        Raises
        ------
        UsageError
            There are no findings.
        """
        if not self.findings:
            raise UsageError(f"this {self.job} has no findings")
        return self.findings[0]

    def discoveries(self, level: float = 0.95) -> list[Finding]:
        """Return findings over their limits, few of which are so by chance.

        The false discovery rate, the expected share of wrong ones among them, is at most 1 - level
        over all findings that have a limit, by e-BH (Wang and Ramdas 2022): however they depend on
        each other, and whenever sampling ended. Verdicts hold together instead, which is more; of
        many sets of features, more are found this way.

        Raises
        ------
        UsageError
            A finding with a limit has no e-value, since nothing was drawn one by one.

        Notes
        -----
        See docs/explanation/intervals.md
        """
        from evenhand.statistics.discoveries import (
            e_discovered,  # imported where it is used
        )

        judged = [finding for finding in self.findings if finding.limit is not None]
        found = e_discovered([_bet(finding) for finding in judged], level)
        return [judged[number] for number in found.nonzero()[0].tolist()]

    def refine(self, rule: Rule | Finding | str | None = None) -> Any:
        """Return the rule sets with one condition more than a rule, beside its other people.

        Parameters
        ----------
        rule
            A rule, its text, or a finding of `mine` or `mine_log`: a story, or a refinement of one.
            Without it, the stories themselves, which are compared with everyone else.

        Returns
        -------
        pandas.DataFrame
            One row for each: `rule`, `rate`, `other` (the rate of the others), `difference` with
            `low` and `high`, `support`, `shown` (whether the limits exclude 0) and `level`; of
            several minings also `over`, `score` and `output`.

        Raises
        ------
        UsageError
            The verb finds no rules to refine, or the rule is not among those of this result.

        Notes
        -----
        See docs/how-to/mine.md

        Examples
        --------
        >>> import evenhand as eh
        >>> import pandas as pd
        >>> loans = pd.DataFrame({"sex": ["F", "M"] * 300, "home": ["own", "own", "rent"] * 200})
        >>> loans["granted"] = (loans["sex"] == "M").astype(int)
        >>> result = eh.mine_log(loans, outcome="granted", over=["sex", "home"])
        >>> result.refine()[["rule", "rate", "other", "shown"]].to_dict("records")
        [{'rule': 'sex F', 'rate': 0.0, 'other': 1.0, 'shown': True}]
        >>> result.refine("sex F")[["rule", "rate", "other", "shown"]].to_dict("records")[0]
        {'rule': 'sex F, home own', 'rate': 0.0, 'other': 0.0, 'shown': False}
        """
        refine = verb_of(self.job).refine
        if refine is None:
            names = [name for name, verb in VERBS.items() if verb.refine is not None]
            raise UsageError(
                f"this {self.job} has no rules to refine; results of {' and '.join(names)} do"
            )
        return refine(self, rule)

    def to_suite(self, path: str | PathLike[str], *, raw: bool = False) -> None:
        """Write every test behind the scores to a CSV or Parquet file, for `replay`.

        Parameters
        ----------
        path
            The file; its suffix says which.
        raw
            Whether CSV holds texts as they are that a spreadsheet would run as formulas; by default
            they begin with an apostrophe, which `replay` takes away.

        Raises
        ------
        UsageError
            The run kept no tests, or the file cannot be written.

        Notes
        -----
        See docs/how-to/replay.md
        """
        if self.tests is None:
            raise UsageError(
                f"this {self.job} kept no tests; run it with keep_tests=True to write them to a"
                " suite"
            )
        self.tests.write(path, raw=raw)

    def with_log(self, source: Mapping[str, Any]) -> Result:
        """Return the same result, of a log that was opened at this source."""
        return replace(self, log=dict(source))

    def extra(self) -> dict[str, Any]:
        """Return where the log lies; the same findings from any engine have the same digest."""
        return {"log": dict(self.log)} if self.log else {}

    def body(self) -> dict[str, Any]:
        """Return what only this kind of evidence holds, as JSON holds it."""
        table: dict[str, Any] = {
            "findings": [finding.to_dict() for finding in self.findings],
            "space": self.space,
        }
        if self.details:
            table["details"] = self.details
        if self.outcome_labels:
            table["outcome_labels"] = self.outcome_labels
        return table

    @classmethod
    def owns(cls, table: Mapping[str, Any]) -> bool:
        """Return whether parsed JSON is a result; other kinds of evidence have findings as well."""
        if "findings" not in table:
            return False
        job = table.get("job")
        if isinstance(job, str) and job in VERBS:
            return VERBS[job].document() is cls
        return True

    @classmethod
    def read(cls, table: Mapping[str, Any], where: str) -> Result:
        """Rebuild a result from JSON of the present format."""
        return cls(
            job=table["job"],
            findings=findings_of(table),
            seed=table["seed"],
            spent=spent_of(table),
            stop=read_stop(table["stop"]),
            space=table["space"],
            notes=table.get("notes", ()),
            versions=table["versions"],
            details=table.get("details", {}),
            outcome_labels=table.get("outcome_labels", {}),
            log=table.get("log", {}),
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
