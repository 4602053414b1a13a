"""What was mined, drawn: rule sets ranked with their intervals, and heat maps of the features or
terms they name.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evenhand.methods.mine.findings import OTHER_TEXTS, OTHERS
from evenhand.methods.mine.plot.heat_cells import cells_of, heat_of, output_of, rate_text
from evenhand.methods.mine.table import entries_of, lines_of, scores
from evenhand.report.canvas import Display
from evenhand.report.ranked_bars import Bar, Bars, Rest, wrapped
from evenhand.report.rates_display import RatesDisplay
from evenhand.runtime import number_text
from evenhand.runtime.errors import UsageError, clip, nearest
from evenhand.statistics.estimate import Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenhand.methods.mine.plot.heat_map import Heat
    from evenhand.methods.mine.table import Line
    from evenhand.results.result import Result

    Panel = Bars | Heat

MOST_MININGS = 3
"""The most minings that are drawn, of several sets, outputs or scores: those with the best
evidence.
"""
MOST_BARS = 15
"""The most rule sets of a mining that are drawn."""


class _Panels(Display):
    """Panels under each other, each with margins of its own: the labels of one must not press the
    cells of another.
    """

    def _stack(self, ax: Any, panels: Sequence[Panel]) -> None:
        wide, high = max(panel.size[0] for panel in panels), sum(panel.size[1] for panel in panels)
        if ax is not None or len(panels) == 1:
            panels[0].draw(self._open(ax, [(wide, high)])[0])
            return
        self._open(None, [(wide, high)])
        self.ax_.remove()
        parts = self.figure_.subfigures(
            len(panels), height_ratios=[panel.size[1] for panel in panels]
        )
        self.axes_ = tuple(part.subplots() for part in parts)
        for panel, axes in zip(panels, self.axes_, strict=True):
            panel.draw(axes)
        self.ax_ = self.axes_[0]


@dataclass
class MineDisplay(_Panels):
    """What was mined: of each mining the worst rule sets with their intervals, and a heat map where
    there is one.

    >>> import pandas as pd
    >>> from evenhand.methods.mine.recorded import mine_log
    >>> loans = pd.DataFrame({"sex": ["F"] * 100 + ["M"] * 100, "granted": [0, 1] * 50 + [1] * 100})
    >>> display = MineDisplay.from_result(mine_log(loans, outcome="granted", over="sex"))
    >>> [(bar.label, bar.value, bar.beside) for bar in display.bars[0].bars]
    [('sex F', -0.5, ('50.0 %', '100.0 %', '100'))]
    """

    bars: tuple[Bars, ...]
    heats: tuple[Heat | None, ...] = ()
    left_out: int = 0

    @classmethod
    def from_result(cls, result: Result) -> MineDisplay:
        """Compute what is drawn of a result of `mine`, `mine_log` or `mine_text`."""
        minings = _minings(result)
        shown = minings[:MOST_MININGS]
        heats = [heat_of(lines[0].entry, lines[0].story, None) for lines in shown]
        # Two cells are one rule set and the other, which the bars show already.
        many = tuple(
            heat if heat is not None and sum(map(len, heat.rates)) > 2 else None for heat in heats
        )
        examined = sum(entry["examined"] for entry in entries_of(result))
        return cls(
            tuple(_bars(lines, examined) for lines in shown), many, len(minings) - len(shown)
        )

    def plot(self, ax: Any = None) -> MineDisplay:
        """Draw on axes given (the first bars), or all on a new figure, and return the display.

        Rates are written right of the axes: make the figure of axes given with
        ``layout="constrained"``.
        """
        pairs = itertools.zip_longest(self.bars, self.heats)
        panels: list[Panel] = [panel for pair in pairs for panel in pair if panel is not None]
        self._stack(ax, panels)
        if self.left_out and ax is None:
            last = self.axes_[-1]
            last.set_xlabel(
                f"{last.get_xlabel()}\n… {self.left_out:,} more sets of features, outputs or scores"
            )
        return self


@dataclass
class HeatDisplay(_Panels):
    """Rates over two features, or over one, with the cells of the worst rule set outlined.

    >>> import pandas as pd
    >>> from evenhand.methods.mine.recorded import mine_log
    >>> loans = pd.DataFrame({"sex": ["F", "M"] * 100, "home": ["own", "own", "rent", "rent"] * 50})
    >>> loans["granted"] = ((loans["sex"] == "M") | (loans["home"] == "own")).astype(int)
    >>> heat = HeatDisplay.from_result(mine_log(loans, outcome="granted", over=["sex", "home"])).heats[0]
    >>> heat.axes, heat.labels, heat.rates
    (('sex', 'home'), (('F', 'M'), ('own', 'rent')), ((1.0, 1.0), (0.0, 1.0)))
    """

    heats: tuple[Heat, ...]

    @classmethod
    def from_result(cls, result: Result, axes: Sequence[str] | str | None = None) -> HeatDisplay:
        """Compute what is drawn of a result of `mine` or `mine_log`.

        Parameters
        ----------
        axes
            One or two features, that from left to right first. By default those of the worst rule
            set, and of more than two of them those whose cells differ most.
        """
        return cls(_heats(result, axes, "mine", "TermsDisplay draws those of mine_text"))

    def plot(self, ax: Any = None) -> HeatDisplay:
        """Draw on axes given (the first map), or all on a new figure, and return the display."""
        self._stack(ax, self.heats)
        return self


@dataclass
class TermsDisplay(_Panels):
    """How texts are treated with each term of a category, or with each term of one and each of
    another.

    >>> from evenhand.methods.mine.texts.mine_text import mine_text
    >>> texts = ["I am a gay man", "a straight answer", "she is a lesbian", "nothing"] * 20
    >>> found = mine_text(lambda texts: ["gay" in text for text in texts], texts, positive=False)
    >>> heat = TermsDisplay.from_result(found).heats[0]
    >>> heat.axes, heat.labels[0][:2], heat.rates[0][:2]
    (('gender',), ('gay', 'lesbian'), (0.0, 1.0))
    """

    heats: tuple[Heat, ...]

    @classmethod
    def from_result(cls, result: Result, axes: Sequence[str] | str | None = None) -> TermsDisplay:
        """Compute what is drawn of a result of `mine_text`.

        Parameters
        ----------
        axes
            One or two categories, that from left to right first. By default those of the worst rule
            set.
        """
        return cls(
            _heats(result, axes, "mine_text", "HeatDisplay draws those of mine and mine_log")
        )

    def plot(self, ax: Any = None) -> TermsDisplay:
        """Draw on axes given (the first matrix), or all on a new figure, and return the display."""
        self._stack(ax, self.heats)
        return self


def _minings(result: Result) -> list[list[Line]]:
    """Return the findings of each mining, the mining with the best evidence first."""
    found: dict[int, list[Line]] = {}
    for line in lines_of(result):
        found.setdefault(id(line.entry), []).append(line)
    return list(found.values())


def _bars(lines: Sequence[Line], examined: int) -> Bars:
    """Return the bars of one mining; `examined` is how many rule sets the intervals hold together
    over.
    """
    entry, worst = lines[0].entry, lines[0].finding
    shown = [line for line in lines if not line.others]
    percent, causal = not scores(entry), "changes" in entry
    verdict = "" if worst.verdict is None else f"{worst.verdict}: "
    others = OTHERS if "over" in entry else OTHER_TEXTS[entry["against"]]
    what = f"difference from {others}{', in points' if percent else ''}"
    at = (
        "intervals at"
        f" {number_text.percent_level(worst.estimate.level)}{_together(entry, examined)}"
    )
    notes = [
        "texts whose outcome changes when only the term does" if causal else what,
        at if worst.estimate.level < 1 else "",
        f"population: {entry['population']}",
        f"… {len(shown) - MOST_BARS:,} more rule sets" if len(shown) > MOST_BARS else "",
    ]
    return Bars(
        f"{output_of(entry)}{verdict}{worst.claim}",
        tuple(note for note in notes if note),
        _headers(entry),
        tuple(_bar(line, percent=percent) for line in shown[:MOST_BARS]),
        next((_rest(line, percent=percent) for line in lines if line.others), None),
        worst.limit,
        (
            None
            if causal
            else ("← less often", "more often →")
            if percent
            else ("← lower", "higher →")
        ),
        percent,
    )


def _together(entry: Mapping[str, Any], examined: int) -> str:
    """Say what the intervals hold together over; those of the paper's own method are each for
    itself.
    """
    if "changes" in entry:
        sets = len(entry["changes"])
        return f", simultaneous over {sets} set{'s' * (sets > 1)} of categories"
    return (
        ""
        if entry.get("method") == "paper"
        else f", simultaneous over {number_text.count(examined)} rule sets"
    )


def _headers(entry: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what stands over the columns beside bars."""
    if "changes" in entry:
        return "changed", "texts"
    if "over" in entry:
        return "group", "everyone\nelse", "rows"
    return (
        "these\nterms",
        "other\nterms" if entry["against"] == "terms" else "other\ntexts",
        "texts",
    )


def _bar(line: Line, *, percent: bool) -> Bar:
    finding, story = line.finding, line.story
    estimate = finding.estimate
    sure = estimate.low > 0 if finding.limit is None else finding.verdict is Verdict.FAIL
    if "changes" in line.entry:
        value, rates = estimate.value, [estimate.value]
    else:
        value, rates = story["difference"], [story["rate"]["value"], story["other"]["value"]]
    inside = story["texts" if "texts" in line.entry else "rows"]
    beside = (*(rate_text(rate, percent=percent) for rate in rates), f"{inside:,}")
    return Bar(wrapped(line.about), value, estimate.low, estimate.high, sure, beside)


def _rest(line: Line, *, percent: bool) -> Rest:
    estimate, count = line.finding.estimate, line.story["rules"]
    far = number_text.points(estimate.value) if percent else number_text.decimal(estimate.value)
    label = f"{count:,} other rule set{'s' * (count > 1)}:\nnone further than {far}"
    return Rest(label, estimate.value, estimate.high)


def _heats(
    result: Result, axes: Sequence[str] | str | None, key: str, instead: str
) -> tuple[Heat, ...]:
    """Return a heat map of each mining that has one over these features."""
    if key not in result.details:
        raise UsageError(f"this {result.job} has nothing of that kind to draw; {instead}")
    names = (
        None
        if axes is None
        else [str(name) for name in (axes if isinstance(axes, list | tuple) else (axes,))]
    )
    minings = _minings(result)
    heats = [
        heat
        for lines in minings
        if (heat := heat_of(lines[0].entry, lines[0].story, names)) is not None
    ]
    if heats:
        return tuple(heats[:MOST_MININGS])
    choices = dict.fromkeys(
        " and ".join(cells.axes) for lines in minings for cells in cells_of(lines[0].entry)
    )
    if not choices:
        raise UsageError(
            f"this {result.job} has no rates of single cells to draw; method='paper' finds none"
        )
    raise UsageError(
        f"axes = {clip(repr(axes))} has no map; {nearest(' and '.join(names or ()), choices)}"
    )


def display_of(result: Result) -> Display:
    """Return the display of a result; what has no details is drawn by its findings."""
    if not entries_of(result):
        return RatesDisplay.from_findings(result.findings)
    return MineDisplay.from_result(result)
