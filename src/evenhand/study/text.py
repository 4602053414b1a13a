"""A study as its readers see it: the paper's four tables, as lines, and as JSON.

The tables are ours alone, or beside what was published.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evenhand.methods.compare.text import render_table
from evenhand.report.lines import Line, printable, table_of
from evenhand.runtime import number_text
from evenhand.study import published_numbers, tables

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rich.console import Console

    from evenhand.study.fits import Cases
    from evenhand.study.result import StudyResult
    from evenhand.study.standings import StudyTable

PUBLISHED = {"spd": "spd", "aod": "aod", "aod-abs": "aod"}
"""The paper's biases, by accuracy.

What it prints as aod comes from code that takes the mean of sizes, aod-abs here.
"""


@dataclass(frozen=True)
class PrintedTable:
    """One table: its title, our numbers, and those of the paper where it has such a table."""

    title: str
    ours: StudyTable
    theirs: Any = None


def printed_tables(
    cases: Cases, bias: Sequence[str], performance: str, *, level: float = 0.95
) -> Iterator[PrintedTable]:
    """Return the tables of a study, in the order of the paper, without those that are empty."""
    for name in bias:
        published = _published_bias(name, performance)
        yield PrintedTable(
            f"Share of cases in each region, by {name} and {performance} (Table 4)",
            tables.regions_by_method(cases, name, performance),
            None if published is None else published_numbers.regions_by_method(published),
        )
    yield PrintedTable(
        f"Share of cases in each region, {' and '.join(bias)} together (Table 5)",
        tables.regions_by_model_and_task(cases, bias, performance),
        _published_table_5(bias, performance),
    )
    for name in bias:
        published = _published_bias(name, performance)
        found = tables.areas(cases, name, performance, level=level)
        if len(found.frame):
            yield PrintedTable(
                f"Region or area of each method, by {name} and {performance} (Table 6)",
                found,
                None if published is None else published_numbers.areas(published),
            )
        found = tables.areas_own_model(cases, name, performance, level=level)
        if len(found.frame):
            yield PrintedTable(
                f"Methods with a model of their own, by {name} and {performance} (Table 7)",
                found,
                None if published is None else published_numbers.areas_own_model(published),
            )


def _published_bias(name: str, performance: str) -> str | None:
    """Return the paper's name of a bias, None where it has no tables for it."""
    if performance != "accuracy":
        return None
    return PUBLISHED.get(name)


def _published_table_5(bias: Sequence[str], performance: str) -> Any:
    """Return the paper's Table 5, None where it is about other biases."""
    names = {_published_bias(name, performance) for name in bias}
    if len(bias) != 2 or names != {"spd", "aod"}:
        return None
    return published_numbers.regions_by_model_and_task()


def render_study(
    study: StudyResult, *, paper: bool = False, console: Console | None = None
) -> None:
    """Print the tables of a study, with `paper` beside what was published."""
    from rich.console import Console

    screen = console or Console()
    notes: dict[str, None] = {}
    for table in study.shown:
        frame = table.ours.marked
        title = table.title
        if paper and table.theirs is not None:
            frame = tables.beside(table.ours, table.theirs)
            title = f"{title}: ours [the paper's]"
        render_table(frame, title, console=screen)
        screen.print()
        # The keys of a dictionary: a note that several tables share is printed once.
        notes |= dict.fromkeys(table.ours.legend)
    for line in [*notes, *study.failures, *study.notes, _spent(study)]:
        screen.print(printable(line), markup=False, highlight=False, soft_wrap=True)


def _spent(study: StudyResult) -> str:
    fits = number_text.count(study.fits)
    seconds = number_text.count(round(study.training_seconds))
    return f"{fits} fits on {study.splits} splits, {seconds} s of training and predicting"


def lines(
    study: StudyResult, *, cases: int = 1, width: int | None = None
) -> Iterator[Line]:
    """Return a study as lines: its tables as its JSON has them, and what is to be known of it."""
    for table in study.tables:
        yield Line(table["title"])
        columns = _columns(table["rows"])
        rows = []
        for row in table["rows"]:
            cells = [_cell(row["cells"].get(key)) for key in columns]
            rows.append([str(row["row"]), *cells])
        for text in table_of(["", *columns], rows, width):
            yield Line(text, row=True)
        yield Line("")
    for line in [*study.failures, *study.notes, _spent(study)]:
        yield Line(line)


def _columns(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the columns of all rows, each once, in the order in which they come."""
    columns: dict[str, None] = {}
    for row in rows:
        columns |= dict.fromkeys(row["cells"])
    return list(columns)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return number_text.amount(value)
    return str(value)


def as_json(table: PrintedTable) -> dict[str, Any]:
    """Return a table as JSON holds it."""
    rows = []
    for name, row in table.ours.frame.to_dict("index").items():
        cells = {_key(column): _plain(value) for column, value in row.items()}
        rows.append({"row": name, "cells": cells})
    return {
        "title": table.title,
        "rows": rows,
        "left_out": list(table.ours.left_out),
        "notes": list(table.ours.notes),
    }


def _key(column: Any) -> str:
    if isinstance(column, tuple):
        return ", ".join(map(str, column))
    return str(column)


def _plain(value: Any) -> Any:
    if isinstance(value, float) and value != value:  # NaN alone differs from itself
        return None
    if hasattr(value, "item"):
        return value.item()
    return value
