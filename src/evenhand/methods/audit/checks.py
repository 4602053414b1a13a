"""Checks: what is to be run, from a configuration or Python, and which of them run together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from evenhand.methods.audit import LOG, messages
from evenhand.population.source import MOST_LEVELS
from evenhand.runtime.budget import Budget
from evenhand.runtime.errors import UsageError, clip, nearest
from evenhand.runtime.options import FILE, Options
from evenhand.space.feature_sets import sets_of
from evenhand.subject.subject import Subject
from evenhand.verbs import BUDGET, SHARE, VERBS, Verb

if TYPE_CHECKING:
    from evenhand.population.source import Source
    from evenhand.results.evidence import Finding
    from evenhand.results.protocol import Evidence
    from evenhand.space.space import Space

LIMIT = 0.05
GAP = 0.1
"""Engineering thresholds of the checks that are run where none are declared: for scores, and for
gaps of rates.
"""
MOST_TOGETHER = 6
"""The most protected features whose sets are all looked at without being asked for."""
CHOSEN = ("truth", "truth_positive", "bins")
"""What a check of recorded decisions may say otherwise than their [log] table."""

FeatureSet = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Check:
    """One check as it was written: its job, its settings, and the sets of features it is about."""

    job: str
    settings: Mapping[str, Any]
    sets: tuple[FeatureSet, ...] = ()


@dataclass(frozen=True, slots=True)
class CheckPlan:
    """One run: its job, and its settings as in a configuration.

    Checks that differ in `over` alone share one.
    """

    job: str
    settings: Mapping[str, Any]
    level: float | None = None
    """The level that its audit leaves to it; None where that is its own, or where it has none."""

    @property
    def name(self) -> str:
        """The check in a few words; the same whenever the same is checked."""
        sets = self.settings.get("over")
        if not sets:
            among = self.settings.get("among")
            sets = [among] if isinstance(among, str | list | tuple) else []
        about = "; ".join(_set_text(names) for names in sets)
        kind = self.settings.get("kind")
        if kind:
            job = f"{kind} {self.job}"
        else:
            job = self.job
        if about:
            return f"{job} {clip(about, 80)}"
        return job

    @property
    def options(self) -> dict[str, Any]:
        """What its verb is told: its settings but for its weight, at the level left to it."""
        options = {}
        for key, value in self.settings.items():
            if key not in SHARE:
                options[key] = value
        if self.level is not None:
            options.setdefault("level", self.level)
        return options

    def run(
        self,
        subject: Any,
        source: Source | None,
        *,
        seed: int = 0,
        n_jobs: int = 1,
        progress: bool | None = None,
        known: Sequence[Finding] = (),
    ) -> Evidence:
        """Run the check, as the verb of its name would; `known` is what others have found."""
        verb = verb_for(self.job, texts=not isinstance(subject, Subject))
        settings = {}
        for key, value in self.options.items():
            if key not in BUDGET:
                settings[key] = value
        common: dict[str, Any] = {"seed": seed}
        if known and "known" in verb.options.given:
            common["known"] = known
        if verb.bounds:
            bounds = {key: self.settings.get(key) for key in BUDGET}
            common["budget"] = Budget(**bounds)
            common["n_jobs"] = n_jobs
            common["progress"] = progress
        if verb.run is None:
            choices = nearest(self.job, jobs())
            raise UsageError(
                messages.JOB_CANNOT_BE_CHECKED.format(job=self.job, choices=choices)
            )
        found: Evidence = verb.run(source, subject, **settings, **common)
        return found


def holds_together(settings: Mapping[str, Any]) -> bool:
    """Return whether all that a check says holds together at its level.

    >>> holds_together({}), holds_together({"control": "fdr"})
    (True, False)
    """
    # A false discovery rate is of what is found on average, and not of all of it together.
    return settings.get("control") != "fdr"


def _set_text(names: str | Sequence[str]) -> str:
    if isinstance(names, str):
        return names
    return " and ".join(str(name) for name in names)


def jobs() -> list[str]:
    """Return the jobs that a check may have; those of texts have the names of those of tables.

    >>> jobs()[:3]
    ['measure', 'prevalence', 'subsets']
    """
    verbs = list(VERBS.values())
    for_texts = [verb.for_texts for verb in verbs]
    names = [verb.name for verb in verbs if verb.run is not None]
    return [name for name in names if name not in for_texts]


def log_jobs() -> list[str]:
    """Return the jobs that a check of recorded decisions may have.

    >>> log_jobs()
    ['measure_log', 'mine_log', 'impact']
    """
    names = []
    for verb in VERBS.values():
        if verb.command is not None and verb.command.source == "records":
            names.append(verb.name)
    return names


def log_options(job: str) -> Options:
    """Return the options of a `[[checks]]` table of recorded decisions."""
    over = LOG["over"]
    options = [replace(over, required=False)]
    for option in VERBS[job].options:
        # Files belong to the [log] table, and what is tested with them is the log itself.
        usable = option.toml or option.command
        if usable and option.kind is not FILE and option.name not in LOG:
            options.append(replace(option, toml=True))
    options += [option for option in VERBS[job].options if option.name in CHOSEN]
    return Options.of(*options, *SHARE)


def checked_list(checks: Any) -> Any:
    """Return checks that were given in Python; refuse what is no list of some."""
    is_list = checks is None or isinstance(checks, Sequence)
    if isinstance(checks, Mapping | str | bytes) or not is_list:
        raise UsageError(messages.CHECKS_ARE_NOT_A_LIST.format(checks=clip(repr(checks))))
    if checks is not None and not checks:
        raise UsageError(messages.CHECKS_ARE_EMPTY)
    return checks


def verb_for(job: str, *, texts: bool) -> Verb:
    """Return the verb that does a job, of tables or of texts."""
    verb = VERBS[job]
    if texts and verb.for_texts:
        return VERBS[verb.for_texts]
    return verb


def parsed(
    number: int,
    check: Any,
    *,
    texts: bool = False,
    log: bool = False,
    where: str = "",
    written: bool = False,
) -> Check:
    """Return a check, of recorded decisions where `log` says so; refuse what is wrong at once.

    `where` begins each sentence, as "evenhand.toml: " does. What is `written` in a file has values
    of known kinds, and what Python gives may be any object.

    >>> parsed(1, {"job": "measure", "over": 5})
    Traceback (most recent call last):
    evenhand.runtime.errors.UsageError: check 1 (measure) has over = 5; write the names of features
    """
    job = _job_of(number, check, where, log=log, written=written)
    place = f"{where}check {number} ({job})"
    if log:
        options = log_options(job)
    else:
        options = verb_for(job, texts=texts).checks
    for key, value in check.items():
        if key == "job":
            continue
        if key not in options.toml:
            _refuse_other_kind(job, key, value, where, texts=texts)
            choices = nearest(key, ("job", *options.toml))
            shown = clip(repr(key))
            raise UsageError(
                messages.UNKNOWN_KEY.format(place=place, key=shown, choices=choices)
            )
        if written:
            options[key].check(value, place)
    options.refuse_odd(place, check)
    settings = {key: value for key, value in check.items() if key not in ("job", "over")}
    return Check(job, settings, _sets(check.get("over"), place))


def _job_of(number: int, check: Any, where: str, *, log: bool, written: bool) -> str:
    """Return the job of a check; refuse one that there is not."""
    if not isinstance(check, Mapping):
        shown = clip(repr(check))
        if written:
            raise UsageError(
                messages.CHECK_IS_NOT_A_TABLE.format(
                    where=where, number=number, check=shown
                )
            )
        raise UsageError(
            messages.CHECK_IS_NOT_A_DICTIONARY.format(
                where=where, number=number, check=shown
            )
        )
    job = check.get("job")
    if isinstance(job, str) and job in VERBS.broken:
        reason = VERBS.broken[job]
        raise UsageError(
            messages.CHECK_IS_BROKEN.format(where=where, number=number, reason=reason)
        )
    known = log_jobs() if log else jobs()
    if isinstance(job, str) and job in known:
        return job
    raise UsageError(
        messages.UNKNOWN_JOB.format(
            where=where,
            number=number,
            job=clip(repr(job)),
            choices=nearest(job or "", known),
        )
    )


def _refuse_other_kind(job: str, key: str, value: Any, where: str, *, texts: bool) -> None:
    """Refuse what goes with tables where the software takes texts, and the other way round."""
    if not VERBS[job].for_texts:
        return
    other = verb_for(job, texts=not texts)
    if key not in other.checks.toml:
        return
    shown = clip(repr(value))
    known = ", ".join(verb_for(job, texts=texts).checks.toml)
    if texts:
        raise UsageError(
            messages.NOT_FOR_TEXTS.format(
                where=where, key=key, value=shown, job=job, known=known
            )
        )
    raise UsageError(
        messages.ONLY_FOR_TEXTS.format(
            where=where, key=key, value=shown, job=job, known=known
        )
    )


def _sets(over: Any, place: str) -> tuple[FeatureSet, ...]:
    if over is None:
        return ()
    try:
        sets = tuple(sets_of(over))
        hash(sets)  # a list within a list is no name
    except TypeError:
        shown = clip(repr(over))
        raise UsageError(
            messages.OVER_NAMES_NO_FEATURES.format(place=place, over=shown)
        ) from None
    return sets


@dataclass(slots=True)
class _JoinedChecks:
    """The first of several checks that differ in `over` alone, and the sets of all of them."""

    first: Check
    sets: list[FeatureSet]

    def takes(self, check: Check) -> bool:
        """Return whether a check differs from the first in nothing but its sets."""
        same_job = self.first.job == check.job
        # A check without sets is about all of them, which is another question.
        both_have_sets = bool(self.sets) == bool(check.sets)
        return same_job and both_have_sets and _equal(self.first.settings, check.settings)

    @property
    def plan(self) -> CheckPlan:
        """The run of all of them."""
        settings = self.first.settings
        if self.sets:
            settings = {**settings, "over": self.sets}
        return CheckPlan(self.first.job, settings)


def joined(checks: Sequence[Check]) -> list[CheckPlan]:
    """Return the runs of checks.

    Checks that differ in nothing but `over` are one run, so that their intervals hold together.
    """
    runs: list[_JoinedChecks] = []
    for check in checks:
        run = next((run for run in runs if run.takes(check)), None)
        if run is None:
            sets = list(dict.fromkeys(check.sets))
            runs.append(_JoinedChecks(check, sets))
        else:
            run.sets += [names for names in check.sets if names not in run.sets]
    return [run.plan for run in runs]


def _equal(first: Any, second: Any) -> bool:
    """Return whether two settings are the same; frames and models must be the very same object."""
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        if first.keys() != second.keys():
            return False
        return all(_equal(value, second[key]) for key, value in first.items())
    if isinstance(first, list | tuple) and isinstance(second, list | tuple):
        return len(first) == len(second) and all(map(_equal, first, second))
    plain_values = str | int | float | None
    if isinstance(first, plain_values) and isinstance(second, plain_values):
        return first == second
    return first is second


def usual(space: Space | None, *, real: bool, rates: bool = True) -> list[dict[str, Any]]:
    """Return the checks that are run where none are declared; without a space, those of texts.

    A search has no limit: it cannot pass, since not to find anything is no proof. `real` says that
    there are real rows, and `rates` that they have selection rates, which features of few values
    and a single output have.

    >>> from evenhand.space.feature import category
    >>> from evenhand.space.space import Space
    >>> features = [category("sex", ["F", "M"]), category("race", ["b", "w"])]
    >>> space = Space(features, protected=["sex", "race"])
    >>> [check["job"] for check in usual(space, real=True)]
    ['measure', 'measure', 'subsets', 'search', 'search', 'impact', 'mine']
    """
    if space is None:
        return [
            {"job": "mine", "limit": GAP},
            {"job": "mine", "kind": "causal", "limit": LIMIT},
        ]
    protected = list(space.protected)
    if not protected:
        features = ", ".join(space.names)
        raise UsageError(messages.NOTHING_PROTECTED.format(features=features))
    # That a feature which the software does not see changes nothing is no evidence: of those, only
    # the rates of groups among real rows tell anything.
    seen = [name for name in protected if space.feature(name).passed]
    if not seen and not real:
        raise UsageError(messages.NOTHING_SEEN.format(features=", ".join(protected)))
    checks: list[dict[str, Any]] = []
    for name in seen:
        checks.append({"job": "measure", "over": [name], "limit": LIMIT})
    # The sets of many features are too many to be looked at without being asked for.
    if 1 < len(seen) <= MOST_TOGETHER:
        checks.append({"job": "subsets", "among": seen, "limit": LIMIT})
    for name in seen:
        checks.append({"job": "search", "over": [name]})
    if real:
        for name in protected:
            if name not in seen and space.feature(name).variety <= MOST_LEVELS:
                group = {"job": "measure", "kind": "group", "over": [name], "limit": GAP}
                checks.append(group)
    if real:
        sizes = [space.feature(name).size for name in protected]
        if rates and min(sizes) <= MOST_LEVELS:
            checks.append({"job": "impact"})
        checks.append({"job": "mine", "limit": GAP})
    return checks


def planned(
    space: Space | None,
    checks: Sequence[Mapping[str, Any]] | None,
    bounds: Budget,
    *,
    real: bool,
    rates: bool = True,
) -> list[CheckPlan]:
    """Return the runs of checks that were given in Python, those with equal settings together."""
    tables = usual(space, real=real, rates=rates) if checks is None else checks
    bounded = []
    for number, table in enumerate(tables, start=1):
        check = parsed(number, table)
        settings = dict(check.settings)
        for key in VERBS[check.job].bounds:
            bound = getattr(bounds, key)
            if bound is not None:
                settings[key] = bound
        bounded.append(Check(check.job, settings, check.sets))
    return joined(bounded)
