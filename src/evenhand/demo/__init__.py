"""The demonstration: a loan program with a planted bias, tested as an executable that evenhand knows nothing of."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from evenhand.core.feature import category, integer
from evenhand.core.space import Space
from evenhand.core.subject import Subject

PROGRAM = Path(__file__).with_name("loan.py")


def loan_space() -> Space:
    """Return what a loan application can be (the example of Themis, section 2)."""
    return Space(
        [
            category("race", ["green", "purple"]),
            category("sex", ["female", "male"]),
            integer("age", 18, 80),
            integer("income", 0, 120),
            integer("savings", 0, 60),
            category("employed", ["no", "yes"]),
            integer("amount", 1, 60),
        ],
        protected=["race", "sex"],
    )


def loan_subject(**options: Any) -> Subject:
    """Return the loan program as a subject: one process per application."""
    return Subject.command(
        [sys.executable, "-I", "-S", str(PROGRAM), "{*}"], loan_space(), positive="approve", **options
    )
