"""Software of every kind goes from `evenhand init` to the verdict of an audit, with no hand edit.

A planted bias is found, and its fair twin passes. The same in a fresh environment, with evenhand
installed in it: ``python -m tests.support.front_door --fresh``.
"""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.support.front_door.kinds import KINDS, Kind
from tests.support.front_door.visit import Visit, visit
from tests.support.paths import ROOT

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

QUICK = ("pipeline in joblib", "decision log")
"""Kinds that every run of the tests tries; the others take about twenty seconds each."""


def kinds(quick: Collection[str]) -> list[object]:
    every: list[object] = []
    for kind in KINDS:
        marks = () if kind.name in quick else pytest.mark.slow
        every.append(pytest.param(kind, id=kind.name, marks=marks))
    return every


def brought(kind: Kind, folder: Path, *, biased: bool) -> Visit:
    if kind.lacking:
        pytest.skip(f"{kind.name}: {kind.lacking} is not here")
    return visit(kind, folder, biased=biased)


@pytest.mark.parametrize("kind", kinds(QUICK))
def test_a_planted_bias_is_found(kind, tmp_path):
    found = brought(kind, tmp_path, biased=True)
    assert found.codes == (0, 1), found.story
    assert "evenhand audit evenhand.toml" in found.init.stdout
    if kind.name != "decision log":
        assert found.cases, found.story
    for case in found.cases:
        assert case["individual"] != case["twin"]
        # Whether such people could exist is said of everybody who is shown, and of the twin.
        assert case["realistic"] in (True, False)
        assert case["realistic_twin"] in (True, False)


@pytest.mark.parametrize("kind", kinds(QUICK[1:]))
def test_a_fair_twin_passes(kind, tmp_path):
    found = brought(kind, tmp_path, biased=False)
    assert found.codes == (0, 0), found.story
    assert "Traceback" not in found.story


@pytest.mark.minutes
def test_a_fresh_environment_lets_everything_in():
    command = [sys.executable, "-m", "tests.support.front_door", "--fresh"]
    done = subprocess.run(
        command,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
