"""What commands share: printing and writing evidence, and the options that were given."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.report.terminal import render
from evenhand.runtime import interruption, json_file
from evenhand.runtime.errors import (
    INTERRUPTED,
    EvenhandError,
    UsageError,
    one_line,
    reason_of,
)

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Iterable

    from evenhand.formats import Content
    from evenhand.results.protocol import Evidence


def given(options: Namespace, names: Iterable[str]) -> dict[str, Any]:
    """Return the options that were given, so that all others keep the defaults of the function."""
    values = {}
    for name in names:
        value = getattr(options, name, None)
        if value is not None:
            values[name] = value
    return values


class FileWriting:
    """What is printed and written, one by one: what fails keeps nothing else from being written."""

    def __init__(self) -> None:
        self._errors: list[Exception] = []

    def write(self, write: Callable[..., object], *arguments: object) -> bool:
        """Call what writes a file or prints, and return whether it could."""
        try:
            write(*arguments)
        except BrokenPipeError:
            return False  # whoever reads our output has read enough
        except OSError as error:
            reason = reason_of(error)
            self._errors.append(UsageError(f"cannot print the result: {reason}"))
        except Exception as error:  # which is seen to once everything is printed
            self._errors.append(error)
        else:
            return True
        return False

    def exit_code(self, code: int) -> int:
        """Return the exit code: that of the signal that came, and 2 in place of a pass.

        Every other code stays, so that no file hides what was found.
        """
        if code == INTERRUPTED:
            return interruption.exit_code()
        if self._errors and code == 0:
            return UsageError.exit_code
        return code

    def finish(self, code: int) -> int:
        """Print what could not be written, and return the exit code."""
        for error in self._errors:
            if isinstance(error, EvenhandError):
                print("evenhand: " + one_line(error), file=sys.stderr)
            else:
                raise error
        return self.exit_code(code)


def finish(
    found: Evidence, file: str | None, *others: tuple[Callable[..., object], str | None]
) -> int:
    """Print evidence, write it where asked, and return its exit code.

    Each of `others` writes another file, where one is named.
    """
    writing = FileWriting()
    writing.write(render, found)
    for write, path in ((found.to_json, file), *others):
        if path is not None:
            writing.write(write, path)
    return writing.finish(found.exit_code)


def numbered(file: str | None, number: int) -> str | None:
    """Return the file for the result of a run: its name, then with -2, -3 and so on added.

    >>> numbered("out.json", 1), numbered("tests.csv.gz", 2)
    ('out.json', 'tests-2.csv.gz')
    """
    if file is None or number == 1:
        return file
    path = Path(file)
    suffix = ".csv.gz" if path.name.endswith(".csv.gz") else path.suffix
    stem = path.name.removesuffix(suffix)
    return str(path.with_name(f"{stem}-{number}{suffix}"))


def write_content(file: str, content: Content, what: str) -> None:
    """Write what a format made: a text, bytes, or the files of a folder, which is made."""
    if isinstance(content, str):
        json_file.write(file, content, what)
    elif isinstance(content, bytes):
        json_file.write_bytes(file, content, what)
    else:
        folder = Path(file)
        try:
            folder.mkdir(exist_ok=True)
        except OSError as error:
            reason = reason_of(error)
            raise UsageError(f"{file}: cannot make the folder: {reason}") from None
        for name, inside in content.items():
            write_content(str(folder / Path(name).name), inside, what)


def need_place_of_folder(flag: str, folder: str) -> None:
    """Refuse a folder that cannot be made or used, before hours of work and not after."""
    path = Path(folder)
    if not path.parent.is_dir():
        raise UsageError(
            f"{flag} {folder}: there is no folder '{path.parent}'; make it first"
        )
    if path.exists() and not path.is_dir():
        raise UsageError(f"{flag} {folder}: this is a file; name a folder")


def need_folder(flag: str, file: str) -> None:
    """Refuse a file that cannot be written, before hours of work and not after."""
    path = Path(file)
    folder = path.parent
    if not folder.is_dir():
        raise UsageError(f"{flag} {file}: there is no folder '{folder}'; make it first")
    if path.is_dir():
        raise UsageError(f"{flag} {file}: this is a folder; name a file in it")
