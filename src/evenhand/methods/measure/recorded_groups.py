"""The groups of recorded decisions: their counts, which of them are compared, and what is found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.measure import messages
from evenhand.population.recorded import (
    UNKNOWN,
    codes_of,
    decided_sizes,
    labels_of,
)
from evenhand.runtime import number_text
from evenhand.runtime.errors import UsageError, clip, nearest
from evenhand.runtime.label_text import group_text, labelled
from evenhand.scores.groups import Groups, declared_groups
from evenhand.scores.rates.metric_table import MetricTable, counts_by
from evenhand.scores.rates.metric_table import shares as shares_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evenhand.population.recorded import DecisionColumns
    from evenhand.results.evidence import Finding
    from evenhand.scores.rates.metric_table import RateLimits
    from evenhand.space.feature import Label
    from evenhand.statistics.intervals import Floats
    from evenhand.statistics.spending import Spending

MOST_EMPTY = 20
"""The most groups without rows that are listed one by one."""
MOST_LISTED = 1000
"""The most groups with rows that are listed, compared or not."""


@dataclass(frozen=True)
class RecordedGroups:
    """The counts of the groups of one set, and which of them are compared."""

    names: tuple[str, ...]
    about: Sequence[Mapping[str, Label]]
    counts: Floats
    """Rows by group, truth and decision."""
    compared: NDArray[np.intp]
    """Positions of the groups that are not too small."""
    unlisted: int
    """How many groups without rows there are, where they are too many to list."""
    notes: Sequence[str]
    small: NDArray[np.intp]
    """Positions of the groups that are too small to be compared."""

    @property
    def left_out(self) -> list[dict[str, Any]]:
        """The groups that are too small to be compared, as details hold them."""
        sizes = self.counts.sum(axis=(1, 2))
        found = []
        for at in self.small.tolist():
            about = dict(self.about[at])
            found.append({"over": list(self.names), "about": about, "n": int(sizes[at])})
        return found

    def table(
        self,
        metrics: tuple[str, ...],
        level: float,
        spending: Spending,
        limits: RateLimits,
    ) -> MetricTable:
        """Return the rates of the groups, with what has a limit."""
        return MetricTable(
            self.names,
            self.about,
            self.counts,
            metrics,
            level,
            spending,
            limits,
            messages.RECORDED_DECISIONS,
            self.compared,
            self.unlisted,
        )

    def findings(self, table: MetricTable) -> list[Finding]:
        """Return what is found of the difference and the ratio of each rate, with its groups."""
        found = []
        for metric in table.metrics:
            difference = table.difference_finding(metric)
            ratio = table.ratio_finding(metric)
            if metric == "selection_rate":
                difference = self._favoured(difference)
                ratio = self._favoured_ratio(ratio)
            found += [difference, ratio]
        return found

    def _favoured(self, finding: Finding) -> Finding:
        """Return the difference of selection rates, in the words of recorded decisions."""
        shares = self._shares()
        features = " and ".join(self.names)
        if not _comparable(shares):
            claim = messages.TOO_FEW_GROUPS.format(features=features)
            return _worded(finding, claim, "rate difference")
        best = int(np.nanargmax(shares))
        worst = int(np.nanargmin(shares))
        high = number_text.percent(shares[best])
        if shares[best] == shares[worst]:
            claim = messages.RATES_EQUAL.format(features=features, rate=high)
        else:
            claim = messages.RATES_DIFFER.format(
                best=group_text(self.about[self.compared[best]]),
                high=high,
                worst=group_text(self.about[self.compared[worst]]),
                low=number_text.percent(shares[worst]),
            )
        return _worded(finding, claim, "rate difference")

    def _favoured_ratio(self, finding: Finding) -> Finding:
        """Return the ratio of selection rates, in the words of recorded decisions."""
        shares = self._shares()
        features = " and ".join(self.names)
        if not _comparable(shares):
            claim = messages.RATIO_WITHOUT_GROUPS.format(features=features)
        elif np.nanmax(shares) == 0:
            claim = messages.RATIO_OF_ZERO.format(features=features)
        else:
            ratio = number_text.percent_of(np.nanmin(shares), np.nanmax(shares))
            claim = messages.RATIO.format(features=features, ratio=ratio)
        return _worded(finding, claim, "rate ratio")

    def _shares(self) -> Floats:
        return shares_of(self.counts[self.compared], "selection_rate")


def _comparable(shares: Floats) -> bool:
    return int((~np.isnan(shares)).sum()) > 1


def _worded(finding: Finding, claim: str, score: str) -> Finding:
    """Return a finding in other words; its key follows from its score."""
    return replace(finding, claim=claim, score=score, key="")


@dataclass(frozen=True)
class GroupCounts:
    """Recorded decisions by truth and decision, of each group and of people who are in none."""

    groups: Groups
    by_group: Floats
    """The counts of each group."""
    kinds: NDArray[np.intp]
    """The codes of people who are in no group, one column for each combination."""
    by_kind: Floats
    """The counts of each of these combinations."""
    rows: float
    """How many rows have an outcome."""


def count_groups(cells: Any, groups: Groups, columns: DecisionColumns) -> GroupCounts:
    """Sum the counts by group; rows without an outcome count for nothing."""
    rows = decided_sizes(cells, columns.outcome)
    codes = []
    for name in groups.names:
        labels = labels_of(cells, name)
        codes.append(codes_of(groups.space.feature(name), labels))
    kinds, place = np.unique(np.array(codes, dtype=np.intp), axis=1, return_inverse=True)
    by_kind = counts_by(
        place.ravel(),
        kinds.shape[1],
        columns.truths(cells),
        columns.decided(cells),
        rows,
    )
    # Negative codes are of people with an unknown value.
    in_a_group = (kinds >= 0).all(axis=0)
    numbers = np.ravel_multi_index(tuple(kinds[:, in_a_group]), groups.shape)
    by_group = np.zeros((len(groups), *by_kind.shape[1:]))
    by_group[numbers] = by_kind[in_a_group]
    others = ~in_a_group & (by_kind.sum(axis=(1, 2)) > 0)
    return GroupCounts(groups, by_group, kinds[:, others], by_kind[others], rows.sum())


def recorded_groups(
    counts: GroupCounts,
    support: float,
    declared: Mapping[str, Sequence[Label]],
) -> RecordedGroups:
    """Return the groups that are listed, and which of them are compared.

    Groups under the support are not, unless they were declared.
    """
    groups = counts.groups
    sizes = counts.by_group.sum(axis=(1, 2))
    is_small = (sizes < support * counts.rows) & ~declared_groups(groups, declared)
    is_empty = sizes == 0
    _check_number(groups, int((~is_empty).sum()))
    empty_are_listed = is_empty.sum() <= MOST_EMPTY
    listed = np.flatnonzero(~is_empty | empty_are_listed)
    about = [groups.label(group) for group in listed.tolist()]
    about += [_label_of_kind(groups, codes) for codes in counts.kinds.T.tolist()]
    of_listed = np.concatenate([counts.by_group[listed], counts.by_kind])
    notes = []
    small = np.flatnonzero(is_small[listed])
    if is_small.any():
        notes.append(_small_note(about, of_listed.sum(axis=(1, 2)), small, support))
    # Support already leaves small groups out, and those without rows are the smallest.
    empty_and_compared = is_empty & ~is_small
    empty = int(empty_and_compared.sum())
    if empty:
        positions = np.flatnonzero(empty_and_compared[listed])
        texts = [group_text(about[at]) for at in positions]
        notes.append(_empty_note(groups, empty, texts))
    return RecordedGroups(
        groups.names,
        about,
        of_listed,
        compared=np.flatnonzero(~is_small[listed]),
        unlisted=0 if empty_are_listed else empty,
        notes=notes,
        small=small,
    )


def _check_number(groups: Groups, with_rows: int) -> None:
    """Refuse more groups with rows than can be listed."""
    if with_rows > MOST_LISTED:
        raise UsageError(
            messages.TOO_MANY_GROUPS_TO_LIST.format(
                features=" and ".join(groups.names),
                groups=number_text.count(with_rows),
                most=number_text.count(MOST_LISTED),
            )
        )


def _small_note(
    about: Sequence[Mapping[str, Label]],
    size: Floats,
    small: NDArray[np.intp],
    support: float,
) -> str:
    texts = []
    for at in small:
        group = group_text(about[at])
        rows = number_text.count(int(size[at]))
        texts.append(messages.GROUP_WITH_ROWS.format(group=group, rows=rows))
    share = number_text.percent_plain(support)
    return messages.SMALL_GROUPS.format(share=share, groups=_joined(texts))


def _empty_note(groups: Groups, empty: int, texts: Sequence[str]) -> str:
    return messages.EMPTY_GROUPS.format(
        empty=number_text.count(empty),
        all=number_text.count(len(groups)),
        features=" and ".join(groups.names),
        groups=_joined(texts),
    )


def _label_of_kind(groups: Groups, codes: Sequence[int]) -> Mapping[str, Label]:
    """Return people who are in no group in the user's labels."""
    labels: dict[str, Label] = {}
    for name, code in zip(groups.names, codes, strict=True):
        feature = groups.space.feature(name)
        if code == UNKNOWN:
            labels[name] = feature.missing_word
        else:
            label = Groups(groups.space, (name,)).label(code)
            labels[name] = label[name]
    return labelled(labels, groups.space.words)


def _joined(texts: Sequence[str]) -> str:
    return clip("; ".join(texts), 400) or messages.TOO_MANY_TO_LIST


def check_groups(groups: Any, bins: Any, names: list[str]) -> None:
    """Refuse groups that are no dictionary, or that are of columns which are not compared."""
    if not isinstance(groups, Mapping):
        value = clip(repr(groups))
        raise UsageError(messages.NOT_A_DICTIONARY.format(option="groups", value=value))
    for name in groups:
        if name not in names:
            raise UsageError(
                messages.COLUMN_NOT_IN_OVER.format(
                    option="groups", column=clip(repr(name)), choices=nearest(name, names)
                )
            )
        if name in bins:
            raise UsageError(messages.GROUPS_AND_BINS.format(column=repr(name)))
