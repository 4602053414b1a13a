"""The address of a log, and what of it may be shown."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from evenhand.runtime.errors import UsageError, clip, nearest
from evenhand.runtime.table_file import SUFFIXES

FILES = "files"
REMOTE = "remote"
DUCKDB = "duckdb"
DATABASE = "database"

FORMS = {
    ".parquet": "parquet",
    ".csv": "csv",
    ".csv.gz": "csv",
    ".jsonl": "json",
    ".ndjson": "json",
    ".feather": "feather",
    ".arrow": "feather",
}
"""The forms of files with rows, by suffix."""
DUCKDB_SUFFIXES = (".duckdb", ".ddb")
LOG_SUFFIXES = (*SUFFIXES, *FORMS, *DUCKDB_SUFFIXES)
NETWORK = ("s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "http", "https", "hf")
"""The schemes of files that engines read over a network."""
DATABASES = ("sqlite", "postgresql", "postgres", "snowflake", "bigquery", "flightsql")
"""The schemes of databases that answer queries."""
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9.-]*)(?:\+([A-Za-z0-9_]+))?://")
_WILD = re.compile(r"[*?\[]")
HIDDEN = "***"


@dataclass(frozen=True, slots=True)
class LogAddress:
    """Where a log lies: its kind, and the text that a driver takes, which may hold a password."""

    text: str
    kind: str
    scheme: str = ""
    driver: str = ""
    """The kind of driver that an address asks for, as in sqlite+adbc."""

    @classmethod
    def of(cls, text: str, folder: Path | None = None) -> LogAddress:
        """Return what an address says; local ones are seen from a folder.

        >>> LogAddress.of("logs/*.parquet").kind, LogAddress.of("sqlite:///x.db").kind
        ('files', 'database')
        """
        found = _SCHEME.match(text)
        if found is None:
            file = str(Path(text) if folder is None else folder / text)
            is_duckdb = file.lower().endswith(DUCKDB_SUFFIXES)
            return cls(file, DUCKDB if is_duckdb else FILES)
        scheme, driver = found[1].lower(), found[2] or ""
        rest = text[found.end() :]
        if scheme in NETWORK:
            return cls(text, REMOTE, scheme)
        if scheme == "duckdb":
            return cls(_local(rest, folder), DUCKDB, scheme)
        if scheme == "sqlite":
            return cls(f"sqlite:///{_local(rest, folder)}", DATABASE, scheme, driver)
        if scheme == "file":
            return cls.of(_local(rest, folder))
        if scheme in DATABASES:
            return cls(f"{scheme}://{rest}", DATABASE, scheme, driver)
        known = ("duckdb", *DATABASES, *NETWORK)
        raise UsageError(
            f"'{without_secrets(text)}' begins with {clip(repr(found[0]))}, which is not known;"
            f" {nearest(scheme, known)}"
        )

    @property
    def shown(self) -> str:
        """The address without user names, passwords and signatures."""
        return without_secrets(self.text)

    @property
    def path(self) -> Path:
        """The file of a local database."""
        return Path(self.text.removeprefix("sqlite:///"))

    def scrubbed(self, text: str) -> str:
        """Return a text from an engine or a driver in which nothing secret of the address is left.

        >>> address = LogAddress.of("postgresql://ann:s3cret@host/credit")
        >>> address.scrubbed("no password s3cret for postgresql://ann:s3cret@host/credit")
        'no password *** for postgresql://host/credit'
        """
        if not self.scheme:
            return text
        text = text.replace(self.text, self.shown)
        for secret in _secrets(self.text):
            text = text.replace(secret, HIDDEN)
        return text


def _local(rest: str, folder: Path | None) -> str:
    """Return the path of ``sqlite:///x.db``; four slashes begin one from the root."""
    path = Path(rest.partition("?")[0].removeprefix("/"))
    return str(path if folder is None else folder / path)


def without_secrets(address: str) -> str:
    """Return an address without what gives access to it: user, password, signed parameters.

    >>> without_secrets("postgresql://ann:s3cret@host:5432/credit?sslpassword=x")
    'postgresql://host:5432/credit'
    >>> without_secrets("logs/2026-*.parquet")
    'logs/2026-*.parquet'
    """
    if _SCHEME.match(address) is None:
        return address
    scheme, _, rest = address.partition("://")
    place, slash, path = rest.partition("/")
    # A password may hold a slash or a question mark, and the last @ ends it.
    if "@" in rest:
        place, slash, path = rest.rpartition("@")[2].partition("/")
    shown = f"{scheme}://{place}{slash}{path}"
    if scheme == "sqlite":
        return shown
    # In the name of a file a question mark stands for one letter.
    wild = scheme not in ("http", "https") and "=" not in path.partition("?")[2]
    return shown if wild else shown.partition("?")[0]


def _secrets(address: str) -> list[str]:
    """Return the parts of an address that must not be shown, the longest first."""
    _, _, rest = address.partition("://")
    found = []
    if "@" in rest:
        user, _, password = rest.rpartition("@")[0].partition(":")
        found += [f"{user}:{password}", password]
    query = urlsplit(address).query
    found.append(query)
    for pair in query.split("&"):
        found.append(pair.partition("=")[2])
    return sorted({part for part in found if len(part) > 1}, key=len, reverse=True)


def is_wild(text: str) -> bool:
    """Return whether a path is a pattern of names.

    >>> is_wild("logs/2026-*.parquet"), is_wild("logs")
    (True, False)
    """
    return _WILD.search(text) is not None


def is_address(text: str) -> bool:
    """Return whether a text names a log: by its suffix, a pattern, a folder, or an address.

    >>> is_address("decisions.csv"), is_address("s3://bucket/logs/"), is_address("evenhand.toml")
    (True, True, False)
    """
    if _SCHEME.match(text) is not None or text.lower().endswith(LOG_SUFFIXES):
        return True
    folder = Path(text)
    try:
        if folder.is_dir():
            return any(folder.rglob("*.parquet"))
    except (OSError, ValueError):
        return False
    return is_wild(text) and not folder.exists() and form_of(text) != ""


def form_of(name: str) -> str:
    """Return the form of a file of rows by its suffix, an empty text where it has none.

    >>> form_of("x.csv.gz"), form_of("https://host/x.parquet?version=2"), form_of("x.toml")
    ('csv', 'parquet', '')
    """
    path = urlsplit(name).path if _SCHEME.match(name) else name
    for suffix, form in FORMS.items():
        if path.lower().endswith(suffix):
            return form
    return ""
