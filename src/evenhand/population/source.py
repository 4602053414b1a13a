"""Real rows, and where the checks of a configuration or of an audit get them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from evenhand.population.rows import Rows
from evenhand.runtime.errors import DataError, clip, nearest
from evenhand.runtime.table_file import read_frame
from evenhand.space.frames.reading import eager

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pandas as pd

    from evenhand.population.samplers import Sampler

MOST_LEVELS = 20
"""The most groups of a protected feature whose selection rates are shown unasked."""


@dataclass(frozen=True, slots=True)
class Real:
    """Real rows, or None, the file they are in, and notes about them."""

    file: Path
    rows: pd.DataFrame | Rows | None = None
    notes: Sequence[str] = ()

    def truth(self, column: str | None) -> str | list[Any] | None:
        """Return the true outcomes of the rows: the name of their column, or its values.

        Rows that are a population have no other columns, so their file is read again.
        """
        if column is None or not isinstance(self.rows, Rows):
            return column
        frame = read_frame(self.file)
        if column not in frame.columns:
            raise DataError(
                f"truth = {column!r} is not a column; {nearest(column, frame.columns)}"
            )
        return list(frame[column].tolist())


class Source(Protocol):
    """Where jobs get what they need besides the software."""

    @property
    def where(self) -> str:
        """What error sentences begin with."""

    @property
    def texts(self) -> Any:
        """The texts to test with, and the terms to look for in them."""

    def population(self) -> Sampler | None:
        """Return the population that scores speak of; None for all inputs."""

    def start(self, path: str | None = None) -> tuple[Rows | None, list[str]]:
        """Return the real rows that a search starts from, and notes about them."""

    def real(self, path: str | None = None) -> Real:
        """Return real rows, those of a file where one is named."""

    def frame(self, path: str | None = None) -> Real:
        """Return real rows as a frame, with the columns that are not inputs."""

    def other(self, model: Any, subject: Any) -> Any:
        """Return another model as a subject like the one that is tested."""


def as_pandas(data: Any) -> pd.DataFrame:
    """Return any dataframe, or a list of dictionaries, as a pandas frame."""
    import pandas as pd

    if isinstance(data, pd.DataFrame):
        return data
    if isinstance(data, list):
        return pd.DataFrame(data)
    frame: pd.DataFrame = eager(data).to_pandas()
    return frame


def need_columns(frame: Any, columns: Sequence[str], file: Path) -> None:
    """Raise a DataError for a column that a frame does not have, with the nearest that it has."""
    for column in columns:
        if column not in frame.columns:
            raise DataError(
                f"{file}: there is no column {clip(repr(column))}; {nearest(column, frame.columns)}"
            )
