"""floor: does every group get the favourable outcome at least this often?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import evenhand as eh
from evenhand.runtime.options import FEATURES, NUMBER, WHOLE, Option, Options
from evenhand.verbs import Command, Verb

if TYPE_CHECKING:
    from evenhand.subject.subject import Subject

OPTIONS = Options.of(
    Option(
        "over",
        FEATURES,
        "features that form groups, separated by commas; repeat for more sets",
        repeat=True,
    ),
    Option(
        "least", NUMBER, "the least share of a group that is to get the favourable outcome"
    ),
    Option("draws", WHOLE, "how many inputs of each group are drawn (default: 200)"),
    given=("subject", "space", "budget", "seed", "n_jobs", "progress"),
)


@OPTIONS.checked
def floor(
    subject: Any,
    space: eh.Space | None = None,
    *,
    over: Any = None,
    least: float | None = None,
    draws: int = 200,
    budget: eh.Budget | None = None,
    seed: int = 0,
    n_jobs: int = 1,
    progress: bool | None = None,
) -> eh.Result:
    """Find the group that gets the favourable outcome least often, and hold it against the least
    share.
    """
    from evenhand.runtime.budget import Meter, Spent, checked_budget
    from evenhand.space.feature_sets import feature_sets
    from evenhand.subject.subject import as_subject

    software = as_subject(subject, space)
    before, meter = software.executed, Meter(checked_budget(budget), None)
    findings, stop = [], eh.StopReason.COMPLETED
    for names in feature_sets(software.space, over):
        if meter.left < draws * len(software.space.assignments(names)):
            stop = eh.StopReason.QUERIES
            break
        groups = _groups(software, names, draws, seed)
        meter.queries += sum(group.estimate.n for group in groups)
        lowest = min(groups, key=lambda group: group.estimate.value)
        claim = (
            f"of all groups by {' and '.join(names)}, the fewest are accepted of {lowest}"
        )
        findings.append(
            eh.Finding(
                claim,
                names,
                lowest.estimate,
                least,
                groups=groups,
                least=True,
                score="floor",
            )
        )
    spent = Spent(meter.queries, software.executed - before, meter.seconds)
    return eh.Result("floor", findings, seed, spent, stop, software.space.to_dict())


def _groups(
    software: Subject, names: tuple[str, ...], draws: int, seed: int
) -> tuple[eh.Group, ...]:
    """Draw inputs, put them into each group, and return how many of each are accepted; the
    intervals hold together.
    """
    from evenhand.runtime.random_streams import stream
    from evenhand.statistics.intervals import clopper_pearson

    space = software.space
    table = space.assignments(names)
    people = space.under(space.draw(draws, stream(seed, "floor", *names)), names, table)
    accepted = (
        software.favourable(software.decide(people)).reshape(len(table), draws).sum(axis=1)
    )
    low, high = clopper_pearson(accepted, draws, 1 - 0.05 / len(table))
    found = []
    for row, person in enumerate(space.records(people[::draws])):
        about = {name: person[name] for name in names}
        share = float(accepted[row]) / draws
        found.append(
            eh.Group(
                about,
                eh.Estimate(share, float(low[row]), float(high[row]), draws, 0.95, "exact"),
            )
        )
    return tuple(found)


def run(_source: Any, subject: Any, **settings: Any) -> eh.Result:
    """Run a check: it speaks of all inputs, whatever population there is."""
    return floor(subject, **settings)


FLOOR = Verb(
    "floor",
    question="Does every group get the favourable outcome at least this often?",
    definition=(
        "The floor is the share of the favourable outcome in the group that gets it least often."
    ),
    function=floor,
    options=OPTIONS,
    run=run,
    rule=(
        "A group is accepted too rarely",
        "A group gets the favourable outcome less often than it should.",
    ),
    command=Command(
        "floor",
        help="does every group get the favourable outcome at least this often?",
        example="evenhand floor --over sex --least 0.3",
        purpose="Test software",
        source="config",
    ),
    says="the group that is accepted least often",
)
