"""Real servers for the tests."""

import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from agent_compliance import Reporter, set_default_reporter

# Seconds within which something ends that must end; it only limits a hanging test.
SLOW = 30.0

Answer = tuple[int, dict[str, str], bytes]


def manifest(**spec: Any) -> dict[str, Any]:
    """A manifest of an agent named `shop`."""
    model = {"provider": "no-such-vendor", "id": "gpt-4o", "apiKey": "literal"}
    return {"metadata": {"name": "shop"}, "spec": {"model": model, **spec}}


def wait_for(condition: Callable[[], Any], what: str = "the condition") -> Any:
    """Waits for a condition; the limit only ends a hanging test."""
    gate = threading.Event()
    for _ in range(3000):
        value = condition()
        if value:
            return value
        gate.wait(0.01)
    raise AssertionError(f"timeout while waiting for {what}")


class HttpServer:
    """Records requests and answers with `answer`."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.requests: list[dict[str, Any]] = []
        self.answer: Callable[[dict[str, Any]], Answer] = lambda _request: (200, {}, b"{}")
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_any(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                request = {
                    "method": self.command,
                    "path": self.path,
                    "headers": {name.lower(): value for name, value in self.headers.items()},
                    "body": body,
                    "json": json.loads(body) if body.startswith(b"{") else None,
                }
                outer.requests.append(request)
                status, headers, answer = outer.answer(request)
                self.send_response(status)
                for name, value in {"content-length": str(len(answer)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(answer)

            do_GET = do_POST = do_DELETE = handle_any

            def log_message(self, *_arguments: Any) -> None:
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self.port: int = self._server.server_address[1]
        self.url = f"{'http' if tls is None else 'https'}://127.0.0.1:{self.port}"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def http_server() -> Iterator[HttpServer]:
    server = HttpServer()
    yield server
    server.close()


@pytest.fixture
def raw_server() -> Iterator[Callable[[bytes | None], int]]:
    """Starts servers that read once and send some bytes; None: they never answer. Returns the port."""
    sockets: list[socket.socket] = []

    def start(answer: bytes | None) -> int:
        listener = socket.create_server(("127.0.0.1", 0))
        sockets.append(listener)

        def respond(connection: socket.socket) -> None:
            with suppress(OSError), closing(connection):
                connection.recv(65_536)
                connection.sendall(answer or b"")
                # Closing a connection with unread data would reset it.
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(65_536):
                    pass

        def serve() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                sockets.append(connection)
                if answer is not None:
                    threading.Thread(target=respond, args=(connection,), daemon=True).start()

        threading.Thread(target=serve, daemon=True).start()
        port: int = listener.getsockname()[1]
        return port

    yield start
    for each in sockets:
        # Ends the thread that accepts or reads, which closing does not.
        with suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)
        each.close()


@pytest.fixture
def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


@pytest.fixture
def reporters() -> Iterator[Callable[..., Reporter]]:
    """Creates reporters that are stopped at the end."""
    created: list[Reporter] = []

    def create(given: Any = None, **options: Any) -> Reporter:
        options.setdefault("env", {})
        # Limits that a slow machine does not reach.
        options.setdefault("policy_timeout", SLOW)
        created.append(Reporter(manifest() if given is None else given, **options))
        created[-1].events._timeout = SLOW
        return created[-1]

    yield create
    for each in created:
        each.stop()
        each.events.close()
    set_default_reporter(None)
