"""The server of the what-if page, which answers only the page that it gave its token to.

The page is made of files that hold no values. They are served as they are, and its script puts what
it is sent into the page as text, never as markup. Only the page at `/`, to which the links of a
report lead, needs no token: it is a file as well, knows nothing, and asks nothing.
"""

from __future__ import annotations

import hmac
import json
import os
import queue
import secrets
import threading
from concurrent.futures import Future
from contextlib import contextmanager
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from evenhand.runtime.errors import EvenhandError, SubjectError, UsageError, clip
from evenhand.runtime.interruption import exits_reported

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import NoReturn

    Get = Callable[[Mapping[str, list[str]]], Any]
    Post = Callable[[Mapping[str, Any]], Any]

HOME = "127.0.0.1"
MOST_BYTES = 1 << 20
"""The largest request that is read."""
DRAINED = 16 << 20
"""How much of a larger one is thrown away, so that its sender hears why it is refused."""
PAGES = {
    "": ("explore.html", "text/html; charset=utf-8"),
    "explore.css": ("explore.css", "text/css; charset=utf-8"),
    "explore.js": ("explore.js", "text/javascript; charset=utf-8"),
    "curve.js": ("curve.js", "text/javascript; charset=utf-8"),
}
LANDING = {
    "/": ("landing.html", "text/html; charset=utf-8"),
    "/explore.css": PAGES["explore.css"],
    "/landing.js": ("landing.js", "text/javascript; charset=utf-8"),
}
"""What is given to everybody on this machine: a page that finds the token its browser kept."""
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; "
        "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class _Refused(Exception):
    """A request that is answered with a status and an error message."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class PageServer(ThreadingHTTPServer):
    """The server of the page; one thread, which runs `work`, asks the software.

    A Subject is used by one thread only, and by the main one where there is a choice, so that
    Ctrl-C reaches it.
    """

    daemon_threads = True
    # On Windows, two programs could otherwise listen on one port.
    allow_reuse_address = os.name != "nt"

    def __init__(
        self, port: int, *, get: Mapping[str, Get], post: Mapping[str, Post]
    ) -> None:
        self.get = get
        self.post = post
        self.token = secrets.token_urlsafe(24)
        self._waiting: queue.SimpleQueue[tuple[Callable[[], Any], Future[Any]] | None] = (
            queue.SimpleQueue()
        )
        try:
            super().__init__((HOME, port), _Handler)
        except (OSError, OverflowError) as error:
            # An OverflowError is a port that no machine has; only an OSError has a reason.
            reason = getattr(error, "strerror", None) or "it must lie between 0 and 65535"
            raise UsageError(
                f"port {port} cannot be used: {reason}; choose another with --port, or leave it out"
            ) from None

    @property
    def hosts(self) -> tuple[str, str]:
        """The names by which a browser on this machine knows this server."""
        return f"{HOME}:{self.server_port}", f"localhost:{self.server_port}"

    @property
    def url(self) -> str:
        """Where the page is, token included."""
        return f"http://{self.hosts[0]}/{self.token}/"

    def ask(self, work: Callable[[], Any]) -> Any:
        """Have something done by the thread that works, and return what came of it."""
        future: Future[Any] = Future()
        self._waiting.put((work, future))
        return future.result()

    def work(self) -> None:
        """Do what requests ask for, one after the other, until `stop` or Ctrl-C."""
        while True:
            try:
                # Without a timeout, Ctrl-C would not be heard on every platform.
                job = self._waiting.get(timeout=1.0)
            except queue.Empty:
                continue
            if job is None:
                return
            work, future = job
            try:
                with exits_reported("the software under test"):
                    answer = work()
                future.set_result(answer)
            except Exception as error:
                future.set_exception(error)

    def stop(self) -> None:
        """End `work`."""
        self._waiting.put(None)

    @contextmanager
    def listening(self) -> Iterator[PageServer]:
        """Answer requests in the background; those for the software wait for `work`."""
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()
        try:
            yield self
        finally:
            self.shutdown()
            self.server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing about a browser that went away."""


class _Handler(BaseHTTPRequestHandler):
    """One request."""

    server: PageServer
    timeout = 30

    def do_GET(self) -> None:
        """Answer with a part of the page, or with data for it."""
        if self.path in LANDING and self._own_host() is not None:
            file, kind = LANDING[self.path]
            self._send(200, (_page(file), kind))
        else:
            self._answer(self._get)

    def do_POST(self) -> None:
        """Answer with what came of asking the software."""
        self._answer(self._post)

    def _answer(self, content_of: Callable[[str], Any]) -> None:
        """Send what a request asks for, or the error that came of it."""
        name = self._allowed()
        if name is None:
            self._send(403)
            return
        try:
            content = content_of(name)
        except _Refused as error:
            self._send(error.status, {"error": str(error)})
        except SubjectError as error:
            self._send(502, {"error": str(error)})
        except EvenhandError as error:
            features = list(getattr(error, "names", ()))
            self._send(400, {"error": str(error), "features": features})
        except Exception as error:
            message = (
                f"evenhand failed with {type(error).__name__}: {clip(str(error), 300)}"
            )
            self._send(500, {"error": message})
        else:
            self._send(200, content)

    def _allowed(self) -> str | None:
        """Return what is asked for, None where the request is not from our own page."""
        host = self._own_host()
        parts = urlsplit(self.path).path.split("/")
        token = parts[1] if len(parts) == 3 else ""
        # In constant time, so that nobody can guess the token letter by letter.
        has_token = hmac.compare_digest(
            token.encode("utf-8", "surrogatepass"), self.server.token.encode()
        )
        if not has_token or host is None:
            return None
        if self.command == "POST":
            origins = self.headers.get_all("Origin") or []
            if origins and origins != [f"http://{host}"]:
                return None
        return parts[2]

    def _own_host(self) -> str | None:
        """Return the name by which we were called, None where it is not ours."""
        hosts = self.headers.get_all("Host") or []
        # A page that renames its own host to this machine (DNS rebinding) sends another Host.
        if len(hosts) == 1 and hosts[0] in self.server.hosts:
            return hosts[0]
        return None

    def _get(self, name: str) -> Any:
        if name in PAGES:
            file, kind = PAGES[name]
            return _page(file), kind
        if name not in self.server.get:
            raise _Refused(404, f"there is no page {clip(repr(name), 60)}")
        answer_to = self.server.get[name]
        address = urlsplit(self.path)
        query = parse_qs(address.query)
        return self.server.ask(lambda: answer_to(query))

    def _post(self, name: str) -> Any:
        body = self._body()
        if name not in self.server.post:
            raise _Refused(404, f"nothing can be sent to {clip(repr(name), 60)}")
        if self.headers.get_content_type() != "application/json":
            raise _Refused(400, "the content type of a request must be application/json")
        try:
            table = json.loads(body, parse_constant=_no_constant)
        except (ValueError, RecursionError):
            raise _Refused(400, "the request is not JSON") from None
        if not isinstance(table, dict):
            content = clip(repr(table), 60)
            raise _Refused(
                400, f"the request is {content}, not an object of names and values"
            )
        answer_to = self.server.post[name]
        return self.server.ask(lambda: answer_to(table))

    def _body(self) -> bytes:
        text = self.headers.get("Content-Length", "")
        if not (text.isascii() and text.isdigit() and len(text) < 16):
            raise _Refused(400, "the request has no valid Content-Length")
        size = int(text)
        if size > MOST_BYTES:
            self._drain(size)
            raise _Refused(
                413, f"the request has {size:,} bytes; at most {MOST_BYTES:,} are allowed"
            )
        return self.rfile.read(size)

    def _drain(self, size: int) -> None:
        """Read and throw away a body: a sender that is cut off would not read the answer."""
        left = min(size, DRAINED)
        while left > 0:
            part = self.rfile.read(min(left, 1 << 16))
            if not part:
                return
            left -= len(part)

    def _send(self, status: int, content: Any = None) -> None:
        """Send data as JSON, a part of the page as it is, or nothing at all."""
        body = b""
        kind = "application/json"
        if isinstance(content, tuple):
            body, kind = content
        elif content is not None:
            body = json.dumps(content, allow_nan=False).encode("ascii")
        self.send_response(status)
        for key, value in HEADERS.items():
            self.send_header(key, value)
        if body:
            self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def send_error(
        self, code: int, message: str | None = None, explain: str | None = None
    ) -> None:
        """Refuse what is not a valid request with an empty answer."""
        self.close_connection = True
        self._send(code)

    def version_string(self) -> str:
        """Return a name that does not reveal the version of Python."""
        return "evenhand"

    def log_message(self, format: str, *args: Any) -> None:
        """Keep no log of requests."""


@cache
def _page(file: str) -> bytes:
    return resources.files("evenhand.explore").joinpath("pages", file).read_bytes()


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)
