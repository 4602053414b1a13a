"""Read a space from a TOML file, or from the settings XML of the original Themis."""

from __future__ import annotations

import datetime
import math
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.runtime.errors import (
    ConfigError,
    EvenhandError,
    SpaceError,
    UsageError,
    clip,
    nearest,
    printable,
)
from evenhand.runtime.options import (
    FILE,
    FLAG,
    LABEL,
    LIST,
    NUMBER,
    TABLE,
    TEXT,
    WORDS,
    Kind,
    Option,
    Options,
)
from evenhand.runtime.table_file import beside, read_frame
from evenhand.space.declaration import KINDS
from evenhand.space.feature import Feature, category, integer
from evenhand.space.frames import dtypes
from evenhand.space.frames.dtypes import split_dtypes
from evenhand.space.space import Space

if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike
    from xml.etree.ElementTree import Element

SPACE = Options.of(
    Option("from", FILE, "a CSV or Parquet file that the features are inferred from"),
    Option("target", TEXT, "the column of that file that is no input"),
    Option("drop", LIST, "further columns of that file that are no inputs"),
    Option("protected", LIST, "the protected features"),
    Option("constraints", LIST, "rules that all inputs keep, such as age >= 18"),
    Option(
        "learn_constraints",
        FLAG,
        "whether to learn from the file what goes together (default: yes)",
    ),
    Option("drop_constraints", LIST, "learnt constraints that do not count, as shown"),
    Option(
        "features", TABLE, "for each feature what it can be, or what is inferred otherwise"
    ),
)
"""The keys of a [space] table."""
_END_SCHEMA = {
    "anyOf": [NUMBER.schema, {"type": "string", "pattern": r"^\d{4}-\d{2}-\d{2}$"}]
}
_END = Kind(
    "end",
    (int, float, str, datetime.date),
    "a number, or a date such as 2020-01-31",
    _END_SCHEMA,
)
_LEVELS = Kind(
    "levels",
    (list,),
    "a list of labels",
    {"type": "array", "items": LABEL.schema, "minItems": 1},
)
_BINS = Kind(
    "bins",
    (int, list),
    "a number of bins, or a rising list of edges",
    {
        "anyOf": [
            {"type": "integer", "minimum": 1},
            {"type": "array", "items": _END_SCHEMA, "minItems": 2},
        ]
    },
)
_MISSING = Kind(
    "missing",
    (bool, float),
    "true, false, or a share over 0 and under 1",
    {
        "anyOf": [
            FLAG.schema,
            {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
        ]
    },
)
FEATURE = Options.of(
    Option("kind", TEXT, "what it is; implied by the other keys", choices=KINDS),
    Option("levels", _LEVELS, "the values of a category"),
    Option("low", _END, "the least value of a number or date"),
    Option("high", _END, "the greatest value of a number or date, included"),
    Option("step", NUMBER, "how far apart the values of a number are; of a date, in days"),
    Option(
        "bins",
        _BINS,
        "the groups of a number, and the values of a continuous one that is varied",
    ),
    Option("passed", FLAG, "false for what the software does not take"),
    Option("dtype", TEXT, "the dtype of its column, by pandas' name", choices=dtypes.WORDS),
    Option("missing", _MISSING, "whether it may be missing, or how often it is"),
    Option("twins_missing", FLAG, "true where a twin may lack the value"),
    Option("derived", TEXT, "what it follows from, such as year(applied)"),
    Option("labels", WORDS, "what people call its values, by the text of each value"),
)
"""The keys of a [space.features.NAME] table; the feature itself checks their values."""
_MOST_NESTED = 50
"""How often lists and tables may be nested; no configuration needs as many."""


def read_toml(path: str | PathLike[str]) -> dict[str, Any]:
    """Parse a TOML file, or raise a ConfigError; of a pyproject.toml take [tool.evenhand]."""
    file = Path(path)
    return parsed_toml(_read(file), file)


def parsed_toml(text: str, file: Path) -> dict[str, Any]:
    """Parse the text of a TOML file, as `read_toml` does.

    >>> parsed_toml("[tool.evenhand.space]", Path("pyproject.toml"))
    {'space': {}}
    """
    try:
        table = tomllib.loads(text)
    except ValueError as error:  # a number of too many digits is no TOMLDecodeError
        raise ConfigError(f"{file}: is not valid TOML: {clip(str(error))}") from None
    except RecursionError:
        table = None
    # A key of a thousand parts is parsed without recursion, and fails whoever shows its value.
    if table is None or _is_nested_deeper(table, _MOST_NESTED):
        raise ConfigError(f"{file}: lists and tables are nested too deeply")
    if file.name != "pyproject.toml":
        return table
    tools = table.get("tool", {})
    if isinstance(tools, dict):
        ours = tools.get("evenhand", {})
    else:
        ours = {}
    if not isinstance(ours, dict):
        raise ConfigError(
            f"{file}: tool.evenhand = {clip(repr(ours))} must be a table, [tool.evenhand]"
        )
    return ours


def _is_nested_deeper(table: dict[str, Any], most: int) -> bool:
    """Return whether lists and tables are nested more than so many times.

    >>> _is_nested_deeper({"a": [1]}, 2), _is_nested_deeper({"a": [[1]]}, 2)
    (False, True)
    """
    level: list[Any] = [table]
    for _ in range(most + 1):
        below: list[Any] = []
        for holder in level:
            if isinstance(holder, dict):
                below.extend(holder.values())
            elif isinstance(holder, list):
                below.extend(holder)
        level = below
    return bool(level)


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        otherwise = f"write one with: evenhand init DATA.csv -o {file.name}"
        hint = beside(file, (file.suffix.lower(),), otherwise)
        raise ConfigError(f"{file}: there is no such file; {hint}") from None
    except OSError as error:
        raise ConfigError(f"{file}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{file}: is not UTF-8 text") from None
    except ValueError as error:
        raise ConfigError(f"{printable(str(file))}: cannot be read: {error}") from None


def read_space(path: str | PathLike[str]) -> Space:
    """Read the space that a TOML or Themis XML file declares."""
    file = Path(path)
    if file.suffix.lower() == ".xml":
        return read_themis(file).space
    table = read_toml(file)
    if "space" not in table:
        wanted = "[tool.evenhand.space]" if file.name == "pyproject.toml" else "[space]"
        raise ConfigError(f"{file}: has no {wanted} table; {nearest('space', table)}")
    return space_from_table(table["space"], file)


def space_from_table(table: Mapping[str, Any], file: Path) -> Space:
    """Build a space from a `[space]` table; paths in it are relative to the file."""
    if not isinstance(table, dict):
        raise ConfigError(f"{file}: space = {clip(repr(table))} must be a table, [space]")
    try:
        SPACE.check(table, f"{file}: [space]")
    except UsageError as error:
        raise ConfigError(str(error)) from None
    declared = table.get("features", {})
    for name, entry in declared.items():
        if not isinstance(entry, dict):
            raise ConfigError(
                f"{file}: [space.features] {name} = {clip(repr(entry))} must be a table"
            )
        if "name" in entry:
            raise ConfigError(
                f"{file}: [space.features.{name}] has a key 'name'; the table has the name already"
            )
    try:
        if "from" in table:
            return _inferred(table, file, declared)
        if not declared:
            raise ConfigError(
                f'{file}: [space] needs from = "DATA.csv" or a [space.features.NAME] table per'
                " feature"
            )
        tables, words = split_dtypes(declared)
        features = [Feature.from_dict(name, entry) for name, entry in tables.items()]
        space = Space(features, table.get("protected", ()), table.get("constraints", ()))
        return space.typed(words)
    except ConfigError:
        raise
    except EvenhandError as error:
        raise ConfigError(f"{file}: [space]: {error}") from error


def _inferred(table: Mapping[str, Any], file: Path, declared: dict[str, Any]) -> Space:
    frame = read_frame(file.parent / table["from"])
    # A feature that only the table knows is one the data lack; it comes last.
    columns = list(frame.columns)
    known = {}
    for name, entry in declared.items():
        if name in columns:
            known[name] = entry
    base = Space.from_frame(
        frame,
        target=table.get("target"),
        drop=table.get("drop", ()),
        features=known,
        remember=False,
    )
    new = {}
    for name, entry in declared.items():
        if name not in columns:
            new[name] = entry
    tables, words = split_dtypes(new)
    added = []
    for name, entry in tables.items():
        added.append(_added(name, entry, columns))
    space = Space(
        [*base.features, *added],
        table.get("protected", ()),
        table.get("constraints", ()),
        base.layout,
    )
    file_name = Path(table["from"]).name
    learns = table.get("learn_constraints", True)
    remembering = space.typed(words).remembering(frame, file_name, learn=learns)
    dropped = table.get("drop_constraints", ())
    return remembering.dropping(*dropped) if dropped else remembering


def _added(name: str, entry: Mapping[str, Any], columns: list[str]) -> Feature:
    if not {"levels", "low", "high"} & set(entry):
        raise SpaceError(
            f"feature {name!r} is not a column of the data and declares no values;"
            f" {nearest(name, columns)}"
        )
    return Feature.from_dict(name, entry)


@dataclass(frozen=True, slots=True)
class Themis:
    """The settings file of the original Themis: a space, a command, and what was to be tested."""

    space: Space
    command: tuple[str, ...]
    seed: int
    tests: tuple[dict[str, Any], ...]


def read_themis(path: str | PathLike[str]) -> Themis:
    """Read a Themis settings file; the inputs that its tests name become the protected features."""
    import shlex
    from xml.etree import ElementTree

    file = Path(path)
    text = _read(file)
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise ConfigError(
            f"{file}: holds a document type, which a Themis settings file never needs; remove it"
        )
    try:
        root = ElementTree.fromstring(text)  # noqa: S314
    except ElementTree.ParseError as error:
        raise ConfigError(f"{file}: is not valid XML: {error}") from None
    features = [_themis_input(entry, file) for entry in root.iterfind("inputs/input")]
    if not features:
        raise ConfigError(
            f"{file}: has no <inputs><input>, so it is not a Themis settings file"
        )
    tests = tuple(_themis_test(entry, file) for entry in root.iterfind("tests/test"))
    protected: list[str] = []
    for test in tests:
        protected += test["over"]
    try:
        space = Space(features, tuple(dict.fromkeys(protected)))
    except EvenhandError as error:
        raise ConfigError(f"{file}: {error}") from None
    try:
        command = shlex.split(_text(root, "command", file, default=""))
    except ValueError as error:
        raise ConfigError(
            f"{file}: <command> = {root.findtext('command')!r} cannot be split: {error}"
        ) from None
    seed = _number(root, "seed", file, default=0, whole=True)
    return Themis(space, (*command, "{*}") if command else (), int(seed), tests)


def _text(entry: Element, path: str, file: Path, default: str | None = None) -> str:
    found = entry.findtext(path)
    if found is None or not found.strip():
        if default is None:
            raise ConfigError(f"{file}: a <{entry.tag}> has no <{path}>")
        return default
    return found.strip()


def _number(
    entry: Element,
    path: str,
    file: Path,
    default: float | None = None,
    *,
    whole: bool = False,
) -> float:
    text = _text(entry, path, file, None if default is None else str(default))
    try:
        number = float(text)
    except ValueError:
        raise ConfigError(f"{file}: <{path}> = {text!r} is not a number") from None
    if not math.isfinite(number) or (whole and number != int(number)):
        wanted = "whole" if whole else "finite"
        raise ConfigError(f"{file}: <{path}> = {text!r} is not a {wanted} number")
    return number


def _texts(entry: Element, path: str) -> list[str]:
    """Return the text of each element at a path."""
    return [(element.text or "").strip() for element in entry.iterfind(path)]


def _themis_input(entry: Element, file: Path) -> Feature:
    name = _text(entry, "name", file)
    kind = _text(entry, "type", file)
    try:
        if kind == "categorical":
            return category(name, _texts(entry, "values/value"))
        if kind == "continuousInt":
            low = _number(entry, "bounds/lowerbound", file, whole=True)
            high = _number(entry, "bounds/upperbound", file, whole=True)
            return integer(name, int(low), int(high))
    except SpaceError as error:
        raise ConfigError(f"{file}: {error}") from None
    raise ConfigError(
        f"{file}: input {name!r} has type {kind!r};"
        f" {nearest(kind, ('categorical', 'continuousInt'))}"
    )


def _themis_test(entry: Element, file: Path) -> dict[str, Any]:
    function = _text(entry, "function", file)
    known = ("group_discrimination", "causal_discrimination", "discrimination_search")
    if function not in known:
        raise ConfigError(f"{file}: unknown test {function!r}; {nearest(function, known)}")
    search = function == "discrimination_search"
    kinds = [kind for kind in ("group", "causal") if entry.find(kind) is not None]
    return {
        "job": "subsets" if search else "measure",
        "kinds": kinds if search else [function.partition("_")[0]],
        "over": _texts(entry, "i_fields/input_name"),
        "limit": _number(entry, "threshold", file) if search else None,
        "level": _number(entry, "conf", file),
        "margin": _number(entry, "margin", file),
    }
