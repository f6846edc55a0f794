"""Behavioural events for the sidecar's `POST /events`."""

from __future__ import annotations

import threading
import time

from ._http import origin_of, post_json, url_below
from ._shared import cut, describe, is_count, is_flag, is_list, is_number, is_record, is_whole, json_bytes, warn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any
    from urllib.parse import SplitResult

    Event = Mapping[str, Any]
    _Test = Callable[[object], bool]

MAX_QUEUED = 1000
MAX_BATCH_BYTES = 64 * 1024
MAX_BATCH_EVENTS = 500
_TIMEOUT_SECONDS = 2.0
# Events of one request that follow each other go into one batch.
_LINGER_SECONDS = 0.005
_MAX_REQUEST_ID = 128


class EventSender:
    """Sends events from a thread: each batch once, without retries.

    Exception: `model` events of a request that the sidecar does not have are sent again without the request id, so
    that their tokens are counted.
    """

    def __init__(self, url: SplitResult, agent_name: str, timeout: float = _TIMEOUT_SECONDS) -> None:
        self._url = url_below(url, "/events")
        self._agent_name = cut(agent_name, 500)
        self._timeout = timeout
        self._reset()

    def _reset(self) -> None:
        self._changed = threading.Condition()
        self._queue: dict[str | None, list[tuple[bytes, bool]]] = {}
        self._waiting = self._in_flight = self._delivered = self._dropped = self._flushing = 0
        self._thread: threading.Thread | None = None
        self._is_closed = self._is_failing = self._has_logged_invalid = False
        self._logged_statuses: set[int] = set()

    def after_fork(self) -> None:
        """Forgets what waits in a forked process: the parent sends it, and only the parent has the thread."""
        self._reset()

    def counts(self) -> dict[str, int]:
        """`delivered`: accepted by the sidecar; `dropped`: invalid, over the limit or not accepted; `queued`."""
        with self._changed:
            queued = self._waiting + self._in_flight
            return {"delivered": self._delivered, "dropped": self._dropped, "queued": queued}

    def send(self, request_id: str | None, events: Sequence[Event]) -> bool:
        """Queues events of the request with this id; None: `model` events without a request.

        Returns at once. False: the events are dropped. Never raises.
        """
        try:
            valid = [_queued(request_id, event) for event in events]
        except Exception as error:
            self._drop_invalid(events, error)
            return False
        with self._changed:
            if not self._enqueue(request_id, valid):
                return False
            if valid and self._thread is None:
                self._start()
            self._changed.notify_all()
            return True

    def flush(self, timeout: float = 1.0) -> bool:
        """Waits until no event is queued. False: the time was not enough."""
        deadline = time.monotonic() + timeout
        with self._changed:
            self._flushing += 1
            self._changed.notify_all()
            try:
                while self._waiting + self._in_flight > 0:
                    left = deadline - time.monotonic()
                    if left <= 0 or not self._changed.wait(left):
                        return self._waiting + self._in_flight == 0
                return True
            finally:
                self._flushing -= 1

    def close(self, timeout: float = 1.0) -> None:
        """Flushes, then drops the remaining events and every later event."""
        self.flush(timeout)
        with self._changed:
            self._is_closed = True
            self._dropped += self._waiting
            self._waiting = 0
            self._queue.clear()
            self._changed.notify_all()

    def _start(self) -> None:
        import atexit

        import_modules()
        thread = threading.Thread(target=self._run, name="platform-events", daemon=True)
        try:
            thread.start()
        except RuntimeError as error:
            # At the limit of threads, or at the end of the process. The next events try again.
            if not self._is_failing:
                warn("failed to start the thread of the events", reason=describe(error))
            self._is_failing = True
            return
        self._thread = thread
        atexit.register(self.flush)

    def _enqueue(self, request_id: str | None, events: list[tuple[bytes, bool]]) -> bool:
        if self._is_closed or self._waiting + len(events) > MAX_QUEUED:
            self._dropped += len(events)
            return False
        if events:
            self._queue.setdefault(request_id, []).extend(events)
            self._waiting += len(events)
        return True

    def _drop_invalid(self, events: Sequence[Event], error: Exception) -> None:
        with self._changed:
            self._dropped += max(len(events) if is_list(events) else 1, 1)
            is_new, self._has_logged_invalid = not self._has_logged_invalid, True
        if is_new:
            warn("invalid events dropped", reason=describe(error))

    def _run(self) -> None:
        while True:
            with self._changed:
                while self._waiting == 0:
                    if self._is_closed:
                        return
                    self._changed.wait()
                if self._flushing == 0:
                    self._changed.wait(_LINGER_SECONDS)
                batch = self._next_batch()
            if batch is not None:
                self._post(*batch)

    def _next_batch(self) -> tuple[str | None, list[tuple[bytes, bool]], bytes] | None:
        for request_id, events in self._queue.items():
            head = json_bytes({"requestId": request_id, "agentName": self._agent_name})[:-1] + b',"events":['
            size, count = len(head) + 2, 0
            while count < len(events) and count < MAX_BATCH_EVENTS:
                size += len(events[count][0]) + 1
                if size > MAX_BATCH_BYTES and count > 0:
                    break
                count += 1
            taken = events[:count]
            del events[:count]
            if not events:
                del self._queue[request_id]
            self._waiting -= count
            self._in_flight += count
            return request_id, taken, head + b",".join(text for text, _ in taken) + b"]}"
        return None

    def _post(self, request_id: str | None, events: list[tuple[bytes, bool]], body: bytes) -> None:
        result: int | str
        try:
            result = post_json(self._url, body, timeout=self._timeout).status
        except Exception as error:
            # The agent must not depend on the sidecar.
            result = describe(error)
        again = [event for event in events if event[1]] if result == 202 and request_id is not None else []
        with self._changed:
            is_new = self._settle(len(events) - len(again), result)
        if is_new:
            reason = f"status {result}" if isinstance(result, int) else result
            warn("failed to deliver events, events dropped", url=origin_of(self._url), reason=reason)
        with self._changed:
            self._in_flight -= len(events)
            self._enqueue(None, again)
            self._changed.notify_all()

    def _settle(self, count: int, result: int | str) -> bool:
        """Counts a batch. True: log a warning, which there is once per outage and once per status."""
        if result in (200, 202):
            self._delivered += count
            self._is_failing = False
            return False
        self._dropped += count
        if isinstance(result, int) and result < 500:
            is_new = result not in self._logged_statuses
            self._logged_statuses.add(result)
            return is_new
        is_new, self._is_failing = not self._is_failing, True
        return is_new


def _is_name(value: object) -> bool:
    return isinstance(value, str) and value != "" and cut(value, 500) == value


# Members of each event: required, optional. Like the parser of the sidecar.
_VARIANTS: dict[str, tuple[dict[str, _Test], dict[str, _Test]]] = {
    "guardrail": (
        {"guardrailType": _is_name, "invoked": is_flag},
        {"blocked": is_flag, "score": lambda value: is_number(value, -1e9, 1e9)},
    ),
    "tool": (
        {"name": _is_name},
        {"success": is_flag, "latencyMs": lambda value: is_number(value, 0, 1e12)},
    ),
    "model": ({"modelId": _is_name, "promptTokens": is_count, "completionTokens": is_count}, {}),
    "memory": ({}, {"backend": _is_name, "ttlSeconds": is_whole, "piiScrubbed": is_flag}),
}


def _queued(request_id: object, event: object) -> tuple[bytes, bool]:
    """The event as JSON, and whether it counts without its request. Raises ValueError if it is invalid."""
    if request_id is not None and not (isinstance(request_id, str) and 0 < len(request_id) <= _MAX_REQUEST_ID):
        raise ValueError("request_id must be a text of 1 to 128 characters")
    if not is_record(event):
        raise ValueError("an event must be a dict")
    kind = event.get("type")
    if not isinstance(kind, str) or kind not in _VARIANTS:
        raise ValueError(f"type must be one of {', '.join(_VARIANTS)}")
    if request_id is None and kind != "model":
        raise ValueError("type must be model without a request id")
    required, optional = _VARIANTS[kind]
    members: dict[str, object] = {"type": kind}
    for name, test in (*required.items(), *optional.items()):
        value = event.get(name)
        if value is None and name not in required:
            continue
        if not test(value):
            raise ValueError(f"{name} of a {kind} event is not valid")
        members[name] = value
    return json_bytes(members), kind == "model"


# http.client imports ssl if this Python has it.
_MODULES_OF_THREADS = (
    "base64",
    "contextlib",
    "datetime",
    "email.utils",
    "encodings.idna",
    "encodings.utf_16_le",
    "errno",
    "http.client",
    "io",
    "ipaddress",
    "json",
    "logging",
    "re",
    "socket",
    "tempfile",
    "urllib.parse",
    "agent_compliance._checks",
    "agent_compliance._probes",
    "agent_compliance.behavior",
)


def import_modules() -> None:
    """Imports what the threads of the package need, before they start.

    A fork copies the lock of a module that another thread imports. Nothing releases it in the child, so that the next
    import of that module would wait forever: servers fork their workers after they have loaded the application.
    """
    for name in _MODULES_OF_THREADS:
        __import__(name)
