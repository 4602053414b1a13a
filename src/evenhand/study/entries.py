"""Entries: the models and methods of a study, by name."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from evenhand.mitigation.catalogue import METHODS, method, needs
from evenhand.runtime.errors import UsageError, clip, nearest
from evenhand.runtime.fingerprint import fingerprint
from evenhand.study.fits import About

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

GIVEN = ("estimator", "over", "positive", "privileged", "prefit")
"""Parameters of methods that the study sets."""


@dataclass(frozen=True, eq=False)
class Model:
    """A classifier that is not fitted, by name; it takes frames with texts and numbers."""

    name: str
    estimator: Any


@dataclass(frozen=True, eq=False)
class Entry:
    """A method of a study: a key of the catalogue, or a factory of the user's own, with settings.

    Parameters
    ----------
    name
        What it is called in tables.
    key
        Its key in the catalogue, by default its name.
    settings
        Its parameters, but for those that the study sets: the estimator, the protected column and
        the labels.
    factory
        In place of a key, a class like `Mitigation`, or a function that makes one. Without a
        parameter `estimator` it has a model of its own, whose `off` are the settings that do not
        mitigate.

    Examples
    --------
    >>> Entry("half", key="correlation-remover", settings={"alpha": 0.5}).about.code
    'CR'
    """

    name: str
    key: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    factory: Callable[..., Any] | None = None

    def __post_init__(self) -> None:
        if self.factory is None:
            object.__setattr__(self, "key", self.name if self.key is None else self.key)
            if self.key not in METHODS:
                raise UsageError(
                    f"there is no method {clip(repr(self.key))}; {nearest(self.key, METHODS)}"
                )
        for name in self.settings:
            if name in GIVEN:
                raise UsageError(
                    f"the method {self.name!r} has the setting {name!r}, which the study sets by"
                    " itself"
                )
        try:
            self.make(estimator=None, over="", **({"prefit": True} if self.shares else {}))
        except TypeError as error:
            raise UsageError(
                f"the method {self.name!r} cannot be made: {clip(str(error))}"
            ) from None

    @cached_property
    def about(self) -> About:
        """What it is."""
        if self.factory is None:
            entry = METHODS[str(self.key)]
            return About(self.name, entry.key, entry.code, entry.kind, entry.own_model)
        own = "estimator" not in inspect.signature(self.factory).parameters
        code, kind = (getattr(self.factory, name, "") for name in ("code", "kind"))
        return About(
            self.name, self.key or "", code or self.name, kind or ("in" if own else "pre"), own
        )

    @property
    def off(self) -> Mapping[str, Any]:
        """The settings under which it does not mitigate."""
        return dict(getattr(self.factory or METHODS[str(self.key)].factory, "off", {}))

    @property
    def shares(self) -> bool:
        """Whether it acts on the answers of a model that others share; not if it keeps columns or
        rows from it.
        """
        kept = not self.settings.get("aware", True) or self.settings.get("validation") is not None
        return self.about.kind == "post" and not kept

    def make(self, *, estimator: Any = None, **how: Any) -> Any:
        """Return a method that is not fitted; what is given here goes before the settings, but for
        a seed.
        """
        chosen = {
            **how,
            **self.settings,
            **{name: value for name, value in how.items() if name != "random_state"},
        }
        if self.factory is None:
            return method(str(self.key), estimator, **chosen)
        return (
            self.factory(**chosen)
            if self.about.own
            else self.factory(estimator=estimator, **chosen)
        )

    def check(self) -> None:
        """Refuse a method whose libraries are not installed, naming the extra."""
        missing = None if self.factory is not None else needs(str(self.key), **self.settings)
        if missing is not None:
            raise missing

    @property
    def digest(self) -> str:
        """What tells it from a method of the same key or factory with other settings."""
        made = "" if self.factory is None else fingerprint(self.factory)
        return f"{made} {sorted(self.settings.items())!r}"
