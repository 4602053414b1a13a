"""Subject: the only place where the software under test is called."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from evenhand.runtime.errors import NotDeterministic, UsageError, clip
from evenhand.runtime.options import checked_keywords, options_of, refuse_unknown
from evenhand.space.feature import plain
from evenhand.space.space import Space
from evenhand.subject.adapters import ADAPTERS
from evenhand.subject.adapters.resolve import adapt, as_printed
from evenhand.subject.memo import Memo
from evenhand.subject.options import SHARED
from evenhand.subject.outcome_check import Answers
from evenhand.subject.outputs import (
    Recent,
    Records,
    checked_outputs,
    full_identity,
    meanings_of,
    packed,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from os import PathLike

    from numpy.typing import NDArray

    from evenhand.space.feature import Points
    from evenhand.subject.adapters.base import Output, Reply
    from evenhand.subject.ledger import Ledger
    from evenhand.subject.outcome_meaning import Differs

    Outcomes = NDArray[Any]

AGAIN = b"again:"
"""Marks the second answer to an input."""
ROWS_AT_ONCE = 131_072
"""How many inputs a model in this process is asked at once: enough to drown the cost of a call, and
little memory.
"""


class Subject:
    """The software under test, with what is known of its answers.

    Parameters
    ----------
    model
        A fitted scikit-learn estimator or pipeline, a torch module, or a function that takes a
        frame of inputs and returns one outcome each; or an `Adapter`. Other kinds of software have
        constructors of their own: `command`, `stream`, `http`, `onnx`, `saved`, and `of` for any
        that is registered.
    space
        What an input can be.
    outputs
        The names of several outputs that the software gives each input; what follows is then a
        mapping by name.
    positive
        The favourable outcome, a list of those, or a function of an array of outcomes that returns
        truth values; group scores compare how often groups get it.
    labels
        All outcomes there are; any other is an error.
    threshold, output
        For classifiers with two classes: take the label from `predict_proba` and this threshold, or
        the score itself as the outcome (``output="score"``).
    differs
        When two outcomes differ: None (labels differ), a number γ, or a distance function in [0,
        1].
    memo
        Remember answers in memory; by default where an answer is expensive.
    ledger
        A file that keeps every executed test and its outcome, for this run and the next.
    identity
        What to call the software in the ledger, where it is more, or less, than its code and data
        tell.

    Examples
    --------
    >>> from evenhand.space.feature import category, integer
    >>> space = Space([category("sex", ["F", "M"]), integer("age", 18, 90)])
    >>> subject = Subject(lambda frame: frame["age"] >= 21, space, positive=True)
    >>> subject.decide([{"sex": "F", "age": 20}]).tolist(), subject.asked
    ([False], 1)
    """

    @checked_keywords
    def __init__(
        self,
        model: Any,
        space: Space,
        *,
        outputs: Sequence[str] | None = None,
        positive: Any = None,
        labels: Sequence[Any] | Mapping[str, Sequence[Any]] | None = None,
        threshold: float | None = None,
        output: Output = "label",
        differs: Differs | Mapping[str, Differs] = None,
        memo: bool | None = None,
        ledger: str | PathLike[str] | None = None,
        identity: str | None = None,
    ) -> None:
        if not isinstance(space, Space):
            raise UsageError(
                f"space = {clip(repr(space))} is no Space; build one with Space(...) or"
                " Space.from_frame(...)"
            )
        adapter = adapt(
            model, positive=positive, threshold=threshold, output=output, identity=identity
        )
        if adapter.printed and outputs is None:
            # With several outputs a program prints JSON, which says itself what is text.
            positive, labels = as_printed(positive), as_printed(labels)
        if not space.passed:
            raise UsageError(
                "no feature of the space is passed to the software; leave passed=True on one of"
                " them"
            )
        self.outputs = adapter.outputs = checked_outputs(outputs)
        adapter.check(space)
        self.adapter = adapter
        self.space = space
        self.meanings = meanings_of(
            adapter, self.name, positive=positive, labels=labels, differs=differs
        )
        self.positive, self.differs = positive, differs
        self.asked = 0
        self.executed = 0
        answers = {name: Answers.of(meaning) for name, meaning in self.meanings.items()}
        self._answers = Records(answers) if self.outputs else answers[""]
        self._memo = Memo(wanted=memo, expensive=adapter.expensive)
        self._recent = Recent() if len(self.outputs) > 1 else None
        self._ledger: Ledger | None = None
        if ledger is not None:
            from evenhand.subject.ledger import Ledger

            self._ledger = Ledger(ledger, space=space.encoding, subject=full_identity(adapter))

    @classmethod
    def of(cls, kind: str, value: Any, space: Space, /, **options: Any) -> Subject:
        """Test software of any registered kind, that of other packages too.

        `value` is what the key of that kind holds in a configuration, and further options are those
        of its adapter: ``Subject.of("http", "http://127.0.0.1:8000/decide", space, batch=64)``.
        """
        own = [option.name for option in ADAPTERS[kind].options]
        refuse_unknown(f"Subject.of({kind!r})", options, [*own, *SHARED.python])
        said = {name: options.pop(name) for name in own if name in options}
        return cls._of(kind, value, space, said, options)

    @classmethod
    def _named(
        cls, kind: str, value: Any, space: Space, own: Mapping[str, Any], shared: Mapping[str, Any]
    ) -> Subject:
        """Build a subject for the constructor that has the name of a kind, and takes shared options
        as they come.
        """
        refuse_unknown(f"Subject.{kind}", shared, [*options_of(getattr(cls, kind)), *SHARED.python])
        return cls._of(kind, value, space, own, shared)

    @classmethod
    def _of(
        cls, kind: str, value: Any, space: Space, own: Mapping[str, Any], shared: Mapping[str, Any]
    ) -> Subject:
        adapter = ADAPTERS[kind].of(value, positive=shared.get("positive"), **own)
        return cls(adapter, space, **shared)

    @classmethod
    def command(
        cls,
        argv: Sequence[str],
        space: Space,
        *,
        workers: int | None = None,
        timeout: float = 30.0,
        cwd: str | PathLike[str] | None = None,
        env: Mapping[str, str] | None = None,
        identity: str | None = None,
        **options: Any,
    ) -> Subject:
        """Test a program, one process per input: ``["./loan", "{age}", "{sex}"]``, or ``{*}`` for
        all in order.
        """
        own: dict[str, Any] = {
            "workers": workers,
            "timeout": timeout,
            "cwd": cwd,
            "env": env,
            "identity": identity,
        }
        return cls._named("command", argv, space, own, options)

    @classmethod
    def stream(
        cls,
        argv: Sequence[str],
        space: Space,
        *,
        workers: int = 1,
        timeout: float = 30.0,
        restarts: int = 3,
        cwd: str | PathLike[str] | None = None,
        env: Mapping[str, str] | None = None,
        identity: str | None = None,
        **options: Any,
    ) -> Subject:
        """Test a long-lived program: one JSON object per line in, one outcome per line out."""
        own: dict[str, Any] = {"workers": workers, "timeout": timeout, "restarts": restarts}
        own |= {"cwd": cwd, "env": env, "identity": identity}
        return cls._named("stream", argv, space, own, options)

    @classmethod
    def http(
        cls,
        url: str,
        space: Space,
        *,
        batch: int = 256,
        concurrency: int = 4,
        timeout: float = 30.0,
        retries: int = 3,
        backoff: float = 0.2,
        headers: Mapping[str, str] | None = None,
        single: bool = False,
        identity: str | None = None,
        **options: Any,
    ) -> Subject:
        """Test an HTTP service that takes JSON batches of inputs and returns a JSON list of
        outcomes.
        """
        own: dict[str, Any] = {
            "batch": batch,
            "concurrency": concurrency,
            "timeout": timeout,
            "retries": retries,
        }
        own |= {"backoff": backoff, "headers": headers, "single": single, "identity": identity}
        return cls._named("http", url, space, own, options)

    @classmethod
    def onnx(
        cls,
        path: str | PathLike[str],
        space: Space,
        *,
        output: Output = "label",
        threads: int = 1,
        positive: Any = None,
        **options: Any,
    ) -> Subject:
        """Test an ONNX model file (extra: onnx)."""
        own: dict[str, Any] = {"output": output, "threads": threads}
        return cls._named("onnx", path, space, own, {**options, "positive": positive})

    @classmethod
    def saved(
        cls,
        path: str | PathLike[str],
        space: Space,
        *,
        trusted: Sequence[str] | None = None,
        allow_pickle: bool = False,
        identity: str | None = None,
        **options: Any,
    ) -> Subject:
        """Test a fitted estimator saved with skops, or, where you trust the file to run code, with
        pickle or joblib.
        """
        from evenhand.subject.adapters.saved import identity_of, load_model

        model = load_model(path, trusted=trusted, allow_pickle=allow_pickle)
        return cls(model, space, identity=identity or identity_of(path), **options)

    def decide(self, inputs: Any) -> Outcomes:
        """Return one outcome per input; `inputs` is a frame, a list of dictionaries, or encoded
        points.

        With several outputs, each input gets a record of a structured array:
        ``decide(inputs)["rate"]`` is one output.
        """
        points = self._encoded(inputs)
        self.asked += len(points)
        if self._recent is None:
            return self._decided(points)
        outcomes = self._recent.get(points)
        if outcomes is None:
            outcomes = self._decided(points)
            self._recent.keep(points, outcomes)
        return outcomes

    @property
    def remembers(self) -> bool:
        """Whether answers are kept, in memory or in a ledger."""
        return self._memo.on or self._ledger is not None

    def _decided(self, points: Points) -> Outcomes:
        return self._recall(points) if self.remembers else self._ask_all(points)

    def _encoded(self, inputs: Any) -> Points:
        if isinstance(inputs, np.ndarray) and inputs.dtype == np.float64 and inputs.ndim == 2:
            if inputs.shape[1] != len(self.space.features):
                raise UsageError(
                    f"points of {inputs.shape[1]} columns do not fit a space of"
                    f" {len(self.space.features)} features"
                )
            return inputs
        return self.space.encode(inputs)

    def _ask_all(self, points: Points) -> Outcomes:
        """Ask without looking anything up, in batches that fit in memory."""
        start = time.perf_counter()
        parts = [
            self._ask(points[at : at + ROWS_AT_ONCE]) for at in range(0, len(points), ROWS_AT_ONCE)
        ]
        if not parts:
            return packed([], self.outputs)
        self._memo.observe(time.perf_counter() - start, len(points))
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _ask(self, points: Points) -> Outcomes:
        answered: Outcomes | None = None
        for rows, outcomes in self.adapter.run(points, self.space):
            checked = self._answers.check(outcomes, len(rows))
            self.executed += len(rows)
            if answered is None and np.array_equal(rows, np.arange(len(points))):
                return checked
            if answered is None:
                answered = np.empty(len(points), dtype=object)
            answered[rows] = checked
        return packed([] if answered is None else answered.tolist(), self.outputs)

    def _recall(self, points: Points, mark: bytes = b"") -> Outcomes:
        """Ask only what neither memory nor ledger knows, each input once, and write every answer
        down as it comes.

        Answers are kept under a mark, so that second answers to the same inputs do not meet the
        first.
        """
        keys = [mark + key for key in self._keys(points)] if mark else self._keys(points)

        recalled = self._memo.recall(keys, self._ledger)
        if recalled.unknown:
            first = dict(zip(reversed(keys), range(len(keys) - 1, -1, -1), strict=True))
            rows = np.array([first[key] for key in recalled.unknown], dtype=np.intp)
            for start in range(0, len(rows), ROWS_AT_ONCE):
                several = slice(start, start + ROWS_AT_ONCE)
                for answers in self._ask_new(points[rows[several]], recalled.unknown[several]):
                    recalled.add(answers)
        return packed(recalled.answers, self.outputs)

    def _ask_new(self, points: Points, keys: list[bytes]) -> Iterator[dict[bytes, Reply]]:
        for rows, outcomes in self.adapter.run(points, self.space):
            answers = self._answers.check(outcomes, len(rows)).tolist()
            asked = [keys[row] for row in rows.tolist()]
            self.executed += len(asked)
            if self._ledger is not None:
                self._ledger.record(asked, answers)
            yield dict(zip(asked, answers, strict=True))

    def _keys(self, points: Points) -> list[bytes]:
        """Return the bytes of what the software sees of each input; features it is not passed do
        not count.
        """
        seen = np.ascontiguousarray(points[:, list(self.space.passed)]) + 0.0  # turns -0.0 into 0.0
        return cast(
            "list[bytes]", seen.view(np.dtype((np.void, seen.shape[1] * 8))).ravel().tolist()
        )

    @property
    def name(self) -> str:
        """The software under test in a few words, for messages."""
        return clip(self.adapter.name, 60)

    def favourable(self, outcomes: Outcomes) -> NDArray[np.bool_]:
        """Tell which outcomes are favourable; of several outputs, a view of each tells."""
        if self.outputs:
            raise UsageError(
                f"{self.name} has several outputs; ask the view of one of them what is favourable"
            )
        return self.meanings[""].favourable(outcomes)

    def need_deterministic(self, inputs: Any) -> None:
        """Ask some inputs a second time, and raise where the answers differ: a causal test assumes
        that they do not.

        A ledger keeps the second answers beside the first, so that the check itself is never
        repeated either.
        """
        points = self._encoded(inputs)
        first = self.decide(points)
        second = self._ask(points) if self._ledger is None else self._recall(points, AGAIN)
        self.asked += len(points)
        for name in self.meanings:
            one, other = (first[name], second[name]) if name else (first, second)
            moved = np.flatnonzero(np.asarray(one != other, dtype=np.bool_))
            if not len(moved):
                continue
            person = self.space.records(points[moved[:1]])[0]
            what = f"another {name!r}" if name else "another outcome"
            raise NotDeterministic(
                f"{self.name} gave {len(moved):,} of {len(points):,} inputs {what} when asked"
                f" again, such as {plain(one[moved[0]])!r} and then {plain(other[moved[0]])!r} to"
                f" {clip(str(person), 200)}; fix its random seed or its state, since a causal test"
                " needs one answer per input"
            )

    def close(self) -> None:
        """Release processes, connections and files; the subject may be used again afterwards."""
        self.adapter.close()
        if self._ledger is not None:
            self._ledger.close()

    def __enter__(self) -> Subject:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Subject({self.name}, {self.space})"


def as_subject(subject: Any, space: Space | None, **options: Any) -> Subject:
    """Return a Subject as it is, or wrap a model or function with its space."""
    if isinstance(subject, Subject):
        for name, value in options.items():
            if value is not None:
                raise UsageError(
                    f"{name} = {clip(repr(value))} is for a bare model; give it to the Subject"
                    " instead"
                )
        if space is not None and space != subject.space:
            raise UsageError(
                "the subject has a space of its own, which differs from the one given; pass one of"
                " them"
            )
        return subject
    if space is None:
        raise UsageError(
            f"{type(subject).__name__} has no space; pass space=… or wrap it in a Subject"
        )
    return Subject(subject, space, **options)
