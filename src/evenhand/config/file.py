"""evenhand.toml: which software, which space, which checks."""

from __future__ import annotations

import importlib
import sys
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.population.remembered import remembered
from evenhand.population.rows import Rows, population_from_table, rows
from evenhand.population.source import Real
from evenhand.runtime.errors import (
    ConfigError,
    DataError,
    EvenhandError,
    SubjectCrashed,
    UsageError,
    nearest,
)
from evenhand.runtime.interruption import exits_reported
from evenhand.runtime.options import FILE, FILE_OR_ADDRESS, FOLDER, PLACE
from evenhand.runtime.table_file import read_frame
from evenhand.space.space_file import read_themis, read_toml, space_from_table
from evenhand.subject.adapters import ADAPTERS
from evenhand.subject.adapters.isolated.recipe import Later
from evenhand.subject.adapters.resolve import kinds_in_files
from evenhand.subject.ledger.address import has_password, scheme_of
from evenhand.subject.options import SHARED
from evenhand.subject.subject import Subject

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from os import PathLike

    from evenhand.population.samplers import Sampler
    from evenhand.runtime.options import Option, Options
    from evenhand.space.space import Space
    from evenhand.subject.adapters.base import Adapter
    from evenhand.texts.real_texts import Texts
    from evenhand.texts.text_subject import TextSubject

TABLES = ("subject", "space", "population", "texts", "log", "audit", "checks", "repair")
"""The tables that a configuration may have."""
LOADING = ("trusted", "allow_pickle", "threshold")
"""Options of [subject] that apply to every model that an audit loads."""


@dataclass(frozen=True)
class Config:
    """A configuration file; paths in it are relative to the folder it is in."""

    file: Path
    table: Mapping[str, Any]

    @classmethod
    def load(cls, path: str | PathLike[str] | None = None) -> Config:
        """Read a file, by default evenhand.toml, then [tool.evenhand] in pyproject.toml."""
        file = default_file() if path is None else Path(path)
        if file.suffix.lower() == ".xml":
            return cls(file, _of_themis(file))
        table = read_toml(file)
        _check_tables(file, table)
        return cls(file, table)

    @cached_property
    def space(self) -> Space:
        """The space that the file declares."""
        if "themis" in self.table:
            space: Space = self.table["themis"]
            return space
        self.need_software()
        if self.of_texts:
            raise ConfigError(
                f"{self.file}: declares [texts], which only mine, repair and replay can use; other"
                " commands need a [space]"
            )
        if "space" not in self.table:
            raise ConfigError(
                f"{self.file}: has no [space] table; declare what an input can be"
            )
        return space_from_table(self.table["space"], self.file)

    def population(self) -> Sampler | None:
        """Build the population that the file declares, None where it declares none."""
        if "population" not in self.table:
            return None
        space = self.space
        sampler = population_from_table(self.table["population"], self.file)
        try:
            sampler.population(space)
        except UsageError as error:
            raise ConfigError(f"{self.file}: [population]: {error}") from error
        return sampler

    @property
    def of_texts(self) -> bool:
        """Whether the software under test takes texts."""
        return "texts" in self.table

    @property
    def of_log(self) -> bool:
        """Whether recorded decisions are audited, and no software."""
        return "log" in self.table

    def need_software(self) -> None:
        """Refuse a file of recorded decisions, of which no software can be asked."""
        if self.of_log:
            raise ConfigError(
                f"{self.file}: declares [log], recorded decisions, so that there is no software to"
                f" ask; count them with: evenhand audit {self.file}"
            )

    @cached_property
    def texts(self) -> Texts:
        """The texts that the file declares."""
        # Imported where there are texts.
        from evenhand.texts.real_texts import texts_from_table

        return texts_from_table(self.table["texts"], self.file)

    def start(self, path: str | None = None) -> tuple[Rows | None, list[str]]:
        """Return the real rows that a search starts from, if there are any, and notes on them."""
        real = self.real(path)
        notes = list(real.notes)
        if real.rows is None or isinstance(real.rows, Rows):
            return real.rows, notes
        if path is None:
            # They were encoded to know which of them are inputs.
            return remembered(self.space), notes
        start_rows = rows(real.rows)
        try:
            # Encoding refuses values that are not in the space.
            start_rows.points(self.space)
        except EvenhandError as error:
            raise DataError(f"{real.file}: {error}") from error
        return start_rows, notes

    def real(self, path: str | None = None) -> Real:
        """Return real rows: those of the file `path`, of [population], or of [space].

        Rows of `path` must all be inputs of the space. Of the rows that [space] was inferred from,
        those that are no inputs are left out.
        """
        if path is not None:
            return Real(Path(path), read_frame(path))
        population = self.population()
        if isinstance(population, Rows):
            name = self.table["population"]["rows"]
            notes = [f"real rows are those of {name}"]
            return Real(self.file.parent / name, population, notes)
        return self.inferred()

    def inferred(self) -> Real:
        """Return the rows that [space] was inferred from, as far as they are inputs."""
        name = self.table.get("space", {}).get("from")
        if name is None:
            return Real(self.file)
        path = self.file.parent / name
        if self.space.rows is None:
            known = 0
        else:
            known = len(self.space.rows)
        inputs = remembered(self.space)
        if inputs is None:
            note = f"no row of {name} is an input of the space, so there are no real rows"
            return Real(self.file, None, [note])
        left_out = known - len(inputs)
        note = f"real rows are those of {name}"
        if left_out:
            note += f" but for {left_out:,} of {known:,} that are no inputs of the space"
        return Real(path, inputs.frame, [note])

    def software(self) -> Subject | TextSubject:
        """Build what is tested: a TextSubject where the file declares [texts]."""
        if self.of_texts:
            return self.text_subject()
        return self.subject()

    def subject(self) -> Subject:
        """Build the subject that the file declares."""
        kind, value, options = self.declared(SHARED)
        try:
            software = self.resolved(kind, value, isolate=options.get("isolate"))
            return Subject.of(kind, software, self.space, **options)
        except ConfigError:
            raise
        except (UsageError, TypeError) as error:
            raise ConfigError(f"{self.file}: [subject]: {error}") from error

    def other(self, model: Any, subject: Subject) -> Subject:
        """Build another model, which is tested like the one of the file."""
        if not isinstance(model, str):
            return Subject(
                model, subject.space, positive=subject.positive, differs=subject.differs
            )
        declared = self.table.get("subject", {})
        options = {key: declared[key] for key in LOADING if key in declared}
        path = self.file.parent / model
        try:
            return Subject.saved(path, subject.space, positive=subject.positive, **options)
        except UsageError as error:
            raise ConfigError(f"{self.file}: models names {model!r}: {error}") from error

    def text_subject(self) -> TextSubject:
        """Build the subject that the file declares, which takes texts."""
        from evenhand.texts.text_subject import TextSubject

        kind, value, options = self.declared(SHARED.without("outputs"))
        software = self.resolved(kind, value, isolate=options.get("isolate"))
        try:
            return TextSubject.of(kind, software, **options)
        except (UsageError, TypeError) as error:
            raise ConfigError(f"{self.file}: [subject]: {error}") from error

    def declared(self, shared: Options) -> tuple[str, Any, dict[str, Any]]:
        """Return the kind of software that [subject] names, its value as written, and its options.

        `shared` are the options that all kinds of software have.
        """
        self.need_software()
        table = self.table.get("subject")
        if table is None:
            raise ConfigError(
                f"{self.file}: has no [subject] table; name the software to test"
            )
        kind = self._kind(table)
        adapter = ADAPTERS[kind]
        own_options = _text_options(adapter) if self.of_texts else adapter.options
        schema = shared + own_options
        options = {}
        for key, value in table.items():
            if key != kind:
                options[key] = value
        self._refuse_unknown(options, (kind, *schema.toml))
        for key, value in options.items():
            self._check(schema[key], value)
        for option in schema:
            if option.kind is FOLDER:
                options.setdefault(option.name, "")
            if option.kind in (FILE, FOLDER) and option.name in options:
                options[option.name] = self.file.parent / options[option.name]
            if option.kind is FILE_OR_ADDRESS and option.name in options:
                options[option.name] = self._located(option.name, options[option.name])
        return kind, table[kind], options

    def _located(self, name: str, place: str) -> Path | str:
        """Return a path seen from the folder of the file, or an address as it is written."""
        if not scheme_of(place):
            return self.file.parent / place
        if has_password(place):
            raise ConfigError(
                f"{self.file}: [subject] {name} holds a password, and results hold a copy of this"
                " file: leave it out here, and give it as PGPASSWORD or in ~/.pgpass"
            )
        return place

    def _kind(self, table: Mapping[str, Any]) -> str:
        """Return the only kind of software that a [subject] table names."""
        # By name, not by items(): an adapter that cannot be loaded raises the reason here.
        named = [kind for kind in ADAPTERS if kind in table]
        kinds = [kind for kind in named if ADAPTERS[kind].value is not None]
        if len(kinds) != 1:
            valid = ", ".join(kinds_in_files(texts=self.of_texts))
            actual = ", ".join(kinds) if kinds else "none"
            raise ConfigError(
                f"{self.file}: [subject] must have exactly one of {valid}, but has {actual}"
            )
        kind = kinds[0]
        if self.of_texts and not ADAPTERS[kind].takes_texts:
            valid = " or ".join(kinds_in_files(texts=True))
            raise ConfigError(
                f"{self.file}: [subject] {kind} cannot be combined with [texts]; test texts with"
                f" {valid}"
            )
        return kind

    def _refuse_unknown(self, options: Iterable[str], allowed: Sequence[str]) -> None:
        for key in options:
            if key not in allowed:
                raise ConfigError(
                    f"{self.file}: [subject] has an unknown key {key!r}; {nearest(key, allowed)}"
                )

    def _check(self, option: Option, value: Any) -> None:
        """Refuse a value that an option of [subject] cannot have."""
        try:
            option.check(value, f"{self.file}: [subject]")
        except UsageError as error:
            raise ConfigError(str(error)) from None

    def resolved(self, kind: str, value: Any, *, isolate: Any = None) -> Any:
        """Return what the value of a kind stands for: a path, an imported object, or itself.

        Where software is to run in a process of its own, its module is imported there.
        """
        option = ADAPTERS[kind].value
        assert option is not None
        self._check(option, value)
        if option.kind is PLACE:
            found = partial(
                imported, f"{self.file}: [subject] {kind}", value, self.file.parent
            )
            return Later(f"the {kind} {value!r}", found) if isolate else found()
        if option.kind in (FILE, FOLDER):
            return self.file.parent / value
        return value


def _check_tables(file: Path, table: Mapping[str, Any]) -> None:
    """Refuse tables that are unknown, of another kind, or cannot be combined."""
    for key in table:
        if key not in TABLES:
            raise ConfigError(f"{file}: unknown table [{key}]; {nearest(key, TABLES)}")
    if not isinstance(table.get("checks", []), list):
        raise ConfigError(f"{file}: checks must be [[checks]] tables")
    for key in TABLES:
        if key != "checks" and not isinstance(table.get(key, {}), dict):
            raise ConfigError(f"{file}: {key} must be a [{key}] table")
    for key in ("subject", "space", "population", "texts", "repair"):
        if key in table and "log" in table:
            raise ConfigError(
                f"{file}: [{key}] cannot be combined with [log]: a file declares either software or"
                " recorded decisions; write two files"
            )
    for key in ("space", "population"):
        if key in table and "texts" in table:
            raise ConfigError(
                f"{file}: [{key}] cannot be combined with [texts]: the software takes either tables"
                " or texts"
            )


def _text_options(adapter: type[Adapter]) -> Options:
    from evenhand.texts.text_subject import text_options

    return text_options(adapter)


def imported(where: str, name: str, folder: Path) -> Any:
    """Return the object that "package.module:name" names; modules may be in the folder.

    `where` begins error messages.
    """
    module, _, attribute = name.partition(":")
    if not module or not attribute:
        raise ConfigError(f'{where} = {name!r} must be written "package.module:function"')
    home = str(folder.resolve())
    if home not in sys.path:
        sys.path.insert(0, home)
    try:
        with exits_reported(f"{where}: {module!r}", " when it was imported"):
            found: Any = importlib.import_module(module)
    except SubjectCrashed:
        raise
    except Exception as error:
        raise ConfigError(
            f"{where}: importing {module!r} raised {type(error).__name__}: {error}"
        ) from error
    for part in attribute.split("."):
        if not hasattr(found, part):
            names = [public for public in dir(found) if not public.startswith("_")]
            raise ConfigError(
                f"{where}: {module!r} has no {part!r}; {nearest(part, names)}"
            )
        found = getattr(found, part)
    return found


def default_file() -> Path:
    """Return the configuration of the current folder."""
    file = Path("evenhand.toml")
    if file.exists():
        return file
    project = Path("pyproject.toml")
    if project.exists() and read_toml(project):
        return project
    raise ConfigError(
        "evenhand.toml: there is no such file here; write one with: evenhand init DATA.csv"
        " --target y"
    )


def _of_themis(file: Path) -> dict[str, Any]:
    """Turn a Themis settings file into the tables of a configuration."""
    settings = read_themis(file)
    checks: list[dict[str, Any]] = []
    for test in settings.tests:
        checks.extend(_themis_check(test, kind) for kind in test["kinds"])
    return {
        "themis": settings.space,
        "subject": {"command": list(settings.command), "positive": 1},
        "checks": checks,
    }


def _themis_check(test: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """Return the check of one kind of score that a test of Themis stands for."""
    check = {
        "job": test["job"],
        "kind": kind,
        "level": test["level"],
        "margin": test["margin"],
    }
    if test["limit"] is not None:
        check["limit"] = test["limit"]
    if test["over"]:
        key = "among" if test["job"] == "subsets" else "over"
        check[key] = test["over"]
    return check
