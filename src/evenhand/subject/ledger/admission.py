"""Which ledger a run may use: a new one, or that of its own subject and space."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenhand.runtime.errors import LedgerError, clip
from evenhand.subject.ledger.checksum import FORMAT, Checksum

if TYPE_CHECKING:
    from evenhand.subject.ledger.store import LedgerRows, LedgerStore


@dataclass(frozen=True, slots=True)
class Admission:
    """The space and the subject that the ledger of a run must have."""

    space: str
    subject: str

    def check(self, store: LedgerStore, rows: LedgerRows) -> None:
        """Write the head of a new ledger, and check that of one that is there."""
        head = rows.head()
        if head is None:
            rows.create(self.space, self.subject)
        else:
            self._compare(store, head)
        # A write that changes something: a full disk must show before the first test is executed,
        # not after.
        rows.count_opening()

    def _compare(self, store: LedgerStore, head: dict[str, str]) -> None:
        """Refuse the ledger of another program, of another format, or of other software."""
        written = head.get("format", "")
        if not written.isdecimal() or "space" not in head or "subject" not in head:
            raise store.damaged("its head") if "checksum" in head else store.foreign()
        if int(written) > FORMAT:
            raise LedgerError(
                f"the ledger '{store.name}' has format {written} of evenhand"
                f" {head.get('evenhand')}, and this evenhand reads format {FORMAT}: upgrade"
                f" evenhand or {store.elsewhere}"
            )
        if int(written) < FORMAT and "checksum" not in head:
            raise LedgerError(
                f"the ledger '{store.name}' has format {written}, whose rows have no checksums: run"
                f" '{store.repairing} --adopt' to trust them as they are, or {store.elsewhere}"
            )
        sealed = Checksum(head["space"], head["subject"]).head
        if int(written) != FORMAT or head.get("checksum") != sealed:
            raise store.damaged("what it says of its space and subject does not match")
        self._refuse_other(store, head)

    def _refuse_other(self, store: LedgerStore, head: dict[str, str]) -> None:
        differences = []
        for name, own in {"space": self.space, "subject": self.subject}.items():
            if head[name] != own:
                differences.append(f"{name} ({clip(head[name], 40)}, not {clip(own, 40)})")
        if differences:
            others = " and another ".join(differences)
            raise LedgerError(
                f"the ledger '{store.name}' belongs to another {others}: {store.elsewhere}, or"
                " delete this one to start over"
            )
