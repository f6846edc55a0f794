"""The reporter: runs the checks on a timer, counts tokens, and serves both reports."""

import asyncio
import json
import logging
import threading
import time
from collections.abc import Awaitable, Callable, Iterable
from datetime import UTC, datetime
from typing import Any

from .behavior import Behavior, EventSender
from .checks import run_checks, summary_of
from .references import References, iso_time

_LOG = logging.getLogger("platform_reporter")
_REFRESH_SECONDS = 30
_STALE_SECONDS = 60
_MAX_MODELS = 99
_MAX_TOKENS = 1_000_000_000
_MAX_REQUEST_ID = 128


class Reporter:
    """Reports the state of one agent. `tools` returns the names of the registered tools."""

    def __init__(
        self, manifest: dict[str, Any], references: References, tools: Callable[[], Iterable[str]] | None = None
    ) -> None:
        self._manifest = manifest
        self._references = references
        self._tools = tools
        self._report: dict[str, Any] | None = None
        self._checked_at = 0.0
        self._check_lock = threading.Lock()
        self._stopped = threading.Event()
        self._started_at = datetime.now(UTC)
        self._models: dict[str, dict[str, Any]] = {}
        self._usage_lock = threading.Lock()
        self._events = EventSender(manifest["metadata"]["name"])

    def start(self) -> None:
        """Runs the first check at once, without blocking, and then one every 30 seconds."""
        threading.Thread(target=self._run, name="platform-checks", daemon=True).start()

    def stop(self) -> None:
        """Ends the checks and sends the events that wait."""
        self._stopped.set()
        self._events.close()

    def report(self) -> dict[str, Any]:
        """The cached report; a new one if it is older than 60 seconds."""
        if self._is_stale():
            with self._check_lock:
                if self._is_stale():
                    self._check()
        assert self._report is not None
        return self._report

    def usage(self) -> dict[str, Any]:
        """Tokens since the start of the process."""
        with self._usage_lock:
            models = [dict(model) for model in self._models.values()]
        return {
            "source": "agent-sdk",
            "windowStartedAt": iso_time(self._started_at),
            "models": models,
            "totalTokens": sum(model["totalTokens"] for model in models),
            "totalCalls": sum(model["callCount"] for model in models),
        }

    def record_usage(self, model_id: str, prompt_tokens: int, completion_tokens: int) -> bool:
        """Counts one call of the model. False: a count is not an integer from 0 to 10**9."""
        counts = (prompt_tokens, completion_tokens)
        if not all(type(count) is int and 0 <= count <= _MAX_TOKENS for count in counts):
            _LOG.warning("usage not counted: a count is not an integer from 0 to 10**9")
            return False
        with self._usage_lock:
            name = model_id[:200] or "(other)"
            if name not in self._models and len(self._models) >= _MAX_MODELS:
                name = "(other)"
            empty = {"promptTokens": 0, "completionTokens": 0, "totalTokens": 0, "callCount": 0}
            model = self._models.setdefault(name, {"modelId": name, **empty})
            model["promptTokens"] += prompt_tokens
            model["completionTokens"] += completion_tokens
            model["totalTokens"] += prompt_tokens + completion_tokens
            model["callCount"] += 1
        return True

    def behavior(self, request_id: str | None) -> Behavior:
        """Reports the behavior of one request. `request_id`: the header `x-request-id`, which the sidecar adds."""
        is_id = request_id is not None and 0 < len(request_id) <= _MAX_REQUEST_ID
        return Behavior(request_id if is_id else None, self.record_usage, self._events)

    def _is_stale(self) -> bool:
        return self._report is None or time.monotonic() - self._checked_at > _STALE_SECONDS

    def _run(self) -> None:
        while True:
            try:
                with self._check_lock:
                    self._check()
            except Exception:
                _LOG.exception("health checks failed")
            if self._stopped.wait(_REFRESH_SECONDS):
                return

    def _check(self) -> None:
        registered = None if self._tools is None else set(self._tools())
        checks = run_checks(self._manifest, self._references, registered)
        self._report = {
            "agentName": self._manifest["metadata"]["name"],
            "timestamp": iso_time(datetime.now(UTC)),
            **summary_of(checks),
            "checks": checks,
        }
        self._checked_at = time.monotonic()


Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]


class ReporterRoutes:
    """ASGI middleware that serves `/platform/health` and `/platform/usage`."""

    def __init__(self, app: Callable[[Scope, Receive, Send], Awaitable[None]], reporter: Reporter) -> None:
        self._app = app
        self._routes = {"/platform/health": reporter.report, "/platform/usage": reporter.usage}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        route = self._routes.get(scope["path"]) if scope["type"] == "http" else None
        if route is None or scope["method"] not in ("GET", "HEAD"):
            await self._app(scope, receive, send)
            return
        try:
            # In a thread, because a check waits for the network.
            status, value = 200, await asyncio.to_thread(route)
        except Exception:
            _LOG.exception("health checks failed")
            status, value = 503, {"title": "Service Unavailable", "status": 503}
        body = json.dumps(value).encode()
        headers = [
            (b"content-type", b"application/json"),
            (b"cache-control", b"no-store"),
            (b"content-length", str(len(body)).encode()),
        ]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})
