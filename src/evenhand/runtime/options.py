"""The options of a verb, an adapter or a configuration's table: one schema for every front end.

Python checks keywords against it, TOML its keys and the kinds of their values, the command line
makes its arguments of it, and the JSON Schema of configurations is written from it. A test holds it
against the signature of the function.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field, replace
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from evenhand.runtime.errors import UsageError, clip, nearest
from evenhand.runtime.interruption import exits_reported

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of value: what TOML may hold, how it is read, and how a sentence names it."""

    name: str
    types: tuple[type, ...]
    wanted: str
    schema: Mapping[str, Any]
    """The value as JSON Schema describes it."""
    items: tuple[type, ...] = ()
    """What a list or a table of it holds; anything where nothing is said."""

    def fits(self, value: Any) -> bool:
        """Return whether a value from TOML is of this kind; true and false are no numbers."""
        if not _is_one_of(value, self.types):
            return False
        if not self.items:
            return True
        inside: Iterable[Any] = ()
        if isinstance(value, dict):
            inside = value.values()
        elif isinstance(value, list):
            inside = value
        return all(_is_one_of(item, self.items) for item in inside)


_LARGEST = 2**63 - 1
"""No whole number that a program counts with is larger."""
_LONGEST_NAME = 255
"""Bytes of the longest name that file systems know."""
_LISTED = ("shape", "columns")
"""Attributes of arrays, series and frames, which are no single value."""


def _is_too_large(value: Any) -> bool:
    return isinstance(value, int) and abs(value) > _LARGEST


def _is_no_path(value: str) -> bool:
    names = value.encode(errors="replace").split(b"/")
    return "\0" in value or any(len(name) > _LONGEST_NAME for name in names)


def shown_value(value: Any) -> str:
    """Return a value for a sentence; Python refuses to write out the longest of its numbers.

    >>> shown_value(10**5000)
    'a number of over 4,000 digits'
    """
    try:
        return clip(repr(value))
    except ValueError:
        return "a number of over 4,000 digits"


def _is_one_of(value: Any, types: tuple[type, ...]) -> bool:
    if isinstance(value, bool):
        return bool in types
    return isinstance(value, types)


_TEXT: Mapping[str, Any] = {"type": "string"}
_TEXT_LIST: Mapping[str, Any] = {"type": "array", "items": _TEXT}
_TEXT_OR_LIST: Mapping[str, Any] = {"anyOf": [_TEXT, _TEXT_LIST]}
_SCALAR: Mapping[str, Any] = {"type": ["string", "number", "boolean"]}

NUMBER = Kind("number", (int, float), "a number", {"type": "number"})
WHOLE = Kind("whole", (int,), "a whole number", {"type": "integer"})
TEXT = Kind("text", (str,), "a text", _TEXT)
TEXTS = Kind(
    "texts",
    types=(str, list),
    wanted="a list of texts",
    schema=_TEXT_OR_LIST,
    items=(str,),
)
FEATURES = Kind(
    "features",
    types=(str, list),
    wanted="a list of texts",
    schema=_TEXT_OR_LIST,
    items=(str,),
)
LIST = Kind(
    "list",
    types=(list,),
    wanted="a list of texts",
    schema=_TEXT_LIST,
    items=(str,),
)
FLAG = Kind("flag", (bool,), "true or false", {"type": "boolean"})
FILE = Kind("file", (str,), "a text", _TEXT)
"""A path; in a configuration it is seen from the folder of that."""
FILE_OR_ADDRESS = Kind("file or address", (str,), "a text", _TEXT)
"""The same, or the address of a database, which is the same from every folder."""
FOLDER = Kind("folder", (str,), "a text", _TEXT)
"""A folder, by default that of the configuration."""
_PATHS = (FILE, FILE_OR_ADDRESS, FOLDER)
PLACE = Kind("place", (str,), "a text", _TEXT)
"""A Python object, written "package.module:name"."""
LABEL = Kind("label", (str, int, float, bool), "a label", _SCALAR)
TABLE = Kind("table", (dict,), "a table", {"type": "object"})
CUTS = Kind(
    "cuts",
    types=(dict,),
    wanted='a table by column, such as { age = [25, 40], applied = "year" }',
    schema={"type": "object", "additionalProperties": {"type": ["array", "string"]}},
    items=(list, str),
)
"""Where columns are cut into groups; the command line writes one as age=25,40."""
WORDS = Kind(
    "words",
    types=(dict,),
    wanted="a table of labels by value, such as { 0 = 'female', 1 = 'male' }",
    schema={"type": "object", "additionalProperties": {"type": "string", "minLength": 1}},
    items=(str,),
)
"""What people call the values of a feature or the outcomes of software."""
WORDS_BY_COLUMN = Kind(
    "words by column",
    types=(dict,),
    wanted="a table of labels by column, such as { sex = { 0 = 'female', 1 = 'male' } }",
    schema={"type": "object", "additionalProperties": WORDS.schema},
    items=(dict,),
)
"""The same, by column; the command line writes one as sex=0:female,1:male."""
STEPS = Kind(
    "steps",
    types=(int, float, dict),
    wanted="a number, or a table of numbers by feature, such as { income = 5 }",
    schema={"type": ["number", "object"], "additionalProperties": {"type": "number"}},
    items=(int, float),
)
"""By how much features are moved; the command line writes 5 for all, or income=5."""
ANY = Kind("any", (object, bool), "a value", {})


@dataclass(frozen=True, slots=True)
class Option:
    """One option: its name, what kind of value it takes, and a help text that ends in no full stop.

    Parameters
    ----------
    name
        The keyword of the function and the key of the table; the command line writes it with
        hyphens.
    kind
        The kind of its value.
    help
        What it does, in a few words.
    choices
        The values that there are, where they are few and known.
    metavar
        What stands for the value in the help of the command line.
    wanted
        What a value must be, where the sentence of its kind does not say it.
    keys
        The options that a table holds, where it holds certain ones and no others.
    python, toml, command
        Where it can be given. Python alone takes objects, and the command line alone names files to
        write.
    """

    name: str
    kind: Kind
    help: str
    choices: tuple[str, ...] = ()
    metavar: str = ""
    wanted: str = ""
    short: str = ""
    """A one-letter form for the command line."""
    positional: bool = False
    """Whether the command line takes it by its place instead of its name."""
    repeat: bool = False
    """Whether the command line may give it several times, each a value of its own."""
    required: bool = False
    default: Any = None
    """What the command line gives where nothing is said; None leaves it to the function."""
    keys: tuple[Option, ...] = ()
    python: bool = True
    toml: bool = True
    command: bool = True

    @property
    def flag(self) -> str:
        """The option of the command line."""
        name = self.name.replace("_", "-")
        return f"--{name}"

    @property
    def takes_one_value(self) -> bool:
        """Whether a list can be no value of it."""
        return bool(self.choices) or self.kind in (FLAG, NUMBER, WHOLE)

    def check(self, value: Any, where: str) -> None:
        """Raise a UsageError for a value of another kind, or one that is not among the choices.

        `where` begins the sentence, such as "evenhand.toml: check 1 (measure)".

        >>> Option("limit", NUMBER, "the threshold").check("high", "check 1")
        Traceback (most recent call last):
        evenhand.runtime.errors.UsageError: check 1 has limit = 'high'; it must be a number
        """
        entry = f"{where} has {self.name} = {shown_value(value)}"
        if _is_too_large(value):
            raise UsageError(f"{entry}; the number is too large")
        if self.kind in _PATHS and isinstance(value, str) and _is_no_path(value):
            raise UsageError(f"{entry}; no file can have such a name")
        if not self.kind.fits(value):
            wanted = self.wanted or self.kind.wanted
            raise UsageError(f"{entry}; it must be {wanted}")
        if self.choices and value not in self.choices:
            raise UsageError(f"{entry}; {nearest(value, self.choices)}")
        if self.keys:
            Options(self.keys).check(value, f"{where} {self.name}")

    def json_schema(self) -> dict[str, Any]:
        """Return the option as JSON Schema describes it."""
        schema: dict[str, Any] = {"description": self.help}
        schema.update(self.kind.schema)
        if self.keys:
            schema.update(Options(self.keys).table_schema())
        if self.choices:
            schema["enum"] = list(self.choices)
        return schema


@dataclass(frozen=True)
class Options:
    """The options of something, in the order in which they are listed."""

    entries: tuple[Option, ...] = ()
    given: tuple[str, ...] = field(default=())
    """Keywords of the function that no option says: what is tested, and what the run itself has."""

    @classmethod
    def of(cls, *entries: Option, given: Sequence[str] = ()) -> Options:
        """Return these options, in this order."""
        return cls(entries, tuple(given))

    def __iter__(self) -> Iterator[Option]:
        return iter(self.entries)

    def __contains__(self, name: object) -> bool:
        return any(option.name == name for option in self.entries)

    def __getitem__(self, name: str) -> Option:
        """Return an option by its name."""
        for option in self.entries:
            if option.name == name:
                return option
        raise KeyError(name)

    def __add__(self, other: Options) -> Options:
        return Options(self.entries + other.entries, self.given + other.given)

    def only(self, *names: str) -> Options:
        """Return some of the options."""
        entries = tuple(self[name] for name in names)
        return replace(self, entries=entries)

    def without(self, *names: str) -> Options:
        """Return all options but some."""
        entries = tuple(option for option in self.entries if option.name not in names)
        return replace(self, entries=entries)

    @property
    def python(self) -> tuple[str, ...]:
        """The keywords that the function takes."""
        names = list(self.given)
        for option in self.entries:
            if option.python:
                names.append(option.name)
        return tuple(names)

    @property
    def toml(self) -> tuple[str, ...]:
        """The keys that a table of a configuration may have."""
        return tuple(option.name for option in self.entries if option.toml)

    def check(self, table: Mapping[str, Any], where: str) -> None:
        """Raise a UsageError for an unknown key, or a value of another kind.

        >>> options = Options.of(Option("limit", NUMBER, "the threshold"))
        >>> options.check({"limt": 1}, "check 1")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        evenhand.runtime.errors.UsageError: check 1 has an unknown key 'limt'; did you mean ...
        """
        for key, value in table.items():
            if key not in self.toml:
                raise UsageError(
                    f"{where} has an unknown key {clip(repr(key))}; {nearest(key, self.toml)}"
                )
            self[key].check(value, where)

    def json_schema(self) -> dict[str, Any]:
        """Return the properties of a table as JSON Schema describes them."""
        schema = {}
        for option in self.entries:
            if option.toml:
                schema[option.name] = option.json_schema()
        return schema

    def table_schema(self) -> dict[str, Any]:
        """Return a whole table, which has these keys and no others, as JSON Schema describes it.

        >>> limit = Option("limit", NUMBER, "the threshold", required=True)
        >>> Options.of(limit).table_schema()["required"]
        ['limit']
        """
        schema: dict[str, Any] = {
            "type": "object",
            "properties": self.json_schema(),
            "additionalProperties": False,
        }
        required = [
            option.name for option in self.entries if option.toml and option.required
        ]
        if required:
            schema["required"] = required
        return schema

    def checked(self, function: Callable[P, R]) -> Callable[P, R]:
        """Check the keywords of a public function before it is called.

        >>> @Options.of(Option("limit", NUMBER, "the threshold")).checked
        ... def measure(*, limit=None): ...
        >>> measure(limt=0.05)  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        evenhand.runtime.errors.UsageError: measure has no option 'limt'; did you mean 'limit'? ...
        """
        return _checked(function, self.python, self)

    def refuse_odd(self, owner: str, given: Mapping[str, Any]) -> None:
        """Refuse keywords that no function can use: numbers without end, lists for one value.

        >>> options = Options.of(Option("limit", NUMBER, "the threshold"))
        >>> options.refuse_odd("measure", {"limit": 10**400})  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        evenhand.runtime.errors.UsageError: measure has limit = 1000...; the number is too large
        """
        for name, value in given.items():
            entry = f"{owner} has {name} = "
            if _is_too_large(value):
                raise UsageError(f"{entry}{shown_value(value)}; the number is too large")
            if name not in self or not self[name].takes_one_value:
                continue
            is_listed = any(hasattr(value, attribute) for attribute in _LISTED)
            if is_listed and getattr(value, "shape", None) != ():
                wanted = self[name].wanted or self[name].kind.wanted
                raise UsageError(f"{entry}{shown_value(value)}; it must be {wanted}")


def checked_keywords(function: Callable[P, R]) -> Callable[P, R]:
    """Check the keywords of a public function that no schema describes before it is called.

    >>> @checked_keywords
    ... def fetch(*, name=None): ...
    >>> fetch(nam="adult")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    evenhand.runtime.errors.UsageError: fetch has no option 'nam'; did you mean 'name'? ...
    """
    return _checked(function, options_of(function), Options())


def _checked(
    function: Callable[P, R], names: Sequence[str], options: Options
) -> Callable[P, R]:
    owner = function.__qualname__.removesuffix(".__init__")

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        refuse_unknown(owner, kwargs, names)
        options.refuse_odd(owner, kwargs)
        # The software under test is called somewhere inside, and must not end the caller.
        with exits_reported("the software under test"):
            return function(*args, **kwargs)

    return call


def options_of(function: Callable[..., object]) -> list[str]:
    """Return the names of a function's parameters, without those that take whatever comes."""
    catch_all = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    names = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name != "self" and parameter.kind not in catch_all:
            names.append(parameter.name)
    return names


def refuse_unknown(owner: str, given: Iterable[str], known: Sequence[str]) -> None:
    """Raise for the first keyword that is not known, naming the nearest one that is."""
    for name in given:
        if name not in known:
            raise UsageError(f"{owner} has no option {name!r}; {nearest(name, known)}")
