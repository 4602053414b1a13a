"""The share of lines and branches of the kernel that the tests run, as a table of the docs.

python -m tests.mutation.line_coverage REPORT.json

reads what `coverage json` wrote, as `make coverage` does.
"""

from __future__ import annotations

import json
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from tests.mutation.report import PAGE
from tests.support.generated import dated, table, written_between

COUNTED = ("num_statements", "covered_lines", "num_branches", "covered_branches")


def by_package(report: dict[str, Any]) -> dict[str, Counter[str]]:
    """Return the counts of each package of the kernel, and of all together.

    >>> file = {"num_statements": 4, "covered_lines": 3, "num_branches": 2, "covered_branches": 2}
    >>> report = {"files": {"src/evenhand/space/rule.py": {"summary": file}}}
    >>> by_package(report)["all"]["covered_lines"]
    3
    """
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for name, entry in sorted(report["files"].items()):
        _, _, inside = name.partition("evenhand/")
        package, _, _ = inside.partition("/")
        counts = {key: entry["summary"][key] for key in COUNTED}
        found[package].update(counts)
        found["all"].update(counts)
    # The sum comes last.
    found["all"] = found.pop("all")
    return found


def row(package: str, counts: Counter[str]) -> list[str]:
    """Return the line of a package."""
    covered = counts["covered_lines"] + counts["covered_branches"]
    every = counts["num_statements"] + counts["num_branches"]
    return [
        package,
        f"{counts['num_statements']:,}",
        f"{counts['num_branches']:,}",
        f"{100 * covered / max(every, 1):.1f} %",
    ]


def main() -> None:
    """Write the table."""
    report = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    rows = [row(package, counts) for package, counts in by_package(report).items()]
    heads = ["package", "lines", "branches", "of both that the tests run"]
    written_between(PAGE, "lines", f"{dated('make coverage')}\n\n{table(heads, rows)}")


if __name__ == "__main__":
    main()
