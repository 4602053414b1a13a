"""Findings in plain words, for people who know no statistics: how many of every 100 people."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.report.page import messages
from evenhand.runtime import number_text
from evenhand.runtime.errors import clip
from evenhand.runtime.language import say, term
from evenhand.space.rule import Rule
from evenhand.statistics.estimate import Estimate

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from evenhand.results.evidence import Finding, Group

_SAME = 1e-9
"""How far the difference of two rates may be from that of a finding to be the same."""
_ROUNDING = 1e-9
"""What the arithmetic of decimals may add to a whole number of people."""
_WHOLES = (100, 1_000, 10_000, 100_000, 1_000_000)
_OF_GROUPS = {
    "group": messages.FAVOURED_GROUPS,
    "rate difference": messages.FAVOURED_GROUPS,
    "true positive rate difference": messages.TRUE_POSITIVE_GROUPS,
    "false positive rate difference": messages.FALSE_POSITIVE_GROUPS,
    "false negative rate difference": messages.FALSE_NEGATIVE_GROUPS,
    "accuracy difference": messages.ACCURACY_GROUPS,
    "precision difference": messages.PRECISION_GROUPS,
}
"""What is said of two groups, by the score that compares them."""
_RATIO = "impact ratio"
_OF_RATES = ("group", "rate difference", _RATIO)
"""Scores of how often groups get the favourable outcome, whose sentence tells both rates."""
_OF_NUMBERS = {
    "mean difference": messages.MEAN_GROUPS,
    "median difference": messages.MEDIAN_GROUPS,
}
"""The same where outcomes are numbers on a scale."""


@dataclass(frozen=True)
class OutOf:
    """A share and its interval as numbers of people out of a round number of them."""

    value: str
    low: str
    high: str
    whole: str


def out_of(estimate: Estimate) -> OutOf:
    """Return a rate as how many of every hundred, or of as many as show it.

    Ends of the interval are rounded away from the rate: what may be 1.2 of every hundred is at
    most 2.

    >>> out_of(Estimate(0.117, 0.05, 0.222, 247, 0.99, "anytime"))
    OutOf(value='12', low='5', high='23', whole='100')
    >>> out_of(Estimate.exact(3, 6000)).whole
    '10,000'
    """
    whole = _whole(estimate)
    return OutOf(
        number_text.count(round(whole * estimate.value)),
        number_text.count(math.floor(whole * estimate.low + _ROUNDING)),
        number_text.count(math.ceil(whole * estimate.high - _ROUNDING)),
        number_text.count(whole),
    )


def _whole(estimate: Estimate) -> int:
    """Return the first round number of which a share, or where it is none its bound, is some."""
    seen = estimate.value or estimate.high
    for whole in _WHOLES:
        if whole * seen >= 1:
            return whole
    return 100 if seen == 0 else _WHOLES[-1]


def in_plain_words(finding: Finding, found: Any = None) -> str:
    """Return a finding in plain words, and the claim where there are none for its score.

    >>> from evenhand.results.evidence import Finding
    >>> share = Estimate(0.117, 0.05, 0.222, 247, 0.99, "anytime")
    >>> print(in_plain_words(Finding("a claim", ("race",), share, score="causal")))
    Of every 100 inputs, about 12 get another outcome when nothing but race is changed
    """
    estimate = finding.estimate
    if not estimate.n or math.isnan(estimate.value):
        return finding.claim
    if finding.score in _OF_NUMBERS and estimate.value > 0 and not finding.output:
        return _of_numbers(finding) or finding.claim
    if estimate.unit != Estimate.unit:
        return finding.claim
    if finding.score == "causal" and not finding.graded:
        return _causal(finding)
    template = _OF_GROUPS.get(finding.score)
    if template is None or finding.least:
        return finding.claim
    return of_groups(template, finding) or finding.claim


def _causal(finding: Finding) -> str:
    """Return in how many of every hundred inputs only some features matter."""
    numbers = out_of(finding.estimate)
    features = features_in_words(finding)
    if finding.estimate.value <= 0 and finding.estimate.high <= 0:
        return say(messages.CAUSAL_NEVER, features=features)
    return say(
        _causal_template(finding),
        whole=numbers.whole,
        value=numbers.value,
        high=numbers.high,
        features=features,
        gap="" if finding.gap is None else number_text.plain(finding.gap),
    )


def features_in_words(finding: Finding) -> str:
    """Return the features that a finding is about, for which output where there are several."""
    features = say_list(finding.about)
    if not finding.output:
        return features
    return say(messages.FEATURES_OF_OUTPUT, features=features, output=finding.output)


def _causal_template(finding: Finding) -> str:
    """Return what is said of inputs; where these are real, they are people."""
    # A score of real people has the one of all inputs beside it.
    are_people = finding.uniform is not None
    if finding.estimate.value <= 0:
        return messages.CAUSAL_NOT_SEEN_PEOPLE if are_people else messages.CAUSAL_NOT_SEEN
    if finding.gap is None:
        return messages.CAUSAL_PEOPLE if are_people else messages.CAUSAL
    return messages.CAUSAL_GAP_PEOPLE if are_people else messages.CAUSAL_GAP


def of_groups(template: str, finding: Finding) -> str:
    """Return what is said of the two groups whose difference was found, empty where none is."""
    groups = compared_groups(finding)
    if groups is None:
        return ""
    worst, best = groups
    return two_groups(
        template,
        worst=(group_name(worst), worst.estimate),
        best=(group_name(best), best.estimate),
    )


def _of_numbers(finding: Finding) -> str:
    """Return how much less one group gets than another, empty where none are known."""
    groups = compared_groups(finding)
    if groups is None:
        return ""
    worst, best = groups
    return say(
        _OF_NUMBERS[finding.score],
        worst=group_name(worst),
        low=worst.estimate.value_text,
        best=group_name(best),
        high=best.estimate.value_text,
        gap=finding.estimate.value_text,
    )


def compared_groups(finding: Finding) -> tuple[Group, Group] | None:
    """Return the two groups whose difference was found, the lower one first.

    Groups that are too small to be compared are listed with the others, and are not meant.
    """
    known = [group for group in finding.groups if group.estimate.n]
    size = max(1.0, abs(finding.estimate.value))
    rates = np.array([group.estimate.value for group in known])
    apart = np.subtract.outer(rates, rates)
    pairs = np.argwhere(np.abs(apart - finding.estimate.value) < _SAME * size)
    for high, low in pairs:
        if high != low:
            return known[low], known[high]
    return None


def compared_rates(finding: Finding) -> tuple[str, ...] | None:
    """Return what distinguishes the two rates that a sentence tells, None of other sentences.

    A difference and a ratio of the same rates are told by the same sentence.
    """
    if finding.score not in _OF_RATES:
        return None
    groups = compared_groups(finding)
    if finding.score == _RATIO:
        groups = _ends(finding.groups)
    if groups is None:
        return None
    names = [repr(sorted(group.about.items())) for group in groups]
    return finding.output, finding.estimate.population, *names


def _ends(groups: Sequence[Group]) -> tuple[Group, Group] | None:
    """Return the groups with the lowest and the highest value, None where there are no two."""
    known = [group for group in groups if group.estimate.n]
    if len(known) < 2:
        return None
    known.sort(key=lambda group: group.estimate.value)
    return known[0], known[-1]


def two_groups(
    template: str, *, worst: tuple[str, Estimate], best: tuple[str, Estimate]
) -> str:
    """Return what is said of two groups, each given as its name and its rate."""
    low_name, low = worst
    high_name, high = best
    whole = _whole(high)
    return say(
        template,
        whole=number_text.count(whole),
        worst=low_name,
        low=number_text.count(round(whole * low.value)),
        best=high_name,
        high=number_text.count(round(whole * high.value)),
    )


def group_name(group: Group, about: object = None) -> str:
    """Return a group in words: the rule of a subgroup, or its values.

    `about` is what the finding is about: its rule is said in the language of the page.
    """
    if list(group.about) != ["rule"]:
        return clip(str(group), 200)
    return clip(rule_name(group, about), 200)


def rule_name(group: Group, about: object) -> str:
    """Return the rule of a subgroup in words, however long they are."""
    shown = str(group.about["rule"])
    if isinstance(about, Rule):
        return about.spoken_for(shown)
    return term(shown)


def say_list(names: Iterable[str]) -> str:
    """Return names as a list in words.

    >>> say_list(["sex", "race", "age"])
    'sex, race and age'
    """
    *others, last = names
    if not others:
        return last
    return say(messages.LIST, first=", ".join(others), last=last)
