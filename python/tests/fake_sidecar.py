"""The sidecar's `POST /events` on a socket; it keeps the events of each request."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class FakeSidecar:
    """`with FakeSidecar() as sidecar:` runs it on a free port of loopback."""

    def __init__(self) -> None:
        self.events: dict[str | None, list[dict[str, Any]]] = {}
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._server.daemon_threads = True
        self._server.fake = self  # type: ignore[attr-defined]
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> FakeSidecar:  # noqa: PYI034 - Self is not in Python 3.10
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 30

    def log_message(self, *_args: Any) -> None:
        """Requests are not logged."""

    def do_POST(self) -> None:
        batch = json.loads(self.rfile.read(int(self.headers["content-length"])))
        fake: FakeSidecar = self.server.fake  # type: ignore[attr-defined]
        fake.events.setdefault(batch["requestId"], []).extend(batch["events"])
        body = b'{"found":true}'
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
