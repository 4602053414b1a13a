"""RecordedDecisions: the columns of a log that a verb is about, and their counts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from evenhand.population.counting.counter import RowCounter
from evenhand.population.log_labels import check_words, words_of_log
from evenhand.population.recorded import check_truth, columns_of_sets

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenhand.runtime.label_text import Words


@dataclass(frozen=True, eq=False)
class RecordedDecisions:
    """A log of decisions, and what is said of its columns.

    >>> import pandas as pd
    >>> people = pd.DataFrame({"sex": ["F", "M", "M"], "ok": [0, 1, 1]})
    >>> log = RecordedDecisions.of(people, "ok")
    >>> log.cells([("sex",)])[0].shape
    (2, 3)
    """

    counter: RowCounter
    outcome: str
    truth: str | None = None
    truth_positive: Any = None
    bins: Mapping[str, Any] = field(default_factory=dict)
    words: Mapping[str, Words] = field(default_factory=dict)
    """What people call the values of columns."""
    advice: str = ""
    """What to do with outcomes that are too many numbers."""

    @classmethod
    def of(
        cls,
        frame: Any,
        outcome: str,
        truth: str | None = None,
        truth_positive: Any = None,
        *,
        bins: Mapping[str, Any] | None = None,
        labels: Any = None,
        advice: str = "",
    ) -> RecordedDecisions:
        """Return the log of a frame; whether its rows have what has a label is seen later."""
        counter = RowCounter.of(frame)
        cut = bins or {}
        words = words_of_log(counter.table, labels, cut, check=False)
        return cls(counter, outcome, truth, truth_positive, cut, words, advice)

    @property
    def columns(self) -> list[str]:
        """The columns that there are."""
        return list(self.counter.table.collect_schema())

    def check_words(self) -> None:
        """Refuse labels of values that no row has."""
        check_words(self.counter, self.words, self.bins)

    def check_truth(self, sets: Sequence[tuple[str, ...]]) -> None:
        """Refuse a column of truth that is not there, or that has another part already."""
        names = columns_of_sets(sets)
        check_truth(self.truth, self.truth_positive, self.outcome, names, self.columns)

    def look(self, sets: Sequence[tuple[str, ...]]) -> None:
        """Look at all columns of the first rows at once."""
        self.check_truth(sets)
        names = [*columns_of_sets(sets), self.outcome]
        if self.truth is not None:
            names.append(self.truth)
        self.counter.first(names)

    def cells(self, sets: Sequence[tuple[str, ...]]) -> Sequence[Any]:
        """Return the counts of each set by outcome and truth."""
        self.check_truth(sets)
        cells = self.counter.decisions(
            sets, self.outcome, self.truth, self.bins, self.advice
        )
        self.check_words()
        return cells
