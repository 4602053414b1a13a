"""How a check of a configuration or of an audit mines real rows, or texts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from evenhand.methods.mine import messages
from evenhand.runtime.errors import ConfigError, DataError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenhand.population.source import Source
    from evenhand.results.result import Result


def mine(
    source: Source,
    subject: Any,
    *,
    data: str | None = None,
    truth: str | None = None,
    **settings: Any,
) -> Result:
    """Mine real rows."""
    from evenhand.methods.mine import mine as rows  # imported where it is used

    real = source.real(data)
    if real.rows is None:
        where = source.where
        if real.notes:
            reason = real.notes[0]
            raise ConfigError(messages.NO_ROWS_BECAUSE.format(where=where, reason=reason))
        raise ConfigError(messages.NO_ROWS_DECLARED.format(where=where))
    try:
        result = rows.mine(subject, data=real.rows, truth=real.truth(truth), **settings)
    except DataError as error:
        raise DataError(f"{real.file}: {error}") from error
    return replace(result, notes=[*result.notes, *real.notes])


def mine_text(
    source: Source,
    subject: Any,
    *,
    without: Sequence[str] = (),
    n_jobs: int = 1,
    **settings: Any,
) -> Result:
    """Mine the texts that the source declares, or sentences of templates."""
    from evenhand.methods.mine.texts import mine_text as texts

    if n_jobs != 1:
        raise UsageError(messages.JOBS_WITH_TEXTS.format(n_jobs=n_jobs))
    declared = source.texts
    given = declared.given()
    left_out = list(dict.fromkeys([*declared.without, *without]))
    try:
        return texts.mine_text(
            subject,
            given,
            lexicon=declared.lexicon,
            without=left_out,
            templates=declared.templates,
            persons=declared.persons,
            **settings,
        )
    except DataError as error:
        if declared.file is None:
            raise
        raise DataError(f"{declared.file}: {error}") from error
