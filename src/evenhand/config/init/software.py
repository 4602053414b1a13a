"""What the user names as software: its kind, how a file names it, and what must be trusted."""

from __future__ import annotations

import os
import re
import shlex
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.runtime.errors import EvenhandError, UsageError
from evenhand.runtime.table_file import beside
from evenhand.subject.adapters import ADAPTERS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenhand.config.init.questions import Dialogue

PICKLES = (".joblib", ".pkl", ".pickle")
"""Files that run code where they are loaded."""
RISK = "loading it runs any code that its author put into it"


@dataclass(frozen=True)
class Named:
    """Software as [subject] names it: the key of its kind, its value, and its options."""

    kind: str
    value: Any
    options: Mapping[str, Any] = field(default_factory=dict)
    path: Path | None = None
    """The model file or program, seen from here."""

    @property
    def table(self) -> dict[str, Any]:
        """The software as the table [subject]."""
        return {self.kind: self.value, **self.options}

    def having(self, **options: Any) -> Named:
        """Return the software with further options."""
        return replace(self, options={**self.options, **options})


def software_of(model: str, file: Path) -> Named:
    """Return what the user names: a file, an address, a function, a program or a command.

    >>> from pathlib import Path
    >>> software_of("http://127.0.0.1:8000/decide", Path("evenhand.toml")).table
    {'http': 'http://127.0.0.1:8000/decide'}
    >>> software_of("loans.model:decide", Path("evenhand.toml")).table
    {'function': 'loans.model:decide'}
    >>> software_of("python loan.py {age} {sex}", Path("evenhand.toml")).table
    {'command': ['python', 'loan.py', '{age}', '{sex}']}
    """
    if model.startswith(("http://", "https://")):
        return Named("http", model)
    if re.fullmatch(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*", model):
        return Named("function", model)
    path = Path(model)
    if not path.is_file() and "{" in model and " " in model:
        return Named("command", _words(model, file))
    if not path.is_file():
        raise UsageError(f"{model}: there is no such model; {beside(path, suffixes())}")
    kind = _kind_of(path.suffix.lower())
    if kind is None:
        return Named("command", [_program(path, file), "{*}"], path=path)
    return Named(kind, relative(path, file), path=path)


def _words(command: str, file: Path) -> list[str]:
    """Return the words of a command, whose program is named as it is seen from the file."""
    words = shlex.split(command)
    program = Path(words[0])
    if "/" in words[0] and program.is_file():
        words[0] = _program(program, file)
    return words


def _program(path: Path, file: Path) -> str:
    """Return a program as the configuration names it."""
    if not os.access(path, os.X_OK):
        known = ", ".join(suffixes())
        raise UsageError(
            f"{path}: is neither a model file ({known}) nor a program; make it executable, or"
            " name a model file"
        )
    program = relative(path, file)
    if "/" in program:
        return program
    return f"./{program}"


def relative(path: Path, file: Path) -> str:
    """Return a path as the configuration names it: from its folder, or absolute if elsewhere."""
    resolved = path.resolve()
    folder = file.parent.resolve()
    if resolved.is_relative_to(folder):
        return resolved.relative_to(folder).as_posix()
    return resolved.as_posix()


def _kind_of(suffix: str) -> str | None:
    """Return the kind of software that files of a suffix hold, None where no adapter takes it."""
    for kind, adapter in ADAPTERS.items():
        if suffix in adapter.suffixes:
            return kind
    return None


def suffixes() -> tuple[str, ...]:
    """Return the suffixes of all model files."""
    known: list[str] = []
    for adapter in ADAPTERS.values():
        known.extend(adapter.suffixes)
    return tuple(known)


def trusted(
    software: Named,
    talk: Dialogue,
    *,
    allow_pickle: bool,
    types: Sequence[str],
) -> tuple[Named, EvenhandError | None]:
    """Return the software with what the user trusts, and why it may not be loaded, if so.

    Nothing is trusted that the user has not named, or said yes to.
    """
    path = software.path
    suffix = "" if path is None else path.suffix.lower()
    if path is not None and suffix in PICKLES:
        return _trusted_pickle(software, path, talk, allow_pickle=allow_pickle)
    if allow_pickle:
        talk.say("--allow-pickle is not needed: this software is no pickle")
    if path is not None and suffix == ".skops":
        return _trusted_types(software, path, talk, types)
    return software, None


def _trusted_pickle(
    software: Named,
    path: Path,
    talk: Dialogue,
    *,
    allow_pickle: bool,
) -> tuple[Named, EvenhandError | None]:
    question = f"{path} is a pickle: {RISK}. Do you trust it?"
    if allow_pickle or talk.confirm(question):
        talk.say(f"trust: {path} is loaded as a pickle (allow_pickle = true); {RISK}")
        return software.having(allow_pickle=True), None
    return software, UsageError(
        f"{path}: is a pickle, and {RISK}; if you trust where it comes from, add --allow-pickle, or"
        " save the model with skops instead"
    )


def _trusted_types(
    software: Named,
    path: Path,
    talk: Dialogue,
    types: Sequence[str],
) -> tuple[Named, EvenhandError | None]:
    from evenhand.subject.adapters.saved import untrusted_types

    try:
        unknown = untrusted_types(path)
    except UsageError as error:
        return software, error
    for name in types:
        if name not in unknown:
            talk.say(
                f"--trust {name} is not needed: {path} holds no such type, or it is known"
            )
    left = [name for name in unknown if name not in types]
    allowed = [name for name in unknown if name in types]
    if left and talk.confirm(
        f"{path} holds {', '.join(left)}, which skops does not know to be harmless. Trust it?"
    ):
        allowed, left = unknown, []
    if allowed:
        software = software.having(trusted=allowed)
        talk.say(
            f"trust: {path} may hold {', '.join(allowed)} (trusted = […]), which skops does not"
            " know to be harmless"
        )
    if not left:
        return software, None
    flags = " ".join(f"--trust {name}" for name in left)
    return software, UsageError(
        f"{path}: holds types that skops does not know to be harmless; if you trust them, add"
        f" {flags}"
    )
