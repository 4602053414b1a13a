"""How long does it take to build the page of an audit, and how large is it?

`python benchmarks/report.py [--audits demo,adult,…] [--rounds N] [--json FILE]` makes five real
audits, and builds the page of each from its evidence, as its file holds it. The first page of a
process also imports what pages are made of: that is measured in processes of their own.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import evenhand as eh
import report_audits

FIRST = """
import sys, time
began = time.perf_counter()
import evenhand as eh
imported = time.perf_counter()
audit = eh.Audit.from_json(sys.argv[1])
read = time.perf_counter()
audit.to_html()
done = time.perf_counter()
drawing = [name for name in sys.modules if name.partition(".")[0] in ("matplotlib", "PIL")]
print(imported - began, read - imported, done - read, len(drawing))
"""


def first_page(file: Path) -> dict[str, float]:
    """Return the seconds of the first page of a process, and the drawing modules it loads."""
    command = [sys.executable, "-c", FIRST, str(file)]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    imported, read, built, drawing = map(float, ran.stdout.split())
    return {"import": imported, "read": read, "first": built, "drawing_modules": drawing}


def built(audit: eh.Audit, rounds: int) -> dict[str, float]:
    """Return the seconds of a page once everything is imported, and its size."""
    page = audit.to_html()
    seconds = []
    for _ in range(rounds):
        began = time.perf_counter()
        audit.to_html()
        seconds.append(time.perf_counter() - began)
    return {"again": statistics.median(seconds), "bytes": len(page.encode())}


def measured(name: str, rounds: int) -> dict[str, Any]:
    """Return what the page of an audit takes."""
    with tempfile.TemporaryDirectory() as folder:
        audit = report_audits.AUDITS[name](Path(folder))
        file = Path(folder) / "audit.json"
        audit.to_json(file)
        read_again = eh.Audit.from_json(file)
        return first_page(file) | built(read_again, rounds)


def main() -> None:
    """Print the table, and write it as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--audits", default=",".join(report_audits.AUDITS))
    parser.add_argument("--rounds", type=int, default=5)
    default = Path(__file__).parent / "results" / "report.json"
    parser.add_argument("--json", type=Path, default=default)
    options = parser.parse_args()
    table = {}
    print(f"{'audit':<12} {'import':>8} {'first':>8} {'again':>8} {'size':>10}")
    for name in options.audits.split(","):
        try:
            found = measured(name, options.rounds)
        except (report_audits.MissingDataError, ImportError) as error:
            print(f"{name:<12} left out: {error}")
            continue
        table[name] = found
        print(
            f"{name:<12} {found['import']:>6.2f} s {found['first']:>6.2f} s"
            f" {found['again']:>6.2f} s {found['bytes'] / 1e6:>7.2f} MB"
        )
    options.json.parent.mkdir(exist_ok=True)
    options.json.write_text(json.dumps(table, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
