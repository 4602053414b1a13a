"""A real service on loopback that misbehaves on demand."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class ReceivedRequest(NamedTuple):
    path: str
    headers: dict[str, str]
    body: Any
    peer: Any
    """The address of the client, of which every connection has its own."""
    method: str


class ServiceHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: LoopbackService

    def setup(self) -> None:
        super().setup()
        self.server.note_connections(+1)

    def finish(self) -> None:
        super().finish()
        self.server.note_connections(-1)

    def do_GET(self) -> None:
        self.do_POST()

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length", 0))
        content = self.rfile.read(length)
        if self.headers.get("Content-Type") == "application/x-www-form-urlencoded":
            body = content.decode()
        else:
            body = json.loads(content or "null")
        service = self.server
        request = ReceivedRequest(
            self.path, dict(self.headers), body, self.client_address, self.command
        )
        with service.lock:
            service.requests.append(request)
            number = len(service.requests)
        service.answer(self, body, number)

    def reply(
        self,
        status: int = 200,
        value: Any = None,
        *,
        text: str | None = None,
        **headers: str,
    ) -> None:
        if text is None:
            text = json.dumps(value)
        content = text.encode()
        self.send_response(status)
        for name, header in headers.items():
            self.send_header(name.replace("_", "-"), header)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def right(self, body: Any) -> None:
        """Answer as the tests expect it: every person with their age."""
        self.reply(value=[person["age"] for person in body["inputs"]])

    def log_message(self, *_: object) -> None:
        pass


class LoopbackService(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, host: str = "127.0.0.1") -> None:
        super().__init__((host, 0), ServiceHandler)
        self.lock = threading.Lock()
        self.requests: list[ReceivedRequest] = []
        self.answer: Callable[[Any, Any, int], object] = self.answer_right
        self.over = threading.Event()
        self.open_connections = 0
        self.most_connections = 0

    @staticmethod
    def answer_right(handler: ServiceHandler, body: Any, _number: int) -> None:
        handler.right(body)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/decide?version=1"

    @property
    def peers(self) -> set[Any]:
        """The connections that requests came on."""
        return {request.peer for request in self.requests}

    def note_connections(self, change: int) -> None:
        with self.lock:
            self.open_connections += change
            self.most_connections = max(self.most_connections, self.open_connections)

    def handle_error(self, *_: object) -> None:
        pass  # a client that gives up on a hanging request is part of the tests


@contextmanager
def serving(server: LoopbackService) -> Iterator[LoopbackService]:
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield server
    finally:
        server.over.set()
        server.shutdown()
        server.server_close()
        thread.join()
