"""What a run of pytest tells of fairness: the evidence of a test that failed, and the line at the
end.
"""

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
VERDICT, EVIDENCE = "evenhand.verdict", "evenhand.evidence"
"""Properties of a test, which reach whoever writes reports, from other processes too."""
VERDICTS = "fairness_verdicts"
"""The attribute of a report that holds the verdict of each result, for the line at the end."""
WORDS = {"pass": "passed", "fail": "failed", "undecided": "undecided", "None": "without a limit"}
"""What the summary says of results, by their verdicts."""
MOST_TESTS, MOST_STATEMENTS = 5, 5
LONG_NAME, LONG_VALUE, LONG_CLAIM, WIDTH = 300, 60, 600, 160
ESTIMATES = {"compare": "gain over blind overwriting: ", "repair": "after the repair: "}
"""What the estimate of a job is, where its claim does not say so."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What every verb is given that takes it, and where evidence is kept."""

    seed: int = 0
    queries: int | None = None
    folder: Path = Path(FOLDER)

    @property
    def options(self) -> str:
        """The settings as options of pytest."""
        return f"--fairness-seed={self.seed}" + (
            "" if self.queries is None else f" --fairness-queries={self.queries}"
        )

    def __str__(self) -> str:
        return f"seed {self.seed}" + (
            "" if self.queries is None else f", at most {self.queries:,} queries a check"
        )


@dataclass(eq=False)
class Tally:
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
        self.kept |= any(name == EVIDENCE for name, _ in report.user_properties)
        if (
            missed := verdicts["fail"] + verdicts["undecided"]
        ) and report.nodeid not in self.stopped:
            self.open[report.nodeid] = missed
        self.stopped.discard(report.nodeid)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say how many results passed, and which tests passed although a result did not."""
        checks = self.verdicts.total()
        if not checks:
            return
        told = ", ".join(
            f"{self.verdicts[key]:,} {word}" for key, word in WORDS.items() if self.verdicts[key]
        )
        kept = f"; evidence in {shown(self.folder, self.config)}" if self.kept else ""
        colour = (
            "red" if self.verdicts["fail"] else "yellow" if self.verdicts["undecided"] else "green"
        )
        line = f"fairness: {told} in {checks:,} check{'s' if checks > 1 else ''}{kept}"
        terminalreporter.write_line(line, **{colour: True})
        for test, missed in list(self.open.items())[:MOST_TESTS]:
            what = "a check" if missed == 1 else f"{missed:,} checks"
            said = (
                f"{_cut(test, LONG_NAME)} passed although {what} did not; fairness.check() at its"
                " end would fail it"
            )
            terminalreporter.write_line(f"fairness: {said}", yellow=True)
        if (more := len(self.open) - MOST_TESTS) > 0:
            terminalreporter.write_line(
                f"fairness: {more:,} more tests passed although a check did not", yellow=True
            )


def tell(
    item: pytest.Item, found: Mapping[int, Any], settings: Settings
) -> tuple[str, dict[int, str]]:
    """Keep results that do not pass as files; return what a failure report says, and the file of
    each by its number.
    """
    from evenhand.report.lines import LEAD, Line

    name = file_name(_node(item, item.config.rootpath))
    lines: list[str] = []
    files: dict[int, str] = {}
    for number, result in found.items():
        file, problem = _keep(result, settings.folder, f"{name}-{number}.json")
        files[number] = "" if file is None else shown(file, item.config)
        try:
            lines += map(str, _told(result, files[number]))
        except (
            Exception
        ) as error:  # a report that breaks would end the whole run, and hide why the test failed
            lines.append(str(Line(f"this result cannot be told: {type(error).__name__}: {error}")))
        lines += [str(Line(problem, indent=LEAD))] if problem else []
    lines.append(str(Line(f"run this test again: {_command(item, settings)}")))
    return "\n".join(lines), files


def file_name(test: str) -> str:
    """Return a name for the files of a test that is safe anywhere, and that no other test has.

    >>> file_name("tests/test_loan.py::test_sex[<a>/../b]")
    'tests-test_loan.py-test_sex-a-b-9bd8e38c'
    """
    safe = re.sub(r"[^A-Za-z0-9_.]+|\.\.+", "-", test)
    safe = re.sub(r"--+", "-", safe).strip("-.")[:80]
    return f"{safe or 'test'}-{hashlib.sha256(test.encode(errors='surrogatepass')).hexdigest()[:8]}"


def shown(file: Path, config: pytest.Config) -> str:
    """Return a path as seen from where pytest was started, if it is not far from there."""
    near = _near(file, config.invocation_params.dir)
    return file.as_posix() if near.startswith("../../..") else near


def job_of(found: Any) -> str:
    """Return the verb that a result, a comparison, a repair or an audit comes from."""
    return str(getattr(found, "job", type(found).__name__.lower()))


def _keep(result: Any, folder: Path, name: str) -> tuple[Path | None, str]:
    """Write a result as JSON; return its file, or why there is none."""
    file = folder / name
    try:
        try:
            folder.mkdir(parents=True)
            (folder / ".gitignore").write_text(
                "*\n", encoding="utf-8"
            )  # cases may be of real people
        except FileExistsError:
            pass
        result.to_json(file)
    except (OSError, TypeError, ValueError) as error:
        return None, f"this result cannot be kept as a file: {error}"
    return file, ""


def _told(result: Any, file: str) -> Iterator[Line]:
    """Tell of a result what does not pass, and how to ask the software again."""
    from evenhand.methods.audit.audit_result import as_audit
    from evenhand.methods.audit.statements import statements
    from evenhand.report.lines import LEAD, Line
    from evenhand.statistics.estimate import StopReason, Verdict

    audit = as_audit(result)
    for check in audit.checks:
        if not check.exit_code:
            continue
        failed = [
            one for one in statements(check) if one.verdict in (Verdict.FAIL, Verdict.UNDECIDED)
        ]
        for statement in failed[:MOST_STATEMENTS]:
            yield from _statement(statement)
        if len(failed) > MOST_STATEMENTS:
            yield Line(f"… {len(failed) - MOST_STATEMENTS:,} more", indent=LEAD)
        ended = None if check.found is None else check.found.stop
        if ended not in (None, StopReason.COMPLETED) and check.verdict is not Verdict.FAIL:
            yield Line(f"{check.name} ended because {ended}", indent=LEAD)
    if file:
        yield Line(f"kept in {file}", indent=LEAD)
        yield from (Line(text, indent=LEAD) for text in _again(audit, file))


def _statement(statement: Statement) -> Iterator[Line]:
    """Tell one sentence of evidence: the claim, how sure it is, against what, and the simplest case
    side by side.
    """
    from evenhand.report.lines import LEAD, Line, shown_cases

    yield Line(_cut(f"{statement.check.name}: {statement.claim}", LONG_CLAIM), statement.verdict)
    if statement.estimate is not None:
        what = ESTIMATES.get(statement.check.job, "")
        yield Line(_cut(f"{what}{statement.estimate}", LONG_CLAIM), indent=LEAD)
    if statement.against:
        yield Line(statement.against, indent=LEAD)
    if statement.case is not None:
        yield from shown_cases([_shortened(statement.case)], 2, WIDTH)


def _again(audit: Audit, file: str) -> Iterator[str]:
    """Say how to ask the software again, where there are cases to ask it."""
    found = [part for part in audit.parts if any(finding.cases for finding in part.findings)]
    cases = bool(found)
    config = audit.config.get("file", "")
    if cases and config:
        yield f"ask the software again: evenhand replay {shlex.quote(file)} {shlex.quote(config)}"
    elif cases:
        software = "function" if all(result.job == "mine_text" for result in found) else "subject"
        yield (
            f"ask the software again: eh.replay({json.dumps(file, ensure_ascii=False)}, {software})"
        )
    if audit.command:
        yield f"audit it again: {audit.command}"


def _command(item: pytest.Item, settings: Settings) -> str:
    """Return the command that runs a test again; one with a very long name runs with all its other
    parameters.
    """
    place = item.config.invocation_params.dir
    name, rest = _node(item, place), ""
    if len(name) > LONG_NAME:
        name, rest = (
            _node(item, place, whole=False),
            "  # with all parameters: the name of this one is too long",
        )
    return f"pytest {shlex.quote(name)} {settings.options}{rest}"


def _node(item: pytest.Item, place: Path, *, whole: bool = True) -> str:
    """Return the name of a test as pytest takes it in a folder; others may have added to its node
    id.
    """
    last = item.name if whole else getattr(item, "originalname", item.name)
    classes = [node.name for node in item.listchain() if isinstance(node, pytest.Class)]
    return "::".join([_near(item.path, place), *classes, last])


def _near(file: Path, place: Path) -> str:
    try:
        return Path(path.relpath(file, place)).as_posix()
    except ValueError:  # on another drive
        return file.as_posix()


def _shortened(case: Case) -> Case:
    """Return a case whose long values are cut around the place where they differ; texts are cut
    where they are shown.

    >>> from evenhand.results.evidence import Case
    >>> short = _shortened(Case({"name": "x" * 5000 + "a"}, {"name": "x" * 5000 + "b"}, (0, 1)))
    >>> short.individual["name"]
    '…xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxa'
    """
    from evenhand.methods.audit.formats.ci import beside

    if "⟦" in str(case.individual.get("text", "")):
        return case
    pairs = {
        name: beside(value, case.twin.get(name, "")) for name, value in case.individual.items()
    }
    ones, others = ({name: pair[side] for name, pair in pairs.items()} for side in (0, 1))
    return replace(case, individual=ones, twin=others, outcomes=beside(*case.outcomes))


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
