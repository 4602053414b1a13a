"""Models of LightGBM: its files, and its Booster, which gives scores where labels are wanted."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.runtime.errors import MissingExtra, clip
from evenhand.runtime.options import FILE, Option
from evenhand.subject.adapters.boosters.booster_file import (
    BoosterAdapter,
    check_readable,
    not_a_model,
)

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

_WORTH_THREADS = 4096
_OBJECTIVE = re.compile(r"^objective=(\w+)", re.MULTILINE)


class LightgbmAdapter(BoosterAdapter):
    """Asks a model that LightGBM saved as text, or its Booster."""

    kind = "lightgbm"
    value = Option("lightgbm", FILE, "a model file of LightGBM, .txt")
    suffixes = (".txt",)

    @classmethod
    def accepts(cls, model: Any) -> bool:
        """Take a Booster; whoever made one has imported LightGBM."""
        lightgbm = sys.modules.get("lightgbm")
        return lightgbm is not None and isinstance(model, lightgbm.Booster)

    @classmethod
    def load(cls, file: Path) -> Any:
        """Return the model that a file holds."""
        return load_lightgbm(file)

    @classmethod
    def wrap(cls, model: Any) -> Any:
        """Return a Booster as an estimator."""
        if cls.accepts(model):
            return lightgbm_model(model)
        return model


class LightgbmRegressor:
    """A Booster of LightGBM that is asked with frames, and answers with numbers."""

    def __init__(self, booster: Any) -> None:
        self.booster_ = booster

    @property
    def n_features_in_(self) -> int:
        """How many columns it takes."""
        return int(self.booster_.num_feature())

    def predict(self, inputs: Any) -> NDArray[Any]:
        """Return the number of each input."""
        return np.asarray(self._asked(inputs))

    def _asked(self, inputs: Any) -> Any:
        # Threads that wait for each other over a few rows take longer than one alone.
        threads = 1 if len(inputs) < _WORTH_THREADS else 0
        return self.booster_.predict(inputs, num_threads=threads)


class LightgbmClassifier(LightgbmRegressor):
    """A Booster of LightGBM that is asked with frames, and answers with its classes from 0 on."""

    @property
    def classes_(self) -> NDArray[np.int64]:
        """The labels: the file knows no other names of them."""
        return np.arange(max(2, self.booster_.num_model_per_iteration()))

    def predict(self, inputs: Any) -> NDArray[Any]:
        """Return the likeliest class of each input."""
        return np.asarray(self.predict_proba(inputs).argmax(axis=1))

    def predict_proba(self, inputs: Any) -> NDArray[np.float64]:
        """Return the chance of each class."""
        chances = np.asarray(self._asked(inputs), dtype=np.float64)
        if chances.ndim == 1:
            return np.column_stack([1 - chances, chances])
        return chances


def load_lightgbm(file: Path) -> Any:
    """Return the model of a file of LightGBM as an estimator."""
    try:
        import lightgbm
    except ImportError as error:
        raise MissingExtra(f"loading '{file}'", "lightgbm") from error
    check_readable(file, LightgbmAdapter.suffixes)
    try:
        # The library ends the process over some damaged files, and reads any text for a model.
        with file.open("rb") as opened:
            first = opened.readline().strip()
        if first != b"tree":
            begins = clip(first.decode("utf-8", "backslashreplace"), 40)
            raise ValueError(f"it begins with {begins!r} instead of 'tree'")
        booster = lightgbm.Booster(model_file=file)
        if not booster.num_trees():
            raise ValueError("it holds no trees")
    except Exception as error:
        raise not_a_model(file, "LightGBM", error) from error
    return lightgbm_model(booster)


def lightgbm_model(booster: Any) -> LightgbmRegressor:
    """Return a Booster as an estimator, by its objective."""
    found = _OBJECTIVE.search(booster.model_to_string(num_iteration=1))
    objective = found.group(1) if found else ""
    classifies = objective in ("binary", "multiclass", "multiclassova")
    if classifies:
        return LightgbmClassifier(booster)
    return LightgbmRegressor(booster)
