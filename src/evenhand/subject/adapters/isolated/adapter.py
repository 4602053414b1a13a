"""Any adapter, run in a process of its own."""

from __future__ import annotations

import time
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.runtime.errors import (
    BadOutcome,
    EvenhandError,
    EvenhandWarning,
    SubjectCrashed,
    SubjectError,
    SubjectTimeout,
    UsageError,
    clip,
)
from evenhand.subject.adapters.base import Adapter
from evenhand.subject.adapters.isolated.child import ModelProcess, OutOfTime
from evenhand.subject.adapters.isolated.limits import Isolation
from evenhand.subject.adapters.isolated.messages import NotPlain, read_plain
from evenhand.subject.adapters.isolated.recipe import elsewhere
from evenhand.subject.adapters.model_file import ModelFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from evenhand.space.feature import Points
    from evenhand.space.space import Space
    from evenhand.subject.model_form import ModelForm

_ATTRIBUTES = ("classes", "output", "numbers", "scorers")
"""What an adapter may tell, and what is asked of the one in the other process."""
_METHODS = ("margins", "gradients")
_LOADING = 60.0
"""Seconds that software may take to be loaded, where a batch of inputs is given fewer."""


class IsolatedAdapter(Adapter):
    """Asks an adapter in another process, which is started when needed and again after it died.

    Parameters
    ----------
    make
        Builds the adapter. It is called in the other process, so that what a model file or a module
        does when it is loaded is done there too.
    title
        The software in a few words, until the adapter tells its name.
    limits
        What the process may use.
    local
        The same adapter in this process, where there is one, which is asked for its identity alone.
    """

    kind = "isolated"

    def __init__(
        self,
        make: Callable[[], Adapter],
        title: str,
        limits: Isolation,
        local: Adapter | None = None,
    ) -> None:
        self._recipe = _pickled(make, title)
        self._title = title
        self._limits = limits
        self._local = local
        self._child: ModelProcess | None = None
        self._spaces: list[Any] = []
        self._names: tuple[str, ...] = ()
        self._known: dict[str, Any] = {}
        self._child, facts = self._started()
        self._title = clip(facts["name"], 60)
        self.expensive = facts["expensive"]
        self.own_threads_from = facts["own_threads_from"]
        self.printed = facts["printed"]  # type: ignore[misc]
        self.takes_texts = facts["takes_texts"]  # type: ignore[misc]
        if facts["file"] is not None:
            self.file = ModelFile(*facts["file"])

    def __getstate__(self) -> dict[str, Any]:
        # Each worker starts a process of its own.
        return vars(self) | {"_child": None, "_spaces": [], "_local": None}

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names of several outputs; the Subject sets them."""
        return self._names

    @outputs.setter
    def outputs(self, names: tuple[str, ...]) -> None:
        self._names = names
        self._known.clear()
        if self._child is not None:
            self._alone("outputs", names)

    @property
    def name(self) -> str:
        """The software in a few words, for messages."""
        return self._title

    @property
    def identity(self) -> str:
        """The name of the software in a ledger, which is the same as in our own process."""
        if self._local is not None:
            return self._local.identity
        return str(self._attribute("identity"))

    def form(self) -> ModelForm:
        """Return what the software says of its inputs."""
        if "form" not in self._known:
            self._known["form"] = self._alone("call", "form", None)
        found: ModelForm = self._known["form"]
        return found

    def unread(self, space: Space) -> frozenset[str]:
        """Return the features that the software is proven not to read."""
        return frozenset(self._alone("call", "unread", self._number(space)))

    def check(self, space: Space) -> None:
        """Refuse a space that does not fit the software."""
        self._alone("call", "check", self._number(space))

    def refuses_missing(self, space: Space) -> tuple[str, ...]:
        """Return the features that the software does not take where their value is missing."""
        return tuple(self._alone("call", "refuses_missing", self._number(space)))

    def run(
        self, points: Points, space: Space
    ) -> Iterator[tuple[NDArray[np.intp], NDArray[np.generic]]]:
        """Yield what the other process answers."""
        # Texts stand for points and space at once.
        given: Any = space
        number = None if given is points else self._number(given)
        last = None
        try:
            for rows, outcomes in self._asked("run", points, number, task=_on(points)):
                if last is not None:
                    yield last
                last = (np.arange(len(points)) if rows is None else rows, outcomes)
        except SubjectError:
            if last is not None:
                yield last
            raise
        # Whoever has all answers asks for no more, and by now the other process is through.
        if last is not None:
            yield last

    def close(self) -> None:
        """End the process; it is started again when it is needed."""
        if self._child is not None:
            self._child.close()
            self._child = None
            self._spaces = []

    def __getattr__(self, name: str) -> Any:
        if name in _ATTRIBUTES:
            return self._attribute(name)
        if name in _METHODS:
            self._attribute(name)
            return self._method(name)
        raise AttributeError(name)

    def _attribute(self, name: str) -> Any:
        if name not in self._known:
            self._known[name] = self._alone("get", name)
        has_it, value = self._known[name]
        if not has_it:
            raise AttributeError(name)
        return value

    def _method(self, name: str) -> Callable[..., Any]:
        def ask(points: Points, space: Space, *details: Any) -> Any:
            number = self._number(space)
            return self._alone("call", name, number, points, *details, task=_on(points))

        return ask

    def _number(self, space: Any) -> int:
        """Return the number of a space in the other process, which is sent once."""
        self._ready()
        for number, known in enumerate(self._spaces):
            if known is space:
                return number
        number = len(self._spaces)
        self._alone("space", number, _pickled(space, "the space"))
        self._spaces.append(space)
        return number

    def _alone(self, action: str, *details: Any, task: str = "") -> Any:
        """Return the one answer to a request, None where there is none."""
        answer = None
        for part in self._asked(action, *details, task=task):
            answer = part
        return answer

    def _asked(self, action: str, *details: Any, task: str) -> Iterator[Any]:
        """Yield the parts of the answer to a request, as they come."""
        child = self._ready()
        is_through = False
        try:
            yield from self._exchange(child, (action, *details), task)
            is_through = True
        except _RefusedThere as refusal:
            is_through = True
            raise refusal.error from None
        finally:
            if not is_through:
                # Whatever comes back now is no answer to the next question.
                self.close()

    def _ready(self) -> ModelProcess:
        """Return the process, with the adapter in it."""
        if self._child is None:
            self._child, _ = self._started()
            self._spaces = []
            if self._names:
                self._alone("outputs", self._names)
        return self._child

    def _started(self) -> tuple[ModelProcess, dict[str, Any]]:
        """Return a new process that has built the adapter, and what is known of that."""
        child = ModelProcess(self._limits)
        try:
            # How long Python takes to start is not the software's.
            list(self._exchange(child, None, " when it was started"))
            build = ("build", self._recipe)
            (facts,) = self._exchange(child, build, " when it was loaded", least=_LOADING)
        except _RefusedThere as refusal:
            child.close()
            raise refusal.error from None
        except BaseException:
            child.close()
            raise
        return child, facts

    def _exchange(
        self, child: ModelProcess, request: Any, task: str, *, least: float = 0.0
    ) -> Iterator[Any]:
        """Send a request, if there is one, and yield the parts of the answer.

        It takes `least` seconds or more to run out of time.
        """
        seconds = None if request is None else self._limits.timeout
        if seconds is not None:
            seconds = max(seconds, least)
        deadline = None if seconds is None else time.monotonic() + seconds
        try:
            if request is not None:
                child.send(request, deadline)
            while True:
                kind, content = read_plain(child.receive(deadline))
                if kind == "part":
                    yield content
                elif kind == "warning":
                    _warn(content)
                elif kind == "error":
                    raise _RefusedThere(content)
                else:
                    return
        except EOFError:
            how, words = child.last_seen()
            raise SubjectCrashed(f"{self._title} {how}{task} ({words})") from None
        except OutOfTime:
            raise SubjectTimeout(
                f"{self._title} gave no answer in {seconds:g} seconds{task}"
            ) from None
        except NotPlain as found:
            raise BadOutcome(
                f"{self._title} answered with a {found}; an outcome is a text, a number or a truth"
                " value"
            ) from None


class _RefusedThere(Exception):
    """An error of the adapter in the other process, which goes on."""

    def __init__(self, content: Any) -> None:
        super().__init__()
        if not isinstance(content, EvenhandError):
            content = SubjectCrashed(clip(str(content)))
        self.error: EvenhandError = content


def isolated(adapter: Adapter, given: Any) -> Adapter:
    """Return an adapter that runs in a process of its own, where `isolate` says so."""
    limits = Isolation.of(given)
    if limits is None or isinstance(adapter, IsolatedAdapter):
        return adapter
    if adapter.own_process:
        raise elsewhere(adapter.kind)
    return IsolatedAdapter(_Given(adapter), adapter.name, limits, local=adapter)


class _Given:
    """Returns an adapter that was made here."""

    def __init__(self, adapter: Adapter) -> None:
        self._adapter = adapter

    def __call__(self) -> Adapter:
        return self._adapter


def _pickled(value: Any, title: str) -> bytes:
    import cloudpickle

    try:
        return bytes(cloudpickle.dumps(value, protocol=5))
    except Exception as error:  # whatever the parts of a model raise where they are pickled
        raise UsageError(
            f"{title} cannot be sent to a process of its own ({clip(str(error))}); leave out"
            " isolate, or name it in a configuration"
        ) from error


def _warn(warning: tuple[bool, str]) -> None:
    is_own, message = warning
    category = EvenhandWarning if is_own else UserWarning
    warnings.warn(message, category, stacklevel=2)


def _on(points: Any) -> str:
    return f" on {len(points):,} inputs"
