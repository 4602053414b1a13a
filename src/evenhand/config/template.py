"""evenhand init: a configuration with comments, inferred from a data file and for a model."""

from __future__ import annotations

import json
import os
import re
from importlib import resources
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

TEMPLATE = "evenhand.toml.jinja"
"""The text of the file with its comments, beside this module."""
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
    """Write a configuration for the data, and return the space that it declares.

    Parameters
    ----------
    data
        A file of inputs.
    target
        Its column of outcomes, which is no input.
    protected
        The protected features; a guess by their names where it is None.
    file
        The file to write.
    model
        What is tested: a file, an address, a function or a program.
    positive
        The favourable outcome; a guess where it is None.
    """
    model_lines = None if model is None else subject_lines(model, file)
    frame = read_frame(data)
    columns = [str(name) for name in frame.columns]
    if target is not None and target not in columns:
        raise DataError(
            f"{data}: --target {target!r} is not a column; {nearest(target, columns)}"
        )
    if protected is None:
        protected = _guess_protected(columns, target, data)
    for name in protected:
        if name not in columns:
            raise DataError(
                f"{data}: --protected {name!r} is not a column; {nearest(name, columns)}"
            )
    values = [] if target is None else frame[target].dropna().unique().tolist()
    if positive is None:
        favourable, comment = _guess_positive(values)
    else:
        favourable = _given_positive(positive, values, target)
        comment = ""
    try:
        space = Space.from_frame(frame, list(protected), target=target)
    except DataError as error:
        raise DataError(f"{data}: {error}") from None
    text = _filled(
        subject_lines=model_lines,
        other_kinds=_other_kinds(),
        positive=favourable,
        positive_comment=comment,
        data=_relative(data, file),
        target=target,
        space=space,
        checks=usual(space, real=True),
        verbs=VERBS,
    )
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{file}: cannot be written: {error.strerror}") from None
    return space


def _filled(**values: Any) -> str:
    """Return the text of the template with these values."""
    from jinja2 import Environment, StrictUndefined  # which only `evenhand init` waits for

    environment = Environment(
        autoescape=False,  # noqa: S701 - TOML is written, not HTML, and `toml` quotes its values
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["toml"] = toml
    environment.filters["toml_key"] = _key
    file = resources.files("evenhand.config").joinpath(TEMPLATE)
    template = environment.from_string(file.read_text(encoding="utf-8"))
    return template.render(values)


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
    suffix = path.suffix.lower()
    kind = _kind_of(suffix)
    if kind is None:
        return [_command_line(path, file)]
    lines = [f"{kind} = {toml(_relative(path, file))}"]
    if suffix in (".joblib", ".pkl", ".pickle"):
        lines.append(_PICKLE)
    return lines


def _command_line(path: Path, file: Path) -> str:
    """Return the line of [subject] that names a program."""
    if not os.access(path, os.X_OK):
        suffixes = ", ".join(_suffixes())
        raise UsageError(
            f"{path}: is neither a model file ({suffixes}) nor a program; make it executable, or"
            " name a model file"
        )
    program = _relative(path, file)
    if "/" not in program:
        program = f"./{program}"
    words = toml([program, "{*}"])
    return f"command = {words}  # all values in order"


def _kind_of(suffix: str) -> str | None:
    """Return the kind of software that files of a suffix hold, None where no adapter takes it."""
    for kind, adapter in ADAPTERS.items():
        if suffix in adapter.suffixes:
            return kind
    return None


def _suffixes() -> tuple[str, ...]:
    """Return the suffixes of all model files."""
    suffixes: list[str] = []
    for adapter in ADAPTERS.values():
        suffixes.extend(adapter.suffixes)
    return tuple(suffixes)


def _guess_protected(columns: Sequence[str], target: str | None, data: Path) -> list[str]:
    protected = [name for name in columns if name != target and _is_usual(name)]
    if not protected:
        raise UsageError(
            f"{data}: no column has a name that suggests a protected feature; name them with"
            f" --protected a,b. The columns are {', '.join(columns)}"
        )
    return protected


def _is_usual(column: str) -> bool:
    """Return whether the name of a column suggests a protected feature."""
    name = column.lower()
    return any(word in name for word in USUAL)


def _given_positive(text: str, values: Sequence[Any], target: str | None) -> Any:
    """Return the favourable outcome that the user named, as the column of outcomes has it."""
    for value in values:
        if str(value) == text:
            return plain(value)
    if values:
        raise UsageError(
            f"--positive {text!r} is not a value of {target!r}; {nearest(text, values)}"
        )
    return plain(parse_outcome(text))


def _guess_positive(values: Sequence[Any]) -> tuple[Any, str]:
    """Return the greatest outcome as the favourable one, and a comment that this is a guess."""
    try:
        guess = max(values, default=1)
    except TypeError:  # texts and numbers, which have no order
        guess = 1
    comment = "  # the favourable outcome; this is a guess"
    if values:
        listed = clip(", ".join(map(str, values)), 60)
        comment += f", of {listed}"
    return plain(guess), comment


def _other_kinds() -> dict[str, str]:
    """Return the kinds of software that other packages bring, each with its help."""
    help_of = {}
    for kind, adapter in ADAPTERS.items():
        if adapter.value is not None and ADAPTERS.origin(kind) != "evenhand":
            help_of[kind] = adapter.value.help
    return help_of


def _key(name: str) -> str:
    """Return a key as TOML has it: bare where that is allowed, and quoted elsewhere."""
    if re.fullmatch(r"[A-Za-z0-9_-]+", name):
        return name
    return toml(name)


def _relative(data: Path, file: Path) -> str:
    """Return a path as the configuration names it: from its folder, or absolute if elsewhere."""
    resolved = data.resolve()
    folder = file.parent.resolve()
    if resolved.is_relative_to(folder):
        return resolved.relative_to(folder).as_posix()
    return resolved.as_posix()


def toml(value: Any) -> str:
    """Write a value as TOML.

    >>> toml(["a\\"b", True, 1, 0.5])
    '["a\\\\"b", true, 1, 0.5]'
    """
    if isinstance(value, list):
        items = ", ".join(toml(item) for item in value)
        return f"[{items}]"
    if isinstance(value, str):
        # JSON escapes all that TOML forbids but the delete character.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return json.dumps(plain(value))
