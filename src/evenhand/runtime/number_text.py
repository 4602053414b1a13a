"""Numbers as people read them: shares, differences in points, counts, amounts and durations.

Every percentage of evenhand is written here, so that no two places show one number differently. A
share lies between 0 and 1 and becomes a percentage; a difference of shares lies between -1 and 1
and becomes points. Marks, units and words are those of the language that is spoken; what a drawing
or a style takes is not.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from evenhand.runtime.language import figures_as_written as written
from evenhand.runtime.language import messages, say, say_many
from evenhand.runtime.language.digits import beside
from evenhand.runtime.language.digits import decimals_for as decimals_for
from evenhand.runtime.language.digits import percent_decimals as percent_decimals

if TYPE_CHECKING:
    from collections.abc import Iterable


class _Unit(NamedTuple):
    """How the numbers of a unit are shown."""

    scale: int
    """By what a number is multiplied."""
    template: str
    """The English template of a number with its unit."""
    least_decimals: int


_UNITS = {
    "rate": _Unit(scale=100, template=messages.PERCENT, least_decimals=1),
    "points": _Unit(scale=100, template=messages.POINTS, least_decimals=1),
    "amount": _Unit(scale=1, template="{number}", least_decimals=3),
}
_LEAST_GROUPED, _MOST_GROUPED = 1000, 1e15
"""Amounts between these are written with all their digits, in groups of three."""

_MOST_DECIMALS = 8
"""The most decimals that are written to tell a number from a limit."""
_MOST_FIGURES = 10
"""The most significant figures that are written for the same."""


# Shares


def percent(share: float, digits: int = 1, *, limit: float | None = None) -> str:
    """Return a share in percent, with a fixed number of decimals.

    Beside a limit it has as many more as show on which side of it the share lies.

    >>> percent(0.1234), percent(0.1234, 0)
    ('12.3 %', '12 %')
    >>> percent(0.0504, limit=0.05), percent(0.139, limit=0.05), percent(0.05, limit=0.05)
    ('5.04 %', '13.9 %', '5.0 %')
    """
    return say(messages.PERCENT, number=points_bare(share, digits, limit=limit))


def percent_of(part: float, whole: float, digits: int = 1) -> str:
    """Return in percent how much of a whole a part is.

    >>> percent_of(1, 8)
    '12.5 %'
    """
    number = 100 * part / whole
    return say(messages.PERCENT, number=written(f"{number:.{digits}f}"))


def percent_figures(share: float, figures: int = 3) -> str:
    """Return a share in percent, with so many significant figures and no zeros after them.

    >>> percent_figures(0.1234), percent_figures(0.5), percent_figures(0.1234, 2)
    ('12.3 %', '50 %', '12 %')
    """
    number = 100 * share
    return say(messages.PERCENT, number=written(f"{number:.{figures}g}"))


def percent_plain(share: float) -> str:
    """Return a share in percent as somebody would write it: a limit, or a tick of an axis.

    >>> percent_plain(0.05), percent_plain(0.025)
    ('5 %', '2.5 %')
    """
    return percent_figures(share, 6)


def percent_level(level: float) -> str:
    """Return the level of an interval in percent, with three figures of the error, rounded down.

    >>> percent_level(0.95), percent_level(1 - 0.05 / 3), percent_level(1 - 0.05 / 16)
    ('95 %', '98.33 %', '99.687 %')
    """
    decimals = decimals_for(100 * (1 - level), figures=3, least=0, most=9)
    # What rounding took from a whole number is given back.
    units = math.floor(100 * level * 10.0**decimals + 1e-3)
    number = units / 10.0**decimals
    return say(messages.PERCENT, number=written(f"{number:.{decimals + 3}g}"))


def percent_levels(levels: Iterable[float]) -> str:
    """Return several levels in one phrase.

    >>> percent_levels([0.9, 0.95])
    '90 % and 95 %'
    """
    text = ""
    for level in levels:
        shown = percent_level(level)
        text = say(messages.AND, before=text, last=shown) if text else shown
    return text


def percent_part(share: float) -> str:
    """Return a share that may be far over 1 in percent.

    >>> percent_part(0.1234), percent_part(12.5)
    ('12.3 %', '1,250 %')
    """
    if share < 10:
        return percent_figures(share)
    number = 100 * share
    return say(messages.PERCENT, number=written(f"{number:,.0f}"))


def hundredths(number: float, figures: int = 6) -> str:
    """Return a number that counts percent already, with so many significant figures at most.

    >>> hundredths(12.5), hundredths(12.345, 3)
    ('12.5 %', '12.3 %')
    """
    return say(messages.PERCENT, number=written(f"{number:.{figures}g}"))


def page_place(share: float) -> str:
    """Return a place on a page, as SVG and CSS take it, from 0 at the one end to 1 at the other.

    It is the same in every language.

    >>> page_place(0.125), page_place(1.5)
    ('12.50%', '100.00%')
    """
    inside = min(max(share, 0.0), 1.0)
    number = 100 * inside
    return f"{number:.2f}%"


# Intervals


def to(low: str, high: str) -> str:
    """Return an interval whose ends are texts already.

    >>> to("5.2 %", "any larger number")
    '5.2 % to any larger number'
    """
    return say(messages.INTERVAL, low=low, high=high)


def between(low: float, high: float, digits: int = 1, *, limit: float | None = None) -> str:
    """Return an interval of shares, each end in percent, as `percent` does.

    >>> between(0.052, 0.215)
    '5.2 % to 21.5 %'
    """
    low_text = percent(low, digits, limit=limit)
    high_text = percent(high, digits, limit=limit)
    return to(low_text, high_text)


def between_once(low: float, high: float, digits: int = 1) -> str:
    """Return an interval of shares that says percent once, for a narrow column.

    >>> between_once(0.052, 0.215)
    '5.2 to 21.5 %'
    """
    return say(messages.PERCENT, number=points_between(low, high, digits))


def spread(
    value: float,
    low: float,
    high: float,
    unit: str,
    *,
    sign: str = "",
    most: int = 5,
) -> str:
    """Return a value with its interval, to two figures of the interval's width.

    A value without an interval stands alone, to two figures of its own, and 0 is written without
    decimals.

    Parameters
    ----------
    unit
        "rate" for percent, "points" for a difference of rates, "amount" for any other number.
    sign
        "+" for a sign before numbers over 0, too.
    most
        How many decimals there are at most.

    >>> spread(0.775, 0.766, 0.783, "rate")
    '77.5 % (76.6 to 78.3)'
    >>> spread(0.02, -0.01, 0.05, "points", sign="+")
    '+2.0 points (-1.0 to +5.0)'
    >>> spread(0.25, 0.25, 0.25, "amount"), spread(0, 0, 0, "rate")
    ('0.250', '0 %')
    """
    shown_as = _UNITS[unit]
    scale = shown_as.scale
    size = high - low or abs(value)
    digits = decimals_for(scale * size, least=shown_as.least_decimals, most=most)

    def text(number: float) -> str:
        if number == 0:
            return "0"
        scaled = scale * number
        return written(f"{scaled:{sign}.{digits}f}")

    value_text = say(shown_as.template, number=text(value))
    if high > low:
        interval = to(text(low), text(high))
        return f"{value_text} ({interval})"
    return value_text


# Differences of shares


def points(difference: float, digits: int = 1, *, sign: str = "") -> str:
    """Return a difference of shares in points; a sign of "+" stands before numbers over 0, too.

    >>> points(0.273), points(0.273, sign="+")
    ('27.3 points', '+27.3 points')
    """
    return say(messages.POINTS, number=points_bare(difference, digits, sign=sign))


def points_bare(
    difference: float,
    digits: int = 1,
    *,
    sign: str = "",
    limit: float | None = None,
) -> str:
    """Return a difference of shares in points, as `percent` does, without the unit.

    >>> points_bare(0.273)
    '27.3'
    """
    number = 100 * difference
    if limit is not None:
        digits = beside(number, 100 * limit, digits, _MOST_DECIMALS, "f")
    return written(f"{number:{sign}.{digits}f}")


def points_between(
    low: float,
    high: float,
    digits: int = 1,
    *,
    sign: str = "",
    limit: float | None = None,
) -> str:
    """Return an interval of a difference of shares in points, where the unit stands elsewhere.

    >>> points_between(0.251, 0.294), points_between(0.0504, 0.139, limit=0.05)
    ('25.1 to 29.4', '5.04 to 13.9')
    """
    low_text = points_bare(low, digits, sign=sign, limit=limit)
    high_text = points_bare(high, digits, sign=sign, limit=limit)
    return to(low_text, high_text)


def points_figures(low: float, high: float, figures: int = 3) -> str:
    """Return an interval in hundredths with so many significant figures, without its unit.

    >>> points_figures(0.251, 0.5)
    '25.1 to 50'
    """
    low_number = 100 * low
    high_number = 100 * high
    low_text = written(f"{low_number:.{figures}g}")
    high_text = written(f"{high_number:.{figures}g}")
    return to(low_text, high_text)


def points_plain(difference: float) -> str:
    """Return a difference of shares as somebody would write it.

    >>> points_plain(0.01), points_plain(0.025)
    ('1 point', '2.5 points')
    """
    if difference == 0.01:
        return say(messages.POINT)
    number = 100 * difference
    return say(messages.POINTS, number=written(f"{number:g}"))


# Numbers of any kind


def p_value(p: float) -> str:
    """Return a p-value in two figures, as '0.012', or '< 0.0001' where it is smaller than that."""
    shown = "< 0.0001" if p < 1e-4 else f"{p:.2g}"
    return written(shown)


def decimal(value: float, digits: int = 3) -> str:
    """Return a number with a fixed number of decimals.

    >>> decimal(0.5)
    '0.500'
    """
    return written(f"{value:.{digits}f}")


def decimal_between(low: float, high: float, digits: int = 3) -> str:
    """Return an interval with a fixed number of decimals.

    >>> decimal_between(0.25, 0.5)
    '0.250 to 0.500'
    """
    low_text = decimal(low, digits)
    high_text = decimal(high, digits)
    return to(low_text, high_text)


def amount(value: float, *, sign: str = "", limit: float | None = None) -> str:
    """Return a score of any size with four significant figures, more beside a limit that is near.

    >>> amount(12.5), amount(1234.567), amount(0.5, sign="+"), amount(41_237.5)
    ('12.5', '1,235', '+0.5', '41,240')
    >>> amount(5.0001, limit=5), amount(7.00001, limit=5)
    ('5.0001', '7')
    """
    if limit is None:
        most = 4
    else:
        most = beside(value, limit, 4, _MOST_FIGURES, "g")
    text = f"{value:{sign}.{most}g}"
    if not _LEAST_GROUPED <= abs(value) < _MOST_GROUPED:
        return written(text)
    rounded = float(text)
    digits = max(most - len(f"{abs(rounded):.0f}"), 0)
    return written(f"{rounded:{sign},.{digits}f}")


def amount_between(low: float, high: float, *, sign: str = "") -> str:
    """Return an interval of a score of any size.

    >>> amount_between(11.0, 14.25)
    '11 to 14.25'
    """
    low_text = amount(low, sign=sign)
    high_text = amount(high, sign=sign)
    return to(low_text, high_text)


def apart(first: float, second: float) -> tuple[str, str]:
    """Return two amounts with the digits that tell them apart, and behind the second their gap.

    >>> apart(40_213.25, 38_100.75)
    ('40,213', '38,101 (2,112 less)')
    >>> apart(0.512345, 0.4983), apart(2.5, 2.5)
    (('0.512', '0.498 (0.014 less)'), ('2.5', '2.5'))
    """
    gap = abs(second - first)
    if not gap or not math.isfinite(gap):
        return amount(first), amount(second)
    if max(abs(first), abs(second)) >= _MOST_GROUPED:
        return figures(first), figures(second)
    digits = decimals_for(gap, least=0, most=12)
    first_text = written(f"{first:,.{digits}f}")
    second_text = written(f"{second:,.{digits}f}")
    gap_text = written(f"{gap:,.{digits}f}")
    if second > first:
        return first_text, say(messages.MORE, number=second_text, gap=gap_text)
    return first_text, say(messages.LESS, number=second_text, gap=gap_text)


def plain(value: float, *, sign: str = "") -> str:
    """Return a number as somebody would write it: a limit, a tolerance, a tick of an axis.

    >>> plain(0.1), plain(3.0), plain(2.5, sign="+")
    ('0.1', '3', '+2.5')
    """
    return written(f"{value:{sign}.6g}")


def limit(value: float, unit: str = "", *, least: bool = False) -> str:
    """Return a limit, which of some scores is the least acceptable value.

    It is written as scores of its unit are, or as it was given where no unit is named.

    >>> limit(0.1), limit(0.8, least=True)
    ('0.1', 'at least 0.8')
    >>> limit(0.025, "rate"), limit(1500, "amount"), limit(0.1, "gain")
    ('2.5 %', '1,500', '0.1')
    """
    text = plain(value)
    if unit == "rate":
        text = percent_plain(value)
    elif unit == "amount":
        text = amount(value)
    if least:
        return say(messages.AT_LEAST, limit=text)
    return text


def unbroken(text: str, joined: str = "\N{NO-BREAK SPACE}") -> str:
    """Return text whose percentages are never broken in two by the end of a line.

    >>> unbroken("50 % of all", "~")
    '50~% of all'
    """
    return text.replace(" %", f"{joined}%")


def with_minus(text: str) -> str:
    """Return text whose hyphens are minus signs, for numbers on a page or a plot.

    >>> with_minus("-1.0 to 2.0")
    '−1.0 to 2.0'
    """
    return text.replace("-", "\N{MINUS SIGN}")


# Counts and durations


def count(number: float) -> str:
    """Return a number of things, its thousands set apart.

    >>> count(1234)
    '1,234'
    """
    return written(f"{number:,}")


def many(number: int, thing: str) -> str:
    """Return a number of things with their name, which takes an s unless there is one.

    >>> many(1, "input"), many(2048, "input")
    ('1 input', '2,048 inputs')
    """
    # A name in the user's words may have braces, which are no fields.
    name = thing.replace("{", "{{").replace("}", "}}")
    return say_many(number, f"{{number}} {name}", f"{{number}} {name}s")


def seconds(number: float) -> str:
    """Return how long something took, the same for a number that JSON brought back.

    >>> seconds(12.345), seconds(0.0497)
    ('12.3 s', '0.1 s')
    """
    shown = written(f"{round(number, 3):.1f}")
    return say(messages.SECONDS, number=shown)


def duration(number: float) -> str:
    """Return about how long something will take, given in seconds.

    >>> duration(45), duration(600), duration(9000)
    ('about 45 s', 'about 10 min', 'about 2.5 h')
    """
    if number < 90:
        return say(messages.ABOUT_SECONDS, number=f"{number:.0f}")
    if number < 5400:
        minutes = number / 60
        return say(messages.ABOUT_MINUTES, number=f"{minutes:.0f}")
    hours = number / 3600
    return say(messages.ABOUT_HOURS, number=written(f"{hours:.1f}"))


def memory(size: float) -> str:
    """Return how much memory something takes, given in bytes.

    >>> memory(300), memory(3_210_000_000)
    ('1 MB', '3.21 GB')
    """
    scale, unit = (1e6, "MB") if size < 999e6 else (1e9, "GB")
    return f"{figures(max(size, 1e6) / scale, 3)} {unit}"


def figures(value: float, most: int = 6) -> str:
    """Return a number with so many significant figures at most.

    >>> figures(0.1234567), figures(12.5)
    ('0.123457', '12.5')
    """
    return written(f"{value:.{most}g}")
