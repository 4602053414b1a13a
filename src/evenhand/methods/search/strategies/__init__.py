"""Strategies that look for discriminatory inputs, each under its name.

To add one, write a module with a `Strategy` and add a line here; another package adds an entry
point of the group `evenhand.strategies`, and a program calls ``STRATEGIES.register(name,
strategy)``. An entry is an object, or a class or function that makes one when it is called with
nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from evenhand.methods.search import messages
from evenhand.methods.search.strategies.base import Proposal, Setting, Strategy
from evenhand.runtime.errors import UsageError, clip, nearest
from evenhand.runtime.registry import Registry

if TYPE_CHECKING:
    from evenhand.methods.search.probe import Tried as Tried

__all__ = ["STRATEGIES", "Proposal", "Setting", "Strategy", "Tried", "as_strategy"]

Maker = Callable[[], Strategy]

STRATEGIES: Registry[Strategy | Maker] = Registry(
    "strategy",
    "evenhand.strategies",
    {
        "adaptive": "evenhand.methods.search.strategies.adaptive:Adaptive",
        "surrogate": "evenhand.methods.search.strategies.surrogate:Surrogate",
        "random": "evenhand.methods.search.strategies.aequitas:RANDOM",
        "semi-directed": "evenhand.methods.search.strategies.aequitas:SEMI_DIRECTED",
        "fully-directed": "evenhand.methods.search.strategies.aequitas:FULLY_DIRECTED",
    },
)


def as_strategy(strategy: str | Strategy | Maker) -> Strategy:
    """Return the strategy that a name or a class stands for, and an object as it is.

    >>> as_strategy("semi-directed").name
    'semi-directed'
    >>> as_strategy("adaptve")
    Traceback (most recent call last):
    evenhand.runtime.errors.UsageError: strategy = 'adaptve' is unknown; did you mean ...
    """
    if isinstance(strategy, Strategy):
        return strategy
    if isinstance(strategy, str) and strategy in STRATEGIES:
        return _made(strategy, STRATEGIES[strategy])
    if isinstance(strategy, type) and issubclass(strategy, Strategy):
        return strategy()
    shown = clip(repr(strategy))
    if hasattr(strategy, "propose"):
        raise UsageError(messages.NOT_A_STRATEGY.format(strategy=shown))
    choices = nearest(strategy, STRATEGIES)
    raise UsageError(messages.UNKNOWN_STRATEGY.format(strategy=shown, choices=choices))


def _made(name: str, entry: Strategy | Maker) -> Strategy:
    """Return the object that an entry is or makes."""
    made = entry if isinstance(entry, Strategy) else entry()
    if not isinstance(made, Strategy):
        shown = clip(repr(made))
        raise UsageError(messages.ENTRY_NOT_A_STRATEGY.format(name=repr(name), value=shown))
    return made


def __getattr__(name: str) -> object:
    # `Tried` is made of arrays, and to list the names of strategies must not import NumPy.
    if name == "Tried":
        from evenhand.methods.search.probe import Tried

        return Tried
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
