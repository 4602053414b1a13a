"""Fairlearn's adversarial classifier: a network of torch, and one that guesses the group."""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from evenhand.mitigation.aif360_compat import check_seed
from evenhand.mitigation.base import Mitigation, NumericEncoder, check_number
from evenhand.mitigation.fairlearn_thresholds import check_labels, constraint_of, fairlearn
from evenhand.runtime.errors import MissingExtra, UsageError, clip

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_FASTER = 30
"""How much faster the adversary learns.

One that lags behind is fooled by treating groups less alike than before.
"""


class AdversarialClassifier(Mitigation):
    """A network trained so that another cannot tell the group from its answers (Zhang, 2018).

    This is the method of Zhang, Lemoine and Mitchell, "Mitigating Unwanted Biases with Adversarial
    Learning".

    Parameters
    ----------
    constraint
        What is alike: how many get the favourable label ("spd"), or how many of those who deserve
        it and of those who do not ("odds").
    alpha
        What fooling the other network counts; 0 trains the same network alone. Fairlearn's own 1
        may overshoot, and then groups differ more than before, the other way round.
    hidden
        The number of units in each hidden layer.
    epochs, batch_size, learning_rate
        How often all rows are seen, how many at a time, and the step of the optimiser (Adam).

    Notes
    -----
    See docs/how-to/study.md.

    Examples
    --------
    >>> AdversarialClassifier(over="sex", hidden=(20,)).knob
    'alpha'
    """

    kind: ClassVar[str] = "in"
    code: ClassVar[str] = "ADF"
    extra: ClassVar[str] = "fairlearn,torch"
    knob: ClassVar[str | None] = "alpha"
    off: ClassVar[Mapping[str, Any]] = {"alpha": 0.0}

    def __init__(
        self,
        *,
        over: Any = None,
        positive: Any = None,
        privileged: Any = None,
        aware: bool = True,
        constraint: str = "spd",
        alpha: float = 0.3,
        hidden: Sequence[int] = (50,),
        epochs: int = 20,
        batch_size: int = 128,
        learning_rate: float = 0.001,
        random_state: int | None = 0,
    ) -> None:
        self.over = over
        self.positive = positive
        self.privileged = privileged
        self.aware = aware
        self.constraint = constraint
        self.alpha = alpha
        self.hidden = hidden
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.random_state = random_state

    def _fit(self, frame: Any, truth: Floats) -> None:
        constraint, _, labels = constraint_of(self, ("spd", "odds"))
        self._check()
        library = fairlearn("adversarial", self)
        torch = _torch()
        codes = self.roles_.codes(frame)
        check_labels(self, codes, truth, labels)
        hidden_columns = () if self.aware else self.roles_.over
        self._numbers = NumericEncoder(without=hidden_columns).fit(frame)
        numbers = self._numbers(frame)
        random = _WholeNumberDraws(self.random_state)
        with _one_thread(torch):
            torch.manual_seed(random.random())
            adversary = self._adversary()
            if self.alpha == 0:
                # Fairlearn takes the adversary's direction out of the training even then, so it
                # must hear nothing.
                adversary[0].weight.requires_grad_(requires_grad=False).zero_()
            self._network = library.AdversarialFairnessClassifier(
                backend="torch",
                predictor_model=_network([numbers.shape[1], *self.hidden, 1]),
                adversary_model=adversary,
                constraints=constraint,
                alpha=float(self.alpha),
                epochs=int(self.epochs),
                batch_size=int(self.batch_size),
                learning_rate=float(self.learning_rate),
                adversary_optimizer=partial(_adam, _FASTER * self.learning_rate),
                shuffle=True,
                random_state=random,
            )
            self._network.fit(numbers, truth.astype(np.intp), sensitive_features=codes)

    def _adversary(self) -> Any:
        """Return the network that guesses the group."""
        # For equal odds it sees the true label beside the answer; of two groups it guesses one.
        inputs = 2 if self.constraint == "odds" else 1
        groups = len(self.roles_.groups)
        outputs = 1 if groups == 2 else groups
        return _network([inputs, outputs])

    def _decide(self, frame: Any) -> Any:
        self.roles_.codes(frame)  # an unknown group is an error
        return self._network.predict(self._numbers(frame))

    def _check(self) -> None:
        check_number("alpha", self.alpha, low=0)
        check_number("epochs", self.epochs, low=1, whole=True)
        check_number("batch_size", self.batch_size, low=1, whole=True)
        check_number("learning_rate", self.learning_rate, over=0)
        check_seed(self.random_state)
        if not isinstance(self.hidden, list | tuple):
            raise UsageError(
                f"hidden = {clip(repr(self.hidden))} must be a list of whole numbers, such as (50,)"
            )
        for units in self.hidden:
            check_number("hidden", units, low=1, whole=True)


class _WholeNumberDraws(np.random.RandomState):
    """Draws whole numbers where Fairlearn draws from 0 to 1.

    Fairlearn seeds torch with its draw, which torch cuts to 0 whatever the seed.
    """

    def random(self, size: Any = None) -> Any:
        return self.randint(2**31, size=size)


@contextmanager
def _one_thread(torch: Any) -> Iterator[None]:
    """Leave the user's generators as they are, and train on one thread.

    Several threads add up in another order, and no faster.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
            yield
    finally:
        torch.set_num_threads(threads)


def _network(sizes: Sequence[int]) -> Any:
    """Return layers between these numbers of units.

    The chance of a yes comes out, or the scores of several groups.
    """
    torch = _torch()
    layers = []
    for before, after in pairwise(sizes):
        linear = torch.nn.Linear(before, after)
        torch.nn.init.xavier_uniform_(linear.weight)
        torch.nn.init.zeros_(linear.bias)
        layers += [linear, torch.nn.ReLU()]
    end = [torch.nn.Sigmoid()] if sizes[-1] == 1 else []
    network = torch.nn.Sequential(*layers[:-1], *end).double()
    # Fairlearn divides gradients by their size plus a number that is 0 in single precision, and
    # 0 / 0 spoils a network.
    network.register_forward_pre_hook(_widened)
    network.register_forward_hook(_narrowed)
    return network


def _widened(network: Any, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(tensor.double() for tensor in inputs)


def _narrowed(network: Any, inputs: tuple[Any, ...], output: Any) -> Any:
    return output.float()


def _adam(rate: float, network: Any) -> Any:
    return _torch().optim.Adam(network.parameters(), lr=rate)


def _torch() -> Any:
    try:
        import torch
    except ImportError as error:
        raise MissingExtra("AdversarialClassifier", AdversarialClassifier.extra) from error
    return torch
