"""Behavior of one request: headers of its response, and events for the sidecar."""

import json
import logging
import math
import os
import queue
import threading
import urllib.request
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

_LOG = logging.getLogger("platform_reporter")
_SIDECAR_URL = "http://127.0.0.1:4001"
_MAX_NAME = 500
# Parsers reject response heads above 16 KiB.
_MAX_LIST = 4608
# With names of 500 characters, 25 events are less than the 64 KiB that the sidecar reads.
_BATCH = 25
_MAX_EVENTS = 500


class Behavior:
    """Reports what the agent did for one request.

    What is reported before `headers()` goes into headers. Details, and everything later, go into events, which
    `send()` sends to the sidecar. No method raises.
    """

    def __init__(
        self, request_id: str | None, count_usage: Callable[[str, int, int], bool], events: "EventSender"
    ) -> None:
        self._request_id = request_id
        self._count_usage = count_usage
        self._sender = events
        self._events: list[dict[str, Any]] = []
        self._guardrails: dict[str, None] = {}
        self._tools: dict[str, None] = {}
        self._confirmed: bool | None = None
        self._is_taken = False

    def guardrail(
        self, kind: str, *, invoked: bool = True, blocked: bool | None = None, score: float | None = None
    ) -> None:
        """A guardrail of the manifest, by its type. `score`: for example the toxicity."""
        if not kind.strip():
            return
        if score is not None and not math.isfinite(score):
            score = None
        is_listed = invoked and self._list(self._guardrails, kind)
        details = {"blocked": blocked, "score": score}
        event = {"type": "guardrail", "guardrailType": kind[:_MAX_NAME], "invoked": invoked}
        self._add(event, details, is_listed)

    def tool(self, name: str, *, success: bool | None = None, latency_ms: float | None = None) -> None:
        """A call of a tool, by the name in the manifest."""
        if not name.strip():
            return
        is_listed = self._list(self._tools, name)
        details = {"success": success, "latencyMs": latency_ms}
        self._add({"type": "tool", "name": name[:_MAX_NAME]}, details, is_listed)

    def model(self, model_id: str, prompt_tokens: int, completion_tokens: int) -> None:
        """One call of the model with its tokens."""
        if self._count_usage(model_id, prompt_tokens, completion_tokens):
            tokens = {"promptTokens": prompt_tokens, "completionTokens": completion_tokens}
            self._events.append({"type": "model", "modelId": model_id[:_MAX_NAME], **tokens})

    def confirmed(self, value: bool = True) -> None:
        """Whether the user confirmed a destructive tool."""
        self._confirmed = value

    def headers(self) -> dict[str, str]:
        """The headers for the response. An empty list is a fact: nothing was invoked."""
        self._is_taken = True
        headers = {
            "X-Platform-Guardrails-Invoked": ", ".join(self._guardrails),
            "X-Platform-Tools-Called": ", ".join(self._tools),
        }
        if self._confirmed is not None:
            headers["X-Platform-User-Confirmed"] = "true" if self._confirmed else "false"
        return headers

    def send(self) -> None:
        """Sends the events without waiting."""
        events, self._events = self._events[:_MAX_EVENTS], []
        if self._request_id is None:
            # Without a request of the sidecar only tokens count.
            events = [event for event in events if event["type"] == "model"]
        for start in range(0, len(events), _BATCH):
            self._sender.send(self._request_id, events[start : start + _BATCH])

    def _list(self, names: dict[str, None], name: str) -> bool:
        if self._is_taken:
            return False
        encoded = quote(name[:_MAX_NAME], safe="!#$&'*+^`|", errors="replace")
        if encoded not in names and len(", ".join([*names, encoded])) > _MAX_LIST:
            return False
        names[encoded] = None
        return True

    def _add(self, event: dict[str, Any], details: dict[str, Any], is_listed: bool) -> None:
        known = {name: value for name, value in details.items() if value is not None}
        if known or not is_listed:
            self._events.append({**event, **known})


class EventSender:
    """Sends batches of events to the sidecar from a thread. A batch is sent once; at most 1000 batches wait."""

    def __init__(self, agent_name: str) -> None:
        self._url = (os.environ.get("PLATFORM_SIDECAR_URL") or _SIDECAR_URL).rstrip("/") + "/events"
        self._agent_name = agent_name
        self._queue: queue.Queue[bytes | None] = queue.Queue(maxsize=1000)
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def send(self, request_id: str | None, events: list[dict[str, Any]]) -> None:
        batch = {"requestId": request_id, "agentName": self._agent_name, "events": events}
        body = json.dumps(batch, ensure_ascii=False).encode(errors="replace")
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="platform-events", daemon=True)
                self._thread.start()
        try:
            self._queue.put_nowait(body)
        except queue.Full:
            _LOG.warning("events dropped: the queue is full")

    def close(self) -> None:
        """Sends what waits, for at most two seconds."""
        if self._thread is not None:
            try:
                self._queue.put_nowait(None)
            except queue.Full:
                return
            self._thread.join(timeout=2)

    def _run(self) -> None:
        # Directly: the sidecar is on this machine, also where the environment names a proxy.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        while (body := self._queue.get()) is not None:
            try:
                headers = {"content-type": "application/json"}
                opener.open(urllib.request.Request(self._url, body, headers), timeout=2).close()
            except Exception as error:
                # The agent must not depend on the sidecar.
                _LOG.debug("failed to deliver events: %s", type(error).__name__)
