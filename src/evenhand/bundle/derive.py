"""Derive the verdicts of a bundle again, from the recorded answers and without the software."""

from __future__ import annotations

import hashlib
import json
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.bundle import messages
from evenhand.bundle.compared import audit_table, check_table, difference
from evenhand.bundle.manifest import Damage
from evenhand.bundle.named_files import INCLUDED, SOFTWARE, NamedFile, is_safe, with_paths
from evenhand.bundle.run import AuditRun, environment
from evenhand.bundle.stand_in import PlayedConfig
from evenhand.bundle.write import (
    ANSWERS,
    BASELINE,
    CONFIGURATION,
    DATA_FOLDER,
    INDEX,
    RESULTS,
    RUN,
)
from evenhand.config.file import Config
from evenhand.methods.audit.audit_result import Audit
from evenhand.methods.audit.gate import Gate
from evenhand.runtime import number_text
from evenhand.runtime.errors import EvenhandError, UsageError, clip, one_line
from evenhand.statistics.estimate import StopReason
from evenhand.subject.recording.tape import Playback, read_calls

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from evenhand.methods.audit.check_result import CheckResult
    from evenhand.subject.recording.tape import Tape


class NotDerivable(UsageError):
    """Something that is not here, without which nothing can be derived again."""


@dataclass(frozen=True)
class RecordedAudit:
    """What a bundle records of an audit."""

    run: AuditRun
    about: Mapping[str, Any]
    files: list[NamedFile]
    audit: Audit
    index: Mapping[str, Any]
    members: Mapping[str, bytes]

    @property
    def playback(self) -> Playback:
        """The recorded answers, from the first."""
        return Playback(read_calls(self.index["checks"], self.members[ANSWERS]))

    @property
    def config_name(self) -> str:
        """The name of the configuration, empty where decisions were audited without one."""
        return "" if self.run.log is not None else Path(self.run.source).name

    def gate(self) -> Gate:
        """Return what the audit was held against."""
        old = None
        if BASELINE in self.members:
            old = Audit.from_dict(json_of(self.members, BASELINE), where=BASELINE)
        run = self.run
        return Gate(old, run.baseline, run.tolerance, run.keep_answers)


@dataclass
class Rederivation:
    """What came out when the audit was run again, and how each check ended."""

    reasons: dict[str, str] = field(default_factory=dict)
    """By check, why it could not be derived again."""
    differences: dict[str, str] = field(default_factory=dict)
    """By check, in what it differs from the bundle."""
    checks: list[str] = field(default_factory=list)


def derived(
    recorded: RecordedAudit,
    data: Path | None = None,
    tape_of: Callable[[Playback], Tape] | None = None,
) -> Rederivation:
    """Run the audit again from the recorded answers, and hold it against the bundle.

    `tape_of` may put something around the answers, such as what asks the software too.
    """
    names = [check.name for check in recorded.audit.checks]
    found = Rederivation(checks=names)
    played = recorded.playback
    with tempfile.TemporaryDirectory(prefix="evenhand-") as folder:
        try:
            source, renamed = _laid_out(recorded, Path(folder), data, played, tape_of)
            again = recorded.run.found(
                source, recorded.gate(), _after(played), progress=False
            )
        except NotDerivable as error:
            found.reasons = dict.fromkeys(found.checks, one_line(error))
            return found
        # A file of somebody else may hold anything, and whatever comes of it is not our mistake.
        except Exception as error:
            reason = messages.CANNOT_RUN.format(reason=_reason(error))
            _note(found, found.checks, _with_versions(recorded, reason))
            return found
    _compare(recorded, again, renamed, played, found)
    return found


def _reason(error: Exception) -> str:
    if isinstance(error, EvenhandError):
        return one_line(error)
    return clip(f"{type(error).__name__}: {error}")


def _after(played: Playback) -> Callable[[int, CheckResult], None]:
    def after(_total: int, check: CheckResult) -> None:
        played.end(check.name)

    return after


def _laid_out(
    recorded: RecordedAudit,
    folder: Path,
    data: Path | None,
    played: Playback,
    tape_of: Callable[[Playback], Tape] | None,
) -> tuple[Config | Path, dict[str, str]]:
    """Put the files of a bundle into a folder; return what is run, and the names to change back.

    Nothing outside this folder is read but data that the person names, and nothing is imported.
    """
    renamed: dict[str, str] = {}
    path_of: dict[str, str] = {}
    for file in recorded.files:
        if file.role == SOFTWARE:
            continue
        place = folder / file.path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(_content(recorded, file, data))
        path_of[file.written] = file.path
        # The longer name comes first, since the shorter is a part of it.
        renamed[str(place)] = file.written
        renamed[file.path] = file.written
        name, written_name = Path(file.path).name, Path(file.written).name
        if name != written_name:
            renamed[name] = written_name
    if recorded.run.log is not None:
        return folder / recorded.files[0].path, renamed
    place = folder / recorded.config_name
    place.write_bytes(recorded.members[CONFIGURATION + recorded.config_name])
    renamed[str(place)] = recorded.run.source
    config = Config.load(place)
    table = with_paths(config, path_of)
    tape = played if tape_of is None else tape_of(played)
    facts = list(recorded.about["software"])
    return PlayedConfig(config.file, table, tape, played, facts), renamed


def _content(recorded: RecordedAudit, file: NamedFile, data: Path | None) -> bytes:
    """Return a file that the configuration names: from the bundle, or from the person."""
    home = CONFIGURATION if file.role == INCLUDED else DATA_FOLDER
    content = recorded.members.get(home + file.path)
    if content is None and data is not None:
        for place in (data / file.path, data / Path(file.written).name):
            if place.is_file():
                content = place.read_bytes()
                break
    if content is None:
        raise NotDerivable(messages.DATA_MISSING.format(file=file.written))
    if hashlib.sha256(content).hexdigest() != file.sha256:
        raise NotDerivable(messages.DATA_OTHER.format(file=file.written))
    return content


def _compare(
    recorded: RecordedAudit,
    again: Audit,
    renamed: Mapping[str, str],
    played: Playback,
    found: Rederivation,
) -> None:
    """Note check by check what differs, or why nothing can be said."""
    here = {check.name: check for check in again.checks}
    calls = {calls.check: calls for calls in played.checks}
    for check in recorded.audit.checks:
        reason = _needs_more(recorded, check)
        other = here.pop(check.name, None)
        if reason:
            found.reasons[check.name] = reason
        elif other is None:
            found.differences[check.name] = messages.GONE
        else:
            both = check_table(check, {}), check_table(other, renamed)
            differs = difference(*both)
            own = calls.get(check.name)
            if differs is not None:
                text = _difference_text(differs, other)
                _note(found, [check.name], _with_versions(recorded, text))
            elif own is not None and not own.complete and not own.overflown:
                left = number_text.count(len(own.sizes) - own.call)
                _note(found, [check.name], (messages.UNUSED_CALLS.format(left=left), False))
    for name in here:
        found.checks.append(name)
        found.differences[name] = messages.NEW.format(name=name)
    if not found.reasons and not found.differences:
        _compare_rest(recorded, again, renamed, found)


def _compare_rest(
    recorded: RecordedAudit, again: Audit, renamed: Mapping[str, str], found: Rederivation
) -> None:
    """Note what the audits say of themselves that differs, where all checks are the same."""
    both = audit_table(recorded.audit, {}), audit_table(again, renamed)
    differs = difference(*both)
    if differs is not None:
        place, there, here = differs
        text = messages.DIFFERS.format(field=place, there=there, here=here)
        found.checks.append(messages.THE_AUDIT)
        _note(found, [messages.THE_AUDIT], _with_versions(recorded, text))


def _difference_text(differs: tuple[str, str, str], other: CheckResult) -> str:
    if other.found is None and other.error:
        return other.error
    place, there, here = differs
    return messages.DIFFERS.format(field=place, there=there, here=here)


def _note(found: Rederivation, names: list[str], reason: tuple[str, bool]) -> None:
    """Note a difference; where versions differ it may be theirs, and nothing is shown."""
    text, excused = reason
    notes = found.reasons if excused else found.differences
    notes |= dict.fromkeys(names, text)


def _with_versions(recorded: RecordedAudit, reason: str) -> tuple[str, bool]:
    """Return a reason with the versions that differ, and whether any does."""
    then, now = recorded.about["versions"], environment()["versions"]
    differ = []
    for name in recorded.audit.versions:
        before, here = then.get(name, ""), now.get(name, "")
        if before != here:
            differ.append(messages.ONE_VERSION.format(name=name, then=before, now=here))
    if not differ:
        return reason, False
    versions = ", ".join(differ)
    return messages.OTHER_VERSIONS.format(reason=reason, versions=versions), True


def _needs_more(recorded: RecordedAudit, check: CheckResult) -> str:
    """Return why a check cannot be derived from recorded answers, empty where it can."""
    if check.interrupted:
        return messages.INTERRUPTED
    if check.found is not None and check.found.stop is StopReason.SECONDS:
        return messages.OUT_OF_TIME
    if any(facts.get("linear") for facts in recorded.about["software"]):
        return messages.LINEAR_TEXTS
    for index in recorded.index["checks"]:
        if index["check"] == check.name and index.get("overflown"):
            return messages.TOO_MANY
    return ""


def json_of(members: Mapping[str, bytes], name: str) -> Any:
    """Return what a member of JSON holds; one that cannot be read is a UsageError."""
    try:
        return json.loads(members[name])
    except (KeyError, ValueError, RecursionError) as error:
        raise UsageError(f"{name}: {type(error).__name__}: {error}") from None


def _need_fields(about: Mapping[str, Any]) -> None:
    """Refuse a record of a run that lacks something."""
    for name, kind in {"software": list, "versions": dict, "answers": str}.items():
        if not isinstance(about[name], kind):
            raise TypeError(name)


def read_recorded(members: Mapping[str, bytes]) -> RecordedAudit | Damage:
    """Return what the members of a bundle record, or which of them cannot be read."""
    name = RESULTS
    try:
        audit = Audit.from_dict(json_of(members, RESULTS), where=RESULTS)
        name = RUN
        about = json_of(members, RUN)
        run = AuditRun.from_dict(about["run"])
        files = [NamedFile.from_dict(file) for file in about["files"]]
        paths = [Path(run.source).name, *[file.path for file in files]]
        unsafe = [path for path in paths if not is_safe(path)]
        if unsafe:
            return Damage(RUN, messages.RUN_DAMAGED.format(reason=repr(unsafe[0])))
        _need_fields(about)
        name = INDEX
        index = json_of(members, INDEX)
        name = ANSWERS
        read_calls(index["checks"], members[ANSWERS])
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
        return Damage(name, one_line(f"{type(error).__name__}: {error}"))
    return RecordedAudit(run, about, files, audit, index, members)
