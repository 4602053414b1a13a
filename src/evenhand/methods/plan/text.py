"""The forecasts of an audit as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenhand.methods.plan import messages
from evenhand.methods.plan.table import parts_of, seconds_of
from evenhand.report.lines import Line, table_of
from evenhand.runtime import number_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenhand.results.protocol import Evidence

_HEADINGS = ("check", "how", "inputs", "at most", "time")
_RIGHT = (2, 3, 4, 5, 6)
_LONG = 10.0
"""From so many seconds on a time is told in minutes or hours too."""
_SHORT = 0.05
"""A shorter time would be told as none."""


def lines(found: Evidence, *, cases: int = 1, width: int | None = None) -> Iterator[Line]:
    """Yield a table of all checks, what they take by score, what they see, and the whole."""
    rows = [_row(found, check, part) for check, part in parts_of(found)]
    headings = (*_HEADINGS, *_shared(found, messages.SHARED_TIME), messages.MEMORY)
    for text in table_of(headings, rows, width, right=_RIGHT):
        yield Line(text, row=True)
    for check, part in parts_of(found):
        name = _name(check, part)
        yield from _by_score(name, part)
        yield from _seen(name, part, _plan(found)["power"])
    for note in found.notes:
        yield Line(f"note: {note}")
    yield Line(_total(found))
    yield Line(_asked(found))


def _plan(found: Evidence) -> dict[str, Any]:
    details: Any = getattr(found, "details", {})
    plan: dict[str, Any] = details["plan"]
    return plan


def _name(check: dict[str, Any], part: dict[str, Any]) -> str:
    """Return the check in a few words, with the set where it has several."""
    if part["about"] and len(check["parts"]) > 1:
        return f"{check['title']} {part['about']}"
    return str(check["name"])


def _row(found: Evidence, check: dict[str, Any], part: dict[str, Any]) -> tuple[str, ...]:
    """Return one question as a row of the table."""
    inputs = part["inputs"]
    most = part["most"]
    seconds = seconds_of(found, inputs)
    shared = part.get("shared_seconds")
    memory = part.get("memory")
    unknown = inputs is None and most is None
    return (
        _name(check, part),
        str(part["way"]),
        messages.UNKNOWN if inputs is None else number_text.count(inputs),
        _most_text(most, unknown=unknown),
        "" if seconds is None else _time(seconds),
        *_shared(found, "" if shared is None else _time(shared)),
        "" if memory is None else number_text.memory(memory),
    )


def _shared(found: Evidence, text: str) -> tuple[str, ...]:
    """Return what is said of several processes; nothing where there is one."""
    n_jobs = _plan(found).get("n_jobs", 1)
    return () if n_jobs == 1 else (text.format(n_jobs=n_jobs),)


def _most_text(most: int | None, *, unknown: bool) -> str:
    if unknown:
        return messages.UNKNOWN
    if most is None:
        return messages.UNBOUNDED
    return number_text.count(most)


def _time(seconds: float) -> str:
    """Return how long something takes, in seconds where it is short."""
    if seconds < _SHORT:
        return messages.NO_TIME
    if seconds < _LONG:
        return number_text.seconds(seconds)
    return number_text.duration(seconds)


def _by_score(name: str, part: dict[str, Any]) -> Iterator[Line]:
    """Yield what a question takes where the score is low, near the limit, or high."""
    if not part["scenarios"]:
        return
    inputs = []
    scores = []
    for scenario in part["scenarios"]:
        inputs.append(number_text.count(scenario["inputs"]))
        scores.append(number_text.percent_plain(scenario["score"]))
    yield Line(
        messages.BY_SCORE.format(
            about=name, inputs=" · ".join(inputs), scores=" · ".join(scores)
        )
    )


def _seen(name: str, part: dict[str, Any], power: float) -> Iterator[Line]:
    """Yield the smallest differences that can be seen."""
    for entry in part["detectable"]:
        about = f"{name}, {entry['about']}"
        yield Line(_seen_text(about, entry, number_text.percent_plain(power)))


def _seen_text(about: str, entry: dict[str, Any], power: str) -> str:
    """Return which difference of a group can be seen."""
    group = entry["group"]
    n = number_text.count(entry["n"])
    rows = number_text.count(entry["of"])
    base = number_text.percent(entry["base"])
    if entry["rate"] is None:
        return messages.NEVER_SEEN.format(
            about=about, group=group, n=n, rows=rows, base=base
        )
    rate = number_text.percent(entry["rate"])
    if entry["limit"] is None:
        return messages.SEEN.format(
            about=about, group=group, n=n, rows=rows, base=base, rate=rate, power=power
        )
    return messages.SEEN_AGAINST.format(
        about=about,
        group=group,
        n=n,
        rows=rows,
        base=base,
        rate=rate,
        power=power,
        limit=number_text.limit(entry["limit"]),
    )


def _total(found: Evidence) -> str:
    """Return what all checks take together, as far as that is foreseen."""
    inputs = 0
    whole = True
    for _, part in parts_of(found):
        whole &= part["inputs"] is not None
        inputs += part["inputs"] or 0
    shown = number_text.count(inputs)
    seconds = seconds_of(found, inputs)
    duration = _time(seconds or 0.0)
    n_jobs = _plan(found).get("n_jobs", 1)
    if n_jobs > 1:
        shared_seconds = sum(part["shared_seconds"] or 0.0 for _, part in parts_of(found))
        duration = messages.TOTAL_SHARED.format(
            time=duration, shared=_time(shared_seconds), n_jobs=n_jobs
        )
    if whole:
        return messages.TOTAL.format(inputs=shown, time=duration)
    return messages.TOTAL_OF_KNOWN.format(inputs=shown, time=duration)


def _asked(found: Evidence) -> str:
    """Return what the forecast itself asked, and how fast the software answered."""
    spent = found.spent
    if not spent.queries:
        return messages.NOTHING_ASKED
    asked = number_text.count(spent.queries)
    speed = spent.queries / spent.seconds
    rounded = float(f"{speed:.2g}")
    shown = number_text.plain(rounded)
    if rounded >= 1_000:
        shown = number_text.count(int(rounded))
    return messages.ASKED.format(asked=asked, speed=shown)
