"""evenhand init: write a configuration from a data file and a model, and try it out."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from evenhand.config.init.questions import Dialogue
from evenhand.config.init.start import Request, start
from evenhand.population.logs.address import without_secrets
from evenhand.runtime.errors import UsageError, one_line

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence

    from evenhand.config.init.start import Started


def run(options: Namespace) -> int:
    """Write a configuration file, and print what comes next."""
    file = Path(options.output)
    if file.exists() and not options.force:
        raise UsageError(
            f"{file}: exists already; choose another name with -o, or overwrite it with --force"
        )
    if "://" in str(options.data) and options.openapi is None:
        raise UsageError(
            f"{without_secrets(options.data)}: init looks at files; write what lies elsewhere as"
            " from of a [log] table"
        )
    talk = Dialogue.here(decided=options.yes)
    if options.protected is None:
        protected = None
    else:
        protected = tuple(options.protected)
    if options.outcome is not None:
        return _of_log(options, file, protected, talk)
    if options.truth is not None:
        raise UsageError(
            "--truth is for recorded decisions; name their column with --outcome"
        )
    for name in ("server", "values"):
        if getattr(options, name) is not None and options.openapi is None:
            raise UsageError(
                f"--{name} is for a service that --openapi describes; name its description too"
            )
    if options.openapi is not None:
        return _of_service(options, file, protected, talk)
    request = Request(
        data=Path(options.data),
        file=file,
        model=options.model,
        target=options.target,
        positive=options.positive,
        protected=protected,
        allow_pickle=options.allow_pickle,
        trusted=_types(options.trust),
        headers=_headers(options.header),
        text=options.text,
    )
    started = start(request, talk)
    if started.problem is not None:
        return _not_yet(started)
    if options.model is None:
        talk.say(
            f"Next: name the software to test under [subject], then run: evenhand audit {file} -o"
            " report.html"
        )
        return 0
    talk.say(
        f"Next: look at the checks and their limits, then run: evenhand audit {file} -o report.html"
    )
    return 0


def _of_log(
    options: Namespace,
    file: Path,
    protected: tuple[str, ...] | None,
    talk: Dialogue,
) -> int:
    """Write the configuration that audits recorded decisions."""
    from evenhand.config.init.log import LogRequest, start_log

    for name in ("model", "target", "text"):
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
    talk.say(f"Next: look at the limits, then run: evenhand audit {file} -o report.html")
    return 0


def _of_service(
    options: Namespace,
    file: Path,
    protected: tuple[str, ...] | None,
    talk: Dialogue,
) -> int:
    """Write the configuration of a service that a description in OpenAPI describes."""
    from evenhand.config.openapi.start import ApiRequest
    from evenhand.config.openapi.start import start as start_of_service

    request = ApiRequest(
        source=options.openapi,
        path=str(options.data),
        file=file,
        data=None if options.model is None else Path(options.model),
        target=options.target,
        server=options.server,
        values=tuple(options.values or ()),
        positive=options.positive,
        protected=protected,
        headers=_headers(options.header),
    )
    started = start_of_service(request, talk)
    if started.problem is not None:
        return _not_yet(started)
    talk.say(
        f"Next: look at the checks and their limits, then run: evenhand audit {file} -o report.html"
    )
    return 0


def _not_yet(started: Started) -> int:
    """Print what keeps a configuration from running, and return its exit code."""
    assert started.problem is not None
    message = f"{started.file} is written, but cannot run yet: {started.problem}"
    print(f"evenhand: {one_line(message)}", file=sys.stderr)
    return started.problem.exit_code


def _headers(given: Sequence[str] | None) -> dict[str, str]:
    """Return the headers that options name, each written "Name: value"."""
    headers: dict[str, str] = {}
    for text in given or ():
        name, colon, value = text.partition(":")
        if not colon or not name.strip() or not value.strip():
            # The text is not repeated, which may be a secret.
            raise UsageError(
                "--header must be written 'NAME: VALUE', as in 'Authorization: Bearer ${TOKEN}'"
            )
        headers[name.strip()] = value.strip()
    return headers


def _types(given: Sequence[str] | None) -> tuple[str, ...]:
    """Return the types that options name, each of which may name several with commas."""
    names: list[str] = []
    for text in given or ():
        names.extend(name.strip() for name in text.split(","))
    return tuple(name for name in names if name)
