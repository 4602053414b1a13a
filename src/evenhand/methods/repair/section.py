"""A repair as HTML: a section for a report, and a page of its own that needs nothing from
elsewhere.
"""

from __future__ import annotations

import math
import shlex
from typing import TYPE_CHECKING, Any

from evenhand.methods.compare.text import score_text
from evenhand.methods.repair.plot import (
    HEADINGS,
    NO_STEPS,
    NOT_COMPARED,
    UNCHANGED,
    RepairDisplay,
    judged,
)
from evenhand.methods.repair.plot_steps import aim_of, name_of
from evenhand.methods.repair.steps import AIM
from evenhand.methods.repair.text import reasons
from evenhand.report.finding_text import NO_DATA
from evenhand.report.html_page import STYLE as STYLE
from evenhand.report.html_page import drawn, facts, listed, quoted, remark, table, text
from evenhand.runtime import number_text
from evenhand.statistics.estimate import Amount

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from evenhand.methods.repair.repair_result import Repair
    from evenhand.methods.repair.steps import RepairCheck
    from evenhand.report.statement import Statement
    from evenhand.statistics.estimate import Estimate

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}</title>
<style>
{style}
</style>
</head>
<body>
<main>
{section}
</main>
</body>
</html>
"""
_SAYS = {
    "change": (
        "Each score before and after the repair, with its interval; the numbers are in the table"
        " below."
    ),
    "history": "What came of each step against what it added; the numbers are in the table below.",
    "trade-off": (
        "The repaired model against blindly overwriting predictions of the original, by bias and"
        " performance."
    ),
}


def page(repair: Repair) -> str:
    """Return a repair as a page of its own, which loads nothing and runs nothing."""
    return _PAGE.format(
        title=text(f"Repair: {repair.verdict}"), style=STYLE, section=whole_section(repair)
    )


def section(repair: Repair, told: Sequence[Statement], name: str, room: int) -> Iterator[str]:
    """Return a repair as parts of the page of an audit."""
    yield whole_section(repair, name=f"{name}-repair", within=True)


def whole_section(repair: Repair, *, name: str = "repair", within: bool = False) -> str:
    """Return a repair as a section of a page: the claim, all scores, all steps, notes, and how to
    make it again.

    Parameters
    ----------
    name
        What the ids of the section begin with; sections of one page need names of their own.
    within
        Whether it is part of a section that has a heading.

    Figures need the extra "plot"; without it, a sentence says so, and the tables are the same.

    >>> from evenhand.runtime.budget import Spent
    >>> from evenhand.statistics.estimate import Estimate
    >>> from evenhand.methods.repair.change import PairedChange
    >>> from evenhand.methods.repair.repair_result import NO_HELP, Repair
    >>> from evenhand.methods.repair.steps import RepairCheck
    >>> tenth = Estimate.exact(2, 20)
    >>> found = {"outcome": NO_HELP, "change": PairedChange.none(tenth), "checks": (RepairCheck("sex", "aim", tenth, tenth),)}
    >>> about = {"method": "augment", "over": ("sex",), "about": ("sex",), "comparisons": {}, "history": ()}
    >>> how = {"seed": 0, "level": 0.95, "tolerance": 0.01, "limit": None, "sizes": {}, "spent": Spent(40, 40, 0.1)}
    >>> whole_section(Repair(**found, **about, **how)).splitlines()[2]
    '<p class="verdict fail"><strong>fail</strong> sex: no step helped; the model was left as it is (10 %)</p>'
    """
    parts = [
        "" if within else f'<h2 id="{name}-heading">Repair</h2>',
        (
            f'<p class="verdict {repair.verdict}"><strong>{repair.verdict}</strong>'
            f" {text(repair.claim)}</p>"
        ),
        *(f"<p>{text(sentence[0].upper() + sentence[1:])}.</p>" for sentence in reasons(repair)),
        "<h3>Before and after</h3>",
        _figure(repair, "change", name),
        _checks(repair, name),
        "<h3>Steps</h3>",
        *(
            [_figure(repair, "history", name), _steps(repair, name)]
            if repair.history
            else [f"<p>{text(NO_STEPS)}</p>"]
        ),
        "<h3>Against giving up accuracy</h3>",
        *_standings(repair, name),
        *(["<h3>Notes</h3>", listed(repair.notes)] if repair.notes else []),
        "<h3>How it was made</h3>",
        _facts(repair),
        "<h3>Again</h3>",
        _replay(repair),
    ]
    inside = "\n".join(part for part in parts if part)
    if within:
        return f'<div class="repair" id="{name}">\n{inside}\n</div>'
    return (
        f'<section class="repair" id="{name}"'
        f' aria-labelledby="{name}-heading">\n{inside}\n</section>'
    )


def _figure(repair: Repair, kind: str, name: str) -> str:
    return drawn(RepairDisplay.from_repair(repair, kind), f"{name}-{kind}", _SAYS[kind])


def _checks(repair: Repair, name: str) -> str:
    """Return a table of all scores, a group of rows for each kind."""
    headings = ("score", "before", "after", "change", "judged", "n", "intervals", "population")
    groups = [
        (HEADINGS[kind], [_check(check) for check in repair.checks if check.kind == kind])
        for kind in dict.fromkeys(check.kind for check in repair.checks)
    ]
    says = (
        "Each score with its interval. Less is better, but for performance, where more is. A change"
        " is after minus"
    )
    return table(
        f"{name}-checks",
        f"{says} before, on rows and inputs that no step has used.",
        headings,
        groups,
    )


def _check(check: RepairCheck) -> list[str]:
    after = check.after
    change = (
        "–"
        if check.change is None
        else _difference(check.change, percent=not isinstance(check.before, Amount))
    )
    cells = [
        text(one)
        for one in (_score(check.before), _score(after), change, judged(check), f"{after.n:,}")
    ]
    return [
        text(name_of(check)) + remark(check.detail),
        *cells,
        text(_interval(after)),
        text(after.population or "–"),
    ]


def _steps(repair: Repair, name: str) -> str:
    score, percent = name_of(repair.performance), not isinstance(repair.performance.before, Amount)
    headings = (
        "step",
        "added",
        "rows added",
        "before",
        "after",
        "n",
        "intervals",
        score,
        "kept",
        "why",
    )
    rows = []
    for step in repair.history:
        change = step.change
        accuracy = (
            number_text.percent(step.accuracy, 2) if percent else number_text.amount(step.accuracy)
        )
        cells = [
            step.number,
            number_text.hundredths(step.percent, 3),
            number_text.count(step.added),
        ]
        cells += [_score(change.before), _score(change.after)]
        cells += [
            f"{change.after.n:,}",
            _interval(change.after),
            accuracy,
            "yes" if step.kept else "no",
            step.why,
        ]
        rows.append([text(cell) for cell in cells])
    says = (
        f"Each step: the {aim_of(repair)}, of the best model so far and of the new one, on inputs"
        " or rows that"
    )
    caption = f"{says} nothing else has used; {score} on validation rows."
    return table(f"{name}-steps", caption, headings, [("", rows)])


def _standings(repair: Repair, name: str) -> list[str]:
    if not repair.comparisons:
        return [f"<p>{text(NOT_COMPARED if repair.changed else UNCHANGED)}</p>"]
    headings = (
        "bias",
        "region",
        "regions that the intervals allow",
        "bias before",
        "bias after",
        "verdict",
    )
    rows = []
    for axis, found in repair.comparisons.items():
        one = found.standings[0]
        cells = [aim_of(repair) if axis == AIM else axis, one.region, ", ".join(one.plausible)]
        cells += [_score(found.start[1]), _score(one.bias), one.verdict]
        rows.append([text(cell) for cell in cells])
    says = "Where the repaired model stands against blind overwriting of predictions, by each bias."
    figure = [_figure(repair, "trade-off", name)] if AIM in repair.comparisons else []
    return [*figure, table(f"{name}-standings", says, headings, [("", rows)])]


def _facts(repair: Repair) -> str:
    told = {
        "method": repair.method,
        "features": ", ".join(repair.over),
        "outcome": repair.outcome,
        "rows": "; ".join(f"{what} {many:,}" for what, many in repair.sizes.items()),
        "level": number_text.percent_level(repair.level),
        "tolerance": number_text.plain(repair.tolerance),
        "engineering threshold": (
            "none" if repair.limit is None else number_text.limit(repair.limit)
        ),
        "inputs asked": f"{repair.spent.queries:,}",
        "seed": repair.seed,
        "versions": ", ".join(f"{what} {version}" for what, version in repair.versions.items()),
        "digest": repair.digest,
    }
    return facts(told)


def _replay(repair: Repair) -> str:
    """Return how to make the same repair again."""
    of_texts = "against" in repair.options
    options: dict[str, Any] = {} if of_texts else {"over": list(repair.over)}
    options |= {key: getattr(repair, key) for key in ("method", "level", "tolerance")}
    options |= {"limit": repair.limit} if repair.limit is not None else {}
    # Functions and rows are told by a word, and are to be given again.
    options |= {
        key: value
        for key, value in repair.options.items()
        if key not in ("level", "test", "against")
    }
    said = ", ".join(f"{key}={value!r}" for key, value in {**options, "seed": repair.seed}.items())
    rows = "texts, y, " if of_texts else "X, y, space=space, "
    lines = ["import evenhand as eh", "", f"again = eh.repair(estimator, {rows}{said})"]
    call = quoted(
        [*lines, f"assert again.digest == {repair.digest!r}"], "The same repair in Python"
    )
    over = f" --over {shlex.quote(','.join(repair.over))}" if repair.over else ""
    command = f"evenhand repair --method {repair.method}{over} --seed {repair.seed}"
    says = (
        "With the same estimator, data, versions and other options, this gives the same digest; in"
        " Python:"
    )
    shell = quoted([command], "The same repair by its configuration")
    return f"<p>{says}</p>\n{call}\n<p>By its configuration:</p>\n{shell}"


def _score(one: Estimate) -> str:
    return NO_DATA if math.isnan(one.value) else number_text.with_minus(score_text([one])[0])


def _difference(change: Estimate, *, percent: bool) -> str:
    """Return a difference of rates in points, or one of other scores as it is, always with its
    sign.
    """
    if percent:
        digits = number_text.percent_decimals(change.low, change.high, most=4)
        value = number_text.points(change.value, digits, sign="+")
        interval = number_text.points_between(change.low, change.high, digits, sign="+")
    else:
        value = number_text.amount(change.value, sign="+")
        interval = number_text.amount_between(change.low, change.high, sign="+")
    return number_text.with_minus(f"{value} ({interval})")


def _interval(one: Estimate) -> str:
    return f"{number_text.percent_level(one.level)}, {one.method}" if one.level < 1 else one.method
