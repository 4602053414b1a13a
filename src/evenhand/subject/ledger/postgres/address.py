"""The address of a ledger on a server: what is connected to, and what is shown."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

from evenhand.runtime.errors import UsageError, clip
from evenhand.subject.ledger.address import secrets_of, without_password

SCHEMA = "evenhand"
"""The schema of a ledger whose address names none."""
_NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_LINK = {
    "application_name": "evenhand",
    "connect_timeout": "10",
    "keepalives_idle": "30",
    "tcp_user_timeout": "30000",
}
"""Settings of a connection where an address gives none: one that is cut is noticed."""


@dataclass(frozen=True)
class DatabaseAddress:
    """Where a ledger is: a database, and the schema that holds its tables.

    >>> address = DatabaseAddress.of("postgresql://me:secret@host/loans?schema=credit")
    >>> address.shown, address.schema
    ('postgresql://me@host/loans?schema=credit', 'credit')
    >>> "secret" in repr(address)
    False
    """

    link: str = field(repr=False)
    """What the library connects to, with a password if there is one."""
    shown: str
    schema: str
    _secrets: tuple[str, ...] = field(repr=False)

    @classmethod
    def of(cls, place: str) -> DatabaseAddress:
        """Return an address, or say what is wrong with it."""
        shown = without_password(place)
        # What follows a first '@' would be taken for a host, and shown.
        if place.partition("://")[2].partition("/")[0].count("@") > 1:
            raise UsageError(
                f"the ledger '{shown}' has a password that holds '@': write %40 for each"
            )
        parts = urlsplit(place)
        settings = dict(parse_qsl(parts.query, keep_blank_values=True))
        schema = settings.pop("schema", SCHEMA)
        if not _NAME.fullmatch(schema) or schema.startswith("pg_"):
            raise UsageError(
                f"the ledger '{shown}' has schema={clip(schema, 40)!r}; a schema is lower-case"
                f" letters, digits and '_', such as {SCHEMA}"
            )
        query = urlencode(_LINK | settings, quote_via=quote)
        link = urlunsplit(("postgresql", parts.netloc, parts.path, query, ""))
        return cls(link, shown, schema, tuple(secrets_of(place)))

    def cleaned(self, text: object) -> str:
        """Return what a library says on one line, without the password.

        >>> DatabaseAddress.of("postgresql://me:secret@host/a").cleaned("no secret at all")
        'no … at all'
        """
        message = str(text)
        for secret in self._secrets:
            message = message.replace(secret, "…")
        return clip(message, 240)
