"""Fixtures that several test modules share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

import evenhand as eh
from tests.support.displays import render
from tests.support.paths import BESIDE

# No deadline: a test never asserts a wall time, which a shared machine may miss.
settings.register_profile("all", deadline=None)
# Where a change is let in, the same change has the same examples, as Hypothesis itself does it
# there. All other runs try new ones.
settings.register_profile(
    "few", max_examples=25, deadline=None, derandomize="CI" in os.environ
)


def pytest_configure(config: pytest.Config) -> None:
    """Try properties on fewer examples where slow tests are left out.

    See also `examples` in helpers.
    """
    is_quick = "not slow" in config.option.markexpr
    settings.load_profile("few" if is_quick else "all")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out what imports torch where no test of it would be run.

    The import takes seconds in every process.
    """
    if collection_path.name == "test_torch.py" and "not heavy" in config.option.markexpr:
        return True
    return None


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
