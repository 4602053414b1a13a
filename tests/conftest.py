"""Fixtures that several test modules share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import evenhand as eh

BESIDE = Path(__file__).parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def adult():
    folder = Path(os.environ.get("EVENHAND_DATA", BESIDE))
    if not (folder / "adult.csv.gz").exists():
        pytest.skip("needs adult.csv.gz in EVENHAND_DATA or ../shared/data")
    return eh.datasets.load("adult", path=folder)
