"""needed: how many inputs a question takes, before it is asked."""

from __future__ import annotations

from evenhand.population.samplers import Uniform
from evenhand.runtime.errors import UsageError, nearest
from evenhand.scores.kinds import KINDS
from evenhand.scores.planning.plans import causal_plan, group_plan
from evenhand.scores.planning.runs import group_runs, rate_runs
from evenhand.scores.question import ENOUGH, Terms


def needed(
    level: float = 0.95,
    margin: float | None = None,
    p: float = 0.5,
    limit: float | None = None,
    *,
    kind: str = "causal",
    groups: int = 2,
    base: float = 0.5,
    expensive: bool = False,
) -> int:
    """Return how many inputs `measure` takes on average where the score is p.

    It is the mean of the estimate's ``n`` over simulated runs of the plan that `measure` follows,
    and the same whenever it is called with the same arguments. Of a causal score ``n`` counts the
    people drawn, each of whom is asked with every value of the features: the software answers
    ``n * groups`` inputs. Of a group score ``n`` counts the inputs of all groups. Small spaces,
    which are enumerated instead, and given rows, which are all asked, take fewer.

    Parameters
    ----------
    level, margin, limit, kind
        As for `measure`.
    p
        The score; by default the one that takes most where there is no limit.
    groups
        How many values, or combinations of values, the features have.
    base
        Of a group score, the rate of the favourable outcome midway between the group treated worst
        and all others. It matters only where groups have people of their own, as more than 128
        groups do.
    expensive
        Whether each answer costs a process or a request; such software is asked only until the
        score is decided.

    Returns
    -------
    int
        The expected ``n`` of the estimate.

    Raises
    ------
    UsageError
        If p or base is not a rate, there are fewer than two groups, or level, margin, limit or kind
        is not valid.

    See Also
    --------
    plan : What all checks of an audit take. See docs/how-to/plan.md
    measure : Measures a score. See docs/how-to/measure.md

    Examples
    --------
    >>> needed(p=0.0, limit=0.05, expensive=True), needed(p=0.5, expensive=True)
    (87, 451)
    """
    _check(p, base, kind, groups)
    # The population does not matter: it is endless, and its features are independent.
    terms = Terms(Uniform(), level, margin, limit)
    most = None
    if limit is not None and not expensive:
        most = ENOUGH // groups
    if kind == "group":
        group = group_plan(terms, expensive=expensive, groups=groups)
        runs = group_runs(group, p, base=base, expensive=expensive, most=most)
        return round(runs.mean_inputs)
    causal = causal_plan(terms, expensive=expensive, variants=groups)
    return round(rate_runs(causal, p, most).mean_draws)


def _check(p: float, base: float, kind: str, groups: int) -> None:
    for name, rate in (("p", p), ("base", base)):
        if not 0 <= rate <= 1:
            raise UsageError(f"{name} is {rate!r}; a rate lies between 0 and 1")
    if kind not in KINDS:
        raise UsageError(f"kind is {kind!r}; {nearest(kind, KINDS)}")
    if not groups >= 2:
        raise UsageError(f"groups is {groups!r}; a feature has at least two values")
