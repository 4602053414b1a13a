"""A comparison as text, and tables of studies as text."""

from __future__ import annotations

import math
from typing import IO, TYPE_CHECKING, Any

from evenhand.methods.compare import messages
from evenhand.methods.compare.regions import REGIONS, SHORT
from evenhand.report.lines import LEAD, Line, Screen, printable, table_of
from evenhand.runtime import number_text
from evenhand.runtime.language import say, term
from evenhand.statistics.estimate import Amount, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

    from evenhand.methods.compare.comparison import Baseline, Comparison, Standing
    from evenhand.statistics.estimate import Estimate

MOST_NAMES = 6
"""The most names of one sentence."""
PIPED = 100
"""Columns that a table of a study takes at most where nobody knows the width."""
_METHODS = {
    "exact": messages.LINE_EXACT,
    "expected cells": messages.LINE_FROM_EXPECTED_CELLS,
    "in proportion": messages.LINE_IN_PROPORTION,
    "monte carlo": messages.LINE_BY_REPETITIONS,
}


def lines(
    comparison: Comparison,
    *,
    cases: int = 1,
    width: int | None = None,
) -> Iterator[Line]:
    """Return a comparison as lines."""
    return _comparison_lines(comparison, width)


def render_comparison(
    comparison: Comparison,
    file: IO[str] | None = None,
    *,
    console: Console | None = None,
) -> None:
    """Print a comparison on standard output, or on the file or console given.

    On a terminal it is in colour.
    """
    screen = Screen(_console(file, console))
    screen.print(list(_comparison_lines(comparison, screen.width)))


def render_table(
    frame: Any,
    title: str = "",
    file: IO[str] | None = None,
    *,
    console: Console | None = None,
) -> None:
    """Print a table of a study, a pandas frame, in parts that fit the terminal.

    Elsewhere the parts fit 100 columns.
    """
    screen = Screen(_console(file, console))
    width = screen.width or PIPED
    screen.print(list(_table_of_study(frame, title, width)))


def table_lines(
    frame: Any,
    title: str = "",
    *,
    width: int = PIPED,
) -> list[str]:
    """Return a table of a study as lines of plain text, in parts by model if it is too wide.

    Columns that are named after a region hold shares, which are written in per cent.

    >>> import pandas as pd
    >>> columns = {"lose-lose": [0.19], "good trade-off": [float("nan")]}
    >>> print(*table_lines(pd.DataFrame(columns, index=["lfr"]), "share of cases"), sep="\\n")
    share of cases
                         good
         lose-lose  trade-off
    lfr       19 %         NA
    """
    return [str(line) for line in _table_of_study(frame, title, width)]


def compare_lines(
    comparison: Comparison,
    *,
    width: int | None = None,
) -> list[str]:
    """Return a comparison as lines of plain text.

    The table is no wider than `width`; other lines are not broken.

    >>> from evenhand.methods.compare.compare import compare
    >>> sex, truth = ["f", "f", "f", "m", "m"] * 60, [0, 1, 0, 1, 1] * 60
    >>> outcomes = {"original": [0, 0, 0, 1, 1] * 60, "right": truth}
    >>> lines = compare_lines(compare(outcomes, truth, sex))
    >>> print(lines[0], lines[1], lines[-1], sep="\\n")
    right against blind overwriting of original: accuracy and spd, 300 rows (95 % level)
    baseline: predictions overwritten with 1, the label of the tightest line; exact
    PASS      right does better than blind overwriting
    """
    return [str(line) for line in _comparison_lines(comparison, width)]


def about(comparison: Comparison, mitigations: str = "") -> str:
    """Return what was compared: mitigations, original, scores, rows or runs, and the level."""
    names = [standing.name for standing in comparison.standings]
    if not mitigations and len(names) == 1:
        mitigations = names[0]
    elif not mitigations:
        mitigations = say(messages.MITIGATIONS, number=number_text.count(len(names)))
    if comparison.published:
        return say(
            messages.ABOUT_PUBLISHED, mitigations=mitigations, original=comparison.original
        )
    return say(
        messages.ABOUT,
        mitigations=mitigations,
        original=comparison.original,
        performance=comparison.performance,
        bias=comparison.bias,
        sample=sampled(comparison),
        level=number_text.percent_level(comparison.level),
    )


def sampled(comparison: Comparison) -> str:
    """Return what the intervals rest on: rows that were resampled, or runs over splits.

    >>> from evenhand.methods.compare.compare import compare
    >>> outcomes = {"original": [0, 1] * 50, "none": [0, 0] * 50}
    >>> sampled(compare(outcomes, [0, 1] * 50, ["f", "m"] * 50))
    '100 rows'
    """
    runs = number_text.count(comparison.runs)
    rows = number_text.count(comparison.start[0].n)
    if not comparison.resampled:
        return say(messages.RUNS_WITH_TEST_SETS, runs=runs)
    if comparison.runs == 1:
        return say(messages.ROWS, rows=rows)
    return say(messages.RUNS_ON_THE_SAME_ROWS, runs=runs, rows=rows)


def claim_of(standing: Standing) -> str:
    """Return the region of a mitigation if no other is plausible, and otherwise all that are."""
    regions = [SHORT.get(region, region) for region in standing.plausible]
    if len(regions) == 1:
        return standing.region
    if len(regions) == len(REGIONS):
        return messages.ANY_REGION
    alternatives = joined(regions, "or")
    if standing.verdict is Verdict.UNDECIDED:
        return messages.UNDECIDED_REGIONS.format(regions=alternatives)
    return alternatives


def score_text(estimates: Sequence[Estimate]) -> list[str]:
    """Return scores with their intervals, with as many digits as the narrowest interval needs.

    >>> from evenhand.statistics.estimate import Estimate
    >>> score_text([Estimate(0.775, 0.766, 0.783, 400, 0.95, "bootstrap")])
    ['77.5 % (76.6 to 78.3)']
    """
    digits = _digits(estimates)
    interval_text = number_text.decimal_between
    if _are_shares(estimates):
        interval_text = number_text.points_between
    texts = []
    for estimate, value in zip(estimates, score_values(estimates), strict=True):
        if estimate.high > estimate.low:
            interval = interval_text(estimate.low, estimate.high, digits)
            texts.append(f"{value} ({interval})")
        else:
            texts.append(value)
    return texts


def score_values(estimates: Sequence[Estimate]) -> list[str]:
    """Return scores as `score_text` does, but without their intervals.

    >>> from evenhand.statistics.estimate import Estimate
    >>> score_values([Estimate(0.775, 0.766, 0.783, 400, 0.95, "bootstrap")])
    ['77.5 %']
    """
    digits = _digits(estimates)
    value_text = number_text.percent if _are_shares(estimates) else number_text.decimal
    return [value_text(estimate.value, digits) for estimate in estimates]


def _are_shares(estimates: Sequence[Estimate]) -> bool:
    return not isinstance(estimates[0], Amount)


def _digits(estimates: Sequence[Estimate]) -> int:
    """Return how many decimals show two figures of the narrowest interval."""
    scale, least = (100, 1) if _are_shares(estimates) else (1, 3)
    widths = [scale * (estimate.high - estimate.low) for estimate in estimates]
    narrowest = min((width for width in widths if width > 0), default=0.0)
    return number_text.decimals_for(narrowest, least=least, most=least + 3)


def _comparison_lines(
    comparison: Comparison,
    width: int | None,
) -> Iterator[Line]:
    performance, bias = comparison.start
    yield Line(about(comparison))
    yield Line(_baseline(comparison.baseline))
    yield Line(intervals_of(comparison))
    yield Line(messages.REGIONS_TOGETHER)
    original = messages.ORIGINAL.format(
        name=comparison.original,
        performance=comparison.performance,
        performance_score=score_text([performance])[0],
        bias=comparison.bias,
        bias_score=score_text([bias])[0],
    )
    yield Line(original)
    yield from _table(comparison, width)
    yield Line(_best(comparison))
    yield Line(_verdict(comparison), comparison.verdict)
    for note in comparison.notes:
        yield Line(f"note: {note}")


def _baseline(line: Baseline) -> str:
    """Return what predictions are overwritten with, and how the line is computed."""
    method = _METHODS.get(line.method, line.method)
    if line.method == messages.GIVEN:
        points = number_text.count(len(line.bias))
        return messages.BASELINE_OF_POINTS.format(points=points)
    if line.label is None:
        return messages.BASELINE_OF_RANDOM_LABELS.format(method=method)
    if line.strategy == "mean":
        mean = number_text.figures(line.label)  # type: ignore[arg-type]
        return messages.BASELINE_OF_THE_MEAN.format(mean=mean, method=method)
    label = repr(line.label)
    if line.strategy == "majority":
        return messages.BASELINE_OF_THE_MAJORITY.format(label=label, method=method)
    if line.strategy == "label":
        return messages.BASELINE_OF_A_LABEL.format(label=label, method=method)
    return messages.BASELINE_OF_A_STRATEGY.format(
        label=label,
        strategy=line.strategy,
        method=method,
    )


def intervals_of(comparison: Comparison) -> str:
    """Return how the intervals of a comparison were found; of published scores there are none."""
    if comparison.published:
        return messages.NO_INTERVALS
    performance, bias = comparison.start
    return intervals_text(performance.method, performance.population or bias.population)


def intervals_text(method: str, population: str) -> str:
    """Return how intervals were found, and for which population."""
    if not population:
        return say(messages.INTERVALS, method=method)
    shown = term(population)
    return say(messages.INTERVALS_OF_POPULATION, method=method, population=shown)


def _table(comparison: Comparison, width: int | None) -> Iterator[Line]:
    """Return a row for each mitigation after its verdict.

    Where that is too long, the claim of a mitigation stands over its numbers.
    """
    standings = comparison.standings
    claims = [claim_of(standing) for standing in standings]
    numbers = _numbers(standings)
    headings = (comparison.performance, comparison.bias, "area")
    named = []
    for standing, claim, row in zip(standings, claims, numbers, strict=True):
        named.append((standing.name, claim, *row))
    rows = table_of(("mitigation", "claim", *headings), named, None, (2, 3, 4))
    if width is None or LEAD + _widest(rows) <= width:
        yield Line(rows[0], indent=LEAD, row=True)
        for standing, text in zip(standings, rows[1:], strict=True):
            yield Line(text, standing.verdict, row=True)
        return
    rows = table_of(headings, numbers, None, (0, 1, 2))
    left_over = max(0, width - _widest(rows))
    indent = min(LEAD, left_over)
    yield Line(rows[0], indent=indent, row=True)
    for standing, claim, text in zip(standings, claims, rows[1:], strict=True):
        yield Line(f"{standing.name}: {claim}", standing.verdict)
        yield Line(text, indent=indent, row=True)


def _numbers(standings: Sequence[Standing]) -> list[tuple[str, str, str]]:
    """Return performance, bias and area of each mitigation, as texts."""
    performances = score_text([standing.performance for standing in standings])
    biases = score_text([standing.bias for standing in standings])
    areas = [_area(standing) for standing in standings]
    return list(zip(performances, biases, areas, strict=True))


def _area(standing: Standing) -> str:
    # A good trade-off gains its area; other regions have none.
    return "–" if math.isnan(standing.area) else _gain(standing)


def _gain(standing: Standing) -> str:
    gain = standing.gain
    value = number_text.decimal(gain.value)
    if gain.low == gain.high and not gain.n:
        return value
    interval = number_text.decimal_between(gain.low, gain.high)
    return f"{value} ({interval})"


def _best(comparison: Comparison) -> str:
    """Return which mitigation is furthest over the line, and which others may be."""
    best = comparison.best
    contenders = comparison.contenders
    if best is None:
        if not contenders:
            return messages.NONE_OVER_THE_LINE
        return messages.NONE_OVER_THE_LINE_BUT.format(names=joined(contenders, "or"))
    gain = _gain(comparison[best])
    others = [name for name in contenders if name != best]
    if others:
        return messages.BEST_OR_OTHERS.format(
            name=best, gain=gain, others=joined(others, "or")
        )
    if len(comparison.standings) == 1:
        return messages.BEST.format(name=best, gain=gain)
    return messages.BEST_OF_ALL.format(name=best, gain=gain)


def _verdict(comparison: Comparison) -> str:
    """Return which mitigations do better than blind overwriting, and which do not or may not."""
    clauses = []
    for verdict in (Verdict.FAIL, Verdict.UNDECIDED, Verdict.PASS):
        names = [
            standing.name
            for standing in comparison.standings
            if standing.verdict is verdict
        ]
        if names:
            clauses.append(_verdict_on(names, verdict))
    return "; ".join(clauses)


def _verdict_on(names: Sequence[str], verdict: Verdict) -> str:
    """Return the verdict that some mitigations share."""
    together = joined(names, "and")
    single = len(names) == 1
    if verdict is Verdict.FAIL:
        if single:
            return messages.ONE_IS_NO_BETTER.format(name=together)
        return messages.SEVERAL_ARE_NO_BETTER.format(names=together)
    if verdict is Verdict.UNDECIDED:
        if single:
            return messages.ONE_IS_UNDECIDED.format(name=together)
        return messages.SEVERAL_ARE_UNDECIDED.format(names=together)
    if single:
        return messages.ONE_IS_BETTER.format(name=together)
    return messages.SEVERAL_ARE_BETTER.format(names=together)


def joined(names: Sequence[str], word: str) -> str:
    """Return names as a sentence lists them, of many the first."""
    shown = list(names)
    if len(shown) > MOST_NAMES:
        more = len(shown) - MOST_NAMES + 1
        rest = f"{number_text.count(more)} more"
        shown[MOST_NAMES - 1 :] = [rest]
    if len(shown) == 1:
        return shown[0]
    *first, last = shown
    return f"{', '.join(first)} {word} {last}"


def _table_of_study(frame: Any, title: str, room: int) -> Iterator[Line]:
    if title:
        yield Line(title)
    for number, (name, rows) in enumerate(_parts(frame, room)):
        if number:
            yield Line("")
        if name:
            yield Line(name)
        for text in rows:
            yield Line(text, row=True)


def _parts(
    frame: Any,
    room: int,
    name: str = "",
) -> Iterator[tuple[str, list[str]]]:
    """Return a table as parts that fit: by the outermost names of its columns, then in halves."""
    rows = _rows(frame)
    columns = frame.columns
    if _widest(rows) <= room or len(columns) == 1:
        yield name, rows
    elif columns.nlevels > 1:
        for outer in dict.fromkeys(columns.get_level_values(0)):
            part = frame.xs(outer, axis=1, level=0)
            yield from _parts(part, room, f"{name} {outer}".strip())
    else:
        middle = (len(columns) + 1) // 2
        left_half = frame.iloc[:, :middle]
        right_half = frame.iloc[:, middle:]
        yield from _parts(left_half, room, name)
        yield from _parts(right_half, room, name)


def _widest(rows: Sequence[str]) -> int:
    """Return the columns of a terminal that the longest of some lines takes."""
    from rich.cells import cell_len

    return max(map(cell_len, rows))


def _rows(frame: Any) -> list[str]:
    """Return a frame as lines, its index first.

    Shares of regions are in per cent, and "NA" stands where there is nothing.
    """
    import pandas as pd

    headings = []
    columns = []
    if not isinstance(frame.index, pd.RangeIndex):
        for level, name in enumerate(frame.index.names):
            values = frame.index.get_level_values(level)
            headings.append(str(name or ""))
            columns.append([str(value) for value in values])
    index_columns = len(columns)
    for at, name in enumerate(frame.columns):
        parts = name if isinstance(name, tuple) else (name,)
        share = bool(set(parts) & set(REGIONS))
        values = frame.iloc[:, at].tolist()
        headings.append(_heading(parts))
        columns.append([_cell(value, share=share) for value in values])
    # Headings of several lines stand on the bottom line together.
    deepest = max(heading.count("\n") for heading in headings)
    headings = [_lowered(heading, deepest) for heading in headings]
    rows = list(zip(*columns, strict=True))
    numbers = range(index_columns, len(columns))
    return table_of(headings, rows, None, numbers)


def _lowered(heading: str, lines: int) -> str:
    """Return a heading with empty lines before it."""
    missing = lines - heading.count("\n")
    return "\n" * missing + heading


def _heading(parts: tuple[Any, ...]) -> str:
    lines = "\n".join(printable(str(part)) for part in parts)
    return lines.replace(" trade-off", "\ntrade-off")


def _cell(value: Any, *, share: bool) -> str:
    import pandas as pd

    if pd.isna(value):
        return "NA"
    if isinstance(value, float):
        return number_text.percent(value, 0) if share else number_text.decimal(value)
    return number_text.count(value) if isinstance(value, int) else str(value)


def _console(
    file: IO[str] | None,
    console: Console | None,
) -> Console | None:
    from rich.console import Console

    if console is not None or file is None:
        return console
    return Console(file=file)
