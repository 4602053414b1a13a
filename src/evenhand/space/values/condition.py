"""A condition on one feature: a range of a number or date, or some levels of a category."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.runtime.label_text import text_of
from evenhand.runtime.language import ENGLISH, figures_as_written, say, speaking, term
from evenhand.space.values import dates
from evenhand.space.values.labels import read_labels

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenhand.space.values.feature_type import Feature
    from evenhand.space.values.points import Flags, Floats, Label

CONDITION_KEYS = (
    "feature",
    "low",
    "high",
    "levels",
    "without",
    "below",
    "missing",
    "labels",
)
"""What a condition holds in JSON."""
UNKNOWN = "unknown"
"""What people read for a missing value."""
MOST_NAMED = 12
"""Of so many values of a number at most, those in a range are listed by their labels."""
JOINED = {"or": "{before} or {last}", "nor": "{before} nor {last}"}
"""How several values are listed."""
_ENDS = ("low", "high", "below")


@dataclass(frozen=True, slots=True)
class Condition:
    """A range of a number, or some levels of a category; or that the value is missing.

    Both ends of a range are included; None stands for an open one. A range holds known values only:
    what is missing meets no comparison.

    >>> print(Condition("income", low=3000), "/", Condition("sex", levels=("F", "Other")))
    income at least 3,000 / sex F or Other
    >>> print(Condition("age", low=40, below=60), "/", Condition("rate", below=0.5))
    40 <= age < 60 / rate < 0.5
    >>> print(Condition("income", missing=True), "/", Condition("income"))
    income unknown / income known
    >>> print(Condition("applied", below="2020-05-01"), "/", Condition("applied", low="2020-05-01"))
    applied before 2020-05-01 / applied from 2020-05-01
    """

    feature: str
    low: float | None = None
    high: float | None = None
    levels: tuple[Label, ...] = ()
    without: tuple[Label, ...] = field(default=(), compare=False)
    """The levels that are left out, where naming those is shorter; a rule fills it in."""
    below: float | None = field(default=None, compare=False)
    """An end that is not included, for half-open bins; a rule fills in `high`."""
    missing: bool = False
    """Whether a missing value meets the condition; without a range or levels, no other one does."""
    dated: bool = field(default=False, compare=False)
    """Whether the ends are days; dates that are given as texts say so."""
    words: tuple[tuple[str, str], ...] = field(default=(), compare=False, repr=False)
    """What people call the values that it names; a rule fills it in."""

    def __post_init__(self) -> None:
        for key in _ENDS:
            end = getattr(self, key)
            if end is None or isinstance(end, int | float):
                continue
            day = dates.day_of(end)
            if day is not None:
                object.__setattr__(self, key, day)
                object.__setattr__(self, "dated", True)

    @property
    def only_missing(self) -> bool:
        """Whether no known value meets the condition."""
        return self.missing and not self.levels and not self.has_range

    @property
    def has_range(self) -> bool:
        """Whether the condition has an end."""
        return any(getattr(self, key) is not None for key in _ENDS)

    @property
    def text(self) -> str:
        """The condition in English words, which also stand for it in files."""
        with speaking(ENGLISH):
            return self.spoken_text

    @property
    def spoken_text(self) -> str:
        """The condition in words of the language that is spoken."""
        is_open = self.below is not None and not (self.without or self.levels)
        if not is_open or self.missing or self.dated or self.words:
            return f"{self.feature} {self._value_spoken}"
        below = self._end(self.below)
        if self.low is None:
            return f"{self.feature} < {below}"
        return f"{self._end(self.low)} <= {self.feature} < {below}"

    @property
    def value_text(self) -> str:
        """What the feature must be, in words without its name.

        >>> Condition("age", low=18, high=25).value_text, Condition("sex", levels=("F",)).value_text
        ('18 to 25', 'F')
        """
        with speaking(ENGLISH):
            return self._value_spoken

    @property
    def _value_spoken(self) -> str:
        """What the feature must be, in words of the language that is spoken."""
        if self.without == (None,):
            return say("known")
        if self.without:
            named = [self._named(level) for level in self.without]
            return say("not {feature}", feature=_joined(JOINED["nor"], named))
        parts = [self._named(level) for level in self.levels]
        if self.words and self.has_range:
            parts = [word for _, word in self.words]
        elif not self.levels and not self.only_missing:
            parts.append(self._date_text if self.dated else self._range_text)
        if self.missing:
            parts.append(term(UNKNOWN))
        return _joined(JOINED["or"], parts)

    @property
    def _range_text(self) -> str:
        """What a number must be."""
        if self.low is None:
            return self._upper_text
        low = self._end(self.low)
        if self.below is not None:
            below = self._end(self.below)
            return say("at least {low}, under {below}", low=low, below=below)
        if self.high is None:
            return say("at least {limit}", limit=low)
        if self.high == self.low:
            return low
        return say("{low} to {high}", low=low, high=self._end(self.high))

    @property
    def _upper_text(self) -> str:
        """What a number without a lower end must be."""
        if self.below is not None:
            return say("under {limit}", limit=self._end(self.below))
        if self.high is not None:
            return say("at most {limit}", limit=self._end(self.high))
        return say("known")

    @property
    def _date_text(self) -> str:
        """What a date must be."""
        if self.low is not None and self.low == self.high:
            return self._end(self.low)
        if self.low is None:
            return self._until_text
        low = self._end(self.low)
        if self.below is not None:
            below = self._end(self.below)
            return say("from {low} to before {below}", low=low, below=below)
        if self.high is not None:
            return say("from {low} to {high}", low=low, high=self._end(self.high))
        return say("from {low}", low=low)

    @property
    def _until_text(self) -> str:
        """What a date without a first day must be."""
        if self.below is not None:
            return say("before {below}", below=self._end(self.below))
        if self.high is not None:
            return say("up to {high}", high=self._end(self.high))
        return say("known")

    def _end(self, value: float | None) -> str:
        """Return an end of the range as people read it."""
        if self.dated and value is not None:
            return dates.iso_text(value)
        return figures_as_written(label_text(value))

    def _named(self, value: Label) -> str:
        """Return a level as the user calls it."""
        word = dict(self.words).get(text_of(value))
        return label_text(value) if word is None else word

    def __str__(self) -> str:
        return self.text

    def codes(self, feature: Feature) -> Flags:
        """Return which codes of a category meet the condition; the last is that of the missing."""
        levels = set(self.levels)
        met = [level in levels for level in feature.levels]
        return np.array([*met, self.missing])

    def mask(self, column: Floats, feature: Feature) -> Flags:
        """Return which encoded values of the feature meet the condition."""
        if feature.kind == "category":
            return self.codes(feature)[column.astype(np.intp)]
        gaps = feature.is_missing(column)
        if self.only_missing:
            return gaps
        met = ~gaps
        if self.low is not None:
            met &= column >= self.low
        if self.high is not None:
            met &= column <= self.high
        elif self.below is not None:
            met &= column < self.below
        if self.missing:
            return met | gaps
        return met

    def named_by(self, feature: Feature) -> Condition:
        """Return the same condition with what people call the values that it names.

        Of a range these are all of its values, where each of few has a label.
        """
        if not feature.words:
            return self
        words = dict(feature.words)
        named = []
        for value in self._values(feature):
            text = text_of(value)
            if text in words:
                named.append((text, words[text]))
            elif self.has_range:
                return self
        return replace(self, words=tuple(named))

    def _values(self, feature: Feature) -> list[Label]:
        """Return the values that are named, and those in a range of whole numbers."""
        if feature.kind != "integer" or not self.has_range or feature.size > MOST_NAMED:
            return [*self.levels, *self.without]
        values = feature.values()
        inside = replace(self, missing=False).mask(values, feature)
        return feature.labels(values[inside])

    def to_dict(self, *, labels: bool = True) -> dict[str, Any]:
        """Return the condition as JSON holds it, without what is open; dates are ISO texts.

        Without `labels` it says only what is met, and not what people call that.
        """
        table: dict[str, Any] = {"feature": self.feature}
        for key in _ENDS:
            end = getattr(self, key)
            if end is not None:
                if self.dated:
                    table[key] = dates.iso_text(end)
                else:
                    table[key] = end
        for key in ("levels", "without"):
            levels = getattr(self, key)
            if levels:
                table[key] = list(levels)
        if self.missing:
            table["missing"] = True
        if self.words and labels:
            table["labels"] = dict(self.words)
        return table


def condition_of(entry: Mapping[str, Any]) -> Condition:
    """Return a condition from its entry in JSON, where tuples are lists."""
    fields: dict[str, Any] = {}
    for key, value in entry.items():
        if key == "labels":
            fields["words"] = read_labels("a condition", value)
        elif isinstance(value, list):
            fields[key] = tuple(value)
        else:
            fields[key] = value
    return Condition(**fields)


def label_text(value: Label) -> str:
    """Return a level or the end of a range as people read it."""
    if value is None:
        return UNKNOWN
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value) or "''"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.15g}"


def _joined(template: str, parts: Sequence[str]) -> str:
    """Return parts with a word between each two of them."""
    text = ""
    for part in parts:
        text = say(template, before=text, last=part) if text else part
    return text
