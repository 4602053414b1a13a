"""What a run of pytest prints about fairness: evidence of tests that failed, and a last line."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from collections import Counter
from dataclasses import dataclass, field, replace
from os import path
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from evenhand.methods.audit.audit_result import Audit
    from evenhand.report.lines import Line
    from evenhand.report.statement import Statement
    from evenhand.results.evidence import Case

FOLDER = ".evenhand"
VERDICT = "evenhand.verdict"
EVIDENCE = "evenhand.evidence"
"""Properties of a test, which reach whoever writes reports, from other processes too."""
VERDICTS = "fairness_verdicts"
"""The attribute of a report that holds the verdict of each result, for the line at the end."""
WORDS = {
    "pass": "passed",
    "fail": "failed",
    "undecided": "undecided",
    "None": "without a limit",
}
"""What the summary says of results, by their verdicts."""
MOST_TESTS = 5
MOST_STATEMENTS = 5
LONG_NAME = 300
LONG_CLAIM = 600
WIDTH = 160
ESTIMATES = {
    "compare": "gain over blind overwriting: ",
    "repair": "after the repair: ",
}
"""What the estimate of a job is, where its claim does not say so."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What every verb is given that takes it, and where evidence is kept."""

    seed: int = 0
    queries: int | None = None
    folder: Path = Path(FOLDER)
    n_jobs: int | None = None
    """How many processes share the work of a verb, which changes nothing of what is found."""

    @property
    def options(self) -> str:
        """The settings as options of pytest."""
        seed = f"--fairness-seed={self.seed}"
        if self.queries is None:
            return seed
        return f"{seed} --fairness-queries={self.queries}"

    def __str__(self) -> str:
        if self.queries is None:
            return f"seed {self.seed}"
        return f"seed {self.seed}, at most {self.queries:,} queries a check"


@dataclass(eq=False)
class VerdictTally:
    """Counts the verdicts of a run, whichever process they come from, for the line at its end."""

    config: pytest.Config
    folder: Path
    verdicts: Counter[str] = field(default_factory=Counter)
    stopped: set[str] = field(default_factory=set)
    """Tests that did not pass."""
    open: dict[str, int] = field(default_factory=dict)
    """Tests that passed, and how many of their results did not."""
    kept: bool = False

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count what a test asked, at its end."""
        if not report.passed or hasattr(report, "wasxfail"):
            self.stopped.add(report.nodeid)
        if report.when != "teardown":
            return
        verdicts = Counter[str](getattr(report, VERDICTS, ()))
        self.verdicts += verdicts
        for name, _ in report.user_properties:
            if name == EVIDENCE:
                self.kept = True
        missed = verdicts["fail"] + verdicts["undecided"]
        if missed and report.nodeid not in self.stopped:
            self.open[report.nodeid] = missed
        self.stopped.discard(report.nodeid)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Write how many results passed, and which tests passed although a result did not."""
        if not self.verdicts.total():
            return
        colour = {self._colour(): True}
        terminalreporter.write_line(self._summary(), **colour)
        first_tests = list(self.open.items())[:MOST_TESTS]
        for test, missed in first_tests:
            name = _cut(test, LONG_NAME)
            checks = "a check"
            if missed > 1:
                checks = f"{missed:,} checks"
            line = (
                f"fairness: {name} passed although {checks} did not; fairness.check() at its end"
                " would fail it"
            )
            terminalreporter.write_line(line, yellow=True)
        more = len(self.open) - MOST_TESTS
        if more > 0:
            terminalreporter.write_line(
                f"fairness: {more:,} more tests passed although a check did not",
                yellow=True,
            )

    def _summary(self) -> str:
        """Return the line at the end of a run."""
        counts = []
        for verdict, word in WORDS.items():
            count = self.verdicts[verdict]
            if count:
                counts.append(f"{count:,} {word}")
        checks = self.verdicts.total()
        noun = "check" if checks == 1 else "checks"
        listed = ", ".join(counts)
        line = f"fairness: {listed} in {checks:,} {noun}"
        if self.kept:
            line += f"; evidence in {shown(self.folder, self.config)}"
        return line

    def _colour(self) -> str:
        """Return the colour of that line."""
        if self.verdicts["fail"]:
            return "red"
        if self.verdicts["undecided"]:
            return "yellow"
        return "green"


def failure_report(
    item: pytest.Item, found: Mapping[int, Any], settings: Settings
) -> tuple[str, dict[int, str]]:
    """Keep results that do not pass as files; return the text of a failure report, and the files.

    Results and files go by the number of the result in its test.
    """
    from evenhand.report.lines import LEAD, Line

    test_name = file_name(_node(item, item.config.rootpath))
    lines: list[str] = []
    files: dict[int, str] = {}
    for number, result in found.items():
        name = f"{test_name}-{number}.json"
        file, problem = _keep(result, settings.folder, name)
        if file is None:
            files[number] = ""
        else:
            files[number] = shown(file, item.config)
        try:
            lines += map(str, _result_lines(result, files[number]))
        # A report that breaks would end the whole run, and hide why the test failed.
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            line = Line(f"this result cannot be shown: {reason}")
            lines.append(str(line))
        if problem:
            lines.append(str(Line(problem, indent=LEAD)))
    command = _command(item, settings)
    last = Line(f"run this test again: {command}")
    lines.append(str(last))
    return "\n".join(lines), files


def file_name(test: str) -> str:
    """Return a name for the files of a test that is safe anywhere, and that no other test has.

    >>> file_name("tests/test_loan.py::test_sex[<a>/../b]")
    'tests-test_loan.py-test_sex-a-b-9bd8e38c'
    """
    safe = re.sub(r"[^A-Za-z0-9_.]+|\.\.+", "-", test)
    safe = re.sub(r"--+", "-", safe)
    readable = safe.strip("-.")[:80] or "test"
    # Two names may look the same once they are safe, so a hash tells them apart.
    content = test.encode(errors="surrogatepass")
    digest = hashlib.sha256(content).hexdigest()
    return f"{readable}-{digest[:8]}"


def shown(file: Path, config: pytest.Config) -> str:
    """Return a path as seen from where pytest was started, if it is not far from there."""
    near = _near(file, config.invocation_params.dir)
    return file.as_posix() if near.startswith("../../..") else near


def job_of(found: Any) -> str:
    """Return the verb that a result, a comparison, a repair or an audit comes from."""
    class_name = type(found).__name__.lower()
    return str(getattr(found, "job", class_name))


def _keep(result: Any, folder: Path, name: str) -> tuple[Path | None, str]:
    """Write a result as JSON; return its file, or why there is none."""
    file = folder / name
    try:
        from evenhand.runtime.system.whole_file import write_whole

        try:
            folder.mkdir(parents=True)
            # Cases may be of real people, so they are not to be committed.
            write_whole(folder / ".gitignore", b"*\n")
        except FileExistsError:
            pass
        result.to_json(file)
    except (OSError, TypeError, ValueError) as error:
        return None, f"this result cannot be kept as a file: {error}"
    return file, ""


def _result_lines(result: Any, file: str) -> Iterator[Line]:
    """Yield what does not pass of a result, and how to ask the software again."""
    from evenhand.methods.audit.audit_result import as_audit
    from evenhand.methods.audit.statements import statements
    from evenhand.report.lines import LEAD, Line
    from evenhand.statistics.estimate import StopReason, Verdict

    audit = as_audit(result)
    for check in audit.checks:
        if not check.exit_code:
            continue
        failed: list[Statement] = []
        for statement in statements(check):
            if statement.verdict in (Verdict.FAIL, Verdict.UNDECIDED):
                failed.append(statement)
        for statement in failed[:MOST_STATEMENTS]:
            yield from _statement_lines(statement)
        more = len(failed) - MOST_STATEMENTS
        if more > 0:
            yield Line(f"… {more:,} more", indent=LEAD)
        reason = None if check.found is None else check.found.stop
        if reason not in (None, StopReason.COMPLETED) and check.verdict is not Verdict.FAIL:
            yield Line(f"{check.name} ended because {reason}", indent=LEAD)
    if file:
        yield Line(f"kept in {file}", indent=LEAD)
        for text in _again(audit, file):
            yield Line(text, indent=LEAD)


def _statement_lines(statement: Statement) -> Iterator[Line]:
    """Yield the claim of a statement, its estimate, its limit, and the simplest case."""
    from evenhand.report.lines import LEAD, Line, shown_cases

    claim = f"{statement.check.name}: {statement.claim}"
    yield Line(_cut(claim, LONG_CLAIM), statement.verdict, word=statement.word)
    if statement.estimate is not None:
        lead = ESTIMATES.get(statement.check.job, "")
        estimate = f"{lead}{statement.estimate}"
        yield Line(_cut(estimate, LONG_CLAIM), indent=LEAD)
    for remark in statement.remarks:
        yield Line(_cut(remark, LONG_CLAIM), indent=LEAD)
    if statement.against:
        yield Line(statement.against, indent=LEAD)
    if statement.case is not None:
        yield from shown_cases([_shortened(statement.case)], 2, WIDTH)


def _again(audit: Audit, file: str) -> Iterator[str]:
    """Yield how to ask the software again, where there are cases to ask about."""
    with_cases = []
    for part in audit.parts:
        if any(finding.cases for finding in part.findings):
            with_cases.append(part)
    config = audit.config.get("file", "")
    if with_cases and config:
        result_file = shlex.quote(file)
        config_file = shlex.quote(config)
        yield f"ask the software again: evenhand replay {result_file} {config_file}"
    elif with_cases:
        only_texts = all(part.job == "mine_text" for part in with_cases)
        software = "function" if only_texts else "subject"
        quoted = json.dumps(file, ensure_ascii=False)
        yield f"ask the software again: eh.replay({quoted}, {software})"
    if audit.command:
        yield f"audit it again: {audit.command}"


def _command(item: pytest.Item, settings: Settings) -> str:
    """Return the command that runs a test again.

    A test with a very long name is run with all its parameters.
    """
    place = item.config.invocation_params.dir
    name = _node(item, place)
    if len(name) <= LONG_NAME:
        return f"pytest {shlex.quote(name)} {settings.options}"
    function = _node(item, place, whole=False)
    command = f"pytest {shlex.quote(function)} {settings.options}"
    return f"{command}  # with all parameters: the name of this one is too long"


def _node(item: pytest.Item, place: Path, *, whole: bool = True) -> str:
    """Return the name of a test as pytest takes it in a folder."""
    # Not `item.nodeid`, to which other plugins may have added.
    parts = [_near(item.path, place)]
    for node in item.listchain():
        if isinstance(node, pytest.Class):
            parts.append(node.name)
    if whole:
        parts.append(item.name)
    else:
        parts.append(getattr(item, "originalname", item.name))
    return "::".join(parts)


def _near(file: Path, place: Path) -> str:
    try:
        return Path(path.relpath(file, place)).as_posix()
    except ValueError:  # on another drive
        return file.as_posix()


def _shortened(case: Case) -> Case:
    """Return a case whose long values are cut around the place where they differ.

    Texts are cut where they are shown.

    >>> from evenhand.results.evidence import Case
    >>> short = _shortened(Case({"name": "x" * 5000 + "a"}, {"name": "x" * 5000 + "b"}, (0, 1)))
    >>> short.individual["name"]
    '…xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxa'
    """
    from evenhand.methods.audit.formats.ci import beside

    if "⟦" in str(case.individual.get("text", "")):
        return case
    individual: dict[str, Any] = {}
    twin: dict[str, Any] = {}
    for name in case.individual:
        individual[name], twin[name] = beside(*case.shown(name))
    outcomes = beside(*case.outcomes_shown)
    return replace(case, individual=individual, twin=twin, outcomes=outcomes)


def _cut(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    return text[: most - 1] + "…"
