"""Fixtures that several test modules share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

import evenhand as eh
from tests.support.displays import render
from tests.support.paths import BESIDE

settings.register_profile("few", max_examples=25)


def pytest_configure(config: pytest.Config) -> None:
    """Try properties on fewer examples where slow tests are left out; see also `examples` in
    helpers.
    """
    if "not slow" in config.option.markexpr:
        settings.load_profile("few")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out what imports torch, which takes seconds in every process, where no test of it would
    be run.
    """
    return (
        True
        if collection_path.name == "test_torch.py" and "not heavy" in config.option.markexpr
        else None
    )


@pytest.fixture(scope="session")
def adult():
    folder = Path(os.environ.get("EVENHAND_DATA", BESIDE))
    if not (folder / "adult.csv.gz").exists():
        pytest.skip("needs adult.csv.gz in EVENHAND_DATA or ../shared/data")
    return eh.datasets.load("adult", path=folder)


@pytest.fixture
def ax():
    from matplotlib.figure import Figure

    return Figure(layout="constrained").subplots()


@pytest.fixture
def plotted():
    """Draw on a new figure, render it with warnings as errors, and close it at the end."""
    from matplotlib import pyplot

    drawn = []

    def draw(shown: eh.Result):
        display = shown.plot()
        drawn.append(display.figure_)
        render(display)
        return display

    yield draw
    for figure in drawn:
        pyplot.close(figure)
