"""The sidecar's `POST /events` on a socket; it keeps the events of each request."""

from __future__ import annotations

from typing import Any

from conftest import Answer, HttpServer


class FakeSidecar(HttpServer):
    """A server on a free port of loopback, until `close`."""

    def __init__(self) -> None:
        super().__init__()
        self.events: dict[str | None, list[dict[str, Any]]] = {}
        self.answer = self._keep

    def _keep(self, request: dict[str, Any]) -> Answer:
        batch = request["json"]
        self.events.setdefault(batch["requestId"], []).extend(batch["events"])
        return 200, {}, b'{"found":true}'
