"""From a data file and a model to a configuration that runs, or to what is missing."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from evenhand.config.file import Config
from evenhand.config.init import outcomes, template
from evenhand.config.init.data import Data
from evenhand.config.init.draft import Draft
from evenhand.config.init.favourable import favour, favour_target
from evenhand.config.init.form import fit_form, form_of, say_dropped, without_gaps
from evenhand.config.init.model import find_request, say_cost, tried
from evenhand.config.init.sampling import sample
from evenhand.config.init.software import relative, software_of, trusted
from evenhand.config.init.texts import run_text, tried_texts
from evenhand.methods.audit.checks import GAP, usual
from evenhand.population.source import MOST_LEVELS
from evenhand.runtime.errors import DataError, EvenhandError, UsageError, clip
from evenhand.runtime.number_text import many
from evenhand.space.feature import plain
from evenhand.space.known_rows.fitting import fitting
from evenhand.space.space import Space
from evenhand.space.space_file import space_from_table
from evenhand.verbs import VERBS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

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
    text: str | None = None


@dataclass(frozen=True)
class Started:
    """The configuration that was written, and what keeps it from running, if anything does."""

    file: Path
    space: Space | None
    """What an input can be; texts have none."""
    problem: EvenhandError | None = None


def start(request: Request, talk: Dialogue) -> Started:
    """Write a configuration, and say each thing that was decided on the way."""
    draft = _drafted(request, talk)
    problem: EvenhandError | None = None
    if draft.software is None:
        favour_target(draft, request.positive)
    else:
        problem = _learnt(draft, request, talk)
    of_texts = draft.data.text is not None
    if of_texts:
        space = None
    else:
        space = space_from_table(draft.space, draft.file)
    if space is None:
        draft.checks = usual(None, real=True)
    else:
        draft.checks = _checks(draft, space)
    template.write(draft, space)
    _say_written(request.file, draft, space, talk)
    if problem is None and draft.software is not None:
        problem = _run_one(request.file, draft, talk)
    return Started(request.file, space, problem)


def _say_written(file: Path, draft: Draft, space: Space | None, talk: Dialogue) -> None:
    """Say what was written, and below it what was learnt from the rows."""
    if space is None:
        texts = many(len(draft.data.frame), "text")
        talk.say(f"wrote {file}: {texts}")
        return
    for line in f"wrote {file}: {space}".splitlines():
        talk.say(line)


def _drafted(request: Request, talk: Dialogue) -> Draft:
    """Return the draft that the data tell."""
    if request.model is None:
        software = None
    else:
        software = software_of(request.model, request.file)
    if software is not None and request.headers:
        if software.kind != "http":
            raise UsageError("--header is for an http address; leave it out")
        software = software.having(headers=dict(request.headers))
    data = Data.read(request.data, request.target, request.protected, text=request.text)
    if data.text is not None:
        talk.say(
            f"texts: {data.text}, which is all that the software takes (--text COLUMN)"
        )
    elif request.protected is None:
        data = _asked_protected(data, talk)
    draft = Draft(request.file, data, relative(request.data, request.file), software)
    if data.text is None:
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
        if draft.data.text is None:
            _find_target(draft, form, talk)
            fit_form(draft, form, talk)
            say_dropped(draft, talk)
        if software.kind == "http":
            without_gaps(lambda: find_request(draft, talk), draft, talk)
        if draft.data.text is None:
            found = without_gaps(lambda: tried(draft, form.classes), draft, talk)
        else:
            found = tried_texts(draft, form.classes)
        say_cost(found, draft, talk)
        favour(draft, found.answers, request.positive, talk)
    except EvenhandError as error:
        if not draft.outcome_note:
            favour_target(draft, request.positive)
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


def _check_data(draft: Draft) -> None:
    """Refuse data that no space can be inferred from."""
    data = draft.data
    try:
        Space.from_frame(data.frame, target=data.target, drop=list(draft.dropped))
    except DataError as error:
        raise DataError(f"{data.file}: {error}") from None


def _checks(draft: Draft, space: Space) -> list[dict[str, Any]]:
    """Return the checks of the draft: without a favourable outcome, those that need none."""
    has_rates = "positive" in draft.outcome
    checks = usual(space, real=True, rates=has_rates)
    if not has_rates:
        checks = [check for check in checks if not _needs_rates(check)]
    if "differs" in draft.outcome:
        # Of numbers, groups are compared by their means; the limit is a share of their spread.
        for name in space.protected:
            if space.feature(name).variety <= MOST_LEVELS:
                group = {"job": "measure", "kind": "group", "over": [name], "limit": GAP}
                checks.append(group)
    if not checks:
        raise UsageError(
            f"{draft.data.file}: the model takes none of {', '.join(space.protected)}, and its"
            " favourable answer is not known, so there is nothing to check; name it with --positive"
        )
    for check in checks:
        if draft.queries is not None and "queries" in VERBS[check["job"]].bounds:
            check["queries"] = draft.queries
    return checks


def _needs_rates(check: Mapping[str, Any]) -> bool:
    """Return whether a check compares how often groups get the favourable outcome."""
    return check["job"] == "mine" or check.get("kind") == "group"


def _run_one(file: Path, draft: Draft, talk: Dialogue) -> EvenhandError | None:
    """Run one input through the file as it was written; return what keeps it from running."""
    try:
        config = Config.load(file)
        if config.of_texts:
            run_text(config, talk)
            return None
        rows: Any = config.inferred().rows
        with config.subject() as subject:
            one = sample(fitting(rows, subject.space), draft.data.target, 1)
            outcome = subject.decide(one)[0]
            person = subject.space.records(subject.space.encode(one))[0]
    except EvenhandError as error:
        return error
    talk.say(f"one input: {clip(str(person), 200)} gets {clip(repr(plain(outcome)), 40)}")
    return None
