"""Which answer is the favourable one, in the words of the software or in those of the data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.runtime.errors import UsageError, clip, nearest
from evenhand.runtime.number_text import percent
from evenhand.runtime.values import parse_outcome
from evenhand.space.feature import plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

FEWEST_ROWS = 30
"""Rows with a true outcome that it takes to tell which answer stands for which outcome."""
CLEAR = 0.2
"""How much oftener an outcome must have the answer that stands for it than other outcomes do."""
MOST_LABELS = 20
"""Numbers of more values than these are amounts, and not labels."""
SHOWN = 8
"""How many answers a line shows."""

GOOD = frozenset(
    {
        "yes",
        "y",
        "true",
        "t",
        "1",
        "approve",
        "approved",
        "approves",
        "accept",
        "accepted",
        "grant",
        "granted",
        "admit",
        "admitted",
        "hire",
        "hired",
        "pass",
        "passed",
        "good",
        "positive",
        "success",
        "successful",
        "eligible",
        "qualified",
        "selected",
        "invite",
        "invited",
        "offer",
        "offered",
        "win",
        "high",
    }
)
"""Words of favourable outcomes; "high" is not among them, since a high risk is none."""
BAD = frozenset(
    {
        "no",
        "n",
        "false",
        "f",
        "0",
        "-1",
        "deny",
        "denied",
        "denies",
        "reject",
        "rejected",
        "refuse",
        "refused",
        "decline",
        "declined",
        "fail",
        "failed",
        "bad",
        "negative",
        "failure",
        "unsuccessful",
        "ineligible",
        "unqualified",
        "unselected",
        "low",
    }
)
"""Words of unfavourable outcomes."""


@dataclass(frozen=True)
class SeenAnswers:
    """What the software answered to some rows, and all that it says it can answer."""

    given: NDArray[Any]
    """The answer to each row that was asked."""
    truths: Sequence[Any] | None = None
    """The true outcome of each of these rows, where the data have one."""
    classes: tuple[Any, ...] | None = None
    """All answers there are, where the software says so."""

    @property
    def labels(self) -> list[Any]:
        """All answers that are known, in order."""
        if self.classes is not None:
            return [plain(label) for label in self.classes]
        return _ordered({plain(answer) for answer in self.given.tolist()})

    @property
    def are_numbers(self) -> bool:
        """Whether the software answers with amounts rather than with labels."""
        if self.classes is not None or self.given.dtype.kind not in "iuf":
            return False
        if bool((self.given != np.floor(self.given)).any()):
            return True
        most = min(MOST_LABELS, max(2, len(self.given) // 2))
        return len(np.unique(self.given)) > most

    @property
    def targets(self) -> list[Any]:
        """The values of the true outcome, in order."""
        if self.truths is None:
            return []
        return _ordered({plain(truth) for truth in self.truths})

    def association(self, target: Any, label: Any) -> Association | None:
        """Return how an answer goes with an outcome, None where too few rows tell."""
        if self.truths is None or len(self.truths) < FEWEST_ROWS:
            return None
        is_target = np.array([truth == target for truth in self.truths])
        is_label = np.array([answer == label for answer in self.given.tolist()])
        if is_target.all() or not is_target.any():
            return None
        agreeing = float((is_target == is_label).mean())
        with_it = float(is_label[is_target].mean())
        without_it = float(is_label[~is_target].mean())
        return Association(agreeing, with_it - without_it)


@dataclass(frozen=True)
class Association:
    """How an answer of the software goes with an outcome of the data."""

    agreeing: float
    """The share of rows that have both or neither."""
    gain: float
    """How much oftener rows with the outcome get the answer than others, from -1 to 1."""


@dataclass(frozen=True)
class Favourable:
    """The favourable answer, a list of those, or None; and why it is this one."""

    value: Any
    reason: str = ""
    guessed: bool = False


def named(text: str, answers: SeenAnswers) -> Favourable:
    """Return the answer that a word of the user stands for, or several that commas separate.

    >>> given = np.array(["approve", "deny"])
    >>> named("yes", SeenAnswers(given)).value
    'approve'
    >>> named("deny", SeenAnswers(given, ["yes", "no"])).value
    'deny'
    >>> encoded = SeenAnswers(np.array([0, 1, 0]), ["<=50K", ">50K", "<=50K"])
    >>> named(">50K", encoded).value
    1
    """
    whole = one_named(text, answers)
    if whole is not None:
        return whole
    parts = [part.strip() for part in text.split(",")]
    if len(parts) > 1:
        found = [one_named(part, answers) for part in parts]
    else:
        found = []
    values = [one.value for one in found if one is not None]
    if values and len(values) == len(parts):
        return Favourable(values)
    words = [*answers.labels, *answers.targets]
    hint = nearest(text, dict.fromkeys(words))
    raise UsageError(
        f"--positive {text!r} is not an answer of the software, which answers"
        f" {listed(answers.labels)}; {hint}"
    )


def one_named(text: str, answers: SeenAnswers) -> Favourable | None:
    """Return the answer that one word stands for, None where there is none."""
    for label in answers.labels:
        if same(text, label):
            return Favourable(label)
    for target in answers.targets:
        if same(text, target):
            return corresponding(target, answers)
    tone = tone_of(text)
    alike = [label for label in answers.labels if tone and tone_of(label) == tone]
    if len(alike) == 1:
        return Favourable(alike[0], f"as {text!r} says")
    return None


def corresponding(target: Any, answers: SeenAnswers) -> Favourable | None:
    """Return the answer that stands for an outcome of the data, None where that is not plain.

    What the rows show counts most: approved, denied are 0, 1 where labels were encoded in order.
    """
    labels = answers.labels
    for label in labels:
        if same(target, label):
            return Favourable(label)
    shown = _shown_by_rows(target, answers)
    if shown is not None:
        return shown
    by_tone = _by_tone(target, labels)
    by_order = _by_order(target, labels, answers.targets)
    candidates = [one for one in (by_tone, by_order) if one is not None]
    if not candidates or any(one != candidates[0] for one in candidates):
        return None
    return Favourable(candidates[0], f"which stands for {target!r}")


def _shown_by_rows(target: Any, answers: SeenAnswers) -> Favourable | None:
    """Return the answer that clearly goes with an outcome in the rows.

    With more answers than outcomes, none stands for an outcome.
    """
    if len(answers.labels) > len(answers.targets):
        return None
    found = []
    for label in answers.labels:
        association = answers.association(target, label)
        if association is not None:
            found.append((association.gain, str(label), label, association.agreeing))
    found.sort(reverse=True)
    if not found or found[0][0] < CLEAR:
        return None
    agreeing = percent(found[0][3])
    reason = f"which goes with {target!r} in the data: {agreeing} of rows agree"
    return Favourable(found[0][2], reason)


def _by_tone(target: Any, labels: Sequence[Any]) -> Any:
    """Return the only answer that is as good or bad as an outcome."""
    tone = tone_of(target)
    alike = [label for label in labels if tone and tone_of(label) == tone]
    if len(alike) == 1:
        return alike[0]
    return None


def _by_order(target: Any, labels: Sequence[Any], targets: Sequence[Any]) -> Any:
    """Return the place of an outcome among all, where answers are such places."""
    numbers = [label for label in labels if isinstance(label, int | float)]
    are_places = set(numbers) <= set(range(len(targets)))
    if len(numbers) < len(labels) or not are_places or target not in targets:
        return None
    place = list(targets).index(target)
    return next((label for label in labels if label == place), None)


def guessed(answers: SeenAnswers) -> Favourable:
    """Return the answer that is favourable as far as words and rows tell, without a word of a user.

    >>> guessed(SeenAnswers(np.array(["deny", "approve"]))).value
    'approve'
    >>> guessed(SeenAnswers(np.array(["a", "b", "c"]))).value is None
    True
    """
    labels = answers.labels
    good = [target for target in answers.targets if tone_of(target) == "good"]
    if len(good) == 1 and len(answers.targets) == 2:
        found = corresponding(good[0], answers)
        if found is not None:
            return Favourable(found.value, found.reason, guessed=True)
    alike = [label for label in labels if tone_of(label) == "good"]
    if len(alike) == 1 and len(labels) <= 2:
        return Favourable(alike[0], guessed=True)
    if len(labels) == 2:
        return Favourable(labels[-1], guessed=True)
    return Favourable(None)


def guessed_of(values: Sequence[Any]) -> Favourable:
    """Return the outcome of the data that is favourable, where no software can be asked."""
    ordered = _ordered({plain(value) for value in values})
    if not ordered:
        return Favourable(1, guessed=True)
    found = guessed(possible(ordered))
    if found.value is None:
        return Favourable(ordered[-1], guessed=True)
    return found


def possible(labels: Sequence[Any]) -> SeenAnswers:
    """Return answers of which none was given yet."""
    return SeenAnswers(np.array([], dtype=object), classes=tuple(labels))


def all_among(values: Sequence[Any], labels: Sequence[Any]) -> bool:
    """Return whether all values are labels.

    >>> all_among(["Yes", "no"], ["no", "yes"])
    True
    """
    words = {_word(label) for label in labels}
    return {_word(value) for value in values} <= words


def tone_of(label: Any) -> str:
    """Return whether a label says good or bad, and nothing where it does not tell.

    >>> tone_of("Approved"), tone_of(0.0), tone_of(">50K"), tone_of("blue")
    ('good', 'bad', 'good', '')
    """
    word = _word(label)
    if word.startswith("not "):
        return {"good": "bad", "bad": "good"}.get(tone_of(word[4:]), "")
    if word in GOOD or word.startswith(">"):
        return "good"
    if word in BAD or word.startswith("<"):
        return "bad"
    return ""


def same(first: Any, second: Any) -> bool:
    """Return whether two labels are the same word or number.

    >>> same("1", 1.0), same("Yes", "yes"), same(">50K", ">50K."), same("true", True)
    (True, True, True, True)
    """
    return _word(first) == _word(second)


def _word(label: Any) -> str:
    """Return a label as words are compared: truth values and numbers of one value are the same."""
    if isinstance(label, str):
        value = parse_outcome(label)
    else:
        value = plain(label)
    if isinstance(value, bool):
        if value:
            return "true"
        return "false"
    if isinstance(value, int | float):
        return f"{value:g}"
    return str(value).strip().rstrip(".").lower().replace("_", " ")


def listed(labels: Sequence[Any]) -> str:
    """Return labels for a line, the first of them where they are many."""
    shown = [clip(repr(label), 40) for label in labels[:SHOWN]]
    if len(labels) > SHOWN:
        shown.append(f"… ({len(labels):,} in all)")
    return ", ".join(shown)


def _ordered(labels: set[Any]) -> list[Any]:
    """Return labels in order; those that have none, by kind and text."""
    try:
        return sorted(labels)
    except TypeError:
        return sorted(labels, key=lambda label: (type(label).__name__, str(label)))
