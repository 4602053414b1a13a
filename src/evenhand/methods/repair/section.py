"""A repair as HTML: a section for a report, and a page of its own that needs nothing else."""

from __future__ import annotations

import math
import shlex
from typing import TYPE_CHECKING, Any

from evenhand.methods.compare.text import score_text
from evenhand.methods.repair import messages
from evenhand.methods.repair.plot import HEADINGS
from evenhand.methods.repair.plot.chart import charts_of
from evenhand.methods.repair.plot_steps import aim_of, name_of, steps_of
from evenhand.methods.repair.steps import AIM, judged
from evenhand.methods.repair.text import reasons
from evenhand.report.charts import figures
from evenhand.report.finding_text import NO_DATA
from evenhand.report.html_page import STYLE as STYLE
from evenhand.report.html_page import facts, listed, quoted, remark, table, text
from evenhand.report.page.messages import IMPORT_EVENHAND
from evenhand.report.page.parts import PagePart, ReaderQuestion
from evenhand.report.templates import trusted
from evenhand.runtime import number_text
from evenhand.runtime.language import say
from evenhand.statistics.estimate import Amount

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from evenhand.methods.repair.repair_result import Repair
    from evenhand.methods.repair.steps import RepairCheck, Step
    from evenhand.report.statement import Statement
    from evenhand.statistics.estimate import Estimate

NOT_AGAIN = ("level", "test", "against")
"""Recorded options that a replay does not repeat: a level stands before them, held-out rows have to
be given again, and for texts there is no such option of `repair`.
"""
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
_DESCRIPTIONS = {
    "change": messages.FIGURE_OF_CHANGE,
    "history": messages.FIGURE_OF_HISTORY,
    "trade-off": messages.FIGURE_OF_TRADEOFF,
}
"""What a figure shows, for those who cannot see it."""


def page(repair: Repair) -> str:
    """Return a repair as a page of its own, which loads nothing and runs nothing."""
    title = messages.PAGE_TITLE.format(verdict=repair.verdict)
    return _PAGE.format(title=text(title), style=STYLE, section=whole_section(repair))


def section(
    repair: Repair, statements: Sequence[Statement], name: str, room: int
) -> Iterator[PagePart]:
    """Yield a repair: its claim, and all else one click away."""
    features = tuple(repair.over)
    claim = trusted("\n".join(_claim(repair)))
    yield PagePart(ReaderQuestion.WHAT_HELPS, features, claim)
    whole = trusted(whole_section(repair, name=f"{name}-repair", within=True))
    yield PagePart(ReaderQuestion.WHAT_HELPS, features, whole, say(messages.WHOLE_REPAIR))


def whole_section(repair: Repair, *, name: str = "repair", within: bool = False) -> str:
    """Return a repair as a section of a page, from the claim to how to make it again.

    Parameters
    ----------
    name
        What the ids of the section begin with; sections of one page need names of their own.
    within
        Whether it is part of a section that has a heading.

    >>> from evenhand.runtime.budget import Spent
    >>> from evenhand.statistics.estimate import Estimate
    >>> from evenhand.methods.repair.change import PairedChange
    >>> from evenhand.methods.repair.repair_result import Repair
    >>> from evenhand.methods.repair.steps import NO_HELP, RepairCheck
    >>> tenth = Estimate.exact(2, 20)
    >>> check = RepairCheck("sex", "aim", tenth, tenth)
    >>> found = {"outcome": NO_HELP, "change": PairedChange.none(tenth), "checks": (check,)}
    >>> found |= {"comparisons": {}, "history": (), "sizes": {}}
    >>> about = {"method": "augment", "over": ("sex",), "about": ("sex",)}
    >>> how = {"seed": 0, "level": 0.95, "tolerance": 0.01, "limit": None}
    >>> repair = Repair(**found, **about, **how, spent=Spent(40, 40, 0.1))
    >>> print(whole_section(repair).splitlines()[2])
    <p class="verdict fail"><strong>fail</strong> sex: no step helped; \
the model was left as it is (10 %)</p>
    """
    parts = []
    if not within:
        parts.append(f'<h2 id="{name}-heading">Repair</h2>')
    parts += _claim(repair)
    parts.append("<h3>Before and after</h3>")
    parts.append(_figure(repair, "change", name))
    parts.append(_checks(repair, name))
    parts.append("<h3>Steps</h3>")
    if repair.history:
        parts.append(_figure(repair, "history", name))
        parts.append(_steps(repair, name))
    else:
        parts.append(f"<p>{text(messages.NO_STEPS)}</p>")
    parts.append("<h3>Against giving up accuracy</h3>")
    parts += _standings(repair, name)
    if repair.notes:
        parts.append("<h3>Notes</h3>")
        parts.append(listed(repair.notes))
    parts.append("<h3>How it was made</h3>")
    if repair.handover is not None:
        parts.append(f"<p>{_sentence(repair.handover.sentence)}</p>")
    parts.append(_facts(repair))
    parts.append("<h3>Again</h3>")
    parts.append(_replay(repair))
    inside = "\n".join(part for part in parts if part)
    if within:
        return f'<div class="repair" id="{name}">\n{inside}\n</div>'
    return (
        f'<section class="repair" id="{name}"'
        f' aria-labelledby="{name}-heading">\n{inside}\n</section>'
    )


def _claim(repair: Repair) -> list[str]:
    """Return the verdict with the claim, and every reason why it is no pass."""
    verdict = repair.verdict
    claim = text(repair.claim)
    parts = [f'<p class="verdict {verdict}"><strong>{verdict}</strong> {claim}</p>']
    for reason in reasons(repair):
        parts.append(f"<p>{_sentence(reason)}</p>")
    return parts


def _sentence(words: str) -> str:
    """Return words as a sentence of a page."""
    return text(f"{words[0].upper()}{words[1:]}.")


def _figure(repair: Repair, kind: str, name: str) -> str:
    return figures(charts_of(repair, kind), f"{name}-{kind}", _DESCRIPTIONS[kind])


def _checks(repair: Repair, name: str) -> str:
    """Return a table of all scores, a group of rows for each kind."""
    headings = (
        "score",
        "before",
        "after",
        "change",
        "judged",
        "n",
        "intervals",
        "population",
    )
    rows_by_kind: dict[str, list[list[str]]] = {}
    for check in repair.checks:
        rows_by_kind.setdefault(check.kind, []).append(_check(check))
    groups = [(HEADINGS[kind], rows) for kind, rows in rows_by_kind.items()]
    return table(f"{name}-checks", messages.TABLE_OF_CHECKS, headings, groups)


def _check(check: RepairCheck) -> list[str]:
    """Return the cells of a score."""
    after = check.after
    change = "–"
    if check.change is not None:
        percent = not isinstance(check.before, Amount)
        change = _difference(check.change, percent=percent)
    return [
        text(name_of(check)) + remark(check.detail),
        text(_score(check.before)),
        text(_score(after)),
        text(change),
        text(judged(check)),
        text(number_text.count(after.n)),
        text(_interval(after)),
        text(after.population or "–"),
    ]


def _steps(repair: Repair, name: str) -> str:
    """Return a table of all steps."""
    score = name_of(repair.performance)
    percent = not isinstance(repair.performance.before, Amount)
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
    rows = [_step(step, percent=percent) for step in repair.history]
    caption = messages.TABLE_OF_STEPS.format(aim=steps_of(repair), score=score)
    return table(f"{name}-steps", caption, headings, [("", rows)])


def _step(step: Step, *, percent: bool) -> list[str]:
    """Return the cells of a step; `percent` is for a performance that is a share."""
    after = step.change.after
    accuracy = number_text.amount(step.accuracy)
    if percent:
        accuracy = number_text.percent(step.accuracy, 2)
    return [
        text(step.number),
        text(number_text.hundredths(step.percent, 3)),
        text(number_text.count(step.added)),
        text(_score(step.change.before)),
        text(_score(after)),
        text(number_text.count(after.n)),
        text(_interval(after)),
        text(accuracy),
        text("yes" if step.kept else "no"),
        text(step.why),
    ]


def _standings(repair: Repair, name: str) -> list[str]:
    """Return where the repair stands, by each bias that was compared."""
    if not repair.comparisons:
        why = messages.NOT_COMPARED if repair.changed else messages.MODEL_UNCHANGED
        return [f"<p>{text(why)}</p>"]
    headings = (
        "bias",
        "region",
        messages.REGIONS_ALLOWED,
        "bias before",
        "bias after",
        "verdict",
    )
    rows: list[list[str]] = []
    for axis, found in repair.comparisons.items():
        standing = found.standings[0]
        row: list[str] = [
            text(aim_of(repair) if axis == AIM else axis),
            text(standing.region),
            text(", ".join(standing.plausible)),
            text(_score(found.start[1])),
            text(_score(standing.bias)),
            text(standing.verdict),
        ]
        rows.append(row)
    parts = []
    if AIM in repair.comparisons:
        parts.append(_figure(repair, "trade-off", name))
    caption = messages.TABLE_OF_STANDINGS
    parts.append(table(f"{name}-standings", caption, headings, [("", rows)]))
    return parts


def _facts(repair: Repair) -> str:
    """Return how the repair was made."""
    sizes = [f"{purpose} {size:,}" for purpose, size in repair.sizes.items()]
    versions = [f"{package} {version}" for package, version in repair.versions.items()]
    limit = "none"
    if repair.limit is not None:
        limit = number_text.limit(repair.limit, repair.after.unit)
    return facts(
        {
            "method": repair.method,
            "features": ", ".join(repair.over),
            "outcome": repair.outcome,
            "rows": "; ".join(sizes),
            "level": number_text.percent_level(repair.level),
            "tolerance": number_text.plain(repair.tolerance),
            "engineering threshold": limit,
            "inputs asked": number_text.count(repair.spent.queries),
            "seed": repair.seed,
            "versions": ", ".join(versions),
            "digest": repair.digest,
        }
    )


def _replay(repair: Repair) -> str:
    """Return how to make the same repair again."""
    of_texts = "against" in repair.options
    data = "texts, y" if of_texts else "X, y, space=space"
    arguments = [f"{name}={value!r}" for name, value in _options_again(repair).items()]
    call = [
        IMPORT_EVENHAND,
        "",
        f"again = eh.repair(estimator, {data}, {', '.join(arguments)})",
        f"assert again.digest == {repair.digest!r}",
    ]
    command = f"evenhand repair --method {repair.method}"
    if repair.over:
        features = ",".join(repair.over)
        command += f" --over {shlex.quote(features)}"
    command += f" --seed {repair.seed}"
    in_python = quoted(call, messages.REPLAY_IN_PYTHON)
    in_shell = quoted([command], messages.REPLAY_BY_CONFIGURATION)
    parts = [
        f"<p>{messages.REPLAY}</p>",
        in_python,
        f"<p>{messages.BY_ITS_CONFIGURATION}</p>",
        in_shell,
    ]
    return "\n".join(parts)


def _options_again(repair: Repair) -> dict[str, Any]:
    """Return the options of a repair for a call; functions and rows are to be given again."""
    options: dict[str, Any] = {}
    if "against" not in repair.options:
        options["over"] = list(repair.over)
    options["method"] = repair.method
    options["level"] = repair.level
    options["tolerance"] = repair.tolerance
    if repair.limit is not None:
        options["limit"] = repair.limit
    for name, value in repair.options.items():
        if name not in NOT_AGAIN:
            options[name] = value
    options["seed"] = repair.seed
    return options


def _score(estimate: Estimate) -> str:
    if math.isnan(estimate.value):
        return NO_DATA
    texts = score_text([estimate])
    return number_text.with_minus(texts[0])


def _difference(change: Estimate, *, percent: bool) -> str:
    """Return a difference with its sign: of rates in points, of other scores as it is."""
    low = change.low
    high = change.high
    if percent:
        digits = number_text.percent_decimals(low, high, most=4)
        value = number_text.points(change.value, digits, sign="+")
        interval = number_text.points_between(low, high, digits, sign="+")
    else:
        value = number_text.amount(change.value, sign="+")
        interval = number_text.amount_between(low, high, sign="+")
    return number_text.with_minus(f"{value} ({interval})")


def _interval(estimate: Estimate) -> str:
    if estimate.level < 1:
        return f"{number_text.percent_level(estimate.level)}, {estimate.method}"
    return estimate.method
