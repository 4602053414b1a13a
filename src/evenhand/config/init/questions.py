"""What `evenhand init` says and asks: a question on a terminal, elsewhere a decision and a line."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenhand.runtime.errors import nearest, printable

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class Dialogue:
    """Prints each decision in a line; asks first where somebody is there to answer."""

    asks: bool = False

    @classmethod
    def here(cls, *, decided: bool) -> Dialogue:
        """Return the dialogue of this process; where all is decided, it asks nothing."""
        is_terminal = sys.stdin.isatty() and sys.stdout.isatty()
        return cls(is_terminal and not decided)

    def say(self, line: str) -> None:
        """Print a line."""
        print(printable(line), flush=True)

    def ask(self, question: str, default: str, choices: Sequence[str] | None = None) -> str:
        """Return what is answered; the default where nobody can be asked, or nothing is said."""
        while self.asks:
            answer = _line(f"{question} [{default}] ")
            if not answer:
                break
            if choices is None or answer in choices:
                return answer
            self.say(f"{answer!r} is none of them; {nearest(answer, choices)}")
        return default

    def confirm(self, question: str) -> bool:
        """Return whether a question is answered with yes; no where nobody can be asked."""
        if not self.asks:
            return False
        answer = _line(f"{question} [y/N] ")
        return answer.lower() in ("y", "yes")


def _line(prompt: str) -> str:
    """Return a line of standard input, nothing where it has ended."""
    try:
        return input(printable(prompt)).strip()
    except EOFError:
        return ""
