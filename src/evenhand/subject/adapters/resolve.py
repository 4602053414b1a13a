"""Choose the adapter for what the user gave, and read the outcomes that the user names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from evenhand.runtime.errors import UsageError, clip
from evenhand.runtime.values import parse_outcome
from evenhand.space.space import Space
from evenhand.subject.adapters import ADAPTERS
from evenhand.subject.adapters.base import Adapter
from evenhand.subject.model_form import gaps_note, without_missing

if TYPE_CHECKING:
    from evenhand.subject.adapters.base import Output


def adapt(
    model: Any,
    *,
    positive: Any = None,
    threshold: float | None = None,
    output: Output = "label",
    identity: str | None = None,
) -> Adapter:
    """Return the adapter of a bare model: the first one registered that accepts it.

    An adapter is returned as it is.
    """
    options = _given_options(threshold=threshold, output=output, identity=identity)
    if isinstance(model, Adapter):
        for name, value in options.items():
            raise UsageError(
                f"{name} = {clip(repr(value))} is for a bare model; give it to the adapter instead"
            )
        return model
    if isinstance(model, type):
        raise UsageError(
            f"{model.__name__} is a class; pass a fitted instance of it, or a function"
        )
    for _, adapter in ADAPTERS.items():  # noqa: PERF102
        if adapter.accepts(model):
            return adapter.of(model, positive=positive, **options)
    raise UsageError(
        f"{clip(repr(model))} is neither a fitted estimator nor a function; for a program, a"
        " service or a file use Subject.command, stream, http, onnx or saved"
    )


def in_own_form(adapter: Adapter, space: Space) -> tuple[Space, list[str]]:
    """Return a space whose frames have the form of the software, and notes on what that means."""
    name = clip(adapter.name, 60)
    form = adapter.form()
    space = form.fitted(space, name)
    adapter.check(space)
    notes = form.notes(space, name)
    refused = adapter.refuses_missing(space)
    if refused:
        space = without_missing(space, refused)
        notes.append(gaps_note(refused, name))
    return space, notes


def _given_options(
    *, threshold: float | None, output: Output, identity: str | None
) -> dict[str, Any]:
    """Return what differs from the defaults: an adapter need not know the other options."""
    options: dict[str, Any] = {}
    if threshold is not None:
        options["threshold"] = threshold
    if output != "label":
        options["output"] = output
    if identity is not None:
        options["identity"] = identity
    return options


def kinds_in_files(*, texts: bool = False) -> list[str]:
    """Return the kinds of software that a configuration can name.

    With `texts`, only those that take texts.

    >>> kinds_in_files(texts=True)
    ['estimator', 'function']
    """
    found = []
    for kind, adapter in ADAPTERS.items():
        if adapter.value is not None and (adapter.takes_texts or not texts):
            found.append(kind)
    return found


def as_printed(outcomes: Any) -> Any:
    """Return outcomes of the user as a program's output is read, so that "1" and 1 are the same.

    >>> as_printed("1"), as_printed(["1", "2"])
    (1, [1, 2])
    """
    if isinstance(outcomes, str):
        return parse_outcome(outcomes)
    if isinstance(outcomes, Mapping) or not isinstance(outcomes, Iterable):
        return outcomes
    return [as_printed(outcome) for outcome in outcomes]


def check_space(space: Any) -> None:
    """Refuse what is no space, and a space of which the software would see nothing."""
    if not isinstance(space, Space):
        raise UsageError(
            f"space = {clip(repr(space))} is not a Space; build one with Space(...) or"
            " Space.from_frame(...)"
        )
    if not space.passed:
        raise UsageError(
            "no feature of the space is passed to the software; leave passed=True on one of them"
        )
