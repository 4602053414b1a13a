"""The options of a verb, an adapter or a table of a configuration: one schema that every front end
reads.

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

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of value: what TOML may hold, how the command line reads it, and how a sentence names
    it.
    """

    name: str
    types: tuple[type, ...]
    wanted: str
    schema: Mapping[str, Any]
    """The value as JSON Schema describes it."""
    items: tuple[type, ...] = ()
    """What a list or a table of it holds; anything where nothing is said."""

    def fits(self, value: Any) -> bool:
        """Tell whether a value from TOML is of this kind; true and false are numbers nowhere."""
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


def _is_one_of(value: Any, types: tuple[type, ...]) -> bool:
    if isinstance(value, bool):
        return bool in types
    return isinstance(value, types)


_TEXT_LIST: Mapping[str, Any] = {"type": "array", "items": {"type": "string"}}
NUMBER = Kind("number", (int, float), "a number", {"type": "number"})
WHOLE = Kind("whole", (int,), "a whole number", {"type": "integer"})
TEXT = Kind("text", (str,), "a text", {"type": "string"})
TEXTS = Kind(
    "texts", (str, list), "a list of texts", {"anyOf": [{"type": "string"}, _TEXT_LIST]}, (str,)
)
FEATURES = Kind("features", (str, list), "a list of texts", TEXTS.schema, (str,))
LIST = Kind("list", (list,), "a list of texts", _TEXT_LIST, (str,))
FLAG = Kind("flag", (bool,), "true or false", {"type": "boolean"})
FILE = Kind("file", (str,), "a text", {"type": "string"})
"""A path; in a configuration it is seen from the folder of that."""
FOLDER = Kind("folder", (str,), "a text", {"type": "string"})
"""A folder, by default that of the configuration."""
PLACE = Kind("place", (str,), "a text", {"type": "string"})
"""A Python object, written "package.module:name"."""
LABEL = Kind("label", (str, int, float, bool), "a label", {"type": ["string", "number", "boolean"]})
TABLE = Kind("table", (dict,), "a table", {"type": "object"})
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
    python: bool = True
    toml: bool = True
    command: bool = True

    @property
    def flag(self) -> str:
        """The option of the command line."""
        return f"--{self.name.replace('_', '-')}"

    def check(self, value: Any, where: str) -> None:
        """Refuse a value of another kind, and one that is no choice.

        `where` begins the sentence, such as "evenhand.toml: check 1 (measure)".

        >>> Option("limit", NUMBER, "the threshold").check("high", "check 1")
        Traceback (most recent call last):
        evenhand.runtime.errors.UsageError: check 1 has limit = 'high'; it must be a number
        """
        if not self.kind.fits(value):
            wanted = self.wanted or self.kind.wanted
            raise UsageError(f"{where} has {self.name} = {clip(repr(value))}; it must be {wanted}")
        if self.choices and value not in self.choices:
            raise UsageError(
                f"{where} has {self.name} = {clip(repr(value))}; {nearest(value, self.choices)}"
            )

    def json_schema(self) -> dict[str, Any]:
        """Return the option as JSON Schema describes it."""
        found = {"description": self.help, **self.kind.schema}
        if self.choices:
            found["enum"] = list(self.choices)
        return found


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
        return replace(self, entries=tuple(self[name] for name in names))

    def without(self, *names: str) -> Options:
        """Return all options but some."""
        return replace(
            self, entries=tuple(option for option in self.entries if option.name not in names)
        )

    @property
    def python(self) -> tuple[str, ...]:
        """The keywords that the function takes."""
        return (*self.given, *(option.name for option in self.entries if option.python))

    @property
    def toml(self) -> tuple[str, ...]:
        """The keys that a table of a configuration may have."""
        return tuple(option.name for option in self.entries if option.toml)

    def check(self, table: Mapping[str, Any], where: str) -> None:
        """Refuse keys that there are not, and values of another kind.

        >>> Options.of(Option("limit", NUMBER, "the threshold")).check({"limt": 1}, "check 1 (measure)")
        Traceback (most recent call last):
        evenhand.runtime.errors.UsageError: check 1 (measure) has an unknown key 'limt'; did you mean 'limit'? Valid \
choices are 'limit'
        """
        for key, value in table.items():
            if key not in self.toml:
                raise UsageError(
                    f"{where} has an unknown key {clip(repr(key))}; {nearest(key, self.toml)}"
                )
            self[key].check(value, where)

    def json_schema(self) -> dict[str, Any]:
        """Return the properties of a table as JSON Schema describes them."""
        return {option.name: option.json_schema() for option in self.entries if option.toml}

    def table_schema(self) -> dict[str, Any]:
        """Return a whole table, which has these keys and no others, as JSON Schema describes it.

        >>> Options.of(Option("limit", NUMBER, "the threshold", required=True)).table_schema()["required"]
        ['limit']
        """
        required = [option.name for option in self.entries if option.toml and option.required]
        table = {"type": "object", "properties": self.json_schema(), "additionalProperties": False}
        return table | ({"required": required} if required else {})

    def checked(self, function: Callable[P, R]) -> Callable[P, R]:
        """Check the keywords of a public function before it is called.

        >>> @Options.of(Option("limit", NUMBER, "the threshold")).checked
        ... def measure(*, limit=None): ...
        >>> measure(limt=0.05)
        Traceback (most recent call last):
        evenhand.runtime.errors.UsageError: measure has no option 'limt'; did you mean 'limit'? Valid choices are \
'limit'
        """
        return _checked(function, self.python)


def checked_keywords(function: Callable[P, R]) -> Callable[P, R]:
    """Check the keywords of a public function that no schema describes before it is called.

    >>> @checked_keywords
    ... def fetch(*, name=None): ...
    >>> fetch(nam="adult")
    Traceback (most recent call last):
    evenhand.runtime.errors.UsageError: fetch has no option 'nam'; did you mean 'name'? Valid choices are 'name'
    """
    return _checked(function, options_of(function))


def _checked(function: Callable[P, R], names: Sequence[str]) -> Callable[P, R]:
    owner = function.__qualname__.removesuffix(".__init__")

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        refuse_unknown(owner, kwargs, names)
        return function(*args, **kwargs)

    return call


def options_of(function: Callable[..., object]) -> list[str]:
    """Return the names of a function's parameters, without those that take whatever comes."""
    loose = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    parameters = inspect.signature(function).parameters.values()
    return [
        parameter.name
        for parameter in parameters
        if parameter.name != "self" and parameter.kind not in loose
    ]


def refuse_unknown(owner: str, given: Iterable[str], known: Sequence[str]) -> None:
    """Raise for the first keyword that is not known, naming the nearest one that is."""
    for name in given:
        if name not in known:
            raise UsageError(f"{owner} has no option {name!r}; {nearest(name, known)}")
