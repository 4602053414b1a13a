"""A model in an ONNX file as the software under test, run by onnxruntime on the CPU."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.runtime.errors import (
    BadOutcome,
    MissingExtra,
    SubjectCrashed,
    UsageError,
    clip,
    nearest,
)
from evenhand.runtime.options import FILE, WHOLE, Option, Options
from evenhand.runtime.table_file import beside
from evenhand.space.values.dates import iso_texts
from evenhand.subject.adapters.base import Adapter, check_output, gaps_of, scored_class
from evenhand.subject.adapters.model_file import ModelFile
from evenhand.subject.model_form import ModelForm
from evenhand.subject.options import OUTPUT
from evenhand.subject.outputs import records_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from evenhand.space.feature import Feature
    from evenhand.space.space import Space
    from evenhand.subject.adapters.base import Output

_NUMBERS = {
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
    "tensor(float16)": np.float16,
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
    "tensor(int16)": np.int16,
    "tensor(int8)": np.int8,
    "tensor(bool)": np.bool_,
}


class OnnxAdapter(Adapter):
    """Ask an ONNX model.

    It takes one input tensor with a column per feature, or one input per feature, matched by name.

    Parameters
    ----------
    path
        The file.
    output
        "label", the predicted class or number; or "score", the probability of `positive`.
    positive
        The class whose probability is the score; may be left out where there are two, for the
        second one. It says nothing of labels.
    threads
        Threads that one batch may use.
    """

    kind = "onnx"
    value = Option("onnx", FILE, "an ONNX model file")
    options = Options.of(
        OUTPUT,
        Option("threads", WHOLE, "threads that one batch may use"),
        given=["positive"],
    )
    suffixes = (".onnx",)
    identity: str = ""

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        output: Output = "label",
        positive: Any = None,
        threads: int = 1,
    ) -> None:
        check_output(output)
        self.path = Path(path)
        self.output = output
        self.positive = scored_class(positive) if output == "score" else None
        self.threads = threads
        if threads > 1:
            self.own_threads_from = 0
        self.file = _file_of(self.path)
        self.identity = f"onnx:{self.file.digest}"
        if output == "score":
            # A score is another answer than a label: a ledger of the one must not serve the other.
            self.identity += f":score:{self.positive!r}"
        self._running: tuple[int, Any] | None = (os.getpid(), _load(self.path, threads))

    def check(self, space: Space) -> None:
        """Refuse a space and outputs that the model does not have."""
        if self.outputs and self.output == "score":
            raise UsageError(
                "outputs are labels or numbers; leave out output = 'score', or outputs"
            )
        session = self._session()
        tensors = [tensor.name for tensor in session.get_outputs()]
        # One tensor may hold a column for each output, and has a name of its own.
        if len(tensors) > 1:
            for name in self.outputs:
                if name not in tensors:
                    raise UsageError(
                        f"{name!r} is not an output of the ONNX model '{self.path}';"
                        f" {nearest(name, tensors)}"
                    )
        point = space.draw(1, np.random.default_rng(0))
        _feed(session.get_inputs(), point, space, self.path)

    @property
    def name(self) -> str:
        """The model by its file, for messages."""
        return f"the ONNX model '{self.path.name}'"

    def form(self) -> ModelForm:
        """Return the inputs of the model, where each is one feature."""
        names = [tensor.name for tensor in self._session().get_inputs()]
        # The only input may be a tensor of all columns, which do not have names.
        return ModelForm(tuple(names) if len(names) > 1 else None, library="onnx")

    def refuses_missing(self, space: Space) -> tuple[str, ...]:
        """Return the features whose tensors hold no gap: whole numbers and truth values."""
        types = {tensor.name: tensor.type for tensor in self._session().get_inputs()}
        only_type = next(iter(types.values()))
        refused = []
        for position in gaps_of(space):
            name = space.names[position]
            tensor_type = types.get(name, only_type)
            held = np.dtype(_NUMBERS.get(tensor_type, np.float64))
            if held.kind != "f":
                refused.append(name)
        return tuple(refused)

    def run(
        self, points: NDArray[np.float64], space: Space
    ) -> Iterator[tuple[NDArray[np.intp], NDArray[np.generic]]]:
        """Yield (rows, outcomes), in batches only where the model has a fixed batch size."""
        session = self._session()
        size = _fixed_batch(session) or len(points)
        for start in range(0, len(points), max(size, 1)):
            batch = points[start : start + size]
            missing = size - len(batch)
            # A model with a fixed batch size takes no less: the last point fills the batch up.
            if missing:
                full = np.pad(batch, ((0, missing), (0, 0)), mode="edge")
            else:
                full = batch
            answers = self._answer(session, full, space)
            yield np.arange(start, start + len(batch)), answers[: len(batch)]

    def close(self) -> None:
        """Free the model; it is loaded again when next asked."""
        self._running = None

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_running": None}

    def _session(self) -> Any:
        """Return the loaded model, which is loaded again after `close` and in another process."""
        # A session has threads of its own, which a forked child does not inherit.
        if self._running is None or self._running[0] != os.getpid():
            if _file_of(self.path) != self.file:
                raise UsageError(
                    f"the ONNX file '{self.path}' has changed since the run began; start again"
                    " with it"
                )
            self._running = (os.getpid(), _load(self.path, self.threads))
        return self._running[1]

    def _answer(
        self, session: Any, points: NDArray[np.float64], space: Space
    ) -> NDArray[np.generic]:
        """Return one outcome, or one record of several outputs, for each point."""
        feed = _feed(session.get_inputs(), points, space, self.path)
        names = [output.name for output in session.get_outputs()]
        if self.outputs:
            tensors = names if len(names) == 1 else self.outputs
            answers = self._run(session, tensors, feed)
            return self._records(answers, len(points))
        # skl2onnx calls the tensor of labels so; other exporters put it first.
        label = "output_label" if "output_label" in names else names[0]
        outcomes: NDArray[np.generic]
        if self.output == "label":
            (labels,) = self._run(session, [label], feed)
            outcomes = self._labels(labels)
        else:
            others = [name for name in names if name != label]
            score = others[0] if others else label
            labels, scores = self._run(session, [label, score], feed)
            outcomes = self._scores(labels, scores)
        if outcomes.shape != (len(points),):
            raise BadOutcome(
                f"the ONNX model '{self.path}' gave {outcomes.size} outcomes for {len(points)}"
                " inputs"
            )
        return outcomes

    def _run(
        self, session: Any, names: Sequence[str], feed: dict[str, NDArray[Any]]
    ) -> list[Any]:
        try:
            return list(session.run(list(names), feed))
        # onnxruntime raises classes of its own, with no common base but Exception.
        except Exception as error:
            size = len(next(iter(feed.values())))
            raise SubjectCrashed(
                f"the ONNX model '{self.path}' failed on a batch of {size} inputs:"
                f" {clip(str(error), 300)}"
            ) from error

    def _records(self, answers: list[Any], size: int) -> NDArray[np.generic]:
        """Return one record per input, from a tensor for each output or from one with columns."""
        software = f"the ONNX model '{self.path}'"
        if len(answers) == 1:
            return records_of(answers[0], self.outputs, size, software)
        columns: dict[str, NDArray[np.generic]] = {}
        for name, answer in zip(self.outputs, answers, strict=True):
            columns[name] = self._labels(answer)
        return records_of(columns, self.outputs, size, software)

    def _labels(self, answer: Any) -> NDArray[np.generic]:
        labels = np.asarray(answer)
        if labels.ndim == 2 and labels.shape[1] == 1:
            labels = labels[:, 0]
        if labels.ndim != 1:
            raise UsageError(
                f"the ONNX model '{self.path}' gives {labels.shape[-1]} numbers for each input, not"
                ' a label; ask for output = "score"'
            )
        return labels

    def _scores(self, label: Any, answer: Any) -> NDArray[np.generic]:
        """Return the score of the positive class for each input."""
        # skl2onnx gives a dictionary of probabilities by class for each input.
        if isinstance(answer, list) and answer and isinstance(answer[0], dict):
            classes = list(answer[0])
            wanted = self._one_of(classes)
            return np.array([row[wanted] for row in answer], dtype=np.float64)
        scores = np.asarray(answer)
        if scores.ndim == 1 or scores.shape[1] == 1:
            return scores.reshape(-1)
        if self.positive is None:
            return scores[:, self._one_of(range(scores.shape[1]))]
        return scores[:, self._column(np.asarray(label), scores)]

    def _one_of(self, classes: Sequence[Any]) -> Any:
        """Return the class that is scored."""
        if self.positive is None and len(classes) == 2:
            return classes[1]
        if self.positive is None:
            raise UsageError(
                f"the ONNX model '{self.path}' knows {len(classes)} classes; say which one is"
                " scored, with positive ="
            )
        if self.positive not in classes:
            raise UsageError(
                f"positive = {self.positive!r} is not a class of the ONNX model '{self.path}'; "
                f"{nearest(self.positive, classes)}"
            )
        return self.positive

    def _column(self, labels: NDArray[Any], scores: NDArray[Any]) -> int:
        """Return the column of the positive class in a tensor without names.

        Where the class is predicted, its column is the highest.
        """
        if labels.size == len(scores):
            predicted = labels.reshape(-1) == self.positive
        else:
            predicted = np.zeros(len(scores), dtype=bool)
        highest = scores.argmax(axis=1)
        is_maximum = scores == scores.max(axis=1, keepdims=True)
        # Of two equal maxima, either may be the label's.
        clear = is_maximum.sum(axis=1) == 1
        of_class = np.unique(highest[predicted & clear])
        of_others = np.unique(highest[~predicted & clear])
        if len(of_class) == 0 and len(of_others) == 1 and scores.shape[1] == 2:
            return int(1 - of_others[0])
        if len(of_class) == 1 and of_class[0] not in of_others:
            return int(of_class[0])
        raise UsageError(
            f"the ONNX model '{self.path}' does not say which of its {scores.shape[1]} probability"
            f" columns is class {self.positive!r}; export it with named probabilities (skl2onnx:"
            " zipmap), or leave out positive ="
        )


def _load(path: Path, threads: int) -> Any:
    try:
        import onnxruntime
    except ImportError as error:
        raise MissingExtra("running an ONNX model", "onnx") from error
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = (
        4  # what goes wrong is raised too, and belongs into one sentence
    )
    try:
        return onnxruntime.InferenceSession(
            str(path), options, providers=["CPUExecutionProvider"]
        )
    except Exception as error:
        raise UsageError(
            f"the file '{path}' cannot be read as an ONNX model: {clip(str(error))}"
        ) from error


def _file_of(path: Path) -> ModelFile:
    try:
        return ModelFile.of(path)
    except OSError as error:
        hint = beside(path, (".onnx",))
        raise UsageError(
            f"the ONNX file '{path}' cannot be read: {error.strerror}; {hint}"
        ) from error


def _fixed_batch(session: Any) -> int:
    """Return the batch size that a model was exported with, 0 where it takes any."""
    shape = session.get_inputs()[0].shape
    first = shape[0] if shape else None
    if isinstance(first, int) and first > 0:
        return first
    return 0


def _feed(
    inputs: Sequence[Any],
    points: NDArray[np.float64],
    space: Space,
    path: Path,
) -> dict[str, NDArray[Any]]:
    """Return the tensors that a model takes, by name."""
    passed: dict[str, int] = {}
    for position, feature in enumerate(space.features):
        if feature.passed:
            passed[feature.name] = position
    first = inputs[0]
    holds_one_feature = first.name in passed and first.shape[1:] in ([1], [])
    if len(inputs) == 1 and not holds_one_feature:
        return {first.name: _matrix(first, points, space, path)}
    names = [tensor.name for tensor in inputs]
    for name in names:
        if name not in passed:
            raise UsageError(
                f"input {name!r} of the ONNX model '{path}' is not a feature;"
                f" {nearest(name, passed)}"
            )
    for name in passed:
        if name not in names:
            raise UsageError(
                f"feature {name!r} has no input in the ONNX model '{path}'; {nearest(name, names)};"
                " or mark the feature as passed = false"
            )
    feed: dict[str, NDArray[Any]] = {}
    for tensor in inputs:
        position = passed[tensor.name]
        column = _column(space.features[position], points[:, position], tensor, path)
        if len(tensor.shape) == 1:
            feed[tensor.name] = column
        else:
            feed[tensor.name] = column.reshape(-1, 1)
    return feed


def _matrix(
    tensor: Any,
    points: NDArray[np.float64],
    space: Space,
    path: Path,
) -> NDArray[Any]:
    """Return one tensor with a column for each feature that is passed."""
    positions = [at for at, feature in enumerate(space.features) if feature.passed]
    width = tensor.shape[-1]
    if isinstance(width, int) and len(tensor.shape) == 2 and width != len(positions):
        raise UsageError(
            f"the ONNX model '{path}' takes {width} columns and the space passes"
            f" {len(positions)} features; mark what the model does not take as passed = false"
        )
    columns = []
    for position in positions:
        feature = space.features[position]
        columns.append(_column(feature, points[:, position], tensor, path))
    return np.column_stack(columns)


def _column(
    feature: Feature,
    codes: NDArray[np.float64],
    tensor: Any,
    path: Path,
) -> NDArray[Any]:
    """Return the values of one feature in the type of a tensor."""
    textual = [isinstance(level, str) for level in feature.levels]
    missing = feature.is_missing(codes)
    if tensor.type == "tensor(string)":
        if feature.kind == "date":
            texts = iso_texts(codes).astype(object)
            texts[missing] = ""
            return texts
        if feature.kind != "category" or not all(textual):
            raise UsageError(
                f"input {tensor.name!r} of the ONNX model '{path}' takes text, and feature"
                f" {feature.name!r} has numbers; write its levels as text"
            )
        # Text has no other way to be missing than to be empty.
        return np.array([*feature.levels, ""], dtype=object)[codes.astype(np.intp)]
    if feature.kind == "date":
        raise UsageError(
            f"input {tensor.name!r} of the ONNX model '{path}' takes numbers, and feature"
            f" {feature.name!r} has dates; declare the number that the model was trained on"
        )
    if tensor.type not in _NUMBERS:
        raise UsageError(
            f"input {tensor.name!r} of the ONNX model '{path}' is a {tensor.type}, which is not"
            " supported"
        )
    if any(textual):
        level = feature.levels[textual.index(True)]
        raise UsageError(
            f"input {tensor.name!r} of the ONNX model '{path}' takes numbers, and feature"
            f" {feature.name!r} has the level {level!r}; write its levels as the numbers that the"
            " model was trained on, or export the pipeline"
        )
    values = codes
    if feature.kind == "category":
        levels = np.array([*feature.levels, np.nan], dtype=np.float64)
        values = levels[codes.astype(np.intp)]
    dtype = np.dtype(_NUMBERS[tensor.type])
    if missing.any() and dtype.kind == "f":
        values = np.where(missing, np.nan, values)
    column: NDArray[Any] = values.astype(dtype)
    takes_fractions = np.issubdtype(column.dtype, np.floating)
    if not takes_fractions and not np.array_equal(column, values):
        raise UsageError(
            f"input {tensor.name!r} of the ONNX model '{path}' takes whole numbers, and feature"
            f" {feature.name!r} has others; declare it as an integer"
        )
    return column
