"""A PostgreSQL server of a test, in a folder of its own, on a socket that only this machine has."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

_PLACES = ("/usr/lib/postgresql/*/bin", "/usr/local/pgsql/bin", "/opt/homebrew/bin")
_QUICK = ("-c", "fsync=off", "-c", "shared_buffers=8MB", "-c", "max_connections=40")
_PASSWORD = "open sesame"


class Server:
    """A server that can be stopped and started again; `address` is of its database."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.user = "tester"
        self.password = _PASSWORD
        self._binaries = _binaries()
        self._process: subprocess.Popen[bytes] | None = None
        secret = folder / "password"
        secret.write_text(_PASSWORD)
        secret.chmod(0o644)
        self._run(
            "initdb",
            "-D",
            self.data,
            "-U",
            self.user,
            "--auth=scram-sha-256",
            f"--pwfile={secret}",
            "--encoding=UTF8",
            "--no-sync",
        )

    @property
    def data(self) -> Path:
        return self.folder / "data"

    def address(self, schema: str = "", *, password: bool = True) -> str:
        """Return the address of a ledger."""
        secret = ":open%20sesame" if password else ""
        chosen = f"&schema={schema}" if schema else ""
        return f"postgresql://{self.user}{secret}@/postgres?host={self.folder}{chosen}"

    def start(self) -> None:
        """Start, and wait until it takes connections."""
        where = ("-D", self.data, "-k", self.folder, "-c", "listen_addresses=")
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                self._command("postgres", *where, *_QUICK),
                stdout=subprocess.DEVNULL,
                stderr=log,
                start_new_session=True,
            )
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError):
                lines = (self.data / "postmaster.pid").read_text().splitlines()
                if lines[7:] and lines[7].strip() == "ready":
                    return
            time.sleep(0.02)
        raise TimeoutError((self.folder / "log").read_text())

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """Stop at once: SIGINT ends all connections, SIGQUIT is as if it had crashed."""
        if self._process is None:
            return
        number = int((self.data / "postmaster.pid").read_text().split()[0])
        os.kill(number, how)
        self._process.wait(60)
        self._process = None

    def _run(self, program: str, *arguments: object) -> None:
        command = self._command(program, *arguments)
        subprocess.run(command, check=True, capture_output=True, timeout=120)

    def _command(self, program: str, *arguments: object) -> list[str]:
        words = [os.fspath(self._binaries / program), *map(str, arguments)]
        if os.geteuid() != 0:
            return words
        # PostgreSQL does not run as root.
        return ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *words]


def _binaries() -> Path:
    """Return the folder of the programs, or skip the test with the reason."""
    found = shutil.which("initdb")
    if found and shutil.which("postgres"):
        return Path(found).parent
    for place in _PLACES:
        for folder in sorted(Path("/").glob(place.removeprefix("/")), reverse=True):
            if (folder / "initdb").exists() and (folder / "postgres").exists():
                return folder
    pytest.skip("needs the programs of PostgreSQL: initdb and postgres")


@contextlib.contextmanager
def running() -> Iterator[Server]:
    """Run a server for as long as a test needs it."""
    pytest.importorskip("psycopg", reason="needs the extra postgres")
    if os.geteuid() == 0 and shutil.which("setpriv") is None:
        pytest.skip("PostgreSQL does not run as root, and there is no setpriv")
    _binaries()
    # Not tmp_path: its name is too long for a socket, and it is kept for its owner alone.
    with tempfile.TemporaryDirectory(prefix="pg-", dir="/tmp") as name:
        folder = Path(name)
        if os.geteuid() == 0:
            os.chown(folder, 65534, 65534)
        folder.chmod(0o755)
        server = Server(folder)
        server.start()
        try:
            yield server
        finally:
            server.stop()
