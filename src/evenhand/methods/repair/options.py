"""What the user asked a repair for: checked before anything is trained, and told so that it can be
done again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.mine.rule_sets import check_support
from evenhand.methods.repair.methods.labelling import LABELS
from evenhand.methods.repair.training import check_share
from evenhand.runtime.errors import UsageError, clip, nearest
from evenhand.runtime.workers import Workers
from evenhand.statistics.estimate import check_limit
from evenhand.statistics.intervals import check_level

if TYPE_CHECKING:
    from evenhand.methods.repair.repair_result import Repair

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
)
SHARED = ("limit", "level", "seed", "progress")


@dataclass(frozen=True)
class RepairOptions:
    """The options of a repair.

    >>> RepairOptions.of({"method": "evened", "level": 0.9}).told
    {'level': 0.9}
    """

    method: str = "augment"
    labelling: Any = "vote"
    add: str | None = None
    patience: int | None = None
    steps: int = 8
    tolerance: float = 0.01
    test: Any = 0.25
    validate: Any = 0.2
    limit: float | None = None
    level: float = 0.95
    draws: int | None = None
    support: float = 0.05
    n_jobs: int = 1

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> RepairOptions:
        """Return the options among what was given."""
        return cls(
            **{field.name: given[field.name] for field in fields(cls) if field.name in given}
        )

    @property
    def told(self) -> dict[str, Any]:
        """What else than usual was asked for, as JSON holds it; functions and rows are told by a
        word.
        """
        usual, found = RepairOptions(), {}
        for name in (
            "labelling",
            "add",
            "patience",
            "steps",
            "test",
            "validate",
            "draws",
            "support",
            "level",
        ):
            value = getattr(self, name)
            if isinstance(value, tuple | list):
                value = "rows"
            elif callable(value):
                value = getattr(value, "__name__", type(value).__name__)
            if value != getattr(usual, name):
                found[name] = value
        return found

    def check(self, *, texts: bool) -> None:
        """Refuse what is wrong, in one sentence."""
        if self.method not in METHODS:
            raise UsageError(
                f"method = {clip(repr(self.method))} is unknown; {nearest(self.method, METHODS)}"
            )
        if texts and self.method != "subgroup":
            raise UsageError(
                f"X holds texts, which method = {self.method!r} does not take; use"
                " method='subgroup', or give a space"
            )
        if not callable(self.labelling) and self.labelling not in LABELS:
            valid = nearest(self.labelling, LABELS)
            raise UsageError(
                f"labelling = {clip(repr(self.labelling))} is unknown; {valid}, or a function of a"
                " frame"
            )
        self._check_add(texts=texts)
        for name, least in (("patience", 0), ("steps", 1), ("draws", 100)):
            value = getattr(self, name)
            if value is None and name != "steps":
                continue
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise UsageError(
                    f"{name} = {clip(repr(value))} must be a whole number of {least} or more"
                )
        number = isinstance(self.tolerance, int | float) and not isinstance(self.tolerance, bool)
        if not number or not 0 <= self.tolerance < np.inf:
            raise UsageError(
                f"tolerance = {clip(repr(self.tolerance))} must be a number of 0 or more, such as"
                " 0.01"
            )
        Workers(self.n_jobs)
        for name in ("test", "validate"):
            if not isinstance(getattr(self, name), tuple | list):
                check_share(name, getattr(self, name))
        check_support(self.support)
        check_level(self.level)
        if self.limit is not None:
            check_limit(self.limit)

    def _check_add(self, *, texts: bool) -> None:
        if self.add is None:
            return
        known = _additions(self.method, texts=texts)
        if not known:
            raise UsageError(
                f"add = {clip(repr(self.add))} is for methods 'augment' and 'subgroup'; leave"
                " it out"
            )
        if self.add not in known:
            raise UsageError(f"add = {clip(repr(self.add))} is unknown; {nearest(self.add, known)}")


def _additions(method: str, *, texts: bool) -> tuple[str, ...]:
    """Return what a method can add to the training rows; only that method is imported."""
    if method == "augment":
        from evenhand.methods.repair.methods.augment import ADDITIONS

        return ADDITIONS
    if method != "subgroup":
        return ()
    if texts:
        from evenhand.methods.repair.methods.text_additions import ADDITIONS as TEXT_ADDITIONS

        return TEXT_ADDITIONS
    from evenhand.methods.repair.methods.subgroup import MEMBERS

    return MEMBERS


def are_texts(rows: Any) -> bool:
    """Tell whether these are texts rather than rows of features.

    >>> are_texts(["a text"]), are_texts(np.zeros((2, 2)))
    (True, False)
    """
    if isinstance(rows, np.ndarray):
        return rows.ndim == 1 and rows.dtype.kind in "OUS"
    if isinstance(rows, Sequence) and not isinstance(rows, str):
        return len(rows) > 0 and isinstance(rows[0], str)
    return not hasattr(rows, "columns") and hasattr(rows, "dtype")


def refuse(given: Mapping[str, Any], usual: Mapping[str, Any], why: str) -> None:
    """Refuse options that are not for this kind of rows."""
    for name, value in usual.items():
        if given[name] is not value and not (
            isinstance(given[name], type(value)) and given[name] == value
        ):
            raise UsageError(f"{name} {why}; leave it out")


def texts(estimator: Any, rows: Any, truth: Any, given: Mapping[str, Any]) -> Repair:
    """Repair a classifier of texts."""
    from evenhand.methods.repair.methods.texts import repair_texts

    refuse(given, NOT_FOR_TEXTS, "is for rows of features, and X holds texts")
    added = {} if given["add"] is None else {"add": given["add"]}
    taken = {name: given[name] for name in (*FOR_TEXTS, *SHARED)}
    return repair_texts(estimator, rows, truth, **taken, **added)
