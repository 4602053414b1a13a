"""A repair as text: what came of it, everything it changed, its steps, and how to use the model."""

from __future__ import annotations

import math
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from evenhand.methods.compare.comparison import BETTER
from evenhand.methods.compare.text import claim_of, joined
from evenhand.methods.repair.plot import judged
from evenhand.methods.repair.repair_result import NOTHING
from evenhand.methods.repair.steps import AIM
from evenhand.report.finding_text import NO_DATA
from evenhand.report.lines import LEAD, Line, Screen, table_of
from evenhand.runtime import number_text
from evenhand.statistics.estimate import Amount, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from os import PathLike

    from rich.console import Console

    from evenhand.methods.repair.repair_result import Repair
    from evenhand.methods.repair.steps import RepairCheck, Step
    from evenhand.statistics.estimate import Estimate

_NAMES = {"r2": "R²"}
"""Scores whose name is written otherwise."""


def lines(repair: Repair, *, cases: int = 1, width: int | None = None) -> Iterator[Line]:
    """Tell a repair as lines."""
    return _told(repair, width)


def render_repair(
    repair: Repair, file: IO[str] | None = None, *, console: Console | None = None
) -> None:
    """Print a repair on standard output, or on the file or console given: on a terminal in colour."""
    screen = Screen(_on(file, console))
    screen.print(list(_told(repair, screen.width)))


def render_written(
    repair: Repair,
    path: str | PathLike[str] | None,
    file: IO[str] | None = None,
    *,
    console: Console | None = None,
) -> None:
    """Print where the repaired model is, and how it is loaded and tested; None is nowhere."""
    Screen(_on(file, console)).print(list(_written(repair, path)))


def repair_lines(repair: Repair, *, width: int | None = None) -> list[str]:
    """Return a repair as lines of plain text; tables are no wider than `width`, other lines are not
    broken.

    >>> from evenhand.runtime.budget import Spent
    >>> from evenhand.statistics.estimate import Estimate
    >>> from evenhand.methods.repair.change import PairedChange
    >>> from evenhand.methods.repair.repair_result import NO_HELP, Repair
    >>> from evenhand.methods.repair.steps import RepairCheck
    >>> fifth, most = Estimate.exact(4, 20), Estimate.exact(16, 20)
    >>> checks = RepairCheck("sex, all inputs", "aim", fifth, fifth), RepairCheck("accuracy", "performance", most, most)
    >>> found = {"outcome": NO_HELP, "change": PairedChange.none(fifth), "checks": checks, "history": (), "comparisons": {}}
    >>> about = {"method": "augment", "over": ("sex",), "about": ("sex",), "sizes": {"training": 60, "test": 20}}
    >>> how = {"seed": 0, "level": 0.95, "tolerance": 0.01, "limit": None, "spent": Spent(40, 40, 0.1)}
    >>> print(*repair_lines(Repair(**found, **about, **how)), sep="\\n")
    FAIL      sex: no step helped; the model was left as it is (20 %)
              share of discriminatory inputs: 20.0 % (n = 20, enumerated)
    check             score   n
    sex, all inputs  20.0 %  20
    accuracy         80.0 %  20
    augment over sex, seed 0; rows: 60 for training, 20 for test
    40 inputs asked, 40 executed, 0.1 s
    """
    return [str(line) for line in _told(repair, width)]


def _told(repair: Repair, width: int | None) -> Iterator[Line]:
    yield Line(repair.claim, repair.verdict)
    yield from (Line(text, indent=LEAD) for text in _facts(repair))
    yield from _checks(repair, width)
    yield from _history(repair, width)
    yield from (Line(f"note: {note}") for note in repair.notes)
    rows = ", ".join(f"{size:,} for {what}" for what, size in repair.sizes.items())
    yield Line(f"{repair.method} over {', '.join(repair.over)}, seed {repair.seed}; rows: {rows}")
    spent = repair.spent
    yield Line(
        f"{spent.queries:,} inputs asked, {spent.executed:,} executed,"
        f" {number_text.seconds(spent.seconds)}"
    )


def _facts(repair: Repair) -> Iterator[str]:
    """Tell the claim with its intervals, where it stands, and every reason why it is no pass."""
    change = repair.change
    what = (
        "share of discriminatory inputs"
        if isinstance(repair.about, tuple)
        else "gap between the subgroup and others"
    )
    if not repair.changed:
        yield f"{what}: {repair.before}"
    else:
        both = " before, ".join(_score(one) for one in (change.before, change.after))
        yield f"{what}: {both} after; {_fewer(change.fewer)}"
        facts = [change.after.level_text] if change.after.level_text else []
        facts += [f"n = {change.after.n:,}", change.after.method]
        facts += [f"population: {change.after.population}"] if change.after.population else []
        yield ", ".join(facts)
        yield _standing(repair)
    yield from reasons(repair)


def _fewer(fewer: Amount) -> str:
    """Say which part of the score is gone, or by which part it grew."""
    if not math.isfinite(fewer.value):
        return "there was none before"
    more = fewer.high < 0 or fewer.value < 0
    ends = sorted(abs(end) for end in (fewer.low, fewer.high)) if fewer.low * fewer.high > 0 else ()
    part = f"{number_text.percent_figures(abs(fewer.value))} {'more' if more else 'fewer'}"
    if fewer.low == fewer.high:
        return part
    if ends and math.isfinite(ends[1]):
        return f"{part} ({number_text.points_figures(ends[0], ends[1])})"
    least = "any number more"
    if math.isfinite(fewer.low):
        least = f"{number_text.percent_figures(-fewer.low)} more"
    most = f"{number_text.percent_figures(fewer.high)} fewer"
    if fewer.high < 0:
        most = f"{number_text.percent_figures(-fewer.high)} more"
    return f"{part} ({least} to {most})"


def _standing(repair: Repair) -> str:
    """Say where the repair stands against giving up accuracy, by each bias that was compared."""
    if not repair.comparisons:
        return "against blind overwriting: not compared"
    said: dict[str, list[str]] = {}
    for axis, found in repair.comparisons.items():
        said.setdefault(claim_of(found.standings[0]), []).append(
            "what was repaired" if axis == AIM else axis
        )
    told = (f"{claim} by {joined(axes, 'and')}" for claim, axes in said.items())
    return f"against blind overwriting: {'; '.join(told)}"


def reasons(repair: Repair) -> Iterator[str]:
    """Say what speaks against the repair, as its verdict counts it."""
    if repair.limit is not None:
        said = {
            Verdict.PASS: "is under",
            Verdict.FAIL: "is not under",
            Verdict.UNDECIDED: "may not be under",
        }
        limit = number_text.limit(repair.limit)
        yield f"the score after {said[repair.after.verdict(repair.limit)]} the limit of {limit}"
    if not repair.changed:
        return
    if repair.change.verdict == "unsure":
        yield "the change is too small to tell on inputs that no step has used"
    yield from repair.side_effects
    if repair.plausible and not all(region in BETTER for region in repair.plausible):
        is_no = "may be" if any(region in BETTER for region in repair.plausible) else "is"
        yield (
            f"it {is_no} no better than giving up as much accuracy by blindly overwriting"
            " predictions"
        )
    performance = repair.performance
    lost = performance.change
    if repair.accuracy_after < repair.accuracy_before - repair.tolerance:
        surely = "surely" if lost is not None and lost.high < -repair.tolerance else "perhaps"
        name = _NAMES.get(performance.name, performance.name)
        tolerated = _points(performance, repair.tolerance)
        yield f"{name} has {surely} fallen by more than is tolerated, which is {tolerated}"


def _points(check: RepairCheck, amount: float) -> str:
    if isinstance(check.before, Amount):
        return number_text.plain(amount)
    return number_text.points_plain(amount)


def _checks(repair: Repair, width: int | None) -> Iterator[Line]:
    """Tell every score before and after: as a table if that fits, and otherwise each as a sentence."""
    checks = repair.checks
    names = [_NAMES.get(check.name, check.name) for check in checks]
    after = [_score(check.after) for check in checks]
    columns: dict[str, Sequence[str]] = {
        "check": names,
        "score": after,
        "n": [f"{check.after.n:,}" for check in checks],
    }
    said = [f"{name}: {score}" for name, score in zip(names, after, strict=True)]
    if repair.changed:
        before, moves, how = zip(
            *((_score(one.before), _change(one), judged(one)) for one in checks), strict=True
        )
        columns = {
            "check": names,
            "before": before,
            "after": after,
            "change": moves,
            "": how,
            "n": columns["n"],
        }
        rows = zip(names, before, after, moves, how, strict=True)
        said = [
            f"{name}: {old} before, {new} after; {move} ({word})"
            for name, old, new, move, word in rows
        ]
    right = [place for place, heading in enumerate(columns) if heading not in ("check", "")]
    yield from _tabled(list(columns), list(zip(*columns.values(), strict=True)), right, said, width)
    if levels := sorted({check.after.level for check in checks if check.after.level < 1}):
        yield Line(f"intervals at {number_text.percent_levels(levels)}")
    if populations := dict.fromkeys(
        check.after.population for check in checks if check.after.population
    ):
        yield Line(f"population{'s' if len(populations) > 1 else ''}: {'; '.join(populations)}")
    yield from (Line(f"{check.name}: {check.detail}") for check in repair.checks if check.detail)


def _history(repair: Repair, width: int | None) -> Iterator[Line]:
    if not repair.history:
        return
    performance = repair.performance
    plain = isinstance(performance.before, Amount)
    kept = sum(step.kept for step in repair.history)
    name = _NAMES.get(performance.name, performance.name)
    other = "the best before it" if isinstance(repair.about, tuple) else "the original"
    yield Line(
        f"{kept:,} of {len(repair.history):,} steps kept; each against {other}, {name} on"
        " validation rows"
    )
    rows = [
        (
            f"{step.number}",
            number_text.hundredths(step.percent, 3),
            number_text.count(step.added),
            _score(step.change.before),
            _score(step.change.after),
            number_text.decimal(step.accuracy) if plain else number_text.percent(step.accuracy),
            _why(step),
        )
        for step in repair.history
    ]
    said = [
        f"step {row[0]}: {row[1]} added ({row[2]} rows); {row[3]} before, {row[4]} after; {name}"
        f" {row[5]}; {row[6]}"
        for row in rows
    ]
    headings = ("step", "percent", "added", "before", "after", name, "")
    yield from _tabled(headings, rows, (0, 1, 2, 3, 4, 5), said, width)


def _why(step: Step) -> str:
    if not step.kept:
        return f"not kept: {step.why}"
    return "kept" if step.why in ("", "kept") else f"kept: {step.why}"


def _tabled(
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    right: Iterable[int],
    said: Sequence[str],
    width: int | None,
) -> Iterator[Line]:
    from rich.cells import cell_len

    table = table_of(headings, rows, None, right)
    if width is None or max(map(cell_len, table)) <= width:
        yield from (Line(text, row=True) for text in table)
    else:
        yield from (Line(text) for text in said)


def _score(one: Estimate) -> str:
    """Return a score with its interval, with as many digits as that has a use for: a share in per
    cent.
    """
    if math.isnan(one.value):
        return NO_DATA
    return number_text.spread(one.value, one.low, one.high, one.unit)


def _change(check: RepairCheck) -> str:
    """Return after minus before with its interval, in points where the scores are shares."""
    if check.change is None:
        both = check.before.value, check.after.value
        if any(map(math.isnan, both)):
            return ""
        value = low = high = both[1] - both[0]
    else:
        value, low, high = check.change.value, check.change.low, check.change.high
    unit = "amount" if isinstance(check.before, Amount) else "points"
    return number_text.spread(value, low, high, unit, sign="+")


def _written(repair: Repair, path: str | PathLike[str] | None) -> Iterator[Line]:
    if not repair.changed:
        if path is not None:
            why = "there was nothing to repair" if repair.outcome == NOTHING else "no step helped"
            yield Line(f"{path} was not written, since {why}")
        return
    if path is None:
        yield Line("write the repaired model to a file with -o MODEL.skops")
        return
    yield Line(f"wrote {path}: the repaired model ({type(repair.model).__name__})")
    if Path(path).suffix.lower() != ".skops":
        yield Line(f"load it with: joblib.load({str(path)!r})")
        yield Line(f"test it with: [subject] estimator = {str(path)!r}, allow_pickle = true")
        return
    types = _untrusted(path)
    yield Line(
        f"load it with: skops.io.load({str(path)!r}{f', trusted={types!r}' if types else ''})"
    )
    trusted = f", trusted = {types!r}" if types else ""
    yield Line(f"test it with: [subject] estimator = {str(path)!r}{trusted}")


def _untrusted(path: str | PathLike[str]) -> list[str]:
    """Return the types of a skops file that must be trusted by name to load it."""
    import skops.io

    return sorted(skops.io.get_untrusted_types(file=Path(path)))


def _on(file: IO[str] | None, console: Console | None) -> Any:
    from rich.console import Console

    return console if console is not None or file is None else Console(file=file)
