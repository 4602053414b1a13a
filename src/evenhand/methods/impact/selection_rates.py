"""Selection rates and impact ratios by category, as audits of recorded decisions list them.

Three families of intervals are told of each set of categories: of its rates, of its ratios to the
highest rate, and of the lowest ratio. All of them, of all sets, share the error 1 - level, so that
everything in the tables holds together.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.population.recorded import label_of, labels_of, seen, sizes_of
from evenhand.results.evidence import Finding, Group
from evenhand.runtime import number_text
from evenhand.runtime.errors import DataError, UsageError
from evenhand.space.dataframes import declared_levels
from evenhand.statistics.ratios import Contrast

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from evenhand.results.result import Result
    from evenhand.space.feature import Label
    from evenhand.statistics.estimate import Estimate
    from evenhand.statistics.intervals import Floats

UNKNOWN_LABELS = (
    "unknown",
    "not known",
    "not specified",
    "unspecified",
    "not stated",
    "not reported",
    "not provided",
    "not disclosed",
    "prefer not to say",
    "prefer not to answer",
    "decline to answer",
    "decline to self identify",
    "declined",
    "declined to answer",
    "i do not wish to answer",
    "i don't wish to answer",
    "n/a",
    "?",
)
"""Labels of people of whom a characteristic is not known, however they are capitalised; what is
missing always is.
"""
FAMILIES = 3
"""The families of intervals of one set: rates, ratios to the highest, the lowest ratio."""
MOST_COMPARED, MOST_LISTED, MOST_EMPTY, MOST_NAMED = 200, 1000, 20, 8
"""The most categories compared pair by pair, listed at all, listed without rows, and named in one
sentence.
"""


def spoken(label: Any) -> str:
    """Return a label as it is held against the unknown ones.

    >>> spoken("Prefer  not-to say "), spoken(9)
    ('prefer not to say', '9')
    """
    return " ".join(
        str(label).casefold().replace("’", "'").replace("-", " ").replace("_", " ").split()
    )


@dataclass(frozen=True)
class Tally:
    """Rows and favourable outcomes of each category of one set, and how many rows are in none since
    it is unknown.

    `rows` are all rows with an outcome; `unknown_as` says which labels, or None for missing values,
    hold how many.
    """

    over: tuple[str, ...]
    levels: Mapping[str, tuple[Label, ...]]
    categories: tuple[tuple[Label, ...], ...]
    hits: Floats
    size: Floats
    rows: int
    unknown_as: tuple[tuple[str, Label | None, int], ...]
    unlisted: int = 0
    """Categories without rows that are too many to list."""

    @property
    def unknown(self) -> int:
        """Rows of which at least one characteristic is not known."""
        return self.rows - int(self.size.sum())


def tallied(
    cells: Any, over: tuple[str, ...], outcome: str, favourable: Label, unknown: Iterable[Any]
) -> Tally:
    """Sum counts by category; rows without an outcome count for nothing."""
    gone = {spoken(label) for label in unknown} | {""}
    labels = {name: labels_of(cells, name) for name in over}
    outcomes, sizes = labels_of(cells, outcome), sizes_of(cells)
    known = {
        name: {
            label: label is not None and spoken(label) not in gone for label in set(labels[name])
        }
        for name in over
    }
    total: Counter[tuple[Any, ...]] = Counter()
    good: Counter[tuple[Any, ...]] = Counter()
    lost: Counter[tuple[str, Label | None]] = Counter()
    rows = 0
    for values, found, size in zip(
        zip(*labels.values(), strict=True), outcomes, sizes, strict=True
    ):
        if found is None:
            continue
        rows += int(size)
        absent = [
            (name, value)
            for name, value in zip(over, values, strict=True)
            if not known[name][value]
        ]
        lost.update(dict.fromkeys(absent, int(size)))
        if not absent:
            total[values] += int(size)
            good[values] += int(size) * (found == favourable)
    levels = {
        name: tuple(
            level
            for level in dict.fromkeys(
                label_of(one) for one in (*declared_levels(cells[name]), *seen(cells, name))
            )
            if spoken(level) not in gone
        )
        for name in over
    }
    _check(over, total)
    empty = math.prod(len(one) for one in levels.values()) - len(total)
    if empty <= MOST_EMPTY:
        categories = list(product(*levels.values()))
    else:
        place = {name: {level: at for at, level in enumerate(one)} for name, one in levels.items()}
        categories = sorted(
            total, key=lambda one: [place[name][v] for name, v in zip(over, one, strict=True)]
        )
    hits, size = (
        np.array([count[one] for one in categories], dtype=float) for count in (good, total)
    )
    absent_as = sorted(
        lost.items(), key=lambda item: (over.index(item[0][0]), item[0][1] is None, str(item[0][1]))
    )
    as_what = tuple((name, label, n) for (name, label), n in absent_as)
    return Tally(
        over,
        levels,
        tuple(categories),
        hits,
        size,
        rows,
        as_what,
        empty if empty > MOST_EMPTY else 0,
    )


def _check(over: tuple[str, ...], total: Mapping[tuple[Label, ...], int]) -> None:
    """Refuse sets that have nothing to compare, or too much to list."""
    names = " and ".join(over)
    hint = "; leave the intersection out with intersections=False" if len(over) > 1 else ""
    if not total:
        raise DataError(f"no row has a known {names}; there are no categories to compare{hint}")
    if len(total) == 1:
        only = said(dict(zip(over, next(iter(total)), strict=True)))
        raise DataError(
            f"every row with a known {names} is of one category, {only}; it takes two to"
            f" compare{hint}"
        )
    if len(total) > MOST_LISTED:
        raise UsageError(
            f"{names} make {len(total):,} categories with rows, over the {MOST_LISTED:,} that are"
            " listed; take fewer columns, or merge values into fewer categories first"
        )


@dataclass(frozen=True)
class Measured:
    """The categories of one set against the best of them; `sets` is how many sets are told
    together.
    """

    tally: Tally
    support: float
    level: float
    sets: int
    kind: str = "selection"
    """Of which rates: "selection", or "scoring" where favourable is a score above the median."""
    whom: str = ""
    """Whom the rates speak of, where that is not what was recorded."""

    @cached_property
    def compared(self) -> NDArray[np.bool_]:
        """Which categories have enough of the rows; all others are left out of the ratios."""
        found = self.tally.size / self.tally.rows >= self.support
        if (several := int((found & (self.tally.size > 0)).sum())) > MOST_COMPARED:
            raise UsageError(
                f"{' and '.join(self.tally.over)} make {several:,} categories, over the"
                f" {MOST_COMPARED} that are compared; leave small ones out with support=0.02, or"
                " merge values into fewer categories first"
            )
        return found

    @property
    def population(self) -> str:
        """What the rates speak of."""
        return self.whom or (
            "the recorded scores" if self.kind == "scoring" else "the recorded decisions"
        )

    @cached_property
    def contrast(self) -> Contrast:
        """The categories that are compared, and one without anybody for those that are too many to
        list.
        """
        nobody = np.zeros(int(self.tally.unlisted > 0 and self.support == 0))
        hits, size = (
            np.append(of[self.compared], nobody) for of in (self.tally.hits, self.tally.size)
        )
        return self._contrast(hits, size)

    def _contrast(self, hits: Floats, size: Floats) -> Contrast:
        together = "all rates and ratios" + (f" of {self.sets} sets" if self.sets > 1 else "")
        return Contrast(hits, size, self.level, FAMILIES * self.sets, self.population, together)

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
        # No ratio is lower than the lowest, and all intervals hold together, so that each may
        # narrow the others.
        found, most = self.contrast.ratio(), min((one.high for one in self._to_best), default=1.0)
        return found if math.isnan(found.value) else replace(found, high=min(found.high, most))

    @cached_property
    def ratios(self) -> list[Estimate | None]:
        """The rate of each category divided by the highest, None where it is left out."""
        each = iter(self._to_best)
        found = [next(each) if inside else None for inside in self.compared]
        return [None if one is None else self._raised(one) for one in found]

    def _raised(self, ratio: Estimate) -> Estimate:
        return (
            ratio
            if math.isnan(ratio.value)
            else replace(ratio, low=max(ratio.low, self.lowest.low))
        )

    def abouts(self) -> list[dict[str, Label]]:
        """Return each category in the user's labels."""
        return [dict(zip(self.tally.over, one, strict=True)) for one in self.tally.categories]

    @property
    def best(self) -> int | None:
        """The place of the category with the highest rate among those compared; None where it is 0
        or unknown.
        """
        if math.isnan(self.lowest.value):
            return None
        shares = np.where(
            self.compared & (self.tally.size > 0), [one.value for one in self.rates], -1.0
        )
        return int(np.argmax(shares))

    def finding(self, limit: float | None) -> Finding:
        """Return what is found of the set: the lowest ratio, with the ratio of each category."""
        pairs = zip(self.abouts(), self.ratios, strict=True)
        groups = tuple(Group(about, ratio) for about, ratio in pairs if ratio is not None)
        return Finding(
            self._claim(),
            self.tally.over,
            self.lowest,
            limit,
            groups=groups,
            least=True,
            score="impact ratio",
        )

    def _claim(self) -> str:
        names = " and ".join(self.tally.over)
        if not math.isnan(self.lowest.value):
            share = number_text.percent(self.lowest.value)
            return f"by {names}, the lowest {self.kind} rate is {share} of the highest"
        undefined = f"by {names}, the impact ratio is undefined: "
        if self.contrast.comparable:
            return undefined + "nobody in the categories compared has the favourable outcome"
        return (
            undefined
            + f"fewer than two categories have {number_text.percent_plain(self.support)} of the"
            " rows"
        )

    def table(self, **more: Any) -> dict[str, Any]:
        """Return the set as JSON holds it."""
        tally, abouts = self.tally, self.abouts()
        places = zip(abouts, tally.size, tally.hits, self.rates, self.ratios, strict=True)
        return {
            "over": list(tally.over),
            "kind": self.kind,
            **more,
            "rows": tally.rows,
            "unknown": tally.unknown,
            "unknown_as": [
                {"column": name, "label": label, "n": n} for name, label, n in tally.unknown_as
            ],
            "categories": [
                {
                    "about": about,
                    "n": int(size),
                    "share": float(size / tally.rows),
                    "selected": int(hits),
                    "rate": rate.to_dict(),
                    "ratio": None if ratio is None else ratio.to_dict(),
                    "left_out": "" if ratio is not None else self._reason(size),
                }
                for about, size, hits, rate, ratio in places
            ],
            "unlisted": tally.unlisted,
            "best": None if self.best is None else abouts[self.best],
        }

    def _reason(self, size: float) -> str:
        return f"under {number_text.percent_plain(self.support)} of the rows" if size else "no rows"


def said(about: Mapping[str, Label]) -> str:
    """Return a category in words.

    >>> said({"sex": "F", "race": "green"})
    'sex F, race green'
    """
    return ", ".join(f"{name} {value}" for name, value in about.items())


def tables_of(result: Result) -> list[Mapping[str, Any]]:
    """Return the tables of a result of `impact`, none of any other."""
    return list(result.details.get("impact", ()))


def remarks(table: Mapping[str, Any]) -> list[str]:
    """Return sentences on the rows of a table that are unknown, and on the categories that are left
    out.

    >>> small = {"about": {"sex": "X"}, "n": 3, "left_out": "under 2 % of the rows"}
    >>> told = {"over": ["sex"], "unknown": 12, "unknown_as": [], "rows": 400, "categories": [small], "unlisted": 0}
    >>> print(*remarks(told), sep="\\n")
    12 of 400 rows have an unknown sex; they are left out of the rates and ratios by sex
    left out of the ratios by sex, and nothing is decided of them, with under 2 % of the rows: sex X (3 rows)
    """
    names = " and ".join(table["over"])
    found = []
    if table["unknown"]:
        labels = [
            f"{'missing' if one['label'] is None else one['label']} {one['n']:,}"
            for one in table["unknown_as"]
        ]
        listed = f" ({_some(labels, ', ')})" if labels else ""
        found.append(
            f"{table['unknown']:,} of {table['rows']:,} rows have an unknown"
            f" {' or '.join(table['over'])}{listed}; they are left out of the rates and ratios by"
            f" {names}"
        )
    reasons: dict[str, list[str]] = {}
    for one in table["categories"]:
        if one["left_out"] or not one["n"]:
            rows = f" ({one['n']:,} rows)" if one["n"] else ""
            reasons.setdefault(one["left_out"], []).append(f"{said(one['about'])}{rows}")
    for reason, them in reasons.items():
        out = f"left out of the ratios by {names}, and nothing is decided of them, with {reason}"
        any_rate = f"without rows, which could be of any rate, so that {names} cannot pass"
        found.append(f"{out if reason else any_rate}: {_some(them, '; ')}")
    if table["unlisted"]:
        found.append(
            f"{table['unlisted']:,} more categories of {names} have no rows; nothing is decided of"
            " them"
        )
    return found


TABLE_NOTES = "table_notes"
"""Which notes of a result its tables tell as well, in its details: from where, up to where."""


def with_notes_before(result: Result, notes: Sequence[str]) -> Result:
    """Return a result of `impact` with more notes, which come first."""
    first, last = result.details[TABLE_NOTES]
    moved = [first + len(notes), last + len(notes)]
    return replace(
        result, notes=[*notes, *result.notes], details={**result.details, TABLE_NOTES: moved}
    )


def other_notes(result: Result) -> tuple[str, ...]:
    """Return the notes that no table tells; the last one says what is not claimed.

    >>> from evenhand.runtime.budget import Spent
    >>> from evenhand.statistics.estimate import StopReason
    >>> from evenhand.results.result import Result
    >>> notes, told = ["3 rows are gone", "3 of 9 have an unknown sex", "no claim"], {TABLE_NOTES: [1, 2]}
    >>> other_notes(Result("impact", [], 0, Spent(0, 0, 0.1), StopReason.ENUMERATED, {}, notes, details=told))
    ('3 rows are gone', 'no claim')
    """
    first, last = result.details.get(TABLE_NOTES, (0, 0))
    return (*result.notes[:first], *result.notes[last:])


def card_notes(result: Result) -> tuple[str, ...]:
    """Return the notes that a model card has to tell: it has the tables, and says itself what is
    not claimed.
    """
    return other_notes(result)[:-1]


def _some(texts: Sequence[str], between: str) -> str:
    """Return the first of several texts, and how many more there are."""
    more = [f"… {len(texts) - MOST_NAMED:,} more"] if len(texts) > MOST_NAMED else []
    return between.join([*texts[:MOST_NAMED], *more])


def frame(result: Result) -> Any:
    """Return one row for each category of each set as a pandas frame, the characteristics first."""
    import pandas as pd

    scores = ("rate", "rate_low", "rate_high", "ratio", "ratio_low", "ratio_high")
    fixed = (
        "over",
        "kind",
        "n",
        "share",
        "selected",
        *scores,
        "level",
        "best",
        "left_out",
        "unknown",
    )
    names = dict.fromkeys(name for table in tables_of(result) for name in table["over"])
    named = {name: f"by.{name}" if name in fixed else name for name in names}
    rows = []
    for table in tables_of(result):
        for one in table["categories"]:
            row: dict[str, Any] = {column: one["about"].get(name) for name, column in named.items()}
            row |= {"over": ", ".join(table["over"]), "kind": table["kind"]}
            row |= {key: one[key] for key in ("n", "share", "selected")}
            for what in ("rate", "ratio"):
                score = one[what] or {"value": None, "low": None, "high": None}
                row |= {
                    what: score["value"],
                    f"{what}_low": score["low"],
                    f"{what}_high": score["high"],
                }
            row |= {"level": one["rate"]["level"], "best": one["about"] == table["best"]}
            rows.append(row | {"left_out": one["left_out"], "unknown": table["unknown"]})
    found = pd.DataFrame(rows, columns=[*named.values(), *fixed])
    return found.astype(dict.fromkeys(scores, "float64"))
