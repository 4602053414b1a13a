"""What charts have in common: the entries of a legend, and numbers as a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from evenhand.report.canvas import unescaped
from evenhand.report.charts import messages
from evenhand.runtime.language import ENGLISH, spoken
from evenhand.statistics.estimate import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable

LOOKS = {
    "fail": messages.VERDICT_FAILED,
    "undecided": messages.VERDICT_OPEN,
    "pass": messages.VERDICT_HELD,
    "none": messages.ESTIMATE,
    "open": messages.NOT_CLEAR,
}
"""The looks of a mark, each a colour and a shape, and what a legend calls them by default."""
SERIES_LOOKS = 6
"""How many series have a colour and a shape of their own; more begin again with the first."""


@dataclass(frozen=True, slots=True)
class Key:
    """An entry of a legend: how it looks, what it is called, and the series that it switches.

    `look` names a mark, a line or a filling of the style; a `series` of -1 switches nothing.
    """

    look: str
    name: str
    series: int = -1


@dataclass(frozen=True, slots=True)
class NumbersTable:
    """The numbers of a chart as headings and rows of texts."""

    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


class Chart(Protocol):
    """What a figure is made of; texts are plain, and are escaped on their way into the page."""

    @property
    def kind(self) -> str:
        """The name of the macro that draws it."""

    @property
    def title(self) -> str:
        """What the chart shows, in one line."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What stands below it."""

    @property
    def wide(self) -> bool:
        """Whether it takes the whole width of the page."""

    def entries(self) -> list[Key]:
        """Return the entries of the legend."""

    def placed(self) -> Any:
        """Return what the template draws, with all places computed."""

    def numbers(self) -> NumbersTable | None:
        """Return the numbers as a table; None where they stand in the chart as text."""


def title_of_claim(claim: str) -> str:
    """Return a claim as the title of a chart; empty in a language that claims are not written in.

    >>> title_of_claim("sex differs")
    'sex differs'
    """
    return unescaped(claim) if spoken() == ENGLISH else ""


def look_of(verdict: Verdict | str | None) -> str:
    """Return the look of a verdict; "" and None are those of a plain estimate.

    >>> look_of(Verdict.FAIL), look_of("pass"), look_of(None)
    ('fail', 'pass', 'none')
    """
    if isinstance(verdict, Verdict):
        verdict = verdict.value
    return verdict if verdict in LOOKS else "none"


def series_numbers(names: Iterable[str]) -> dict[str, int]:
    """Return the number of each series, in their order; what has no name belongs to none.

    >>> series_numbers(["women", "men", "women", ""])
    {'women': 0, 'men': 1}
    """
    distinct = [name for name in dict.fromkeys(names) if name]
    return {name: number for number, name in enumerate(distinct)}


def series_look(number: int) -> str:
    """Return the look of a series."""
    return f"s{number % SERIES_LOOKS}"
