"""evenhand init: write a configuration from a data file and a model, and try it out."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from evenhand.config.init.questions import Dialogue
from evenhand.config.init.start import Request, start
from evenhand.runtime.errors import UsageError, one_line

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence


def run(options: Namespace) -> int:
    """Write a configuration file, and print what comes next."""
    file = Path(options.output)
    if file.exists() and not options.force:
        raise UsageError(
            f"{file}: exists already; choose another name with -o, or overwrite it with --force"
        )
    talk = Dialogue.here(decided=options.yes)
    protected = None if options.protected is None else tuple(options.protected)
    if options.outcome is not None:
        return _of_log(options, file, protected, talk)
    if options.truth is not None:
        raise UsageError(
            "--truth is for recorded decisions; name their column with --outcome"
        )
    request = Request(
        data=Path(options.data),
        file=file,
        model=options.model,
        target=options.target,
        positive=options.positive,
        protected=protected,
        allow_pickle=options.allow_pickle,
        trusted=_types(options.trust),
    )
    started = start(request, talk)
    if started.problem is not None:
        message = one_line(started.problem)
        print(
            f"evenhand: {file} is written, but cannot run yet: {message}", file=sys.stderr
        )
        return started.problem.exit_code
    if options.model is None:
        print(
            f"Next: name the software to test under [subject], then run: evenhand audit {file} -o"
            " report.html"
        )
        return 0
    print(
        f"Next: look at the checks and their limits, then run: evenhand audit {file} -o report.html"
    )
    return 0


def _of_log(
    options: Namespace, file: Path, protected: tuple[str, ...] | None, talk: Dialogue
) -> int:
    """Write the configuration that audits recorded decisions."""
    from evenhand.config.init.log import LogRequest, start_log

    for name in ("model", "target"):
        if getattr(options, name) is not None:
            raise UsageError(
                f"--outcome is for recorded decisions, which have no {name}; leave one of them out"
            )
    request = LogRequest(
        Path(options.data),
        file,
        options.outcome,
        options.positive,
        protected,
        options.truth,
    )
    start_log(request, talk)
    print(f"Next: look at the limits, then run: evenhand audit {file} -o report.html")
    return 0


def _types(given: Sequence[str] | None) -> tuple[str, ...]:
    """Return the types that options name, each of which may name several with commas."""
    names: list[str] = []
    for text in given or ():
        names.extend(name.strip() for name in text.split(","))
    return tuple(name for name in names if name)
