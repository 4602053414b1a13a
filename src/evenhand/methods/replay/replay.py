"""replay: ask another version of the software the very tests behind a score, or the cases of a
result, again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.replay import REPLAY
from evenhand.methods.replay.rescore import CausalTests, GroupTests
from evenhand.population.samplers import Uniform
from evenhand.results.evidence import Finding
from evenhand.results.reading import evidence_of
from evenhand.results.result import Result, by_evidence
from evenhand.runtime import json_file, number_text
from evenhand.runtime.budget import Budget, Meter, Spent
from evenhand.runtime.errors import UsageError, clip, nearest
from evenhand.runtime.table_file import SUFFIXES
from evenhand.scores.kinds import questions_of
from evenhand.scores.question import Terms
from evenhand.scores.test_suite import read_suite
from evenhand.space.feature import plain
from evenhand.statistics.estimate import Estimate, StopReason, check_limit
from evenhand.statistics.intervals import check_level
from evenhand.subject.subject import Subject, as_subject
from evenhand.subject.view import views_for, views_of
from evenhand.texts.matching import unmarked
from evenhand.texts.text_subject import TextSubject, text_subject_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from os import PathLike

    from numpy.typing import NDArray

    from evenhand.scores.test_suite import Tests
    from evenhand.space.feature import Points
    from evenhand.space.space import Space
    from evenhand.subject.view import View

CHECKED = 32
"""Inputs that are asked twice to see whether the subject is deterministic."""
NO_CASES = {"search": "the search found none", "mine_text": "no outcome changes with any term"}


@REPLAY.options.checked
def replay(
    path: str | PathLike[str],
    subject: Any,
    space: Space | None = None,
    *,
    limit: float | None = None,
    level: float = 0.95,
    seed: int = 0,
) -> Result:
    """Ask the software again what a suite or a result holds, and say what changed.

    Parameters
    ----------
    path
        A suite that `measure` wrote (`.csv`, `.csv.gz`, `.parquet`): every test of it is asked
        again, and the score of this version on the same draws is reported beside what it was. Or
        the JSON of a result: its cases are asked again, and any that still differs fails. Of an
        audit, these are the cases of all its checks.
    subject, space
        A Subject, or a fitted model or function with its space. For the texts of `mine_text`, a
        TextSubject, or a fitted pipeline or function that takes texts, without a space.
    limit, level
        For a suite, the engineering threshold, and the level at which all its scores hold together.
        How many draws a suite has was decided by the answers of other software, so their interval
        is one that holds at any size.
    seed
        Kept with the result, so that all verbs take it alike; nothing is drawn here.

    Examples
    --------
    >>> import tempfile
    >>> from evenhand.space.feature import category, integer
    >>> from evenhand.space.space import Space
    >>> from evenhand.scores.test_suite import Tests, write_suite
    >>> space = Space([category("sex", ["F", "M"]), integer("age", 18, 90)])
    >>> people = np.array([[0.0, 30.0], [1.0, 30.0]])
    >>> tests = Tests("causal", ("sex",), people, np.array([False, True]), np.array([0, 0]), np.array([True, False]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_suite(Path(folder, "sex.csv"), space, [tests])
    ...     print(replay(Path(folder, "sex.csv"), lambda frame: frame["age"] >= 21, space).worst.claim)
    changing only sex changes the outcome of 0.0 % of inputs (it was 100.0 %); 1 of 2 outcomes changed
    """
    file = Path(path)
    check_level(level)
    if limit is not None:
        check_limit(limit)
    if file.suffix.lower() == ".json":
        if limit is not None:
            given = number_text.limit(limit)
            raise UsageError(
                f"limit = {given} is for a suite; a case of a result passes when it differs no"
                " longer"
            )
        recorded = _recorded(file)
        texts = recorded.job == "mine_text"
        tested = _text_subject(file, subject, space) if texts else _subject(file, subject, space)
        return _again(file, recorded, tested, seed)
    known = (*SUFFIXES, ".json")
    if not file.name.lower().endswith(known):
        raise UsageError(
            f"'{file}' has the unknown suffix '{file.suffix}'; {nearest(file.suffix, known)}"
        )
    return _suite(file, _subject(file, subject, space), limit, level, seed)


@dataclass(frozen=True, slots=True)
class Recorded:
    """What a file holds that can be asked again: the job that made it, its findings, and the space
    of its inputs.
    """

    job: str
    findings: Sequence[Finding]
    space: Mapping[str, Any]


def _recorded(file: Path) -> Recorded:
    """Read a result, or all results of an audit as one."""
    found = evidence_of(json_file.read(file, "result"), where=str(file))
    if found.parts == (found,):
        return Recorded(found.job, found.findings, getattr(found, "space", {}))
    with_cases = [part for part in found.parts if any(finding.cases for finding in part.findings)]
    if not with_cases:
        raise UsageError(f"'{file}' has no cases to replay; none of its checks has any")
    findings: list[Finding] = []
    for part in with_cases:
        findings += part.findings
    first = with_cases[0]
    return Recorded(first.job, by_evidence(findings), getattr(first, "space", {}))


def _subject(file: Path, subject: Any, space: Space | None) -> Subject:
    if isinstance(subject, TextSubject):
        raise UsageError(
            f"'{file}' holds no texts, but {subject.name} takes texts; pass a Subject, or a space"
            " as well"
        )
    return as_subject(subject, space)


def _text_subject(file: Path, subject: Any, space: Space | None) -> TextSubject:
    if isinstance(subject, Subject) or space is not None:
        raise UsageError(
            f"'{file}' holds texts and not inputs of a space; pass a TextSubject, or a function of"
            " texts"
        )
    return text_subject_of(subject)


def _suite(file: Path, subject: Subject, limit: float | None, level: float, seed: int) -> Result:
    """Ask every test of a suite again."""
    parts = read_suite(file, subject.space)
    _check_outputs(file, subject, parts[0])
    asking = [(part, questions_of(subject, part.kind, [part.over])) for part in parts]
    terms = Terms(
        Uniform(), level, limit=limit, among=sum(len(questions) for _, questions in asking)
    )
    points = np.asfortranarray(np.concatenate([part.points for part in parts]))
    meter, before = Meter(Budget()), subject.executed
    if any(part.kind == "causal" for part in parts):
        _check_deterministic(subject, points, meter)
    answers = np.split(subject.decide(points), np.cumsum([len(part.points) for part in parts])[:-1])
    meter.queries += len(points)
    findings: list[Finding] = []
    notes: list[str] = []
    was: dict[str, float] = {}
    changed = 0
    for (part, questions), outcomes in zip(asking, answers, strict=True):
        kind = CausalTests if part.kind == "causal" else GroupTests
        replayed = [kind(file.name, question, part, outcomes) for question in questions]
        findings += [each.finding(terms) for each in replayed]
        notes += [note for each in replayed for note in each.notes() if note not in notes]
        was |= {each.question.task: each.was for each in replayed}
        changed += int(np.any([each.changed for each in replayed], axis=0).sum())
    spent = Spent(meter.queries, subject.executed - before, meter.seconds)
    details = {"changed": changed, "of": len(points), "was": was}
    return Result(
        "replay",
        findings,
        seed,
        spent,
        StopReason.ENUMERATED,
        subject.space.to_dict(),
        notes,
        details=details,
    )


def _check_deterministic(subject: Subject | TextSubject, inputs: Any, meter: Meter) -> None:
    subject.need_deterministic(inputs[:CHECKED])
    meter.queries += 2 * len(inputs[:CHECKED])


def _check_outputs(file: Path, subject: Subject, part: Tests) -> None:
    held = part.outcomes.dtype.names or ()
    if set(held) != set(subject.outputs):
        one, other = (
            ", ".join(map(repr, names)) or "one without a name" for names in (held, subject.outputs)
        )
        raise UsageError(
            f"'{file}' holds the outputs {one}, but {subject.name} gives {other}; declare outputs"
            " alike"
        )


def _again(file: Path, recorded: Recorded, subject: Subject | TextSubject, seed: int) -> Result:
    """Ask the cases of a result again."""
    findings = [finding for finding in recorded.findings if finding.cases]
    if not findings:
        why = NO_CASES.get(
            recorded.job, "replay a suite, which measure writes with keep_tests=True and to_suite"
        )
        raise UsageError(f"'{file}' has no cases to replay; {why}")
    pairs = [[case.individual, case.twin] for finding in findings for case in finding.cases]
    if isinstance(subject, TextSubject):
        views, space = {"": subject.view}, recorded.space
        inputs: Any = [unmarked(_text(file, person)) for pair in pairs for person in pair]
    else:
        both = (
            *views_of(subject),
            *views_for(subject, "group"),
        )  # of groups, each class may have findings of its own
        views, space = {view.title: view for view in both}, subject.space.to_dict()
        inputs = np.concatenate([_encoded(file, subject, pair) for pair in pairs])
    meter, before = Meter(Budget()), subject.executed
    _check_deterministic(subject, inputs, meter)
    answers = subject.decide(inputs)
    meter.queries += len(inputs)
    replayed, changed, start = [], 0, 0
    for finding in findings:
        if finding.output not in views:
            raise UsageError(
                f"'{file}': {subject.name} has no output {finding.output!r};"
                f" {nearest(finding.output, views)}"
            )
        view, stop = views[finding.output], start + 2 * len(finding.cases)
        outcomes = answers[start:stop][view.name] if view.name else answers[start:stop]
        found, moved = _still(file, finding, view, outcomes)
        replayed.append(found)
        changed, start = changed + moved, stop
    spent = Spent(meter.queries, subject.executed - before, meter.seconds)
    details = {"changed": changed, "of": len(inputs)}
    return Result("replay", replayed, seed, spent, StopReason.ENUMERATED, space, details=details)


def _text(file: Path, person: Mapping[str, Any]) -> str:
    text = person.get("text")
    if not isinstance(text, str):
        raise UsageError(
            f"'{file}' is damaged: a case of texts has no text but {clip(repr(dict(person)))}"
        )
    return text


def _encoded(file: Path, subject: Subject, people: list[Mapping[str, Any]]) -> Points:
    for person in people:
        for name in person:
            if name not in subject.space.names:
                raise UsageError(
                    f"'{file}' is of another space: {name!r} is no feature;"
                    f" {nearest(name, subject.space.names)}"
                )
    try:
        return subject.space.encode(people)
    except UsageError as error:
        raise UsageError(f"'{file}' is of another space: {error}") from None


def _still(file: Path, finding: Finding, view: View, outcomes: NDArray[Any]) -> tuple[Finding, int]:
    """Return which cases of a finding still differ, and how many of their outcomes changed."""
    own, twin = outcomes[0::2], outcomes[1::2]
    differ = np.flatnonzero(view.distance(own, twin))
    now = list(zip(map(plain, own), map(plain, twin), strict=True))
    still = tuple(replace(finding.cases[at], outcomes=now[at]) for at in differ.tolist())
    changed = sum(
        new != old
        for case, pair in zip(finding.cases, now, strict=True)
        for new, old in zip(pair, case.outcomes, strict=True)
    )
    about = " and ".join(finding.about) if isinstance(finding.about, tuple) else str(finding.about)
    claim = f"{len(still)} of {len(finding.cases)} cases of {about} still differ"
    estimate = Estimate.exact(
        len(still), len(finding.cases), population=f"the cases of {file.name}"
    )
    found = Finding(
        claim,
        finding.about,
        estimate,
        0.0,
        still,
        output=finding.output,
        score="replayed",
        key=f"replayed {finding.key}",  # checks of an audit may have found something of the same features
    )
    return found, changed
