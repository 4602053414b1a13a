"""Run an audit, record what the software answers, and pack all of it into a bundle."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.bundle import messages
from evenhand.bundle.archive import written
from evenhand.bundle.contents import contents_of
from evenhand.bundle.manifest import sealed
from evenhand.bundle.named_files import DATA, INCLUDED, described, named_files
from evenhand.bundle.run import AuditRun, environment
from evenhand.bundle.stand_in import RecordedConfig
from evenhand.config.audit import bounds_given
from evenhand.config.file import Config
from evenhand.runtime import json_file
from evenhand.runtime.budget import Spent
from evenhand.runtime.column_file import replacing
from evenhand.runtime.errors import UsageError
from evenhand.subject.recording.tape import Recording

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from os import PathLike

    from evenhand.bundle.named_files import NamedFile
    from evenhand.methods.audit.audit_result import Audit
    from evenhand.methods.audit.check_result import CheckResult
    from evenhand.methods.audit.gate import Gate
    from evenhand.runtime.budget import Budget

CONTENTS = "CONTENTS.md"
RUN = "run.json"
RESULTS = "results.json"
REPORT = "report.html"
BASELINE = "baseline.json"
INDEX = "answers.json"
ANSWERS = "answers.bin"
CONFIGURATION = "config/"
DATA_FOLDER = "data/"


@dataclass(frozen=True)
class Bundle:
    """An audit, and the members of a bundle that holds it."""

    audit: Audit
    members: Mapping[str, bytes]

    def write(self, path: str | PathLike[str]) -> bytes:
        """Write the bundle, whole or not at all, and return its bytes."""
        content = written(sealed(self.members))
        try:
            with replacing(Path(path)) as file:
                file.write_bytes(content)
        except OSError as error:
            reason = error.strerror
            raise UsageError(messages.UNWRITABLE.format(file=path, reason=reason)) from None
        return content


def bundled(
    run: AuditRun,
    gate: Gate,
    *,
    each: Callable[[int, CheckResult], None] | None = None,
    with_data: bool = False,
    progress: bool | None = None,
) -> Bundle:
    """Run an audit, and return it with the members of its bundle.

    The software is asked by this process alone, so that answers are recorded in their order; what
    is found does not depend on that.
    """
    tape = Recording()

    def after(total: int, check: CheckResult) -> None:
        tape.end(check.name)
        if each is not None:
            each(total, check)

    facts: list[dict[str, Any]] = []
    if run.log is None:
        config = Config.load(run.source)
        source: Config | Path = RecordedConfig(config.file, config.table, tape, facts)
        files = named_files(config)
    else:
        source = Path(run.source)
        files = {run.source: described(source, run.source, DATA)}
    audit = run.found(source, gate, after, progress=progress)
    # Of all that a bundle holds, the manifest alone has the date.
    audit = replace(audit, tested=replace(audit.tested, made=""))
    members = _members(run, audit, tape, facts, files, with_data=with_data)
    if gate.old is not None:
        members[BASELINE] = gate.old.to_json().encode()
    return Bundle(audit, members)


def audit_into_bundle(
    file: str | PathLike[str],
    path: str | PathLike[str],
    *,
    budget: Budget,
    gate: Gate,
    seed: int,
    level: float | None,
    progress: bool | None = None,
) -> Audit:
    """Run the audit of a configuration file, and write its bundle."""
    given = bounds_given(budget)
    run = AuditRun(
        Config.load(file).file.as_posix(),
        None,
        given,
        seed,
        level,
        gate.tolerance,
        gate.keep_answers,
        gate.name,
    )
    bundle = bundled(run, gate, progress=progress)
    bundle.write(path)
    return bundle.audit


def _members(
    run: AuditRun,
    audit: Audit,
    tape: Recording,
    facts: list[dict[str, Any]],
    files: Mapping[str, tuple[NamedFile, bytes]],
    *,
    with_data: bool,
) -> dict[str, bytes]:
    """Return all members but the manifest, in the order in which a reader wants them."""
    shown = without_costs(audit)
    indices, answers = tape.packed()
    about = {
        "run": run.to_dict(),
        **environment(),
        "files": [file.to_dict() for file, _ in files.values()],
        "software": facts,
        "answers": hashlib.sha256(answers).hexdigest(),
        "data": with_data,
    }
    members = {
        CONTENTS: contents_of(shown, about).encode(),
        REPORT: shown.to_html().encode(),
        RESULTS: shown.to_json().encode(),
        RUN: json_file.dump(about).encode(),
    }
    if run.log is None:
        name = Path(run.source).name
        members[CONFIGURATION + name] = Path(run.source).read_bytes()
    for file, content in files.values():
        if file.role == INCLUDED:
            members[CONFIGURATION + file.path] = content
        elif file.role == DATA and with_data:
            members[DATA_FOLDER + file.path] = content
    members[INDEX] = json_file.dump({"checks": indices}).encode()
    members[ANSWERS] = answers
    return members


def without_costs(audit: Audit) -> Audit:
    """Return an audit without what differs from run to run: seconds, and what a ledger knew."""
    checks = []
    for check in audit.checks:
        found: Any = check.found
        # A comparison asks nothing itself, and has no such field.
        if found is not None and "spent" in found.__dataclass_fields__:
            found = replace(found, spent=_settled(found.spent))
        checks.append(replace(check, found=found))
    return replace(audit, checks=tuple(checks), spent=_settled(audit.spent))


def _settled(spent: Spent) -> Spent:
    return Spent(spent.queries, spent.queries, 0.0)
