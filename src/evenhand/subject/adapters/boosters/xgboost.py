"""Models of XGBoost: its files, and its Booster, which gives scores where labels are wanted."""

from __future__ import annotations

import json
import re
import sys
import warnings
from typing import TYPE_CHECKING, Any

from evenhand.runtime.errors import EvenhandWarning, MissingExtra
from evenhand.runtime.options import FILE, Option
from evenhand.subject.adapters.boosters.booster_file import (
    BoosterAdapter,
    check_readable,
    not_a_model,
)

if TYPE_CHECKING:
    from pathlib import Path

_CLASSES = ("binary:", "multi:")
"""How the objectives of classifiers begin."""
_END = 4096
"""Bytes at the end of a file in which XGBoost writes its version."""
_IN_JSON = re.compile(rb'"version":\s*\[(\d+),\s*(\d+),\s*(\d+)\]')
_IN_UBJ = re.compile(rb"version\[#L\x00{7}\x03i(.)i(.)i(.)", re.DOTALL)


class XgboostAdapter(BoosterAdapter):
    """Asks a model that XGBoost saved as JSON or UBJSON, or its Booster."""

    kind = "xgboost"
    value = Option("xgboost", FILE, "a model file of XGBoost, .json or .ubj")
    suffixes = (".json", ".ubj")

    @classmethod
    def accepts(cls, model: Any) -> bool:
        """Take a Booster; whoever made one has imported XGBoost."""
        xgboost = sys.modules.get("xgboost")
        return xgboost is not None and isinstance(model, xgboost.Booster)

    @classmethod
    def load(cls, file: Path) -> Any:
        """Return the model that a file holds."""
        return load_xgboost(file)

    @classmethod
    def wrap(cls, model: Any) -> Any:
        """Return a Booster as an estimator."""
        if not cls.accepts(model):
            return model
        return _estimator(model, bytearray(model.save_raw("ubj")))


def load_xgboost(file: Path) -> Any:
    """Return the model of a file of XGBoost as an estimator of XGBoost."""
    try:
        import xgboost
    except ImportError as error:
        raise MissingExtra(f"loading '{file}'", "xgboost") from error
    check_readable(file, XgboostAdapter.suffixes)
    written = written_by(file)
    current = xgboost.__version__
    try:
        booster = xgboost.Booster()
        booster.load_model(file)
        model = _estimator(booster, file)
    except Exception as error:
        versions = ""
        if written and written != current:
            versions = f"written by version {written}, read by {current}"
        raise not_a_model(file, "XGBoost", error, versions) from error
    # Files of earlier versions are promised to be read; those of later ones are not.
    if _release(written) > _release(current):
        warnings.warn(
            f"the model '{file}' was written by XGBoost {written} and is read by {current}: its"
            f" answers may differ; install xgboost>={written}",
            EvenhandWarning,
            stacklevel=2,
        )
    return model


def _release(version: str) -> tuple[int, ...]:
    """Return the first two numbers of a version.

    >>> _release("3.2.0-dev"), _release("")
    ((3, 2), ())
    """
    return tuple(int(number) for number in re.findall(r"\d+", version)[:2])


def written_by(file: Path) -> str:
    """Return the version of XGBoost that wrote a file, empty where it does not say so."""
    with file.open("rb") as opened:
        opened.seek(0, 2)
        opened.seek(max(0, opened.tell() - _END))
        end = opened.read()
    found = _IN_JSON.search(end)
    if found is not None:
        return ".".join(number.decode() for number in found.groups())
    found = _IN_UBJ.search(end)
    if found is not None:
        return ".".join(str(ord(number)) for number in found.groups())
    return ""


def _estimator(booster: Any, source: Any) -> Any:
    """Return a Booster as the estimator that it was, or would be, by its objective."""
    import xgboost

    saved_as = json.loads(booster.attr("scikit_learn") or "{}").get("_estimator_type")
    config = json.loads(booster.save_config())
    objective = config["learner"]["objective"]["name"]
    classifies = saved_as == "classifier" or (
        saved_as is None and objective.startswith(_CLASSES)
    )
    kind = xgboost.XGBClassifier if classifies else xgboost.XGBRegressor
    if saved_as == "ranker":
        kind = xgboost.XGBRanker
    # Without the option it refuses the columns of categories that it was trained on.
    model = kind(enable_categorical=True)
    model.load_model(source)
    return model
