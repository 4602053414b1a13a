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
from evenhand.space.frames.reading import named_frame
from evenhand.subject.adapters.base import (
    Adapter,
    check_output,
    check_threshold,
    crashes_reported,
    is_torch_module,
    scored_class,
    tried_missing,
)
from evenhand.subject.options import IDENTITY, OUTPUT, THRESHOLD

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from evenhand.space.feature import Feature, Points
    from evenhand.space.space import Space
    from evenhand.subject.adapters.base import Output

SAMPLE = 64
"""Inputs that a module is asked before a run.

Enough to see that it gives probabilities rather than logits.
"""


class TorchAdapter(Adapter):
    """Asks a module in evaluation mode.

    One float column per passed feature goes in, one logit or one per class comes out. A column
    holds numbers as they are, categories whose levels are numbers as those numbers, and others by
    their code. One logit stands for the labels 0 and 1, several for the labels from 0 on.

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
    own_threads_from = 0
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
        """The module's weights, structure and own code, and how its answers are made."""
        module = self._identity or f"torch:{self.name}:{_digest(self.module)}"
        scoring = f"{self._sign}:{self.threshold}" if self._scored else ""
        return f"{module}:{self.output}:{scoring}"

    @property
    def _scored(self) -> bool:
        return self.threshold is not None or self.output == "score"

    @property
    def scorers(self) -> tuple[str, ...]:
        """The one way to ask for margins, where there are two labels."""
        if self.output != "label" or len(self.classes) != 2:
            return ()
        return ("logit",)

    def check(self, space: Space) -> None:
        """Refuse a space that does not fit the module, and a module that gives no logits.

        A few inputs are asked for that.
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
            taken = self._first_width()
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

    def _first_width(self) -> int | None:
        """Return how many columns the first layer takes, None where no layer says so."""
        for part in self.module.modules():
            if hasattr(part, "in_features"):
                width: int = part.in_features
                return width
        return None

    def _refuse_probabilities(self, logits: NDArray[np.float64]) -> None:
        """Refuse answers that are probabilities."""
        low = float(logits.min())
        high = float(logits.max())
        # Of several probabilities the largest is the same label, so they matter for scores only.
        if logits.shape[1] == 1:
            may_be_probabilities = True
        else:
            may_be_probabilities = self._scored and np.allclose(logits.sum(axis=1), 1)
        if may_be_probabilities and 0 <= low < high <= 1:
            raise UsageError(
                f"{self.name} answers with numbers from {low:.3g} to {high:.3g}, which are"
                " probabilities; leave out its last sigmoid or softmax, so that it gives logits"
            )

    def refuses_missing(self, space: Space) -> tuple[str, ...]:
        """Try what the module does not take: most answer nan to a gap."""
        return tried_missing(self, space)

    def run(
        self, points: Points, space: Space
    ) -> Iterator[tuple[NDArray[np.intp], NDArray[np.generic]]]:
        """Answer all points in one call."""
        logits = self._logits(points, space)
        yield np.arange(len(points)), self._outcomes(logits)

    def margins(
        self, points: Points, space: Space, _scorer: str
    ) -> tuple[NDArray[np.generic], NDArray[np.float64]]:
        """Return each point's label and its margin, in logits.

        The margin is by how much the positive class, or class 1, is above even.
        """
        logits = self._logits(points, space)
        margins = self._above(_difference(logits))
        return self._outcomes(logits), margins

    def gradients(
        self, points: Points, space: Space
    ) -> tuple[NDArray[np.generic], NDArray[np.float64], NDArray[np.float64]]:
        """Return labels, margins, and the slope of each margin along each passed feature.

        Slopes are in encoded units.
        """
        import torch

        with (
            crashes_reported(self.name, len(points)),
            torch.enable_grad(),
            _evaluated(self.module),
        ):
            inputs = self._tensor(points, space).requires_grad_()
            answer = self._checked(self.module(inputs), len(points))
            gradient = None
            if answer.requires_grad:  # what rounds or looks up has no slope
                # The inputs of a batch do not see each other, so the gradient of the sum holds that
                # of each margin.
                total = _difference(answer).sum()
                (gradient,) = torch.autograd.grad(total, inputs, allow_unused=True)
        if gradient is None:
            slopes = np.zeros(inputs.shape)
        else:
            slopes = self._sign * _array(gradient)
        for column, position in enumerate(space.passed):
            levels = _numbers_of(space.features[position])
            if levels is None:
                continue
            # By the chain rule: the module saw the number of a level, a search moves its code.
            if len(levels) > 1:
                codes = np.minimum(points[:, position], len(levels) - 1).astype(np.intp)
                slopes[:, column] *= np.gradient(levels)[codes]
            else:
                slopes[:, column] *= 0
        logits = _array(answer)
        margins = self._above(_difference(logits))
        return self._outcomes(logits), margins, slopes

    @property
    def _sign(self) -> int:
        """Whether the scored class is that of a high logit, or 0."""
        return -1 if self.positive == 0 else 1

    def _above(self, difference: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return by how much the scored class is above the threshold, in logits."""
        even = 0.0
        if self.threshold is not None:
            # The logit of the threshold.
            even = math.log(self.threshold / (1 - self.threshold))
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
        reached = scores >= self.threshold
        scored_class_is_1 = self._sign > 0
        return np.asarray(reached == scored_class_is_1, dtype=np.int64)

    def _logits(self, points: Points, space: Space) -> NDArray[np.float64]:
        """Return the module's answer as a matrix with one column for each logit."""
        import torch

        with (
            crashes_reported(self.name, len(points)),
            torch.no_grad(),
            _evaluated(self.module),
        ):
            inputs = self._tensor(points, space)
            answer = self._checked(self.module(inputs), len(points))
            return _array(answer)

    def _tensor(self, points: Points, space: Space) -> Any:
        """Return the passed features in the type and on the device of the module's own numbers."""
        import torch

        columns = points[:, list(space.passed)]
        for column, position in enumerate(space.passed):
            feature = space.features[position]
            missing = feature.is_missing(columns[:, column])
            levels = _numbers_of(feature)
            if levels is not None:
                codes = np.where(missing, 0, columns[:, column]).astype(np.intp)
                columns[:, column] = levels[codes]
            columns[missing, column] = np.nan
        numbers = (
            weight for weight in self.module.parameters() if weight.is_floating_point()
        )
        own = next(numbers, torch.zeros(1))
        return torch.tensor(columns, dtype=own.dtype, device=own.device)

    def _checked(self, answer: Any, expected: int) -> Any:
        """Return the answer with one column for each logit, or raise BadOutcome."""
        import torch

        wanted = (
            f"it must return one logit for each of {expected:,} inputs, or one for each input and"
            " class"
        )
        if not isinstance(answer, torch.Tensor):
            raise BadOutcome(f"{self.name} returned a {type(answer).__name__}; {wanted}")
        if not answer.is_floating_point():
            raise BadOutcome(f"{self.name} returned {answer.dtype} values; {wanted}")
        shape = tuple(answer.shape)
        inputs = shape[:1]
        logits = shape[1:]
        if inputs != (expected,) or len(logits) > 1 or 0 in logits:
            raise BadOutcome(f"{self.name} returned values of shape {shape}; {wanted}")
        missing = answer.isnan()
        if missing.any():
            count = int(missing.sum())
            raise BadOutcome(
                f"{self.name} answered nan to {count:,} of {expected:,} inputs"
            )
        return answer.reshape(expected, -1)


class TorchClassifier:
    """A module that is asked with frames or arrays, like a classifier of scikit-learn."""

    def __init__(self, module: Any, space: Space) -> None:
        self._adapter = TorchAdapter(module)
        passed = [space.features[position] for position in space.passed]
        self._space = type(space)(passed)

    @property
    def classes_(self) -> NDArray[np.int64]:
        """The labels, from 0 on."""
        if not self._adapter.classes:
            self._adapter.check(self._space)
        return np.array(self._adapter.classes)

    def predict(self, rows: Any) -> NDArray[np.int64]:
        """Return the label of each row."""
        labels = self._adapter._outcomes(self._logits(rows))
        return np.asarray(labels, dtype=np.int64)

    def predict_proba(self, rows: Any) -> NDArray[np.float64]:
        """Return the chance of each label of each row."""
        from scipy.special import softmax

        logits = self._logits(rows)
        if logits.shape[1] == 1:
            logits = np.column_stack([np.zeros(len(logits)), logits])
        return np.asarray(softmax(logits, axis=1))

    def _logits(self, rows: Any) -> NDArray[np.float64]:
        frame = rows
        if isinstance(rows, np.ndarray):
            frame = named_frame(rows, self._space.names)
        points = self._space.encode(frame)
        return self._adapter._logits(points, self._space)


def _difference(logits: Any) -> Any:
    """Return by how much class 1 is above class 0."""
    if logits.shape[1] == 1:
        return logits[:, 0]  # the logit of class 0 is then zero
    return logits[:, 1] - logits[:, 0]


def _array(tensor: Any) -> NDArray[np.float64]:
    doubles = tensor.detach().double().cpu()
    return np.asarray(doubles.numpy(), dtype=np.float64)


def _numbers_of(feature: Feature) -> NDArray[np.float64] | None:
    """Return the numbers that the codes of a category stand for.

    None where a code is what the module sees.

    >>> from evenhand.space.feature import category
    >>> _numbers_of(category("rooms", [1, 2, 5])).tolist()
    [1.0, 2.0, 5.0]
    >>> print(_numbers_of(category("sex", ["F", "M"])))
    None
    """
    if feature.kind != "category":
        return None
    if any(isinstance(level, str) for level in feature.levels):
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
    """Return a hash of weights, structure, plain settings and code that is not torch's own."""
    import torch

    digest = hashlib.sha256()
    for part in module.modules():
        kind = type(part)
        settings: list[tuple[str, Any]] = []
        for key, value in vars(part).items():
            if isinstance(value, str | int | float) and key != "training":
                settings.append((key, value))
        is_torchs_own = kind.__module__.startswith("torch.")
        code = "" if is_torchs_own else fingerprint(kind.forward)
        line = f"{kind.__module__}:{kind.__qualname__}:{sorted(settings)}:{code}\n"
        digest.update(line.encode())
    for name, weights in module.state_dict().items():
        digest.update(name.encode())
        if isinstance(weights, torch.Tensor):
            digest.update(f"{weights.dtype}:{tuple(weights.shape)}".encode())
            numbers = weights.detach().cpu().reshape(-1)
            digest.update(numbers.view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()[:16]
