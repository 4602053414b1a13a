"""The files that a configuration names: which there are, their sums, and where they are put."""

from __future__ import annotations

import copy
import hashlib
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from evenhand.bundle import messages
from evenhand.config.checks import file_options
from evenhand.population.logs.address import is_address, without_secrets
from evenhand.runtime.errors import UsageError
from evenhand.runtime.options import FILE
from evenhand.runtime.table_file import SUFFIXES, read_frame
from evenhand.subject.adapters import ADAPTERS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from evenhand.config.file import Config

DATA = "data"
INCLUDED = "included"
SOFTWARE = "software"
_PLACES = {
    ("space", "from"): DATA,
    ("population", "rows"): DATA,
    ("population", "profile"): DATA,
    ("texts", "from"): DATA,
    ("texts", "lexicon"): INCLUDED,
    ("log", "from"): DATA,
}
"""The keys of a configuration that name files to read, and what these are."""
_ODD = set('\\:*?"<>|')
_LONGEST = 200


@dataclass(frozen=True)
class NamedFile:
    """A file that a configuration names: what it is, its sum, and its place in a bundle."""

    written: str
    role: str
    path: str
    """Where it is put, relative to the configuration."""
    sha256: str
    bytes: int
    rows: int | None = None
    columns: tuple[str, ...] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as JSON holds them."""
        return {key: value for key, value in asdict(self).items() if value is not None}

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> NamedFile:
        """Return the file that `to_dict` has written."""
        columns = table.get("columns")
        kept = {key: table[key] for key in ("written", "role", "path", "sha256", "bytes")}
        listed = None if columns is None else tuple(columns)
        return cls(**kept, rows=table.get("rows"), columns=listed)


def named_files(config: Config) -> dict[str, tuple[NamedFile, bytes]]:
    """Return the files that a configuration names, each once, with their contents."""
    files: dict[str, tuple[NamedFile, bytes]] = {}
    for place, role in _places(config):
        written = str(_value(config.table, place))
        if written not in files:
            file = config.file.parent / written
            files[written] = described(file, written, role, number=len(files))
    return files


def described(
    file: Path, written: str, role: str, *, number: int = 0
) -> tuple[NamedFile, bytes]:
    """Return a file with its sum, and of rows how many there are and of which columns."""
    if not file.is_file() and is_address(str(written)):
        shown = without_secrets(written)
        raise UsageError(messages.NOT_ONE_FILE.format(file=shown))
    try:
        content = file.read_bytes()
    except OSError as error:
        reason = error.strerror
        raise UsageError(messages.UNREADABLE.format(file=file, reason=reason)) from None
    rows, columns = None, None
    if role == DATA and file.name.lower().endswith(SUFFIXES):
        frame = read_frame(file)
        rows, columns = len(frame), tuple(map(str, frame.columns))
    digest = hashlib.sha256(content).hexdigest()
    path = safe_path(written, number)
    return NamedFile(written, role, path, digest, len(content), rows, columns), content


def _places(config: Config) -> Iterator[tuple[tuple[Any, ...], str]]:
    """Yield where a configuration names files that there are, and what they are."""
    for place, role in _PLACES.items():
        if _value(config.table, place) is not None:
            yield place, role
    for number, check in enumerate(config.table.get("checks", ())):
        for name in file_options(check["job"], texts=config.of_texts):
            if name in check:
                yield ("checks", number, name), DATA
    for kind in config.table.get("subject", {}):
        option = ADAPTERS[kind].value if kind in ADAPTERS else None
        if option is not None and option.kind is FILE:
            yield ("subject", kind), SOFTWARE


def _value(table: Any, place: tuple[Any, ...]) -> Any:
    """Return what stands at a place of nested tables, None where there is nothing."""
    for key in place:
        if isinstance(key, str) and not (isinstance(table, dict) and key in table):
            return None
        table = table[key]
    return table


def with_paths(config: Config, path_of: Mapping[str, str]) -> dict[str, Any]:
    """Return the tables of a configuration with other paths; a file without one is refused."""
    table: dict[str, Any] = copy.deepcopy(dict(config.table))
    for place, role in _places(config):
        written = str(_value(table, place))
        holder = _value(table, place[:-1])
        if role == SOFTWARE:
            continue
        if written not in path_of:
            raise UsageError(messages.NOT_LISTED.format(file=written))
        holder[place[-1]] = path_of[written]
    return table


def safe_path(written: str, number: int = 0) -> str:
    """Return a path below the configuration: the one that is written, unless it leads elsewhere.

    >>> safe_path("data/loans.csv"), safe_path("/home/me/loans.csv", 2)
    ('data/loans.csv', 'outside/2/loans.csv')
    """
    path = PurePosixPath(Path(written).as_posix())
    odd = not written.isprintable() or _ODD.intersection(written) or len(written) > _LONGEST
    leaves = path.is_absolute() or ".." in path.parts
    if not odd and not leaves and str(path) == written:
        return written
    letters = []
    for letter in path.name[-_LONGEST // 2 :]:
        is_odd = letter in _ODD or not letter.isprintable()
        letters.append("_" if is_odd else letter)
    return f"outside/{number}/{''.join(letters)}"


def is_safe(path: str) -> bool:
    """Return whether a path of a bundle stays below the folder that it is put in."""
    parts = PurePosixPath(path).parts
    return bool(path) and safe_path(path) == path and parts[0] != "/"
