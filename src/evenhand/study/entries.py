"""Entries: the models and methods of a study, by name."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from evenhand.mitigation.catalogue import METHODS, method, needs
from evenhand.runtime.errors import UsageError, clip, nearest
from evenhand.runtime.fingerprint import fingerprint
from evenhand.study.fits import MethodInfo

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
class StudyMethod:
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
    >>> StudyMethod("half", key="correlation-remover", settings={"alpha": 0.5}).info.code
    'CR'
    """

    name: str
    key: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    factory: Callable[..., Any] | None = None

    def __post_init__(self) -> None:
        if self.factory is None:
            key = self.name if self.key is None else self.key
            object.__setattr__(self, "key", key)
            if key not in METHODS:
                raise UsageError(
                    f"unknown method {clip(repr(key))}; {nearest(key, METHODS)}"
                )
        for name in self.settings:
            if name in GIVEN:
                raise UsageError(
                    f"the method {self.name!r} has the setting {name!r}, which the study sets by"
                    " itself"
                )
        self._check_settings()

    def _check_settings(self) -> None:
        """Make the method once, so that an unknown setting is an error before anything is run."""
        prefit = {"prefit": True} if self.shares else {}
        try:
            self.make(estimator=None, over="", **prefit)
        except TypeError as error:
            raise UsageError(
                f"the method {self.name!r} cannot be made: {clip(str(error))}"
            ) from None

    @cached_property
    def info(self) -> MethodInfo:
        """What is known of it."""
        if self.factory is None:
            known = METHODS[str(self.key)]
            return MethodInfo(self.name, known.key, known.code, known.kind, known.own_model)
        own = "estimator" not in inspect.signature(self.factory).parameters
        code = getattr(self.factory, "code", "") or self.name
        kind = getattr(self.factory, "kind", "")
        if not kind:
            kind = "in" if own else "pre"
        return MethodInfo(self.name, self.key or "", code, kind, own)

    @property
    def off(self) -> Mapping[str, Any]:
        """The settings under which it does not mitigate."""
        factory = self.factory or METHODS[str(self.key)].factory
        return dict(getattr(factory, "off", {}))

    @property
    def shares(self) -> bool:
        """Whether it acts on the answers of a model that other methods share.

        It does not if it keeps columns or rows from the model.
        """
        keeps_columns = not self.settings.get("aware", True)
        keeps_rows = self.settings.get("validation") is not None
        return self.info.kind == "post" and not keeps_columns and not keeps_rows

    def make(self, *, estimator: Any = None, **given: Any) -> Any:
        """Return a method that is not fitted.

        What is given here goes before the settings, but for `random_state`: the seed of a study
        gives way to one that the user chose.
        """
        settings = {**given, **self.settings}
        for name, value in given.items():
            if name != "random_state":
                settings[name] = value
        if self.factory is None:
            return method(str(self.key), estimator, **settings)
        if self.info.own:
            return self.factory(**settings)
        return self.factory(estimator=estimator, **settings)

    def check(self) -> None:
        """Raise an error that names the extra if the libraries of the method are not installed."""
        if self.factory is not None:
            return
        missing = needs(str(self.key), **self.settings)
        if missing is not None:
            raise missing

    @property
    def digest(self) -> str:
        """What tells it from a method of the same key or factory with other settings."""
        factory_digest = "" if self.factory is None else fingerprint(self.factory)
        return f"{factory_digest} {sorted(self.settings.items())!r}"
