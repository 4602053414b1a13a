"""Selection rates and impact ratios by category, as audits of recorded decisions list them.

Each set of categories has three families of intervals: of its rates, of its ratios to the highest
rate, and of the lowest ratio. With a limit, the lowest ratios that have one share the error 1 -
level, and all else is descriptive. Without any limit, all families of all sets share it, so that
everything in the tables holds together.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.impact import messages
from evenhand.results.evidence import Finding, Group
from evenhand.runtime import number_text
from evenhand.runtime.label_text import group_text, labelled, with_words
from evenhand.scores.rates.metric_table import NO_LIMITS, MetricTable, RateLimits
from evenhand.statistics.error_rates import reported
from evenhand.statistics.ratios import Contrast
from evenhand.statistics.spending import Spending

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from evenhand.methods.impact.tally import CategoryTally
    from evenhand.results.result import Result
    from evenhand.space.feature import Label
    from evenhand.statistics.estimate import Estimate
    from evenhand.statistics.intervals import Floats

FAMILIES = 3
"""The families of intervals of one set: rates, ratios to the highest, the lowest ratio."""
IMPACT_RATIO = "impact ratio"
"""The score of the ratio of selection rates, or scoring rates."""
MOST_NAMED = 8
"""The most categories that are named in one sentence."""


@dataclass(frozen=True)
class CategoryRates:
    """The rates of one set of categories, and their ratios to the highest.

    `sets` is how many sets share the error.
    """

    tally: CategoryTally
    support: float
    level: float
    sets: int
    kind: str = "selection"
    """Of which rates: "selection", or "scoring" where favourable is a score above the median."""
    declared_population: str = ""
    """Whom the rates describe, where that is not what was recorded."""
    limits: RateLimits = NO_LIMITS
    """The least ratio, and the rates that it is for."""

    @property
    def metrics(self) -> tuple[str, ...]:
        """The rates that are told; each has as many families of intervals."""
        judged = self.limits.judged or ("selection_rate",)
        return reported(judged, truth=self.tally.counts is not None)

    @property
    def spending(self) -> Spending:
        """Where the error of all sets goes."""
        families = FAMILIES * self.sets * len(self.metrics)
        return Spending(self.sets * self.limits.number, families)

    @cached_property
    def compared(self) -> NDArray[np.bool_]:
        """Which categories have enough of the rows; all others are left out of the ratios."""
        shares = self.tally.size / self.tally.rows
        return np.asarray(shares >= self.support)

    @property
    def population(self) -> str:
        """Whom the rates describe."""
        if self.declared_population:
            return self.declared_population
        if self.kind == "scoring":
            return messages.RECORDED_SCORES
        return messages.RECORDED_DECISIONS

    @property
    def _names(self) -> str:
        return " and ".join(self.tally.over)

    @cached_property
    def contrast(self) -> Contrast:
        """The categories that are compared.

        Where some are too many to list, one without anybody stands for all of them, since they
        could have any rate.
        """
        has_unlisted = self.tally.unlisted > 0 and self.support == 0
        nobody = np.zeros(int(has_unlisted))
        hits = np.append(self.tally.hits[self.compared], nobody)
        size = np.append(self.tally.size[self.compared], nobody)
        return self._contrast(hits, size)

    def _contrast(self, hits: Floats, size: Floats, *, limited: bool = False) -> Contrast:
        together = ""  # the groups and the findings with a limit
        if not self.spending.asked:
            together = messages.RATES_AND_RATIOS
            if self.sets > 1:
                together = messages.RATES_AND_RATIOS_OF_SETS.format(number=self.sets)
        return Contrast(
            hits,
            size,
            self.level,
            self.spending.among(limited=limited),
            self.population,
            together,
            descriptive=self.spending.describes(limited=limited),
        )

    @cached_property
    def error_rates(self) -> MetricTable | None:
        """The error rates of the categories, where it is known what decisions should have been."""
        if self.tally.counts is None:
            return None
        return MetricTable(
            self.tally.over,
            self.abouts(),
            self.tally.counts,
            self.metrics,
            self.level,
            self.spending,
            self.limits,
            self.population,
            np.flatnonzero(self.compared),
            self.tally.unlisted if self.support == 0 else 0,
        )

    @property
    def limit(self) -> float | None:
        """The least ratio of selection rates, None where it has no limit."""
        return self.limits.of_ratio("selection_rate")

    def findings(self) -> list[Finding]:
        """Return the lowest ratio of each rate."""
        found = [self.finding()]
        table = self.error_rates
        for metric in self.metrics:
            if table is not None and metric != "selection_rate":
                found.append(table.ratio_finding(metric))
        return found

    @cached_property
    def rates(self) -> list[Estimate]:
        """The rate of each category, also of those that are left out of the ratios."""
        return self._contrast(self.tally.hits, self.tally.size).rates()

    @cached_property
    def _to_best(self) -> list[Estimate]:
        return self.contrast.to_best()

    @cached_property
    def lowest(self) -> Estimate:
        """The lowest rate divided by the highest, of those compared."""
        contrast = self.contrast
        limited = self.limit is not None
        lowest = self._contrast(contrast.hits, contrast.size, limited=limited).ratio()
        if math.isnan(lowest.value) or self.spending.asked:
            return lowest
        # No ratio is lower than the lowest, and all intervals hold together, so that each may
        # narrow the others.
        least_high = min((ratio.high for ratio in self._to_best), default=1.0)
        return replace(lowest, high=min(lowest.high, least_high))

    @cached_property
    def ratios(self) -> list[Estimate | None]:
        """The rate of each category divided by the highest, None where it is left out."""
        ratios = iter(self._to_best)
        found: list[Estimate | None] = []
        for is_compared in self.compared:
            if is_compared:
                found.append(self._raised(next(ratios)))
            else:
                found.append(None)
        return found

    def _raised(self, ratio: Estimate) -> Estimate:
        """Return a ratio whose interval does not begin below that of the lowest.

        Descriptive intervals hold by themselves, so that none narrows another.
        """
        if math.isnan(ratio.value) or self.spending.asked:
            return ratio
        return replace(ratio, low=max(ratio.low, self.lowest.low))

    def abouts(self) -> list[Mapping[str, Label]]:
        """Return each category by the user's own values, which know their labels."""
        over = self.tally.over
        values = [dict(zip(over, labels, strict=True)) for labels in self.tally.categories]
        return [labelled(about, self.tally.words) for about in values]

    @property
    def best(self) -> int | None:
        """The place of the category with the highest rate among those compared.

        It is None where that rate is 0 or unknown.
        """
        if math.isnan(self.lowest.value):
            return None
        has_rate = self.compared & (self.tally.size > 0)
        shares = np.where(has_rate, [rate.value for rate in self.rates], -1.0)
        return int(np.argmax(shares))

    def finding(self) -> Finding:
        """Return the finding of the set: its lowest ratio, with the ratio of each category."""
        groups = []
        for about, ratio in zip(self.abouts(), self.ratios, strict=True):
            if ratio is not None:
                groups.append(Group(about, ratio))
        return Finding(
            self._claim(),
            self.tally.over,
            self.lowest,
            self.limit,
            groups=tuple(groups),
            least=True,
            score=IMPACT_RATIO,
        )

    def _claim(self) -> str:
        names = self._names
        if math.isnan(self.lowest.value):
            if self.contrast.comparable:
                return messages.UNDEFINED_WITHOUT_HITS.format(names=names)
            support = number_text.percent_plain(self.support)
            return messages.UNDEFINED_BY_SUPPORT.format(names=names, support=support)
        share = number_text.percent(self.lowest.value)
        if self.kind == "scoring":
            return messages.LOWEST_SCORING_RATE.format(names=names, share=share)
        return messages.LOWEST_SELECTION_RATE.format(names=names, share=share)

    def table(self, **more: Any) -> dict[str, Any]:
        """Return the set as JSON holds it."""
        tally = self.tally
        abouts = self.abouts()
        unknown_as = []
        for column, label, rows in tally.unknown_as:
            unknown_as.append({"column": column, "label": label, "n": rows})
        return {
            "over": list(tally.over),
            "kind": self.kind,
            **more,
            "rows": tally.rows,
            "unknown": tally.unknown,
            "unknown_as": unknown_as,
            "categories": [
                self._category(place, about) for place, about in enumerate(abouts)
            ],
            "unlisted": tally.unlisted,
            "best": None if self.best is None else abouts[self.best],
        }

    def _category(
        self,
        place: int,
        about: Mapping[str, Label],
    ) -> dict[str, Any]:
        """Return a category as JSON holds it."""
        size = self.tally.size[place]
        ratio = self.ratios[place]
        return {
            "about": about,
            "n": int(size),
            "share": float(size / self.tally.rows),
            "selected": int(self.tally.hits[place]),
            "rate": self.rates[place].to_dict(),
            "ratio": None if ratio is None else ratio.to_dict(),
            "left_out": self._reason(size) if ratio is None else "",
        }

    def _reason(self, size: float) -> str:
        """Return why a category is left out of the ratios."""
        if not size:
            return messages.NO_ROWS
        return messages.UNDER_SUPPORT.format(
            support=number_text.percent_plain(self.support)
        )


def ratio_findings(result: Result) -> dict[Any, Finding]:
    """Return the lowest impact ratio of each set, by its columns."""
    found = {}
    for finding in result.findings:
        if finding.score in (IMPACT_RATIO, ""):
            found[finding.about] = finding
    return found


def tables_of(result: Result) -> list[Mapping[str, Any]]:
    """Return the tables of a result of `impact`, none of any other."""
    return with_words(result.details.get("impact", ()), "categories", result.words)


def is_descriptive(table: Mapping[str, Any]) -> bool:
    """Return whether the intervals of a table hold by themselves, beside findings with a limit."""
    return any(category["rate"].get("descriptive") for category in table["categories"])


def remarks(table: Mapping[str, Any]) -> list[str]:
    """Return sentences on unknown rows of a table, and on the categories that are left out.

    >>> small = {"about": {"sex": "X"}, "n": 3, "left_out": "under 2 % of the rows"}
    >>> table = {"over": ["sex"], "unknown": 12, "unknown_as": [], "rows": 400}
    >>> sentences = remarks({**table, "categories": [small], "unlisted": 0})
    >>> sentences[0]
    '12 of 400 rows have an unknown sex; they are left out of the rates and ratios by sex'
    >>> sentences[1].partition(", with ")[2]
    'under 2 % of the rows: sex X (3 rows)'
    """
    names = " and ".join(table["over"])
    sentences = []
    if table["unknown"]:
        sentences.append(_unknown_rows(table, names))
    for reason, categories in _left_out(table).items():
        listed = _first_of(categories, "; ")
        if reason:
            sentence = messages.LEFT_OUT.format(
                names=names, reason=reason, categories=listed
            )
        else:
            sentence = messages.WITHOUT_ROWS.format(names=names, categories=listed)
        sentences.append(sentence)
    if table["unlisted"]:
        number = number_text.count(table["unlisted"])
        sentences.append(messages.UNLISTED.format(number=number, names=names))
    return sentences


def _unknown_rows(table: Mapping[str, Any], names: str) -> str:
    """Return how many rows have an unknown category, and under which labels."""
    unknown = number_text.count(table["unknown"])
    rows = number_text.count(table["rows"])
    features = " or ".join(table["over"])
    labels = []
    for entry in table["unknown_as"]:
        if entry["label"] is None:
            label = "missing"
        else:
            label = entry["label"]
        labels.append(f"{label}: {number_text.count(entry['n'])}")
    if not labels:
        return messages.UNKNOWN_ROWS.format(
            unknown=unknown,
            rows=rows,
            features=features,
            names=names,
        )
    return messages.UNKNOWN_ROWS_BY_LABEL.format(
        unknown=unknown,
        rows=rows,
        features=features,
        labels=_first_of(labels, ", "),
        names=names,
    )


def _left_out(table: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the categories that are left out, or have no rows, in words and by reason."""
    by_reason: dict[str, list[str]] = {}
    for category in table["categories"]:
        if not category["left_out"] and category["n"]:
            continue
        text = group_text(category["about"])
        if category["n"]:
            text = messages.CATEGORY_WITH_ROWS.format(
                category=text,
                rows=number_text.count(category["n"]),
            )
        by_reason.setdefault(category["left_out"], []).append(text)
    return by_reason


TABLE_NOTES = "table_notes"
"""Which notes of a result its tables show as well, in its details: from where, up to where."""


def with_notes_before(result: Result, notes: Sequence[str]) -> Result:
    """Return a result of `impact` with more notes, which come first."""
    first, last = result.details[TABLE_NOTES]
    moved = [first + len(notes), last + len(notes)]
    details = {**result.details, TABLE_NOTES: moved}
    return replace(result, notes=[*notes, *result.notes], details=details)


def other_notes(result: Result) -> tuple[str, ...]:
    """Return the notes that no table shows; the last one says what is not claimed.

    >>> from evenhand.runtime.budget import Spent
    >>> from evenhand.statistics.estimate import StopReason
    >>> from evenhand.results.result import Result
    >>> notes = ["3 rows are gone", "3 of 9 have an unknown sex", "no claim"]
    >>> empty = Result("impact", [], 0, Spent(0, 0, 0.1), StopReason.ENUMERATED, {}, notes)
    >>> other_notes(replace(empty, details={TABLE_NOTES: [1, 2]}))
    ('3 rows are gone', 'no claim')
    """
    first, last = result.details.get(TABLE_NOTES, (0, 0))
    return (*result.notes[:first], *result.notes[last:])


def card_notes(result: Result) -> tuple[str, ...]:
    """Return the notes for a model card, which has the tables and says what is not claimed."""
    return other_notes(result)[:-1]


def _first_of(texts: Sequence[str], between: str) -> str:
    """Return the first of several texts, and how many more there are."""
    shown = list(texts[:MOST_NAMED])
    if len(texts) > MOST_NAMED:
        shown.append(f"… {number_text.count(len(texts) - MOST_NAMED)} more")
    return between.join(shown)


SCORES = ("rate", "rate_low", "rate_high", "ratio", "ratio_low", "ratio_high")
"""Columns of a frame that hold scores."""
COLUMNS = (
    "over",
    "kind",
    "n",
    "share",
    "selected",
    *SCORES,
    "level",
    "best",
    "left_out",
    "unknown",
)
"""Columns of a frame after those of the characteristics."""


def frame(result: Result) -> Any:
    """Return one row for each category of each set as a pandas frame, the characteristics first."""
    import pandas as pd

    column_of: dict[str, str] = {}
    for table in tables_of(result):
        for name in table["over"]:
            if name in COLUMNS:
                column_of[name] = f"by.{name}"
            else:
                column_of[name] = name
    rows = []
    for table in tables_of(result):
        for category in table["categories"]:
            about = category["about"]
            row = {column: about.get(name) for name, column in column_of.items()}
            rows.append(row | _frame_row(table, category))
    found = pd.DataFrame(rows, columns=[*column_of.values(), *COLUMNS])
    return found.astype(dict.fromkeys(SCORES, "float64"))


def _frame_row(
    table: Mapping[str, Any],
    category: Mapping[str, Any],
) -> dict[str, Any]:
    """Return what a row of the frame holds besides the characteristics."""
    row = {
        "over": ", ".join(table["over"]),
        "kind": table["kind"],
        "n": category["n"],
        "share": category["share"],
        "selected": category["selected"],
        "level": category["rate"]["level"],
        "best": category["about"] == table["best"],
        "left_out": category["left_out"],
        "unknown": table["unknown"],
    }
    for name in ("rate", "ratio"):
        score = category[name] or {"value": None, "low": None, "high": None}
        row[name] = score["value"]
        row[f"{name}_low"] = score["low"]
        row[f"{name}_high"] = score["high"]
    return row
