"""evenhand study: run a study of mitigations, or what is left of it, and print its tables."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from evenhand.cli.output import FileWriting, given
from evenhand.config.study import read_study
from evenhand.study.result import StudyResult
from evenhand.study.study import run as run_study
from evenhand.study.text import render_study

if TYPE_CHECKING:
    from argparse import Namespace


def run(options: Namespace) -> int:
    """Run a study, print its tables, and write them where asked."""
    names = ("store", "splits", "seed", "bias", "performance")
    declared = read_study(options.study or "study.toml").changed(**given(options, names))
    n_jobs = 1 if options.n_jobs is None else options.n_jobs
    found = run_study(declared.study, declared.store, n_jobs=n_jobs)
    judged = StudyResult.of(found, declared.bias, declared.performance)
    writing = FileWriting()
    writing.write(partial(render_study, judged, paper=options.paper))
    if options.json is not None:
        writing.write(judged.to_json, options.json)
    return writing.finish(0)
