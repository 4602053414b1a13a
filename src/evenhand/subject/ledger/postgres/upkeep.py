"""A ledger on a server looked at, compacted, or saved into a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.runtime.errors import LedgerError, UsageError
from evenhand.subject.ledger.checksum import FORMAT, Checksum
from evenhand.subject.ledger.claims import free_dead, has_died
from evenhand.subject.ledger.sqlite.upkeep import write
from evenhand.subject.ledger.upkeep import Inspection, Repaired, damage

if TYPE_CHECKING:
    from pathlib import Path

    from evenhand.subject.ledger.postgres.rows import PostgresRows


def inspected(name: str, rows: PostgresRows) -> Inspection:
    """Return what the tables of a ledger hold at one moment."""
    found = Inspection(name)
    with rows.connection.transaction():
        rows.connection.execute(
            "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"
        )
        head = rows.head()
        if head is None:
            raise LedgerError(
                f"the ledger '{name}' does not exist: the schema '{rows.schema}' has no tables"
            )
        _read_head(found, head)
        if found.verifies:
            _read_rows(found, rows)
        _count_claims(found, rows)
    return found


def _read_head(found: Inspection, head: dict[str, str]) -> None:
    space = head.get("space", "")
    subject = head.get("subject", "")
    written = head.get("format", "")
    found.format = int(written) if written.isdecimal() else None
    if Checksum(space, subject).head != head.get("checksum"):
        found.problems.append("its head does not match its checksum")
        return
    found.space = space
    found.subject = subject
    if found.format != FORMAT:
        found.problems.append(f"its format is {written}")


def _read_rows(found: Inspection, rows: PostgresRows) -> None:
    checksum = Checksum(str(found.space), str(found.subject))
    for key, value, written in rows.all_answers():
        if checksum.fits(key, value, written):
            found.rows[key] = value
        else:
            found.damaged += 1


def _count_claims(found: Inspection, rows: PostgresRows) -> None:
    living = set()
    for claimant, *process, _ in rows.claimants():
        if not has_died(*process):
            living.add(claimant)
    for claimant, count in rows.claims():
        if claimant in living:
            found.claims += count
        else:
            found.dead_claims += count


def compacted(name: str, rows: PostgresRows) -> tuple[int, int]:
    """Drop dead claims and unused space of a sound ledger; return its bytes before and after."""
    found = inspected(name, rows)
    if not found.sound:
        raise damage(found)
    before = rows.size()
    with rows.transaction():
        free_dead(rows)
    rows.vacuum()
    return before, rows.size()


def repaired(found: Inspection, output: Path | None, *, adopt: bool) -> Repaired:
    """Write the rows that are sound into a new file; the tables are left as they are."""
    if adopt:
        raise UsageError("--adopt is for a file of format 1, which no server has")
    if output is None and found.sound:
        return Repaired(found, found.path, None)
    if output is None:
        raise UsageError(
            f"the ledger '{found.path}' is on a server and is left as it is: name a file for the"
            " rows that are sound with --output, and copy it to a new schema"
        )
    if not found.verifies:
        raise LedgerError(
            f"'{found.path}' has no head of a ledger, so that no row can be verified: restore a"
            " backup of the database"
        )
    if output.exists():
        raise UsageError(f"--output {output}: this file exists; name a new one")
    write(found, output)
    return Repaired(found, output, None)
