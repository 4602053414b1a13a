"""plan: what an audit is going to take, and what it can see, before it is run."""

from __future__ import annotations

from evenhand.runtime.options import ANY, FLAG, Option, Options
from evenhand.runtime.registry import Deferred
from evenhand.verbs import Command, Verb

YES = Option(
    "yes",
    FLAG,
    "on a terminal, do not ask before what is foreseen to take over ten minutes",
    default=False,
)
PLAN = Verb(
    "plan",
    question="What will an audit take, and what can it see?",
    definition=(
        "A forecast runs no check. How many inputs a score takes is simulated with the very rule"
        " that ends its sampling, and the smallest difference is the one that a check's own gate"
        " sees with a probability of 80 %."
    ),
    function=Deferred("evenhand.methods.plan.plan:plan"),
    options=Options.of(
        Option(
            "checks",
            ANY,
            "what is to be run, as [[checks]] say it",
            toml=False,
            command=False,
        ),
        Option("data", ANY, "real rows, any dataframe", toml=False, command=False),
        given=("subject", "space", "sampler", "budget", "seed", "n_jobs"),
    ),
    text=Deferred("evenhand.methods.plan.text:lines"),
    frame=Deferred("evenhand.methods.plan.table:frame"),
    command=Command(
        "plan",
        help="what will an audit take, and what can it see? asks at most 256 inputs",
        example="evenhand plan",
        purpose="Start",
    ),
    bounds=(),
)
