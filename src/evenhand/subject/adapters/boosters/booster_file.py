"""What the adapters of boosted trees share: a file or a booster, asked like an estimator."""

from __future__ import annotations

import os
from abc import abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from evenhand.runtime.errors import UsageError, clip
from evenhand.runtime.interruption import exits_reported
from evenhand.runtime.options import Options, refuse_unknown
from evenhand.runtime.table_file import beside
from evenhand.subject.adapters.estimator import EstimatorAdapter
from evenhand.subject.adapters.model_file import ModelFile
from evenhand.subject.options import IDENTITY, OUTPUT, THRESHOLD

if TYPE_CHECKING:
    from evenhand.subject.adapters.base import Adapter


class BoosterAdapter(EstimatorAdapter):
    """A model of boosted trees: a file, or an object that gives scores where labels are wanted."""

    options = Options.of(THRESHOLD, OUTPUT, IDENTITY, given=["positive"])
    takes_texts = False
    suffixes: ClassVar[tuple[str, ...]] = ()

    @classmethod
    @abstractmethod
    def load(cls, file: Path) -> Any:
        """Return the model that a file holds, as an estimator."""

    @classmethod
    def wrap(cls, model: Any) -> Any:
        """Return a bare booster as an estimator; an estimator is returned as it is."""
        return model

    @classmethod
    def of(cls, value: Any, /, *, positive: Any = None, **options: Any) -> Adapter:
        """Build the adapter of a file or a booster."""
        refuse_unknown(f"adapter {cls.kind!r}", options, cls.options.python)
        if not isinstance(value, str | os.PathLike):
            return cls(cls.wrap(value), positive=positive, **options)
        file = Path(value)
        check_readable(file, cls.suffixes)
        content = ModelFile.of(file)
        options["identity"] = options.get("identity") or content.identity
        with exits_reported(f"the model '{file}'", " when it was loaded"):
            model = cls.load(file)
        adapter = cls(model, positive=positive, **options)
        adapter.file = content
        return adapter


def check_readable(file: Path, suffixes: tuple[str, ...]) -> None:
    """Refuse a file that cannot be read, with the nearest of its kind."""
    try:
        file.open("rb").close()
    except OSError as error:
        raise UsageError(
            f"the model file '{file}' cannot be read: {error.strerror};"
            f" {beside(file, suffixes)}"
        ) from error


def not_a_model(
    file: Path,
    library: str,
    error: Exception,
    written: str = "",
) -> UsageError:
    """Return the error for a file that a library cannot read, with both versions if known."""
    reason = clip(str(error) or type(error).__name__)
    versions = f" ({written})" if written else ""
    return UsageError(
        f"the file '{file}' cannot be read as a model of {library}{versions}: {reason}"
    )
