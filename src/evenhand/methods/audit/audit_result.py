"""Audit: the checks of one piece of software, each with what came of it, under one verdict and one exit code."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.methods.audit.baseline import Held, hold
from evenhand.methods.compare.comparison import Comparison
from evenhand.methods.repair.repair_result import Repair
from evenhand.results.result import EXIT_CODES, Result, versions
from evenhand.runtime import json_file
from evenhand.runtime.budget import Spent
from evenhand.runtime.errors import INTERRUPTED, SubjectError, UsageError, clip, nearest, printable
from evenhand.statistics.estimate import StopReason, Verdict

if TYPE_CHECKING:
    from collections.abc import Container, Sequence
    from os import PathLike

FORMAT = 1
WORST = (INTERRUPTED, UsageError.exit_code, 1, SubjectError.exit_code, 3, 0)
"""Exit codes, from what counts most of several to what counts least: what was found stands, whatever failed later."""
READERS: dict[str, Any] = {"compare": Comparison, "repair": Repair}
"""What reads the JSON of a job; that of all others is a Result."""
_RANK = (Verdict.FAIL, Verdict.UNDECIDED, Verdict.PASS)

Found = Result | Comparison | Repair


@dataclass(frozen=True)
class Checked:
    """One check: what it was to do, and what came of it, or the sentence that says why nothing did."""

    name: str
    job: str
    settings: Mapping[str, Any]
    """As a `[[checks]]` table says them."""
    found: Found | None = None
    error: str = ""
    code: int = SubjectError.exit_code
    """The exit code where nothing was found: 4 where the software failed, 2 where the check cannot be run, 130 where
    it was interrupted."""
    held: tuple[Held, ...] = ()
    """How each finding stands to that of a baseline, where there is one."""

    @property
    def alone(self) -> Verdict | None:
        """The verdict without any baseline; of software that failed, undecided."""
        return Verdict.UNDECIDED if self.found is None else self.found.verdict

    @property
    def verdict(self) -> Verdict | None:
        """Pass, fail or undecided; None where no limit was given. A baseline excuses what did not get worse."""
        if not self.held or self.found is None:
            return self.alone
        return _worst(one.verdict for one in self.held)

    @property
    def interrupted(self) -> bool:
        """Whether someone stopped the run before it was through."""
        if self.found is None:
            return self.code == INTERRUPTED
        return isinstance(self.found, Result) and self.found.stop is StopReason.INTERRUPTED

    @property
    def exit_code(self) -> int:
        """The exit code of this check alone."""
        if self.interrupted:
            return INTERRUPTED
        return self.code if self.found is None else EXIT_CODES[self.verdict]

    @property
    def level(self) -> float:
        """The level at which all that this check says holds together; 1 where every input was asked."""
        if isinstance(self.found, Result):
            return min((finding.estimate.level for finding in self.found.findings), default=1.0)
        return 1.0 if self.found is None else self.found.level

    def story(self) -> str:
        """Return what does not pass as text; what a baseline excuses is left out."""
        if self.found is None:
            return self.error
        if not self.held:
            return str(getattr(self.found, "story", self.found.__str__)())
        lines = [f"{self.job}: {self.verdict}"]
        for part, how in zip(_parts(self.found), self.held, strict=True):
            if how.verdict in (Verdict.FAIL, Verdict.UNDECIDED):
                lines.append(f"  {part}; against the baseline: {how.state}")
                lines += [f"    {case}" for case in getattr(part, "cases", ())[:1]]
        return "\n".join(printable(line) for line in lines)

    def to_dict(self, *, whole: bool = True) -> dict[str, Any]:
        """Return the check as JSON holds it, or, unless it is wanted whole, with the digest of what it found."""
        table: dict[str, Any] = {
            "name": self.name,
            "job": self.job,
            "verdict": self.verdict,
            "settings": dict(self.settings),
        }
        if self.found is None:
            table |= {"error": self.error, "code": self.code}
        else:
            table["found"] = _parsed(self.found) if whole else self.found.digest
        return table | ({"held": [one.to_dict() for one in self.held]} if self.held else {})

    @classmethod
    def from_dict(cls, table: Mapping[str, Any], *, where: str = "audit") -> Checked:
        """Rebuild a check from `to_dict`."""
        found = read_found(table["found"], where=where) if "found" in table else None
        held = tuple(Held.from_dict(one) for one in table.get("held", ()))
        if held and (found is None or len(held) != len(_parts(found))):
            raise ValueError(f"{len(held)} statements are held against a baseline")
        code = table.get("code", SubjectError.exit_code)
        return cls(table["name"], table["job"], table["settings"], found, table.get("error", ""), code, held)


@dataclass(frozen=True)
class Audit:
    """All checks of a piece of software, with one verdict, and what is needed to run them again.

    `subject` says in words what was tested, `config` holds the name and the text of the configuration, `ledger` the
    file that has every executed test, and `command` what gives the same again.
    """

    checks: tuple[Checked, ...]
    seed: int
    spent: Spent
    subject: str = ""
    space: Mapping[str, Any] = field(default_factory=dict)
    config: Mapping[str, str] = field(default_factory=dict)
    ledger: str = ""
    command: str = ""
    baseline: str = ""
    """The name and digest of the audit that this one is held against, where there is one."""
    notes: tuple[str, ...] = ()
    versions: Mapping[str, str] = field(default_factory=versions)

    def __getitem__(self, name: str) -> Checked:
        """Return a check by its name, or by its job where that is the only one."""
        for key in ("name", "job"):
            found = [check for check in self.checks if getattr(check, key) == name]
            if len(found) == 1:
                return found[0]
        names = [check.name for check in self.checks]
        raise UsageError(f"this audit has no check {clip(repr(name))}; {nearest(name, names)}")

    @property
    def verdict(self) -> Verdict | None:
        """Fail if any check fails, undecided if any is undecided or could not be run, pass if all pass."""
        return _worst(check.verdict for check in self.checks)

    @property
    def exit_code(self) -> int:
        """0 pass, 1 discrimination found, 4 the software failed, 3 undecided; 130 where it was interrupted."""
        return min((check.exit_code for check in self.checks), key=WORST.index, default=0)

    @property
    def level(self) -> float:
        """The least level at which all that the checks say holds together (Bonferroni)."""
        return max(0.0, 1 - sum(1 - check.level for check in self.checks))

    @property
    def home(self) -> str | None:
        """The configuration file that the audit was run by, None where there is none any more."""
        file = self.config.get("file", "")
        return file if file and Path(file).is_file() else None

    def check(self) -> Audit:
        """Return the audit if it passes; raise an AssertionError that tells the story if it fails or is undecided."""
        __tracebackhide__ = True  # pytest shows the test, not this
        if self.exit_code:
            raise AssertionError(self.story())
        return self

    def story(self) -> str:
        """Return the checks that do not pass as text, each with its simplest case."""
        lines = [f"audit: {self.verdict or 'no limit given'}"]
        for check in self.checks:
            if check.exit_code:
                first, *rest = check.story().split("\n")
                lines += [f"{check.name}: {first if check.found is None else check.verdict}", *rest]
        return "\n".join(printable(line) for line in lines)

    def against(self, old: Audit, *, name: str = "") -> Audit:
        """Return the audit held against an older one: only what surely got worse, or is new, fails."""
        if not isinstance(old, Audit):
            raise UsageError(f"a {type(old).__name__} is no baseline; give an Audit, or the file of one")
        before: dict[str, Checked] = {check.name: check for check in old.checks}
        checks, notes = [], []
        for check in self.checks:
            known = before.pop(check.name, None)
            then = None if known is None else known.found
            held = () if check.found is None else hold(check.found, then)
            checks.append(replace(check, held=tuple(held)))
        if old.space and self.space and old.space != self.space:
            notes.append("the baseline is of another space of inputs, so that its scores may speak of others")
        notes += [f"the baseline has a check that this audit has not: {gone}" for gone in before]
        told = f"{name or 'an older audit'}, digest {old.digest}"
        return replace(self, checks=tuple(checks), baseline=told, notes=(*self.notes, *notes))

    def to_frame(self) -> Any:
        """Return one row for each statement of each check, as a pandas frame."""
        return import_module("evenhand.methods.audit.statements").frame(self)

    def plot(self, ax: Any = None) -> Any:
        """Draw the scores of all checks with matplotlib and return the display."""
        display = import_module("evenhand.methods.audit.plot")  # the core knows nothing of reports until asked
        return display.AuditDisplay.from_audit(self).plot(ax=ax)

    def to_html(self, path: str | PathLike[str] | None = None) -> str:
        """Return the audit as one page that needs nothing from elsewhere, and write it where a path is given."""
        return str(import_module("evenhand.methods.audit.formats.html").write_report(self, path))

    def _repr_html_(self) -> str:
        return str(import_module("evenhand.methods.audit.formats.notebook").summary(self))

    def _stable(self) -> dict[str, Any]:
        """Return all that depends on seed, software and settings alone, not on how the run went."""
        checks = [check.to_dict(whole=False) for check in self.checks]
        told = {key: getattr(self, key) for key in ("subject", "seed", "space", "baseline")}
        return {"format": FORMAT, "job": "audit", "verdict": self.verdict, **told, "checks": checks}

    @property
    def digest(self) -> str:
        """A hash that two audits share exactly when they found the same, whatever they cost."""
        return hashlib.sha256(json_file.dump(self._stable()).encode()).hexdigest()

    def to_json(self, path: str | PathLike[str] | None = None) -> str:
        """Return the audit as JSON, and write it to `path` where one is given."""
        table = {
            **self._stable(),
            "checks": [check.to_dict() for check in self.checks],
            "spent": self.spent.to_dict(),
            **{key: getattr(self, key) for key in ("ledger", "command")},
            "config": dict(self.config),
            "notes": list(self.notes),
            "versions": dict(self.versions),
            "digest": self.digest,
        }
        return json_file.write(path, json_file.dump(table), "audit")

    @classmethod
    def from_json(cls, path: str | PathLike[str]) -> Audit:
        """Read an audit that `to_json` wrote."""
        return cls.from_dict(json_file.read(path, "audit"), where=str(path))

    @classmethod
    def from_dict(cls, table: Any, *, where: str = "audit") -> Audit:
        """Rebuild an audit from the parsed JSON."""
        json_file.check(table, where, "audit", job="audit", holds="checks", known=FORMAT)
        keys = ("seed", "subject", "space", "config", "ledger", "command", "baseline", "versions")
        try:
            checks = tuple(Checked.from_dict(check, where=where) for check in table["checks"])
            rest = {key: table[key] for key in keys}
            return cls(checks, spent=Spent(**table["spent"]), notes=tuple(table["notes"]), **rest)
        except UsageError:
            raise
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise UsageError(f"{where}: this evenhand audit is damaged ({type(error).__name__}: {error})") from None

    def __str__(self) -> str:
        return "\n".join(f"{check.name}: {check.verdict or 'no limit given'}" for check in self.checks)


def read_found(table: Any, *, where: str) -> Found:
    """Rebuild what a check found from its parsed JSON, whatever its job."""
    job = table.get("job") if isinstance(table, Mapping) else None
    reader = READERS.get(str(job), Result)
    found: Found = reader.from_dict(table, where=where)
    return found


def gathered(paths: Any) -> Audit:
    """Read files that evenhand wrote, of any job, as one audit; the checks of an audit stay as they are.

    >>> gathered([])
    Traceback (most recent call last):
    evenhand.runtime.errors.UsageError: there is no result to report on; name at least one file
    """
    files = list(paths)
    if not files:
        raise UsageError("there is no result to report on; name at least one file")
    audits = [(str(file), _read_any(file)) for file in files]
    return audits[0][1] if len(audits) == 1 else _joined(audits)


def _read_any(file: str | PathLike[str]) -> Audit:
    """Read an audit, or what one verb found as the only check of one."""
    table = json_file.read(file, "result")
    if isinstance(table, Mapping) and table.get("job") == "audit":
        return Audit.from_dict(table, where=str(file))
    found = read_found(table, where=str(file))
    space = dict(getattr(found, "space", None) or {})
    spent = getattr(found, "spent", Spent(0, 0, 0.0))
    one = Checked(f"{table['job']} ({file})", str(table["job"]), {}, found)
    return Audit((one,), found.seed, spent, space=space, versions=found.versions)


def _joined(audits: list[tuple[str, Audit]]) -> Audit:
    """Return several audits as one, each check under a name of its own."""
    checks: list[Checked] = []
    for file, audit in audits:
        for check in audit.checks:
            name = check.name
            if any(name == other.name for other in checks):
                name = unlike(f"{name} ({file})", [other.name for other in checks])
            checks.append(replace(check, name=name))
    every = [audit for _, audit in audits]
    spent = Spent(*(sum(getattr(one.spent, key) for one in every) for key in ("queries", "executed", "seconds")))
    notes = list(dict.fromkeys(note for one in every for note in one.notes))
    if len({one.seed for one in every}) > 1:
        notes.append(f"the seeds differ: {', '.join(str(one.seed) for one in every)}")
    told: dict[str, Any] = {
        key: "; ".join(dict.fromkeys(getattr(one, key) for one in every if getattr(one, key)))
        for key in ("subject", "ledger", "command", "baseline")
    }
    configs = [one.config for one in every if one.config]
    config = configs[0] if configs and all(one == configs[0] for one in configs) else {}
    return replace(every[0], checks=tuple(checks), spent=spent, notes=tuple(notes), config=config, **told)


def unlike(name: str, others: Container[str]) -> str:
    """Return a name that no other check has.

    >>> unlike("search sex", ["search sex"])
    'search sex (2)'
    """
    number = 1
    while (told := name if number == 1 else f"{name} ({number})") in others:
        number += 1
    return told


def _parts(found: Found) -> Sequence[Any]:
    """Return what is held against a baseline, one by one."""
    if isinstance(found, Comparison):
        return found.standings
    return [found] if isinstance(found, Repair) else found.findings


def _parsed(found: Found) -> dict[str, Any]:
    """Return what was found as its own JSON has it."""
    import json

    return dict(json.loads(found.to_json()))


def _worst(verdicts: Any) -> Verdict | None:
    """Return what counts most of several verdicts; None where there is none at all."""
    known = set(verdicts)
    return next((one for one in _RANK if one in known), None)
