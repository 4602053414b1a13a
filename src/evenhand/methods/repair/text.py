"""A repair as text: what came of it, everything it changed, its steps, and how to use the model."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from evenhand.methods.compare.comparison import BETTER
from evenhand.methods.compare.text import claim_of, joined
from evenhand.methods.repair import messages
from evenhand.methods.repair.plot_steps import aim_of, name_of
from evenhand.methods.repair.steps import AIM, NOTHING, judged
from evenhand.report.finding_text import NO_DATA
from evenhand.report.lines import LEAD, Line, Screen, table_of
from evenhand.runtime import number_text
from evenhand.statistics.estimate import Amount, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from os import PathLike

    from rich.console import Console

    from evenhand.methods.repair.repair_result import Repair
    from evenhand.methods.repair.steps import RepairCheck, Step
    from evenhand.statistics.estimate import Estimate


def lines(repair: Repair, *, cases: int = 1, width: int | None = None) -> Iterator[Line]:
    """Return a repair as lines."""
    return _all_lines(repair, width)


def render_repair(
    repair: Repair, file: IO[str] | None = None, *, console: Console | None = None
) -> None:
    """Print a repair on standard output, or on the file or console given."""
    screen = Screen(_on(file, console))
    screen.print(list(_all_lines(repair, screen.width)))


def render_written(
    repair: Repair,
    path: str | PathLike[str] | None,
    file: IO[str] | None = None,
    *,
    console: Console | None = None,
) -> None:
    """Print where the repaired model is, and how it is loaded and tested; None is nowhere."""
    screen = Screen(_on(file, console))
    screen.print(list(_written(repair, path)))


def repair_lines(repair: Repair, *, width: int | None = None) -> list[str]:
    """Return a repair as lines of plain text.

    Tables are no wider than `width`; other lines are not broken.

    >>> from evenhand.runtime.budget import Spent
    >>> from evenhand.statistics.estimate import Estimate
    >>> from evenhand.methods.repair.change import PairedChange
    >>> from evenhand.methods.repair.repair_result import Repair
    >>> from evenhand.methods.repair.steps import NO_HELP, RepairCheck
    >>> fifth, most = Estimate.exact(4, 20), Estimate.exact(16, 20)
    >>> aim = RepairCheck("sex, all inputs", "aim", fifth, fifth)
    >>> accuracy = RepairCheck("accuracy", "performance", most, most)
    >>> change = PairedChange.none(fifth)
    >>> found = {"outcome": NO_HELP, "change": change, "checks": (aim, accuracy)}
    >>> found |= {"history": (), "comparisons": {}, "sizes": {"training": 60, "test": 20}}
    >>> about = {"method": "augment", "over": ("sex",), "about": ("sex",)}
    >>> how = {"seed": 0, "level": 0.95, "tolerance": 0.01, "limit": None}
    >>> repair = Repair(**found, **about, **how, spent=Spent(40, 40, 0.1))
    >>> print(*repair_lines(repair), sep="\\n")
    FAIL      sex: no step helped; the model was left as it is (20 %)
              share of discriminatory inputs: 20.0 % (n = 20, enumerated)
    check             score   n
    sex, all inputs  20.0 %  20
    accuracy         80.0 %  20
    augment over sex, seed 0; rows: 60 for training, 20 for test
    40 inputs asked, 40 executed, 0.1 s
    """
    return [str(line) for line in _all_lines(repair, width)]


def _all_lines(repair: Repair, width: int | None) -> Iterator[Line]:
    yield Line(repair.claim, repair.verdict)
    for text in _facts(repair):
        yield Line(text, indent=LEAD)
    yield from _checks(repair, width)
    yield from _history(repair, width)
    for note in repair.notes:
        yield Line(messages.NOTE.format(note=note))
    if repair.handover is not None:
        yield Line(repair.handover.sentence)
    yield Line(_how(repair))
    spent = repair.spent
    effort = messages.EFFORT.format(
        asked=number_text.count(spent.queries),
        executed=number_text.count(spent.executed),
        seconds=number_text.seconds(spent.seconds),
    )
    yield Line(effort)


def _how(repair: Repair) -> str:
    """Return how the repair was made, in one line."""
    sizes = []
    for purpose, size in repair.sizes.items():
        rows = messages.ROWS_FOR.format(rows=number_text.count(size), purpose=purpose)
        sizes.append(rows)
    return messages.HOW_IT_WAS_MADE.format(
        method=repair.method,
        features=", ".join(repair.over),
        seed=repair.seed,
        rows=", ".join(sizes),
    )


def _facts(repair: Repair) -> Iterator[str]:
    """Yield the claim with its intervals, where it stands, and every reason why it is no pass."""
    score = messages.GAP_OF_SUBGROUP
    if isinstance(repair.about, tuple):
        score = aim_of(repair)
    if repair.changed:
        change = repair.change
        yield messages.SCORE_BEFORE_AND_AFTER.format(
            score=score,
            before=_score(change.before),
            after=_score(change.after),
            part=_part_gone(change.fewer),
        )
        yield ", ".join(_basis(change.after))
        yield _standing(repair)
    else:
        yield messages.SCORE_UNCHANGED.format(score=score, before=repair.before)
    yield from reasons(repair)


def _basis(estimate: Estimate) -> list[str]:
    """Return the level, n, method and population of an estimate, as far as it has them."""
    basis = []
    if estimate.level_text:
        basis.append(estimate.level_text)
    basis.append(messages.SAMPLE_SIZE.format(n=number_text.count(estimate.n)))
    basis.append(estimate.method)
    if estimate.population:
        basis.append(messages.POPULATION.format(population=estimate.population))
    return basis


def _part_gone(fewer: Amount) -> str:
    """Return which part of the score is gone, or by which part it grew, with its interval."""
    if not math.isfinite(fewer.value):
        return messages.NONE_BEFORE
    size = number_text.percent_figures(abs(fewer.value))
    if fewer.high < 0 or fewer.value < 0:
        part = messages.PART_MORE.format(percent=size)
    else:
        part = messages.PART_FEWER.format(percent=size)
    if fewer.low == fewer.high:
        return part
    interval = _part_interval(fewer)
    return messages.PART_WITH_INTERVAL.format(part=part, interval=interval)


def _part_interval(fewer: Amount) -> str:
    one_sided = fewer.low * fewer.high > 0
    if one_sided and math.isfinite(fewer.low):
        # Both ends are of one sign, which the part itself has named.
        least, most = sorted([abs(fewer.low), abs(fewer.high)])
        return number_text.points_figures(least, most)
    low = messages.ANY_NUMBER_MORE
    if math.isfinite(fewer.low):
        low = messages.PART_MORE.format(percent=number_text.percent_figures(-fewer.low))
    if fewer.high < 0:
        high = messages.PART_MORE.format(percent=number_text.percent_figures(-fewer.high))
    else:
        high = messages.PART_FEWER.format(percent=number_text.percent_figures(fewer.high))
    return messages.PART_BETWEEN.format(low=low, high=high)


def _standing(repair: Repair) -> str:
    """Return where the repair stands against giving up accuracy, by each bias compared."""
    if not repair.comparisons:
        return messages.STANDING_NOT_COMPARED
    axes_by_claim: dict[str, list[str]] = {}
    for axis, found in repair.comparisons.items():
        claim = claim_of(found.standings[0])
        name = messages.WHAT_WAS_REPAIRED if axis == AIM else axis
        axes_by_claim.setdefault(claim, []).append(name)
    claims = []
    for claim, axes in axes_by_claim.items():
        claims.append(messages.CLAIM_BY_AXES.format(claim=claim, axes=joined(axes, "and")))
    return messages.STANDING.format(claims="; ".join(claims))


def reasons(repair: Repair) -> Iterator[str]:
    """Yield what speaks against the repair, as its verdict counts it."""
    if repair.limit is not None:
        yield _reason_of_limit(repair, repair.limit)
    if not repair.changed:
        return
    if repair.change.verdict == "unsure":
        yield messages.CHANGE_TOO_SMALL
    yield from repair.side_effects
    better = [region in BETTER for region in repair.plausible]
    if not better:
        yield messages.NOT_COMPARED
    elif not any(better):
        yield messages.NO_BETTER_THAN_OVERWRITING
    elif not all(better):
        yield messages.PERHAPS_NO_BETTER_THAN_OVERWRITING
    if repair.loss is not Verdict.PASS:
        yield _reason_of_performance(repair)


def _reason_of_limit(repair: Repair, limit: float) -> str:
    verdict = repair.after.verdict(limit)
    limit_text = number_text.limit(limit, repair.after.unit)
    if verdict == Verdict.PASS:
        return messages.UNDER_LIMIT.format(limit=limit_text)
    if verdict == Verdict.FAIL:
        return messages.NOT_UNDER_LIMIT.format(limit=limit_text)
    return messages.PERHAPS_NOT_UNDER_LIMIT.format(limit=limit_text)


def _reason_of_performance(repair: Repair) -> str:
    performance = repair.performance
    name = name_of(performance)
    if isinstance(performance.before, Amount):
        tolerated = number_text.plain(repair.tolerance)
    else:
        tolerated = number_text.points_plain(repair.tolerance)
    if repair.loss is Verdict.FAIL:
        return messages.PERFORMANCE_SURELY_FELL.format(name=name, tolerated=tolerated)
    return messages.PERFORMANCE_PERHAPS_FELL.format(name=name, tolerated=tolerated)


@dataclass
class _ChecksTable:
    """A table, and its rows as sentences where it is too wide."""

    headings: list[str]
    rows: list[Sequence[str]]
    right: list[int]
    """The columns that are right-aligned."""
    sentences: list[str]

    def lines(self, width: int | None) -> Iterator[Line]:
        """Yield the table if it fits into the width, and otherwise its sentences."""
        from rich.cells import cell_len

        table = table_of(self.headings, self.rows, None, self.right)
        if width is None or max(map(cell_len, table)) <= width:
            for text in table:
                yield Line(text, row=True)
        else:
            for text in self.sentences:
                yield Line(text)


def _checks(repair: Repair, width: int | None) -> Iterator[Line]:
    """Yield every score before and after, and what the intervals hold for."""
    table = _changed_checks(repair) if repair.changed else _unchanged_checks(repair)
    yield from table.lines(width)
    estimates = [check.after for check in repair.checks]
    levels = sorted({estimate.level for estimate in estimates if estimate.level < 1})
    if levels:
        yield Line(messages.INTERVALS_AT.format(levels=number_text.percent_levels(levels)))
    populations = [estimate.population for estimate in estimates if estimate.population]
    distinct = list(dict.fromkeys(populations))
    if len(distinct) > 1:
        yield Line(messages.POPULATIONS.format(populations="; ".join(distinct)))
    elif distinct:
        yield Line(messages.POPULATION.format(population=distinct[0]))
    for check in repair.checks:
        if check.detail:
            yield Line(messages.CHECK_DETAIL.format(check=check.name, detail=check.detail))


def _changed_checks(repair: Repair) -> _ChecksTable:
    table = _ChecksTable(
        ["check", "before", "after", "change", "", "n"], [], [1, 2, 3, 5], []
    )
    for check in repair.checks:
        name = name_of(check)
        before = _score(check.before)
        after = _score(check.after)
        change = _change(check)
        verdict = judged(check)
        n = number_text.count(check.after.n)
        table.rows.append((name, before, after, change, verdict, n))
        sentence = messages.CHECK_CHANGED.format(
            name=name,
            before=before,
            after=after,
            change=change,
            verdict=verdict,
        )
        table.sentences.append(sentence)
    return table


def _unchanged_checks(repair: Repair) -> _ChecksTable:
    table = _ChecksTable(["check", "score", "n"], [], [1, 2], [])
    for check in repair.checks:
        name = name_of(check)
        score = _score(check.after)
        table.rows.append((name, score, number_text.count(check.after.n)))
        table.sentences.append(messages.CHECK_UNCHANGED.format(name=name, score=score))
    return table


def _history(repair: Repair, width: int | None) -> Iterator[Line]:
    """Yield how many steps were kept, and what came of each."""
    if not repair.history:
        return
    name = name_of(repair.performance)
    kept = number_text.count(sum(step.kept for step in repair.history))
    steps = number_text.count(len(repair.history))
    # A subgroup is swept from the original; other methods go on from the best step so far.
    if isinstance(repair.about, tuple):
        summary = messages.STEPS_AGAINST_BEST.format(kept=kept, steps=steps, name=name)
    else:
        summary = messages.STEPS_AGAINST_ORIGINAL.format(kept=kept, steps=steps, name=name)
    yield Line(summary)
    headings = ["step", "percent", "added", "before", "after", name, ""]
    table = _ChecksTable(headings, [], [0, 1, 2, 3, 4, 5], [])
    plain = isinstance(repair.performance.before, Amount)
    for step in repair.history:
        row = _step_row(step, plain=plain)
        number, percent, added, before, after, performance, outcome = row
        table.rows.append(row)
        sentence = messages.STEP.format(
            number=number,
            percent=percent,
            added=added,
            before=before,
            after=after,
            name=name,
            performance=performance,
            outcome=outcome,
        )
        table.sentences.append(sentence)
    yield from table.lines(width)


def _step_row(step: Step, *, plain: bool) -> tuple[str, ...]:
    """Return the cells of a step; `plain` is for a performance that is no share."""
    performance = number_text.percent(step.accuracy)
    if plain:
        performance = number_text.decimal(step.accuracy)
    return (
        str(step.number),
        number_text.hundredths(step.percent, 3),
        number_text.count(step.added),
        _score(step.change.before),
        _score(step.change.after),
        performance,
        _outcome(step),
    )


def _outcome(step: Step) -> str:
    if not step.kept:
        return messages.STEP_NOT_KEPT.format(why=step.why)
    if step.why in ("", "kept"):
        return "kept"
    return messages.STEP_KEPT.format(why=step.why)


def _score(estimate: Estimate) -> str:
    """Return a score with its interval, with as many digits as that has a use for."""
    if math.isnan(estimate.value):
        return NO_DATA
    return number_text.spread(estimate.value, estimate.low, estimate.high, estimate.unit)


def _change(check: RepairCheck) -> str:
    """Return after minus before with its interval, in points where the scores are shares."""
    change = check.change
    if change is not None:
        value, low, high = change.value, change.low, change.high
    else:
        value = check.after.value - check.before.value
        if math.isnan(value):
            return ""
        low = high = value
    unit = "amount" if isinstance(check.before, Amount) else "points"
    return number_text.spread(value, low, high, unit, sign="+")


def _written(repair: Repair, path: str | PathLike[str] | None) -> Iterator[Line]:
    """Yield where the repaired model is, and how it is loaded and tested."""
    if not repair.changed:
        if path is not None:
            yield Line(_not_written(repair, path))
        return
    if path is None:
        yield Line(messages.WRITE_WITH_OPTION)
        return
    kind = type(repair.model).__name__
    file = repr(str(path))
    yield Line(messages.WROTE_MODEL.format(path=path, kind=kind))
    if Path(path).suffix.lower() != ".skops":
        yield Line(messages.LOAD_WITH_JOBLIB.format(file=file))
        yield Line(messages.TEST_PICKLE.format(file=file))
        return
    types = _untrusted(path)
    if types:
        yield Line(messages.LOAD_WITH_SKOPS_TRUSTED.format(file=file, types=types))
        yield Line(messages.TEST_SKOPS_TRUSTED.format(file=file, types=types))
    else:
        yield Line(messages.LOAD_WITH_SKOPS.format(file=file))
        yield Line(messages.TEST_SKOPS.format(file=file))


def _not_written(repair: Repair, path: str | PathLike[str]) -> str:
    if repair.outcome == NOTHING:
        return messages.NOT_WRITTEN_NOTHING_TO_REPAIR.format(path=path)
    return messages.NOT_WRITTEN_NO_HELP.format(path=path)


def _untrusted(path: str | PathLike[str]) -> list[str]:
    """Return the types of a skops file that must be trusted by name to load it."""
    import skops.io

    return sorted(skops.io.get_untrusted_types(file=Path(path)))


def _on(file: IO[str] | None, console: Console | None) -> Any:
    """Return the console to print on, None for standard output."""
    from rich.console import Console

    if console is not None or file is None:
        return console
    return Console(file=file)
