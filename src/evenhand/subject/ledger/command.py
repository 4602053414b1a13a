"""evenhand ledger: check, repair, compact or copy a ledger."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from evenhand.runtime import number_text
from evenhand.runtime.errors import UsageError, clip
from evenhand.subject.ledger.copying import copied
from evenhand.subject.ledger.store import LedgerStore, store_at
from evenhand.subject.ledger.upkeep import damage

if TYPE_CHECKING:
    from argparse import Namespace

    from evenhand.subject.ledger.upkeep import Inspection


def run(options: Namespace) -> int:
    """Do what was asked with a file; one that is damaged is an error, of exit code 2."""
    if options.action != "repair" and (options.output is not None or options.adopt):
        flag = "--output" if options.output is not None else "--adopt"
        raise UsageError(f"{flag} is for evenhand ledger repair alone")
    if (options.to is not None) != (options.action == "copy"):
        raise UsageError(
            "evenhand ledger copy needs two ledgers, FROM and TO; all else needs one"
        )
    store = store_at(options.file)
    if options.action == "copy":
        return _copy(store, options.to)
    if options.action == "check":
        return _check(store)
    if options.action == "repair":
        output = None if options.output is None else Path(options.output)
        return _repair(store, output, adopt=options.adopt)
    before, after = store.compacted()
    print(
        f"'{store.name}' has {number_text.count(after)} bytes now, of"
        f" {number_text.count(before)} before"
    )
    return 0


def _check(store: LedgerStore) -> int:
    found = store.inspected()
    print(table(found))
    if not found.sound:
        raise damage(found)
    return 0


def table(found: Inspection) -> str:
    """Return what a look at a ledger found, one fact a line."""
    first_answers = len(found.rows) - found.again
    facts = {
        "format": "unknown" if found.format is None else str(found.format),
        "space": clip(found.space or "unknown", 60),
        "subject": clip(found.subject or "unknown", 60),
        "first answers": number_text.count(first_answers),
        "further answers": number_text.count(found.again),
        "damaged rows": number_text.count(found.damaged),
        "open claims": number_text.count(found.claims),
        "dead claims": number_text.count(found.dead_claims),
    }
    lines = [f"{name:16} {value}" for name, value in facts.items()]
    for problem in found.problems:
        lines.append(f"{'problem':16} {clip(problem)}")
    return "\n".join(lines)


def _copy(store: LedgerStore, to: str) -> int:
    done = copied(store, to)
    had = number_text.many(done.there, "answer")
    new = number_text.many(done.added, "answer")
    print(f"'{done.place}' took {new} of '{store.name}'; it had {had} before")
    return 0


def _repair(store: LedgerStore, output: Path | None, *, adopt: bool) -> int:
    done = store.repaired(output, adopt=adopt)
    if done.found.sound and output is None:
        print(f"'{store.name}' is sound; nothing was changed")
        return 0
    kept = number_text.many(len(done.found.rows), "row")
    print(f"'{done.path}' keeps {kept}, each of which matches its checksum")
    dropped = number_text.many(done.found.damaged, "row")
    print(
        f"dropped: {dropped} that could be read but did not match; a run asks for them again"
    )
    if done.kept is not None:
        print(f"'{done.kept}' is the file as it was")
    return 0
