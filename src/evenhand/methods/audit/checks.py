"""Checks: what is to be run, read from a configuration or given in Python, and which of them run
together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evenhand.population.source import MOST_LEVELS
from evenhand.runtime.budget import Budget
from evenhand.runtime.errors import UsageError, clip, nearest
from evenhand.space.feature_sets import sets_of
from evenhand.subject.subject import Subject
from evenhand.verbs import BUDGET, VERBS, Verb

if TYPE_CHECKING:
    from evenhand.population.source import Source
    from evenhand.results.protocol import Evidence
    from evenhand.space.space import Space

LIMIT, GAP = 0.05, 0.1
"""Engineering thresholds of the checks that are run where none are declared: for scores, and for
gaps of rates.
"""
MOST_TOGETHER = 6
"""The most protected features whose sets are all looked at without being asked for."""

Sets = tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Check:
    """One check as it was written: its job, its settings, and the sets of features that it is
    about.
    """

    job: str
    settings: Mapping[str, Any]
    sets: Sets = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """One run: its job, and its settings as a configuration says them; checks that differ in `over`
    alone share one.
    """

    job: str
    settings: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The check in a few words; the same whenever the same is checked."""
        sets = self.settings.get("over") or (
            [self.settings["among"]] if "among" in self.settings else []
        )
        about = "; ".join(
            " and ".join([names] if isinstance(names, str) else names) for names in sets
        )
        kind = self.settings.get("kind")
        job = f"{kind} {self.job}" if kind else self.job
        return f"{job} {clip(about, 80)}" if about else job

    def run(
        self,
        subject: Any,
        source: Source,
        *,
        seed: int = 0,
        n_jobs: int = 1,
        progress: bool | None = None,
    ) -> Evidence:
        """Run the check, as the verb of its name would."""
        verb = verb_for(self.job, texts=not isinstance(subject, Subject))
        settings = {key: value for key, value in self.settings.items() if key not in BUDGET}
        common: dict[str, Any] = {"seed": seed}
        if verb.bounds:
            budget = Budget(**{key: self.settings.get(key) for key in BUDGET})
            common |= {"budget": budget, "n_jobs": n_jobs, "progress": progress}
        if verb.run is None:
            raise UsageError(f"{self.job} is no job of checks; {nearest(self.job, jobs())}")
        found: Evidence = verb.run(source, subject, **settings, **common)
        return found


def jobs() -> list[str]:
    """Return the jobs that a check may have; that of texts goes by the name of the one for tables.

    >>> jobs()[:3]
    ['measure', 'prevalence', 'subsets']
    """
    for_texts = [verb.for_texts for verb in VERBS.values()]
    return [
        verb.name for verb in VERBS.values() if verb.run is not None and verb.name not in for_texts
    ]


def verb_for(job: str, *, texts: bool) -> Verb:
    """Return the verb that does a job, of tables or of texts."""
    verb = VERBS[job]
    return VERBS[verb.for_texts] if texts and verb.for_texts else verb


def parsed(
    number: int, check: Any, *, texts: bool = False, where: str = "", written: bool = False
) -> Check:
    """Return a check; refuse what is wrong before anything is asked.

    `where` begins each sentence, as "evenhand.toml: " does. What is `written` in a file has values
    of known kinds, and what Python gives may be any object.

    >>> parsed(1, {"job": "measure", "limt": 0.05})
    Traceback (most recent call last):
    evenhand.runtime.errors.UsageError: check 1 (measure) has an unknown key 'limt'; did you mean 'limit'? Valid \
choices are 'job', 'over', 'kind', 'limit', 'margin', 'level', 'interval', 'exact', 'queries', 'seconds'
    """
    if not isinstance(check, Mapping):
        example = "a [[checks]] table" if written else 'a dictionary such as {"job": "measure"}'
        raise UsageError(f"{where}check {number} is {clip(repr(check))}; write {example}")
    job = check.get("job")
    if isinstance(job, str) and job in VERBS.broken:
        raise UsageError(f"{where}check {number}: {VERBS.broken[job]}")
    if not isinstance(job, str) or job not in jobs():
        raise UsageError(
            f"{where}check {number} has job = {clip(repr(job))}; {nearest(job or '', jobs())}"
        )
    place = f"{where}check {number} ({job})"
    options = verb_for(job, texts=texts).checks
    for key, value in check.items():
        if key == "job":
            continue
        if key not in options.toml:
            _refuse_other_kind(job, key, value, where, texts=texts)
            known = ("job", *options.toml)
            raise UsageError(f"{place} has an unknown key {clip(repr(key))}; {nearest(key, known)}")
        if written:
            options[key].check(value, place)
    settings = {key: value for key, value in check.items() if key not in ("job", "over")}
    return Check(job, settings, _sets(check.get("over"), place))


def _refuse_other_kind(job: str, key: str, value: Any, where: str, *, texts: bool) -> None:
    """Refuse what goes with tables where the software takes texts, and the other way round."""
    if not VERBS[job].for_texts or key not in verb_for(job, texts=not texts).checks.toml:
        return
    why = "[texts] declares texts" if texts else "there is no [texts] table"
    known = ", ".join(verb_for(job, texts=texts).checks.toml)
    raise UsageError(
        f"{where}{key} = {clip(repr(value))} does not go here, since {why}; {job} then takes"
        f" {known}"
    )


def _sets(over: Any, place: str) -> Sets:
    if over is None:
        return ()
    try:
        return tuple(sets_of(over))
    except TypeError:
        raise UsageError(f"{place} has over = {clip(repr(over))}; name features") from None


def joined(checks: Sequence[Check]) -> list[Plan]:
    """Return the runs of checks: those that differ in nothing but `over` are one, so that they hold
    together.
    """
    runs: list[tuple[Check, list[tuple[str, ...]]]] = []
    for check in checks:
        sets = _of_equals(runs, check)
        if sets is None:
            runs.append((check, list(dict.fromkeys(check.sets))))
        else:
            sets += [names for names in check.sets if names not in sets]
    return [
        Plan(check.job, {**check.settings, "over": sets} if sets else check.settings)
        for check, sets in runs
    ]


def _of_equals(
    runs: Sequence[tuple[Check, list[tuple[str, ...]]]], check: Check
) -> list[tuple[str, ...]] | None:
    """Return the sets of the run that a check belongs to, None where it is the first of its kind."""
    for known, sets in runs:
        alike = known.job == check.job and bool(sets) == bool(check.sets)
        if alike and _equal(known.settings, check.settings):
            return sets
    return None


def _equal(one: Any, other: Any) -> bool:
    """Tell whether two settings are the same; frames and models are where they are the very same."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_equal(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(_equal, one, other))
    if isinstance(one, str | int | float | None) and isinstance(other, str | int | float | None):
        return one == other
    return one is other


def usual(space: Space | None, *, real: bool, rates: bool = True) -> list[dict[str, Any]]:
    """Return the checks that are run where none are declared; of texts, the terms they are treated
    differently with.

    A search has no limit: it cannot pass, since not to find anything is no proof. `real` says that
    there are real rows, and `rates` that selection rates can be told of them, which features of few
    values and a single output have.

    >>> from evenhand.space.feature import category, integer
    >>> from evenhand.space.space import Space
    >>> space = Space([category("sex", ["F", "M"]), category("race", ["b", "w"])], protected=["sex", "race"])
    >>> [check["job"] for check in usual(space, real=True)]
    ['measure', 'measure', 'subsets', 'search', 'search', 'impact', 'mine']
    """
    if space is None:
        return [{"job": "mine", "limit": GAP}, {"job": "mine", "kind": "causal", "limit": LIMIT}]
    protected = list(space.protected)
    if not protected:
        raise UsageError(
            "the space names no protected features, so there is nothing to check; name them, or"
            f" write [[checks]] with over, one or more of {', '.join(space.names)}"
        )
    found: list[dict[str, Any]] = [
        {"job": "measure", "over": [name], "limit": LIMIT} for name in protected
    ]
    if 1 < len(protected) <= MOST_TOGETHER:
        found.append({"job": "subsets", "among": protected, "limit": LIMIT})
    found += [{"job": "search", "over": [name]} for name in protected]
    if real and rates and any(space.feature(name).size <= MOST_LEVELS for name in protected):
        found.append({"job": "impact"})
    if real:
        found.append({"job": "mine", "limit": GAP})
    return found


def planned(
    space: Space | None,
    checks: Sequence[Mapping[str, Any]] | None,
    bounds: Budget,
    *,
    real: bool,
    rates: bool = True,
) -> list[Plan]:
    """Return the runs of checks that were given in Python, those with equal settings together."""
    given = usual(space, real=real, rates=rates) if checks is None else checks
    found = []
    for number, check in enumerate(given, start=1):
        one = parsed(number, check)
        spend = {key: getattr(bounds, key) for key in VERBS[one.job].bounds}
        given_spend = {key: value for key, value in spend.items() if value is not None}
        found.append(Check(one.job, {**one.settings, **given_spend}, one.sets))
    return joined(found)
