"""A study as its readers see it: the paper's four tables, ours alone or beside what was published,
and as JSON.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evenhand.methods.compare.text import render_table
from evenhand.report.lines import Line, table_of
from evenhand.runtime import number_text
from evenhand.study import published_numbers, tables

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

    from evenhand.study.fits import Cases
    from evenhand.study.result import StudyResult
    from evenhand.study.tables import Table

PUBLISHED = {"spd": "spd", "aod": "aod", "aod-abs": "aod"}
"""The paper's biases, by accuracy; what it prints as aod comes from code that takes the mean of
sizes, aod-abs here.
"""


@dataclass(frozen=True)
class PrintedTable:
    """One table: what it says, our numbers, and what the paper printed where it has such a table."""

    title: str
    ours: Table
    theirs: Any = None


def shown(
    cases: Cases, bias: Sequence[str], performance: str, *, level: float = 0.95
) -> Iterator[PrintedTable]:
    """Return the tables of a study, in the order of the paper; those that would be empty are left
    out.
    """
    known = performance == "accuracy"
    for name in bias:
        paper = known and name in PUBLISHED
        yield PrintedTable(
            f"Share of cases in each region, by {name} and {performance} (Table 4)",
            tables.regions_by_method(cases, name, performance),
            published_numbers.regions_by_method(PUBLISHED[name]) if paper else None,
        )
    yield PrintedTable(
        f"Share of cases in each region, {' and '.join(bias)} together (Table 5)",
        tables.regions_by_model_and_task(cases, bias, performance),
        (
            published_numbers.regions_by_model_and_task()
            if known and len(bias) == 2 and {PUBLISHED.get(name) for name in bias} == {"spd", "aod"}
            else None
        ),
    )
    for name in bias:
        paper = known and name in PUBLISHED
        for title, ours, theirs in (
            (
                "Region or area of each method, by {} and {} (Table 6)",
                tables.areas,
                published_numbers.areas,
            ),
            (
                "Methods with a model of their own, by {} and {} (Table 7)",
                tables.areas_own_model,
                published_numbers.areas_own_model,
            ),
        ):
            found = ours(cases, name, performance, level=level)
            if len(found.frame):
                yield PrintedTable(
                    title.format(name, performance),
                    found,
                    theirs(PUBLISHED[name]) if paper else None,
                )


def render_study(
    study: StudyResult, *, paper: bool = False, console: Console | None = None
) -> None:
    """Print the tables of a study, with `paper` beside what was published."""
    from rich.console import Console

    screen = console or Console()
    notes: dict[str, None] = {}
    for one in study.shown:
        frame, title = one.ours.marked, one.title
        if paper and one.theirs is not None:
            frame, title = tables.beside(one.ours, one.theirs), f"{title}: ours [the paper's]"
        render_table(frame, title, console=screen)
        screen.print()
        notes |= dict.fromkeys(one.ours.legend)
    for line in [*notes, *study.failures, *study.notes, _spent(study)]:
        screen.print(line, markup=False, highlight=False, soft_wrap=True)


def _spent(study: StudyResult) -> str:
    fits = number_text.count(study.fits)
    seconds = number_text.count(round(study.training_seconds))
    return f"{fits} fits on {study.splits} splits, {seconds} s of training and predicting"


def lines(study: StudyResult, *, cases: int = 1, width: int | None = None) -> Iterator[Line]:
    """Tell a study as lines: its tables as its JSON has them, and what each method is worth."""
    for table in study.tables:
        yield Line(table["title"])
        columns = list(dict.fromkeys(key for row in table["rows"] for key in row["cells"]))
        rows = [
            [str(row["row"]), *(_cell(row["cells"].get(key)) for key in columns)]
            for row in table["rows"]
        ]
        yield from (Line(text, row=True) for text in table_of(["", *columns], rows, width))
        yield Line("")
    for line in [*study.failures, *study.notes, _spent(study)]:
        yield Line(line)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return number_text.amount(value) if isinstance(value, float) else str(value)


def as_json(one: PrintedTable) -> dict[str, Any]:
    """Return a table as JSON holds it."""
    rows = []
    for row, cells in one.ours.frame.to_dict("index").items():
        rows.append(
            {"row": row, "cells": {_key(column): _plain(value) for column, value in cells.items()}}
        )
    return {
        "title": one.title,
        "rows": rows,
        "left_out": list(one.ours.left_out),
        "notes": list(one.ours.notes),
    }


def _key(column: Any) -> str:
    return ", ".join(map(str, column)) if isinstance(column, tuple) else str(column)


def _plain(value: Any) -> Any:
    if isinstance(value, float) and value != value:  # NaN alone differs from itself
        return None
    return value.item() if hasattr(value, "item") else value
