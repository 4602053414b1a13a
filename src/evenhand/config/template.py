"""evenhand init: a configuration file with comments, inferred from a data file, and for a model
where one is named.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.methods.audit.checks import usual
from evenhand.runtime.errors import DataError, UsageError, clip, nearest
from evenhand.runtime.table_file import beside, read_frame
from evenhand.runtime.values import parse_outcome
from evenhand.space.feature import plain
from evenhand.space.space import Space
from evenhand.subject.adapters import ADAPTERS
from evenhand.verbs import VERBS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenhand.space.feature import Feature

USUAL = (
    "sex",
    "gender",
    "race",
    "ethnicity",
    "ethnic",
    "age",
    "religion",
    "disability",
    "nationality",
    "marital",
)
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
"""
_MEANING = """\
positive = {positive}
# ledger = "evenhand.ledger"                 # keeps every executed test; a killed run goes on where it was
"""
_CHECKS = """\
# The checks of `evenhand audit`, each of which its own verb runs too. Limits are engineering thresholds: choose yours.
"""
_COMPARE = """\
# [[checks]]
# job = "compare"   # {says}
# truth = {truth}
# models = {{ repaired = "repaired.skops" }}
"""
_REPAIR = """\
# [repair]          # evenhand repair trains the estimator again on these rows, so that it discriminates less
# over = {over}
# output = "repaired.skops"
"""
_PICKLE = (
    "# allow_pickle = true                      # loading it runs any code in it: only if you trust"
    " the file"
)


def write_config(
    data: Path,
    target: str | None,
    protected: Sequence[str] | None,
    file: Path,
    model: str | None = None,
    positive: str | None = None,
) -> Space:
    """Write a configuration for the data, and for a model where one is named, and return the space
    it declares.
    """
    declared = None if model is None else subject_lines(model, file)
    frame = read_frame(data)
    columns = [str(name) for name in frame.columns]
    if target is not None and target not in columns:
        raise DataError(f"{data}: --target {target!r} is no column; {nearest(target, columns)}")
    chosen = _guess(columns, target, data) if protected is None else list(protected)
    for name in chosen:
        if name not in columns:
            raise DataError(f"{data}: --protected {name!r} is no column; {nearest(name, columns)}")
    favourable = _positive(frame, target, positive)
    try:
        space = Space.from_frame(frame, chosen, target=target)
    except DataError as error:
        raise DataError(f"{data}: {error}") from None
    try:
        file.write_text(_config(space, data, target, favourable, file, declared), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{file}: cannot be written: {error.strerror}") from None
    return space


def subject_lines(model: str, file: Path) -> list[str]:
    """Return the lines of [subject] that name a model: a file, an address, a function or a program.

    >>> from pathlib import Path
    >>> subject_lines("http://127.0.0.1:8000/decide", Path("evenhand.toml"))
    ['http = "http://127.0.0.1:8000/decide"']
    >>> subject_lines("loans.model:decide", Path("evenhand.toml"))
    ['function = "loans.model:decide"']
    """
    if model.startswith(("http://", "https://")):
        return [f"http = {toml(model)}"]
    if re.fullmatch(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*", model):
        return [f"function = {toml(model)}"]
    path = Path(model)
    if not path.is_file():
        raise UsageError(f"{model}: there is no such model; {beside(path, _suffixes())}")
    kind = _kind_of(path.suffix.lower())
    if kind is None:
        if not os.access(path, os.X_OK):
            known = ", ".join(_suffixes())
            raise UsageError(
                f"{model}: is neither a model file ({known}) nor a program; make it executable, or"
                " name one"
            )
        program = _relative(path, file)
        return [
            f"command = {toml([program if '/' in program else f'./{program}', '{*}'])}  # all"
            " values in order"
        ]
    lines = [f"{kind} = {toml(_relative(path, file))}"]
    return lines + ([_PICKLE] if path.suffix.lower() in (".joblib", ".pkl", ".pickle") else [])


def _kind_of(suffix: str) -> str | None:
    """Return the kind of software that files of a suffix hold, None where no adapter says so."""
    return next((kind for kind, adapter in ADAPTERS.items() if suffix in adapter.suffixes), None)


def _suffixes() -> tuple[str, ...]:
    """Return the suffixes of all model files."""
    return tuple(suffix for adapter in ADAPTERS.values() for suffix in adapter.suffixes)


def _guess(columns: Sequence[str], target: str | None, data: Path) -> list[str]:
    found = [
        name for name in columns if name != target and any(word in name.lower() for word in USUAL)
    ]
    if not found:
        raise UsageError(
            f"{data}: say which columns are protected with --protected a,b; there are"
            f" {', '.join(columns)}"
        )
    return found


def _positive(frame: Any, target: str | None, given: str | None) -> str:
    """Return the favourable outcome as TOML: the one given, or a guess that says it is one, the
    greatest value.
    """
    values = [] if target is None else frame[target].dropna().unique().tolist()
    if given is not None:
        found = next((value for value in values if str(value) == given), None)
        if found is None and values:
            raise UsageError(
                f"--positive {given!r} is no value of {target!r}; {nearest(given, values)}"
            )
        return toml(plain(parse_outcome(given) if found is None else found))
    try:
        guess = max(values, default=1)
    except TypeError:
        guess = 1
    known = f", of {clip(', '.join(map(str, values)), 60)}" if values else ""
    return f"{toml(plain(guess))}  # the favourable outcome; this is a guess{known}"


def _config(
    space: Space,
    data: Path,
    target: str | None,
    positive: str,
    file: Path,
    declared: Sequence[str] | None,
) -> str:
    lines = ["# evenhand: fairness tests. See `evenhand --help`.", ""]
    if declared is None:
        lines += [_SUBJECT.format(first=space.names[0]).rstrip(), *_other_kinds()]
    else:
        lines += ["# What to test. Paths are relative to this file.", "[subject]", *declared]
    lines += [_MEANING.format(positive=positive), "[space]"]
    lines += [
        f"from = {toml(_relative(data, file))}  # features are inferred from it; any table below"
        " overrides"
    ]
    if target is not None:
        lines += [f"target = {toml(target)}  # not an input"]
    lines += [f"protected = {toml(list(space.protected))}"]
    lines += [
        '# constraints = ["age >= 18"]  # combinations that cannot occur are never tested',
        "",
    ]
    for feature in space.features:
        lines += [f"[space.features.{_key(feature.name)}]", *_declaration(feature), ""]
    protected = list(space.protected)
    if target is not None and protected:
        lines += [_REPAIR.format(over=toml(protected[:1]))]
    lines += [_CHECKS]
    for check in usual(space, real=True):
        job, settings = check.pop("job"), check
        lines += ["[[checks]]", f"job = {toml(job):12}  # {VERBS[job].says}"]
        lines += [*(f"{key} = {toml(value)}" for key, value in settings.items()), ""]
    if target is not None:
        lines += [_COMPARE.format(truth=toml(target), says=VERBS["compare"].says)]
    return "\n".join(lines)


def _other_kinds() -> list[str]:
    """Return a line for each kind of software that another package brings."""
    found = []
    for kind, adapter in ADAPTERS.items():
        if adapter.value is not None and ADAPTERS.origin(kind) != "evenhand":
            found.append(f"# {kind:9} = ...  # {adapter.value.help}")
    return found


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
