"""evenhand plan: what an audit is going to take, before it is run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.cli.output import finish, given, need_folder
from evenhand.config.file import Config
from evenhand.config.plan import plan_config

if TYPE_CHECKING:
    from argparse import Namespace


def run(options: Namespace) -> int:
    """Print the forecast of a configuration, and write it where asked."""
    if options.json is not None:
        need_folder("--json", options.json)
    config = Config.load(options.config)
    found = plan_config(config, given(options, ("queries", "seconds")), seed=options.seed)
    return finish(found, options.json)
