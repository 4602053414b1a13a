"""The options of a repair: checked before anything is trained, and recorded for a replay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.mine.rule_sets import check_support
from evenhand.methods.repair import messages
from evenhand.methods.repair.methods.labelling import LABELS
from evenhand.methods.repair.rows import check_share
from evenhand.runtime.errors import UsageError, clip, nearest
from evenhand.runtime.workers import Workers
from evenhand.statistics.estimate import check_limit
from evenhand.statistics.intervals import check_level

if TYPE_CHECKING:
    from evenhand.methods.repair.repair_result import Repair
    from evenhand.runtime.budget import Budget

METHODS = ("augment", "aequitas", "subgroup", "evened")
NOT_FOR_TEXTS = {
    "over": None,
    "labelling": "vote",
    "patience": None,
    "sample_weight": None,
    "differs": None,
    "draws": None,
}
NOT_FOR_TABLES = {"lexicon": None, "without": ()}
"""Options with what they are where they are not given."""
FOR_TEXTS = (
    "rule",
    "lexicon",
    "without",
    "support",
    "positive",
    "steps",
    "tolerance",
    "test",
    "validate",
    "refit",
)
SHARED = ("limit", "level", "seed", "progress")
RECORDED = (
    "labelling",
    "add",
    "patience",
    "steps",
    "test",
    "validate",
    "draws",
    "support",
    "level",
    "refit",
)
"""Options that a result records where they are not the usual ones."""


@dataclass(frozen=True)
class RepairOptions:
    """The options of a repair.

    >>> RepairOptions.of({"method": "evened", "level": 0.9}).recorded
    {'level': 0.9}
    """

    method: str = "augment"
    labelling: Any = "vote"
    add: str | None = None
    patience: int | None = None
    rule: Any = None
    steps: int = 8
    tolerance: float = 0.01
    test: Any = 0.25
    validate: Any = 0.2
    positive: Any = None
    differs: Any = None
    limit: float | None = None
    level: float = 0.95
    draws: int | None = None
    budget: Budget | None = None
    support: float = 0.05
    refit: bool = True
    seed: int = 0
    n_jobs: int = 1

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> RepairOptions:
        """Return the options among what was given."""
        values = {}
        for field in fields(cls):
            if field.name in given:
                values[field.name] = given[field.name]
        return cls(**values)

    @property
    def recorded(self) -> dict[str, Any]:
        """The options that are not the usual ones, as JSON holds them.

        A function is recorded by its name, and rows by the word "rows".
        """
        usual = RepairOptions()
        recorded = {}
        for name in RECORDED:
            value = getattr(self, name)
            if isinstance(value, tuple | list):
                value = "rows"
            elif callable(value):
                value = getattr(value, "__name__", type(value).__name__)
            if value != getattr(usual, name):
                recorded[name] = value
        return recorded

    def check(self, *, texts: bool) -> None:
        """Refuse options that are wrong, before anything is trained."""
        self._check_method(texts=texts)
        self._check_labelling()
        self._check_add(texts=texts)
        self._check_numbers()
        check_flag("refit", self.refit)
        Workers(self.n_jobs)
        for name in ("test", "validate"):
            part = getattr(self, name)
            if not isinstance(part, tuple | list):
                check_share(name, part)
        check_support(self.support)
        check_level(self.level)
        if self.limit is not None:
            check_limit(self.limit)

    def _check_method(self, *, texts: bool) -> None:
        if self.method not in METHODS:
            method = clip(repr(self.method))
            choices = nearest(self.method, METHODS)
            raise UsageError(messages.METHOD_UNKNOWN.format(method=method, choices=choices))
        if texts and self.method != "subgroup":
            raise UsageError(messages.METHOD_NOT_FOR_TEXTS.format(method=repr(self.method)))

    def _check_labelling(self) -> None:
        if callable(self.labelling) or self.labelling in LABELS:
            return
        labelling = clip(repr(self.labelling))
        choices = nearest(self.labelling, LABELS)
        message = messages.LABELLING_UNKNOWN.format(labelling=labelling, choices=choices)
        raise UsageError(message)

    def _check_add(self, *, texts: bool) -> None:
        if self.add is None:
            return
        add = clip(repr(self.add))
        known = _additions(self.method, texts=texts)
        if not known:
            raise UsageError(messages.ADD_NOT_FOR_METHOD.format(add=add))
        if self.add not in known:
            choices = nearest(self.add, known)
            raise UsageError(messages.ADD_UNKNOWN.format(add=add, choices=choices))

    def _check_numbers(self) -> None:
        for name, least in (("patience", 0), ("steps", 1), ("draws", 100)):
            value = getattr(self, name)
            if value is None and name != "steps":
                continue
            if not is_whole(value) or value < least:
                shown = clip(repr(value))
                message = messages.NOT_A_WHOLE_NUMBER.format(
                    name=name, value=shown, least=least
                )
                raise UsageError(message)
        if not is_number(self.tolerance) or not 0 <= self.tolerance < np.inf:
            shown = clip(repr(self.tolerance))
            message = messages.NOT_A_NUMBER.format(
                name="tolerance", value=shown, example=0.01
            )
            raise UsageError(message)


def check_flag(name: str, value: Any) -> None:
    """Refuse what is neither True nor False."""
    if not isinstance(value, bool):
        shown = clip(repr(value))
        raise UsageError(messages.NOT_TRUE_OR_FALSE.format(name=name, value=shown))


def is_whole(value: Any) -> bool:
    """Return whether a value is a whole number; a truth value is not.

    >>> is_whole(3), is_whole(True), is_whole(3.0)
    (True, False, False)
    """
    return isinstance(value, int) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    """Return whether a value is a number; a truth value is not.

    >>> is_number(0.5), is_number(True)
    (True, False)
    """
    return isinstance(value, int | float) and not isinstance(value, bool)


def _additions(method: str, *, texts: bool) -> tuple[str, ...]:
    """Return what a method can add to the training rows; only that method is imported."""
    if method == "augment":
        from evenhand.methods.repair.methods.augment import ADDITIONS

        return ADDITIONS
    if method != "subgroup":
        return ()
    if texts:
        from evenhand.methods.repair.methods.text_additions import (
            ADDITIONS as TEXT_ADDITIONS,
        )

        return TEXT_ADDITIONS
    from evenhand.methods.repair.methods.subgroup import MEMBERS

    return MEMBERS


def are_texts(rows: Any) -> bool:
    """Return whether these are texts rather than rows of features.

    >>> are_texts(["a text"]), are_texts(np.zeros((2, 2)))
    (True, False)
    """
    if isinstance(rows, np.ndarray):
        return rows.ndim == 1 and rows.dtype.kind in "OUS"
    if isinstance(rows, Sequence) and not isinstance(rows, str):
        return len(rows) > 0 and isinstance(rows[0], str)
    return not hasattr(rows, "columns") and hasattr(rows, "dtype")


def refuse_options_of_texts(given: Mapping[str, Any]) -> None:
    """Refuse options that only texts have, where X holds rows of features."""
    name = _first_given(given, NOT_FOR_TABLES)
    if name is not None:
        raise UsageError(messages.OPTION_FOR_TEXTS.format(name=name))


def refuse_options_of_tables(given: Mapping[str, Any]) -> None:
    """Refuse options that only rows of features have, where X holds texts."""
    name = _first_given(given, NOT_FOR_TEXTS)
    if name is not None:
        raise UsageError(messages.OPTION_FOR_TABLES.format(name=name))


def _first_given(given: Mapping[str, Any], usual: Mapping[str, Any]) -> str | None:
    """Return the first option that is not what it is where it is not given."""
    for name, default in usual.items():
        value = given[name]
        if value is default:
            continue
        # Compared only with its own kind: an array compared with a text gives no truth value.
        if not isinstance(value, type(default)) or value != default:
            return name
    return None


def texts(estimator: Any, rows: Any, truth: Any, given: Mapping[str, Any]) -> Repair:
    """Repair a classifier of texts."""
    from evenhand.methods.repair.methods.texts import repair_texts

    refuse_options_of_tables(given)
    options = {name: given[name] for name in (*FOR_TEXTS, *SHARED)}
    if given["add"] is not None:
        options["add"] = given["add"]
    return repair_texts(estimator, rows, truth, **options)
