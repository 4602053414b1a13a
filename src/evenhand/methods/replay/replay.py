"""replay: ask another version of the software the tests of a suite, or the cases of a result."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.replay import REPLAY, messages, one_case
from evenhand.methods.replay.recorded import recorded_in, with_cases
from evenhand.methods.replay.rescore import CausalTests, GroupTests
from evenhand.methods.replay.rescore_numbers import NumberTests
from evenhand.population.samplers import Uniform
from evenhand.results.evidence import Finding
from evenhand.results.result import Result
from evenhand.runtime import number_text
from evenhand.runtime.budget import Budget, Meter, Spent
from evenhand.runtime.errors import UsageError, clip, nearest
from evenhand.runtime.table_file import SUFFIXES
from evenhand.scores.kinds import questions_of
from evenhand.scores.numbers.settling import settle_differs
from evenhand.scores.question import Terms
from evenhand.scores.test_suite import read_suite
from evenhand.space.feature import plain
from evenhand.statistics.estimate import Estimate, StopReason, check_limit
from evenhand.statistics.intervals import check_level
from evenhand.subject.outcome_scale import details_of, take_over
from evenhand.subject.subject import Subject, as_subject
from evenhand.subject.view import outcome_labels, views_for, views_of
from evenhand.texts.matching import unmarked
from evenhand.texts.text_subject import TextSubject, text_subject_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from os import PathLike

    from numpy.typing import NDArray

    from evenhand.methods.replay.recorded import Recorded
    from evenhand.methods.replay.rescore import Replayed
    from evenhand.scores.question import Question
    from evenhand.scores.test_suite import Tests
    from evenhand.space.feature import Points
    from evenhand.space.space import Space
    from evenhand.subject.view import View

CHECKED = 32
"""Inputs that are asked twice to see whether the subject is deterministic."""


@REPLAY.options.checked
def replay(
    path: str | PathLike[str],
    subject: Any,
    space: Space | None = None,
    *,
    limit: float | None = None,
    level: float = 0.95,
    case: str | None = None,
    seed: int = 0,
) -> Result:
    """Ask the software again what a suite or a result holds, and report what changed.

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
    case
        For a result or an audit, the one case to ask: its id as reports show it, or the first
        digits of that.
    seed
        Kept with the result, so that all verbs take it alike; nothing is drawn here.

    Returns
    -------
    Result
        For a suite, each of its scores; for a result, which cases of each finding still differ; for
        one case, its outcomes before and now. The details hold how many outcomes changed.

    Raises
    ------
    UsageError
        If the file holds nothing to replay, or something of another space or other outputs; or if
        a limit is given for a result, or a case that it does not have.
    DataError
        If a suite cannot be read.
    SubjectError
        If the software under test fails, or does not answer alike to the same input.

    See Also
    --------
    measure : Writes suites. See docs/how-to/replay.md for how versions are compared.

    Examples
    --------
    >>> import tempfile
    >>> from evenhand.space.feature import category, integer
    >>> from evenhand.space.space import Space
    >>> from evenhand.scores.test_suite import Tests, write_suite
    >>> space = Space([category("sex", ["F", "M"]), integer("age", 18, 90)])
    >>> people = np.array([[0.0, 30.0], [1.0, 30.0]])
    >>> outcomes, draws, own = np.array([False, True]), np.array([0, 0]), np.array([True, False])
    >>> tests = Tests("causal", ("sex",), people, outcomes, draws, own)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "sex.csv")
    ...     write_suite(file, space, [tests])
    ...     found = replay(file, lambda frame: frame["age"] >= 21, space)
    >>> found.worst.claim.split("; ")[0]
    'changing only sex changes the outcome of 0.0 % of inputs (it was 100.0 %)'
    >>> found.worst.claim.split("; ")[1]
    '1 of 2 outcomes changed'
    """
    file = Path(path)
    check_level(level)
    if limit is not None:
        check_limit(limit)
    if file.suffix.lower() == ".json":
        if limit is not None:
            limit_text = number_text.limit(limit)
            raise UsageError(messages.LIMIT_FOR_A_RESULT.format(limit=limit_text))
        recorded = recorded_in(file)
        if case is not None:
            alone = one_case.findings_of_case(file, recorded.findings, case)
            recorded = replace(recorded, findings=alone, alone=True)
        if recorded.job == "mine_text":
            return _replay_texts(file, recorded, _text_subject(file, subject, space), seed)
        return _replay_cases(file, recorded, _subject(file, subject, space), seed)
    known = (*SUFFIXES, ".json")
    if not file.name.lower().endswith(known):
        choices = nearest(file.suffix, known)
        raise UsageError(
            messages.UNKNOWN_SUFFIX.format(file=file, suffix=file.suffix, choices=choices)
        )
    if case is not None:
        raise UsageError(messages.CASE_OF_A_SUITE.format(case=clip(case, 60)))
    return _replay_suite(file, _subject(file, subject, space), limit, level, seed)


def _subject(file: Path, subject: Any, space: Space | None) -> Subject:
    if isinstance(subject, TextSubject):
        raise UsageError(
            messages.SUBJECT_TAKES_TEXTS.format(file=file, subject=subject.name)
        )
    return as_subject(subject, space)


def _text_subject(file: Path, subject: Any, space: Space | None) -> TextSubject:
    if isinstance(subject, Subject) or space is not None:
        raise UsageError(messages.FILE_HOLDS_TEXTS.format(file=file))
    return text_subject_of(subject)


def _replay_suite(
    file: Path, subject: Subject, limit: float | None, level: float, seed: int
) -> Result:
    """Ask every test of a suite again."""
    parts = read_suite(file, subject.space)
    _check_outputs(file, subject, parts[0])
    points = np.asfortranarray(np.concatenate([part.points for part in parts]))
    meter = Meter(Budget())
    executed_before = subject.executed
    # A causal score compares single answers; rates of groups may vary a little from run to run.
    if any(part.kind == "causal" for part in parts):
        _check_deterministic(subject, points, meter)
    answers = subject.decide(points)
    meter.queries += len(points)
    settle_differs(subject, meter)
    questions = [questions_of(subject, part.kind, [part.over]) for part in parts]
    number_of_questions = sum(len(of_part) for of_part in questions)
    terms = Terms(Uniform(), level, limit=limit, among=number_of_questions)
    ends = np.cumsum([len(part.points) for part in parts])
    replayed: list[ReplayedPart] = []
    for part, of_part, outcomes in zip(
        parts, questions, np.split(answers, ends[:-1]), strict=True
    ):
        scores = [_rescored(file, question, part, outcomes) for question in of_part]
        replayed.append(ReplayedPart(scores))
    return Result(
        "replay",
        _findings(replayed, terms),
        seed,
        Spent(meter.queries, subject.executed - executed_before, meter.seconds),
        StopReason.ENUMERATED,
        subject.space.to_dict(),
        _notes(replayed),
        outcome_labels=outcome_labels(subject),
        details={
            "changed": sum(part.changed for part in replayed),
            "of": len(points),
            "was": _former_scores(replayed),
            **details_of(subject),
        },
    )


@dataclass(frozen=True)
class ReplayedPart:
    """The scores of one part of a suite, one for each output, which rest on the same tests."""

    scores: Sequence[Replayed]

    @property
    def changed(self) -> int:
        """How many tests have an outcome that changed, whichever output it is of."""
        changed_by_output = [score.changed for score in self.scores]
        return int(np.any(changed_by_output, axis=0).sum())


def _rescored(
    file: Path,
    question: Question,
    part: Tests,
    outcomes: NDArray[Any],
) -> Replayed:
    kind: type[Replayed] = GroupTests
    if part.kind == "causal":
        kind = CausalTests
    elif question.of_numbers:
        kind = NumberTests
    return kind(file.name, question, part, outcomes)


def _findings(replayed: Sequence[ReplayedPart], terms: Terms) -> list[Finding]:
    findings: list[Finding] = []
    for part in replayed:
        findings += [score.finding(terms) for score in part.scores]
    return findings


def _notes(replayed: Sequence[ReplayedPart]) -> list[str]:
    """Return the notes of all parts, each once."""
    notes: dict[str, None] = {}
    for part in replayed:
        for score in part.scores:
            notes |= dict.fromkeys(score.notes())
    return list(notes)


def _former_scores(replayed: Sequence[ReplayedPart]) -> dict[str, float]:
    """Return the scores of the outcomes that the suite holds, by question."""
    scores: dict[str, float] = {}
    for part in replayed:
        scores |= {score.question.task: score.was for score in part.scores}
    return scores


def _check_deterministic(subject: Subject | TextSubject, inputs: Any, meter: Meter) -> None:
    checked = inputs[:CHECKED]
    subject.need_deterministic(checked)
    meter.queries += 2 * len(checked)


def _check_outputs(file: Path, subject: Subject, part: Tests) -> None:
    held = part.outcomes.dtype.names or ()
    if set(held) != set(subject.outputs):
        raise UsageError(
            messages.OTHER_OUTPUTS.format(
                file=file,
                held=_outputs_text(held),
                subject=subject.name,
                given=_outputs_text(subject.outputs),
            )
        )


def _outputs_text(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names)) or messages.UNNAMED_OUTPUT


def _replay_cases(file: Path, recorded: Recorded, subject: Subject, seed: int) -> Result:
    """Ask the cases of a result again."""
    findings = with_cases(file, recorded)
    take_over(subject, recorded.details)
    # Of groups, each class may have findings of its own.
    views = (*views_of(subject), *views_for(subject, "group"))
    view_of = {view.title: view for view in views}
    pairs = []
    for finding in findings:
        for case in finding.cases:
            points = _encoded(file, subject, [case.individual, case.twin])
            pairs.append(points)
    inputs = np.concatenate(pairs)
    recorded = replace(recorded, findings=findings, space=subject.space.to_dict())
    return _again(file, recorded, view_of, subject, inputs, seed)


def _replay_texts(
    file: Path, recorded: Recorded, subject: TextSubject, seed: int
) -> Result:
    """Ask the texts of a result again."""
    findings = with_cases(file, recorded)
    texts = []
    for finding in findings:
        for case in finding.cases:
            texts.append(unmarked(_text(file, case.individual)))
            texts.append(unmarked(_text(file, case.twin)))
    recorded = replace(recorded, findings=findings)
    return _again(file, recorded, {"": subject.view}, subject, texts, seed)


def _again(
    file: Path,
    recorded: Recorded,
    views: Mapping[str, View],
    subject: Subject | TextSubject,
    inputs: Any,
    seed: int,
) -> Result:
    """Ask inputs again, two for each case of the findings, in their order."""
    meter = Meter(Budget())
    executed_before = subject.executed
    _check_deterministic(subject, inputs, meter)
    answers = subject.decide(inputs)
    meter.queries += len(inputs)
    replayed = []
    changed = 0
    start = 0
    for finding in recorded.findings:
        if finding.output not in views:
            raise UsageError(
                messages.NO_SUCH_OUTPUT.format(
                    file=file,
                    subject=subject.name,
                    output=repr(finding.output),
                    choices=nearest(finding.output, views),
                )
            )
        view = views[finding.output]
        stop = start + 2 * len(finding.cases)
        outcomes = answers[start:stop]
        if view.name:
            outcomes = outcomes[view.name]
        replayed_finding, changed_outcomes = _still(
            file, finding, view, outcomes, alone=recorded.alone
        )
        replayed.append(replayed_finding)
        changed += changed_outcomes
        start = stop
    spent = Spent(meter.queries, subject.executed - executed_before, meter.seconds)
    notes = []
    if recorded.alone:
        notes.append(one_case.note(recorded.findings[0].cases[0]))
    return Result(
        "replay",
        replayed,
        seed,
        spent,
        StopReason.ENUMERATED,
        recorded.space,
        notes,
        details={"changed": changed, "of": len(inputs)},
        outcome_labels=outcome_labels(subject) if isinstance(subject, Subject) else {},
    )


def _text(file: Path, person: Mapping[str, Any]) -> str:
    text = person.get("text")
    if not isinstance(text, str):
        case = clip(repr(dict(person)))
        raise UsageError(messages.CASE_WITHOUT_TEXT.format(file=file, case=case))
    return text


def _encoded(file: Path, subject: Subject, people: list[Mapping[str, Any]]) -> Points:
    names = subject.space.names
    for person in people:
        for name in person:
            if name not in names:
                raise UsageError(
                    messages.NO_SUCH_FEATURE.format(
                        file=file, feature=repr(name), choices=nearest(name, names)
                    )
                )
    try:
        return subject.space.encode(people)
    except UsageError as error:
        raise UsageError(messages.OTHER_SPACE.format(file=file, reason=error)) from None


def _still(
    file: Path,
    finding: Finding,
    view: View,
    outcomes: NDArray[Any],
    *,
    alone: bool,
) -> tuple[Finding, int]:
    """Return which cases of a finding still differ, and how many of their outcomes changed."""
    own = outcomes[0::2]
    twin = outcomes[1::2]
    differ = np.flatnonzero(view.distance(own, twin)).tolist()
    pairs = list(zip(map(plain, own), map(plain, twin), strict=True))
    still = tuple(replace(finding.cases[at], outcomes=pairs[at]) for at in differ)
    changed = 0
    for case, (own_outcome, twin_outcome) in zip(finding.cases, pairs, strict=True):
        own_before, twin_before = case.outcomes
        changed += own_outcome != own_before
        changed += twin_outcome != twin_before
    about = finding.about
    features = " and ".join(about) if isinstance(about, tuple) else str(about)
    claim = messages.STILL_DIFFER.format(
        still=len(still), cases=len(finding.cases), features=features
    )
    if alone:
        claim = one_case.claim(finding.cases[0], pairs[0], differs=bool(still))
    population = messages.CASES_OF_FILE.format(file=file.name)
    estimate = Estimate.exact(len(still), len(finding.cases), population=population)
    still_differing = Finding(
        claim,
        about,
        estimate,
        0.0,
        still,
        output=finding.output,
        score="replayed",
        # Checks of an audit may have found something of the same features.
        key=f"replayed {finding.key}",
        **_new_answer(finding, view, pairs),
    )
    return still_differing, changed


def _new_answer(finding: Finding, view: View, pairs: Sequence[Any]) -> dict[str, Any]:
    """Return what a finding holds of software that has one answer only, and never had it before.

    Repaired software may refuse the few people of all cases alike. Software that has broken down
    answers something else to them.
    """
    before: set[Any] = set()
    for case in finding.cases:
        before.update(case.outcomes)
    answers: set[Any] = set()
    for pair in pairs:
        answers.update(pair)
    if len(answers) != 1 or answers <= before:
        return {}
    (only_answer,) = answers
    return view.answer_fields(only_answer)
