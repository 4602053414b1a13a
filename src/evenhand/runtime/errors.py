"""Every error that evenhand raises on purpose.

    EvenhandError                    exit code 2 unless said otherwise
    ├── UsageError                   a wrong argument, name or value
    │   ├── SpaceError               a space that cannot be built or sampled
    │   │   ├── NoInputs             constraints that leave no input at all
    │   │   └── RareInputs           constraints that leave too few of the inputs that are drawn
    │   ├── ConfigError              a file that cannot be read as configuration
    │   ├── DataError                a frame or data set that cannot be used
    │   ├── LedgerError              a ledger that cannot be opened or does not fit
    │   └── MissingExtra             an optional dependency that is not installed
    └── SubjectError                 exit code 4: the software under test failed
        ├── SubjectCrashed           non-zero exit, exception, refused connection
        ├── SubjectTimeout           no answer in the time allowed
        ├── BadOutcome               an answer that is no outcome: empty, garbage, NaN, wrong count
        └── NotDeterministic         two answers to the same question

Each message is one sentence that names the file, field and value, and what to do. The command line
prints the message alone and exits with `exit_code`. Any other error is a mistake of evenhand
itself, and exits with 70.
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Iterable

INTERRUPTED = 130
"""The exit code of evidence that was interrupted, whatever it had found by then.

The command line exits with the code of the signal that came, which is no part of the evidence.
"""
INTERNAL_ERROR = 70
"""What a shell expects of a program that failed by a mistake of its own."""


class EvenhandError(Exception):
    """Base of all errors raised on purpose.

    Notes
    -----
    See docs/how-to/ci.md for the exit code of each.
    """

    exit_code: ClassVar[int] = 2

    def __str__(self) -> str:
        # What the software under test, a file or a configuration says may be in the message.
        return printable_lines(super().__str__())


class EvenhandWarning(UserWarning):
    """What a person should know and nothing fails for; the command line prints its sentence.

    Notes
    -----
    See docs/how-to/subjects.md.
    """

    def __str__(self) -> str:
        return printable_lines(super().__str__())


class UsageError(EvenhandError, ValueError):
    """A wrong argument, name or value.

    Notes
    -----
    The message names the value and the nearest valid choice. See docs/how-to/ci.md
    """


class SpaceError(UsageError):
    """A space that cannot be built, sampled or enumerated."""


class NoInputs(SpaceError):
    """Constraints that leave no input at all."""


class RareInputs(SpaceError):
    """Constraints that leave next to none of the inputs that are drawn."""


class ConfigError(UsageError):
    """A file that cannot be read as configuration."""


class DataError(UsageError):
    """A frame or data set that cannot be used."""


class LedgerError(UsageError):
    """A ledger that cannot be opened, is damaged, or belongs to another space or subject."""


class MissingExtra(UsageError, ImportError):
    """An optional dependency that is not installed."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(
            f"{what} needs an optional dependency; install it with: pip install 'evenhand[{extra}]'"
        )
        self._made_of = (what, extra)

    def __reduce__(self) -> tuple[type[MissingExtra], tuple[str, str]]:
        # An error that does not unpickle takes the whole pool of workers down with it.
        return MissingExtra, self._made_of


class SubjectError(EvenhandError):
    """The software under test failed; what it had answered before is kept.

    Notes
    -----
    See docs/how-to/subjects.md
    """

    exit_code: ClassVar[int] = 4


class SubjectCrashed(SubjectError):
    """The software under test exited with an error, raised, or refused the connection."""


class SubjectTimeout(SubjectError):
    """The software under test gave no answer in the time allowed."""


class BadOutcome(SubjectError):
    """The software under test answered with something that is not an outcome."""


class NotDeterministic(SubjectError):
    """The software under test gave two answers to the same question."""


_MOST_CHOICES = 12
"""The most valid choices that an error sentence lists."""


def nearest(name: object, valid: Iterable[object]) -> str:
    """Return the end of an error sentence: the nearest valid choice, and the first dozen of all.

    >>> nearest("sexx", ["age", "sex"])
    "did you mean 'sex'? Valid choices are 'age', 'sex'"
    >>> nearest("1", [0, 1])
    'did you mean 1? Valid choices are 0, 1'
    """
    choices = {str(choice): clip(repr(choice), 60) for choice in valid}
    if not choices:
        return "there are no valid choices"
    shown = ", ".join(list(choices.values())[:_MOST_CHOICES])
    if len(choices) > _MOST_CHOICES:
        shown += ", …"
    # The matcher is quadratic in the length of a word and linear in their number; a message must
    # not take seconds.
    words = {choice[:60]: choice for choice in list(choices)[:1000]}
    close = difflib.get_close_matches(str(name)[:60], words, n=1, cutoff=0.5)
    if not close:
        return f"valid choices are {shown}"
    closest = words[close[0]]
    return f"did you mean {choices[closest]}? Valid choices are {shown}"


def place_of(error: BaseException) -> str:
    """Return the module and line of evenhand in which an error was raised, or of its caller.

    >>> place_of(KeyError("raised nowhere"))
    'nowhere'
    """
    place = "nowhere"
    step = error.__traceback__
    while step is not None:
        module = str(step.tb_frame.f_globals.get("__name__", ""))
        if place == "nowhere" or module.partition(".")[0] == "evenhand":
            place = f"{module}:{step.tb_lineno}"
        step = step.tb_next
    return place


def one_line(text: object) -> str:
    """Return what a value or an error says on one line, as `printable` shows it.

    >>> one_line(UsageError("no\\nrows"))
    'no rows'
    """
    return printable(" ".join(str(text).split()))


def clip(text: str, width: int = 120) -> str:
    """Return the text on one line, cut to `width` characters, for use inside an error sentence."""
    # Of a text of many megabytes only the beginning is looked at.
    beginning = text[: 100 * width]
    flat = one_line(beginning)
    if len(flat) <= width and len(beginning) == len(text):
        return flat
    return flat[: width - 1] + "…"


def reason_of(error: Exception) -> str:
    """Return why a file cannot be used: what the system says of it, or the error itself.

    >>> reason_of(FileNotFoundError(2, "No such file or directory", "a.json"))
    'No such file or directory'
    """
    return getattr(error, "strerror", None) or clip(str(error))


def printable(text: str) -> str:
    r"""Return text in which escapes stand for all that a reader would not see as it is.

    Control characters would move the cursor of a terminal or rename its window. Characters without
    a width or that turn the direction of writing make different texts look the same: they are shown
    too, also where they join letters or emoji.

    >>> printable("a\x1b[31mb\nc"), printable("née 中文 🙂"), printable("a\u202eb")
    ('a\\x1b[31mb\\nc', 'née 中文 🙂', 'a\\u202eb')
    """
    if text.isprintable():
        return text
    # Imported where it is used: languages have errors of their own.
    from evenhand.runtime.language import own_spaces

    kept = own_spaces(text)
    letters = []
    for place, letter in enumerate(text):
        if not letter.isprintable() and place not in kept:
            letter = letter.encode("unicode_escape").decode("ascii")
        letters.append(letter)
    return "".join(letters)


def printable_lines(text: str) -> str:
    r"""Return text as `printable` shows it, line by line.

    >>> printable_lines("a\x07\nb")
    'a\\x07\nb'
    """
    return "\n".join(printable(line) for line in text.split("\n"))
