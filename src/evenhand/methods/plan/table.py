"""The forecasts of an audit as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenhand.results.protocol import Evidence

COLUMNS = ("check", "job", "about", "how", "inputs", "most", "seconds")


def parts_of(found: Evidence) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield every question of every check, with its check."""
    details: Any = getattr(found, "details", {})
    for check in details["plan"]["checks"]:
        for part in check["parts"]:
            yield check, part


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
            "seconds": part["seconds"],
        }
        rows.append(row)
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    return table.astype({"inputs": "Int64", "most": "Int64", "seconds": "float64"})
