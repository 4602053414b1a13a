"""evenhand.toml: which software, which space, which checks."""

from __future__ import annotations

import importlib
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.core.errors import ConfigError, UsageError, nearest
from evenhand.core.spacefile import read_themis, read_toml, space_from_table
from evenhand.core.subject import SHARED, Subject

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from os import PathLike

    from evenhand.core.space import Space

TABLES = ("subject", "space", "checks")
OPTIONS: dict[str, tuple[str, ...]] = {
    "estimator": ("threshold", "output", "trusted", "allow_pickle", "identity"),
    "function": ("identity",),
    "command": ("workers", "timeout", "cwd", "env", "identity"),
    "stream": ("workers", "timeout", "restarts", "cwd", "env", "identity"),
    "http": ("batch", "concurrency", "timeout", "retries", "backoff", "headers", "single", "identity"),
    "onnx": ("output", "threads"),
}
CHECKS = ("job", "over", "kind", "limit", "margin", "level", "interval", "queries", "seconds")


@dataclass(frozen=True)
class Config:
    """A configuration file; paths in it are relative to the folder it is in."""

    file: Path
    table: Mapping[str, Any]

    @classmethod
    def load(cls, path: str | PathLike[str] | None = None) -> Config:
        """Read a file, by default evenhand.toml, then [tool.evenhand] in pyproject.toml."""
        file = Path(path) if path is not None else _default()
        if file.suffix.lower() == ".xml":
            return cls(file, _of_themis(file))
        table = read_toml(file)
        for key in table:
            if key not in TABLES:
                raise ConfigError(f"{file}: unknown table [{key}]; {nearest(key, TABLES)}")
        for key, kind in (("subject", dict), ("space", dict), ("checks", list)):
            if key in table and not isinstance(table[key], kind):
                wanted = f"[[{key}]] tables" if kind is list else f"a [{key}] table"
                raise ConfigError(f"{file}: {key} must be {wanted}")
        return cls(file, table)

    @cached_property
    def space(self) -> Space:
        """The space that the file declares."""
        if "themis" in self.table:
            space: Space = self.table["themis"]
            return space
        if "space" not in self.table:
            raise ConfigError(f"{self.file}: has no [space] table; say what an input can be")
        return space_from_table(self.table["space"], self.file)

    def checks(self, job: str) -> list[Mapping[str, Any]]:
        """Return the checks of one job."""
        found = []
        for number, check in enumerate(self.table.get("checks", []), start=1):
            for key in check:
                if key not in CHECKS:
                    raise ConfigError(f"{self.file}: check {number} has an unknown key {key!r}; {nearest(key, CHECKS)}")
            if check.get("job") == job:
                found.append(check)
        return found

    def subject(self) -> Subject:
        """Build the subject that the file declares."""
        table = self.table.get("subject")
        if table is None:
            raise ConfigError(f"{self.file}: has no [subject] table; name the software to test")
        kinds = [key for key in OPTIONS if key in table]
        if len(kinds) != 1:
            told = ", ".join(kinds) if kinds else "none"
            raise ConfigError(f"{self.file}: [subject] must have exactly one of {', '.join(OPTIONS)}, but has {told}")
        kind = kinds[0]
        allowed = (kind, *SHARED, *OPTIONS[kind])
        for key in table:
            if key not in allowed:
                raise ConfigError(f"{self.file}: [subject] has an unknown key {key!r}; {nearest(key, allowed)}")
        options = {key: value for key, value in table.items() if key != kind}
        for key in ("ledger", "cwd"):
            if key in options:
                options[key] = self.file.parent / options[key]
        try:
            return self._built(kind, table[kind], options)
        except ConfigError:
            raise
        except (UsageError, TypeError) as error:
            raise ConfigError(f"{self.file}: [subject]: {error}") from error

    def _built(self, kind: str, value: Any, options: dict[str, Any]) -> Subject:
        makers: dict[str, Callable[..., Subject]] = {
            "estimator": Subject.saved,
            "function": Subject,
            "command": Subject.command,
            "stream": Subject.stream,
            "http": Subject.http,
            "onnx": Subject.onnx,
        }
        if kind in ("command", "stream"):
            if not isinstance(value, list) or not all(isinstance(part, str) for part in value):
                raise ConfigError(f"{self.file}: [subject] {kind} = {value!r} must be a list of texts")
            options.setdefault("cwd", self.file.parent)
        elif not isinstance(value, str):
            raise ConfigError(f"{self.file}: [subject] {kind} = {value!r} must be a text")
        elif kind in ("estimator", "onnx"):
            value = self.file.parent / value
        elif kind == "function":
            value = self._function(value)
        return makers[kind](value, self.space, **options)

    def _function(self, name: str) -> Any:
        module, _, attribute = name.partition(":")
        if not module or not attribute:
            raise ConfigError(f'{self.file}: [subject] function = {name!r} must be written "package.module:function"')
        folder = str(self.file.parent.resolve())
        if folder not in sys.path:
            sys.path.insert(0, folder)
        try:
            found: Any = importlib.import_module(module)
        except Exception as error:
            raise ConfigError(
                f"{self.file}: [subject] function: importing {module!r} raised {type(error).__name__}: {error}"
            ) from error
        for part in attribute.split("."):
            if not hasattr(found, part):
                names = [name for name in dir(found) if not name.startswith("_")]
                raise ConfigError(
                    f"{self.file}: [subject] function: {module!r} has no {part!r}; {nearest(part, names)}"
                )
            found = getattr(found, part)
        return found


def _default() -> Path:
    file = Path("evenhand.toml")
    if file.exists():
        return file
    project = Path("pyproject.toml")
    if project.exists() and read_toml(project):
        return project
    raise ConfigError("evenhand.toml: there is no such file here; write one with: evenhand init DATA.csv --target y")


def _of_themis(file: Path) -> dict[str, Any]:
    """Turn a Themis settings file into the tables of a configuration."""
    settings = read_themis(file)
    checks = [
        {"job": test["job"], "over": test["over"], "kind": kind, "level": test["level"], "margin": test["margin"]}
        | ({} if test["limit"] is None else {"limit": test["limit"]})
        for test in settings.tests
        for kind in test["kinds"]
    ]
    for check in checks:
        if not check["over"]:
            del check["over"]
    return {"themis": settings.space, "subject": {"command": list(settings.command), "positive": 1}, "checks": checks}


def settings_of(config: Config, job: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Merge the checks of a job with what the command line gives; checks that disagree must be told apart by `over`."""
    options = {key: value for key, value in given.items() if value is not None}
    checks = config.checks(job)
    if "over" in options:
        wanted = set(options["over"])
        checks = [check for check in checks if set(check.get("over", ())) == wanted]
    merged: dict[str, Any] = {}
    for key in CHECKS:
        if key in ("job", "over") or key in options:
            continue
        values = {check.get(key) for check in checks}
        if len(values) > 1:
            told = ", ".join(repr(value) for value in sorted(values, key=str))
            raise UsageError(f"{config.file}: the {job} checks differ in {key} ({told}); choose one with --over")
        if values and (value := values.pop()) is not None:
            merged[key] = value
    if "over" not in options and checks and all("over" in check for check in checks):
        merged["over"] = [
            tuple([check["over"]] if isinstance(check["over"], str) else check["over"]) for check in checks
        ]
    return {**merged, **options}
