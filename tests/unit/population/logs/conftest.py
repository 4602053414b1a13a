"""The same log in all places, written once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.logs import decisions, digest_of, write_everywhere

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="package")
def places(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the log in all forms."""
    for name in ("duckdb", "polars", "pyarrow"):
        pytest.importorskip(name, reason=f"{name} is not installed")
    folder = tmp_path_factory.mktemp("places")
    write_everywhere(folder)
    return folder


@pytest.fixture(scope="package")
def known() -> str:
    """What is found in the frame that all of them hold."""
    return digest_of(decisions())
