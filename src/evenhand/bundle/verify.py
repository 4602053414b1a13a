"""verify: check an evidence bundle, and derive its verdicts again without the software."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.bundle import messages
from evenhand.bundle.again import SAMPLE, AskAgain
from evenhand.bundle.archive import read
from evenhand.bundle.contents import contents_of
from evenhand.bundle.derive import RecordedAudit, derived, read_recorded
from evenhand.bundle.manifest import Damage, damages, date_of
from evenhand.bundle.signature import SUFFIX, is_signed
from evenhand.bundle.write import (
    ANSWERS,
    CONFIGURATION,
    CONTENTS,
    REPORT,
    RESULTS,
    without_costs,
)
from evenhand.config.file import Config
from evenhand.methods.audit.statements import overall_word
from evenhand.results.document import versions
from evenhand.runtime import number_text
from evenhand.runtime.errors import UsageError, clip, printable
from evenhand.space.space_file import parsed_toml
from evenhand.subject.subject import Subject

if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike

    from evenhand.subject.recording.tape import Playback, Tape

VERIFIED = "verified"
DERIVED = "re-derived"
DIGEST_ONLY = "digest only"
DAMAGED = "damaged"
DIFFERS = "differs"
ASKED_AGAIN = "asked again"
CHANGED = "answers changed"
FAILED = "software failed"
_CODES = {DAMAGED: 2, DIFFERS: 2, FAILED: 4, DIGEST_ONLY: 3, CHANGED: 3}
"""The exit code of what does not hold: 2 of a bundle nobody should rely on, 3 of what is open."""
_WORST = (2, 4, 3, 0)


@dataclass(frozen=True)
class Point:
    """One thing that was checked: what it is, how it ended, and why."""

    what: str
    state: str
    reason: str = ""

    def __str__(self) -> str:
        words = messages.STATES[self.state]
        return printable(" ".join([f"{self.what}:", words, self.reason]).strip())


@dataclass(frozen=True)
class Verification:
    """What came of checking a bundle.

    Parameters
    ----------
    file
        The bundle.
    points
        What was checked, one point for each member that is damaged and for each check of the audit.
    date
        When the bundle was written, in UTC; empty where it cannot be read.
    verdict, audit_code
        What the audit in the bundle says, and its exit code; empty where it cannot be read.

    Notes
    -----
    See docs/how-to/evidence.md
    """

    file: str
    points: tuple[Point, ...]
    date: str = ""
    verdict: str = ""
    audit_code: int | None = None

    @property
    def exit_code(self) -> int:
        """0 verified, 2 damaged or changed, 3 intact but not all confirmed, 4 software failed."""
        codes = [_CODES.get(point.state, 0) for point in self.points]
        return min(codes, key=_WORST.index, default=0)

    @property
    def ok(self) -> bool:
        """Whether everything was verified."""
        return self.exit_code == 0

    def to_text(self) -> str:
        """Return a line for each point, and one that sums them up."""
        summary = messages.SUMMARY[self.exit_code].format(
            file=self.file, verdict=self.verdict, code=self.audit_code
        )
        return "\n".join([*map(str, self.points), printable(summary)])

    def to_dict(self) -> dict[str, Any]:
        """Return what was checked, as JSON holds it."""
        return {
            "file": self.file,
            "date": self.date,
            "verdict": self.verdict,
            "audit_exit_code": self.audit_code,
            "exit_code": self.exit_code,
            "points": [vars(point) for point in self.points],
        }

    def __str__(self) -> str:
        return self.to_text()


def verify(
    path: str | PathLike[str],
    *,
    data: str | PathLike[str] | None = None,
    config: str | PathLike[str] | None = None,
    trust: bool = False,
    sample: int | None = None,
    signature: str | PathLike[str] | None = None,
    key: str | PathLike[str] | None = None,
) -> Verification:
    """Check an evidence bundle, and derive its verdicts again without the software.

    Parameters
    ----------
    path
        What `evenhand audit --bundle` wrote.
    data
        The folder of the data files, where the bundle has only their sums.
    config
        Your own configuration: the software that it names is asked again.
    trust
        Ask the software again that the configuration in the bundle names, seen from the current
        folder. This runs whatever it names; nothing is run without it.
    sample
        About how many recorded answers are asked again, 1,000 by default.
    signature, key
        A detached signature, and the public key of who signed; with a key alone, the signature is
        looked for beside the bundle.

    Returns
    -------
    Verification
        What was checked, how each point ended, and an exit code.

    Raises
    ------
    UsageError
        Where a file cannot be read, or an option is not valid.

    Notes
    -----
    See docs/how-to/evidence.md

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "evidence.zip")
    ...     _ = file.write_bytes(b"something else")
    ...     found = verify(file)
    >>> found.exit_code, found.points[0].reason
    (2, 'it does not begin as an archive that evenhand wrote')
    """
    if sample is not None and (isinstance(sample, bool) or sample < 1):
        raise UsageError(messages.BAD_SAMPLE.format(sample=sample))
    file = Path(path)
    try:
        content = file.read_bytes()
    except OSError as error:
        reason = error.strerror
        raise UsageError(
            messages.BUNDLE_UNREADABLE.format(file=path, reason=reason)
        ) from None
    points = _signature_points(file, content, signature, key)
    archive = read(content)
    broken = _damage_points(archive.members, archive.damage)
    if broken:
        return Verification(str(path), (*points, *broken))
    members = archive.members
    date = date_of(members)
    whole = messages.WHOLE.format(members=number_text.count(len(members)), date=date)
    points.append(Point(messages.ARCHIVE, VERIFIED, whole))
    recorded = read_recorded(members)
    if isinstance(recorded, Damage):
        points.append(Point(recorded.member, DAMAGED, recorded.reason))
        return Verification(str(path), tuple(points), date)
    points += _member_points(recorded)
    asked = _asking(recorded, config, trust=trust, sample=sample)
    points += _check_points(recorded, None if data is None else Path(data), asked)
    audit = recorded.audit
    return Verification(
        str(path), tuple(points), date, overall_word(audit), audit.exit_code
    )


def _signature_points(
    file: Path,
    content: bytes,
    signature: str | PathLike[str] | None,
    key: str | PathLike[str] | None,
) -> list[Point]:
    """Return how the signature ended, where one is to be checked."""
    if signature is None and key is None:
        return []
    if key is None:
        raise UsageError(messages.NO_KEY)
    beside = file.with_name(file.name + SUFFIX) if signature is None else Path(signature)
    if is_signed(content, beside, key):
        return [
            Point(messages.SIGNATURE, VERIFIED, messages.SIGNATURE_HOLDS.format(key=key))
        ]
    reason = messages.SIGNATURE_FAILS.format(signature=beside, key=key)
    return [Point(messages.SIGNATURE, DAMAGED, reason)]


def _damage_points(members: Mapping[str, bytes], structure: str) -> list[Point]:
    """Return what is wrong with an archive and its members, the members first."""
    found = damages(members) if members else []
    changed = [
        damage
        for damage in found
        if damage.reason in (messages.MEMBER_CHANGED, messages.MANIFEST_BENT)
    ]
    if structure and not changed:
        found = [Damage("", structure)]
    elif changed:
        found = changed
    return [
        Point(damage.member or messages.ARCHIVE, DAMAGED, damage.reason) for damage in found
    ]


def _member_points(recorded: RecordedAudit) -> list[Point]:
    """Return which members do not belong together, though their sums are right."""
    members = recorded.members
    points = []
    if without_costs(recorded.audit).to_json().encode() != members[RESULTS]:
        points.append(Point(RESULTS, DIFFERS, messages.STALE_RESULT))
    if hashlib.sha256(members[ANSWERS]).hexdigest() != recorded.about["answers"]:
        points.append(Point(ANSWERS, DIFFERS, messages.ANSWERS_OTHER))
    name = CONFIGURATION + recorded.config_name
    if recorded.config_name and not _holds(members.get(name), recorded):
        points.append(Point(name, DIFFERS, messages.OTHER_CONFIGURATION))
    return [*points, *_page_points(recorded)]


def _holds(configuration: bytes | None, recorded: RecordedAudit) -> bool:
    """Return whether results hold the text of the configuration that is in the bundle."""
    if configuration is None:
        return False
    # As Python reads a text file, whichever line ends it has.
    text = configuration.decode("utf-8", "replace").replace("\r\n", "\n")
    text = text.replace("\r", "\n")
    return text == recorded.audit.config.get("text")


def _page_points(recorded: RecordedAudit) -> list[Point]:
    """Return whether the pages for people say what the results say."""
    then, now = recorded.audit.versions.get("evenhand"), versions().get("evenhand")
    points = []
    for name in (CONTENTS, REPORT):
        if then != now:
            reason = messages.OTHER_EVENHAND.format(then=then, now=now)
            points.append(Point(name, DIGEST_ONLY, reason))
        elif _page(recorded, name).encode() == recorded.members.get(name):
            points.append(Point(name, VERIFIED, messages.PAGE_HOLDS))
        else:
            points.append(Point(name, DIFFERS, messages.NOT_THE_PAGE))
    return points


def _page(recorded: RecordedAudit, name: str) -> str:
    """Return a page for people as the results make it, empty where they make none."""
    try:
        if name == CONTENTS:
            return contents_of(recorded.audit, recorded.about)
        return recorded.audit.to_html()
    # Results that somebody has changed may not fit any page.
    except Exception:
        return ""


def _asking(
    recorded: RecordedAudit,
    config: str | PathLike[str] | None,
    *,
    trust: bool,
    sample: int | None,
) -> AskAgain | None:
    """Return what asks the software again, None where nobody wants that."""
    if config is None and not trust:
        return None
    if not recorded.config_name or not recorded.about["software"]:
        raise UsageError(messages.LOG_HAS_NO_SOFTWARE)
    if config is None:
        name = recorded.config_name
        text = recorded.members[CONFIGURATION + name].decode("utf-8-sig")
        declared = _config_here(text, name)
    else:
        declared = Config.load(config)
    subject = declared.software()
    if isinstance(subject, Subject) and subject.space.to_dict() != recorded.audit.space:
        subject.close()
        raise UsageError(messages.OTHER_SPACE.format(config=declared.file))
    answers = sum(int(index["answers"]) for index in recorded.index["checks"])
    share = (SAMPLE if sample is None else sample) / max(answers, 1)
    random = np.random.default_rng(recorded.run.seed)
    return AskAgain(recorded.playback, subject, share, random)


def _config_here(text: str, name: str) -> Config:
    """Return the configuration of a bundle as if it were in the current folder."""
    if name.lower().endswith(".xml"):
        raise UsageError(messages.XML_CONFIGURATION.format(name=name))
    file = Path(name)
    return Config(file, parsed_toml(text, file))


def _check_points(
    recorded: RecordedAudit, data: Path | None, asked: AskAgain | None
) -> list[Point]:
    """Return how each check of the audit ended, and what the software says now."""

    def tape_of(played: Playback) -> Tape:
        assert asked is not None
        asked.played = played
        return asked

    if asked is None:
        found = derived(recorded, data)
    else:
        with asked.subject:
            found = derived(recorded, data, tape_of)
    points = []
    for name in found.checks:
        if name in found.differences:
            points.append(Point(name, DIFFERS, found.differences[name]))
        elif name in found.reasons:
            points.append(Point(name, DIGEST_ONLY, found.reasons[name]))
        else:
            points.append(Point(name, DERIVED, _verdict_text(recorded, name)))
    if asked is not None:
        points.append(_asked_point(asked))
    return points


def _verdict_text(recorded: RecordedAudit, name: str) -> str:
    return f"({recorded.audit[name].verdict or messages.NO_VERDICT})"


def _asked_point(asked: AskAgain) -> Point:
    number = number_text.count(asked.asked)
    if asked.failure:
        return Point(messages.SOFTWARE, FAILED, asked.failure)
    if not asked.asked:
        return Point(messages.SOFTWARE, CHANGED, messages.NOT_ASKED)
    if asked.example is None:
        return Point(messages.SOFTWARE, ASKED_AGAIN, messages.ALL_SAME.format(asked=number))
    person, before, after = asked.example
    reason = messages.SOME_DIFFER.format(
        changed=number_text.count(asked.changed),
        asked=number,
        before=repr(before),
        after=repr(after),
        person=clip(str(person), 200),
    )
    return Point(messages.SOFTWARE, CHANGED, reason)
