"""Which file software was loaded from, so that a ledger and a report tell its versions apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from evenhand.runtime.fingerprint import file_digest

if TYPE_CHECKING:
    from pathlib import Path


class ModelFile(NamedTuple):
    """The file of a model.

    Parameters
    ----------
    name
        Its name, without folders.
    digest
        The sha256 of its content.
    """

    name: str
    digest: str

    @classmethod
    def of(cls, file: Path) -> ModelFile:
        """Return what is known of a file; OSError where it cannot be read."""
        return cls(file.name, file_digest(file))

    @property
    def identity(self) -> str:
        """The name of the content, which is the same wherever the file lies.

        >>> ModelFile("loan.skops", "12ab").identity
        'file:12ab'
        """
        return f"file:{self.digest}"
