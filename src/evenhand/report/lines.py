"""Lines of text: after a verdict or an indent, as tables, and with nothing in them that a terminal
would obey.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from io import StringIO
from typing import TYPE_CHECKING

from evenhand.report.finding_text import NO_DATA
from evenhand.runtime import number_text
from evenhand.runtime.errors import printable as printable
from evenhand.statistics.estimate import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rich.console import Console

    from evenhand.results.evidence import Case
    from evenhand.statistics.estimate import Estimate

LEAD = 10
"""The room for a verdict before a line, and the indent of what belongs to it."""
_JOINED = "\N{NO-BREAK SPACE}"
_COLOURS = {Verdict.FAIL: "bold red", Verdict.PASS: "bold green", Verdict.UNDECIDED: "bold yellow"}


@dataclass(frozen=True, slots=True)
class Line:
    """One line of text after a verdict or an indent; a row of a table is never wrapped.

    >>> from evenhand.statistics.estimate import Verdict
    >>> str(Line("changing only sex", Verdict.FAIL))
    'FAIL      changing only sex'
    """

    text: str
    verdict: Verdict | None = None
    indent: int = 0
    row: bool = False

    @property
    def lead(self) -> str:
        """What stands before the text."""
        return " " * self.indent if self.verdict is None else f"{self.verdict.upper():{LEAD}}"

    def wrapped(self, width: int) -> list[str]:
        """Return the text on lines that leave room for the lead; a word longer than a line stays
        whole.
        """
        text = printable(self.text)
        if self.row or not text:
            return [text]
        room = max(20, width - len(self.lead))
        whole = number_text.unbroken(text, _JOINED)  # a number and its unit are one word
        parts = textwrap.wrap(whole, room, break_long_words=False, break_on_hyphens=False)
        return [part.replace(_JOINED, " ") for part in parts]

    def __str__(self) -> str:
        return f"{self.lead}{printable(self.text)}".rstrip()


class Screen:
    """Where lines are printed: a terminal, in colour and as wide as it is, or a pipe, plain and
    unbroken.
    """

    def __init__(self, console: Console | None = None) -> None:
        from rich.console import Console

        self._console = console or Console()

    @property
    def width(self) -> int | None:
        """How many columns there are; None where lines are not broken."""
        return self._console.width if self._console.is_terminal else None

    def print(self, lines: Sequence[Line]) -> None:
        """Print lines that were made for this width."""
        from rich.text import Text

        console = self._console
        if self.width is None:
            # Rich ends the program with code 1, which here means discrimination, when the reader of
            # a pipe has gone.
            print(*lines, sep="\n", file=console.file)
            return
        for line in lines:
            first, *more = line.wrapped(console.width)
            style = _COLOURS[line.verdict] if line.verdict else ""
            console.print(Text.assemble((line.lead, style), first), soft_wrap=True, highlight=False)
            for part in more:
                console.print(Text(" " * len(line.lead) + part), soft_wrap=True, highlight=False)


def indented(texts: Iterable[str]) -> Iterator[Line]:
    """Return the rows of a table as lines under what they belong to."""
    return (Line(text, indent=LEAD, row=True) for text in texts)


def twins(case: Case, width: int | None) -> list[str]:
    """Return a table of two inputs side by side, what differs marked."""
    rows = [
        (name, str(value), str(case.twin.get(name, "")), "differs" if name in case.changed else "")
        for name, value in case.individual.items()
    ]
    rows.append(("outcome", str(case.outcomes[0]), str(case.outcomes[1]), "differs"))
    return table_of(("", "individual", "twin", ""), rows, width)


def shown_cases(cases: Sequence[Case], most: int, width: int | None) -> Iterator[Line]:
    """Tell some cases: one as a line, more as tables; two texts as a line each, with what differs
    in sight.

    >>> from evenhand.results.evidence import Case
    >>> case = Case({"text": "I am a ⟦gay⟧ man"}, {"text": "I am a ⟦straight⟧ man"}, ("rude", "fine"))
    >>> print(*shown_cases([case], 1, None), sep="\\n")
              for example
                rude: I am a ⟦gay⟧ man
                fine: I am a ⟦straight⟧ man
    """
    for case in cases[:most]:
        if "⟦" in str(case.individual.get("text", "")):
            yield Line("for example", indent=LEAD)
            yield from (Line(text, indent=LEAD + 2) for text in _pair(case, width))
        elif most == 1:
            yield Line(f"for example {case}", indent=LEAD)
        else:
            yield from indented(twins(case, width))


def _pair(case: Case, width: int | None) -> list[str]:
    """Return two texts after their outcomes, with as much of both as there is room for around what
    differs.
    """
    said = [
        f"{outcome:.3f}" if isinstance(outcome, float) else str(outcome)
        for outcome in case.outcomes
    ]
    wide = max(map(len, said))
    room = max(40, (width or 160) - LEAD - wide - 4)
    texts = [" ".join(str(side["text"]).split()) for side in (case.individual, case.twin)]
    first = next(
        (at for at, letters in enumerate(zip(*texts, strict=False)) if len(set(letters)) > 1), 0
    )
    start = 0 if first < room // 2 else texts[0].rfind(" ", 0, first - room // 3) + 1
    return [
        f"{outcome + ':':{wide + 1}} {_part(text, start, room)}"
        for outcome, text in zip(said, texts, strict=True)
    ]


def _part(text: str, start: int, room: int) -> str:
    """Return what fits of a text from a place on, without the second of the marks that it had of
    its own.
    """
    part = ("…" if start else "") + text[start:]
    if len(part) > room:
        part = part[: room - 1]
        # At the end of a word, unless that is far.
        part = part[: part.rfind(" ", room // 2) + 1 or room] + "…"
    return part.replace("⟦⟦", "⟦").replace("⟧⟧", "⟧")


def rates(
    what: str, rate: str, rows: Sequence[tuple[str, Estimate] | str], width: int | None
) -> list[str]:
    """Return a table of estimates under the headings of what they are of and what they say; a text
    is a row of its own.

    >>> from evenhand.statistics.estimate import Estimate
    >>> quarter = Estimate(0.25, 0.2, 0.3, 400, 0.95, "exact")
    >>> print(*rates("group", "rate", [("sex F", quarter), "… 3 more"], None), sep="\\n")
    group       rate     95 % interval    n
    sex F     25.0 %  20.0 % to 30.0 %  400
    … 3 more
    """
    known = [row[1] for row in rows if not isinstance(row, str) and row[1].n]
    top = max((estimate.high for estimate in known), default=1.0)
    digits = number_text.decimals_for(100 * top, figures=3, most=4)
    levels = {estimate.level for estimate in known}
    level = next(iter(levels)) if len(levels) == 1 else 1.0
    cells = []
    for row in rows:
        if isinstance(row, str):
            cells.append((row, "", "", ""))
            continue
        label, found = row
        if not found.n:
            cells.append((label, "", NO_DATA, "0"))
            continue
        between = (
            number_text.between(found.low, found.high, digits) if found.level < 1 else found.method
        )
        cells.append(
            (label, number_text.percent(found.value, digits), between, number_text.count(found.n))
        )
    interval = f"{number_text.percent_level(level)} interval" if level < 1 else "interval"
    return table_of((what, rate, interval, "n"), cells, width, right=(1, 2, 3))


def table_of(
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    width: int | None,
    right: Iterable[int] = (),
) -> list[str]:
    """Return an aligned table as lines; in little width the texts of the first column are cut,
    never a number.
    """
    from rich.cells import cell_len
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    aligned, room = set(right), 10_000
    for place, heading in enumerate(headings):
        table.add_column(
            Text(heading), justify="right" if place in aligned else "left", no_wrap=True
        )
    if width is not None:
        columns = zip(headings, *rows, strict=True)
        widths = [
            2 + max(cell_len(line) for cell in column for line in cell.split("\n"))
            for column in columns
        ]
        room = max(LEAD, width - LEAD - sum(widths[1:]) - 2)
    for first, *others in rows:
        label = Text(printable(first))
        label.truncate(room, overflow="ellipsis")
        table.add_row(label, *(Text(printable(cell)) for cell in others))
    sheet = Console(
        file=StringIO(), width=10_000, color_system=None, force_jupyter=False, force_terminal=False
    )
    with sheet.capture() as captured:
        sheet.print(table)
    return [line.rstrip() for line in captured.get().splitlines()]
