"""The forecasts of an audit as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenhand.results.protocol import Evidence

COLUMNS = (
    "check",
    "job",
    "about",
    "how",
    "inputs",
    "most",
    "seconds",
    "shared_seconds",
    "memory",
)


def parts_of(found: Evidence) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield every question of every check, with its check."""
    details: Any = getattr(found, "details", {})
    for check in details["plan"]["checks"]:
        for part in check["parts"]:
            yield check, part


def seconds_of(found: Evidence, inputs: int | None) -> float | None:
    """Return how long so many inputs take at the measured speed."""
    if inputs is None or not found.spent.queries:
        return None
    return inputs * found.spent.seconds / found.spent.queries


def frame(found: Evidence) -> Any:
    """Return one row for each question of each check as a pandas frame."""
    import pandas as pd

    rows = []
    for check, part in parts_of(found):
        row = {
            "check": check["name"],
            "job": check["job"],
            "about": part["about"],
            "how": str(part["way"]),
            "inputs": part["inputs"],
            "most": part["most"],
            "seconds": seconds_of(found, part["inputs"]),
            "shared_seconds": part.get("shared_seconds"),
            "memory": part.get("memory"),
        }
        rows.append(row)
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    whole = dict.fromkeys(("inputs", "most", "memory"), "Int64")
    return table.astype(whole | dict.fromkeys(("seconds", "shared_seconds"), "float64"))
