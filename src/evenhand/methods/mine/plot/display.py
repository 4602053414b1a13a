"""A mining drawn: rule sets ranked with their intervals, and heat maps of features or terms."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evenhand.methods.mine import messages
from evenhand.methods.mine.claims.words import OTHER_TEXTS, OTHERS, sentences_for
from evenhand.methods.mine.plot.heat_cells import cells_of, heat_of, of_output, rate_text
from evenhand.methods.mine.plot.heat_map import mean_text
from evenhand.methods.mine.subgroups.words import label_below
from evenhand.methods.mine.table import (
    entries_of,
    in_percent,
    mined_findings,
    worst_of,
)
from evenhand.report.canvas import Display
from evenhand.report.ranked_bars import Bar, Bars, RemainingRules, wrapped
from evenhand.report.rates_display import RatesDisplay
from evenhand.runtime import number_text
from evenhand.runtime.errors import UsageError, clip, nearest
from evenhand.runtime.language import say, term
from evenhand.statistics.estimate import Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenhand.methods.mine.plot.heat_map import Heat
    from evenhand.methods.mine.table import MinedFinding
    from evenhand.results.result import Result

    Entry = Mapping[str, Any]
    Panel = Bars | Heat

MOST_MININGS = 3
"""The most minings that are drawn, of several sets, outputs or scores: those with the best
evidence.
"""
MOST_BARS = 15
"""The most rule sets of a mining that are drawn."""


class _Panels(Display):
    """Panels under each other, each with margins of its own.

    The labels of one must not press the cells of another.
    """

    def _stack(self, ax: Any, panels: Sequence[Panel]) -> None:
        heights = [panel.size[1] for panel in panels]
        wide = max(panel.size[0] for panel in panels)
        high = sum(heights)
        if ax is not None or len(panels) == 1:
            axes = self._open(ax, [(wide, high)])
            panels[0].draw(axes[0])
            return
        self._open(None, [(wide, high)])
        self.ax_.remove()
        parts = self.figure_.subfigures(len(panels), height_ratios=heights)
        self.axes_ = tuple(part.subplots() for part in parts)
        for panel, panel_axes in zip(panels, self.axes_, strict=True):
            panel.draw(panel_axes)
        self.ax_ = self.axes_[0]


@dataclass
class MineDisplay(_Panels):
    """What was mined: the worst rule sets with their intervals, and a heat map where there is one.

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
        examined = sum(entry["examined"] for entry in entries_of(result))
        bars = []
        heats = []
        for findings in shown:
            bars.append(_bars(findings, examined))
            worst = worst_of(findings)
            heat = heat_of(worst.entry, worst.story, None)
            if heat is not None and _is_trivial(heat):
                heat = None
            heats.append(heat)
        left_out = len(minings) - len(shown)
        return cls(tuple(bars), tuple(heats), left_out)

    def plot(self, ax: Any = None) -> MineDisplay:
        """Draw on axes given (the first bars), or all on a new figure, and return the display.

        Rates are written right of the axes: make the figure of axes given with
        ``layout="constrained"``.
        """
        panels: list[Panel] = []
        for bars, heat in itertools.zip_longest(self.bars, self.heats):
            if bars is not None:
                panels.append(bars)
            if heat is not None:
                panels.append(heat)
        self._stack(ax, panels)
        if self.left_out and ax is None:
            last = self.axes_[-1]
            more = say(messages.MORE_MININGS, count=number_text.count(self.left_out))
            last.set_xlabel(f"{last.get_xlabel()}\n{more}")
        return self


@dataclass
class HeatDisplay(_Panels):
    """Rates over two features, or over one, with the cells of the worst rule set outlined.

    >>> import pandas as pd
    >>> from evenhand.methods.mine.recorded import mine_log
    >>> loans = pd.DataFrame({"sex": ["F", "M"] * 100, "home": ["own", "own", "rent", "rent"] * 50})
    >>> loans["granted"] = ((loans["sex"] == "M") | (loans["home"] == "own")).astype(int)
    >>> found = mine_log(loans, outcome="granted", over=["sex", "home"])
    >>> heat = HeatDisplay.from_result(found).heats[0]
    >>> heat.axes, heat.labels, heat.rates
    (('sex', 'home'), (('F', 'M'), ('own', 'rent')), ((1.0, 1.0), (0.0, 1.0)))
    """

    heats: tuple[Heat, ...]

    @classmethod
    def from_result(
        cls, result: Result, axes: Sequence[str] | str | None = None
    ) -> HeatDisplay:
        """Compute what is drawn of a result of `mine` or `mine_log`.

        Parameters
        ----------
        axes
            One or two features, that from left to right first. By default those of the worst rule
            set, and of more than two of them those whose cells differ most.
        """
        if "mine" not in result.details:
            raise UsageError(messages.NO_MAPS_OF_TABLES.format(verb=result.job))
        return cls(_heats(result, axes))

    def plot(self, ax: Any = None) -> HeatDisplay:
        """Draw on axes given (the first map), or all on a new figure, and return the display."""
        self._stack(ax, self.heats)
        return self


@dataclass
class TermsDisplay(_Panels):
    """How texts are treated with each term of a category, or with each pair of terms of two.

    >>> from evenhand.methods.mine.texts.mine_text import mine_text
    >>> texts = ["I am a gay man", "a straight answer", "she is a lesbian", "nothing"] * 20
    >>> found = mine_text(lambda texts: ["gay" in text for text in texts], texts, positive=False)
    >>> heat = TermsDisplay.from_result(found).heats[0]
    >>> heat.axes, heat.labels[0][:2], heat.rates[0][:2]
    (('gender',), ('gay', 'lesbian'), (0.0, 1.0))
    """

    heats: tuple[Heat, ...]

    @classmethod
    def from_result(
        cls, result: Result, axes: Sequence[str] | str | None = None
    ) -> TermsDisplay:
        """Compute what is drawn of a result of `mine_text`.

        Parameters
        ----------
        axes
            One or two categories, that from left to right first. By default those of the worst rule
            set.
        """
        if "mine_text" not in result.details:
            raise UsageError(messages.NO_MAPS_OF_TERMS.format(verb=result.job))
        return cls(_heats(result, axes))

    def plot(self, ax: Any = None) -> TermsDisplay:
        """Draw on axes given (the first matrix), or all on a new figure, and return the display."""
        self._stack(ax, self.heats)
        return self


def _is_trivial(heat: Heat) -> bool:
    """Return whether a map has two cells only: a rule set and the other, which the bars show."""
    cells = sum(map(len, heat.rates))
    return cells <= 2


def _minings(result: Result) -> list[list[MinedFinding]]:
    """Return the findings of each mining, the mining with the best evidence first."""
    minings: dict[int, list[MinedFinding]] = {}
    for finding in mined_findings(result):
        minings.setdefault(id(finding.entry), []).append(finding)
    return list(minings.values())


def _bars(findings: Sequence[MinedFinding], examined: int) -> Bars:
    """Return the bars of one mining.

    `examined` is the number of rule sets over which the intervals are simultaneous.
    """
    entry = findings[0].entry
    worst = worst_of(findings).finding
    percent = in_percent(entry)
    stories = [finding for finding in findings if not finding.others]
    bars = [_bar(finding, percent=percent) for finding in stories[:MOST_BARS]]
    title = worst.claim
    if worst.verdict is not None:
        title = say(messages.BAR_TITLE_WITH_VERDICT, verdict=worst.verdict, claim=title)
    notes = [_axis_note(entry)]
    if worst.estimate.level < 1:
        notes.append(_interval_note(entry, worst.estimate.level, examined))
    notes.append(say(messages.POPULATION, population=term(entry["population"])))
    if len(stories) > MOST_BARS:
        more = number_text.count(len(stories) - MOST_BARS)
        notes.append(say(messages.MORE_RULE_SETS, count=more))
    return Bars(
        of_output(entry, title),
        tuple(notes),
        _headers(entry) if bars else (),
        tuple(bars),
        _rest(findings, percent=percent),
        worst.limit,
        _directions(entry),
        percent,
    )


def _axis_note(entry: Entry) -> str:
    """Return what the length of the bars stands for."""
    if "changes" in entry:
        return say(messages.BARS_OF_CHANGES)
    others = OTHERS if "over" in entry else OTHER_TEXTS[entry["against"]]
    return say(sentences_for(entry).axis, others=term(others))


def _directions(entry: Entry) -> tuple[str, str] | None:
    """Return what stands at both ends of the axis; how many texts change has one end only."""
    if "changes" in entry:
        return None
    low, high = sentences_for(entry).ends
    return term(low), term(high)


def _interval_note(entry: Entry, level: float, examined: int) -> str:
    """Return the level of the intervals, and what they are simultaneous over.

    Those of the paper's own method are each for itself.
    """
    level_text = number_text.percent_level(level)
    if "changes" in entry:
        sets = len(entry["changes"])
        if sets > 1:
            return say(messages.INTERVALS_OVER_CATEGORIES, level=level_text, count=sets)
        return say(messages.INTERVALS_OVER_CATEGORY, level=level_text, count=sets)
    if entry.get("method") == "paper":
        return say(messages.INTERVALS, level=level_text)
    count = number_text.count(examined)
    if entry.get("discovered"):
        found = number_text.count(entry["discovered"])
        return say(
            messages.INTERVALS_OF_DISCOVERIES, level=level_text, found=found, count=count
        )
    return say(messages.INTERVALS_OVER_RULE_SETS, level=level_text, count=count)


def _headers(entry: Entry) -> tuple[str, ...]:
    """Return what stands over the columns beside bars."""
    if "changes" in entry:
        return say("changed"), say("texts")
    if "over" in entry:
        return say("group"), say(messages.HEADING_EVERYONE_ELSE), say("rows")
    if entry["against"] == "terms":
        others = say(messages.HEADING_OTHER_TERMS)
    else:
        others = say(messages.HEADING_OTHER_TEXTS)
    return say(messages.COLUMN_THESE_TERMS), others, say("texts")


def _bar(found: MinedFinding, *, percent: bool) -> Bar:
    """Return the bar of a story, with the numbers beside it."""
    finding = found.finding
    story = found.story
    estimate = finding.estimate
    certain = estimate.low > 0
    if finding.limit is not None:
        certain = finding.verdict is Verdict.FAIL
    if "changes" in found.entry:
        value = estimate.value
        rates = [estimate.value]
    else:
        value = story["difference"]
        rates = [story["rate"]["value"], story["other"]["value"]]
    beside = [rate_text(rate, percent=percent) for rate in rates]
    unit = "texts" if "texts" in found.entry else "rows"
    beside.append(number_text.count(story[unit]))
    label = wrapped(_label(found))
    return Bar(label, value, estimate.low, estimate.high, certain, tuple(beside))


def _label(found: MinedFinding) -> str:
    """Return what a story is about; below another, what it adds to that."""
    if found.parts is None:
        return found.about
    return label_below(found.parts.subgroup.rule, found.rule_above)


def _rest(findings: Sequence[MinedFinding], *, percent: bool) -> RemainingRules | None:
    """Return the bound on all rule sets that lead no story; None where there are none."""
    for found in findings:
        if not found.others:
            continue
        estimate = found.finding.estimate
        if percent:
            distance = number_text.points(estimate.value)
        else:
            distance = mean_text(estimate.value)
        rules = found.story["rules"]
        count = number_text.count(rules)
        has_stories = any(not other.others for other in findings)
        if not has_stories:
            label = say(messages.ALL_RULE_SETS_BAR, count=count, distance=distance)
        elif rules > 1:
            label = say(messages.OTHER_RULE_SETS_BAR, count=count, distance=distance)
        else:
            label = say(messages.OTHER_RULE_SET_BAR, count=count, distance=distance)
        return RemainingRules(label, estimate.value, estimate.high)
    return None


def _heats(result: Result, axes: Sequence[str] | str | None) -> tuple[Heat, ...]:
    """Return a heat map of each mining that has one over these features."""
    names = _names(axes)
    worst_of_each = [worst_of(findings) for findings in _minings(result)]
    heats = []
    for worst in worst_of_each:
        heat = heat_of(worst.entry, worst.story, names)
        if heat is not None:
            heats.append(heat)
    if heats:
        return tuple(heats[:MOST_MININGS])
    choices = []
    for worst in worst_of_each:
        choices += [" and ".join(cells.axes) for cells in cells_of(worst.entry)]
    if not choices:
        raise UsageError(messages.NO_CELLS.format(verb=result.job))
    wanted = " and ".join(names or ())
    valid = nearest(wanted, dict.fromkeys(choices))
    shown = clip(repr(axes))
    raise UsageError(messages.NO_MAP_OF_AXES.format(axes=shown, choices=valid))


def _names(axes: Sequence[str] | str | None) -> list[str] | None:
    """Return the features of a map; one feature may be given by its name alone."""
    if axes is None:
        return None
    if isinstance(axes, list | tuple):
        return [str(name) for name in axes]
    return [str(axes)]


def display_of(result: Result) -> Display:
    """Return the display of a result; what has no details is drawn by its findings."""
    if not entries_of(result):
        return RatesDisplay.from_findings(result.findings)
    return MineDisplay.from_result(result)
