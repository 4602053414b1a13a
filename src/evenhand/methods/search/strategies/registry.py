"""Which strategy a name stands for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evenhand.methods.search.strategies.adaptive import Adaptive
from evenhand.methods.search.strategies.aequitas import UPDATES, Aequitas
from evenhand.methods.search.strategies.exhaustive import Everything
from evenhand.runtime.errors import UsageError, clip, nearest
from evenhand.runtime.options import checked_keywords

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenhand.methods.search.strategies.base import Setting, Strategy

OURS = ("adaptive", "surrogate")
STRATEGIES = (*OURS, *UPDATES)


@dataclass(frozen=True, slots=True)
class Published:
    """A strategy of Aequitas with its parameters; build it with `aequitas`."""

    name: str
    options: Mapping[str, Any]


@checked_keywords
def aequitas(
    update: str = "fully-directed",
    *,
    dv: float = 0.001,
    dpr: float = 0.001,
    global_trials: int = 1000,
    local_trials: int = 1000,
) -> Published:
    """Return a strategy of Aequitas with other parameters than the paper's, for ``search(strategy=…)``.

    Parameters
    ----------
    update
        ``"random"``, ``"semi-directed"`` (Algorithm 3) or ``"fully-directed"`` (Algorithm 4).
    dv, dpr
        The paper's Δv and Δpr.
    global_trials, local_trials
        Inputs drawn in a global phase, and steps from each discriminatory one.

    Examples
    --------
    >>> aequitas("semi-directed", dv=0.01).name
    'semi-directed'
    """
    if update not in UPDATES:
        raise UsageError(f"update = {clip(repr(update))} is unknown; {nearest(update, UPDATES)}")
    options = {"dv": dv, "dpr": dpr, "global_trials": global_trials, "local_trials": local_trials}
    return Published(update, options)


def check_strategy(strategy: str | Published) -> str:
    """Return the name of a strategy, or say which is nearest."""
    if isinstance(strategy, Published):
        return strategy.name
    if strategy not in STRATEGIES:
        raise UsageError(f"strategy = {clip(repr(strategy))} is unknown; {nearest(strategy, STRATEGIES)}")
    return strategy


def strategy_of(strategy: str | Published, setting: Setting) -> Strategy:
    """Build a strategy; ours try every input where the budget suffices for that."""
    name = check_strategy(strategy)
    if name in OURS:
        return Everything.of(setting.probe, setting.queries) or _ours(name, setting)
    options = strategy.options if isinstance(strategy, Published) else {}
    # Laying out steps ahead asks more than is used, which is only worth it where asking is cheap.
    return Aequitas(setting, name, ahead=not setting.probe.view.subject.adapter.dear, **options)


def _ours(name: str, setting: Setting) -> Strategy:
    if name == "adaptive":
        return Adaptive(setting)
    from evenhand.methods.search.strategies.surrogate import Surrogate

    return Surrogate(setting)
