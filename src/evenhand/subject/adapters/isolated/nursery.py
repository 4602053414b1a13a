"""A process that has imported what models need, and forks one of its own for each of them.

Importing takes a second, and forking takes milliseconds: software that dies is soon started again.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import weakref
from typing import Any

from evenhand.runtime.errors import SubjectCrashed

_BOOT = (
    "import json, sys; path, number = json.loads(sys.argv[1]); sys.path[:] = path;"
    " del sys.argv[1:]; from evenhand.subject.adapters.isolated.nursery import serve;"
    " serve(number)"
)
_MESSAGE = 1 << 20
"""The most bytes of one message: the paths and the environment of a process."""
_LIBRARIES = ("xgboost", "lightgbm", "catboost", "onnxruntime", "skops.io")
_PATIENCE = 100
"""Hundredths of a second in which a process that answers nothing more may end by itself."""


class Nursery:
    """The handle of such a process; there is one for each process that asks models."""

    _own: Nursery | None = None

    def __init__(self) -> None:
        self.owner = os.getpid()
        self._lock = threading.Lock()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            number = theirs.fileno()
            self._process = subprocess.Popen(
                [sys.executable, "-c", _BOOT, json.dumps([sys.path, number])],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=(number,),
                process_group=0,
            )
        self._socket = ours
        self.close = weakref.finalize(self, _end, self.owner, self._process, ours)

    @classmethod
    def own(cls) -> Nursery:
        """Return the one of this process, started where there is none."""
        own = cls._own
        if own is None or own.owner != os.getpid() or own._process.poll() is not None:
            own = cls._own = cls()
        return own

    def fork(self, memory: int | None, pipes: tuple[int, int, int]) -> int:
        """Start a process with these for standard input, output and error; return its number."""
        options = {
            "path": sys.path,
            "folder": os.getcwd(),  # noqa: PTH109
            "environment": dict(os.environ),
            "memory": memory,
            # What was imported here already is imported there once, and not by each of them.
            "libraries": [name for name in _LIBRARIES if name in sys.modules],
        }
        content = json.dumps(["fork", options]).encode()
        return int(self._asked(content, pipes))

    def wait(self, number: int) -> int:
        """Return the exit code of a process that ends or has ended; below 0, of a signal."""
        status = int(self._asked(json.dumps(["wait", number]).encode(), ()))
        return os.waitstatus_to_exitcode(status)

    def _asked(self, content: bytes, descriptors: tuple[int, ...]) -> Any:
        try:
            with self._lock:
                socket.send_fds(self._socket, [content], list(descriptors))
                answer = self._socket.recv(_MESSAGE)
        except OSError as error:
            answer = b""
            reason = error.strerror
        else:
            reason = "it ended"
        if not answer:
            self.close()
            raise SubjectCrashed(
                f"no process of its own can be started for the software under test: {reason}"
            )
        return json.loads(answer)


def _end(owner: int, process: subprocess.Popen[bytes], connection: socket.socket) -> None:
    connection.close()
    if os.getpid() == owner:
        process.kill()
        process.wait()


def serve(number: int) -> None:
    """Fork processes as is asked for, until nobody is there to ask."""
    connection = socket.socket(fileno=number)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _import_what_models_need()
    while True:
        content, pipes, _, _ = socket.recv_fds(connection, _MESSAGE, 3)
        if not content:
            return
        action, details = json.loads(content)
        if action == "wait":
            answer = _status(details)
        else:
            for library in details.pop("libraries"):
                with contextlib.suppress(ImportError):
                    importlib.import_module(library)
            answer = os.fork()
            if not answer:
                connection.close()
                _begin(details, pipes)
            for descriptor in pipes:
                os.close(descriptor)
        connection.send(json.dumps(answer).encode())


def _status(number: int) -> int:
    """Return how a process ended that closed its pipes, or was killed; help it if need be."""
    for _ in range(_PATIENCE):
        ended, status = os.waitpid(number, os.WNOHANG)
        if ended:
            return status
        time.sleep(0.01)
    os.killpg(number, signal.SIGKILL)
    return os.waitpid(number, 0)[1]


def _import_what_models_need() -> None:
    with contextlib.suppress(ImportError):
        import joblib  # noqa: F401
        import pandas  # noqa: F401
        import sklearn.base
        import sklearn.utils.validation  # noqa: F401

        import evenhand.space.space
        import evenhand.subject.adapters.estimator
        import evenhand.subject.adapters.isolated.worker  # noqa: F401


def _begin(options: dict[str, Any], pipes: list[int]) -> None:
    """Become the process of some software, and end with it."""
    code = 1
    try:
        os.setpgid(0, 0)
        for standard, descriptor in enumerate(pipes):
            os.dup2(descriptor, standard)
            os.close(descriptor)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        sys.path[:] = options["path"]
        os.chdir(options["folder"])
        os.environ.clear()
        os.environ.update(options["environment"])
        from evenhand.subject.adapters.isolated.worker import main

        main(options["memory"])
        code = 0
    finally:
        os._exit(code)
