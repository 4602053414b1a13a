"""The fields of evidence in JSON with the types of their values, and the check against them.

The types are declared once, as typed dictionaries. msgspec checks a document against them before
anything is built from it, so that a damaged file is refused by the path of the field that is wrong.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Literal, NotRequired, TypedDict, get_args

from evenhand.runtime.errors import UsageError, clip, nearest

if TYPE_CHECKING:
    from collections.abc import Mapping

JsonLabel = str | float | bool | None
"""A label or an outcome; a whole number is a float to msgspec as well."""
VerdictName = Literal["pass", "fail", "undecided"]
StopName = Literal[
    "decided",
    "margin",
    "too_close",
    "queries",
    "seconds",
    "findings",
    "enumerated",
    "exhausted",
    "interrupted",
    "completed",
]


class EstimateFields(TypedDict):
    """An estimate: the value is null where it is unknown, an end where nothing bounds it."""

    value: float | None
    low: float | None
    high: float | None
    n: int
    level: float
    method: str
    population: NotRequired[str]
    descriptive: NotRequired[bool]
    unit: NotRequired[str]


class CaseFields(TypedDict):
    """A case."""

    individual: dict[str, JsonLabel]
    twin: dict[str, JsonLabel]
    outcomes: tuple[JsonLabel, JsonLabel]
    realistic: NotRequired[bool]
    realistic_twin: NotRequired[bool]


class GroupFields(TypedDict):
    """A group of people, and how often they get the favourable outcome."""

    about: dict[str, JsonLabel]
    estimate: EstimateFields


class FindingFields(TypedDict):
    """A finding; `about` is a list of features, a rule, or a name."""

    key: str
    score: str
    claim: str
    about: list[str] | dict[str, Any] | str
    estimate: EstimateFields
    limit: float | None
    verdict: VerdictName | None
    cases: list[CaseFields]
    groups: NotRequired[list[GroupFields]]
    output: NotRequired[str]
    least: NotRequired[bool]
    judged: NotRequired[bool]
    by_construction: NotRequired[bool]
    only_answer: NotRequired[JsonLabel]
    unfavoured: NotRequired[bool]
    uniform: NotRequired[EstimateFields]
    p_value: NotRequired[float]
    e_value: NotRequired[float]
    noise: NotRequired[EstimateFields]
    gap: NotRequired[float]
    graded: NotRequired[bool]
    detail: NotRequired[dict[str, Any]]


class SpentFields(TypedDict):
    """What a run spent."""

    queries: NotRequired[int]
    executed: NotRequired[int]
    seconds: NotRequired[float]
    one_process: NotRequired[str]


class EvidenceFields(TypedDict):
    """What documents of all kinds of evidence have in common."""

    job: str
    seed: int
    stop: StopName
    versions: dict[str, str]
    notes: NotRequired[list[str]]
    spent: NotRequired[SpentFields]
    findings: NotRequired[list[FindingFields]]


class LogFields(TypedDict):
    """Where a log lies, and which engine read it."""

    source: str
    engine: str
    files: NotRequired[int]
    table: NotRequired[str]
    query: NotRequired[str]
    counted_by: NotRequired[str]


class ResultFields(EvidenceFields):
    """A result, whose findings are a list that may be empty."""

    space: dict[str, Any]
    details: NotRequired[dict[str, Any]]
    outcome_labels: NotRequired[dict[str, dict[str, str]]]
    log: NotRequired[LogFields]


CHOICES = {"stop": get_args(StopName), "verdict": get_args(VerdictName)}
"""The valid values of the fields that have few of them."""
_PROBLEM = re.compile(
    r"(?P<problem>.*?)(?: - at (?:`key` in )?`\$\.?(?P<path>.*)`)?", re.DOTALL
)
_MISSING = re.compile(r"Object missing required field `(?P<field>.*)`")
_TYPES = re.compile(r"Expected `(?P<expected>[^`]*)`(?:, got `(?P<actual>[^`]*)`)")
_STEP = re.compile(r"([^.\[\]]+)|\[(\d+)\]")
_NAMES = {
    "str": "a text",
    "int": "a whole number",
    "float": "a number",
    "bool": "a boolean",
    "array": "a list",
    "object": "a table",
    "null": "null",
}
"""What sentences call the types of msgspec, in the order in which they list them."""


def check_fields(table: Mapping[str, Any], fields: Any, where: str) -> None:
    """Refuse a document with a field that is missing or of another type.

    `fields` is one of the typed dictionaries above, and `where` begins the sentence.

    >>> check_fields({"queries": "many"}, SpentFields, "result.json")
    Traceback (most recent call last):
    evenhand.runtime.errors.UsageError: result.json: queries: expected a whole number, got "many"
    """
    import msgspec

    # Only the check is wanted. Evidence is built from the table itself: the converted one would
    # have other numbers, since msgspec makes floats of whole numbers, and no unknown fields.
    try:
        try:
            msgspec.convert(table, fields)
        except (msgspec.ValidationError, UnicodeEncodeError):
            written = _as_written(table)
            msgspec.convert(written, fields)
    except msgspec.ValidationError as error:
        raise UsageError(f"{where}: {_sentence(str(error), written)}") from None
    except RecursionError:
        raise UsageError(f"{where}: its tables are nested too deeply") from None


def _as_written(table: Mapping[str, Any]) -> Any:
    """Return a table as a reader of its file has it.

    One that was made in memory may hold numbers of numpy, which JSON writes as its own. Halves of
    characters, which msgspec cannot take, become question marks.
    """
    text = json.dumps(table, ensure_ascii=False)
    return json.loads(text.encode("utf-8", "replace"))


def _sentence(message: str, table: Any) -> str:
    """Return what msgspec says of a table, with the path first and the value that is wrong."""
    match = _PROBLEM.fullmatch(message)
    assert match is not None
    path = match["path"] or ""
    problem = _problem(match["problem"], path, table)
    return f"{path}: {problem}" if path else problem


def _problem(problem: str, path: str, table: Any) -> str:
    missing = _MISSING.fullmatch(problem)
    if missing is not None:
        return f"the field {missing['field']!r} is missing"
    value = _value_at(path, table)
    field = path.rpartition(".")[2]
    if field in CHOICES and isinstance(value, str):
        return f"unknown value {clip(repr(value))}; {nearest(value, CHOICES[field])}"
    types = _TYPES.fullmatch(problem)
    if types is None:
        # Only the length of a list is left, of which msgspec writes "Expected `array` of length 2".
        return problem.replace("Expected `array`", "expected a list")
    if value is ...:
        actual = _type_names(types["actual"])
    else:
        actual = clip(json.dumps(value, ensure_ascii=False))
    return f"expected {_type_names(types['expected'])}, got {actual}"


def _value_at(path: str, table: Any) -> Any:
    """Return the value at a path, or an ellipsis where the path leads through a dictionary."""
    if "[...]" in path:  # msgspec does not name the key of a dictionary
        return ...
    value = table
    for key, index in _STEP.findall(path):
        value = value[int(index)] if index else value[key]
    return value


def _type_names(expected: str) -> str:
    """Return types as people name them.

    >>> _type_names("float | null")
    'a number or null'
    """
    types = expected.split(" | ")
    names = [name for type_name, name in _NAMES.items() if type_name in types]
    *first_names, last_name = names or [expected]
    if not first_names:
        return last_name
    return f"{', '.join(first_names)} or {last_name}"
