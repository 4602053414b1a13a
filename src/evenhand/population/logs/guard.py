"""What engines and drivers say when they fail, as errors of one sentence without secrets."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from evenhand.runtime.errors import DataError, EvenhandError, clip, one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenhand.population.logs.address import LogAddress

_MODULES = ("duckdb", "_duckdb", "polars", "pyarrow", "pyspark", "py4j", "urllib", "fsspec")
"""The packages of errors that are those of an engine."""


@contextmanager
def engine_errors(address: LogAddress, engine: str) -> Iterator[None]:
    """Turn what an engine says into an error of one sentence, in which the address has no secrets.

    >>> from evenhand.population.logs.address import LogAddress
    >>> with engine_errors(LogAddress.of("https://ann:s3cret@host/x.parquet"), "polars"):
    ...     raise OSError("no s3cret")
    Traceback (most recent call last):
    evenhand.runtime.errors.DataError: 'https://host/x.parquet' cannot be read with polars: no ***
    """
    try:
        yield
    except DataError as error:
        if not address.scheme:
            raise
        # What an engine says may be part of the sentence of a verb.
        raise DataError(address.scrubbed(str(error))) from None
    except EvenhandError:
        raise
    except Exception as error:
        if not _is_of_engine(error):
            raise
        reason = clip(address.scrubbed(first_line(error)), 200)
        raise DataError(
            f"'{address.shown}' cannot be read with {engine}: {reason}"
        ) from None


def _is_of_engine(error: Exception) -> bool:
    """Return whether an engine has raised an error, be it through narwhals."""
    kind = type(error)
    if isinstance(error, OSError) or kind.__module__.partition(".")[0] in _MODULES:
        return True
    return kind.__module__ == "narwhals.exceptions" and kind.__name__ == "ComputeError"


def first_line(error: Exception) -> str:
    """Return the first line of what an error says, or its kind where it says nothing.

    >>> first_line(ValueError("no such table")), first_line(ValueError())
    ('no such table', 'ValueError')
    """
    for line in str(error).splitlines():
        if line.strip():
            return one_line(line)
    return type(error).__name__
