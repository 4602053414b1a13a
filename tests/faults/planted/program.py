"""A program that decides: about the person of its arguments, or about those of its lines."""

from __future__ import annotations

import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120

from planted import (  # type: ignore[import-not-found]  # found beside it, where it is copied
    decided,
    note_strike,
    printed,
    struck,
)

FLOOD = 64 << 20
"""Characters of a line that is no answer."""


def say(person: dict[str, str]) -> None:
    """Print one answer, or what a program prints that has lost count."""
    answer = printed(decided(person))
    fault = os.environ.get("FAULT", "")
    if fault == "too few" and struck(person):
        return
    print(answer, flush=True)
    if fault == "too many" and struck(person):
        print(answer, flush=True)


def flood() -> None:
    """Print a line without end."""
    block = "x" * (1 << 16)
    for _ in range(FLOOD // len(block)):
        sys.stdout.write(block)
    print(flush=True)


def main() -> None:
    """Answer the arguments, or every line of standard input."""
    fault = os.environ.get("FAULT", "")
    if fault == "flood":
        note_strike()
        flood()
    elif sys.argv[1:]:
        sex, age, owns = sys.argv[1:]
        say({"sex": sex, "age": age, "owns": owns})
    else:
        for line in sys.stdin:
            say(json.loads(line))


if __name__ == "__main__":
    main()
