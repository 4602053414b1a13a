"""evenhand init: write a configuration file from a data file, and try out the model."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.config.file import Config
from evenhand.config.template import write_config
from evenhand.runtime.errors import EvenhandError, UsageError, clip, one_line

if TYPE_CHECKING:
    from argparse import Namespace

TRIED = 5
"""How many rows a model is asked about, to see that both fit."""


def run(options: Namespace) -> int:
    """Write a configuration file, and print what comes next."""
    file = Path(options.output)
    if file.exists() and not options.force:
        raise UsageError(
            f"{file}: exists already; choose another name with -o, or overwrite it with --force"
        )
    space = write_config(
        data=Path(options.data),
        target=options.target,
        protected=options.protected,
        file=file,
        model=options.model,
        positive=options.positive,
    )
    print(f"wrote {file}: {space}")
    if options.model is None:
        print(
            f"Next: name the software to test under [subject], then run: evenhand audit {file} -o"
            " report.html"
        )
        return 0
    _try_out(file)
    print(
        f"Next: look at the checks and their limits, then run: evenhand audit {file} -o report.html"
    )
    return 0


def _try_out(file: Path) -> None:
    """Ask the software about the first rows of the data, and print what it answers."""
    config = Config.load(file)
    try:
        real: Any = config.inferred().rows
        first_rows = [] if real is None else real.head(TRIED)
        with config.subject() as subject:
            outcomes = subject.decide(first_rows)
        labels = [clip(str(outcome), 40) for outcome in outcomes.tolist()]
        answers = ", ".join(dict.fromkeys(labels))
        if not answers:
            answers = "nothing, since there is no row to ask"
        positive = clip(repr(config.table["subject"]["positive"]), 40)
        print(f"The software answers {answers}; favourable is {positive}.")
    except EvenhandError as error:
        print(
            f"evenhand: the software could not be asked yet: {one_line(error)}",
            file=sys.stderr,
        )
