"""Software that decides by age, and what it does instead where it is told to fail.

It is copied beside a configuration and knows nothing of evenhand. The environment says which
fault it has (`FAULT`), at which inputs (`FAULT_AT`: `every` or `some`), whether it is biased
(`FAULT_BIAS`), and where it writes down what it was asked (`FAULT_LOG`).
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Person = Mapping[str, Any]

STRUCK_AGE = 47
"""The age of the people at whom software fails that fails at some inputs alone."""
LONG = 90.0
"""Seconds that a program hangs; it ends by itself, should nobody end it."""
MEGABYTE = 1 << 20
STRUCK_SUFFIX = ".struck"
PERIOD = 1000
"""Flaky software gives another answer to one in so many inputs."""
PHASE = 100
"""The first input that flaky software answers otherwise."""


def right(person: Person) -> str:
    """Decide by age; with a bias, women ten years later than men."""
    later = 10 if os.environ.get("FAULT_BIAS") == "1" and person["sex"] == "F" else 0
    return "approve" if int(person["age"]) > 35 + later else "deny"


def struck(person: Person) -> bool:
    if os.environ.get("FAULT_AT", "every") == "every":
        return True
    return int(person["age"]) == STRUCK_AGE and person["owns"] == "yes"


def crash() -> None:
    raise RuntimeError("the model file is gone")


def leave() -> None:
    sys.exit(0)


def vanish() -> None:
    os._exit(0)


def interrupt() -> None:
    raise KeyboardInterrupt


def abort() -> None:
    os.abort()


def segfault() -> None:
    import ctypes  # most programs of the campaign live for one input, and start without it

    ctypes.string_at(0)


def hang() -> None:
    time.sleep(LONG)


def slow() -> None:
    time.sleep(0.02)


def hog() -> None:
    """Take memory until there is no more, which is at 600 MB here."""
    blocks = []
    for _ in range(600):
        blocks.append(b"x" * MEGABYTE)
    raise MemoryError(f"no more than {len(blocks)} MB")


def complain() -> None:
    """Write 100 MB to standard error."""
    line = b"a warning that nobody reads\n" * 40_000
    for _ in range(100 * MEGABYTE // len(line)):
        os.write(2, line)


ACTS: dict[str, Callable[[], None]] = {
    "crash": crash,
    "leave": leave,
    "vanish": vanish,
    "interrupt": interrupt,
    "abort": abort,
    "segfault": segfault,
    "hang": hang,
    "slow": slow,
    "hog": hog,
    "complain": complain,
}
"""What software does before it answers."""


def flipped(answer: str) -> str:
    return "deny" if answer == "approve" else "approve"


def flaky(answer: str) -> str:
    """Give another answer to one input in a thousand."""
    if asked() % PERIOD == PHASE:
        return flipped(answer)
    return answer


VALUES: dict[str, Callable[[str], Any]] = {
    "error text": lambda answer: "database connection lost",
    "random text": lambda answer: os.urandom(8).hex(),
    "nan": lambda answer: float("nan"),
    "infinity": lambda answer: float("inf"),
    "none": lambda answer: None,
    "huge number": lambda answer: 10**400,
    "escapes": lambda answer: "\x1b[2J\x1b]0;owned\x07approve",
    "flaky": flaky,
}
"""What software answers instead, by the name of the fault."""


def write_down(person: Person) -> None:
    """Note what was asked: one line, written at once, whoever else writes."""
    name = os.environ.get("FAULT_LOG")
    if name:
        line = json.dumps({key: str(value) for key, value in sorted(person.items())})
        descriptor = os.open(name, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        os.write(descriptor, line.encode() + b"\n")
        os.close(descriptor)


def note_strike() -> None:
    """Leave a file behind that says that the fault has struck."""
    name = os.environ.get("FAULT_LOG")
    if name:
        descriptor = os.open(name + STRUCK_SUFFIX, os.O_WRONLY | os.O_CREAT, 0o644)
        os.close(descriptor)


def asked() -> int:
    """Return how many inputs were asked for so far, of all processes."""
    with open(os.environ["FAULT_LOG"], "rb") as file:  # noqa: PTH123
        return file.read().count(b"\n")


def decided(person: Person) -> Any:
    """Return the answer to one person, or whatever takes its place."""
    write_down(person)
    pause = float(os.environ.get("FAULT_PAUSE", "0"))
    if pause:
        time.sleep(pause)
    answer = right(person)
    fault = os.environ.get("FAULT", "")
    if not fault or not struck(person):
        return answer
    note_strike()
    if fault in ACTS:
        ACTS[fault]()
    if fault in VALUES:
        return VALUES[fault](answer)
    return answer


def answers(people: list[dict[str, Any]]) -> list[Any]:
    """Return the answers to many people; too few or too many where that is the fault."""
    found = [decided(person) for person in people]
    fault = os.environ.get("FAULT", "")
    if fault == "too few":
        return found[:-1]
    if fault == "too many":
        return [*found, "approve"]
    return found


def decide(people: Any) -> list[Any]:
    """Decide about the people of a data frame."""
    return answers(people.to_dict("records"))


class PlantedModel:
    """A model with `predict`, as it is saved in a file."""

    classes_ = ("approve", "deny")
    feature_names_in_ = ("sex", "age", "owns")

    def fit(self, people: Any, outcomes: Any) -> PlantedModel:
        """Learn nothing."""
        return self

    def predict(self, people: Any) -> list[Any]:
        """Decide about the people of a data frame."""
        return decide(people)


def printed(value: Any) -> str:
    """Return what a program prints for an answer."""
    if value is None:
        return ""
    return str(value)
