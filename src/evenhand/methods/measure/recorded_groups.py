"""The groups of recorded decisions: their counts, which of them are compared, and what is found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.measure import messages
from evenhand.population.recorded import (
    OUTSIDE,
    UNKNOWN,
    codes_of,
    labels_of,
    sizes_of,
)
from evenhand.results.evidence import Finding, Group
from evenhand.runtime import number_text
from evenhand.runtime.errors import UsageError, clip
from evenhand.scores.groups import Groups
from evenhand.statistics.ratios import Contrast

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from evenhand.space.feature import Label
    from evenhand.statistics.intervals import Floats

MOST_COMPARED = 200
"""The most groups with rows that are compared, pair by pair."""
MOST_EMPTY = 20
"""The most groups without rows that are listed one by one."""


@dataclass(frozen=True)
class RecordedGroups:
    """Favourable outcomes and rows of the groups of one set, and which of them are compared."""

    names: tuple[str, ...]
    about: Sequence[Mapping[str, Label]]
    hits: Floats
    size: Floats
    compared: NDArray[np.intp]
    """Positions of the groups that are not too small."""
    unlisted: int
    """How many groups without rows there are, where they are too many to list."""
    notes: Sequence[str]

    def findings(
        self, limit: float | None, least: float | None, **settings: Any
    ) -> list[Finding]:
        """Return what is found of the difference and of the ratio, each with its groups."""
        # One group without rows, which may have any rate, stands for all that are not listed.
        nobody = np.zeros(int(self.unlisted > 0))
        hits = np.append(self.hits[self.compared], nobody)
        size = np.append(self.size[self.compared], nobody)
        contrast = Contrast(hits, size, **settings)
        rates = Contrast(self.hits, self.size, **settings).rates()
        compared = [self.about[at] for at in self.compared]
        difference = Finding(
            self._difference_claim(contrast),
            self.names,
            contrast.difference(),
            limit,
            groups=tuple(map(Group, self.about, rates)),
            score="rate difference",
        )
        ratio = Finding(
            self._ratio_claim(contrast),
            self.names,
            contrast.ratio(),
            least,
            groups=tuple(map(Group, compared, contrast.to_best())),
            least=True,
            score="rate ratio",
        )
        return [difference, ratio]

    def _difference_claim(self, contrast: Contrast) -> str:
        features = " and ".join(self.names)
        if not contrast.comparable:
            return messages.TOO_FEW_GROUPS.format(features=features)
        best = int(np.nanargmax(contrast.shares))
        worst = int(np.nanargmin(contrast.shares))
        high = number_text.percent(contrast.shares[best])
        low = number_text.percent(contrast.shares[worst])
        if contrast.shares[best] == contrast.shares[worst]:
            return messages.RATES_EQUAL.format(features=features, rate=high)
        return messages.RATES_DIFFER.format(
            best=_group_text(self.about[self.compared[best]]),
            high=high,
            worst=_group_text(self.about[self.compared[worst]]),
            low=low,
        )

    def _ratio_claim(self, contrast: Contrast) -> str:
        features = " and ".join(self.names)
        if not contrast.comparable:
            return messages.RATIO_WITHOUT_GROUPS.format(features=features)
        highest = np.nanmax(contrast.shares)
        lowest = np.nanmin(contrast.shares)
        if highest == 0:
            return messages.RATIO_OF_ZERO.format(features=features)
        ratio = number_text.percent_of(lowest, highest)
        return messages.RATIO.format(features=features, ratio=ratio)


@dataclass(frozen=True)
class GroupCounts:
    """Favourable outcomes (first row) and all outcomes (second row) of recorded decisions."""

    groups: Groups
    by_group: Floats
    """The sums of each group."""
    kinds: NDArray[np.intp]
    """The codes of people who are in no group, one column for each combination."""
    by_kind: Floats
    """The sums of each of these combinations."""
    rows: float
    """How many rows have an outcome."""


def decided_sizes(cells: Any, outcome: str) -> Floats:
    """Return how many rows each cell has; those without an outcome count for nothing."""
    is_decided = [label is not None for label in labels_of(cells, outcome)]
    return sizes_of(cells) * is_decided


def count_groups(
    cells: Any, groups: Groups, outcome: str, favourable: Label
) -> GroupCounts:
    """Sum the counts by group; rows without an outcome count for nothing."""
    rows = decided_sizes(cells, outcome)
    is_favourable = [label == favourable for label in labels_of(cells, outcome)]
    features = [groups.space.feature(name) for name in groups.names]
    codes = []
    for feature in features:
        labels = labels_of(cells, feature.name)
        codes.append(codes_of(feature, labels))
    kinds, place = np.unique(np.array(codes, dtype=np.intp), axis=1, return_inverse=True)
    good_sums = np.bincount(place.ravel(), rows * is_favourable)
    all_sums = np.bincount(place.ravel(), rows)
    by_kind = np.array([good_sums, all_sums])

    # Negative codes are of people with an unknown value, or one outside the bins.
    in_a_group = (kinds >= 0).all(axis=0)
    varieties = [int(feature.variety) for feature in features]
    numbers = np.ravel_multi_index(tuple(kinds[:, in_a_group]), varieties)
    by_group = np.zeros((2, len(groups)))
    by_group[:, numbers] = by_kind[:, in_a_group]
    others = ~in_a_group & (all_sums > 0)
    return GroupCounts(groups, by_group, kinds[:, others], by_kind[:, others], rows.sum())


def recorded_groups(counts: GroupCounts, support: float) -> RecordedGroups:
    """Return the groups that are listed, and which of them are compared."""
    groups = counts.groups
    sizes = counts.by_group[1]
    is_small = sizes < support * counts.rows
    is_empty = sizes == 0
    with_rows = int((~is_small & ~is_empty).sum())
    if with_rows > MOST_COMPARED:
        raise UsageError(
            messages.TOO_MANY_GROUPS.format(
                features=" and ".join(groups.names),
                groups=number_text.count(with_rows),
                most=MOST_COMPARED,
            )
        )
    empty_are_listed = is_empty.sum() <= MOST_EMPTY
    listed = np.flatnonzero(~is_empty | empty_are_listed)
    about = [groups.label(group) for group in listed.tolist()]
    about += [_label_of_kind(groups, codes) for codes in counts.kinds.T.tolist()]
    hits, size = np.concatenate([counts.by_group[:, listed], counts.by_kind], axis=1)
    notes = []
    if is_small.any():
        small = np.flatnonzero(is_small[listed])
        notes.append(_small_note(about, size, small, support))
    # Support already leaves small groups out, and those without rows are the smallest.
    empty_and_compared = is_empty & ~is_small
    empty = int(empty_and_compared.sum())
    if empty:
        positions = np.flatnonzero(empty_and_compared[listed])
        texts = [_group_text(about[at]) for at in positions]
        notes.append(_empty_note(groups, empty, texts))
    return RecordedGroups(
        groups.names,
        about,
        hits,
        size,
        compared=np.flatnonzero(~is_small[listed]),
        unlisted=0 if empty_are_listed else empty,
        notes=notes,
    )


def _small_note(
    about: Sequence[Mapping[str, Label]],
    size: Floats,
    small: NDArray[np.intp],
    support: float,
) -> str:
    texts = []
    for at in small:
        group = _group_text(about[at])
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


def _label_of_kind(groups: Groups, codes: Sequence[int]) -> dict[str, Label]:
    """Return people who are in no group in the user's labels."""
    labels: dict[str, Label] = {}
    for name, code in zip(groups.names, codes, strict=True):
        feature = groups.space.feature(name)
        if code == UNKNOWN:
            labels[name] = feature.missing_word
        elif code == OUTSIDE:
            labels[name] = messages.OUTSIDE_DOMAIN.format(domain=feature.domain)
        else:
            label = Groups(groups.space, (name,)).label(code)
            labels[name] = label[name]
    return labels


def _group_text(about: Mapping[str, Label]) -> str:
    return ", ".join(f"{name} {value}" for name, value in about.items())


def _joined(texts: Sequence[str]) -> str:
    return clip("; ".join(texts), 400) or messages.TOO_MANY_TO_LIST
