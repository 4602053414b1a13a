"""A comparison as text: what was compared, where each mitigation stands, which may be best; and
tables of studies.
"""

from __future__ import annotations

import math
from typing import IO, TYPE_CHECKING, Any

from evenhand.methods.compare.regions import REGIONS, SHORT
from evenhand.report.lines import LEAD, Line, Screen, printable, table_of
from evenhand.runtime import number_text
from evenhand.statistics.estimate import Amount, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

    from evenhand.methods.compare.comparison import Comparison, Standing
    from evenhand.statistics.estimate import Estimate

MOST_NAMES = 6
"""The most names of one sentence."""
PIPED = 100
"""Columns that a table of a study takes at most where nobody knows the width."""
_METHODS = {
    "exact": "exact",
    "expected cells": "from expected cells",
    "in proportion": "in proportion to what is left alone",
    "monte carlo": "by the paper's repetitions",
}


def lines(comparison: Comparison, *, cases: int = 1, width: int | None = None) -> Iterator[Line]:
    """Tell a comparison as lines."""
    return _told(comparison, width)


def render_comparison(
    comparison: Comparison, file: IO[str] | None = None, *, console: Console | None = None
) -> None:
    """Print a comparison on standard output, or on the file or console given: on a terminal in
    colour.
    """
    screen = Screen(_on(file, console))
    screen.print(list(_told(comparison, screen.width)))


def render_table(
    frame: Any, title: str = "", file: IO[str] | None = None, *, console: Console | None = None
) -> None:
    """Print a table of a study, a pandas frame, in parts that fit the terminal, or 100 columns
    elsewhere.
    """
    screen = Screen(_on(file, console))
    screen.print(list(_tabled(frame, title, screen.width or PIPED)))


def table_lines(frame: Any, title: str = "", *, width: int = PIPED) -> list[str]:
    """Return a table of a study as lines of plain text: one that is too wide in parts, by model
    first.

    Columns that are named after a region hold shares, and are told in per cent.

    >>> import pandas as pd
    >>> shares = pd.DataFrame({"lose-lose": [0.19], "good trade-off": [float("nan")]}, index=["lfr"])
    >>> print(*table_lines(shares, "share of cases"), sep="\\n")
    share of cases
                         good
         lose-lose  trade-off
    lfr       19 %         NA
    """
    return [str(line) for line in _tabled(frame, title, width)]


def compare_lines(comparison: Comparison, *, width: int | None = None) -> list[str]:
    """Return a comparison as lines of plain text; the table is no wider than `width`, other lines
    are not broken.

    >>> from evenhand.methods.compare.compare import compare
    >>> sex, truth = ["f", "f", "f", "m", "m"] * 60, [0, 1, 0, 1, 1] * 60
    >>> told = {"original": [0, 0, 0, 1, 1] * 60, "right": truth}
    >>> lines = compare_lines(compare(told, truth, sex))
    >>> print(lines[0], lines[1], lines[-1], sep="\\n")
    right against blind overwriting of original: accuracy and spd, 300 rows (95 % level)
    baseline: predictions overwritten with 1, the label of the tightest line; exact
    PASS      right does better than blind overwriting
    """
    return [str(line) for line in _told(comparison, width)]


def about(comparison: Comparison, who: str = "") -> str:
    """Return what was compared: the mitigations, the original, both scores, the rows or runs, and
    the level.
    """
    names = [standing.name for standing in comparison.standings]
    who = who or (names[0] if len(names) == 1 else f"{len(names):,} mitigations")
    scores = f"{comparison.performance} and {comparison.bias}"
    return (
        f"{who} against blind overwriting of {comparison.original}: {scores}, {sampled(comparison)}"
        f" ({number_text.percent_level(comparison.level)} level)"
    )


def sampled(comparison: Comparison) -> str:
    """Return what the intervals rest on: rows that were resampled, or runs over splits.

    >>> from evenhand.methods.compare.compare import compare
    >>> sampled(compare({"original": [0, 1] * 50, "none": [0, 0] * 50}, [0, 1] * 50, ["f", "m"] * 50))
    '100 rows'
    """
    n, runs = comparison.start[0].n, comparison.runs
    if not comparison.resampled:
        return f"{runs:,} runs, each with a test set of its own"
    return f"{n:,} rows" if runs == 1 else f"{runs:,} runs on the same {n:,} rows"


def claim_of(standing: Standing) -> str:
    """Return the region of a mitigation if no other is plausible, and otherwise all that are, which
    claims none.
    """
    short = [SHORT.get(region, region) for region in standing.plausible]
    if len(short) == 1:
        return standing.region
    if len(short) == len(REGIONS):
        return "undecided: any region"
    said = joined(short, "or")
    return f"undecided: {said}" if standing.verdict is Verdict.UNDECIDED else said


def score_text(estimates: Sequence[Estimate]) -> list[str]:
    """Return scores with their intervals, with as many digits as the narrowest interval has a use
    for.

    >>> from evenhand.statistics.estimate import Estimate
    >>> score_text([Estimate(0.775, 0.766, 0.783, 400, 0.95, "bootstrap")])
    ['77.5 % (76.6 to 78.3)']
    """
    digits = _digits(estimates)
    interval_text = (
        number_text.points_between if _percent(estimates) else number_text.decimal_between
    )
    texts = []
    for one, value in zip(estimates, score_values(estimates), strict=True):
        interval = f" ({interval_text(one.low, one.high, digits)})" if one.high > one.low else ""
        texts.append(f"{value}{interval}")
    return texts


def score_values(estimates: Sequence[Estimate]) -> list[str]:
    """Return scores as `score_text` does, but without their intervals.

    >>> from evenhand.statistics.estimate import Estimate
    >>> score_values([Estimate(0.775, 0.766, 0.783, 400, 0.95, "bootstrap")])
    ['77.5 %']
    """
    digits = _digits(estimates)
    value_text = number_text.percent if _percent(estimates) else number_text.decimal
    return [value_text(one.value, digits) for one in estimates]


def _percent(estimates: Sequence[Estimate]) -> bool:
    return not isinstance(estimates[0], Amount)


def _digits(estimates: Sequence[Estimate]) -> int:
    """Return how many decimals show two figures of the narrowest interval."""
    scale, least = (100, 1) if _percent(estimates) else (1, 3)
    widths = [scale * (one.high - one.low) for one in estimates if one.high > one.low]
    return number_text.decimals_for(min(widths, default=0.0), least=least, most=least + 3)


def _told(comparison: Comparison, width: int | None) -> Iterator[Line]:
    line, start = comparison.baseline, comparison.start
    yield Line(about(comparison))
    label = "labels at random" if line.label is None else f"{line.label!r}"
    chosen = (
        ""
        if line.label is None or line.strategy == "label"
        else f", the label of the {line.strategy} line"
    )
    chosen = ", the commonest true label" if line.strategy == "majority" else chosen
    if line.strategy == "mean" and line.label is not None:
        label, chosen = f"{line.label:.6g}", ", the mean of the true values"
    yield Line(
        f"baseline: predictions overwritten with {label}{chosen};"
        f" {_METHODS.get(line.method, line.method)}"
    )
    population = next((f"; population: {one.population}" for one in start if one.population), "")
    yield Line(f"intervals: {start[0].method}{population}")
    both = [score_text([one])[0] for one in start]
    yield Line(
        f"{comparison.original}: {comparison.performance} {both[0]}, {comparison.bias} {both[1]}"
    )
    yield from _table(comparison, width)
    yield Line(_best(comparison))
    yield Line(_verdict(comparison), comparison.verdict)
    yield from (Line(f"note: {note}") for note in comparison.notes)


def _table(comparison: Comparison, width: int | None) -> Iterator[Line]:
    """Return a row for each mitigation after its verdict; if that is too long, its claim stands
    over its numbers.
    """
    from rich.cells import cell_len

    found = comparison.standings
    claims = [claim_of(standing) for standing in found]
    columns = [
        score_text([getattr(one, what) for one in found]) for what in ("performance", "bias")
    ]
    areas = ["–" if math.isnan(one.area) else _gain(one) for one in found]
    numbers = list(zip(*columns, areas, strict=True))
    headings = (comparison.performance, comparison.bias, "area")
    named = [
        (one.name, claim, *row) for one, claim, row in zip(found, claims, numbers, strict=True)
    ]
    full = table_of(("mitigation", "claim", *headings), named, None, (2, 3, 4))
    fits = width is None or LEAD + max(map(cell_len, full)) <= width
    rows = full if fits else table_of(headings, numbers, None, (0, 1, 2))
    indent = LEAD if fits or width is None else min(LEAD, max(0, width - max(map(cell_len, rows))))
    yield Line(rows[0], indent=indent, row=True)
    for one, claim, text in zip(found, claims, rows[1:], strict=True):
        if fits:
            yield Line(text, one.verdict, row=True)
        else:
            yield Line(f"{one.name}: {claim}", one.verdict)
            yield Line(text, indent=indent, row=True)


def _gain(standing: Standing) -> str:
    gain = standing.gain
    return f"{number_text.decimal(gain.value)} ({number_text.decimal_between(gain.low, gain.high)})"


def _best(comparison: Comparison) -> str:
    """Say which mitigation is furthest over the line, and which others may be."""
    if comparison.best is None:
        maybe = comparison.contenders
        return "best: none lies over the line" + (
            f"; the best may be {joined(maybe, 'or')}" if maybe else ""
        )
    others = [name for name in comparison.contenders if name != comparison.best]
    said = (
        f"best: {comparison.best}, with a gain of {_gain(comparison[comparison.best])} over the"
        " line"
    )
    if others:
        return f"{said}; it may as well be {joined(others, 'or')}"
    return said if len(comparison.standings) == 1 else f"{said}; no other may be the best"


def _verdict(comparison: Comparison) -> str:
    """Say which mitigations do better than blind overwriting, which do not, and of which that is
    open.
    """
    by = {
        verdict: [one.name for one in comparison.standings if one.verdict is verdict]
        for verdict in Verdict
    }
    said = {
        Verdict.FAIL: "{} no better than blind overwriting",
        Verdict.UNDECIDED: "whether {} better than blind overwriting is undecided",
        Verdict.PASS: "{} better than blind overwriting",
    }
    return "; ".join(
        text.format(f"{joined(by[verdict], 'and')} {'does' if len(by[verdict]) == 1 else 'do'}")
        for verdict, text in said.items()
        if by[verdict]
    )


def joined(names: Sequence[str], word: str) -> str:
    """Return names as a sentence lists them, of many the first."""
    shown = list(names)
    if len(shown) > MOST_NAMES:
        shown[MOST_NAMES - 1 :] = [f"{len(shown) - MOST_NAMES + 1:,} more"]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} {word} {shown[-1]}"


def _tabled(frame: Any, title: str, room: int) -> Iterator[Line]:
    if title:
        yield Line(title)
    for number, (name, rows) in enumerate(_parts(frame, room)):
        if number:
            yield Line("")
        if name:
            yield Line(name)
        yield from (Line(text, row=True) for text in rows)


def _parts(frame: Any, room: int, name: str = "") -> Iterator[tuple[str, list[str]]]:
    """Return a table by the outermost names of its columns where it is too wide, and then in
    halves.
    """
    from rich.cells import cell_len

    rows = _rows(frame)
    columns = frame.columns
    if max(map(cell_len, rows)) <= room or len(columns) == 1:
        yield name, rows
    elif columns.nlevels > 1:
        for outer in dict.fromkeys(columns.get_level_values(0)):
            yield from _parts(frame.xs(outer, axis=1, level=0), room, f"{name} {outer}".strip())
    else:
        middle = (len(columns) + 1) // 2
        yield from _parts(frame.iloc[:, :middle], room, name)
        yield from _parts(frame.iloc[:, middle:], room, name)


def _rows(frame: Any) -> list[str]:
    """Return a frame as lines: its index first, shares of regions in per cent, and "NA" where there
    is nothing.
    """
    import pandas as pd

    names = [name if isinstance(name, tuple) else (name,) for name in frame.columns]
    columns = [
        [_cell(value, share=bool(set(name) & set(REGIONS))) for value in frame.iloc[:, at].tolist()]
        for at, name in enumerate(names)
    ]
    headings = [_heading(name) for name in names]
    if not isinstance(frame.index, pd.RangeIndex):
        before = [
            [str(value) for value in frame.index.get_level_values(at)]
            for at in range(frame.index.nlevels)
        ]
        columns = before + columns
        headings = [str(name or "") for name in frame.index.names] + headings
    deep = max(heading.count("\n") for heading in headings)
    headings = ["\n" * (deep - heading.count("\n")) + heading for heading in headings]
    return table_of(
        headings,
        list(zip(*columns, strict=True)),
        None,
        range(len(columns) - len(names), len(columns)),
    )


def _heading(name: tuple[Any, ...]) -> str:
    return "\n".join(printable(str(part)).replace(" trade-off", "\ntrade-off") for part in name)


def _cell(value: Any, *, share: bool) -> str:
    import pandas as pd

    if pd.isna(value):
        return "NA"
    if isinstance(value, float):
        return number_text.percent(value, 0) if share else number_text.decimal(value)
    return number_text.count(value) if isinstance(value, int) else str(value)


def _on(file: IO[str] | None, console: Console | None) -> Console | None:
    from rich.console import Console

    return console if console is not None or file is None else Console(file=file)
