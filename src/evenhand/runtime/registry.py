"""A registry: entries by name, of evenhand itself, installed packages, or a user's program.

Verbs, adapters, strategies, metrics and report formats each have one. What evenhand brings is a
line that says where it lives, and is imported when it is asked for. Another package adds an entry
point of the registry's group, and a program calls `register`. What another package brings and
cannot be loaded is told when it is asked for by its name, and is left out of everything else: a
mistake of one package is no reason for evenhand to stop.
"""

from __future__ import annotations

import os
import sys
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from evenhand.runtime.errors import UsageError, clip, nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

T = TypeVar("T")


def resolve(place: str) -> Any:
    """Return what "package.module:name" stands for.

    >>> resolve("math:pi")
    3.141592653589793
    """
    module, _, name = place.partition(":")
    found: Any = import_module(module.strip())
    for part in name.split("."):
        found = getattr(found, part.strip())
    return found


def _is_named(group: str, folders: tuple[str, ...]) -> bool:
    """Return whether the files of installed packages name a group of entry points."""
    return f"[{group}]" in _entry_points(folders)


@cache
def _entry_points(folders: tuple[str, ...]) -> str:
    """Return what all packages on the path say of their entry points, joined."""
    found = []
    for folder in folders:
        try:
            names = os.listdir(folder or ".")  # noqa: PTH208
        # The folder is not there, or it is an archive, which holds no plugin of ours.
        except OSError:
            continue
        packages = [name for name in names if name.endswith((".dist-info", ".egg-info"))]
        found += [_read(f"{folder or '.'}/{name}/entry_points.txt") for name in packages]
    return "\n".join(found)


def _read(file: str) -> str:
    try:
        with open(file, encoding="utf-8") as text:  # noqa: PTH123
            return text.read()
    except OSError:
        return ""


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
    """Entries by name; one that is given as "package.module:name" is imported when first used.

    Parameters
    ----------
    what
        What an entry is called in messages.
    group
        The group of entry points under which installed packages add entries.
    places
        What evenhand brings, by name, in the order in which it is listed: where an entry lives, or
        the entry itself.
    problem
        Tells in a few words what is wrong with an entry of somebody else, given its name; nothing
        where it is fine.

    Examples
    --------
    >>> shapes = Registry("shape", "example.shapes", {"circle": "math:pi"})
    >>> shapes["circle"]
    3.141592653589793
    >>> shapes.register("square", 4.0)
    >>> list(shapes)
    ['circle', 'square']
    >>> shapes["sqare"]  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    evenhand.runtime.errors.UsageError: unknown shape 'sqare'; did you mean 'square'? ...
    """

    def __init__(
        self,
        what: str,
        group: str,
        places: Mapping[str, str | T],
        *,
        problem: Callable[[str, Any], str] | None = None,
    ) -> None:
        self.what = what
        self.group = group
        self._entries: dict[str, str | T] = dict(places)
        self._own = tuple(places)
        self._problem = problem
        self._packages: dict[str, str] = {}
        self._broken: dict[str, UsageError] = {}
        self._complete = False

    def register(self, name: str, entry: T) -> None:
        """Add an entry, or replace a registered one; evenhand's own names are taken."""
        if name in self._own:
            raise UsageError(
                f"{self.what} {name!r} is evenhand's own; register yours under another name"
            )
        # A text says where the entry lives.
        wrong = "" if isinstance(entry, str) else self._wrong(name, entry)
        if wrong:
            raise UsageError(f"{self.what} {name!r} {wrong}")
        self._entries[name] = entry
        self._broken.pop(name, None)

    def unregister(self, name: str) -> None:
        """Take out an entry that a program registered."""
        if name not in self._own:
            self._entries.pop(name, None)
            self._broken.pop(name, None)

    def origin(self, name: str) -> str:
        """Return the package that brings an entry, or none where a program registered it.

        >>> Registry("shape", "example.shapes", {"circle": "math:pi"}).origin("circle")
        'evenhand'
        """
        return "evenhand" if name in self._own else self._packages.get(name, "")

    def __getitem__(self, name: str) -> T:
        """Return an entry, or say which name is nearest."""
        if name not in self._own:
            self._read_entry_points()
        if name not in self._entries:
            raise UsageError(
                f"unknown {self.what} {clip(repr(name))}; {nearest(name, self)}"
            )
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

    def items(self) -> Iterator[tuple[str, T]]:
        """Yield names and entries in order; entries that cannot be loaded are left out."""
        for name in self:
            try:
                entry = self[name]
            except UsageError:
                continue  # `broken` says why
            yield name, entry

    def values(self) -> list[T]:
        """Return all entries in their order, but for those that cannot be loaded; see `broken`."""
        return [entry for _, entry in self.items()]

    @property
    def broken(self) -> dict[str, str]:
        """Entries of other packages that cannot be loaded: by name, why, and whose they are."""
        self.values()
        return {name: str(error) for name, error in self._broken.items()}

    def _load(self, name: str, place: str) -> T:
        if name in self._own:
            own: T = resolve(place)
            return own
        if name in self._broken:
            raise self._broken[name].with_traceback(None)
        try:
            found: T = resolve(place)
            wrong = self._wrong(name, found)
            if wrong:
                raise UsageError(f"it {wrong}")
        except (
            Exception
        ) as error:  # whatever somebody else's package does when it is imported
            package = self.origin(name)
            whose = f", of the package {package}" if package else ""
            kind = "" if isinstance(error, UsageError) else f"{type(error).__name__}: "
            self._broken[name] = UsageError(
                f"{self.what} {name!r} cannot be loaded from {place}{whose}:"
                f" {kind}{clip(str(error))}"
            )
            raise self._broken[name] from error
        return found

    def _wrong(self, name: str, entry: Any) -> str:
        """Return what is wrong with an entry, nothing where it is fine."""
        return "" if self._problem is None else self._problem(name, entry)

    def _read_entry_points(self) -> None:
        """Add what installed packages bring; they cannot replace evenhand's own entries."""
        if self._complete:
            return
        self._complete = True
        if not _is_named(self.group, tuple(sys.path)):
            return
        # The import takes tens of milliseconds, and hardly anybody needs it.
        from importlib import metadata

        for point in metadata.entry_points(group=self.group):
            if point.name not in self._entries:
                self._entries[point.name] = point.value
                self._packages[point.name] = "" if point.dist is None else point.dist.name
