"""What a fault is: how software of each kind has it, and what must come of it."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field


class Expected(enum.Enum):
    """What a run on software with a fault must come to."""

    DISCRIMINATES = "exit 1: discrimination found"
    FAILS = "exit 4: the software failed"
    REFUSED = "exit 2 or 4: the file cannot be used"
    RIGHT = "the verdict of the same software without the fault"
    RIGHT_OR_FAILS = "that verdict, or exit 4"
    NO_VERDICT = "exit 2, 3 or 4: neither a pass nor discrimination"
    NOT_FOUND = "exit 0, 3 or 4: no discrimination where there is none"

    @property
    def codes(self) -> tuple[int, ...]:
        """The exit codes that it allows, besides those of the right verdict."""
        return _CODES[self]

    @property
    def right(self) -> bool:
        """Whether the verdict without the fault is allowed."""
        return self in (Expected.RIGHT, Expected.RIGHT_OR_FAILS)


_CODES = {
    Expected.DISCRIMINATES: (1,),
    Expected.FAILS: (4,),
    Expected.REFUSED: (2, 4),
    Expected.RIGHT: (),
    Expected.RIGHT_OR_FAILS: (4,),
    Expected.NO_VERDICT: (2, 3, 4),
    Expected.NOT_FOUND: (0, 3, 4),
}


@dataclass(frozen=True)
class Fault:
    """One way to fail.

    Parameters
    ----------
    name: what the table calls it.
    text: what the software does.
    python: how `planted.py` calls it, for functions, estimators and programs.
    wire: how `services.py` calls it, for a service.
    graph: how `graphs.py` calls it, for an ONNX model.
    file: how `adapters.py` damages the file of a model.
    adapters: the kinds of software that have it; by default all that the names above are for.
    ends_process: whether it ends or stops the process it happens in, which must not be ours.
    some: whether it strikes at some inputs alone.
    labels: whether the configuration says which answers there are.
    timeout: seconds that the configuration allows to one answer.
    expected: what must come of it, and of single adapters or verbs where that is something else.
    """

    name: str
    text: str
    python: str = ""
    wire: str = ""
    graph: str = ""
    file: str = ""
    adapters: tuple[str, ...] = ()
    ends_process: bool = False
    some: bool = False
    labels: bool = True
    timeout: float = 20.0
    expected: Expected = Expected.FAILS
    besides: dict[str, Expected] = field(default_factory=dict)

    @property
    def biased(self) -> bool:
        """Whether the software discriminates, so that the right verdict is a fail.

        Software that must be seen to fail does not: it would pass if it were not seen.
        """
        return self.expected.right or self.expected is Expected.DISCRIMINATES

    def strikes(self, adapter: str) -> bool:
        """Return whether software of this kind can have it."""
        if self.adapters:
            return adapter in self.adapters
        names = {
            "function": "" if self.ends_process else self.python,
            "isolated": self.python,
            "estimator": self.python or self.file,
            "command": self.python,
            "stream": self.python,
            "http": self.wire,
            "onnx": self.graph or self.file,
            "xgboost": self.file,
            "lightgbm": self.file,
        }
        return bool(names[adapter])

    def expects(self, adapter: str, verb: str) -> Expected:
        """Return what must come of it for one kind of software and one verb."""
        return self.besides.get(adapter, self.besides.get(verb, self.expected))
