"""The audit of a decision log: which column is the decision, and whom it is about."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.config.init import outcomes, template
from evenhand.config.init.data import Data
from evenhand.config.init.software import relative
from evenhand.config.log import log_from_table
from evenhand.methods.audit.log import usual_of_log
from evenhand.population.logs.readers import first_rows
from evenhand.population.recorded import number_of_rows, table_of
from evenhand.runtime.errors import DataError, UsageError, nearest
from evenhand.runtime.number_text import count, percent_of
from evenhand.runtime.table_file import SUFFIXES, read_frame
from evenhand.scores.numbers.recorded import are_numbers
from evenhand.space.feature import plain
from evenhand.verbs import VERBS

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from evenhand.config.init.outcomes import Favourable
    from evenhand.config.init.questions import Dialogue

TEMPLATE = "evenhand-log.toml.jinja"
MOST_GROUPS = 12
"""A column of numbers with more values than these is cut into groups."""
QUARTERS = (0.25, 0.5, 0.75)


@dataclass(frozen=True)
class LogRequest:
    """What the user gives to `evenhand init` for recorded decisions."""

    data: Path
    file: Path
    outcome: str
    positive: str | None = None
    protected: tuple[str, ...] | None = None
    truth: str | None = None


@dataclass(frozen=True)
class LogDraft:
    """The table [log], with the remarks that stand beside its keys."""

    table: dict[str, Any]
    notes: dict[str, str] = field(default_factory=dict)


def start_log(request: LogRequest, talk: Dialogue) -> None:
    """Write the configuration that audits recorded decisions, and read it back."""
    is_one_file = str(request.data).lower().endswith(SUFFIXES) and request.data.is_file()
    data = Data.read(
        request.data,
        request.outcome,
        request.protected,
        flag="--outcome",
        read=read_frame if is_one_file else first_rows,
    )
    if not is_one_file:
        looked = count(len(data.frame))
        talk.say(f"looked at the first {looked} rows; the audit counts all of them")
    protected = [name for name in data.protected if name != request.truth]
    if request.protected is None:
        talk.say(f"protected: {', '.join(protected)}, by their names (--protected a,b)")
    draft = LogDraft({"from": relative(request.data, request.file)})
    draft.table["outcome"] = request.outcome
    of_numbers = request.positive is None and _holds_numbers(data)
    if of_numbers:
        talk.say(f"{request.outcome} holds numbers: their means and medians are compared")
    else:
        _add_positive(draft, data, request.positive, talk)
    draft.table["over"] = protected
    if request.truth is not None:
        _add_truth(draft, data, request.truth, talk, of_numbers=of_numbers)
    bins = {}
    for name in protected:
        cuts = _cuts(data.frame[name])
        if cuts is not None:
            bins[name] = cuts
            talk.say(f"groups: {name} is cut at {_cuts_text(cuts)} (bins)")
    if bins:
        draft.table["bins"] = bins
    log = log_from_table(draft.table, request.file.parent, where=f"{request.data}:")
    checks = usual_of_log(log)
    text = template.filled(TEMPLATE, draft=draft, checks=checks, verbs=VERBS)
    template.save(text, request.file)
    with closing(log), log.guarded():
        rows = number_of_rows(table_of(log.frame))
    talk.say(f"wrote {request.file}: {count(rows)} recorded decisions")


def _holds_numbers(data: Data) -> bool:
    """Return whether outcomes are numbers on a scale, and no decisions."""
    table = table_of(data.frame)
    target = str(data.target)
    return are_numbers(table, target, table.collect_schema()[target])


def _add_positive(draft: LogDraft, data: Data, wanted: str | None, talk: Dialogue) -> None:
    """Say which decision is favourable."""
    favourable = _favourable(data, wanted, talk)
    draft.table["positive"] = favourable.value
    if favourable.guessed:
        values = [plain(value) for value in data.targets]
        draft.notes["positive"] = f"a guess, of {outcomes.listed(values)}"


def _favourable(data: Data, wanted: str | None, talk: Dialogue) -> Favourable:
    """Return the favourable decision, and say how often it was made."""
    values = data.targets
    known = outcomes.possible([plain(value) for value in values])
    if len(values) > outcomes.MOST_LABELS:
        raise DataError(
            f"{data.file}: --outcome {data.target!r} has {len(values):,} different values, so that"
            " they are no decisions; name the column of decisions"
        )
    if wanted is not None:
        found = _named(data, wanted, known)
    else:
        found = outcomes.guessed_of(values)
        reply = talk.ask(
            f"Which decision is favourable, of {outcomes.listed(known.labels)}?",
            str(found.value),
        )
        if reply != str(found.value):
            found = _named(data, reply, known)
    chosen = found.value if isinstance(found.value, list) else [found.value]
    decisions = data.frame[data.target].dropna()
    times = int(decisions.isin(chosen).sum())
    guess = " (a guess; --positive names another)" if found.guessed else ""
    talk.say(
        f"favourable: {found.value!r}, {percent_of(times, len(decisions))} of decisions{guess}"
    )
    return found


def _named(data: Data, text: str, known: outcomes.SeenAnswers) -> Favourable:
    """Return the decision that the user names."""
    found = outcomes.one_named(text, known)
    if found is not None:
        return found
    raise UsageError(
        f"{data.file}: --positive {text!r} is not a value of {data.target!r};"
        f" {nearest(text, known.labels)}"
    )


def _add_truth(
    draft: LogDraft, data: Data, truth: str, talk: Dialogue, *, of_numbers: bool
) -> None:
    """Say which column has what decisions should have been, and which value of it is favourable."""
    if truth not in data.columns:
        raise DataError(
            f"{data.file}: --truth {truth!r} is not a column; {nearest(truth, data.columns)}"
        )
    if of_numbers:
        draft.table["truth"] = truth
        talk.say(f"truth: {truth}")
        return
    both = data.frame[[data.target, truth]].dropna()
    true_outcomes = np.array(both[truth].tolist(), dtype=object)
    seen = outcomes.SeenAnswers(true_outcomes, both[data.target].tolist())
    found = outcomes.corresponding(draft.table["positive"], seen)
    if found is None:
        raise UsageError(
            f"{data.file}: which value of --truth {truth!r} is favourable is not plain, of"
            f" {outcomes.listed(seen.labels)}; write them as {data.target!r} has them"
        )
    draft.table["truth"] = truth
    if found.value != draft.table["positive"]:
        draft.table["truth_positive"] = found.value
        draft.notes["truth_positive"] = found.reason
    talk.say(f"truth: {truth}, where {found.value!r} is favourable")


def _cuts(column: pd.Series[Any]) -> list[Any] | str | None:
    """Return where a column is cut into groups, None where it need not be."""
    known = column.dropna()
    if known.dtype.kind == "M":
        return "year"
    if known.dtype.kind not in "iuf" or known.nunique() <= MOST_GROUPS:
        return None
    places = np.quantile(known.to_numpy(), QUARTERS, method="nearest")
    cuts = dict.fromkeys(plain(place) for place in places)
    return [cut for cut in cuts if cut > known.min()]


def _cuts_text(cuts: list[Any] | str) -> str:
    return cuts if isinstance(cuts, str) else ", ".join(map(str, cuts))
