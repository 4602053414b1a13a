"""Addresses of databases where a file could stand, and how they are shown without a password."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from os import PathLike

_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*)://", re.IGNORECASE)
_SECRETS = re.compile(r"([?&])(password|sslpassword)=[^&#]*", re.IGNORECASE)


def scheme_of(place: str | PathLike[str]) -> str:
    """Return how an address begins, nothing where a place is a path.

    >>> scheme_of("postgresql://host/loans"), scheme_of("loan.ledger")
    ('postgresql', '')
    """
    found = _SCHEME.match(place) if isinstance(place, str) else None
    return found[1].lower() if found else ""


def without_password(place: str) -> str:
    """Return a place as it may be shown; a path is shown as it is.

    >>> without_password("postgresql://me:secret@host/loans?password=also&schema=a")
    'postgresql://me@host/loans?schema=a'
    """
    if not scheme_of(place):
        return place
    scheme, _, rest = place.partition("://")
    # A password may hold any letter, unescaped ones too: all up to the last '@' may be part of it.
    ahead, at, behind = rest.rpartition("@")
    user = ahead.partition(":")[0]
    shown = _SECRETS.sub(r"\1", f"{scheme}://{user}{at}{behind}")
    return shown.replace("?&", "?").replace("&&", "&").rstrip("?&")


def has_password(place: object) -> bool:
    """Return whether a place is an address that holds a password.

    >>> has_password("postgresql://me:secret@host/loans"), has_password("postgresql://host/loans")
    (True, False)
    """
    if not isinstance(place, str) or not scheme_of(place):
        return False
    return without_password(place) != place


def secrets_of(place: str) -> list[str]:
    """Return the passwords in an address, as they are written.

    >>> secrets_of("postgresql://me:secret@host/loans?password=also")
    ['secret', 'also']
    """
    ahead = place.partition("://")[2].rpartition("@")[0]
    found = [ahead.partition(":")[2]]
    found += [match[0].partition("=")[2] for match in _SECRETS.finditer(place)]
    return [secret for secret in found if secret]
