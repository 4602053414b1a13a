"""Fitted models in files: skops by default, pickle and joblib only where the user says so."""

from __future__ import annotations

import io
import pickle
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.runtime.errors import MissingExtra, UsageError, clip, nearest
from evenhand.runtime.interruption import exits_reported
from evenhand.runtime.table_file import beside
from evenhand.subject.adapters.base import is_fitted, is_torch_module
from evenhand.subject.adapters.boosters import SUFFIXES, loader_of
from evenhand.subject.file_versions import missing_library, versions_compared, versions_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

_SKOPS = (".skops",)
_PICKLES = (".pkl", ".pickle", ".joblib")
OWN = ("evenhand.methods.repair.methods.evened.Evened",)
"""Types of ours that a skops file may hold without being trusted by name.

Loading one of them only sets plain values.
"""


def load_model(
    path: str | PathLike[str],
    *,
    trusted: Sequence[str] | None = None,
    allow_pickle: bool = False,
) -> Any:
    """Return the fitted estimator that a file holds.

    Parameters
    ----------
    path
        A `.skops` file; a `.json` or `.ubj` file of XGBoost, a `.txt` file of LightGBM, a `.cbm`
        file of CatBoost; or a `.pkl`, `.pickle` or `.joblib` file, with `allow_pickle`.
    trusted
        Types that a skops file may hold beyond those that skops knows to be harmless. Recent
        versions of skops want `sklearn.tree._tree.Tree` here for trees and forests: a forged one
        can crash the process that asks it.
    allow_pickle
        Loading a pickle or joblib file runs whatever code its author put into it, so it must be
        allowed by name.

    Returns
    -------
    object
        The fitted estimator.

    Raises
    ------
    MissingExtra
        Where the library that the file is of is not installed.
    UsageError
        Where the file cannot be read, holds types that are not trusted, or no fitted model.

    Notes
    -----
    See docs/how-to/subjects.md.
    """
    file = Path(path)
    suffix = file.suffix.lower()
    if suffix == ".onnx":
        raise UsageError(
            f"'{file}' is an ONNX model: give it as onnx = \"{file.name}\", or to Subject.onnx"
        )
    load = loader_of(suffix)
    if load is None:
        _check_suffix(file, SUFFIXES)
    _check_readable(file)
    with exits_reported(f"the model '{file}'", " when it was loaded"):
        if load is not None:
            return load(file)
        return _checked(_loaded(file, trusted or (), allow_pickle=allow_pickle), file)


def _loaded(file: Path, trusted: Sequence[str], *, allow_pickle: bool) -> Any:
    """Return what a file of skops or a pickle holds, where it may be loaded."""
    if file.suffix.lower() in _SKOPS:
        return _from_skops(file, trusted)
    if not allow_pickle:
        raise UsageError(
            f"the model '{file}' is a pickle, and loading one runs any code that its author put"
            " into it: save the model with skops instead, or allow it with allow_pickle = true if"
            " you trust where the file comes from"
        )
    return _from_pickle(file)


def save_model(model: Any, path: str | PathLike[str]) -> list[str]:
    """Write a fitted estimator to a file, and return the types in it that must be trusted.

    Parameters
    ----------
    model
        Anything fitted that predicts. Of a tree or forest, recent versions of skops want
        `sklearn.tree._tree.Tree` to be trusted; `Evened` itself need not be.
    path
        A `.skops` file; or a `.pkl`, `.pickle` or `.joblib` file, which holds more kinds of models,
        and which nobody should load who does not trust where it comes from.

    Returns
    -------
    list of str
        The types to give to `load_model` as `trusted`; empty for a pickle.

    Raises
    ------
    MissingExtra
        Where skops is not installed.
    UsageError
        Where the model is not fitted or cannot be saved, or the file cannot be written.

    Notes
    -----
    See docs/how-to/subjects.md.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> tree = DecisionTreeClassifier().fit([[0], [1]], ["no", "yes"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "tree.skops")
    ...     trusted = save_model(tree, file)
    ...     load_model(file, trusted=trusted).predict([[1]]).tolist()
    ['yes']
    """
    from evenhand.runtime.column_file import replacing  # imported where it is used

    file = Path(path)
    _check_suffix(file)
    if is_torch_module(model):
        raise UsageError(
            f"a torch module cannot be saved to '{file}'; write it with"
            " torch.save(model.state_dict(), …)"
        )
    if not callable(getattr(model, "predict", None)):
        raise UsageError(
            f"{clip(repr(model))} cannot predict, so it cannot be saved to '{file}' as a model"
        )
    if not is_fitted(model):
        raise UsageError(
            f"the {type(model).__name__} for '{file}' is not fitted: fit it before saving it"
        )
    if not file.parent.is_dir():
        raise UsageError(f"'{file}' cannot be written: there is no folder '{file.parent}'")
    trusted: list[str] = []
    if file.suffix.lower() in _SKOPS:
        content, trusted = _as_skops(model, file)
    else:
        content = _as_pickle(model, file)
    with replacing(file) as part:
        part.write_bytes(content)
    return trusted


def _check_suffix(file: Path, others: tuple[str, ...] = ()) -> None:
    if file.suffix.lower() not in _SKOPS + _PICKLES:
        raise UsageError(
            f"the model '{file}' has the unknown suffix '{file.suffix}'; "
            f"{nearest(file.suffix.lower(), _SKOPS + _PICKLES + others)}"
        )


def _check_readable(file: Path) -> None:
    try:
        file.open("rb").close()
    except FileNotFoundError as error:
        hint = beside(file, (*_SKOPS, *_PICKLES, *SUFFIXES, ".onnx"))
        raise UsageError(f"the model file '{file}' does not exist; {hint}") from error
    except OSError as error:
        raise UsageError(
            f"the model file '{file}' cannot be read: {error.strerror}"
        ) from error


def untrusted_types(path: str | PathLike[str]) -> list[str]:
    """Return the types in a skops file that are not known to be harmless."""
    file = Path(path)
    _check_readable(file)
    try:
        import skops.io
    except ImportError as error:
        raise MissingExtra(f"loading '{file}'", "skops") from error
    try:
        types: list[str] = skops.io.get_untrusted_types(file=file)
    except Exception as error:
        raise _not_skops(file, error) from error
    return [name for name in types if name not in OWN]


def _from_skops(file: Path, trusted: Sequence[str]) -> Any:
    unknown = [name for name in untrusted_types(file) if name not in trusted]
    if not unknown:
        import skops.io

        try:
            with versions_compared(file):
                return skops.io.load(file, trusted=[*OWN, *trusted])
        except ModuleNotFoundError as error:
            raise missing_library(file, error) from error
        except Exception as error:
            raise _not_skops(file, error) from error
    wanted = sorted({*trusted, *unknown})
    raise UsageError(
        f"the model '{file}' holds types that skops does not know to be harmless; if you trust"
        f" them, allow them with trusted = {wanted}"
    )


def _not_skops(file: Path, error: Exception) -> UsageError:
    """Return why a file cannot be loaded.

    A damaged archive fails in many ways: zip, JSON, missing keys, missing modules.
    """
    versions = versions_of(file)
    return UsageError(
        f"the file '{file}' cannot be loaded by skops{versions}: {clip(_reason(error))}"
    )


def _as_skops(model: Any, file: Path) -> tuple[bytes, list[str]]:
    try:
        import skops.io
    except ImportError as error:
        raise MissingExtra(f"writing '{file}'", "skops") from error
    try:
        content = skops.io.dumps(model)
        types = skops.io.get_untrusted_types(data=content)
        # Some models are written without complaint and cannot be read, such as those with a
        # nameless function inside.
        skops.io.loads(content, trusted=types)
    # Whatever the parts of a model raise where they are taken apart or put together.
    except Exception as error:
        other_file = file.with_suffix(".joblib").name
        raise UsageError(
            f"skops cannot keep this {type(model).__name__} ({clip(_reason(error))}); save it as "
            f"'{other_file}' instead"
        ) from error
    return content, [name for name in types if name not in OWN]


def _as_pickle(model: Any, file: Path) -> bytes:
    import joblib

    pickler: Any = joblib if file.suffix.lower() == ".joblib" else pickle
    content = io.BytesIO()
    try:
        pickler.dump(model, content)
    except Exception as error:  # whatever the parts of a model raise where they are pickled
        raise UsageError(
            f"'{file}' cannot be written, since this {type(model).__name__} cannot be pickled:"
            f" {clip(_reason(error))}"
        ) from error
    return content.getvalue()


def _from_pickle(file: Path) -> Any:
    import joblib

    try:
        with versions_compared(file):
            return joblib.load(file)
    except ModuleNotFoundError as error:
        raise missing_library(file, error) from error
    except Exception as error:  # unpickling runs foreign code, which may raise anything
        versions = versions_of(file)
        raise UsageError(
            f"the model '{file}' cannot be unpickled{versions}: {clip(_reason(error))}"
        ) from error


def _reason(error: Exception) -> str:
    if str(error):
        return f"{type(error).__name__}: {error}"
    return type(error).__name__


def _checked(model: Any, file: Path) -> Any:
    if isinstance(model, type) or not callable(getattr(model, "predict", None)):
        raise UsageError(
            f"the file '{file}' holds a {type(model).__name__}, which cannot predict; save the"
            " whole model"
        )
    if not is_fitted(model):
        raise UsageError(
            f"the {type(model).__name__} in '{file}' is not fitted: fit it before saving it"
        )
    return model
