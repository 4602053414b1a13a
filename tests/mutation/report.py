"""What became of mutants, as JSON and as tables of the documentation."""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evenhand.statistics.intervals import clopper_pearson
from tests.mutation.run import KILLED, SKIPPED, TIMEOUT, UNREACHED
from tests.support.generated import table, written_between
from tests.support.paths import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from tests.mutation.run import Fate

PAGE = ROOT / "docs" / "explanation" / "mutation.md"
REASONS = ROOT / "tests" / "mutation" / "reasons.toml"

EQUIVALENT = "equivalent"
"""A mutant with the same numbers, verdicts and errors: no test can tell it apart."""
BESIDE = ("speed", "wording", "not applied")
"""Classes of mutants that change no number, verdict or kind of error either: the same is found by
more or less work, a sentence has other words, or the change had no effect where it was made."""


@dataclass(frozen=True)
class PartTally:
    """How many mutants of a part there are, and what became of those that were drawn."""

    part: str
    possible: int
    drawn: int
    killed: int
    timeout: int
    equivalent: int
    beside: int
    survived: int

    @property
    def judged(self) -> int:
        """The mutants that change a number, a verdict or an error."""
        return self.killed + self.timeout + self.survived

    @property
    def rate(self) -> str:
        """The share that was killed, with its exact interval."""
        hits = self.killed + self.timeout
        low, high = clopper_pearson(hits, self.judged, 0.95)
        share = hits / max(self.judged, 1)
        return f"{share:.1%} ({low:.1%} to {high:.1%})"


def records(fates: Iterable[Fate]) -> list[dict[str, Any]]:
    """Return fates as JSON holds them."""
    found = []
    for fate in fates:
        mutant = fate.mutant
        found.append(
            {
                "key": mutant.key,
                "part": mutant.part,
                "line": mutant.lines.start,
                "kind": mutant.kind,
                "outcome": fate.outcome,
                "test": fate.test,
                "tests": fate.tests,
                "seconds": round(fate.seconds, 2),
            }
        )
    return found


def reasons() -> dict[str, tuple[str, str]]:
    """Return why known survivors survive, by their keys: the class, and the reason."""
    listed = tomllib.loads(REASONS.read_text(encoding="utf-8")).get("mutant", [])
    found = {}
    for entry in listed:
        for key in entry["keys"]:
            found[key] = (entry["class"], entry["reason"])
    return found


def tallies(document: dict[str, Any]) -> list[PartTally]:
    """Return the tally of each part, and that of all."""
    known = reasons()
    found = []
    for part, possible in document["possible"].items():
        rows = [row for row in document["mutants"] if row["part"] == part]
        found.append(_tally(part, possible, rows, known))
    total = sum(document["possible"].values())
    found.append(_tally("all", total, document["mutants"], known))
    return found


def _tally(
    part: str,
    possible: int,
    rows: Sequence[dict[str, Any]],
    known: dict[str, tuple[str, str]],
) -> PartTally:
    outcomes: Counter[str] = Counter()
    for row in rows:
        outcome = row["outcome"]
        survives = outcome not in (KILLED, TIMEOUT, SKIPPED)
        kind, _ = known.get(row["key"], ("", ""))
        if survives and kind in (EQUIVALENT, *BESIDE):
            outcome = kind
        outcomes[outcome] += 1
    beside = sum(outcomes[name] for name in BESIDE)
    settled = (KILLED, TIMEOUT, SKIPPED, EQUIVALENT)
    survived = len(rows) - beside - sum(outcomes[name] for name in settled)
    return PartTally(
        part,
        possible,
        len(rows),
        outcomes[KILLED],
        outcomes[TIMEOUT],
        outcomes[EQUIVALENT],
        beside,
        survived,
    )


def survivors(document: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the mutants that no test noticed."""
    gone = (KILLED, TIMEOUT, SKIPPED)
    return [row for row in document["mutants"] if row["outcome"] not in gone]


def summary(document: dict[str, Any]) -> str:
    """Return the table of parts, in Markdown."""
    rows = []
    for tally in tallies(document):
        rows.append(
            [
                tally.part,
                f"{tally.possible:,}",
                f"{tally.drawn:,}",
                f"{tally.killed:,}",
                f"{tally.timeout:,}",
                f"{tally.equivalent:,}",
                f"{tally.beside:,}",
                f"{tally.survived:,}",
                tally.rate,
            ]
        )
    heads = [
        "part",
        "possible",
        "drawn",
        "killed",
        "ran too long",
        "equivalent",
        "speed or words",
        "survived",
        "killed of the others (95 % interval)",
    ]
    return table(heads, rows)


def survivor_table(document: dict[str, Any]) -> str:
    """Return the table of survivors with their reasons, in Markdown."""
    known = reasons()
    rows = []
    for row in survivors(document):
        place, _, change = row["key"].partition(": ")
        unexplained = "no test runs it" if row["outcome"] == UNREACHED else "no test yet"
        kind, reason = known.get(row["key"], ("survived", unexplained))
        rows.append([f"`{place.strip()}`", f"`{_cell(change)}`", kind, reason])
    rows.sort(key=lambda cells: (cells[2], cells[0], cells[1]))
    return table(["where", "change", "class", "why"], rows)


def _cell(text: str) -> str:
    """Return code as the cell of a table holds it."""
    return text.replace("|", "\\|")


def write(document: dict[str, Any], file: Path, *, docs: bool) -> None:
    """Write the document, and the tables of the documentation."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    if docs:
        note = f"{document['date']}, `{document['command']}`."
        text = f"{note}\n\n{summary(document)}\n\n{survivor_table(document)}"
        written_between(PAGE, "mutants", text)
