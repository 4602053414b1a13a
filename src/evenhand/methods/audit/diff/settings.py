"""What differs in how two audits were run: their software, settings, checks and versions."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evenhand.methods.audit.diff import messages
from evenhand.runtime import number_text
from evenhand.runtime.errors import clip
from evenhand.runtime.language import say

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from evenhand.methods.audit.audit_result import Audit
    from evenhand.methods.audit.check_result import CheckResult

_WIDE = 200
"""The most characters of a value that are shown."""
_DIGITS = 12
"""Digits of a digest that tell two of them apart."""


@dataclass(frozen=True, slots=True)
class SettingChange:
    """A setting of the audits, or of one of their checks, and its value before and now.

    `name` is that of the field, `about` the check or the package that it belongs to, if any.
    """

    name: str
    before: str
    now: str
    about: str = ""

    @property
    def label(self) -> str:
        """What it is, in words."""
        if self.name == "version":
            return say(messages.SETTING_VERSION, package=self.about)
        if self.name == "check":
            return say(messages.SETTING_CHECK, check=self.about)
        if self.about:
            return say(messages.SETTING_OF_CHECK, setting=self.name, check=self.about)
        return say(_LABELS[self.name])

    def to_dict(self) -> dict[str, str]:
        """Return the setting as JSON holds it."""
        return {
            "name": self.name,
            "about": self.about,
            "before": self.before,
            "now": self.now,
        }


_LABELS = {
    "software": messages.SETTING_SOFTWARE,
    "space": messages.SETTING_SPACE,
    "seed": messages.SETTING_SEED,
    "level": messages.SETTING_LEVEL,
    "configuration": messages.SETTING_CONFIG,
}


def setting_changes(old: Audit, new: Audit) -> list[SettingChange]:
    """Return what differs in how two audits were run, the software first."""
    found = list(_of_audits(old, new))
    found += _of_checks(old, new)
    packages = sorted({*old.versions, *new.versions})
    for package in packages:
        before = old.versions.get(package, say(messages.NOT_GIVEN))
        now = new.versions.get(package, say(messages.NOT_GIVEN))
        if before != now:
            found.append(SettingChange("version", before, now, package))
    return found


def _of_audits(old: Audit, new: Audit) -> Iterator[SettingChange]:
    pairs = {
        "software": (old.subject, new.subject),
        "space": (_space_text(old.space), _space_text(new.space)),
        "seed": (str(old.seed), str(new.seed)),
        "level": (_level_text(old), _level_text(new)),
    }
    for name, (before, now) in pairs.items():
        if before != now:
            yield SettingChange(name, _shown(before), _shown(now))
    if old.config.get("text", "") != new.config.get("text", ""):
        yield _other_text(old.config, new.config)


def _other_text(old: Mapping[str, str], new: Mapping[str, str]) -> SettingChange:
    """Return that the configurations have different texts, which may be of one name."""
    before = old.get("file", "")
    now = new.get("file", "")
    if before and before == now:
        now = say(messages.TEXT_DIFFERS, name=now)
    return SettingChange("configuration", _shown(before), _shown(now))


def _of_checks(old: Audit, new: Audit) -> Iterator[SettingChange]:
    before_of = {check.name: check for check in old.checks}
    now_of = {check.name: check for check in new.checks}
    there = say(messages.CHECK_IS_THERE)
    absent = say(messages.CHECK_IS_NOT_THERE)
    for name in now_of:
        if name not in before_of:
            yield SettingChange("check", absent, there, name)
    for name in before_of:
        if name not in now_of:
            yield SettingChange("check", there, absent, name)
    for name, check in now_of.items():
        if name in before_of:
            yield from _of_check(before_of[name], check)


def _of_check(old: CheckResult, new: CheckResult) -> Iterator[SettingChange]:
    settings = dict.fromkeys([*new.settings, *old.settings])
    for setting in settings:
        before = old.settings.get(setting)
        now = new.settings.get(setting)
        if before != now:
            yield SettingChange(setting, _value_text(before), _value_text(now), new.name)


def _space_text(space: Mapping[str, Any]) -> str:
    """Return a space in a few words, with a digest that tells it from another."""
    if not space:
        return ""
    text = json.dumps(space, sort_keys=True, default=str)
    digest = hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()
    count = len(space.get("features", ()))
    return say(messages.SPACE_OF_FEATURES, count=count, digest=digest[:_DIGITS])


def _level_text(audit: Audit) -> str:
    return number_text.percent_figures(audit.level, 4)


def _shown(text: str) -> str:
    return clip(text, _WIDE) or say(messages.NOT_GIVEN)


def _value_text(value: Any) -> str:
    """Return the value of a setting: a text as it is, and all else as JSON writes it."""
    if value is None:
        return say(messages.NOT_GIVEN)
    if isinstance(value, str):
        return _shown(value)
    return _shown(json.dumps(value, ensure_ascii=False, default=str))
