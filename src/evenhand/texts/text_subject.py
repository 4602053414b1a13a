"""TextSubject: the only place where a text classifier is called."""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from evenhand.runtime.errors import BadOutcome, NotDeterministic, UsageError, clip
from evenhand.runtime.options import (
    WHOLE,
    Option,
    Options,
    checked_keywords,
    refuse_unknown,
)
from evenhand.runtime.values import as_outcomes
from evenhand.space.feature import plain
from evenhand.subject.adapters import ADAPTERS
from evenhand.subject.adapters.base import replies_of
from evenhand.subject.adapters.estimator import EstimatorAdapter
from evenhand.subject.adapters.function import FunctionAdapter
from evenhand.subject.answers_seen import AnswersSeen
from evenhand.subject.ledger.sharing import Sharing
from evenhand.subject.memo import AGAIN, Memo
from evenhand.subject.options import OUTPUT, SHARED, THRESHOLD
from evenhand.subject.outcome_check import Answers
from evenhand.subject.outcome_meaning import Meaning
from evenhand.subject.outputs import RecalledCheck
from evenhand.subject.view import View
from evenhand.texts.matching import texts_of
from evenhand.texts.text_adapter import text_adapter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from os import PathLike

    from numpy.typing import NDArray

    from evenhand.subject.adapters.base import Adapter, Output, Reply
    from evenhand.subject.ledger import Ledger
    from evenhand.subject.outcome_meaning import Differs
    from evenhand.subject.recording.tape import Tape
    from evenhand.subject.subject import Subject

    Outcomes = NDArray[Any]

BATCH = Option("batch", WHOLE, "how many texts the software is given at once")


class TextSubject:
    """A text classifier under test, with what is known of its answers.

    Parameters
    ----------
    model
        A function that takes a list of texts and returns one outcome each, a fitted scikit-learn
        pipeline or estimator that takes texts, or an `Adapter` of software that does.
    positive
        The favourable outcome, a list of those, or a function of an array of outcomes that returns
        truth values.
    labels
        All outcomes there are; any other is an error.
    output
        "label", or "score" where the outcome is a number from 0 to 1: that of `predict_proba`, or
        of the function.
    threshold
        For estimators with two classes: take the label from `predict_proba` and this threshold.
    differs
        When two outcomes differ: None (labels differ), a number γ, or a distance in [0, 1].
    memo
        Remember answers in memory; by default where an answer is expensive.
    ledger
        A file that keeps every executed test and its outcome, for this run and the next.
    identity
        What to call the software in the ledger, where it is more, or less, than its code and data
        tell.
    batch
        How many texts the software is given at once.
    isolate
        Run the software in a process of its own, as for a `Subject`; by default none does.

    Notes
    -----
    See docs/how-to/mine.md and docs/how-to/subjects.md

    Examples
    --------
    >>> subject = TextSubject(lambda texts: ["!" not in text for text in texts], positive=True)
    >>> subject.decide(["Hello.", "Go away!", "Hello."]).tolist(), subject.asked, subject.executed
    ([True, False, True], 3, 2)
    """

    tape: Tape | None = None
    """What records answers, or gives those that were recorded (`subject/recording`)."""

    @checked_keywords
    def __init__(
        self,
        model: Any,
        *,
        positive: Any = None,
        labels: Sequence[Any] | None = None,
        output: Output = "label",
        threshold: float | None = None,
        differs: Differs = None,
        memo: bool | None = None,
        ledger: str | PathLike[str] | None = None,
        identity: str | None = None,
        batch: int = 4096,
        isolate: bool | Mapping[str, Any] | None = None,
    ) -> None:
        if isinstance(batch, bool) or not isinstance(batch, int) or batch < 1:
            raise UsageError(
                f"batch = {clip(repr(batch))} must be a whole number of at least 1"
            )
        self.model = model
        self.batch = batch
        self.adapter = text_adapter(
            model, positive=positive, threshold=threshold, output=output, identity=identity
        )
        if isolate:
            from evenhand.subject.adapters.isolated.adapter import isolated

            self.adapter = isolated(self.adapter, isolate)
            # Nothing but the process is to be asked, so that there is no model here to read.
            self.model = self.adapter
        known = getattr(self.adapter, "classes", None)
        scores = getattr(self.adapter, "output", output) == "score"
        meaning = Meaning.of(self.name, "", positive, labels, differs, known, scores=scores)
        self.meanings = {"": meaning}
        self.asked = 0
        self.executed = 0
        self.seen = {"": AnswersSeen()}
        self._answers = Answers.of(meaning)
        self._memo = Memo(wanted=memo, expensive=self.adapter.expensive)
        self._ledger: Ledger | None = None
        if ledger is not None:
            from evenhand.subject.ledger import Ledger

            self._ledger = Ledger(ledger, space="texts", subject=self.adapter.identity)
        self._recalled = RecalledCheck(Answers.recalled(meaning))
        self._sharing = Sharing.of(
            self.adapter, self._ledger, most=self.batch, check=self._recalled
        )

    @classmethod
    def of(cls, kind: str, value: Any, /, **options: Any) -> TextSubject:
        """Test software of a registered kind that takes texts, with options of a configuration.

        Raises
        ------
        UsageError
            If the kind is unknown, or has no such option.
        """
        adapter = ADAPTERS[kind]
        known = text_options(adapter) + SHARED.without("outputs")
        refuse_unknown(
            f"TextSubject.of({kind!r})", options, [option.name for option in known]
        )
        if options.get("isolate"):
            return cls._isolated(kind, value, options)
        options.pop("isolate", None)
        if issubclass(adapter, FunctionAdapter):
            return cls(value, **options)
        if issubclass(adapter, EstimatorAdapter):
            loading = _taken(options, ["trusted", "allow_pickle"])
            model, file = adapter.loaded(value, **loading)
            if file is not None:
                options.setdefault("identity", file.identity)
            subject = cls(model, **options)
            subject.adapter.file = file
            return subject
        own = _taken(options, [option.name for option in adapter.options])
        adapted = adapter.of(value, positive=options.get("positive"), **own)
        return cls(adapted, **options)

    @classmethod
    def _isolated(cls, kind: str, value: Any, options: dict[str, Any]) -> TextSubject:
        """Test software that is loaded and asked in a process of its own."""
        from evenhand.subject.adapters.isolated.adapter import IsolatedAdapter
        from evenhand.subject.adapters.isolated.limits import Isolation
        from evenhand.subject.adapters.isolated.recipe import title_of

        limits = Isolation.of(options.pop("isolate")) or Isolation()
        own = _taken(options, [option.name for option in text_options(ADAPTERS[kind])])
        batch = _taken(own, ["batch"])
        recipe = _TextRecipe(kind, value, {"positive": options.get("positive"), **own})
        adapter = IsolatedAdapter(recipe, title_of(value), limits)
        return cls(adapter, **options, **batch)

    @property
    def name(self) -> str:
        """The software under test in a few words, for messages."""
        return clip(self.adapter.name, 60)

    @property
    def view(self) -> View:
        """The one output, as measures ask and compare it."""
        return View(cast("Subject", self))

    @property
    def meaning(self) -> Meaning:
        """What the outcomes mean."""
        return self.meanings[""]

    @property
    def favoured(self) -> str:
        """What counts as favourable, in words."""
        return self.view.favoured

    @property
    def names_outcome(self) -> bool:
        """Whether what counts as favourable is a label, rather than a phrase that describes it."""
        return self.view.names_outcome

    @property
    def counts(self) -> bool:
        """Whether the amount of an outcome is 0 or 1, rather than a score in between."""
        return self.meaning.counts

    def amount(self, outcomes: Outcomes) -> NDArray[np.float64]:
        """Return how favourable each outcome is: 0 or 1 for labels, the score itself for scores."""
        return self.meaning.amount(outcomes)

    @property
    def keeps_ledger(self) -> bool:
        """Whether every executed text is written down."""
        return self._ledger is not None

    def decide(self, texts: Sequence[str]) -> Outcomes:
        """Return one outcome per text; equal texts are asked once."""
        if hasattr(texts, "__len__") and not len(texts):
            return as_outcomes([])
        given = texts_of(texts)
        self.asked += len(given)
        places = {text: place for place, text in enumerate(dict.fromkeys(given))}
        distinct = list(places)
        outcomes = self._taped(distinct, self._found)
        self.seen[""].add(outcomes)
        if len(distinct) == len(given):
            return outcomes
        positions = [places[text] for text in given]
        return outcomes[np.array(positions, dtype=np.intp)]

    def answer(self, inputs: Any, size: int, adapter: Adapter) -> Outcomes:
        """Return the outcomes of inputs that a part of the same software takes, such as counts."""
        self.asked += size
        outcomes = self._run(inputs, size, adapter)
        self.seen[""].add(outcomes)
        return outcomes

    def begin(self) -> None:
        """Forget which answers were seen: what a verb says of them is about its own run."""
        self.seen[""].clear()

    def need_deterministic(self, texts: Sequence[str]) -> None:
        """Ask some texts a second time, and raise NotDeterministic where the answers differ.

        A causal test assumes that they do not.

        A ledger keeps the second answers beside the first, so that the check itself is never
        repeated either.
        """
        distinct = list(dict.fromkeys(texts_of(texts)))
        first = self.decide(distinct)
        second = self._taped(distinct, self._found_again)
        self.asked += len(distinct)
        changed = np.flatnonzero(np.asarray(first != second, dtype=np.bool_))
        if not len(changed):
            return
        row = changed[0]
        raise NotDeterministic(
            f"{self.name} gave {len(changed):,} of {len(distinct):,} texts another outcome when"
            f" asked again, such as {plain(first[row])!r} and then {plain(second[row])!r} to"
            f" {clip(repr(distinct[row]), 200)}; fix its random seed or its state, since a causal"
            " test needs one answer per text"
        )

    def _taped(self, texts: list[str], ask: Callable[[list[str]], Outcomes]) -> Outcomes:
        """Ask, or return what was recorded where answers come from a tape."""
        if self.tape is not None:
            return self.tape.outcomes(texts, ask)
        return ask(texts)

    def _found(self, texts: list[str]) -> Outcomes:
        if self._memo.on or self._ledger is not None:
            return self._recall(texts)
        return self._ask_all(texts)

    def _found_again(self, texts: list[str]) -> Outcomes:
        if self._ledger is None:
            return self._ask_all(texts)
        return self._recall(texts, AGAIN)

    def _ask_all(self, texts: list[str]) -> Outcomes:
        """Ask without looking anything up."""
        start = time.perf_counter()
        parts = []
        for first in range(0, len(texts), self.batch):
            parts.append(self._ask(texts[first : first + self.batch]))
        seconds = time.perf_counter() - start
        self._memo.observe(seconds, len(texts))
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _recall(self, texts: list[str], mark: bytes = b"") -> Outcomes:
        """Ask only what neither memory nor ledger knows; record the answers batch by batch."""
        keys = []
        for text in texts:
            encoded = text.encode("utf-8", "surrogatepass")
            keys.append(mark + hashlib.sha256(encoded).digest())
        asked = dict(zip(keys, texts, strict=True))

        def ask(batch: list[bytes]) -> Iterator[dict[bytes, Reply]]:
            answers = self._ask([asked[key] for key in batch]).tolist()
            if self._ledger is not None:
                self._ledger.record(batch, answers)
            yield dict(zip(batch, answers, strict=True))

        recalled = self._memo.recall(keys, self._ledger, self._recalled)
        for answers in self._sharing.answers(recalled.unknown, ask):
            recalled.add(answers)
        return as_outcomes(recalled.answers)

    def _ask(self, texts: list[str]) -> Outcomes:
        return self._run(texts, len(texts), self.adapter)

    def _run(self, inputs: Any, size: int, adapter: Adapter) -> Outcomes:
        given = cast("Any", _TextInputs(inputs, size))
        ((_, outcomes),) = replies_of(adapter, given, given)
        if outcomes.ndim != 1:
            raise BadOutcome(
                f"{self.name} returned outcomes of shape {outcomes.shape} for {size:,} texts; it"
                " must return one per text"
            )
        checked = self._answers.check(outcomes, size)
        self.executed += size
        return checked

    def close(self) -> None:
        """Release files; the subject may be used again afterwards."""
        self.adapter.close()
        if self._ledger is not None:
            self._ledger.close()

    def __enter__(self) -> TextSubject:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"TextSubject({self.name})"


@dataclass(frozen=True, slots=True)
class _TextRecipe:
    """Builds the adapter of software that takes texts, in the process that runs it."""

    kind: str
    value: Any
    options: dict[str, Any]

    def __call__(self) -> Adapter:
        from evenhand.subject.adapters.isolated.recipe import made

        return TextSubject.of(self.kind, made(self.value), **self.options).adapter


def text_options(adapter: type[Adapter]) -> Options:
    """Return the options of software of a kind where it takes texts."""
    models = (
        Options.of(THRESHOLD, OUTPUT) if issubclass(adapter, FunctionAdapter) else Options()
    )
    return models + adapter.options + Options.of(BATCH)


def text_subject_of(model: Any, **options: Any) -> TextSubject:
    """Return a TextSubject as it is, or wrap a function or model.

    >>> subject = TextSubject(len)
    >>> text_subject_of(subject) is subject
    True
    """
    if not isinstance(model, TextSubject):
        return TextSubject(model, **options)
    for name, value in options.items():
        if value is not None:
            raise UsageError(
                f"{name} = {clip(repr(value))} is for a bare model; give it to the TextSubject"
                " instead"
            )
    return model


def _taken(options: dict[str, Any], names: list[str]) -> dict[str, Any]:
    """Remove some options, and return those that there were."""
    taken = {}
    for name in names:
        if name in options:
            taken[name] = options.pop(name)
    return taken


@dataclass(frozen=True, slots=True)
class _TextInputs:
    """Inputs that are not points of a space; for an adapter, they take the place of both."""

    inputs: Any
    size: int

    def __len__(self) -> int:
        return self.size

    def native(self, _points: object) -> Any:
        return self.inputs
