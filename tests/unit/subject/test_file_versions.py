"""What is named of the versions that saved a model file."""

from __future__ import annotations

import json
import warnings
import zipfile
from typing import TYPE_CHECKING, Any

import pytest
import sklearn
from sklearn.exceptions import InconsistentVersionWarning

from evenhand.runtime.errors import EvenhandWarning, MissingExtra, UsageError
from evenhand.subject.file_versions import missing_library, versions_compared, versions_of

if TYPE_CHECKING:
    from pathlib import Path

skops = pytest.importorskip("skops")


def skops_file(path: Path, *, of_model: str = "", of_skops: str = "") -> Path:
    """Write a file with the schema that skops writes, as far as versions go."""
    schema: dict[str, Any] = {"__class__": "LogisticRegression"}
    if of_model:
        saved = {"__class__": "str", "content": of_model}
        schema["content"] = {"_sklearn_version": saved}
    if of_skops:
        schema["_skops_version"] = of_skops
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("schema.json", json.dumps(schema))
    return path


@pytest.mark.parametrize(
    ("of_model", "of_skops", "named"),
    [
        (
            "0.24.2",
            "0.9",
            f" (saved by scikit-learn 0.24.2, loaded by {sklearn.__version__})",
        ),
        ("0.24.2", "", f" (saved by scikit-learn 0.24.2, loaded by {sklearn.__version__})"),
        ("", "0.9", f" (saved by skops 0.9, loaded by {skops.__version__})"),
        (
            sklearn.__version__,
            "0.9",
            f" (saved by skops 0.9, loaded by {skops.__version__})",
        ),
        (sklearn.__version__, skops.__version__, ""),
        ("", "", ""),
    ],
)
def test_the_version_that_differs_is_named(tmp_path, of_model, of_skops, named):
    file = skops_file(tmp_path / "model.skops", of_model=of_model, of_skops=of_skops)
    assert versions_of(file) == named


def test_another_archive_says_nothing(tmp_path):
    file = tmp_path / "other.zip"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("readme.txt", "_sklearn_version 0.1.2")
    assert versions_of(file) == ""


def test_a_pickled_model_names_its_version(tmp_path):
    file = tmp_path / "model.pkl"
    file.write_bytes(b"...\x8c\x10_sklearn_version\x94\x8c\x050.8.1\x94sb.")
    assert (
        versions_of(file)
        == f" (saved by scikit-learn 0.8.1, loaded by {sklearn.__version__})"
    )
    file.write_bytes(b"something else")
    assert versions_of(file) == ""


def test_a_library_that_is_missing_is_an_extra_where_there_is_one(tmp_path):
    file = tmp_path / "model.pkl"
    extra = missing_library(file, ModuleNotFoundError(name="xgboost.core"))
    assert isinstance(extra, MissingExtra)
    assert "evenhand[xgboost]" in str(extra)
    other = missing_library(file, ModuleNotFoundError(name="house.models"))
    assert type(other) is UsageError
    assert "needs the module 'house.models', which is not installed" in str(other)


def test_a_module_without_a_name_is_no_extra(tmp_path):
    other = missing_library(tmp_path / "model.pkl", ModuleNotFoundError())
    assert type(other) is UsageError
    for library in ("xgboost", "lightgbm", "catboost", "torch", "fairlearn"):
        error = missing_library(tmp_path / "a.pkl", ModuleNotFoundError(name=library))
        assert isinstance(error, MissingExtra)


def older(version: str) -> None:
    warning = InconsistentVersionWarning(
        estimator_name="Scaler",
        current_sklearn_version="9.9",
        original_sklearn_version=version,
    )
    warnings.warn(warning, stacklevel=2)


def test_parts_of_one_version_are_warned_of_in_one_sentence(tmp_path):
    file = tmp_path / "model.pkl"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with versions_compared(file):
            older("1.0")
            warnings.warn("something else", UserWarning, stacklevel=1)
            older("1.0")
            older("1.1")
    assert [warning.category for warning in caught] == [
        UserWarning,
        EvenhandWarning,
        EvenhandWarning,
    ]
    assert str(caught[0].message) == "something else"
    assert caught[0].filename == __file__
    assert str(caught[1].message) == (
        f"the model '{file}' was saved by scikit-learn 1.0 and is loaded by 9.9: its answers may"
        " differ; install scikit-learn==1.0, or save the model again"
    )
    assert "saved by scikit-learn 1.1 and" in str(caught[2].message)


def test_where_versions_agree_nothing_is_warned_of(tmp_path):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with versions_compared(tmp_path / "model.pkl"):
            pass
    assert caught == []
