"""A torch module as the software under test, with margins and gradients for a search to follow."""

from __future__ import annotations

import hashlib
import math
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.runtime.errors import BadOutcome, SubjectCrashed, UsageError
from evenhand.runtime.fingerprint import fingerprint
from evenhand.runtime.options import Options
from evenhand.space.dataframes import named_frame
from evenhand.subject.adapters.base import (
    Adapter,
    check_output,
    check_threshold,
    crashes_told,
    is_torch_module,
    scored_class,
)
from evenhand.subject.options import IDENTITY, OUTPUT, THRESHOLD

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from evenhand.space.feature import Feature, Points
    from evenhand.space.space import Space
    from evenhand.subject.adapters.base import Output

SAMPLE = 64
"""Inputs that a module is asked before a run: enough to see that it gives probabilities rather than
logits.
"""


class TorchAdapter(Adapter):
    """Asks a module in evaluation mode: one float column per passed feature in, one logit or one
    per class out.

    A column holds numbers as they are, categories whose levels are numbers as those numbers, and
    others by their code. One logit stands for the labels 0 and 1, several for the labels from 0 on.

    Parameters
    ----------
    module
        A `torch.nn.Module`; its training mode is as before after every call.
    positive
        Of two classes, the one that is scored, where scores are asked for; 1 where nothing is said.
    threshold
        Give `positive` where its probability reaches this, rather than the class with the larger
        logit.
    output
        "label", or "score" for the probability of `positive`.
    identity
        What to call the module in a ledger instead of the hash of its weights and code.
    """

    kind = "torch"
    options = Options.of(THRESHOLD, OUTPUT, IDENTITY, given=["positive"])

    def __init__(
        self,
        module: Any,
        *,
        positive: Any = None,
        threshold: float | None = None,
        output: Output = "label",
        identity: str | None = None,
    ) -> None:
        check_output(output)
        check_threshold(threshold)
        self.module = module
        self.threshold = threshold
        self.output = output
        self.positive = scored_class(positive) if self._scored else None
        self.classes: list[int] = []
        self._identity = identity

    @classmethod
    def accepts(cls, model: Any) -> bool:
        """Take torch modules; the class of one is none."""
        return is_torch_module(model)

    @property
    def name(self) -> str:
        """The module's class, for messages."""
        return type(self.module).__name__

    @property
    def identity(self) -> str:
        """Name the module by its weights, its structure and its own code, and how its answers are
        made.
        """
        module = self._identity or f"torch:{self.name}:{_digest(self.module)}"
        return f"{module}:{self.output}:" + (
            f"{self._sign}:{self.threshold}" if self._scored else ""
        )

    @property
    def _scored(self) -> bool:
        return self.threshold is not None or self.output == "score"

    @property
    def scorers(self) -> tuple[str, ...]:
        """The one way to ask for margins, where there are two labels."""
        return ("logit",) if self.output == "label" and len(self.classes) == 2 else ()

    def check(self, space: Space) -> None:
        """Ask a few inputs, and refuse a space that does not fit the module, and a module that
        gives no logits.
        """
        if self.outputs:
            raise UsageError(
                f"outputs = {list(self.outputs)} are not for a torch module, which gives one"
                f" outcome for each input; wrap {self.name} in a function that returns them by name"
            )
        points = space.draw(SAMPLE, np.random.default_rng(0))
        try:
            logits = self._logits(points, space)
        except SubjectCrashed as error:
            taken = next(
                (
                    part.in_features
                    for part in self.module.modules()
                    if hasattr(part, "in_features")
                ),
                None,
            )
            if taken is None or taken == len(space.passed):
                raise
            raise UsageError(
                f"the first layer of {self.name} takes {taken} columns, and the space passes"
                f" {len(space.passed)}; declare the same columns in the same order"
            ) from error
        self.classes = list(range(max(2, logits.shape[1])))
        if self._scored and len(self.classes) != 2:
            raise UsageError(
                f"{self.name} has {len(self.classes)} classes; a threshold or output='score'"
                " needs two"
            )
        self._refuse_probabilities(logits)

    def _refuse_probabilities(self, logits: NDArray[np.float64]) -> None:
        """Refuse answers that are probabilities; the largest of several is the same label, but no
        score.
        """
        low, high = float(logits.min()), float(logits.max())
        summed = logits.shape[1] == 1 or (self._scored and np.allclose(logits.sum(axis=1), 1))
        if summed and 0 <= low < high <= 1:
            raise UsageError(
                f"{self.name} answers with numbers from {low:.3g} to {high:.3g}, which are"
                " probabilities; leave out its last sigmoid or softmax, so that it gives logits"
            )

    def run(
        self, points: Points, space: Space
    ) -> Iterator[tuple[NDArray[np.intp], NDArray[np.generic]]]:
        """Answer all points in one call."""
        logits = self._logits(points, space)
        yield np.arange(len(points)), self._outcomes(logits)

    def margins(
        self, points: Points, space: Space, _scorer: str
    ) -> tuple[NDArray[np.generic], NDArray[np.float64]]:
        """Return each point's label and its margin, in logits: what the positive class, or class 1,
        is above even.
        """
        logits = self._logits(points, space)
        return self._outcomes(logits), self._above(_difference(logits))

    def gradients(
        self, points: Points, space: Space
    ) -> tuple[NDArray[np.generic], NDArray[np.float64], NDArray[np.float64]]:
        """Return labels, margins, and how each margin changes with each passed feature, in encoded
        units.
        """
        import torch

        with crashes_told(self.name, len(points)), torch.enable_grad(), _evaluated(self.module):
            inputs = self._tensor(points, space).requires_grad_()
            answer = self._checked(self.module(inputs), len(points))
            slopes = None
            if answer.requires_grad:  # what rounds or looks up has no slope
                (slopes,) = torch.autograd.grad(
                    _difference(answer).sum(), inputs, allow_unused=True
                )
        logits = _array(answer)
        slope = np.zeros(inputs.shape) if slopes is None else self._sign * _array(slopes)
        for column, position in enumerate(space.passed):
            levels = _numbers_of(space.features[position])
            if levels is not None:
                slope[:, column] *= (
                    np.gradient(levels)[points[:, position].astype(np.intp)]
                    if len(levels) > 1
                    else 0
                )
        return self._outcomes(logits), self._above(_difference(logits)), slope

    @property
    def _sign(self) -> int:
        """Whether the scored class is that of a high logit, or 0."""
        return -1 if self.positive == 0 else 1

    def _above(self, difference: NDArray[np.float64]) -> NDArray[np.float64]:
        even = 0.0 if self.threshold is None else math.log(self.threshold / (1 - self.threshold))
        return self._sign * difference - even

    def _outcomes(self, logits: NDArray[np.float64]) -> NDArray[np.generic]:
        if logits.shape[1] > 2:
            return np.asarray(logits.argmax(axis=1))
        difference = _difference(logits)
        if not self._scored:
            return np.asarray(difference > 0, dtype=np.int64)
        from scipy.special import expit

        scores = np.asarray(expit(self._sign * difference))
        if self.output == "score":
            return scores
        return np.asarray((scores >= self.threshold) == (self._sign > 0), dtype=np.int64)

    def _logits(self, points: Points, space: Space) -> NDArray[np.float64]:
        """Return the module's answer as a matrix with one column for each logit."""
        import torch

        with crashes_told(self.name, len(points)), torch.no_grad(), _evaluated(self.module):
            return _array(self._checked(self.module(self._tensor(points, space)), len(points)))

    def _tensor(self, points: Points, space: Space) -> Any:
        """Return the passed features in the type and on the device of the module's own numbers."""
        import torch

        columns = points[:, list(space.passed)]
        for column, position in enumerate(space.passed):
            levels = _numbers_of(space.features[position])
            if levels is not None:
                columns[:, column] = levels[columns[:, column].astype(np.intp)]
        own = next(
            (number for number in self.module.parameters() if number.is_floating_point()),
            torch.zeros(1),
        )
        return torch.tensor(columns, dtype=own.dtype, device=own.device)

    def _checked(self, answer: Any, expected: int) -> Any:
        """Return the answer with one column for each logit, or say why it is none."""
        import torch

        wanted = (
            f"it must return one logit for each of {expected:,} inputs, or one for each input and"
            " class"
        )
        if not isinstance(answer, torch.Tensor):
            raise BadOutcome(f"{self.name} returned a {type(answer).__name__}; {wanted}")
        if not answer.is_floating_point():
            raise BadOutcome(f"{self.name} returned {answer.dtype} values; {wanted}")
        if answer.shape[:1] != (expected,) or answer.ndim > 2 or 0 in answer.shape[1:]:
            raise BadOutcome(
                f"{self.name} returned values of shape {tuple(answer.shape)}; {wanted}"
            )
        missing = answer.isnan()
        if missing.any():
            raise BadOutcome(
                f"{self.name} answered nan to {int(missing.sum()):,} of {expected:,} inputs"
            )
        return answer.reshape(expected, -1)


class TorchClassifier:
    """A module that is asked with frames or arrays, like a classifier of scikit-learn."""

    def __init__(self, module: Any, space: Space) -> None:
        self._adapter = TorchAdapter(module)
        self._space = type(space)([space.features[position] for position in space.passed])

    @property
    def classes_(self) -> NDArray[np.int64]:
        """The labels, from 0 on."""
        if not self._adapter.classes:
            self._adapter.check(self._space)
        return np.array(self._adapter.classes)

    def predict(self, rows: Any) -> NDArray[np.int64]:
        """Return the label of each row."""
        return np.asarray(self._adapter._outcomes(self._logits(rows)), dtype=np.int64)

    def predict_proba(self, rows: Any) -> NDArray[np.float64]:
        """Return the chance of each label of each row."""
        from scipy.special import softmax

        logits = self._logits(rows)
        if logits.shape[1] == 1:
            logits = np.column_stack([np.zeros(len(logits)), logits])
        return np.asarray(softmax(logits, axis=1))

    def _logits(self, rows: Any) -> NDArray[np.float64]:
        frame = named_frame(rows, self._space.names) if isinstance(rows, np.ndarray) else rows
        return self._adapter._logits(self._space.encode(frame), self._space)


def _difference(logits: Any) -> Any:
    """Return by how much class 1 is above class 0."""
    return logits[:, 0] if logits.shape[1] == 1 else logits[:, 1] - logits[:, 0]


def _array(tensor: Any) -> NDArray[np.float64]:
    return np.asarray(tensor.detach().double().cpu().numpy(), dtype=np.float64)


def _numbers_of(feature: Feature) -> NDArray[np.float64] | None:
    """Return the numbers that the codes of a category stand for; None where a code is what the
    module sees.

    >>> from evenhand.space.feature import category
    >>> _numbers_of(category("rooms", [1, 2, 5])).tolist(), _numbers_of(category("sex", ["F", "M"]))
    ([1.0, 2.0, 5.0], None)
    """
    if feature.kind != "category" or any(isinstance(level, str) for level in feature.levels):
        return None
    return np.array(feature.levels, dtype=np.float64)


@contextmanager
def _evaluated(module: Any) -> Iterator[None]:
    """Put a module into evaluation mode, and afterwards put back each part that was not in it."""
    training = [part for part in module.modules() if part.training]
    module.eval()
    try:
        yield
    finally:
        for part in training:
            part.training = True


def _digest(module: Any) -> str:
    """Return a hash of weights, structure, plain settings, and the code of classes that are not
    torch's own.
    """
    import torch

    found = hashlib.sha256()
    for part in module.modules():
        kind = type(part)
        own = not kind.__module__.startswith("torch.")
        settings = {
            key: value for key, value in vars(part).items() if isinstance(value, str | int | float)
        }
        settings.pop("training", None)
        code = fingerprint(kind.forward) if own else ""
        found.update(
            f"{kind.__module__}:{kind.__qualname__}:{sorted(settings.items())}:{code}\n".encode()
        )
    for name, weights in module.state_dict().items():
        found.update(name.encode())
        if isinstance(weights, torch.Tensor):
            found.update(f"{weights.dtype}:{tuple(weights.shape)}".encode())
            found.update(weights.detach().cpu().reshape(-1).view(torch.uint8).numpy().tobytes())
    return found.hexdigest()[:16]
