"""A registry: what is known under a name, from evenhand itself, from an installed package, or from a user's program.

Verbs, adapters, strategies, metrics and report formats each have one. What evenhand brings is a line that says where
it lives, and is imported when it is asked for. Another package adds an entry point of the registry's group, and a
program calls `register`.
"""

from __future__ import annotations

from importlib import import_module, metadata
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from evenhand.runtime.errors import UsageError, clip, nearest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

T = TypeVar("T")


def resolve(place: str) -> Any:
    """Return what "package.module:name" stands for.

    >>> resolve("math:pi")
    3.141592653589793
    """
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


class Deferred:
    """A function that is imported when it is first called, so that naming it costs nothing.

    >>> Deferred("math:sqrt")(9)
    3.0
    """

    __slots__ = ("place",)

    def __init__(self, place: str) -> None:
        self.place = place

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function."""
        return resolve(self.place)(*args, **kwargs)

    def __repr__(self) -> str:
        return f"Deferred({self.place!r})"


class Registry(Generic[T]):
    """Entries by name; an entry that is given as "package.module:name" is imported when it is first used.

    Parameters
    ----------
    what
        What an entry is called in messages.
    group
        The group of entry points under which installed packages add entries.
    places
        What evenhand brings, by name, in the order in which it is listed: where an entry lives, or the entry itself.

    Examples
    --------
    >>> shapes = Registry("shape", "example.shapes", {"circle": "math:pi"})
    >>> shapes["circle"]
    3.141592653589793
    >>> shapes.register("square", 4.0)
    >>> list(shapes)
    ['circle', 'square']
    >>> shapes["sqare"]
    Traceback (most recent call last):
    evenhand.runtime.errors.UsageError: unknown shape 'sqare'; did you mean 'square'? Valid choices are 'circle', 'square'
    """  # noqa: E501

    def __init__(self, what: str, group: str, places: Mapping[str, str | T]) -> None:
        self.what = what
        self.group = group
        self._entries: dict[str, str | T] = dict(places)
        self._own = tuple(places)
        self._complete = False

    def register(self, name: str, entry: T) -> None:
        """Add an entry, or put it in the place of one that was registered before; evenhand's own names are taken."""
        if name in self._own:
            raise UsageError(f"{self.what} {name!r} is evenhand's own; register yours under another name")
        self._entries[name] = entry

    def unregister(self, name: str) -> None:
        """Take out an entry that a program registered."""
        if name not in self._own:
            self._entries.pop(name, None)

    def __getitem__(self, name: str) -> T:
        """Return an entry, or say which name is nearest."""
        if name not in self._own:
            self._read_entry_points()
        if name not in self._entries:
            raise UsageError(f"unknown {self.what} {clip(repr(name))}; {nearest(name, self)}")
        entry = self._entries[name]
        if isinstance(entry, str):
            entry = self._load(name, entry)
            self._entries[name] = entry
        return entry

    def __contains__(self, name: object) -> bool:
        if name in self._own:
            return True
        self._read_entry_points()
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        # Evenhand's own come first: who finds one of them does not wait for the entry points.
        yield from self._own
        self._read_entry_points()
        yield from [name for name in self._entries if name not in self._own]

    def values(self) -> list[T]:
        """Return all entries, in the order of their names."""
        return [self[name] for name in self]

    def _load(self, name: str, place: str) -> T:
        try:
            found: T = resolve(place)
        except (ImportError, AttributeError) as error:
            if name in self._own:
                raise
            # A package that somebody else wrote: say whose mistake it is.
            raise UsageError(f"{self.what} {name!r} cannot be loaded from {place}: {error}") from error
        return found

    def _read_entry_points(self) -> None:
        """Add what installed packages bring; they cannot replace evenhand's own entries."""
        if self._complete:
            return
        self._complete = True
        for point in metadata.entry_points(group=self.group):
            self._entries.setdefault(point.name, point.value)
