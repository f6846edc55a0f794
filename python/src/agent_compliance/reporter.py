"""The reporter of one agent."""

from __future__ import annotations

import _thread
import os
import time

from ._settings import load_manifest, memory_selection_of, price_of
from ._shared import OnceEach, cut, day_of, describe, is_count, is_name, iso_time, json_bytes, utc_now, warn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from threading import Event as Signal
    from typing import Any
    from weakref import ref

    from ._events import Event
    from ._push import Pusher
    from ._settings import ManifestInput, PushOptions
    from .behavior import AsgiMiddleware, Behavior, RequestScope, WsgiMiddleware

    Tools = Iterable[str] | Callable[[], Iterable[str]]
    Report = dict[str, Any]
    Response = tuple[int, dict[str, str], bytes]
    Window = dict[str, Any]

HEALTH_PATH = "/platform/health"
USAGE_PATH = "/platform/usage"


class Reporter:
    """Runs the health checks of one agent, counts its tokens and reports the behaviour of its requests.

    Raises ManifestError or SettingsError for invalid arguments. After that only `check_policy` raises into the agent.
    """

    def __init__(
        self,
        manifest: ManifestInput = None,
        *,
        tools: Tools | None = None,
        manifest_folder: str | None = None,
        refresh_seconds: float = 30.0,
        stale_seconds: float = 60.0,
        sidecar_url: str | None = None,
        policy_url: str | None = None,
        policy_timeout: float = 1.0,
        fail_closed: bool = False,
        push: PushOptions | bool | None = None,
        env: Mapping[str, str] | None = None,
    ) -> None:
        """Creates a reporter, not started.

        `manifest`: a dict, or the path of a .json or .yaml file; default: the file of AGENT_MANIFEST, else agent.yaml
        or agent.json. `tools`: the names of the registered tools, or a function that returns them.
        """
        from weakref import ref

        from ._events import EventSender
        from ._policy import PolicyCheck
        from ._settings import policy_url as policy_url_of
        from ._settings import push_settings, seconds
        from ._settings import sidecar_url as sidecar_url_of

        environment = os.environ if env is None else env
        self.manifest, folder = load_manifest(manifest, environment)
        self._env = environment
        self._folder = folder if manifest_folder is None else manifest_folder
        self._tools = list(tools) if tools is not None and not callable(tools) else tools
        self._refresh_seconds = seconds("refresh_seconds", refresh_seconds)
        self._stale_seconds = seconds("stale_seconds", stale_seconds)
        # The locks of `threading`, whose import takes longer than that of this package.
        self._lock = _thread.allocate_lock()
        self._checking = _thread.allocate_lock()
        self._ledger = UsageLedger(price_of(self.manifest))
        self._memory = memory_selection_of(self.manifest)
        self._once = OnceEach()
        self._policy = PolicyCheck(
            self.manifest,
            url=policy_url_of(policy_url, environment),
            timeout=seconds("policy_timeout", policy_timeout),
            fail_closed=fail_closed,
            totals=self.totals,
        )
        self.events = EventSender(sidecar_url_of(sidecar_url, environment), self.name)
        self._push_settings = push_settings(push, environment)
        self._pusher: Pusher | None = None
        self._cached: tuple[Report, float] | None = None
        self._running: Signal | None = None
        _reporters.append(ref(self, _reporters.remove))

    @property
    def name(self) -> str:
        """The agent's name in the manifest."""
        name: str = self.manifest["metadata"]["name"]
        return name

    def start(self) -> None:
        """Starts the checks (the first at once, without blocking) and the push. No effect while running."""
        if self._running is not None:
            return
        import threading

        from ._events import import_modules

        import_modules()
        with self._lock:
            if self._running is not None:
                return
            stopped = self._running = threading.Event()
            if self._push_settings is not None:
                from ._push import Pusher

                self._pusher = Pusher(self, self._push_settings)
            pusher = self._pusher
        try:
            threading.Thread(target=self._run, args=(stopped,), name="platform-checks", daemon=True).start()
            if pusher is not None:
                pusher.start()
        except RuntimeError as error:
            # At the limit of threads. The agent's request goes on, and requests for the report run the checks.
            warn("failed to start the threads of the reporter", reason=describe(error))
        import atexit

        atexit.register(self.stop)

    def stop(self) -> None:
        """Ends the checks; sends waiting events and, with push, a last heartbeat, within about a second each."""
        with self._lock:
            running, self._running = self._running, None
            pusher, self._pusher = self._pusher, None
        if running is not None:
            running.set()
            if pusher is not None:
                pusher.stop()
            import atexit

            atexit.unregister(self.stop)
        self.events.flush()

    def get_report(self) -> Report | None:
        """Running: the cached report, or a new one if it is older than `stale_seconds`.

        Stopped: the last report without new checks; None if there is none.
        """
        cached = self._cached
        if cached is not None and (self._running is None or not self._is_stale(cached)):
            return cached[0]
        return None if self._running is None else self._refreshed()

    def get_usage(self) -> Report:
        """Token usage since the last accepted heartbeat, or since the reporter was created."""
        with self._lock:
            return {"source": "agent-sdk", **self._ledger.window()}

    def totals(self) -> dict[str, float]:
        """Tokens, and the cost if prices are declared, of the current UTC day."""
        with self._lock:
            return self._ledger.totals()

    def take_usage(self, heartbeat_id: str) -> tuple[Report, Report]:
        with self._lock:
            return self._ledger.take(heartbeat_id), self._ledger.totals()

    def confirm_usage(self, heartbeat_id: str) -> None:
        with self._lock:
            self._ledger.confirm(heartbeat_id)

    def record_usage(self, model_id: str, prompt_tokens: int, completion_tokens: int) -> bool:
        """Counts a model call of the current request, if there is one. False: a count is not valid."""
        from .behavior import current_behavior

        return self.count_usage(current_behavior().request_id, model_id, prompt_tokens, completion_tokens)

    def count_usage(self, request_id: str | None, model_id: str, prompt: int, completion: int) -> bool:
        reason = self._ledger.problem_of(model_id, prompt, completion)
        if reason is not None:
            self._once.warn("invalid usage arguments, usage not counted", reason)
            return False
        with self._lock:
            counted = self._ledger.record(model_id, prompt, completion)
        # With push the heartbeats contain the usage; an event would count it twice.
        if self._push_settings is None:
            event = {"type": "model", "modelId": counted, "promptTokens": prompt, "completionTokens": completion}
            if not self.events.send(request_id, [event]):
                self._once.warn("usage not sent to sidecar", "event queue full")
        return True

    def behavior(self, request_id: str | None = None) -> Behavior:
        """A behaviour for one request. `request_id`: the value of `x-request-id`, which the sidecar adds."""
        from .behavior import behavior_of

        return behavior_of(self, request_id)

    def request(self, request_id: str | None = None) -> RequestScope:
        """For servers that are neither ASGI nor WSGI: `with reporter.request(id) as behavior:`."""
        from .behavior import RequestScope

        return RequestScope(self.behavior(request_id))

    def check_policy(self, **facts: object) -> None:
        """Evaluates the policy before a model call. Raises PolicyDenied, PolicyUnavailable or TypeError."""
        self._policy.check(facts)

    async def acheck_policy(self, **facts: object) -> None:
        """The same for asyncio: the event loop does not wait for the policy engine."""
        if not self._policy.is_remote:
            self._policy.check(facts)
            return
        import asyncio

        await asyncio.to_thread(self._policy.check, facts)

    def asgi(self, app: Any) -> AsgiMiddleware:
        """The ASGI application with the reports and the headers."""
        from .behavior import AsgiMiddleware

        return AsgiMiddleware(app, self)

    def wsgi(self, app: Any) -> WsgiMiddleware:
        """The WSGI application with the reports and the headers."""
        from .behavior import WsgiMiddleware

        return WsgiMiddleware(app, self)

    def route_of(self, path: str, root_path: str) -> str | None:
        """The path of a report, without the path under which the application is mounted; None: not a report."""
        if not path.startswith("/platform/") and root_path and path.startswith(root_path):
            path = path[len(root_path) :]
        return path if path in (HEALTH_PATH, USAGE_PATH) else None

    def waits_for_checks(self, path: str) -> bool:
        cached = self._cached
        return path == HEALTH_PATH and self._running is not None and (cached is None or self._is_stale(cached))

    def respond(self, method: str, path: str) -> Response:
        status, value, more = self._result(method, path)
        body = json_bytes(value)
        kind = "application/json" if status == 200 else "application/problem+json"
        headers = {"content-type": kind, "cache-control": "no-store", **more, "content-length": str(len(body))}
        return status, headers, b"" if method == "HEAD" else body

    def send_event(self, request_id: str | None, event: Event) -> bool:
        return self.events.send(request_id, [event])

    def lost(self, name: object, reason: str) -> None:
        self._once.warn("behavior not reported", reason, name=repr(name)[:200])

    def memory_selection(self) -> tuple[float | None, tuple[str, ...]]:
        return self._memory

    def _result(self, method: str, path: str) -> tuple[int, Report, dict[str, str]]:
        if method not in ("GET", "HEAD"):
            detail = f"{method} is not allowed on {path}"
            return 405, _problem(405, "Method Not Allowed", detail), {"allow": "GET, HEAD"}
        if path == USAGE_PATH:
            return 200, self.get_usage(), {}
        try:
            report = self.get_report()
        except Exception as error:
            # The reason is for the agent's owner and not for HTTP clients.
            warn("failed to create health report", reason=describe(error))
            return 503, _problem(503, "Service Unavailable", "the health checks could not run"), {}
        if report is None:
            return 503, _problem(503, "Service Unavailable", "the reporter was not started"), {}
        return 200, report, {}

    def _is_stale(self, cached: tuple[Report, float]) -> bool:
        return time.monotonic() - cached[1] > self._stale_seconds

    def _run(self, stopped: Signal) -> None:
        while not stopped.is_set():
            started = time.monotonic()
            try:
                self._refreshed(since=started)
            except Exception as error:
                warn("failed to create health report, retrying", reason=describe(error))
            stopped.wait(self._refresh_seconds)

    def _refreshed(self, since: float | None = None) -> Report:
        """A new report. Concurrent callers share one run. `since`: older reports do not count."""
        with self._checking:
            cached = self._cached
            if cached is not None and (cached[1] >= since if since is not None else not self._is_stale(cached)):
                return cached[0]
            report = self._checked()
            self._cached = (report, time.monotonic())
        if self._pusher is not None:
            self._pusher.note_status(report["status"])
        return report

    def _checked(self) -> Report:
        from ._checks import run_checks, status_of, summary_of

        tools = self._tools() if callable(self._tools) else self._tools
        checks = run_checks(self.manifest, self._env, self._folder, None if tools is None else set(tools))
        return {
            "agentName": self.name,
            "timestamp": iso_time(utc_now()),
            "status": status_of(checks),
            "summary": summary_of(checks),
            "checks": checks,
        }

    def after_fork(self) -> None:
        """A forked process has no threads, locks of other threads stay locked, and the parent ships its usage."""
        self._lock = _thread.allocate_lock()
        self._checking = _thread.allocate_lock()
        self._running = None
        self._pusher = None
        self._ledger = UsageLedger(price_of(self.manifest))
        self._policy.after_fork()
        self.events.after_fork()


def _problem(status: int, title: str, detail: str) -> Report:
    return {"type": "about:blank", "title": title, "status": status, "detail": detail}


_reporters: list[ref[Reporter]] = []


def _after_fork() -> None:
    global _default_lock
    _default_lock = _thread.allocate_lock()
    for each in [*_reporters]:
        reporter = each()
        if reporter is not None:
            reporter.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)

_default: Reporter | None = None
_default_lock = _thread.allocate_lock()


def default_reporter() -> Reporter:
    """The reporter of this process, created at the first call with the manifest of the working directory."""
    global _default
    with _default_lock:
        if _default is None:
            _default = Reporter()
        return _default


def set_default_reporter(reporter: Reporter | None) -> None:
    """Replaces the reporter that `default_reporter` returns."""
    global _default
    with _default_lock:
        _default = reporter


_MAX_MODELS = 99
_MAX_MODEL_ID = 200
_OTHER = "(other)"
_COUNTS = ("promptTokens", "completionTokens", "totalTokens", "callCount")


class UsageLedger:
    """Counts stay here until their heartbeat is accepted, so a lost heartbeat loses no counts.

    Not synchronised: the reporter calls it with its lock.
    """

    def __init__(self, price: tuple[float, float] | None) -> None:
        self._price = price
        self._started = iso_time(utc_now())
        self._models: dict[str, list[int]] = {}
        self._taken: tuple[str, Window, str] | None = None
        self._day = day_of(utc_now())
        self._today = [0, 0]

    @staticmethod
    def problem_of(model_id: object, prompt_tokens: object, completion_tokens: object) -> str | None:
        """Why a call is not counted; None: it is valid."""
        if not is_name(model_id):
            return "model_id must be a non-empty string"
        for name, count in (("prompt_tokens", prompt_tokens), ("completion_tokens", completion_tokens)):
            if not is_count(count):
                return f"{name} must be a whole number from 0 to 1000000000"
        return None

    def record(self, model_id: str, prompt_tokens: int, completion_tokens: int) -> str:
        counted = cut(model_id, _MAX_MODEL_ID)
        name = counted if counted in self._models or len(self._models) < _MAX_MODELS else _OTHER
        sums = self._models.setdefault(name, [0, 0, 0, 0])
        for index, more in enumerate((prompt_tokens, completion_tokens, prompt_tokens + completion_tokens, 1)):
            sums[index] += more
        today = day_of(utc_now())
        if today != self._day:
            self._day, self._today = today, [0, 0]
        self._today[0] += prompt_tokens
        self._today[1] += completion_tokens
        return counted

    def window(self) -> Window:
        models = [
            {"modelId": model_id, **dict(zip(_COUNTS, sums, strict=True))} for model_id, sums in self._models.items()
        ]
        return {
            "windowStartedAt": self._started,
            "models": models,
            "totalTokens": sum(sums[2] for sums in self._models.values()),
            "totalCalls": sum(sums[3] for sums in self._models.values()),
        }

    def take(self, heartbeat_id: str) -> Window:
        # An unconfirmed window of another heartbeat is still part of the counts, so this heartbeat contains it.
        if self._taken is None or self._taken[0] != heartbeat_id:
            self._taken = (heartbeat_id, self.window(), iso_time(utc_now()))
        return self._taken[1]

    def confirm(self, heartbeat_id: str) -> None:
        if self._taken is None or self._taken[0] != heartbeat_id:
            return
        _, shipped, taken_at = self._taken
        for model in shipped["models"]:
            sums = self._models[model["modelId"]]
            for index, name in enumerate(_COUNTS):
                sums[index] -= model[name]
            if sums[3] <= 0:
                del self._models[model["modelId"]]
        self._started, self._taken = taken_at, None

    def totals(self) -> dict[str, float]:
        prompt, completion = self._today if self._day == day_of(utc_now()) else (0, 0)
        totals: dict[str, float] = {"tokensToday": prompt + completion}
        if self._price is not None:
            totals["costTodayUsd"] = (prompt * self._price[0] + completion * self._price[1]) / 1e6
        return totals
