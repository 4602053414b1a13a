"""Methods of AIF360 that act in the training: PrejudiceRemover and AdversarialDebiasing."""

from __future__ import annotations

import importlib
import importlib.util
import os
import pickle
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from threadpoolctl import threadpool_limits

from evenhand.mitigation.aif360_compat import (
    PRIVILEGED,
    UNPRIVILEGED,
    aif360,
    dataset,
    quiet,
    seeded,
)
from evenhand.mitigation.base import Mitigation, NumericEncoder, check_number
from evenhand.runtime.errors import DataError, MissingExtra, UsageError, clip, nearest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Bools = NDArray[np.bool_]

SOLVERS = ("native", "aif360")
_EDGE = 1e-10
"""How near to 0 and 1 a chance may come, as in the authors' code."""


class _OwnModel(Mitigation):
    """A method with a model of its own, which takes numbers."""

    kind: ClassVar[str] = "in"


class PrejudiceRemover(_OwnModel):
    """Train logistic regression whose loss grows with the prejudice of its answers.

    The method is that of Kamishima et al. (2012). There is one set of weights for the privileged
    and one for the others, over the columns that are not protected; with ``aware=False`` both share
    one. The loss is ``-log likelihood + eta * PI + l2 / 2 * |weights|²``, where PI is the prejudice
    index, n times the mutual information of answer and side.

    AIF360's own route (``solver="aif360"``) writes text files and runs the authors' code in a
    process called `python`; that code goes through rows one by one and descends along a gradient
    that is not the one of its loss, since it adds a term for the rate of all rows that cancels over
    the groups, but not within each. So it ends above the least loss, and the more so the larger eta
    is. The default minimises the same loss with its own gradient; it needs no AIF360.

    Parameters
    ----------
    eta
        How much prejudice counts; 0 is plain logistic regression, its own original.
    l2
        How much large weights count; AIF360 knows only 1.
    solver
        "native" or "aif360".

    Attributes
    ----------
    weights_
        A row for the others and one for the privileged (one for all if not aware); the last column
        is the constant.
    loss_
        The loss where descent ended.

    Notes
    -----
    See docs/how-to/study.md.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"sex": ["f", "f", "m", "m"] * 25, "grade": [1, 2, 2, 3] * 25})
    >>> method = PrejudiceRemover(over="sex", eta=1).fit(frame, [0, 1, 1, 1] * 25)
    >>> method.predict(frame)[:4].tolist(), method.weights_.shape
    ([0, 1, 1, 1], (2, 2))
    """

    code: ClassVar[str] = "PR"
    extra: ClassVar[str] = "aif360"
    knob: ClassVar[str | None] = "eta"
    off: ClassVar[Mapping[str, Any]] = {"eta": 0.0}

    def __init__(
        self,
        *,
        over: Any = None,
        positive: Any = None,
        privileged: Any = None,
        aware: bool = True,
        eta: float = 1.0,
        l2: float = 1.0,
        solver: str = "native",
        random_state: int | None = 0,
    ) -> None:
        self.over = over
        self.positive = positive
        self.privileged = privileged
        self.aware = aware
        self.eta = eta
        self.l2 = l2
        self.solver = solver
        self.random_state = random_state

    def _fit(self, frame: Any, truth: Floats) -> None:
        self._check()
        self._numbers = NumericEncoder(without=self.roles_.over).fit(frame)
        rows = self._numbers(frame)
        side = self.roles_.are_privileged(frame)
        loss = PrejudiceLoss(
            rows, truth, side, eta=self.eta, l2=self.l2, shared=not self.aware
        )
        with threadpool_limits(1):  # several threads add up in another order
            if self.solver == "aif360":
                weights = _weights_of_aif360(rows, truth, side, self.eta)
            else:
                weights = loss.least()
        self.loss_, _ = loss(weights)
        self.weights_ = weights.reshape(-1, rows.shape[1] + 1)

    def _check(self) -> None:
        check_number("eta", self.eta, low=0)
        check_number("l2", self.l2, low=0)
        if self.solver not in SOLVERS:
            raise UsageError(
                f"unknown solver {clip(repr(self.solver))}; {nearest(self.solver, SOLVERS)}"
            )
        if self.solver != "aif360":
            return
        if self.l2 != 1:
            raise UsageError(
                f'l2 = {self.l2!r} cannot be combined with solver = "aif360", whose code knows only'
                ' l2 = 1; use solver = "native"'
            )
        if not self.aware:
            raise UsageError(
                'aware = False cannot be combined with solver = "aif360", whose code has weights'
                ' for each side; use solver = "native"'
            )

    def _decide(self, frame: Any) -> Any:
        rows = self._numbers(frame)
        margins = rows @ self.weights_[:, :-1].T + self.weights_[:, -1]
        if not self.aware:
            return margins[:, 0] > 0
        is_privileged = self.roles_.are_privileged(frame)
        return np.where(is_privileged, margins[:, 1], margins[:, 0]) > 0


class PrejudiceLoss:
    """The loss of PrejudiceRemover, as the authors' code has it, with its gradient.

    Weights are one array: those of the other rows and then those of the privileged, each with the
    constant last; only one set of them if they are `shared`.

    >>> rows, truth, side = np.array([[1.0], [-1.0]]), np.array([1.0, 0.0]), np.array([True, False])
    >>> value, slope = PrejudiceLoss(rows, truth, side, eta=1, l2=1)(np.zeros(4))
    >>> round(value, 4), slope.tolist()
    (1.3863, [-0.5, 0.5, -0.5, -0.5])
    """

    def __init__(
        self,
        rows: Floats,
        truth: Floats,
        side: Bools,
        *,
        eta: float,
        l2: float,
        shared: bool = False,
    ) -> None:
        self.eta = eta
        self.l2 = l2
        width = rows.shape[1] + 1
        rows_and_constant = np.column_stack([rows, np.ones(len(rows))])
        everyone = np.ones(len(rows), dtype=np.bool_)
        masks = (everyone,) if shared else (~side, side)
        # For each set of weights: its place in the array, the rows that it is for, and their
        # numbers.
        self._sets = []
        for number, mask in enumerate(masks):
            place = slice(number * width, (number + 1) * width)
            self._sets.append((place, mask, rows_and_constant[mask]))
        self._truth = truth
        self._sides = (~side, side)
        self._size = width * len(masks)

    def __call__(self, weights: Floats, eta: float | None = None) -> tuple[float, Floats]:
        """Return the value and the gradient, if need be with another eta.

        The rate of all rows adds nothing to the gradient: what it adds for one side, the other
        takes away.
        """
        eta = self.eta if eta is None else eta
        margins = np.empty(len(self._truth))
        for place, mask, rows in self._sets:
            margins[mask] = rows @ weights[place]
        # Beyond 700 the exponential overflows.
        odds_against = np.exp(-np.clip(margins, -700, 700))
        chances = np.clip(1 / (1 + odds_against), _EDGE, 1 - _EDGE)
        value = (
            np.logaddexp(0, margins).sum()
            - self._truth @ margins
            + self.l2 / 2 * (weights @ weights)
        )
        by_margin = chances - self._truth
        overall = chances.mean()
        # The prejudice index: the mutual information of answer and side, by chances in place of
        # answers.
        for mask in self._sides:
            rate = chances[mask].mean()
            size = int(mask.sum())
            more = np.log(rate / overall)
            less = np.log((1 - rate) / (1 - overall))
            value += eta * size * (rate * more + (1 - rate) * less)
            by_margin[mask] += eta * (more - less) * chances[mask] * (1 - chances[mask])
        slope = self.l2 * weights
        for place, mask, rows in self._sets:
            slope[place] += by_margin[mask] @ rows
        return float(value), slope

    def least(self) -> Floats:
        """Return the weights of the least loss that descent finds.

        As the authors do, it begins without prejudice.
        """
        from scipy.optimize import minimize

        options = {"maxiter": 1000, "maxfun": 5000}
        weights = np.zeros(self._size)
        for eta in dict.fromkeys((0.0, self.eta)):
            found = minimize(
                self, weights, (eta,), method="L-BFGS-B", jac=True, options=options
            )
            weights = found.x
        return np.asarray(weights, dtype=np.float64)


def _weights_of_aif360(rows: Floats, truth: Floats, side: Bools, eta: float) -> Floats:
    """Return the weights that AIF360 learns, read from the file that it otherwise leaves behind."""
    what = 'PrejudiceRemover(solver="aif360")'
    module = aif360("algorithms.inprocessing.prejudice_remover", what)
    data = dataset(rows, truth, side, what=what)
    with _this_python(module):
        file = Path(module.PrejudiceRemover(eta=eta).fit(data).model_name)
    try:
        with file.open("rb") as stream:
            return np.asarray(_ModelUnpickler(stream).load().coef_, dtype=np.float64)
    except EOFError:
        raise DataError(
            f"{what} failed on these {len(truth):,} rows: its process wrote no model"
        ) from None
    finally:
        file.unlink()


@contextmanager
def _this_python(module: Any) -> Iterator[None]:
    """Have AIF360 run this very Python, silently, and not whatever `python` is on the path."""

    def call(command: list[str]) -> int:
        with_this_python = [sys.executable, *command[1:]]
        process = subprocess.run(with_this_python, capture_output=True, check=False)
        return process.returncode

    before = module.subprocess
    module.subprocess = SimpleNamespace(call=call)
    try:
        yield
    finally:
        module.subprocess = before


class _ModelUnpickler(pickle.Unpickler):
    """Reads a model of the authors' code.

    Its classes can only be imported from its own folder.
    """

    def find_class(self, module: str, name: str) -> Any:
        if module.startswith("fadm."):
            return SimpleNamespace
        return super().find_class(module, name)


class AdversarialDebiasing(_OwnModel):
    """Train a network whose answers do not let an adversary guess the group (Zhang et al., 2018).

    AIF360's code needs TensorFlow as it was before version 2, which cannot be had in a process
    without spoiling it for all other code there. It is therefore trained in a process of its own,
    which takes some seconds to start, on one thread, so that the same `random_state` gives the same
    network; the weights come back and numpy does the rest.

    Parameters
    ----------
    adversary_weight
        How much the adversary counts; 0 trains without one, its own original.
    epochs, batch_size
        How often it goes through the training rows, and how many it takes at once. AIF360 leaves
        out those that do not fill a last batch, and would learn nothing where all are fewer than
        one: then all are taken at once.
    hidden
        The size of the hidden layer.

    Attributes
    ----------
    weights_
        The arrays W1, b1, W2, b2 of the network.

    Notes
    -----
    See docs/how-to/study.md.

    Examples
    --------
    >>> AdversarialDebiasing(over="sex", epochs=5).off
    {'adversary_weight': 0.0}
    """

    code: ClassVar[str] = "AD"
    extra: ClassVar[str] = "aif360,tensorflow"
    knob: ClassVar[str | None] = "adversary_weight"
    off: ClassVar[Mapping[str, Any]] = {"adversary_weight": 0.0}

    def __init__(
        self,
        *,
        over: Any = None,
        positive: Any = None,
        privileged: Any = None,
        aware: bool = True,
        adversary_weight: float = 0.1,
        epochs: int = 50,
        batch_size: int = 128,
        hidden: int = 200,
        random_state: int | None = 0,
    ) -> None:
        self.over = over
        self.positive = positive
        self.privileged = privileged
        self.aware = aware
        self.adversary_weight = adversary_weight
        self.epochs = epochs
        self.batch_size = batch_size
        self.hidden = hidden
        self.random_state = random_state

    def _fit(self, frame: Any, truth: Floats) -> None:
        check_number("adversary_weight", self.adversary_weight, low=0)
        for name in ("epochs", "batch_size", "hidden"):
            check_number(name, getattr(self, name), low=1, whole=True)
        with seeded(self.random_state):
            if self.random_state is None:
                seed = int(np.random.randint(2**31))
            else:
                seed = int(self.random_state)
        for library in ("aif360", "tensorflow"):
            if not _installed(library):
                raise MissingExtra("AdversarialDebiasing", self.extra)
        hidden_columns = () if self.aware else self.roles_.over
        self._numbers = NumericEncoder(without=hidden_columns).fit(frame)
        self.weights_ = _in_another_process(
            rows=self._numbers(frame),
            truth=truth,
            side=self.roles_.are_privileged(frame),
            adversary_weight=self.adversary_weight,
            epochs=self.epochs,
            batch_size=min(self.batch_size, len(truth)),
            hidden=self.hidden,
            seed=seed,
        )

    def _decide(self, frame: Any) -> Any:
        weights = self.weights_
        rows = self._numbers(frame).astype(np.float32)
        hidden = np.maximum(rows @ weights["W1"] + weights["b1"], 0)
        margins = hidden @ weights["W2"] + weights["b2"]
        return margins[:, 0] > 0


def _installed(library: str) -> bool:
    try:
        return importlib.util.find_spec(library) is not None
    except (ImportError, ValueError):
        return False


def _in_another_process(**task: Any) -> dict[str, Any]:
    """Train the network of AIF360 in a new process; return its weights by name."""
    code = (
        "import sys; from evenhand.mitigation.inprocessing import train_in;"
        " train_in(sys.argv[1])"
    )
    paths = os.pathsep.join(path for path in sys.path if path)
    environment = os.environ | {"PYTHONPATH": paths, "TF_CPP_MIN_LOG_LEVEL": "3"}
    with tempfile.TemporaryDirectory() as folder:
        np.savez(Path(folder) / "task.npz", **task)
        process = subprocess.run(
            [sys.executable, "-c", code, folder],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if process.returncode:
            # The last line of a traceback is the error itself.
            lines = process.stderr.strip().splitlines()
            reason = lines[-1] if lines else f"exit code {process.returncode}"
            raise DataError(
                f"AdversarialDebiasing failed on these {len(task['truth']):,} rows:"
                f" {clip(reason, 200)}"
            )
        with np.load(Path(folder) / "weights.npz") as found:
            return dict(found)


def train_in(folder: str) -> None:
    """Train as `task.npz` in a folder says, and write `weights.npz` beside it.

    It is for a process that does nothing else.
    """
    tf = importlib.import_module("tensorflow.compat.v1")
    with np.load(Path(folder) / "task.npz") as found:
        task = dict(found)
    module = aif360("algorithms.inprocessing.adversarial_debiasing", "AdversarialDebiasing")
    data = dataset(task["rows"], task["truth"], task["side"])
    data.features = task["rows"]  # without AIF360's own column of who is privileged
    tf.disable_eager_execution()
    plain = tf.ConfigProto(
        intra_op_parallelism_threads=1,
        inter_op_parallelism_threads=1,
        device_count={"GPU": 0},
    )
    with tf.Session(config=plain) as session, quiet():
        module.AdversarialDebiasing(
            UNPRIVILEGED,
            PRIVILEGED,
            scope_name="network",
            sess=session,
            seed=int(task["seed"]),
            adversary_loss_weight=float(task["adversary_weight"]),
            num_epochs=int(task["epochs"]),
            batch_size=int(task["batch_size"]),
            classifier_num_hidden_units=int(task["hidden"]),
            debias=bool(task["adversary_weight"] > 0),
        ).fit(data)
        weights = {}
        for variable in tf.trainable_variables(scope="network/classifier_model"):
            _, _, name = variable.op.name.rpartition("/")
            weights[name] = session.run(variable)
    np.savez(Path(folder) / "weights.npz", **weights)
