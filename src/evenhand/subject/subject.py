"""Subject: the only place where the software under test is called."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.runtime.errors import NotDeterministic, UsageError, clip
from evenhand.runtime.options import checked_keywords
from evenhand.space.feature import plain
from evenhand.space.row_keys import bytes_of_rows
from evenhand.subject.adapters.resolve import adapt, as_printed, check_space, in_own_form
from evenhand.subject.answers_seen import AnswersSeen
from evenhand.subject.constructors import SubjectConstructors
from evenhand.subject.ledger.sharing import Sharing
from evenhand.subject.memo import AGAIN, Memo
from evenhand.subject.outcome_check import Answers
from evenhand.subject.outputs import (
    GatheredOutcomes,
    RecalledCheck,
    Recent,
    answers_of,
    checked_outputs,
    full_identity,
    meanings_of,
    packed,
)
from evenhand.subject.shared_asking import ROWS_AT_ONCE, SharedAsking

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from os import PathLike

    from numpy.typing import NDArray

    from evenhand.space.feature import Points
    from evenhand.space.space import Space
    from evenhand.subject.adapters.base import Output, Reply
    from evenhand.subject.ledger import Ledger
    from evenhand.subject.memo import Occasions
    from evenhand.subject.outcome_meaning import Differs
    from evenhand.subject.outcome_scale import OutcomeScale
    from evenhand.subject.recording.tape import Tape
    from evenhand.subject.shared_asking import Columns
    from evenhand.subject.watcher import Watcher

    Outcomes = NDArray[Any]


class Subject(SubjectConstructors):
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
        All outcomes there are; any other is an error. Or what people call them, such as ``{0:
        "denied", 1: "approved"}``, which every report then says.
    threshold, output
        For classifiers with two classes: take the label from `predict_proba` and this threshold, or
        the score itself as the outcome (``output="score"``).
    differs
        When two outcomes differ: a number γ (they are further apart than γ), or a distance function
        in [0, 1]. By default labels differ where they are not the same; numbers on a scale, as of
        a regressor or with ``output="score"``, where they are further apart than 5 % of their
        spread, which the result tells.
    memo
        Remember answers in memory; by default where an answer is expensive.
    ledger
        A file that keeps every executed test and its outcome, for this run and the next.
    identity
        What to call the software in the ledger, where it is more, or less, than its code and data
        tell.
    isolate
        Run the software in a process of its own, which is started again when it dies: True, or
        limits such as ``{"memory": "2 GB", "timeout": 30}``, the seconds for one batch of inputs.
        By default an object of Python runs in this process, and a model file in one of its own.

    Examples
    --------
    >>> from evenhand.space.feature import category, integer
    >>> from evenhand.space.space import Space
    >>> space = Space([category("sex", ["F", "M"]), integer("age", 18, 90)])
    >>> subject = Subject(lambda frame: frame["age"] >= 21, space, positive=True)
    >>> subject.decide([{"sex": "F", "age": 20}]).tolist(), subject.asked
    ([False], 1)

    Raises
    ------
    UsageError
        Where an option has a value that it cannot have, the space does not fit the software, or the
        model is not of any registered kind.
    LedgerError
        Where the ledger belongs to other software or other features, or cannot be written.

    Notes
    -----
    See docs/how-to/subjects.md.
    """

    settled: bool = False
    """Whether it was settled when outcomes differ (`scores/numbers/settling.py`)."""
    answered: dict[str, str]
    """The kind of numpy's type of the first answers, by output."""
    occasions: Occasions | None = None
    """Set where every asking is to be answered anew, as of software with chance in it."""
    watch: Watcher | None = None
    """What asks some inputs again, where a run is watched."""
    tape: Tape | None = None
    """What records answers, or gives those that were recorded (`subject/recording`)."""

    @checked_keywords
    def __init__(
        self,
        model: Any,
        space: Space,
        *,
        outputs: Sequence[str] | None = None,
        positive: Any = None,
        labels: Sequence[Any] | Mapping[Any, Any] | None = None,
        threshold: float | None = None,
        output: Output = "label",
        differs: Differs | Mapping[str, Differs] = None,
        memo: bool | None = None,
        ledger: str | PathLike[str] | None = None,
        identity: str | None = None,
        isolate: bool | Mapping[str, Any] | None = None,
    ) -> None:
        check_space(space)
        adapter = adapt(
            model, positive=positive, threshold=threshold, output=output, identity=identity
        )
        if isolate:
            from evenhand.subject.adapters.isolated.adapter import isolated

            adapter = isolated(adapter, isolate)
        if adapter.printed and outputs is None:
            # With several outputs a program prints JSON, which says itself what is text.
            positive = as_printed(positive)
            labels = as_printed(labels)
        self.outputs = checked_outputs(outputs)
        adapter.outputs = self.outputs
        self.declared = space
        """The space as it was given, before the model's own form."""
        space, self.notes = in_own_form(adapter, space)
        self.adapter = adapter
        self.space = space
        self.asking = SharedAsking(adapter, space)
        self.meanings = meanings_of(
            adapter, self.name, positive=positive, labels=labels, differs=differs
        )
        self.positive = positive
        self.differs = differs
        self.asked = 0
        self.executed = 0
        self.answered: dict[str, str] = {}
        self.seen = {name: AnswersSeen() for name in self.meanings}
        self._answers = answers_of(self.meanings, Answers.of)
        recalled = answers_of(self.meanings, Answers.recalled)
        self._recalled = RecalledCheck(recalled, self.outputs)
        self._memo = Memo(wanted=memo, expensive=adapter.expensive)
        self._recent = Recent() if len(self.outputs) > 1 else None
        self._ledger: Ledger | None = None
        if ledger is not None:
            from evenhand.subject.ledger import Ledger

            self._ledger = Ledger(
                ledger, space=space.encoding, subject=full_identity(adapter)
            )
        self._sharing = Sharing.of(
            adapter, self._ledger, most=ROWS_AT_ONCE, check=self._recalled
        )

    def decide(self, inputs: Any) -> Outcomes:
        """Return one outcome per input.

        Parameters
        ----------
        inputs
            A frame, a list of dictionaries, or encoded points.

        Returns
        -------
        numpy.ndarray
            The outcomes, in the order of the inputs. With several outputs, each input gets a record
            of a structured array: ``decide(inputs)["rate"]`` is one output.

        Raises
        ------
        SubjectError
            Where the software crashes, does not answer in time, or answers with something that is
            not an outcome.
        UsageError
            Where the inputs do not fit the space.

        Notes
        -----
        See docs/how-to/subjects.md.
        """
        points = self._encoded(inputs)
        self.asked += len(points)
        if self._recent is None or self.occasions is not None:
            outcomes = None
        else:
            outcomes = self._recent.get(points)
        if outcomes is None:
            outcomes = self._decided(points)
            if self._recent is not None:
                self._recent.keep(points, outcomes)
        self.note(outcomes)
        if not self.answered and len(points):
            self._note_kinds(outcomes)
        return outcomes

    def _note_kinds(self, outcomes: Outcomes) -> None:
        for name in self.meanings:
            column = outcomes[name] if name else outcomes
            self.answered[name] = column.dtype.kind

    def put_on_scale(self, name: str, scale: OutcomeScale) -> None:
        """Let outcomes of an output differ as far as their scale says."""
        self.meanings[name] = replace(
            self.meanings[name], differs=scale.differs, scale=scale
        )
        # Other versions of the software are to be compared by the same threshold.
        if not name:
            self.differs = scale.differs
        else:
            given = self.differs if isinstance(self.differs, dict) else {}
            self.differs = given | {name: scale.differs}

    def begin(self) -> None:
        """Forget which answers were seen: what a verb says of them is about its own run."""
        for seen in self.seen.values():
            seen.clear()

    def note(self, outcomes: Outcomes) -> None:
        """Note which answers are among outcomes, of each output where there are several."""
        for name, seen in self.seen.items():
            seen.add(outcomes[name] if name else outcomes)

    @property
    def remembers(self) -> bool:
        """Whether answers are kept, in memory or in a ledger."""
        return self._memo.on or self._ledger is not None

    def _decided(self, points: Points) -> Outcomes:
        if self.tape is not None:
            return self.tape.outcomes(points, self._found)
        return self._found(points)

    def _found(self, points: Points) -> Outcomes:
        if not self.remembers:
            return self._ask_all(points)
        keys = self._keys(points)
        if self.occasions is not None:
            keys = self.occasions.keys(keys)
        return self._recall(points, keys)

    def _encoded(self, inputs: Any) -> Points:
        if (
            not isinstance(inputs, np.ndarray)
            or inputs.dtype != np.float64
            or inputs.ndim != 2
        ):
            return self.space.encode(inputs)
        columns = inputs.shape[1]
        features = len(self.space.features)
        if columns != features:
            raise UsageError(
                f"points of {columns} columns do not fit a space of {features} features"
            )
        return inputs

    def _ask_all(self, points: Points) -> Outcomes:
        """Ask without looking anything up, in batches that fit in memory."""
        start = time.perf_counter()
        parts: list[Outcomes] = []
        for first in range(0, len(points), ROWS_AT_ONCE):
            batch = points[first : first + ROWS_AT_ONCE]
            parts.append(self._ask(batch))
        if not parts:
            return packed([], self.outputs)
        self._memo.observe(time.perf_counter() - start, len(points))
        if len(parts) == 1:
            return parts[0]
        return np.concatenate(parts)

    def _ask(self, points: Points) -> Outcomes:
        """Ask the software once for each point, and return its outcomes in their order."""
        gathered = GatheredOutcomes(len(points), self.outputs)
        for rows, outcomes in self._replies(points):
            checked = self._answers.check(outcomes, len(rows))
            self.executed += len(rows)
            gathered.add(rows, checked)
        return gathered.outcomes()

    def _replies(self, points: Points) -> Iterator[Columns]:
        # Copies of software in other processes would share its chance.
        return self.asking.answers(points, alone=self.occasions is not None)

    def _recall(self, points: Points, keys: list[bytes]) -> Outcomes:
        """Ask only what neither memory nor ledger knows, each key once.

        Every answer is written down as it comes, under its key.
        """
        recalled = self._memo.recall(keys, self._ledger, self._recalled)
        if recalled.unknown:
            # From the last key to the first, so that the first row of equal inputs stays.
            backwards = range(len(keys) - 1, -1, -1)
            first_row = dict(zip(reversed(keys), backwards, strict=True))

            def ask(batch: list[bytes]) -> Iterator[dict[bytes, Reply]]:
                rows = np.array([first_row[key] for key in batch], dtype=np.intp)
                return self._ask_new(points[rows], batch)

            for answers in self._sharing.answers(recalled.unknown, ask):
                recalled.add(answers)
        return packed(recalled.answers, self.outputs)

    def _ask_new(self, points: Points, keys: list[bytes]) -> Iterator[dict[bytes, Reply]]:
        """Ask the software, write its answers into the ledger, and yield them by key."""
        for rows, outcomes in self._replies(points):
            answers = self._answers.check(outcomes, len(rows)).tolist()
            asked = [keys[row] for row in rows.tolist()]
            self.executed += len(asked)
            if self._ledger is not None:
                self._ledger.record(asked, answers)
            yield dict(zip(asked, answers, strict=True))

    def _keys(self, points: Points) -> list[bytes]:
        """Return the bytes of what the software sees of each input.

        Features that it is not passed do not count.
        """
        return bytes_of_rows(points[:, list(self.space.passed)])

    @cached_property
    def unread(self) -> frozenset[str]:
        """The features that the software is proven not to read, by its structure."""
        return self.adapter.unread(self.space)

    @property
    def name(self) -> str:
        """The software under test in a few words, for messages."""
        return clip(self.adapter.name, 60)

    def favourable(self, outcomes: Outcomes) -> NDArray[np.bool_]:
        """Return which outcomes are favourable.

        Parameters
        ----------
        outcomes
            Outcomes of software with one output, as `decide` returns them.

        Returns
        -------
        numpy.ndarray
            One truth value per outcome.

        Raises
        ------
        UsageError
            Where the software has several outputs, or does not say what is favourable.

        Notes
        -----
        See docs/how-to/subjects.md.
        """
        if self.outputs:
            raise UsageError(
                f"{self.name} has several outputs; ask the view of one of them what is favourable"
            )
        return self.meanings[""].favourable(outcomes)

    def need_deterministic(self, inputs: Any) -> None:
        """Ask some inputs a second time, and raise an error where the answers differ.

        A causal test assumes that they do not. A ledger keeps the second answers beside the first,
        so that the check itself is never repeated either.

        Parameters
        ----------
        inputs
            A frame, a list of dictionaries, or encoded points.

        Raises
        ------
        NotDeterministic
            Where an input is answered in two ways.

        Notes
        -----
        See docs/how-to/subjects.md.
        """
        points = self._encoded(inputs)
        first = self.decide(points)
        self.need_alike(points, first, self.again(points))

    def again(self, points: Points) -> Outcomes:
        """Return second answers to some points.

        A ledger keeps them beside the first, so that they are never asked for twice either.
        """
        self.asked += len(points)
        if self.tape is not None:
            return self.tape.outcomes(points, self._found_again)
        return self._found_again(points)

    def _found_again(self, points: Points) -> Outcomes:
        if self._ledger is None:
            return self._ask_all(points)
        keys = [AGAIN + key for key in self._keys(points)]
        return self._recall(points, keys)

    def need_alike(self, points: Points, first: Outcomes, second: Outcomes) -> None:
        """Raise NotDeterministic where the second answers to some points are not the first."""
        for name in self.meanings:
            before = first[name] if name else first
            after = second[name] if name else second
            self.need_same(points, before, after, name)

    def need_same(
        self, points: Points, before: Outcomes, after: Outcomes, name: str
    ) -> None:
        """Raise NotDeterministic where an output changed from a first answer to a second."""
        differ = np.asarray(before != after, dtype=np.bool_)
        changed = np.flatnonzero(differ)
        if not len(changed):
            return
        row = changed[0]
        person = self.space.records(points[changed[:1]])[0]
        other = f"another {name!r}" if name else "another outcome"
        raise NotDeterministic(
            f"{self.name} gave {len(changed):,} of {len(points):,} inputs {other} when asked"
            f" again, such as {plain(before[row])!r} and then {plain(after[row])!r} to"
            f" {clip(str(person), 200)}; fix its random seed or its state, since a causal test"
            " needs one answer per input, or measure it, which allows for chance"
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
        return f"Subject({self.name}, {self.space.title})"


def as_subject(subject: Any, space: Space | None, **options: Any) -> Subject:
    """Return a Subject as it is, or wrap a model or function with its space."""
    if isinstance(subject, Subject):
        for name, value in options.items():
            if value is not None:
                raise UsageError(
                    f"{name} = {clip(repr(value))} is for a bare model; give it to the Subject"
                    " instead"
                )
        if space is not None and space not in (subject.space, subject.declared):
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
