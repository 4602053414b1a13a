"""evenhand init: a configuration file with comments, inferred from a data file."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from evenhand.core.errors import DataError, UsageError, nearest
from evenhand.core.feature import plain
from evenhand.core.files import read_frame
from evenhand.core.space import Space

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from evenhand.core.feature import Feature

USUAL = ("sex", "gender", "race", "ethnicity", "ethnic", "age", "religion", "disability", "nationality", "marital")
"""Words in column names that suggest a protected feature."""

_SUBJECT = """\
# What to test: exactly one of the lines below. Paths are relative to this file.
[subject]
# command   = ["./decide", "{{*}}"]            # one process per input; {{*}} is all values, {{{first}}} one of them
# stream    = ["./decide-all"]               # one JSON object per line in, one outcome per line out
# http      = "http://127.0.0.1:8000/decide" # JSON: {{"inputs": [...]}} in, [...] out
# estimator = "model.skops"                  # a fitted scikit-learn estimator or pipeline
# onnx      = "model.onnx"
# function  = "package.module:function"      # takes a DataFrame, returns one outcome per row
positive = {positive}
# ledger = "evenhand.ledger"                 # keeps every executed test; a killed run goes on where it was
"""
_CHECK = """\
[[checks]]
job = "measure"
over = {over}
limit = 0.05        # an engineering threshold, not a legal one
"""
_SEARCH = """\
# [[checks]]
# job = "search"    # shows concrete inputs that are treated differently
# over = {over}
# limit = 0         # how many are tolerated
"""
_MINE = """\
# [[checks]]
# job = "mine"      # finds readable subgroups that are treated differently from everyone else
# over = {over}
# limit = 0.1       # how far apart their rates may be
"""
_REPAIR = """\
# [repair]          # evenhand repair trains the estimator again on these rows, so that it discriminates less
# over = {over}
# output = "repaired.skops"
"""


def write_config(data: Path, target: str | None, protected: Sequence[str] | None, file: Path) -> Space:
    """Write a configuration for the data to a file, and return the space it declares."""
    frame = read_frame(data)
    columns = [str(name) for name in frame.columns]
    if target is not None and target not in columns:
        raise DataError(f"{data}: --target {target!r} is no column; {nearest(target, columns)}")
    chosen = _guess(columns, target, data) if protected is None else list(protected)
    for name in chosen:
        if name not in columns:
            raise DataError(f"{data}: --protected {name!r} is no column; {nearest(name, columns)}")
    try:
        space = Space.from_frame(frame, chosen, target=target)
    except DataError as error:
        raise DataError(f"{data}: {error}") from None
    try:
        file.write_text(_config(space, data, target, _positive(frame, target), file), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{file}: cannot be written: {error.strerror}") from None
    return space


def _guess(columns: Sequence[str], target: str | None, data: Path) -> list[str]:
    found = [name for name in columns if name != target and any(word in name.lower() for word in USUAL)]
    if not found:
        raise UsageError(
            f"{data}: say which columns are protected with --protected a,b; there are {', '.join(columns)}"
        )
    return found


def _positive(frame: Any, target: str | None) -> Any:
    """Guess the favourable outcome: the greatest value of the target, such as 1 of 0 and 1."""
    if target is None:
        return 1
    values = frame[target].dropna().unique().tolist()
    try:
        return max(values)
    except (TypeError, ValueError):
        return 1


def _config(space: Space, data: Path, target: str | None, positive: Any, file: Path) -> str:
    lines = ["# evenhand: fairness tests. See `evenhand --help`.", ""]
    lines += [_SUBJECT.format(first=space.names[0], positive=toml(positive)), "[space]"]
    lines += [f"from = {toml(_relative(data, file))}  # features are inferred from it; any table below overrides"]
    if target is not None:
        lines += [f"target = {toml(target)}  # not an input"]
    lines += [f"protected = {toml(list(space.protected))}"]
    lines += ['# constraints = ["age >= 18"]  # combinations that cannot occur are never tested', ""]
    for feature in space.features:
        lines += [f"[space.features.{_key(feature.name)}]", *_declaration(feature), ""]
    if target is not None and space.protected:
        lines += [_REPAIR.format(over=toml(list(space.protected[:1])))]
    lines += [_CHECK.format(over=toml([name])) for name in space.protected]
    if space.protected:
        lines += [_SEARCH.format(over=toml(list(space.protected[:1]))), _MINE.format(over=toml(list(space.protected)))]
    return "\n".join(lines)


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else toml(name)


def _relative(data: Path, file: Path) -> str:
    try:
        return data.resolve().relative_to(file.parent.resolve()).as_posix()
    except ValueError:
        return data.resolve().as_posix()


def _declaration(feature: Feature) -> list[str]:
    table = feature.to_dict()
    return [f"{key} = {toml(value)}" for key, value in table.items() if key != "name"]


def toml(value: Any) -> str:
    """Write a value as TOML.

    >>> toml(["a\\"b", True, 1, 0.5])
    '["a\\\\"b", true, 1, 0.5]'
    """
    if isinstance(value, list):
        return "[" + ", ".join(toml(item) for item in value) + "]"
    if isinstance(value, str):
        # JSON escapes all that TOML forbids but the delete character.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return json.dumps(plain(value))
