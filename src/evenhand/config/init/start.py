"""From a data file and a model to a configuration that runs, or to what is missing."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from evenhand.config.file import Config
from evenhand.config.init import outcomes, template
from evenhand.config.init.data import Data
from evenhand.config.init.draft import Draft
from evenhand.config.init.form import fit_form, form_of, without_gaps
from evenhand.config.init.model import find_request, say_cost, tried
from evenhand.config.init.sampling import sample
from evenhand.config.init.software import relative, software_of, trusted
from evenhand.methods.audit.checks import usual
from evenhand.runtime.errors import DataError, EvenhandError, UsageError, clip, nearest
from evenhand.runtime.number_text import many, percent_of
from evenhand.space.feature import plain
from evenhand.space.space import Space
from evenhand.space.space_file import space_from_table
from evenhand.verbs import VERBS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from evenhand.config.init.outcomes import Favourable, SeenAnswers
    from evenhand.config.init.questions import Dialogue
    from evenhand.subject.model_form import ModelForm


@dataclass(frozen=True)
class Request:
    """What the user gives to `evenhand init`."""

    data: Path
    file: Path
    model: str | None = None
    target: str | None = None
    positive: str | None = None
    protected: tuple[str, ...] | None = None
    allow_pickle: bool = False
    trusted: tuple[str, ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    """What a service wants to be sent, with environment variables for secrets."""


@dataclass(frozen=True)
class Started:
    """The configuration that was written, and what keeps it from running, if anything does."""

    file: Path
    space: Space
    problem: EvenhandError | None = None


def start(request: Request, talk: Dialogue) -> Started:
    """Write a configuration, and say each thing that was decided on the way."""
    draft = _drafted(request, talk)
    problem: EvenhandError | None = None
    if draft.software is None:
        _favour_target(draft, request)
    else:
        problem = _learnt(draft, request, talk)
    space = space_from_table(draft.space, draft.file)
    draft.checks = _checks(draft, space)
    template.write(draft, space)
    talk.say(f"wrote {request.file}: {space}")
    if problem is None and draft.software is not None:
        problem = _run_one(request.file, draft, talk)
    return Started(request.file, space, problem)


def _drafted(request: Request, talk: Dialogue) -> Draft:
    """Return the draft that the data tell."""
    software = None if request.model is None else software_of(request.model, request.file)
    if software is not None and request.headers:
        if software.kind != "http":
            raise UsageError("--header is for an http address; leave it out")
        software = software.having(headers=dict(request.headers))
    data = Data.read(request.data, request.target, request.protected)
    if request.protected is None:
        data = _asked_protected(data, talk)
    draft = Draft(request.file, data, relative(request.data, request.file), software)
    draft.dropped = dict(data.no_inputs)
    _check_data(draft)
    return draft


def _asked_protected(data: Data, talk: Dialogue) -> Data:
    """Return the data with the protected columns that were guessed, or that the user names."""
    guess = ",".join(data.protected)
    if talk.asks:
        names = talk.ask("Protected columns, separated by commas:", guess).split(",")
        return Data.read(data.file, data.target, [name.strip() for name in names])
    talk.say(f"protected: {', '.join(data.protected)}, by their names (--protected a,b)")
    return data


def _learnt(draft: Draft, request: Request, talk: Dialogue) -> EvenhandError | None:
    """Let the software tell its form and its answers; return what keeps it from being asked."""
    assert draft.software is not None
    software, refusal = trusted(
        draft.software, talk, allow_pickle=request.allow_pickle, types=request.trusted
    )
    draft.software = software
    try:
        if refusal is not None:
            raise refusal
        form = form_of(draft)
        _find_target(draft, form, talk)
        fit_form(draft, form, talk)
        _say_dropped(draft, talk)
        if software.kind == "http":
            without_gaps(lambda: find_request(draft, talk), draft, talk)
        found = without_gaps(lambda: tried(draft, form.classes), draft, talk)
        say_cost(found, draft, talk)
        _favour(draft, found.answers, request.positive, talk)
    except EvenhandError as error:
        if not draft.outcome:
            _favour_target(draft, request)
        return error
    return None


def _find_target(draft: Draft, form: ModelForm, talk: Dialogue) -> None:
    """Take a column for the target that the model does not take, and whose values it answers."""
    if draft.data.target is not None or form.columns is None or form.classes is None:
        return
    for name in draft.data.columns:
        values = draft.data.frame[name].dropna().unique().tolist()
        if name in form.columns or len(values) > len(form.classes):
            continue
        if outcomes.all_among(values, form.classes):
            draft.data = draft.data.with_target(name)
            draft.dropped.pop(name, None)
            talk.say(f"target: {name}, whose values the model answers (--target)")
            return


def _say_dropped(draft: Draft, talk: Dialogue) -> None:
    for name, reason in draft.dropped.items():
        talk.say(f"left out: {name}, which {reason} (drop)")


def _favour(draft: Draft, answers: SeenAnswers, wanted: str | None, talk: Dialogue) -> None:
    """Find out which answer is favourable, and say so."""
    if answers.are_numbers:
        if wanted is not None:
            raise UsageError(
                f"--positive {wanted!r} is for labels, and the software answers with numbers such"
                f" as {outcomes.listed(answers.given[:3].tolist())}; leave it out"
            )
        draft.outcome_note = (
            " the software answers with numbers, none of which is favourable"
        )
        talk.say("outcome: a number, so there is no favourable one")
        return
    _say_answers(answers, talk)
    found = _chosen(answers, wanted, talk)
    if found.value is None:
        draft.outcome_note = " positive = …  # the favourable answer, or a list of those"
        talk.say(
            "favourable: not known, so only checks that need none are written; name it with"
            f" --positive, one of {outcomes.listed(answers.labels)}, or several with commas"
        )
        return
    draft.outcome = {"positive": found.value}
    draft.outcome_note = _note(found, answers.labels)
    guess = " (a guess; --positive names another)" if found.guessed else ""
    reason = f", {found.reason}" if found.reason else ""
    talk.say(f"favourable: {clip(repr(found.value), 60)}{reason}{guess}")


def _chosen(answers: SeenAnswers, wanted: str | None, talk: Dialogue) -> Favourable:
    """Return the favourable answer: the one that the user names, or a guess."""
    if wanted is not None:
        return outcomes.named(wanted, answers)
    found = outcomes.guessed(answers)
    if not talk.asks:
        return found
    default = "" if found.value is None else str(found.value)
    shown = outcomes.listed(answers.labels)
    reply = talk.ask(f"Which answer is favourable, of {shown}?", default)
    if not reply or reply == default:
        return found
    return outcomes.named(reply, answers)


def _say_answers(answers: SeenAnswers, talk: Dialogue) -> None:
    """Say how often each answer was given."""
    given = answers.given.tolist()
    seen = [label for label in answers.labels if label in given]
    shares = []
    for label in seen[: outcomes.SHOWN]:
        share = percent_of(given.count(label), len(given))
        shares.append(f"{clip(repr(label), 40)} ({share})")
    talk.say(f"asked {many(len(given), 'row')}: the software answers {', '.join(shares)}")
    if len(seen) == 1:
        talk.say(
            f"All {len(given):,} rows got the same answer: look whether model and data belong"
            " together."
        )


def _note(found: Favourable, labels: list[Any]) -> str:
    """Return the remark beside the favourable outcome."""
    note = "the favourable outcome"
    if found.guessed:
        note += f"; this is a guess, of {outcomes.listed(labels)}"
    if found.reason:
        note += f"; {found.reason}"
    return note


def _favour_target(draft: Draft, request: Request) -> None:
    """Take the favourable outcome from the data, where no software can be asked."""
    targets = draft.data.targets
    if request.positive is None:
        found = outcomes.guessed_of(targets)
        draft.outcome = {"positive": found.value}
        draft.outcome_note = _note(found, [plain(value) for value in targets])
        return
    known = outcomes.possible(targets or [request.positive])
    draft.outcome = {"positive": _named_target(request.positive, known, draft)}


def _named_target(text: str, known: SeenAnswers, draft: Draft) -> Any:
    try:
        return outcomes.named(text, known).value
    except UsageError:
        if draft.software is not None:
            return text  # in the words of the software, which could not be asked
        raise UsageError(
            f"--positive {text!r} is not a value of {draft.data.target!r};"
            f" {nearest(text, known.labels)}"
        ) from None


def _check_data(draft: Draft) -> None:
    """Refuse data that no space can be inferred from."""
    data = draft.data
    try:
        Space.from_frame(data.frame, target=data.target, drop=list(draft.dropped))
    except DataError as error:
        raise DataError(f"{data.file}: {error}") from None


def _checks(draft: Draft, space: Space) -> list[dict[str, Any]]:
    """Return the checks of the draft."""
    has_rates = bool(draft.outcome)
    checks = usual(space, real=True, rates=has_rates)
    if not has_rates:
        checks = [check for check in checks if check["job"] != "mine"]
    for check in checks:
        if draft.queries is not None and "queries" in VERBS[check["job"]].bounds:
            check["queries"] = draft.queries
    return checks


def _run_one(file: Path, draft: Draft, talk: Dialogue) -> EvenhandError | None:
    """Run one input through the file as it was written; return what keeps it from running."""
    try:
        config = Config.load(file)
        rows: Any = config.inferred().rows
        with config.subject() as subject:
            one = sample(rows, draft.data.target, 1)
            outcome = subject.decide(one)[0]
            person = subject.space.records(subject.space.encode(one))[0]
    except EvenhandError as error:
        return error
    talk.say(f"one input: {clip(str(person), 200)} gets {clip(repr(plain(outcome)), 40)}")
    return None
