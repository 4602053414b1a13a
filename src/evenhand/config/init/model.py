"""What the software answers to real rows, in which form it is asked, and what an answer costs."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from evenhand.config.file import Config
from evenhand.config.init.outcomes import SeenAnswers
from evenhand.config.init.sampling import sample
from evenhand.config.init.template import toml
from evenhand.runtime.errors import ConfigError
from evenhand.runtime.number_text import duration, many
from evenhand.space.known_rows.fitting import fitting

if TYPE_CHECKING:
    import pandas as pd

    from evenhand.config.init.draft import Draft, OutcomeDraft
    from evenhand.config.init.questions import Dialogue

MOST_ROWS = 2000
"""How many rows software in this process is asked about."""
FEW_ROWS = 60
"""How many rows software is asked about that costs a process or a request for each."""
MOST_SECONDS = 20.0
"""How long a check may take, about, where an answer is expensive."""
MANY_QUERIES = 100_000
"""A bound that is not written down, since checks seldom ask so much."""


def find_request(draft: Draft, talk: Dialogue) -> None:
    """Find out in which form a service takes inputs, and where its answer has the outcome."""
    from evenhand.subject.adapters.http.shape import ASKED, discovered

    software = draft.software
    assert software is not None
    config = Config(draft.file, draft.table)
    rows = sample(_rows(config, draft), draft.data.target, ASKED)
    points = config.space.encode(rows)
    found = discovered(software.value, config.space, points, software.options)
    draft.software = software.having(**found.options)
    request = found.options.get("request", {})
    if "body" in request:
        body = toml(request["body"])
    else:
        body = "as usual"
    place = f"as {found.field}" if found.field else "by itself"
    if found.others:
        others = f"; it might also be {', '.join(found.others[:3])}"
    else:
        others = ""
    talk.say(f"service: the request is {body}, and the outcome is found {place}{others}")


@dataclass(frozen=True)
class TryOut:
    """What came of asking the software about real rows."""

    answers: SeenAnswers
    seconds: float
    """How long an answer takes."""
    expensive: bool

    @property
    def queries(self) -> int | None:
        """The most inputs that a check should ask, None where answers are cheap."""
        if not self.expensive:
            return None
        affordable = MOST_SECONDS / max(self.seconds, 1e-6)
        if affordable >= MANY_QUERIES:
            return None
        return _round(max(affordable, 500.0))


def _round(number: float) -> int:
    """Return a number of one figure, 1, 2 or 5, that is not larger.

    >>> _round(777.0), _round(4900.0)
    (500, 2000)
    """
    size = 10 ** int(np.log10(number))
    figure = max(step for step in (1, 2, 5) if step * size <= number)
    return int(figure * size)


def tried(draft: Draft, classes: tuple[Any, ...] | None = None) -> TryOut:
    """Ask the software about rows of the data."""
    config = Config(draft.file, draft.table)
    rows = _rows(config, draft)
    with config.subject() as subject:
        expensive = subject.adapter.expensive
        # A model that refuses missing values is asked about none.
        rows = fitting(rows, subject.space)
        asked = sample(rows, draft.data.target, FEW_ROWS if expensive else MOST_ROWS)
        start = time.perf_counter()
        given = subject.decide(asked)
        seconds = (time.perf_counter() - start) / max(len(asked), 1)
    return TryOut(SeenAnswers(given, truths_of(asked, draft), classes), seconds, expensive)


def _rows(config: Config, draft: Draft) -> pd.DataFrame:
    """Return the rows of the data that are inputs."""
    rows: Any = config.inferred().rows
    if rows is None:
        raise ConfigError(
            f"{draft.file}: no row of {draft.data_name} is an input of the space, so the software"
            " cannot be asked"
        )
    return cast("pd.DataFrame", rows)


def truths_of(rows: pd.DataFrame, draft: Draft) -> list[Any] | None:
    """Return the true outcomes of rows, None where the data have none, or not for all."""
    target = draft.data.target
    if target is None or bool(rows[target].isna().any()):
        return None
    return list(rows[target].tolist())


def say_cost(tried_out: TryOut, draft: OutcomeDraft, talk: Dialogue) -> None:
    """Bound the checks where an answer is expensive, and say so."""
    draft.queries = tried_out.queries
    if draft.queries is None:
        return
    per_second = round(1 / max(tried_out.seconds, 1e-6))
    talk.say(
        f"budget: {many(per_second, 'answer')} a second, so each check asks at most"
        f" {many(draft.queries, 'input')} (queries = {draft.queries}),"
        f" {duration(draft.queries * tried_out.seconds)}"
    )
