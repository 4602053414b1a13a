"""Notes of `impact` on rows that lack the outcome, or what it should have been."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenhand.methods.impact import messages
from evenhand.population.recorded import decided_sizes
from evenhand.runtime import number_text

if TYPE_CHECKING:
    from evenhand.population.recorded import DecisionColumns


def rows_without_truth(cells: Any, decisions: DecisionColumns) -> list[str]:
    """Return a note on decisions of which it is not known what they should have been."""
    lost = decisions.without_truth(cells)
    if not lost:
        return []
    decided = int(decided_sizes(cells, decisions.outcome).sum())
    return [
        messages.ROWS_WITHOUT_TRUTH.format(
            lost=number_text.count(lost),
            rows=number_text.count(decided),
            truth=decisions.truth,
        )
    ]


def rows_without_outcome(lost: int, rows: int, outcome: str) -> list[str]:
    """Return a note on the rows that lack the outcome, none where all have it."""
    if not lost:
        return []
    lost_rows = number_text.count(lost)
    all_rows = number_text.count(rows)
    return [
        messages.ROWS_WITHOUT_OUTCOME.format(lost=lost_rows, rows=all_rows, outcome=outcome)
    ]


def rows_left_out(
    cells: Any, decisions: DecisionColumns, lost: int, rows: int
) -> list[str]:
    """Return notes on the rows without an outcome, and on those without a truth."""
    notes = rows_without_outcome(lost, rows, decisions.outcome)
    return notes + rows_without_truth(cells, decisions)
