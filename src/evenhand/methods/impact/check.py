"""The check `impact` of a configuration or of an audit: the software under test decides."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.impact import impact as verb
from evenhand.methods.impact import messages
from evenhand.methods.impact.selection_rates import with_notes_before
from evenhand.population.recorded import label_of
from evenhand.population.rows import rows
from evenhand.population.source import MOST_LEVELS, need_columns
from evenhand.runtime.budget import Spent
from evenhand.runtime.errors import ConfigError, DataError, UsageError
from evenhand.runtime.label_text import text_of
from evenhand.scores.numbers.settling import settle_differs
from evenhand.scores.rates.metric_table import true_outcomes
from evenhand.subject.answers_seen import different
from evenhand.subject.view import View, outcome_labels

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import pandas as pd

    from evenhand.population.source import Source
    from evenhand.results.result import Result
    from evenhand.runtime.label_text import Words
    from evenhand.space.space import Space
    from evenhand.subject.outcome_meaning import Meaning


def impact(
    source: Source,
    subject: Any,
    *,
    data: str | None = None,
    over: Any = None,
    **settings: Any,
) -> Result:
    """Compute the selection rates of real people by the decisions of the software under test."""
    import pandas as pd

    real = source.frame(data)
    if real.rows is None:
        raise ConfigError(messages.CHECK_NEEDS_ROWS.format(where=source.where))
    if subject.outputs:
        raise UsageError(messages.SEVERAL_OUTPUTS.format(name=subject.name))
    frame, gaps = _without_gaps(real.rows, subject)
    notes = [*real.notes, *gaps]
    if over is None:
        over, left_out = columns_with_few_values(subject.space, frame)
        notes += [_too_many_values(name) for name in left_out]
    if not over:
        raise UsageError(_no_columns(source.where))
    columns = _different(over)
    need_columns(frame, columns, real.file)
    begun = time.monotonic()
    executed_before = subject.executed
    outcomes = subject.decide(frame)
    settle_differs(subject)
    meaning = subject.meanings[""]
    only_answer = _only_answer(View(subject), outcomes)
    table = {name: frame[name].to_numpy() for name in columns}
    options: dict[str, Any] = {"population": messages.PEOPLE_LIKE_THE_ROWS, **settings}
    if options.get("truth") is not None:
        need_columns(frame, [options["truth"]], real.file)
        truth = frame[options["truth"]].tolist()
        given = options.pop("truth_positive", None)
        table[options["truth"]] = _truth_values(truth, View(subject), given)
    options["labels"] = _labels(subject.space.words, table)
    word = "outcome" if meaning.measured else "decision"
    decision = _unused(word, frame.columns)
    table[decision], how = _decisions(meaning, outcomes)
    computed = verb.of_numbers if meaning.measured else verb.impact
    options |= {"outcome": decision, "over": over, **how}
    try:
        found = computed(pd.DataFrame(table), **options)
    except DataError as error:
        raise DataError(f"{real.file}: {error}") from error
    executed = subject.executed - executed_before
    spent = Spent(len(frame), executed, time.monotonic() - begun)
    one_answer = View(subject).answer_fields(only_answer)
    findings = [replace(finding, **one_answer) for finding in found.findings]
    return replace(
        with_notes_before(found, notes),
        findings=findings,
        space=subject.space.to_dict(),
        spent=spent,
        outcome_labels=outcome_labels(subject),
    )


def _labels(
    words: Mapping[str, Words], table: Mapping[str, Any]
) -> dict[str, Mapping[str, str]]:
    """Return what people call the values that the rows have."""
    labels: dict[str, Mapping[str, str]] = {}
    for name, column in table.items():
        texts = {text_of(label_of(value)) for value in set(column.tolist())}
        own = {text: word for text, word in words.get(name, {}).items() if text in texts}
        if own:
            labels[name] = own
    return labels


def _decisions(meaning: Meaning, outcomes: Any) -> tuple[Any, dict[str, Any]]:
    """Return outcomes as they are compared, and the options that say how."""
    if meaning.measured:
        return np.asarray(outcomes, dtype=np.float64), {}
    if meaning.counts:
        return meaning.favourable(outcomes), {"positive": True}
    return np.asarray(outcomes, dtype=np.float64), {"scored": True}


def _truth_values(values: list[Any], view: View, favourable: Any) -> Any:
    """Return what people should get: numbers as they are, or truth values like the decisions.

    It is None where that is not known.
    """
    if view.meaning.measured:
        return values
    found = np.array([False, True, None], dtype=object)
    return found[true_outcomes(values, view, favourable)]


def _only_answer(view: View, outcomes: Any) -> Any:
    """Return the one answer to all rows, None where there are several.

    Outcomes of which none is favourable are refused, since there is no rate to compare with.
    """
    answers = different(outcomes)
    has_favoured = view.counts and not view.meaning.measured
    favoured = not has_favoured or bool(view.favourable(outcomes).any())
    only_answer = view.only_answer(answers, favoured=favoured)
    if not favoured:
        shown = ", ".join(map(str, answers))
        raise DataError(
            messages.NOBODY_FAVOURED.format(favoured=view.favoured, answers=shown)
        )
    return only_answer


def _without_gaps(frame: Any, subject: Any) -> tuple[Any, list[str]]:
    """Return the rows that the software takes, and a note on those that it does not."""
    kept = rows(frame).complete(subject.space).frame
    left_out = len(frame) - len(kept)
    if not left_out:
        return kept, []
    note = messages.ROWS_WITH_GAPS.format(
        left_out=f"{left_out:,}",
        rows=f"{len(frame):,}",
        name=subject.name,
    )
    return kept, [note]


def _no_columns(where: str) -> str:
    return messages.NO_COLUMN_WITH_FEW_VALUES.format(where=where, most=MOST_LEVELS)


def _too_many_values(name: str) -> str:
    return messages.TOO_MANY_VALUES.format(name=name, most=MOST_LEVELS)


def columns_with_few_values(
    space: Space,
    frame: pd.DataFrame,
) -> tuple[list[tuple[str, ...]], list[str]]:
    """Return the protected features with few values, each by itself, and the others' names."""
    few: list[tuple[str, ...]] = []
    many = []
    for name in space.protected:
        if name not in frame.columns:
            continue
        if frame[name].nunique() <= MOST_LEVELS:
            few.append((name,))
        else:
            many.append(name)
    return few, many


def _different(sets: Iterable[Iterable[str]]) -> list[str]:
    """Return the names in some sets, each once."""
    names: dict[str, None] = {}
    for features in sets:
        names.update(dict.fromkeys(features))
    return list(names)


def _unused(name: str, taken: Any) -> str:
    """Return a name that no column has yet."""
    if name not in set(taken):
        return name
    return _unused(f"{name}_", taken)
