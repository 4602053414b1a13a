"""Software that is no model file: a program, a service, and decisions that were written down."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import numpy as np

from tests.support.front_door.models import words, written
from tests.support.front_door.people import PENALTY, PROTECTED, approved, people

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PATIENCE = 60.0
"""Seconds in which a service must be up."""

C = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* loan AGE EDUCATION INCOME DEBT SEX RACE */
int main(int argc, char **argv) {
    if (argc != 7) {
        fprintf(stderr, "loan: six values are needed\\n");
        return 2;
    }
    double worth = atof(argv[3]);
    if (strcmp(argv[2], "school") == 0) worth -= 10;
    if (strcmp(argv[5], "female") == 0) worth -= PENALTY;
    puts(worth > 45 ? "approve" : "deny");
    return 0;
}
"""

SERVICE = """
from fastapi import FastAPI
from pydantic import BaseModel


class Applicant(BaseModel):
    age: int
    education: str
    income: float
    debt: float
    sex: str
    race: str


class Question(BaseModel):
    applicants: list[Applicant]


app = FastAPI()


def decide(one: Applicant) -> dict:
    worth = one.income - 10 * (one.education == "school") - PENALTY * (one.sex == "female")
    return {"decision": {"approved": worth > 45}, "worth": worth}


@app.post("/v2/decisions")
def decisions(question: Question) -> dict:
    return {"model": "v2", "results": [decide(one) for one in question.applicants]}
"""


def c_program(folder: Path, biased: bool) -> list[str]:
    """A program that is started once for each person."""
    frame = people(600)
    granted = np.where(approved(frame, biased=biased), "yes", "no")
    written(folder, frame, granted, "granted")
    penalty = PENALTY if biased else 0
    (folder / "loan.c").write_text(C, encoding="utf-8")
    command = ["cc", f"-DPENALTY={penalty}", "-O1", "-o", "loan", "loan.c"]
    subprocess.run(command, cwd=folder, check=True)
    return words("./loan", "granted", "--positive", "yes")


def service(folder: Path, biased: bool) -> list[str]:
    """A service that takes and answers JSON of its own shape."""
    frame = people()
    granted = np.where(approved(frame, biased=biased), "yes", "no")
    written(folder, frame, granted, "granted")
    penalty = PENALTY if biased else 0
    text = SERVICE.replace("PENALTY", str(penalty))
    (folder / "service.py").write_text(text, encoding="utf-8")
    return words("ADDRESS", "granted", "--positive", "yes")


@contextlib.contextmanager
def served(folder: Path) -> Iterator[str]:
    """Run the service, and yield its address."""
    with served_on(folder) as port:
        yield f"http://127.0.0.1:{port}/v2/decisions"


@contextlib.contextmanager
def served_on(folder: Path) -> Iterator[int]:
    """Run the app of `service.py` in a folder, and yield its port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    command = [sys.executable, "-m", "uvicorn", "service:app", "--port", str(port)]
    process = subprocess.Popen([*command, "--log-level", "error"], cwd=folder)
    try:
        _wait_for(port, process)
        yield port
    finally:
        process.terminate()
        process.wait()


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and process.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return
        time.sleep(0.05)
    raise RuntimeError("the service did not start")


def decision_log(folder: Path, biased: bool) -> list[str]:
    """Decisions that were written down, with what came of them."""
    frame = people()
    decision = np.where(approved(frame, biased=biased), "approve", "deny")
    repaid = approved(frame, biased=False).astype(int)
    log = frame.assign(decision=decision, repaid=repaid)
    log.to_csv(folder / "decisions.csv", index=False)
    named = ["--outcome", "decision", "--truth", "repaid", "--protected", PROTECTED]
    return ["decisions.csv", *named]
