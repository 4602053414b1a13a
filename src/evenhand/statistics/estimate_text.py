"""Parts of an estimate as people read them."""

from __future__ import annotations

import math

from evenhand.runtime import number_text
from evenhand.runtime.language import say, term


def size(n: int) -> str:
    """Return on how many inputs an estimate rests.

    >>> size(2048)
    'n = 2,048'
    """
    return say("n = {n}", n=number_text.count(n))


def population(name: str) -> str:
    """Return what an estimate describes.

    >>> population("all inputs, uniformly")
    'population: all inputs, uniformly'
    """
    return say("population: {population}", population=term(name))


def witnesses(found: str, n: int, method: str, *, every: bool) -> str:
    """Return how many inputs were tried to find some, and whether these are all.

    >>> witnesses("2 found", 400, "all", every=True)
    '2 found by trying every one of 400 inputs (all)'
    """
    template = "{found} by trying {tried} inputs ({method})"
    if every:
        template = "{found} by trying every one of {tried} inputs ({method})"
    return say(template, found=found, tried=number_text.count(n), method=term(method))


def end(number: float, beside: float | None) -> str:
    """Return an end of an interval, which may be infinite.

    >>> end(12.5, None), end(math.inf, None)
    ('12.5', 'any larger number')
    """
    if math.isfinite(number):
        return number_text.amount(number, limit=beside)
    if number < 0:
        return say("any smaller number")
    return say("any larger number")
