"""Jobs that other processes do: what comes back, also where a process fails."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest

from tests.support.benchmarks import benchmark
from tests.support.paths import ROOT

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = """
import sys
sys.path.insert(0, {folder!r})
from rival_jobs import peak_gigabytes, serve

def measured(job):
    if job["number"] < 0:
        raise ValueError("a negative number")
    return {{"double": 2 * job["number"], "peak": peak_gigabytes()}}

serve(measured)
"""


@pytest.fixture(scope="module")
def jobs():
    return benchmark("rival_jobs")


def program(folder: Path, text: str = PROGRAM) -> Path:
    path = folder / "program.py"
    path.write_text(text.format(folder=str(ROOT / "benchmarks")))
    return path


def test_a_job_that_fails_leaves_the_others(jobs, tmp_path):
    asked = [{"number": 3}, {"number": -1}, {"number": 4}]
    first, second, third = jobs.ask(
        sys.executable,
        program(tmp_path),
        asked,
        os.environ,
    )
    assert first["double"] == 6
    assert second == {"error": "ValueError: a negative number"}
    assert third["double"] == 8
    assert 0 < first["peak"] < 100


def test_a_process_that_ends_early_gives_its_last_words(jobs, tmp_path):
    broken = program(tmp_path, "raise SystemExit('no such library')")
    assert jobs.ask(
        sys.executable,
        broken,
        [{}, {}],
        os.environ,
    ) == [
        {"error": "no such library"},
        {"error": "no such library"},
    ]


def test_work_is_repeated_while_it_is_short(jobs):
    numbers = iter(range(10))
    seconds, found = jobs.cpu_seconds(lambda: next(numbers), 3)
    assert len(seconds) == 3
    assert found == 2
    seconds, _ = jobs.cpu_seconds(
        lambda: sum(range(100_000)),
        5,
        longest=0.0,
    )
    assert len(seconds) == 1


def test_a_table_of_items_is_read_as_texts(jobs, tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("age,sex,granted\n1,NA,0\n2,,1\n")
    table = jobs.read_table(str(path), "granted")
    assert table["age"].tolist() == ["1", "2"]
    assert table["sex"].tolist() == ["NA", ""]
    assert table["granted"].tolist() == [0, 1]
