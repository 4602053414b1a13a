"""Paths in JSON: where in an answer the outcome stands.

A path is made of keys with dots between them. ``[]`` after a key goes through a list with one item
for each input, ``[0]`` takes one item. A key with a dot, a bracket or a space is written in double
quotes. An empty path is the whole answer.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evenhand.runtime.errors import UsageError, clip, nearest

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

EACH = None
"""The step that goes through a list."""
Step = str | int | None
DEEPEST = 4
"""Objects inside objects that are looked into for outcomes."""
_STEP = re.compile(
    r'\.?"(?P<quoted>(?:[^"\\]|\\.)*)"|\.?(?P<key>[^.\[\]"\s][^.\[\]"]*)|\[(?P<index>\d*|\*)\]'
)
_PLAIN_KEY = re.compile(r'[^.\[\]"\s$][^.\[\]"\s]*')
_USUAL = (
    "outcome",
    "decision",
    "prediction",
    "predicted",
    "label",
    "class",
    "verdict",
    "approved",
    "accepted",
    "result",
    "answer",
    "output",
    "score",
    "probability",
    "value",
    "risk",
)
"""Beginnings of names that fields with outcomes usually have, the likeliest first."""
_NEVER = frozenset({"error", "errors", "message", "detail", "id", "request_id", "version"})
"""Names that such fields do not have."""


@dataclass(frozen=True)
class OutcomePath:
    """A path, and the steps that it is made of."""

    text: str
    steps: tuple[Step, ...]

    @classmethod
    def of(cls, text: Any, where: str) -> OutcomePath:
        """Return the path that a text writes; `where` begins the sentence about a bad one.

        >>> OutcomePath.of("results[].decision", "outcome").steps
        ('results', None, 'decision')
        """
        if not isinstance(text, str):
            raise UsageError(
                f"{where} = {clip(repr(text))} must be a path such as 'results[].decision'"
            )
        rest = text.strip().removeprefix("$").removeprefix(".")
        steps: list[Step] = []
        end = 0
        while end < len(rest):
            match = _STEP.match(rest, end)
            # The first key has no dot before it, every later one has.
            begins_well = rest[end] == "[" or (rest[end] == ".") == (end > 0)
            if match is None or not begins_well:
                raise UsageError(
                    f"{where} = {clip(repr(text))} cannot be read as a path from {rest[end:]!r} on;"
                    " write keys with dots between them and [] where there is one item for each"
                    " input, as in 'results[].decision'"
                )
            steps.append(_step(match))
            end = match.end()
        if steps.count(EACH) > 1:
            raise UsageError(
                f"{where} = {clip(repr(text))} has [] twice, which stands for the inputs; write [0]"
                " for the first item of another list"
            )
        return cls(text, tuple(steps))

    @property
    def goes_through(self) -> bool:
        """Whether it goes through a list with one item for each input."""
        return EACH in self.steps

    def found(self, answer: Any) -> Any:
        """Return what stands there, a list where it goes through one.

        Raises a ValueError that says what is there instead.

        >>> path = OutcomePath.of("results[].decision", "outcome")
        >>> path.found({"results": [{"decision": "yes"}, {"decision": "no"}]})
        ['yes', 'no']
        """
        return _walk(answer, self.steps, "")


def _step(match: re.Match[str]) -> Step:
    if match["index"] is not None:
        if match["index"].isdigit():
            return int(match["index"])
        return EACH
    if match["quoted"] is not None:
        text = match["quoted"]
        return str(json.loads(f'"{text}"'))
    return match["key"]


def _walk(value: Any, steps: tuple[Step, ...], place: str) -> Any:
    for number, step in enumerate(steps):
        if step is EACH:
            items = _list_at(value, place)
            rest = steps[number + 1 :]
            return [_walk(item, rest, f"{place}[]") for item in items]
        if isinstance(step, int):
            items = _list_at(value, place)
            if step >= len(items):
                raise ValueError(f"{len(items)} items in {place or 'the list'}")
            value = items[step]
            place = f"{place}[{step}]"
            continue
        if not isinstance(value, dict) or step not in value:
            raise ValueError(_without(step, value, place))
        value = value[step]
        place = joined(place, step)
    return value


def _list_at(value: Any, place: str) -> list[Any]:
    if isinstance(value, list):
        return value
    inside = f" in {place!r}" if place else ""
    raise ValueError(f"{seen(value)} instead of a list{inside}")


def _without(step: str, value: Any, place: str) -> str:
    """Return what stands where a key was looked for."""
    inside = f" in {place!r}" if place else ""
    if not isinstance(value, dict):
        return f"{seen(value)} instead of an object with {step!r}{inside}"
    if value:
        close = f" ({nearest(step, value)})"
    else:
        close = ""
    return f"an object without {step!r}{inside}{close}"


def seen(value: Any) -> str:
    """Return in a few words what an answer is: the keys of an object, or the value itself.

    >>> seen({"results": [], "model": "v2"})
    "an object with the keys 'results', 'model'"
    >>> seen([1, 2])
    '[1, 2]'
    """
    if not isinstance(value, dict):
        return clip(json.dumps(value))
    if not value:
        return "an empty object"
    keys = ", ".join(repr(key) for key in list(value)[:12])
    return f"an object with the keys {clip(keys)}"


def joined(place: str, key: str) -> str:
    """Return the path of a key inside what a path leads to.

    >>> joined("results[]", "odd key")
    'results[]."odd key"'
    """
    if _PLAIN_KEY.fullmatch(key):
        written = key
    else:
        written = json.dumps(key)
    if place:
        return f"{place}.{written}"
    return written


def outcome_paths(answer: Any, count: int | None, names: Collection[str] = ()) -> list[str]:
    """Return the paths at which an answer may hold outcomes, the likeliest first.

    Parameters
    ----------
    answer
        What a service answered.
    count
        How many inputs the answer is about; None where it is about one that was sent alone.
    names
        The names of the features, which a service may repeat beside the outcome.

    >>> outcome_paths({"model": "v2", "results": [{"id": 1, "decision": "no"}]}, 1)
    ['results[].decision', 'results[].id']
    >>> outcome_paths({"age": 30, "decision": "no"}, None, ["age"])
    ['decision', 'age']
    """
    found = list(_leaves(answer, "", count, DEEPEST))
    return sorted(found, key=lambda path: _unlikeliness(path, names))


def _leaves(value: Any, place: str, count: int | None, depth: int) -> Iterator[str]:
    """Yield the paths of scalars, or with `count` of lists of as many."""
    if isinstance(value, dict):
        if depth:
            for key, inner in value.items():
                yield from _leaves(inner, joined(place, key), count, depth - 1)
    elif isinstance(value, list):
        yield from _leaves_of_list(value, place, count, depth)
    elif count is None and value is not None:
        yield place


def _leaves_of_list(
    items: list[Any],
    place: str,
    count: int | None,
    depth: int,
) -> Iterator[str]:
    if not depth:
        return
    if count is None:
        # An answer about one input may still be a list, of one item.
        if len(items) == 1:
            yield from _leaves(items[0], f"{place}[0]", None, depth - 1)
    elif items and len(items) == count:
        yield from _leaves(items[0], f"{place}[]", None, depth - 1)


def _unlikeliness(path: str, names: Collection[str]) -> tuple[bool, bool, int, int]:
    """Return how unlikely a path is that of the outcome, to sort by."""
    keys = []
    for step in OutcomePath.of(path, "").steps:
        if isinstance(step, str):
            keys.append(step)
    last = keys[-1].lower() if keys else ""
    rank = len(_USUAL)
    for place, word in enumerate(_USUAL):
        if last.startswith(word):
            rank = place
            break
    return (last in _NEVER, bool(keys) and keys[-1] in names, rank, len(keys))
