"""What it takes to run AIF360 beside newer libraries, each put back as it was found."""

from __future__ import annotations

import importlib
import logging
import os
import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.runtime.errors import MissingExtra, UsageError, clip

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Bools = NDArray[np.bool_]

PRIVILEGED = [{"privileged": 1.0}]
"""The privileged rows of a `dataset`, as AIF360 wants them named."""
UNPRIVILEGED = [{"privileged": 0.0}]

_TENSORFLOW_LOG = "TF_CPP_MIN_LOG_LEVEL"


@contextmanager
def seeded(seed: int | None) -> Iterator[None]:
    """Seed numpy's global generator, from which AIF360 draws, and restore its state afterwards.

    >>> with seeded(3):
    ...     first = np.random.random()
    >>> with seeded(3):
    ...     first == np.random.random()
    True
    """
    check_seed(seed)
    state = np.random.get_state()
    np.random.seed(seed)
    try:
        yield
    finally:
        np.random.set_state(state)


def check_seed(seed: Any) -> None:
    """Raise an error for a seed that numpy's generators do not take.

    >>> check_seed(7)
    """
    if seed is None:
        return
    is_whole = isinstance(seed, int | np.integer) and not isinstance(seed, bool)
    if not is_whole or not 0 <= seed < 2**32:
        raise UsageError(
            f"random_state = {clip(repr(seed))} must be a whole number from 0 to 2**32 - 1, or None"
        )


@contextmanager
def old_strings() -> Iterator[None]:
    """Have pandas keep texts as objects, which AIF360 expects, where pandas still can.

    >>> import pandas as pd
    >>> with old_strings():
    ...     pd.Series(["a"]).dtype
    dtype('O')
    """
    import pandas as pd

    name = "future.infer_string"
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=f".*{name}")
        try:
            before = pd.get_option(name)
            pd.set_option(name, False)  # noqa: FBT003
        except pd.errors.OptionError:
            before = None
    try:
        yield
    finally:
        if before is not None:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message=f".*{name}")
                pd.set_option(name, before)


@contextmanager
def quiet() -> Iterator[None]:
    """Keep AIF360 and TensorFlow from warning of optional packages and hardware that are missing.

    AIF360 says so through functions of `logging` that set up the user's root logger on the way.
    """
    root = logging.getLogger()
    handlers = root.handlers[:]
    level = os.environ.get(_TENSORFLOW_LOG)

    def is_foreign(record: logging.LogRecord) -> bool:
        return f"{os.sep}aif360{os.sep}" not in record.pathname

    root.addFilter(is_foreign)
    os.environ.setdefault(_TENSORFLOW_LOG, "3")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        root.removeFilter(is_foreign)
        new_handlers = [handler for handler in root.handlers if handler not in handlers]
        for handler in new_handlers:
            root.removeHandler(handler)
        if level is None:
            os.environ.pop(_TENSORFLOW_LOG, None)


def aif360(name: str, what: str) -> Any:
    """Return a module of AIF360, imported without its noise.

    Call it as `aif360("algorithms.postprocessing", "RejectOption")`; `what` says in the error of a
    missing library what needs it.
    """
    try:
        with quiet():
            return importlib.import_module(f"aif360.{name}")
    except ImportError as error:
        raise MissingExtra(what, "aif360") from error


def dataset(
    features: Floats,
    truth: Any,
    privileged: Bools,
    *,
    scores: Floats | None = None,
    weights: Floats | None = None,
    what: str = "this method",
) -> Any:
    """Return a BinaryLabelDataset of AIF360.

    Its protected column is "privileged", and 1 is its favourable "label".

    Parameters
    ----------
    features
        One row each, one column each; there may be no columns.
    truth
        1 or True for each row with the favourable label.
    scores
        The chance of the favourable label, by default the label itself.
    """
    import pandas as pd

    datasets = aif360("datasets", what)
    columns: dict[str, Any] = {}
    for place, column in enumerate(np.asarray(features).T):
        columns[f"x{place}"] = column
    columns["privileged"] = np.asarray(privileged, dtype=np.float64)
    columns["label"] = np.asarray(truth, dtype=np.float64)
    if scores is not None:
        columns["score"] = scores
    if weights is not None:
        columns["weight"] = weights
    return datasets.BinaryLabelDataset(
        df=pd.DataFrame(columns),
        label_names=["label"],
        protected_attribute_names=["privileged"],
        scores_names=["score"] if scores is not None else [],
        instance_weights_name="weight" if weights is not None else None,
    )
