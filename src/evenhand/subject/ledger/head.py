"""What a ledger says of itself: its format, space and subject, under a checksum."""

from __future__ import annotations

from evenhand.subject.ledger.checksum import FORMAT, Checksum


def sealed_head(space: str, subject: str) -> dict[str, str]:
    """Return what is needed to verify the rows of a ledger.

    >>> list(sealed_head("s", "m"))
    ['format', 'space', 'subject', 'checksum']
    """
    return {
        "format": str(FORMAT),
        "space": space,
        "subject": subject,
        "checksum": Checksum(space, subject).head,
    }


def head_of(space: str, subject: str) -> dict[str, str]:
    """Return the whole head of a new ledger."""
    return {**sealed_head(space, subject), "openings": "0", "evenhand": _version()}


def _version() -> str:
    from importlib import metadata

    try:
        return metadata.version("evenhand")
    except metadata.PackageNotFoundError:
        return "unknown"
