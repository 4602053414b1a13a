"""evenhand plan: what an audit is going to take; on a terminal, the question before a long one."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from evenhand.cli.output import finish, given, need_folder
from evenhand.runtime.errors import EvenhandError

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence

    from evenhand.config.file import Config
    from evenhand.methods.audit.checks import CheckPlan

LONG = 600.0
"""From so many foreseen seconds on it is asked whether to go on."""
DECLINED = 130
"""The exit code where the answer is no, as where the run is interrupted before it begins."""
QUESTION = "about {inputs} inputs are foreseen, which take {time}; go on?"
NOTHING_RUN = "nothing was run; `evenhand plan` says what takes so long, --yes asks nothing"
_AUTOMATIC = ("CI", "PYTEST_VERSION", "PYTEST_CURRENT_TEST")
"""Variables of places where a terminal does not mean that somebody is there."""


def run(options: Namespace) -> int:
    """Print the forecast of a configuration, and write it where asked."""
    from evenhand.config.checks import jobs_of
    from evenhand.config.file import Config
    from evenhand.config.plan import plan_config

    if options.json is not None:
        need_folder("--json", options.json)
    config = Config.load(options.config)
    found = plan_config(
        config,
        given(options, ("queries", "seconds")),
        seed=options.seed,
        n_jobs=jobs_of(config, options.n_jobs),
    )
    return finish(found, options.json)


def somebody_is_there() -> bool:
    """Return whether a person can be asked: not in CI, in pytest, or where anything is piped."""
    if any(os.environ.get(name) for name in _AUTOMATIC):
        return False
    streams = (sys.stdin, sys.stdout, sys.stderr)
    return all(stream is not None and stream.isatty() for stream in streams)


def agreed(config: Config, plans: Sequence[CheckPlan], options: Namespace) -> bool:
    """Return whether to go on; a person is asked where it is foreseen to take long."""
    if getattr(options, "yes", True) or not somebody_is_there():
        return True
    from evenhand.config.checks import jobs_of
    from evenhand.config.init.questions import Dialogue
    from evenhand.config.plan import foreseen_cost
    from evenhand.runtime import number_text

    bounds: dict[str, Any] = {"seed": options.seed, "long": LONG}
    try:
        bounds["n_jobs"] = jobs_of(config, options.n_jobs)
        inputs, seconds = foreseen_cost(config, plans, **bounds)
    except EvenhandError:
        # The run itself says what is wrong, with what is known by then.
        return True
    if seconds <= LONG:
        return True
    question = QUESTION.format(
        inputs=number_text.count(inputs), time=number_text.duration(seconds)
    )
    talk = Dialogue(asks=True)
    if talk.confirm(question):
        return True
    talk.say(NOTHING_RUN)
    return False
