"""Models of CatBoost in its own files."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from evenhand.runtime.errors import MissingExtra
from evenhand.runtime.options import FILE, Option
from evenhand.subject.adapters.boosters.booster_file import (
    BoosterAdapter,
    check_readable,
    not_a_model,
)

if TYPE_CHECKING:
    from pathlib import Path

_VERSION = re.compile(rb"CatBoost release (\d+(?:\.\d+)+)")


class CatboostAdapter(BoosterAdapter):
    """Asks a model that CatBoost saved."""

    kind = "catboost"
    value = Option("catboost", FILE, "a model file of CatBoost, .cbm")
    suffixes = (".cbm",)

    @classmethod
    def accepts(cls, model: Any) -> bool:
        """Take no object: CatBoost's are estimators."""
        return False

    @classmethod
    def load(cls, file: Path) -> Any:
        """Return the model that a file holds."""
        return load_catboost(file)


def load_catboost(file: Path) -> Any:
    """Return the model of a file of CatBoost as an estimator of CatBoost."""
    try:
        import catboost
    except ImportError as error:
        raise MissingExtra(f"loading '{file}'", "catboost") from error
    check_readable(file, CatboostAdapter.suffixes)
    try:
        plain = catboost.CatBoost()
        plain.load_model(file)
        kind = catboost.CatBoostRegressor
        if len(plain.classes_):
            kind = catboost.CatBoostClassifier
        model = kind()
        model.load_model(file)
    except Exception as error:
        found = _VERSION.search(file.read_bytes())
        written = found.group(1).decode() if found else ""
        versions = ""
        if written and written != catboost.__version__:
            versions = f"written by version {written}, read by {catboost.__version__}"
        raise not_a_model(file, "CatBoost", error, versions) from error
    return model
