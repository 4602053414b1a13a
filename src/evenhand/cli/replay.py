"""evenhand replay: ask the software again what a suite, a result or an audit holds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from evenhand.cli.output import finish, given
from evenhand.config.file import Config
from evenhand.methods.audit.audit_result import gathered
from evenhand.methods.replay.replay import replay

if TYPE_CHECKING:
    from argparse import Namespace


def run(options: Namespace) -> int:
    """Ask the software again, of the configuration that is named or that made the result."""
    file = options.config
    if file is None and Path(options.file).suffix.lower() == ".json":
        file = gathered([options.file]).home
    with Config.load(file).software() as subject:
        found = replay(options.file, subject, **given(options, ("limit", "level")))
        return finish(found, options.json)
