"""The toys: a package of somebody else, which brings one verb, adapter, strategy, metric and
format.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.paths import ROOT

TOYS = ROOT / "tests" / "support" / "toys"


@pytest.fixture(scope="session")
def toys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder that the toys are installed in; it is on no path but those of processes that
    tests start.

    `make test` has installed them beside the environment. Where they are not, or not as they stand
    now, pip does.
    """
    folder = Path(sys.prefix, "toys")
    if not _installed(folder):
        folder = tmp_path_factory.mktemp("toys")
        install = [
            sys.executable,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "--no-deps",
        ]
        ran = subprocess.run(
            [*install, "--target", folder, TOYS], capture_output=True, text=True
        )
        if ran.returncode:
            pytest.skip(
                f"pip cannot install the toys: {ran.stderr.strip().splitlines()[-1:]}"
            )
    return folder


def _installed(folder: Path) -> bool:
    """Tell whether the toys are in a folder as they stand in the repository."""
    for file in (TOYS / "evenhand_toys").glob("*.py"):
        there = folder / "evenhand_toys" / file.name
        if not there.is_file() or there.read_bytes() != file.read_bytes():
            return False
    return True


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave figures out of pages, which take most of the time."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
