"""What a measurement says: a value with its interval, a verdict, and why sampling ended."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar

from evenhand.runtime import number_text
from evenhand.runtime.errors import UsageError, clip
from evenhand.runtime.language import say, term
from evenhand.statistics import estimate_text
from evenhand.statistics.verdict import StopReason as StopReason
from evenhand.statistics.verdict import Verdict as Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

_OLD_UNITS = {"inputs found": "count", "the score's own": "amount"}
"""What the first format of JSON calls the units."""
_SOME_HAVE = {"population", "unit", "descriptive"}
"""The keys that not every estimate has in JSON."""


JUST_UNDER = 1e-12
"""An end that is below a limit by less than this share of it is shown as "under" the limit."""


def check_limit(limit: float) -> float:
    """Return the limit if it lies in [0, 1].

    >>> check_limit(0.1)
    0.1
    """
    if not isinstance(limit, Real) or not 0 <= limit <= 1:
        raise UsageError(
            f"limit is {limit!r}; it must lie between 0 and 1, for example 0.1"
        )
    return float(limit)


@dataclass(frozen=True, slots=True)
class Estimate:
    """A rate, or a difference of rates, with the interval that holds it with probability `level`.

    Parameters
    ----------
    value : float
        The score; NaN where nothing was observed (n = 0).
    low, high : float
        The ends of the interval.
    n : int
        How many inputs or rows it rests on.
    level : float
        The probability with which the interval holds the true score; 1 where all was enumerated.
    method : str
        How the interval was made.
    population : str
        What the score describes, in words.
    beside : float
        The limit that the estimate is shown beside: its text has as many digits as show on which
        side of the limit it lies.
    descriptive : bool
        Whether the interval holds its level by itself, outside of those that give verdicts and hold
        together; it gives no verdict.

    Notes
    -----
    See docs/how-to/measure.md and docs/explanation/intervals.md.

    Examples
    --------
    >>> estimate = Estimate(0.123, 0.101, 0.148, 2048, 0.95, "exact")
    >>> print(estimate)
    12.3 % (10.1 % to 14.8 %, 95 % level, n = 2,048, exact)
    >>> estimate.value_text, estimate.interval_text, estimate.level_text
    ('12.3 %', '10.1 % to 14.8 %', '95 % level')
    >>> Estimate(0.09, 0.0504, 0.139, 247, 0.95, "exact", beside=0.05).interval_text
    '5.04 % to 13.9 %'
    """

    unit: ClassVar[str] = "rate"
    """What `value` counts: "rate", "count" or "amount"."""

    value: float
    low: float
    high: float
    n: int
    level: float
    method: str
    population: str = ""
    beside: float | None = field(default=None, compare=False, repr=False, kw_only=True)
    descriptive: bool = field(default=False, repr=False, kw_only=True)

    def __post_init__(self) -> None:
        if self.n < 0:
            raise UsageError(f"n is {self.n}; an estimate rests on no fewer than 0 inputs")
        if not 0 < self.level <= 1:
            raise UsageError(
                f"level is {self.level!r}; it must lie between 0 and 1, for example 0.95"
            )
        if not -1 <= self.low <= self.high <= 1:
            raise UsageError(
                f"the interval {self.low!r} to {self.high!r} must be ordered and lie"
                " between -1 and 1"
            )
        if math.isnan(self.value) and self.n == 0:
            return
        if not self.low <= self.value <= self.high:
            raise UsageError(
                f"the value {self.value!r} lies outside its interval {self.low!r} to"
                f" {self.high!r}"
            )

    @classmethod
    def exact(cls, hits: float, n: int, *, population: str = "") -> Estimate:
        """Return the value found by enumerating all n inputs, whose interval has width zero.

        >>> print(Estimate.exact(6, 24))
        25.0 % (n = 24, enumerated)
        """
        if n < 1 or not 0 <= hits <= n:
            raise UsageError(
                f"enumeration gave {hits} hits among {n} inputs; it needs n >= 1 and 0 <="
                " hits <= n"
            )
        share = float(hits) / n
        return cls(share, share, share, n, 1.0, "enumerated", population)

    def shown_beside(self, limit: float | None) -> Self:
        """Return the same estimate, its text in as many digits as a limit beside it takes."""
        return self if limit == self.beside else replace(self, beside=limit)

    def described(self) -> Self:
        """Return the same as a description, unless it is exact."""
        return self if self.level == 1 else replace(self, descriptive=True)

    def verdict(self, limit: float, *, least: bool = False) -> Verdict:
        """Return what the interval says of a discrimination score against the limit.

        A score discriminates at or over it (Themis, Definition 3.9: score >= θ). FAIL when the
        whole interval is at or over the limit, PASS when all of it is below. Every score is at or
        over a limit of 0, which is therefore read as "none at all": it fails as soon as the
        interval excludes 0, and passes only when the interval is exactly 0, which takes
        enumeration.

        With `least` the limit is the least acceptable value, as for a ratio of rates: below it is
        FAIL.

        >>> Estimate(0.2, 0.1, 0.3, 50, 0.95, "exact").verdict(0.1).value
        'fail'
        """
        self._check_limit(limit)
        if least:
            if self.high < limit:
                return Verdict.FAIL
            if self.low >= limit:
                return Verdict.PASS
            return Verdict.UNDECIDED
        if limit == 0:
            if self.low > 0:
                return Verdict.FAIL
            if self.high <= 0:
                return Verdict.PASS
            return Verdict.UNDECIDED
        if self.low >= limit:
            return Verdict.FAIL
        if self.high < limit:
            return Verdict.PASS
        return Verdict.UNDECIDED

    def _check_limit(self, limit: float) -> None:
        """Refuse a limit that cannot be one of this estimate."""
        check_limit(limit)

    def to_dict(self) -> dict[str, Any]:
        """Return the estimate as JSON-ready values; an unknown value is None.

        >>> Estimate.exact(1, 4).to_dict()["value"]
        0.25
        """
        found: dict[str, Any] = {
            "value": None if math.isnan(self.value) else self.value,
            "low": self.low,
            "high": self.high,
            "n": self.n,
            "level": self.level,
            "method": self.method,
        }
        return found | self._more()

    def _more(self) -> dict[str, Any]:
        """Return what only some estimates have, as JSON-ready values."""
        more = {"population": self.population, "descriptive": self.descriptive}
        return {key: value for key, value in more.items() if value}

    @classmethod
    def from_dict(cls, found: Mapping[str, Any]) -> Estimate:
        """Return the estimate that `to_dict` wrote.

        >>> Estimate.from_dict(Estimate.exact(1, 4).to_dict()) == Estimate.exact(1, 4)
        True
        """
        word = str(found.get("unit", Estimate.unit))
        unit = _OLD_UNITS.get(word, word)
        if unit == Amount.unit:
            return Amount.read(found)
        if unit == Witnesses.unit:
            return Witnesses.counted(found)
        if unit != Estimate.unit:
            raise UsageError(
                f"an estimate has the unit {clip(word)!r}; it must be rate, count or amount"
            )
        keys = {"value", "low", "high", "n", "level", "method"}
        if wrong := keys - set(found) | set(found) - keys - _SOME_HAVE:
            raise UsageError(
                f"an estimate has the keys {', '.join(sorted(keys))}; check"
                f" {', '.join(sorted(wrong))}"
            )
        if found["low"] is None or found["high"] is None:
            raise UsageError("an estimate of a rate lacks an end of its interval")
        return cls(
            float(_number(found["value"], math.nan)),
            float(found["low"]),
            float(found["high"]),
            int(found["n"]),
            float(found["level"]),
            str(found["method"]),
            str(found.get("population", "")),
            descriptive=bool(found.get("descriptive", False)),
        )

    @property
    def value_text(self) -> str:
        """The value as people read it, "unknown" where nothing was observed."""
        if math.isnan(self.value):
            return say("unknown")
        return self._percent(self.value)

    @property
    def interval_text(self) -> str:
        """The interval as people read it, empty where the value is exact."""
        if self.level == 1:
            return ""
        return number_text.to(*self.ends_text)

    @property
    def ends_text(self) -> tuple[str, str]:
        """Both ends of the interval as people read them."""
        return self._percent(self.low), self._high_text

    @property
    def _high_text(self) -> str:
        """The upper end; a test may show no more than that a score is under its limit."""
        limit = self.beside
        if limit and 0 <= limit - self.high < JUST_UNDER * limit and self.high < limit:
            return say("under {limit}", limit=self._percent(limit))
        return self._percent(self.high)

    @property
    def level_text(self) -> str:
        """The level of the interval as people read it, empty where the value is exact."""
        if self.level == 1:
            return ""
        return say("{level} level", level=number_text.percent_level(self.level))

    def _percent(self, share: float) -> str:
        digits = number_text.percent_decimals(self.low, self.high, self.value)
        return number_text.percent(share, digits, limit=self.beside)

    @property
    def text_without_n(self) -> str:
        """The estimate as people read it where its n stands elsewhere, as in a table."""
        return self._text([term(self.method)])

    def _text(self, basis: list[str]) -> str:
        """Return the estimate as people read it; `basis` says what it rests on."""
        if self.level == 1:
            facts = basis
        else:
            facts = [self.interval_text, self.level_text, *basis]
        if self.descriptive:
            facts = [*facts, say("descriptive")]
        if self.population:
            facts = [*facts, estimate_text.population(self.population)]
        return f"{self.value_text} ({', '.join(facts)})"

    def __str__(self) -> str:
        return self._text([estimate_text.size(self.n), term(self.method)])


@dataclass(frozen=True, slots=True)
class Witnesses(Estimate):
    """How many discriminatory inputs a search found: a number of witnesses, and never a rate.

    `value` and `low` are that number; `high` is infinite, since there may be more, unless every
    input was tried. `n` is how many inputs were tried, twins aside, and says nothing of how many of
    all inputs discriminate.

    Notes
    -----
    See docs/how-to/search.md

    Examples
    --------
    >>> print(Witnesses.of(12, 400, "adaptive"))
    12 found by trying 400 inputs (adaptive)
    >>> Witnesses.of(0, 400, "adaptive").verdict(0).value
    'undecided'
    >>> Witnesses.of(0, 400, "all", complete=True).verdict(0).value
    'pass'
    """

    unit: ClassVar[str] = "count"

    def __post_init__(self) -> None:
        if not 0 <= self.low == self.value <= self.high or not self.value <= self.n:
            raise UsageError(
                f"{self.value:g} inputs found by trying {self.n} is no count of witnesses"
            )

    @classmethod
    def of(
        cls, found: int, tried: int, method: str, *, complete: bool = False
    ) -> Witnesses:
        """Count the inputs that were found; `complete` says that every input was tried."""
        return cls(found, found, found if complete else math.inf, tried, 1.0, method)

    @classmethod
    def counted(cls, found: Mapping[str, Any]) -> Witnesses:
        """Return the count that `to_dict` wrote."""
        return cls.of(
            found["value"], found["n"], found["method"], complete=found["high"] is not None
        )

    def verdict(self, limit: float, *, least: bool = False) -> Verdict:
        """Return FAIL when more was found than the limit allows.

        Not to find more is a PASS only if all was tried.
        """
        if self.value > limit:
            return Verdict.FAIL
        if self.high <= limit:
            return Verdict.PASS
        return Verdict.UNDECIDED

    def to_dict(self) -> dict[str, Any]:
        """Return the count as JSON-ready values; an unknown upper bound is None."""
        return {
            "value": self.value,
            "low": self.low,
            "high": None if math.isinf(self.high) else self.high,
            "n": self.n,
            "level": self.level,
            "method": self.method,
            "unit": self.unit,
        }

    @property
    def value_text(self) -> str:
        """How many were found, as people read it."""
        return say("{number} found", number=number_text.count(self.value))

    @property
    def interval_text(self) -> str:
        """Empty: a count has no interval."""
        return ""

    @property
    def level_text(self) -> str:
        """Empty: a count has no level."""
        return ""

    @property
    def text_without_n(self) -> str:
        """The count as people read it: how many inputs were tried is part of it."""
        return str(self)

    def __str__(self) -> str:
        every = self.high == self.value
        return estimate_text.witnesses(self.value_text, self.n, self.method, every=every)


@dataclass(frozen=True, slots=True)
class Amount(Estimate):
    """A number of any size with its interval, in its own unit, and not a rate.

    It is a score of the user's own making, or a mean, a median or an error of outcomes, or a
    difference of those. The ends of the interval are infinite where nothing bounds them.

    >>> print(Amount(12.5, 11.0, 14.0, 300, 0.95, "bootstrap"))
    12.5 (11 to 14, 95 % level, n = 300, bootstrap)
    """

    unit: ClassVar[str] = "amount"

    def __post_init__(self) -> None:
        if math.isnan(self.value) and self.n == 0:
            return
        if not self.low <= self.value <= self.high:
            raise UsageError(
                f"the value {self.value!r} lies outside its interval {self.low!r} to"
                f" {self.high!r}"
            )

    @classmethod
    def read(cls, found: Mapping[str, Any]) -> Amount:
        """Return the amount that `to_dict` wrote."""
        return cls(
            _number(found["value"], math.nan),
            _number(found["low"], -math.inf),
            _number(found["high"], math.inf),
            found["n"],
            found["level"],
            found["method"],
            found.get("population", ""),
            descriptive=found.get("descriptive", False),
        )

    def _check_limit(self, limit: float) -> None:
        check_amount(limit)

    def to_dict(self) -> dict[str, Any]:
        """Return the amount as JSON-ready values; what is unknown or unbounded is None."""
        found: dict[str, Any] = {
            "value": _finite(self.value),
            "low": _finite(self.low),
            "high": _finite(self.high),
            "n": self.n,
            "level": self.level,
            "method": self.method,
            "unit": self.unit,
        }
        return found | self._more()

    @property
    def value_text(self) -> str:
        """The value as people read it."""
        if math.isnan(self.value):
            return say("unknown")
        return number_text.amount(self.value, limit=self.beside)

    @property
    def interval_text(self) -> str:
        """The interval as people read it, empty where the value is exact."""
        if self.level == 1:
            return ""
        if math.isinf(self.low) and math.isinf(self.high):
            return say("any number")
        if math.isinf(self.high):
            least = number_text.amount(self.low, limit=self.beside)
            return say("{number} or more", number=least)
        return number_text.to(*self.ends_text)

    @property
    def ends_text(self) -> tuple[str, str]:
        """Both ends of the interval as people read them."""
        low = estimate_text.end(self.low, self.beside)
        return low, estimate_text.end(self.high, self.beside)

    def __str__(self) -> str:
        if self.level == 1:
            return self.text_without_n
        return self._text([estimate_text.size(self.n), term(self.method)])


def check_amount(limit: Any, name: str = "limit") -> float:
    """Return a limit of an amount if it is a number of 0 or more.

    >>> check_amount(2500)
    2500.0
    """
    is_number = isinstance(limit, Real) and not isinstance(limit, bool)
    if not is_number or not 0 <= float(limit) < math.inf:
        raise UsageError(
            f"{name} is {limit!r}; it must be a number of 0 or more, for example 100"
        )
    return float(limit)


def _number(written: float | None, otherwise: float) -> float:
    """Return a number as it was written, or what is not finite, which JSON has as null."""
    if written is None:
        return otherwise
    return written


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None
