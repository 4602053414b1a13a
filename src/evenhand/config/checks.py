"""The [[checks]] of a configuration: which jobs there are, what can be said of each, and which run together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenhand.runtime.errors import ConfigError, clip, nearest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from evenhand.config.file import Config

_SAMPLING = ("kind", "limit", "margin", "level", "interval", "exact", "queries", "seconds")
_MINING = ("support", "depth", "limit", "level", "stories", "queries", "seconds")
_OF_TABLES = ("over", "complement", "bins", "binning", "levels", "method", "truth", "score", "data")
_OF_TEXTS = ("kind", "against", "without")
_COMPARING = ("baseline", "bias", "performance", "positive", "strategy", "smallest", "level", "resamples")
CHECKS = {
    "measure": ("over", *_SAMPLING),
    "subsets": ("among", "depth", "variants", *_SAMPLING),
    "search": ("over", "strategy", "prefer", "limit", "queries", "seconds", "findings", "start", "explain"),
    "prevalence": ("over", "limit", "margin", "level", "queries", "seconds"),
    "mine": (*_MINING, *_OF_TABLES, *_OF_TEXTS),
    "compare": ("over", "truth", "data", "models", "outcomes", *_COMPARING),
    "impact": ("over", "data", "limit", "level", "smallest", "unknown"),
}
"""The jobs of checks, and what can be said of each."""
_TEXTS, _NUMBER, _WHOLE = (str, list), (int, float), (int,)
_TYPES: dict[str, tuple[tuple[type, ...], str]] = {
    **dict.fromkeys(("over", "among", "score", "without", "outcomes", "unknown"), (_TEXTS, "a list of texts")),
    **dict.fromkeys(
        ("limit", "margin", "level", "seconds", "support", "complement", "smallest"), (_NUMBER, "a number")
    ),
    **dict.fromkeys(("depth", "variants", "queries", "findings"), (_WHOLE, "a whole number")),
    **dict.fromkeys(("levels", "stories", "resamples"), (_WHOLE, "a whole number")),
    **dict.fromkeys(("kind", "interval", "strategy", "prefer", "start"), ((str,), "a text")),
    **dict.fromkeys(("data", "binning", "method", "truth", "against"), ((str,), "a text")),
    **dict.fromkeys(("baseline", "bias", "performance"), ((str,), "a text")),
    "positive": ((str, int, float, bool), "a label"),
    "models": ((dict,), 'a table of files by name, such as { repaired = "repaired.skops" }'),
    **dict.fromkeys(("exact", "explain"), ((bool,), "true or false")),
    "bins": ((int, list, dict), "a whole number, a list of cut points, or a table of either by feature"),
}


def checks_of(file: Path, checks: Sequence[Any]) -> list[tuple[str, dict[str, Any]]]:
    """Return the job and the settings of each check, whose paths are relative to the folder of the file."""
    found = []
    for number, check in enumerate(checks, start=1):
        if not isinstance(check, dict):
            raise ConfigError(f"{file}: check {number} is {clip(repr(check))}; write a [[checks]] table")
        job = check.get("job")
        if not isinstance(job, str) or job not in CHECKS:
            raise ConfigError(f"{file}: check {number} has job = {clip(repr(job))}; {nearest(job or '', CHECKS)}")
        settings = {key: value for key, value in check.items() if key != "job"}
        for key, value in settings.items():
            _check_setting(file, f"check {number}", job, key, value)
        for key in ("start", "data"):
            if key in settings:
                settings[key] = str(file.parent / settings[key])
        found.append((job, settings))
    return found


def _check_setting(file: Path, where: str, job: str, key: str, value: Any) -> None:
    if key not in CHECKS[job]:
        allowed = ("job", *CHECKS[job])
        raise ConfigError(f"{file}: {where} ({job}) has an unknown key {key!r}; {nearest(key, allowed)}")
    types, wanted = _TYPES[key]
    fits = isinstance(value, types) and (bool in types or not isinstance(value, bool))
    texts = types is not _TEXTS or isinstance(value, str) or all(isinstance(name, str) for name in value)
    if not fits or not texts:
        raise ConfigError(f"{file}: {where} ({job}) has {key} = {clip(repr(value))}; it must be {wanted}")


def settings_of(config: Config, job: str, given: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the settings of each run of a job: its checks, under what the command line gives.

    `over` and `kind` of the command line choose among the checks, and what no check covers has the defaults; all else
    takes the place of what a check says. Checks that differ in nothing but `over` are one run, so that they hold
    together.
    """
    options = {key: value for key, value in given.items() if value is not None and key != "over"}
    usual = "group" if job == "mine" else "causal"
    checks = [check for check in config.checks(job) if options.get("kind") in (None, check.get("kind", usual))]
    if given.get("over") is not None:
        checks = [
            {**check, "over": list(names)}
            for names in given["over"]
            for check in [check for check in checks if set(_names(check.get("over", ()))) == set(names)] or [{}]
        ]
    runs: list[tuple[dict[str, Any], list[tuple[str, ...]]]] = []
    for check in checks or [{}]:
        settings = {**check, **options}
        names = _names(settings.pop("over", ()))
        mine = next((sets for known, sets in runs if known == settings and bool(sets) == bool(names)), None)
        if mine is None:
            mine = []
            runs.append((settings, mine))
        if names and names not in mine:
            mine.append(names)
    found = [{**settings, "over": sets} if sets else settings for settings, sets in runs]
    if job == "mine":
        _check_mining(config, found)
    return found


def _check_mining(config: Config, runs: Sequence[Mapping[str, Any]]) -> None:
    """Refuse what goes with tables where the file declares texts, and the other way round."""
    mine, others = (_OF_TEXTS, _OF_TABLES) if config.of_texts else (_OF_TABLES, _OF_TEXTS)
    for key, value in ((key, settings[key]) for settings in runs for key in others if key in settings):
        why = "[texts] declares texts" if config.of_texts else "there is no [texts] table"
        raise ConfigError(
            f"{config.file}: {key} = {clip(repr(value))} does not go here, since {why}; mine then takes "
            f"{', '.join((*mine, *_MINING))}"
        )


def _names(over: str | Sequence[str]) -> tuple[str, ...]:
    return (over,) if isinstance(over, str) else tuple(over)
