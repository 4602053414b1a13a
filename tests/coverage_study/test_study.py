"""The study of coverage itself: every cell runs, and what does not hold is seen."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tests.coverage_study import __main__ as study
from tests.coverage_study.cells import StudyCell, Trial
from tests.support.simulation import slow

LONG = {"subsets, group", "repair, one step", "audit, five", "compare, good", "audit_log"}
"""How the keys of cells begin of which one run takes long."""


def every_cell() -> list[object]:
    """Return all cells, those that take long marked as slow."""
    marked: list[object] = []
    for cell in study.all_cells():
        takes_long = any(cell.key.startswith(name) for name in LONG)
        if takes_long:
            marked.append(slow(cell, id=cell.key))
        else:
            marked.append(pytest.param(cell, id=cell.key))
    return marked


@pytest.mark.parametrize("cell", every_cell())
def test_every_cell_runs_and_repeats(cell):
    first = cell.run(3)
    assert first == cell.run(3)
    assert isinstance(first.held, bool)
    assert (first.verdict is None) or cell.wrong or first.verdict


def test_cells_have_keys_of_their_own():
    keys = [cell.key for cell in study.all_cells()]
    assert len(set(keys)) == len(keys)


def chance(miss: float, wrong: float) -> StudyCell:
    """Return a cell that misses, and is wrong, so often."""

    def run(seed: int) -> Trial:
        held, verdict = np.random.default_rng(seed).random(2)
        return Trial(bool(held >= miss), "pass" if verdict < wrong else "undecided")

    return StudyCell("chance", f"{miss} {wrong}", run, "known", "pass")


def test_levels_that_do_not_hold_are_seen_and_others_are_not():
    assert not chance(0.04, 0.04).simulate(1000).is_below
    assert chance(0.12, 0.0).simulate(1000).is_below
    assert chance(0.0, 0.12).simulate(1000).is_below


def test_runs_go_on_from_earlier_ones():
    cell = chance(0.1, 0.1)
    some = cell.simulate(40).document()
    whole = cell.simulate(100).document()
    assert cell.simulate(100, earlier=json.loads(json.dumps(some))).document() == whole
    assert cell.simulate(100, seconds=0).runs == 1


def test_the_table_shows_runs_coverage_and_wrong_verdicts():
    row = chance(0.04, 0.02).simulate(200).document()
    line = study.markdown([row]).splitlines()[-1]
    assert "| 200 | 95 % |" in line
    assert "pass: " in line
    assert line.endswith("| yes |")


def test_a_study_is_written_and_read_again(tmp_path, monkeypatch):
    cells = [chance(0.04, 0.0), chance(0.5, 0.0)]
    monkeypatch.setattr(study, "all_cells", lambda: cells)
    file = tmp_path / "study.json"
    assert study.main(["--runs", "50", "--json", str(file)]) == 1
    assert study.main(["--runs", "80", "--only", "0.04", "--json", str(file)]) == 0
    assert study.main(["--runs", "90", "--more", "--json", str(file)]) == 1
    rows = json.loads(file.read_text(encoding="utf-8"))["rows"]
    assert [row["runs"] for row in rows] == [90, 90]
