"""The scale of an axis: where values stand on it, and its ticks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from evenhand.runtime import number_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    Unit: TypeAlias = Literal["share", "points", "amount", "count", "hundredths"]
    """What numbers are: shares, differences of shares, scores of any size, numbers of things, or
    numbers that count percent already.
    """

_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
_LOG_STEPS = (1.0, 2.0, 5.0)
_MOST_TICKS = 6
STEPS = 10_000
"""Steps from one end of an axis to the other in the path of a curve."""
_LARGEST = 1e300
_SMALLEST = 1e-300
"""Beyond these, differences are no numbers any more."""
_GROUPED = 10_000
"""Amounts of at least this have their digits in groups."""


@dataclass(frozen=True, slots=True)
class Tick:
    """A tick: its place as a share of the axis, its text, and whether a narrow page has it."""

    at: str
    name: str
    spare: bool


@dataclass(frozen=True, slots=True)
class AxisScale:
    """The ends of an axis, and what its numbers are.

    >>> scale = AxisScale(0.0, 0.2)
    >>> scale.place(0.05), [tick.name for tick in scale.ticks]
    (0.25, ['0 %', '5 %', '10 %', '15 %', '20 %'])
    """

    low: float
    high: float
    unit: Unit = "share"
    log: bool = False

    @classmethod
    def around(
        cls,
        values: Iterable[float],
        unit: Unit = "share",
        *,
        from_zero: bool = True,
        symmetric: bool = False,
    ) -> AxisScale:
        """Return a scale on which all values are in sight; what is no number does not count.

        Parameters
        ----------
        from_zero
            Whether nought is an end of the scale, or in it.
        symmetric
            Whether nought stands in the middle.

        >>> AxisScale.around([0.03, 0.11])
        AxisScale(low=0.0, high=0.12, unit='share', log=False)
        """
        known = [_bounded(value) for value in values if math.isfinite(value)]
        if from_zero or not known:
            known.append(0.0)
        low = min(known)
        high = max(known)
        if high - low < _SMALLEST:
            high = low + (abs(low) or 1.0)
        if symmetric:
            high = max(abs(low), abs(high))
            low = -high
        step = _step(high - low)
        if not from_zero:
            room = 0.06 * (high - low)
            return cls(low - room, high + room, unit)
        all_shares = unit == "share" and high <= 1
        top = math.ceil(1.02 * high / step) * step
        bottom = math.floor(1.02 * low / step) * step
        return cls(_rounded(bottom), _rounded(min(top, 1.0) if all_shares else top), unit)

    @classmethod
    def logarithmic(cls, values: Iterable[float], unit: Unit = "amount") -> AxisScale:
        """Return a logarithmic scale of values that are all over nought."""
        known = [_bounded(value) for value in values if value > 0]
        low = min(known, default=1.0)
        high = max(known, default=10.0)
        return cls(low / 1.25, high * 1.25, unit, log=True)

    def place(self, value: float) -> float:
        """Return where a value stands, from 0 at the lower end to 1 at the upper."""
        if math.isnan(value):
            return 0.0
        return min(max(self._share(value), 0.0), 1.0)

    def step(self, value: float) -> int:
        """Return where a value stands in steps of a curve, out of sight where it is beyond."""
        if math.isnan(value):
            return 0
        share = min(max(self._share(value), -1.0), 2.0)
        return round(STEPS * share)

    def _share(self, value: float) -> float:
        low = self._on_axis(self.low)
        width = self._on_axis(self.high) - low
        return (self._on_axis(value) - low) / width

    def at(self, value: float) -> str:
        """Return where a value stands as SVG takes it, from left to right."""
        return number_text.page_place(self.place(value))

    def up(self, value: float) -> str:
        """Return where a value stands as SVG takes it, from the ground up."""
        return number_text.page_place(1 - self.place(value))

    def text(self, value: float) -> str:
        """Return a tick as text."""
        return number_text.with_minus(self._plain(value))

    @property
    def ticks(self) -> tuple[Tick, ...]:
        """The ticks from left to right."""
        return self._ticks(upright=False)

    @property
    def upright_ticks(self) -> tuple[Tick, ...]:
        """The ticks from the ground up."""
        return self._ticks(upright=True)

    def _ticks(self, *, upright: bool) -> tuple[Tick, ...]:
        ticks = []
        for number, value in enumerate(self._values()):
            at = self.up(value) if upright else self.at(value)
            ticks.append(Tick(at, self.text(value), spare=number % 2 == 1))
        return tuple(ticks)

    def _values(self) -> list[float]:
        if self.log:
            return self._log_values()
        step = _step(self.high - self.low)
        slack = 1e-9
        first = math.ceil(self.low / step - slack)
        last = math.floor(self.high / step + slack)
        return [_rounded(number * step) for number in range(first, last + 1)]

    def _log_values(self) -> list[float]:
        first = math.floor(math.log10(self.low))
        last = math.ceil(math.log10(self.high))
        values = []
        for power in range(first, last + 1):
            values += [step * 10.0**power for step in _LOG_STEPS]
        inside = [value for value in values if self.low <= value <= self.high]
        # As many as there is room for.
        return inside[:: 1 + len(inside) // (2 * _MOST_TICKS)]

    def _on_axis(self, value: float) -> float:
        bounded = _bounded(value)
        return math.log10(max(bounded, _SMALLEST)) if self.log else bounded

    def _plain(self, value: float) -> str:
        if self.unit == "share":
            return number_text.percent_plain(value)
        if self.unit == "hundredths":
            return number_text.hundredths(value)
        if self.unit == "points":
            return number_text.plain(100 * value, sign="+" if value else "")
        if self.unit == "count":
            return number_text.count(round(value))
        if abs(value) >= _GROUPED:
            return number_text.amount(value)
        return number_text.plain(value)


def spread_text(value: float, low: float, high: float, unit: Unit) -> str:
    """Return a value with its interval as people read it.

    >>> spread_text(0.117, 0.05, 0.222, "share"), spread_text(-0.1, -0.2, 0.01, "points")
    ('11.7 % (5.0 to 22.2)', '−10.0 points (−20.0 to +1.0)')
    """
    if unit == "share":
        text = number_text.spread(value, low, high, "rate")
    elif unit == "points":
        text = number_text.spread(value, low, high, "points", sign="+")
    elif unit == "count":
        text = number_text.count(round(value))
    elif unit == "hundredths":
        text = number_text.hundredths(value, 3)
    elif high > low:
        interval = number_text.amount_between(low, high)
        text = f"{number_text.amount(value)} ({interval})"
    else:
        text = number_text.amount(value)
    return number_text.with_minus(text)


def _step(width: float) -> float:
    """Return a round number that a width holds about five times."""
    wanted = max(width, _SMALLEST) / (_MOST_TICKS - 0.5)
    power = 10.0 ** math.floor(math.log10(wanted))
    for step in _STEPS:
        if step * power >= wanted:
            return step * power
    return 10 * power


def _bounded(value: float) -> float:
    return min(max(value, -_LARGEST), _LARGEST)


def _rounded(value: float) -> float:
    """Return a number without what adding up has left in its last digits."""
    return float(f"{value:.12g}")
