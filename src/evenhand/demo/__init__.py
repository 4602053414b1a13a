"""The demonstration: a loan program with a planted bias, tested as an unknown executable."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.space.feature import category, integer
from evenhand.space.space import Space
from evenhand.subject.subject import Subject

if TYPE_CHECKING:
    from evenhand.config.file import Config

PROGRAM = Path(__file__).with_name("loan.py")
CONFIG = PROGRAM.with_name("evenhand.toml")


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
        [sys.executable, "-I", "-S", str(PROGRAM), "{*}"],
        loan_space(),
        positive="approve",
        **options,
    )


def loan_config() -> Config:
    """Return the configuration of the demonstration, which asks one process many times."""
    from evenhand.config.file import Config

    config = Config.load(CONFIG)
    # The Python that runs this is there, whatever "python" means on the path.
    argv = [sys.executable, *config.table["subject"]["stream"][1:]]
    return replace(
        config,
        table={**config.table, "subject": {**config.table["subject"], "stream": argv}},
    )
