"""evenhand init --openapi: from the description of a service to a configuration that runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.config.file import Config
from evenhand.config.init.data import guess_protected
from evenhand.config.init.favourable import favour
from evenhand.config.init.model import FEW_ROWS, TryOut, say_cost
from evenhand.config.init.outcomes import SeenAnswers
from evenhand.config.init.sampling import sample
from evenhand.config.init.software import relative
from evenhand.config.init.start import Started
from evenhand.config.init.template import filled, save
from evenhand.config.openapi.form import WANTED, ServiceForm, read_form
from evenhand.methods.audit.checks import usual
from evenhand.runtime.errors import EvenhandError, UsageError, clip, nearest
from evenhand.runtime.table_file import read_frame
from evenhand.space.feature import plain
from evenhand.space.space_file import space_from_table
from evenhand.subject.adapters.http.shape import discovered
from evenhand.subject.subject import Subject
from evenhand.verbs import VERBS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import pandas as pd

    from evenhand.config.init.questions import Dialogue
    from evenhand.config.openapi.description import Table
    from evenhand.space.feature import Points
    from evenhand.space.space import Space

TEMPLATE = "openapi.toml.jinja"
"""The text of the file with its comments, beside this module."""


@dataclass(frozen=True)
class ApiRequest:
    """What the user gives to `evenhand init --openapi`."""

    source: str
    path: str
    file: Path
    data: Path | None = None
    target: str | None = None
    server: str | None = None
    values: tuple[str, ...] = ()
    """Ranges and lists, each as "age=18:90" or "town=Rome|Oslo"."""
    positive: str | None = None
    protected: tuple[str, ...] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    """What the service wants to be sent, with environment variables for secrets."""


@dataclass
class _ApiDraft:
    """What is known so far of the configuration."""

    form: ServiceForm
    tables: dict[str, Table]
    protected: list[str]
    subject: Table
    outcome: Table = field(default_factory=dict)
    outcome_note: str = ""
    path_note: str = ""
    queries: int | None = None


def start(request: ApiRequest, talk: Dialogue) -> Started:
    """Write the configuration of a service that OpenAPI describes, and ask it one input."""
    form = read_form(request.source, request.path, server=request.server)
    if request.data is None:
        frame = None
    else:
        frame = read_frame(request.data)
    draft = _drafted(request, form, frame, talk)
    table = _space_table(request, draft, frame)
    space = space_from_table(table, request.file)
    problem: EvenhandError | None = None
    try:
        _learn(request, draft, space, table, talk)
    except EvenhandError as error:
        if not draft.outcome_note:
            draft.outcome_note = "positive = …  # the favourable answer, or a list of those"
        problem = error
    _write(request, draft, table, space)
    talk.say(f"wrote {request.file}: {space.title}")
    if problem is None:
        problem = _run_one(request.file, talk)
    return Started(request.file, space, problem)


def _drafted(
    request: ApiRequest,
    form: ServiceForm,
    frame: pd.DataFrame | None,
    talk: Dialogue,
) -> _ApiDraft:
    """Return what the description, the user and the data say."""
    values = _given_values(request.values)
    columns: Sequence[str] = [] if frame is None else [str(name) for name in frame.columns]
    for name, lacks in form.lacking.items():
        if talk.asks and name in form.required and name not in {*values, *columns}:
            wanted = "a|b|c" if lacks == "levels" else "LOW:HIGH"
            answer = talk.ask(f"{name}: {form.operation} says {_gap(lacks)}; {wanted}:", "")
            if answer:
                values[name] = answer
    tables = form.declared(values, frame)
    unknown = [name for name in form.features if name not in tables]
    for name in unknown:
        talk.say(f"left out: {name}, which is optional and has {_gap(form.lacking[name])}")
    for name, reason in form.left_out.items():
        talk.say(f"left out: {name}, which is optional and {reason}")
    protected = _protected(request, form, list(tables), talk)
    subject = form.without(unknown)
    if request.headers:
        subject["headers"] = dict(request.headers)
    return _ApiDraft(form, tables, protected, subject)


def _gap(lacks: str) -> str:
    """Return what a description does not say, in a few words."""
    return WANTED[lacks].partition(";")[0]


def _given_values(given: Sequence[str]) -> dict[str, str]:
    values: dict[str, str] = {}
    for text in given:
        name, equals, wanted = text.partition("=")
        if not equals or not name.strip():
            raise UsageError(
                f"--values {text!r} names no field; write NAME=LOW:HIGH or 'NAME=a|b|c'"
            )
        values[name.strip()] = wanted.strip()
    return values


def _protected(
    request: ApiRequest,
    form: ServiceForm,
    names: Sequence[str],
    talk: Dialogue,
) -> list[str]:
    """Return the protected features: those that the user names, or a guess by their names."""
    if request.protected is not None:
        for name in request.protected:
            if name not in names:
                raise UsageError(
                    f"--protected {name!r} is no field of {form.operation};"
                    f" {nearest(name, names)}"
                )
        return list(request.protected)
    found = guess_protected(list(names), request.target)
    if talk.asks:
        answer = talk.ask("Protected fields, separated by commas:", ",".join(found))
        found = [name.strip() for name in answer.split(",") if name.strip()]
    if not found:
        raise UsageError(
            f"{form.source}: no field of {form.operation} has a name that suggests a protected"
            f" feature; name them with --protected a,b. The fields are {', '.join(names)}"
        )
    talk.say(f"protected: {', '.join(found)}, by their names (--protected a,b)")
    return found


def _space_table(
    request: ApiRequest, draft: _ApiDraft, frame: pd.DataFrame | None
) -> Table:
    """Return the table [space]: the fields, and the rows that have them."""
    table: Table = {}
    if request.data is not None and frame is not None:
        columns = [str(name) for name in frame.columns]
        if request.target is not None and request.target not in columns:
            raise UsageError(
                f"{request.data}: --target {request.target!r} is not a column;"
                f" {nearest(request.target, columns)}"
            )
        table["from"] = relative(request.data, request.file)
        if request.target is not None:
            table["target"] = request.target
        others = []
        for name in columns:
            if name not in draft.tables and name != request.target:
                others.append(name)
        if others:
            table["drop"] = others
    table["protected"] = draft.protected
    table["features"] = draft.tables
    return table


def _learn(
    request: ApiRequest,
    draft: _ApiDraft,
    space: Space,
    table: Table,
    talk: Dialogue,
) -> None:
    """Ask the service: where its outcome stands, what it answers, and how fast."""
    import time

    points, truths = _inputs(request, space, table)
    options = _options_of(draft.subject)
    if "response" not in options:
        found = discovered(draft.form.url, space, points, options)
        draft.subject = {**draft.subject, **found.options}
        others = ""
        if found.others:
            others = f", beside {', '.join(found.others)}"
        draft.path_note = f"found in an answer{others}"
        talk.say(f"outcome: {found.field or 'the answer itself'}{others}")
        options = _options_of(draft.subject)
    else:
        draft.path_note = "as the description has it"
        talk.say(f"outcome: {options['response']['outcome']}, as the description has it")
    with Subject.of("http", draft.form.url, space, **options) as subject:
        begin = time.perf_counter()
        given = subject.decide(points)
        elapsed = time.perf_counter() - begin
    seconds = elapsed / max(len(points), 1)
    tried = TryOut(SeenAnswers(given, truths), seconds, expensive=True)
    say_cost(tried, draft, talk)
    favour(draft, tried.answers, request.positive, talk)


def _options_of(subject: Table) -> Table:
    """Return the options of a subject, without the address that it is built from."""
    return {key: value for key, value in subject.items() if key != "http"}


def _inputs(
    request: ApiRequest, space: Space, table: Table
) -> tuple[Points, list[Any] | None]:
    """Return inputs to ask about with their true outcomes: rows of the data, or drawn ones."""
    rows: Any = Config(request.file, {"space": table}).inferred().rows
    if rows is None:
        return space.draw(FEW_ROWS, np.random.default_rng(0)), None
    some = sample(rows, request.target, FEW_ROWS)
    if request.target is None:
        truths = None
    else:
        truths = list(some[request.target])
    return space.encode(some), truths


def _write(request: ApiRequest, draft: _ApiDraft, table: Table, space: Space) -> None:
    has_rates = "positive" in draft.outcome
    checks = usual(space, real="from" in table, rates=has_rates)
    if not has_rates:
        checks = [check for check in checks if check["job"] != "mine"]
    for check in checks:
        bounds = VERBS[check["job"]].bounds
        if draft.queries is not None and "queries" in bounds:
            check["queries"] = draft.queries
    text = filled(
        TEMPLATE,
        package="evenhand.config.openapi",
        operation=draft.form.operation,
        source=draft.form.source,
        subject=draft.subject,
        outcome=draft.outcome,
        outcome_note=draft.outcome_note,
        outcome_path_note=draft.path_note,
        space_table=table,
        checks=checks,
        verbs=VERBS,
    )
    save(text, request.file)


def _run_one(file: Path, talk: Dialogue) -> EvenhandError | None:
    """Run one input through the file as it was written; return what keeps it from running."""
    try:
        config = Config.load(file)
        with config.subject() as subject:
            point = subject.space.draw(1, np.random.default_rng(0))
            outcome = subject.decide(point)[0]
            person = subject.space.records(point)[0]
    except EvenhandError as error:
        return error
    talk.say(f"one input: {clip(str(person), 200)} gets {clip(repr(plain(outcome)), 40)}")
    return None
