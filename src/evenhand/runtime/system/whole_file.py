"""Files that are written whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
import stat
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from os import PathLike

SYSTEM_FOLDERS = ("/dev/", "/proc/")
"""Where names stand for devices and open files, which are written to and never replaced."""
_NO_NEIGHBOUR = (errno.EACCES, errno.EPERM, errno.EROFS)
"""Why no file can be made beside another one that may be written."""
_NOT_REPLACED = (errno.EBUSY, errno.EXDEV)
"""Why a file cannot be replaced that may be written, such as one that is mounted by itself."""


def write_whole(path: str | PathLike[str], content: bytes) -> None:
    """Write a file whole or not at all; an OSError or a ValueError leaves what was there.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_whole(f"{folder}/note.txt", b"kept")
    ...     Path(folder, "note.txt").read_bytes()
    b'kept'
    """
    with whole_file(path) as part:
        part.write_bytes(content)


@contextmanager
def whole_file(path: str | PathLike[str]) -> Iterator[Path]:
    """Give a file to write, which takes the place of the wanted one when it is complete.

    A symbolic link stays, and what it points to is replaced; permissions stay as they are. A pipe
    or a device cannot be replaced, and is given itself.
    """
    wanted = Path(path)
    if _is_written_to(wanted):
        yield wanted
        return
    target = Path(os.path.realpath(wanted))
    if target.exists():
        # A file that may only be read would be replaced all the same.
        target.open("r+b").close()
    try:
        part = _part_beside(target)
    except OSError as error:
        if error.errno not in _NO_NEIGHBOUR or not target.exists():
            raise
        yield target
        return
    try:
        yield part
        _complete(part, target)
    finally:
        part.unlink(missing_ok=True)


def _is_written_to(file: Path) -> bool:
    """Return whether a name stands for something that is written to as it is."""
    if os.path.abspath(file).startswith(SYSTEM_FOLDERS):  # noqa: PTH100
        return True
    try:
        status = file.stat()
    except FileNotFoundError:
        return False
    if not stat.S_ISREG(status.st_mode):
        return True
    return any(_is_open_as(status, descriptor) for descriptor in (1, 2))


def _is_open_as(status: os.stat_result, descriptor: int) -> bool:
    """Return whether a file is our output or error stream, which would go on in the old file."""
    try:
        return os.path.samestat(status, os.fstat(descriptor))
    except OSError:
        return False


def _part_beside(target: Path) -> Path:
    """Make an empty file beside another one, with its permissions."""
    part = target.with_name(f".evenhand-{os.getpid()}-{secrets.token_hex(4)}.part")
    os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    with contextlib.suppress(OSError):
        before = target.stat()
        os.chown(part, before.st_uid, before.st_gid)
        part.chmod(stat.S_IMODE(before.st_mode))
    return part


def _complete(part: Path, target: Path) -> None:
    """Put a file in the place of another once all of it is on the disk."""
    _settle(part)
    try:
        part.replace(target)
    except OSError as error:
        if error.errno not in _NOT_REPLACED:
            raise
        shutil.copyfile(part, target)
    with contextlib.suppress(OSError):
        _settle(target.parent)


def _settle(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
