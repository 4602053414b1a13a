"""The stand-in: what is known of the software besides its answers, for a run without it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from evenhand.bundle import messages
from evenhand.config.file import Config
from evenhand.runtime.errors import UsageError
from evenhand.space.feature import plain
from evenhand.subject.adapters import ADAPTERS
from evenhand.subject.adapters.base import Adapter
from evenhand.subject.model_form import ModelForm
from evenhand.subject.options import SHARED
from evenhand.subject.outputs import full_identity
from evenhand.subject.recording.tape import NotRecorded
from evenhand.subject.subject import Subject
from evenhand.texts.text_subject import TextSubject

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from evenhand.space.space import Space
    from evenhand.subject.recording.tape import Recording, Tape

_SIMPLE = ("expensive", "output", "numbers", "scorers")
"""Attributes of an adapter that a run looks at, and that JSON holds as they are."""


def facts_of(subject: Subject | TextSubject) -> dict[str, Any]:
    """Return what a run knows of the software besides its answers, as JSON holds it."""
    adapter = subject.adapter
    facts: dict[str, Any] = {
        "name": adapter.name,
        "identity": full_identity(adapter),
        "printed": adapter.printed,
        "gradients": hasattr(adapter, "gradients"),
        "classes": _listed(getattr(adapter, "classes", None)),
        "argv": _listed(getattr(adapter, "argv", None)),
    }
    for name in _SIMPLE:
        if hasattr(adapter, name):
            facts[name] = _listed(getattr(adapter, name))
    if isinstance(subject, TextSubject):
        from evenhand.texts.linear import linear_path

        facts["linear"] = linear_path(subject) is not None
        return facts
    form = adapter.form()
    facts["form"] = _form_table(form)
    facts["unread"] = sorted(subject.unread)
    facts["refuses_missing"] = _refused(subject, form)
    return facts


def _refused(subject: Subject, form: ModelForm) -> list[str]:
    """Return the features of which the software takes no missing values."""
    fitted = form.fitted(subject.declared, subject.name)
    refused = []
    for before, after in zip(fitted.features, subject.space.features, strict=True):
        if before.missing and not after.missing:
            refused.append(before.name)
    return refused


def _form_table(form: ModelForm) -> dict[str, Any]:
    return {
        "columns": _listed(form.columns),
        "dtypes": dict(form.dtypes),
        "categories": {name: _listed(known) for name, known in form.categories.items()},
        "closed": sorted(form.closed),
        "classes": _listed(form.classes),
        "takes_missing": form.takes_missing,
        "library": form.library,
    }


def _listed(value: Any) -> Any:
    """Return a value as JSON holds it: tuples and arrays are lists."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [_listed(item) for item in value]
    return plain(value)


def _form_of(table: Mapping[str, Any]) -> ModelForm:
    columns, classes = table["columns"], table["classes"]
    categories = {name: tuple(known) for name, known in table["categories"].items()}
    return ModelForm(
        columns=None if columns is None else tuple(columns),
        dtypes=dict(table["dtypes"]),
        categories=categories,
        closed=frozenset(table["closed"]),
        classes=None if classes is None else tuple(classes),
        takes_missing=table["takes_missing"],
        library=table["library"],
    )


class StandIn(Adapter):
    """Has the facts of the software, and none of its code; whoever asks it is refused."""

    kind = "recorded"
    takes_texts = True

    def __init__(self, facts: Mapping[str, Any]) -> None:
        self.facts = facts
        self.expensive = bool(facts["expensive"])
        self.printed = bool(facts["printed"])  # type: ignore[misc]
        self.output = facts.get("output", "label")
        self.numbers = bool(facts.get("numbers", False))
        self.scorers = tuple(facts.get("scorers", ()))
        self.classes = _tuples(facts["classes"])
        self.argv = facts["argv"]

    @property
    def identity(self) -> str:
        """The name of the software in a ledger."""
        return str(self.facts["identity"])

    @property
    def name(self) -> str:
        """The software in a few words."""
        return str(self.facts["name"])

    def form(self) -> ModelForm:
        """Return what the software said of its inputs."""
        return _form_of(self.facts["form"])

    def unread(self, space: Space) -> frozenset[str]:
        """Return the features that the software was proven not to read."""
        return frozenset(self.facts["unread"])

    def refuses_missing(self, space: Space) -> tuple[str, ...]:
        """Return the features that the software did not take where they are missing."""
        return tuple(self.facts["refuses_missing"])

    def run(
        self, points: NDArray[Any], space: Space
    ) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
        """Refuse: the software is not here."""
        raise NotRecorded(messages.NOT_HERE.format(name=self.name))

    def margins(self, points: NDArray[Any], space: Space, scorer: str) -> Any:
        """Refuse: the software is not here."""
        raise NotRecorded(messages.NOT_HERE.format(name=self.name))


class SlopedStandIn(StandIn):
    """A stand-in of software that gives gradients."""

    def gradients(self, points: NDArray[Any], space: Space) -> Any:
        """Refuse: the software is not here."""
        raise NotRecorded(messages.NOT_HERE.format(name=self.name))


def _tuples(classes: Any) -> Any:
    """Return classes as adapters have them: a tuple of labels, or one for each output."""
    if not isinstance(classes, list):
        return classes
    return tuple(_tuples(item) for item in classes)


@dataclass(frozen=True)
class RecordedConfig(Config):
    """A configuration whose software is asked, and its answers are written down."""

    tape: Recording | None = None
    facts: list[dict[str, Any]] = field(default_factory=list)

    def software(self) -> Subject | TextSubject:
        """Build what is tested, with the tape."""
        return self._taped(super().software())

    def other(self, model: Any, subject: Subject) -> Subject:
        """Build another model, with the same tape."""
        found = self._taped(super().other(model, subject))
        assert isinstance(found, Subject)
        return found

    def _taped(self, subject: Subject | TextSubject) -> Subject | TextSubject:
        self.facts.append(facts_of(subject))
        subject.tape = self.tape
        return subject


@dataclass(frozen=True)
class PlayedConfig(Config):
    """A configuration whose software is not here: answers come from a tape."""

    tape: Tape | None = None
    others: Tape | None = None
    """The tape of other models, which are never asked again."""
    facts: list[Mapping[str, Any]] = field(default_factory=list)
    """Those of the software, then those of other models in the order in which they are asked."""

    def software(self) -> Subject | TextSubject:
        """Build a stand-in of what was tested."""
        adapter = self._next()
        kind, _, options = self.declared(_shared(texts=self.of_texts))
        own = [option.name for option in ADAPTERS[kind].options]
        shared = {key: options[key] for key in options if key in SHARED and key not in own}
        shared.pop("ledger", None)
        subject: Subject | TextSubject
        if self.of_texts:
            subject = TextSubject(adapter, **shared)
        else:
            subject = Subject(adapter, self.space, **shared, ledger=self._ledger())
        subject.tape = self.tape
        return subject

    def _ledger(self) -> Path | None:
        """Return an empty ledger where one was kept: what is asked depends on that."""
        if "ledger" not in self.table.get("subject", {}):
            return None
        return self.file.parent / "played.ledger"

    def other(self, model: Any, subject: Subject) -> Subject:
        """Build a stand-in of another model."""
        adapter = self._next()
        other = Subject(adapter, subject.space, positive=subject.positive)
        other.tape = self.others
        return other

    def _next(self) -> StandIn:
        if not self.facts:
            raise NotRecorded(messages.NO_OTHER_MODEL)
        facts = self.facts.pop(0)
        try:
            return SlopedStandIn(facts) if facts["gradients"] else StandIn(facts)
        except (KeyError, TypeError, ValueError) as error:
            reason = f"{type(error).__name__}: {error}"
            raise UsageError(messages.FACTS_DAMAGED.format(reason=reason)) from None


def _shared(*, texts: bool) -> Any:
    return SHARED.without("outputs") if texts else SHARED
