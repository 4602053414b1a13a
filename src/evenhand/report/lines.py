"""Lines of text, after a verdict or an indent, and tables, with nothing that a terminal obeys."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, replace
from io import StringIO
from typing import TYPE_CHECKING, Literal, TypeAlias

from evenhand.report.finding_text import NO_DATA
from evenhand.runtime import number_text
from evenhand.runtime.errors import printable as printable
from evenhand.statistics.estimate import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rich.console import Console

    from evenhand.results.evidence import Case
    from evenhand.statistics.estimate import Estimate

    RateRow: TypeAlias = tuple[str, Estimate] | str
    """A label with its estimate, or a text that stands alone in its row."""

LEAD = 10
"""The room for a verdict before a line, and the indent of what belongs to it."""
_NO_BREAK_SPACE = "\N{NO-BREAK SPACE}"
_WIDE_PAIR = 160
"""Columns that a pair of texts may take where lines are not broken."""
_UNBROKEN = 10_000
"""Columns that no table fills: rich breaks lines at the width of its console, and must not here."""
_COLOURS = {
    Verdict.FAIL: "bold red",
    Verdict.PASS: "bold green",
    Verdict.UNDECIDED: "bold yellow",
}


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
    word: str = ""
    """What stands in place of the verdict, where it is no verdict: that a check was not run."""

    @property
    def lead(self) -> str:
        """What stands before the text."""
        if self.verdict is None:
            return self.word.ljust(self.indent)
        return (self.word or self.verdict).upper().ljust(LEAD)

    def wrapped(self, width: int) -> list[str]:
        """Return the text on lines that leave room for the lead; a long word stays whole."""
        text = printable(self.text)
        if self.row or not text:
            return [text]
        room = max(20, width - len(self.lead))
        # A number and its unit are one word.
        unbroken = number_text.unbroken(text, _NO_BREAK_SPACE)
        parts = textwrap.wrap(
            unbroken, room, break_long_words=False, break_on_hyphens=False
        )
        return [part.replace(_NO_BREAK_SPACE, " ") for part in parts]

    def __str__(self) -> str:
        text = printable(self.text)
        return f"{self.lead}{text}".rstrip()


class Screen:
    """Where lines are printed: a terminal, in colour and as wide as it is, or a plain pipe."""

    def __init__(self, console: Console | None = None) -> None:
        from rich.console import Console

        self._console = console or Console()

    @property
    def width(self) -> int | None:
        """How many columns there are; None where lines are not broken."""
        return self._console.width if self._console.is_terminal else None

    @property
    def height(self) -> int | None:
        """How many lines there are; None where nobody has to see them at once."""
        return self._console.height if self._console.is_terminal else None

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
            first, *others = line.wrapped(console.width)
            style = _COLOURS[line.verdict] if line.verdict else ""
            with_lead = Text.assemble((line.lead, style), first)
            console.print(with_lead, soft_wrap=True, highlight=False)
            indent = " " * len(line.lead)
            for other in others:
                indented_text = Text(indent + other)
                console.print(indented_text, soft_wrap=True, highlight=False)


def fitted(line: Line, width: int) -> Iterator[Line]:
    """Yield a line as lines that fit, whatever they are printed on; a row of a table stays whole.

    >>> from evenhand.statistics.estimate import Verdict
    >>> print(*fitted(Line("changing only sex matters", Verdict.FAIL), 30), sep="\\n")
    FAIL      changing only sex
              matters
    """
    if line.row or not line.text:
        yield line
        return
    indent = len(line.lead)
    first, *others = broken(line.text, max(20, width - indent))
    yield replace(line, text=first, row=True)
    for other in others:
        yield Line(other, indent=indent, row=True)


def broken(text: str, room: int) -> list[str]:
    """Return text on lines of so many columns of a terminal, of which some letters take two.

    Lines end between words; a word that is too long for a line is broken.

    >>> broken("sex male, age 31", 10), broken("年齢と性別", 6)
    (['sex male,', 'age 31'], ['年齢と', '性別'])
    """
    from rich.cells import chop_cells

    # A number and its unit are one word.
    unbroken = number_text.unbroken(printable(text), _NO_BREAK_SPACE)
    lines: list[str] = []
    line = ""
    for word in unbroken.split(" "):
        longer = f"{line} {word}" if line else word
        if width_of(longer) <= room:
            line = longer
            continue
        if line:
            lines.append(line)
        *whole, line = chop_cells(word, room) or [""]
        lines += whole
    lines.append(line)
    return [line.replace(_NO_BREAK_SPACE, " ") for line in lines]


def cut_to(text: str, room: int) -> str:
    """Return text in so many columns of a terminal, with dots where it is cut.

    >>> cut_to("race purple", 8), cut_to("年齢と性別", 8)
    ('race pu…', '年齢と…')
    """
    from rich.text import Text

    # Of a text of many megabytes only the beginning is looked at.
    beginning = Text(printable(text[: 10 * room]))
    beginning.truncate(room, overflow="ellipsis")
    return beginning.plain.replace(" …", "…")


def width_of(text: str) -> int:
    """Return how many columns of a terminal a text takes on one line.

    >>> width_of("age"), width_of("年齢")
    (3, 4)
    """
    from rich.cells import cell_len

    return cell_len(printable(text))


def indented(texts: Iterable[str]) -> Iterator[Line]:
    """Return the rows of a table as lines under what they belong to."""
    return (Line(text, indent=LEAD, row=True) for text in texts)


def twins(case: Case, width: int | None) -> list[str]:
    """Return a table of two inputs side by side, what differs marked."""
    rows = []
    for name in case.individual:
        value, twin_value = case.shown(name)
        difference = "differs" if name in case.changed else ""
        rows.append((name, str(value), str(twin_value), difference))
    outcome, twin_outcome = case.outcome_texts
    rows.append(("outcome", str(outcome), str(twin_outcome), "differs"))
    if case.unusual:
        rows.append(("realism", *case.realism_words, ""))
    return table_of(("", "individual", "twin", ""), rows, width)


def shown_cases(cases: Sequence[Case], most: int, width: int | None) -> Iterator[Line]:
    """Yield some cases: a single one as a line, more as tables.

    Two texts are a line each, with what differs in sight.

    >>> from evenhand.results.evidence import Case
    >>> texts = {"text": "I am a ⟦gay⟧ man"}, {"text": "I am a ⟦straight⟧ man"}
    >>> print(*shown_cases([Case(*texts, ("rude", "fine"))], 1, None), sep="\\n")
              for example
                rude: I am a ⟦gay⟧ man
                fine: I am a ⟦straight⟧ man
    """
    for case in cases[:most]:
        if "⟦" in str(case.individual.get("text", "")):
            yield Line("for example", indent=LEAD)
            for text in _pair(case, width):
                yield Line(text, indent=LEAD + 2)
        elif most == 1:
            yield Line(f"for example {case}", indent=LEAD)
        else:
            yield from indented(twins(case, width))


def _pair(case: Case, width: int | None) -> list[str]:
    """Return two texts after their outcomes, with what fits around the place where they differ."""
    outcomes = [_outcome_text(outcome) for outcome in case.outcomes_shown]
    texts = [
        _on_one_line(case.individual["text"]),
        _on_one_line(case.twin["text"]),
    ]
    # Both outcomes get a column as wide as the longer one, with its colon and two indents.
    widest = max(map(len, outcomes))
    columns = width or _WIDE_PAIR
    room = max(40, columns - LEAD - widest - 4)
    start = _start_of_excerpt(texts, room)
    lines = []
    for outcome, text in zip(outcomes, texts, strict=True):
        label = f"{outcome}:".ljust(widest + 1)
        excerpt = _excerpt(text, start, room)
        lines.append(f"{label} {excerpt}")
    return lines


def _outcome_text(outcome: object) -> str:
    if isinstance(outcome, float):
        return f"{outcome:.3f}"
    return str(outcome)


def _on_one_line(text: object) -> str:
    return " ".join(str(text).split())


def _start_of_excerpt(texts: Sequence[str], room: int) -> int:
    """Return from where on to show two texts: a word some way before the first difference."""
    first, _ = texts
    difference = 0
    for place, letters in enumerate(zip(*texts, strict=False)):
        if len(set(letters)) > 1:
            difference = place
            break
    if difference < room // 2:
        return 0
    before_difference = difference - room // 3
    return first.rfind(" ", 0, before_difference) + 1


def _excerpt(text: str, start: int, room: int) -> str:
    """Return what fits of a text from a place on, without the second of its own marks."""
    part = text[start:]
    if start:
        part = "…" + part
    if len(part) > room:
        part = part[: room - 1]
        # The cut is at the end of a word, unless that is far away.
        end_of_word = part.rfind(" ", room // 2) + 1
        part = part[: end_of_word or room] + "…"
    return part.replace("⟦⟦", "⟦").replace("⟧⟧", "⟧")


def rates(what: str, rate: str, rows: Sequence[RateRow], width: int | None) -> list[str]:
    """Return a table of estimates under the headings of what they are of and what they say.

    A text is a row of its own.

    >>> from evenhand.statistics.estimate import Estimate
    >>> quarter = Estimate(0.25, 0.2, 0.3, 400, 0.95, "exact")
    >>> print(*rates("group", "rate", [("sex F", quarter), "… 3 more"], None), sep="\\n")
    group       rate     95 % interval    n
    sex F     25.0 %  20.0 % to 30.0 %  400
    … 3 more
    """
    known = []
    for row in rows:
        if isinstance(row, str):
            continue
        _, estimate = row
        if estimate.n:
            known.append(estimate)
    # The largest rate sets the digits of all, so that the column lines up.
    highest = max((estimate.high for estimate in known), default=1.0)
    digits = number_text.decimals_for(100 * highest, figures=3, most=4)
    cells = [_rate_cells(row, digits) for row in rows]
    headings = (what, rate, _interval_heading(known), "n")
    return table_of(headings, cells, width, right=(1, 2, 3))


def _rate_cells(row: RateRow, digits: int) -> Sequence[str]:
    if isinstance(row, str):
        return (row, "", "", "")
    label, estimate = row
    if not estimate.n:
        return (label, "", NO_DATA, "0")
    if estimate.unit == "amount":
        interval = estimate.interval_text or estimate.method
        return (label, estimate.value_text, interval, number_text.count(estimate.n))
    interval = estimate.method
    if estimate.level < 1:
        interval = number_text.between(estimate.low, estimate.high, digits)
    value = number_text.percent(estimate.value, digits)
    return (label, value, interval, number_text.count(estimate.n))


def _interval_heading(estimates: Sequence[Estimate]) -> str:
    """Return the heading of intervals, with their level where all have the same one."""
    levels = {estimate.level for estimate in estimates}
    if len(levels) != 1:
        return "interval"
    (level,) = levels
    if level == 1:
        return "interval"
    heading = f"{number_text.percent_level(level)} interval"
    if all(estimate.descriptive for estimate in estimates):
        return f"{heading}, descriptive"
    return heading


def table_of(
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    width: int | None,
    right: Iterable[int] = (),
) -> list[str]:
    """Return an aligned table as lines.

    In little width the texts of the first column are cut, never a number.
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    right_aligned = set(right)
    for place, heading in enumerate(headings):
        side: Literal["left", "right"] = "left"
        if place in right_aligned:
            side = "right"
        table.add_column(Text(heading), justify=side, no_wrap=True)
    room = _UNBROKEN
    if width is not None:
        room = _room_for_labels(headings, rows, width)
    for first, *others in rows:
        label = Text(printable(first))
        label.truncate(room, overflow="ellipsis")
        cells = [Text(printable(cell)) for cell in others]
        table.add_row(label, *cells)
    sheet = Console(
        file=StringIO(),
        width=_UNBROKEN,
        color_system=None,
        force_jupyter=False,
        force_terminal=False,
    )
    with sheet.capture() as captured:
        sheet.print(table)
    return [line.rstrip() for line in captured.get().splitlines()]


def _room_for_labels(
    headings: Sequence[str], rows: Sequence[Sequence[str]], width: int
) -> int:
    """Return how many columns are left for the labels when all other cells are whole."""
    _, *others = zip(headings, *rows, strict=True)
    taken = 2  # between the labels and the first of the other columns
    for column in others:
        taken += 2 + _widest(column)
    return max(LEAD, width - LEAD - taken)


def _widest(cells: Iterable[str]) -> int:
    """Return how many columns of a terminal the widest line of some cells takes."""
    from rich.cells import cell_len

    lines = "\n".join(cells).split("\n")
    return max(cell_len(line) for line in lines)
