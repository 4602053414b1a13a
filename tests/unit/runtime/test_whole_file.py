"""Files are written whole or not at all."""

from __future__ import annotations

import os
import resource
import signal
import stat
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from evenhand.runtime import json_file
from evenhand.runtime.column_file import replacing
from evenhand.runtime.errors import UsageError
from evenhand.runtime.system.whole_file import whole_file, write_whole
from tests.support.helpers import refused


@contextmanager
def room_for(size: int):
    """Let no file grow larger than this."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, before)


def test_a_file_that_does_not_fit_leaves_what_was_there(tmp_path):
    file = tmp_path / "result.json"
    file.write_text("before")
    with room_for(1000):
        refused(
            UsageError,
            lambda: json_file.write(file, "x" * 5000, "result"),
            "cannot write the result",
            "File too large",
        )
    assert file.read_text() == "before"
    assert list(tmp_path.iterdir()) == [file]


def test_a_writer_that_fails_half_way_leaves_what_was_there(tmp_path):
    file = tmp_path / "model.joblib"
    file.write_bytes(b"before")
    with pytest.raises(UsageError, match="no room"), replacing(file) as part:
        part.write_bytes(b"half")
        raise OSError(28, "no room")
    assert file.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [file]


def test_permissions_and_links_stay(tmp_path):
    file = tmp_path / "secret.json"
    file.write_text("old")
    file.chmod(0o640)
    link = tmp_path / "link.json"
    link.symlink_to(file.name)
    write_whole(link, b"new")
    assert link.is_symlink()
    assert file.read_text() == "new"
    assert stat.S_IMODE(file.stat().st_mode) == 0o640


def test_a_new_file_has_the_usual_permissions(tmp_path):
    before = os.umask(0o027)
    try:
        write_whole(tmp_path / "new.json", b"new")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "new.json").stat().st_mode) == 0o640


def test_the_longest_name_can_be_written(tmp_path):
    file = tmp_path / ("n" * 255)
    write_whole(file, b"kept")
    assert file.read_bytes() == b"kept"


@pytest.mark.parametrize("place", ["/dev/null", "/dev/full"])
def test_a_device_is_written_to_and_not_replaced(place):
    with whole_file(place) as part:
        assert part == Path(place)
    assert stat.S_ISCHR(Path(place).stat().st_mode)


def test_a_pipe_is_written_to(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE) as reader:
        write_whole(pipe, b"through")
        out, _ = reader.communicate(timeout=30)
    assert out == b"through"
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_the_output_of_a_program_goes_on_after_a_file_of_the_same_name(tmp_path):
    code = (
        "from evenhand.runtime.system.whole_file import write_whole\n"
        "print('first', flush=True)\n"
        "write_whole('/dev/stdout', b'second')\n"
        "write_whole('out.txt', b'third')\n"
    )
    with (tmp_path / "out.txt").open("ab") as out:
        number = os.fstat(out.fileno()).st_ino
        subprocess.run([sys.executable, "-c", code], stdout=out, cwd=tmp_path, check=True)
    assert (tmp_path / "out.txt").stat().st_ino == number


def test_a_name_that_no_file_can_have_is_one_sentence():
    refused(
        UsageError,
        lambda: json_file.write("a\0b", "x", "result"),
        r"a\x00b: cannot write the result: embedded null byte",
    )


def test_half_a_character_does_not_keep_a_page_from_being_written(tmp_path):
    json_file.write(tmp_path / "page.html", "a\ud800b", "report")
    assert (tmp_path / "page.html").read_text() == "a\\ud800b"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"[" * 100_000, "nested too deeply"),
        (b"\xff\xfe", "not a JSON file"),
        (b"", "not a JSON file"),
        (b'{"a": ' + b"9" * 5000 + b"}", "not a JSON file"),
    ],
)
def test_a_file_that_is_no_json_is_one_sentence(tmp_path, content, words):
    file = tmp_path / "result.json"
    file.write_bytes(content)
    refused(UsageError, lambda: json_file.read(file, "result"), words)


def test_a_byte_order_mark_is_no_mistake(tmp_path):
    file = tmp_path / "result.json"
    file.write_bytes(b'\xef\xbb\xbf{"a": 1}')
    assert json_file.read(file, "result") == {"a": 1}
