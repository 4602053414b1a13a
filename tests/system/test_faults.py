"""Some cells of the fault campaign, so that its code stays fit to run; `make faults` has all."""

from __future__ import annotations

import dataclasses
import signal

import pytest

from tests.faults import disks, signals
from tests.faults.catalogue import FAULTS, NO_FAULT
from tests.faults.fault import Expected
from tests.faults.matrix import Cell, cells, judged, verdict
from tests.faults.process import Observed

BY_NAME = {fault.name: fault for fault in FAULTS}


@pytest.mark.parametrize(
    ("adapter", "fault", "verb"),
    [
        ("command", "exit 0", "causal"),
        ("stream", "too many answers", "group"),
        ("http", "redirect away", "search"),
        ("function", "crash at some", "mine"),
        ("http", "reset once", "causal"),
    ],
)
def test_software_that_fails_is_survived(adapter: str, fault: str, verb: str) -> None:
    outcome = judged(Cell(adapter, BY_NAME[fault], verb))
    assert not outcome.complaints, (outcome.complaints, outcome.observed)


def test_a_fault_that_must_fail_and_does_not_is_seen() -> None:
    # Nothing is wrong with this software, so that the campaign has to object to a pass.
    pretended = dataclasses.replace(NO_FAULT, name="pretended", expected=Expected.FAILS)
    outcome = judged(Cell("function", pretended, "causal"))
    assert outcome.complaints == ["exit code 0, and not exit 4: the software failed"]


def test_an_exit_code_without_a_sentence_is_seen() -> None:
    cell = Cell("command", BY_NAME["crash"], "causal")
    silent = Observed(4, 1.0, 100.0, "", "")
    assert verdict(cell, silent, Expected.FAILS)


def test_each_fault_has_a_name_of_its_own_and_strikes_somewhere() -> None:
    assert len(BY_NAME) == len(FAULTS)
    struck = {cell.fault.name for cell in cells(long=True)}
    assert struck == set(BY_NAME)


def test_the_quick_campaign_has_every_fault_of_every_adapter() -> None:
    quick = {(cell.adapter, cell.fault.name) for cell in cells(long=False)}
    every = {(cell.adapter, cell.fault.name) for cell in cells(long=True)}
    assert quick == every


def test_a_killed_run_is_resumed() -> None:
    life = signals.Life(signals.RUNNERS[0], "causal", (signal.SIGKILL,), seed=1)
    outcome = signals.lived(life)
    assert not outcome.complaints
    assert outcome.kills == 1


def test_a_result_that_cannot_be_written_is_named() -> None:
    fault = next(fault for fault in disks.DISKS if fault.name == "/dev/full")
    outcome = disks.tried((fault, False))
    assert not outcome.complaints
