"""Heartbeats of an agent that has no sidecar."""

from __future__ import annotations

import random
import threading
import time

from ._credentials import Bearer, expiry_of
from ._heartbeat import SeenTimes, compose, fit
from ._http import Late, Reply, origin_of, post_json, url_below
from ._log import debug, describe, info, warn
from ._settings import is_sendable
from ._text import is_record, iso_time, json_of, utc_now

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._credentials import Renewal
    from ._settings import PushSettings
    from .reporter import Reporter

_TIMEOUT_SECONDS = 10.0
_LAST_BEAT_SECONDS = 1.0
_TRIGGER_GAP_SECONDS = 1.0
_FIRST_RETRY_SECONDS = 1.0
_DEFAULT_LIMIT_SECONDS = 10.0
_LONGEST_WAIT_SECONDS = 3600.0
_SPREAD = 0.1


class Pusher:
    """Pushes heartbeats from a thread until it is stopped. An unavailable control plane does not affect the agent."""

    def __init__(self, reporter: Reporter, settings: PushSettings) -> None:
        self._reporter = reporter
        self._settings = settings
        self._bearer = Bearer(settings, self._renew)
        self._changed = threading.Condition()
        self._is_stopped = self._is_triggered = False
        self._last_status: str | None = None
        # The sequence starts at 1, so the control plane needs a new start time.
        self._started_at = iso_time(utc_now())
        self._seq = 1
        self._interval: float = settings.interval_seconds
        self._failures = 0
        self._timeout = _TIMEOUT_SECONDS
        self._seen = SeenTimes()
        self._thread = threading.Thread(target=self._run, name="platform-push", daemon=True)

    def start(self) -> None:
        """Sends the first heartbeat at once."""
        self._thread.start()

    def stop(self) -> None:
        """Sends a last heartbeat (best effort) and stops, within about a second."""
        with self._changed:
            self._is_stopped = True
            self._timeout = _LAST_BEAT_SECONDS
            self._changed.notify_all()
        # A push in flight goes on with its own limit, and is the last one. Without a free thread none was started.
        if self._thread.is_alive():
            self._thread.join(_LAST_BEAT_SECONDS + 0.2)

    def note_status(self, status: str) -> None:
        """Sends a heartbeat early if the health status has changed. Back-off and Retry-After still apply."""
        with self._changed:
            if self._last_status not in (None, status):
                self._is_triggered = True
                self._changed.notify_all()
            self._last_status = status

    def _run(self) -> None:
        while not self._is_stopped:
            self._is_triggered = False
            self._bearer.renew_if_due()
            earliest, after = self._settled(self._push())
            self._pause(earliest, after)
        if self._push()[0] != "accepted":
            debug("final heartbeat not delivered")

    def _pause(self, earliest: float, after: float) -> None:
        started = time.monotonic()
        with self._changed:
            while not self._is_stopped:
                passed = time.monotonic() - started
                left = (earliest if self._is_triggered else after) - passed
                if left <= 0:
                    return
                self._changed.wait(left)

    def _push(self) -> tuple[str, Any]:
        """`accepted`, `limited` with seconds, `refused` with status and detail, or `failed` with the reason."""
        heartbeat_id = f"{self._started_at} {self._seq}"
        try:
            # Before composing: without a token no checks are needed.
            bearer = self._bearer.current()
            body, is_shortened = fit(self._composed(heartbeat_id))
        except Exception as error:
            return "failed", describe(error)
        if is_shortened:
            warn("heartbeat shortened to the size limit", seq=self._seq)
        reply = self._post(bearer, "/api/v1/heartbeat", body)
        if isinstance(reply, str):
            return "failed", reply
        if 200 <= reply.status <= 299:
            self._accept(reply, heartbeat_id)
            return "accepted", None
        wait = retry_after(reply.headers.get("retry-after"), utc_now())
        if reply.status == 429 or (reply.status == 503 and wait is not None):
            return "limited", _DEFAULT_LIMIT_SECONDS if wait is None else wait
        return "refused", _refusal(reply, bearer)

    def _composed(self, heartbeat_id: str) -> dict[str, Any]:
        reporter = self._reporter
        health = reporter.get_report()
        if health is None:
            raise RuntimeError("no health report yet")
        usage, totals = reporter.take_usage(heartbeat_id)
        return compose(
            reporter.manifest,
            health,
            self._seen,
            {
                "instance": self._settings.instance,
                "seq": self._seq,
                "intervalSeconds": self._interval,
                "startedAt": self._started_at,
                "usage": usage,
                "totals": totals,
            },
        )

    def _accept(self, reply: Reply, heartbeat_id: str) -> None:
        self._seq += 1
        self._reporter.confirm_usage(heartbeat_id)
        interval = _member(reply, "intervalSeconds")
        if type(interval) is int and 10 <= interval <= 3600:
            self._interval = interval

    def _settled(self, outcome: tuple[str, Any]) -> tuple[float, float]:
        """Counts and logs an outcome (one warning per outage). Returns the earliest and the normal pause."""
        kind, detail = outcome
        if kind == "accepted":
            if self._failures > 0:
                info("heartbeats delivered again", after=self._failures)
            self._failures = 0
            after = _lengthened(self._interval)
            return min(_TRIGGER_GAP_SECONDS, after), after
        if kind == "limited":
            debug("heartbeat rate limited", seconds=detail)
            after = _lengthened(detail)
            return after, after
        self._failures += 1
        log = warn if self._failures == 1 else debug
        log("heartbeat not delivered", url=origin_of(self._settings.url), kind=kind, reason=detail)
        doubled = _FIRST_RETRY_SECONDS * 2.0 ** min(self._failures - 1, 20)
        after = _lengthened(min(doubled, self._interval))
        return after, after

    def _renew(self, bearer: str) -> Renewal:
        """`POST /api/v1/token`: exchanges a valid key for a new key."""
        reply = self._post(bearer, "/api/v1/token", None)
        if isinstance(reply, str):
            return reply
        if not 200 <= reply.status <= 299:
            return _refusal(reply, bearer)
        key, expires_at = _member(reply, "apiKey"), expiry_of(_member(reply, "expiresAt"))
        if not isinstance(key, str) or not is_sendable(key) or expires_at is None:
            return "the response contains no valid key"
        return key, expires_at

    def _post(self, bearer: str, path: str, body: bytes | None) -> Reply | str:
        """A text is the reason why there is no complete response."""
        url = url_below(self._settings.url, path)
        try:
            return post_json(url, body, timeout=self._timeout, bearer=bearer, ca=self._ca())
        except Late as error:
            return str(error)
        except Exception as error:
            return _redacted(describe(error), bearer)

    def _ca(self) -> str | None:
        """Read each time, because the control plane's CA may be rotated while this process runs."""
        path = self._settings.ca_file
        if path is None:
            return None
        try:
            with open(path, encoding="utf-8") as file:
                return file.read()
        except (OSError, UnicodeDecodeError) as error:
            raise OSError(f"the CA file {path} cannot be read") from error


def retry_after(value: str | None, now: float) -> float | None:
    """Seconds of a `Retry-After` header (seconds or an HTTP date); None for any other value."""
    text = (value or "").strip()
    if text.isdecimal() and text.isascii() and len(text) < 10:
        return min(float(text), _LONGEST_WAIT_SECONDS)
    from email.utils import parsedate_to_datetime

    try:
        at = parsedate_to_datetime(text).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None
    return min(max(at - now, 0.0), _LONGEST_WAIT_SECONDS)


def _lengthened(pause: float) -> float:
    """Jitter only lengthens, because a shorter interval could exceed the control plane's rate limit."""
    return pause * (1 + _SPREAD * random.random())  # noqa: S311


def _member(reply: Reply, name: str) -> Any:
    """A member of the JSON object in the body; None: absent."""
    value = json_of(reply.body or b"")
    return value.get(name) if is_record(value) else None


def _refusal(reply: Reply, bearer: str) -> str:
    """Status and `detail` of a problem body. Not the body itself: it may contain anything."""
    detail = _member(reply, "detail")
    text = detail[:300] if isinstance(detail, str) else ""
    return f"status {reply.status}: {_redacted(text, bearer)}"


def _redacted(text: str, key: str) -> str:
    return text.replace(key, "[secret]") if key else text
