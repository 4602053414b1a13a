"""evenhand repair: train a model again so that it discriminates less, and write it where asked."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from evenhand.cli.output import FileWriting, given, need_folder
from evenhand.config.checks import workers_of
from evenhand.config.file import Config
from evenhand.config.repair import read_repair
from evenhand.methods.repair import REPAIR
from evenhand.report.terminal import render
from evenhand.runtime.errors import DataError

if TYPE_CHECKING:
    from argparse import Namespace


def run(options: Namespace) -> int:
    """Repair what the [repair] table of a configuration declares."""
    for name in ("json", "html"):
        file = getattr(options, name)
        if file is not None:
            need_folder(f"--{name}", file)
    names = [option.name for option in REPAIR.options if option.command]
    settings = given(options, [*names, "output"])
    config = Config.load(options.config)
    declared = read_repair(config, settings)
    # Imported here, since scikit-learn comes with it, which a mistake above need not wait for.
    from evenhand.methods.repair.repair import repair
    from evenhand.methods.repair.text import render_written

    try:
        with workers_of(config, options.n_jobs) as n_jobs:
            found = repair(
                declared.estimator,
                declared.inputs,
                declared.truth,
                **declared.settings,
                seed=options.seed,
                n_jobs=n_jobs,
            )
    except DataError as error:
        raise DataError(f"{declared.data}: {error}") from error
    found = replace(found, notes=(*found.notes, *declared.notes))
    writing = FileWriting()
    writing.write(render, found)
    if options.json is not None:
        writing.write(found.to_json, options.json)
    if options.html is not None:
        writing.write(found.to_html, options.html)
    output = declared.output
    if output is None or not found.changed or writing.write(found.save, output):
        writing.write(render_written, found, output)
    return writing.finish(found.exit_code)
