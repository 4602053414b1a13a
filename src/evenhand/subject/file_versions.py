"""Model files that another version of a library wrote, or a library that is not installed."""

from __future__ import annotations

import re
import warnings
import zipfile
from contextlib import contextmanager
from typing import TYPE_CHECKING

from evenhand.runtime.errors import EvenhandWarning, MissingExtra, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_EXTRAS = ("xgboost", "lightgbm", "catboost", "torch", "fairlearn", "aif360", "tensorflow")
"""Libraries that are installed as an extra of the same name."""
_PICKLED = re.compile(rb"_sklearn_version[^0-9]{1,8}(\d+\.\d+[\w.]*)")
_IN_SKOPS = re.compile(r"_sklearn_version.{1,400}?(\d+\.\d+[\w.]*)", re.DOTALL)
_OF_SKOPS = re.compile(r'"_skops_version": "([\w.]+)"')
_SCHEMA = "schema.json"


@contextmanager
def versions_compared(file: Path) -> Iterator[None]:
    """Warn in one sentence where another version of scikit-learn saved what is loaded meanwhile."""
    from sklearn.exceptions import InconsistentVersionWarning

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    versions: dict[str, str] = {}
    for warning in caught:
        message = warning.message
        if isinstance(message, InconsistentVersionWarning):
            # One for each part of a pipeline: one sentence is enough.
            versions[message.original_sklearn_version] = message.current_sklearn_version
        else:
            warnings.warn_explicit(
                message, warning.category, warning.filename, warning.lineno
            )
    for saved, current in versions.items():
        warnings.warn(
            f"the model '{file}' was saved by scikit-learn {saved} and is loaded by {current}: its"
            f" answers may differ; install scikit-learn=={saved}, or save the model again",
            EvenhandWarning,
            stacklevel=4,
        )


def versions_of(file: Path) -> str:
    """Return what to say of the versions of a file that does not load; empty where they agree."""
    import sklearn

    if zipfile.is_zipfile(file):
        return _versions_of_skops(file)
    found = _PICKLED.search(file.read_bytes())
    saved = found.group(1).decode() if found else ""
    return _differ("scikit-learn", saved, sklearn.__version__)


def _versions_of_skops(file: Path) -> str:
    import sklearn
    import skops

    with zipfile.ZipFile(file) as archive:
        if _SCHEMA not in archive.namelist():
            return ""
        schema = archive.read(_SCHEMA).decode("utf-8", "replace")
    of_model = _IN_SKOPS.search(schema)
    of_skops = _OF_SKOPS.search(schema)
    versions = ""
    if of_model:
        versions = _differ("scikit-learn", of_model.group(1), sklearn.__version__)
    if of_skops and not versions:
        versions = _differ("skops", of_skops.group(1), skops.__version__)
    return versions


def _differ(library: str, saved: str, current: str) -> str:
    """Return both versions where they differ.

    >>> _differ("skops", "0.9", "0.13")
    ' (saved by skops 0.9, loaded by 0.13)'
    """
    if not saved or saved == current:
        return ""
    return f" (saved by {library} {saved}, loaded by {current})"


def missing_library(file: Path, error: ModuleNotFoundError) -> UsageError:
    """Return the error for a file that needs a library that is not installed."""
    library = (error.name or "").partition(".")[0]
    if library in _EXTRAS:
        return MissingExtra(f"loading '{file}', a model of {library},", library)
    return UsageError(
        f"the model '{file}' needs the module {error.name!r}, which is not installed; install what"
        " it was saved with"
    )
