"""Behaviour of one request: headers of its response, events for the sidecar, and the ASGI and WSGI middleware."""

from __future__ import annotations

import time
from contextvars import ContextVar

from ._shared import OnceEach, header_form, is_name, is_number, is_whole, reported_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Iterator, MutableMapping
    from contextvars import Context, Token
    from typing import Any

    from ._events import Event
    from ._policy import PolicyDenied
    from .reporter import Reporter

    Scope = MutableMapping[str, Any]
    Message = MutableMapping[str, Any]
    Receive = Callable[[], Awaitable[Message]]
    Send = Callable[[Message], Awaitable[None]]
    AsgiApp = Callable[[Scope, Receive, Send], Awaitable[None]]
    WsgiApp = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]

GUARDRAILS_HEADER = "x-platform-guardrails-invoked"
TOOLS_HEADER = "x-platform-tools-called"
CONFIRMED_HEADER = "x-platform-user-confirmed"
HEADERS = (GUARDRAILS_HEADER, TOOLS_HEADER, CONFIRMED_HEADER)

# Limit of one list. Parsers reject response heads above 16 KiB.
_MAX_LIST = 4608
# Limit of the names that a request keeps for the policy.
_MAX_NAMES = 1000
# Work belongs to its request for this time after the response: a worker that a request started runs longer.
_GRACE_SECONDS = 60.0
_LATE = "response head already sent or full, and event dropped"


class Behavior:
    """Reports what the agent did for one request.

    Data before the response head goes into headers. Later data, and details such as a score, go to the sidecar as
    events. Each method returns False if the data could not be delivered. No method raises.
    """

    def __init__(self, sink: Reporter | _NoSink, request_id: str | None) -> None:
        self._sink = sink
        self._request_id = request_id
        self._has_begun = False
        self._is_taken = False
        self._closed_at: float | None = None
        # Names in the headers, and below for the policy, also after the head was sent. Dictionaries keep the order.
        self._guardrails: dict[str, None] = {}
        self._tools: dict[str, None] = {}
        self._confirmed: bool | None = None
        self._toxicity: float | None = None
        self._ttl: float | None = None
        self._call_ids: set[str] = set()
        self._invoked: dict[str, None] = {}
        self._called: dict[str, None] = {}

    @property
    def request_id(self) -> str | None:
        """The id that the sidecar gave the request; None: the request did not come through a sidecar."""
        return self._request_id

    def begin(self) -> bool:
        """Reports that the request calls a model: from here an empty list of guardrails is a fact."""
        self._has_begun = True
        return not self._is_taken

    def guardrail(
        self, name: str, blocked: bool | None = None, score: float | None = None, *, invoked: bool = True
    ) -> bool:
        """A guardrail, by its type in the manifest. `score`: for example the toxicity."""
        if not is_name(name):
            return self._reject(name)
        self._has_begun = True
        if name == "toxicity-filter" and is_number(score, -1e9, 1e9):
            self._toxicity = score if self._toxicity is None else max(self._toxicity, score)
        kind = reported_name(name)
        if invoked:
            _remember(self._invoked, kind)
        is_listed = invoked and self._list(self._guardrails, kind)
        if is_listed and blocked is None and score is None:
            return True
        event: dict[str, Any] = {"type": "guardrail", "guardrailType": kind, "invoked": invoked}
        return self._send(event, {"blocked": blocked, "score": score}, is_listed)

    def tool(self, name: str, success: bool | None = None, latency_ms: float | None = None) -> bool:
        """A call of a tool, by its name in the manifest."""
        if not is_name(name):
            return self._reject(name)
        self._has_begun = True
        reported = reported_name(name)
        _remember(self._called, reported)
        is_listed = self._list(self._tools, reported)
        if is_listed and success is None and latency_ms is None:
            return True
        details = {"success": success, "latencyMs": latency_ms}
        return self._send({"type": "tool", "name": reported}, details, is_listed)

    def model(self, model_id: str, prompt_tokens: int, completion_tokens: int, call_id: str | None = None) -> bool:
        """One call of a model with its tokens. Several reports with one `call_id` count once."""
        self._has_begun = True
        if call_id is not None and call_id in self._call_ids:
            return True
        is_counted = self._sink.count_usage(self._request_id, model_id, prompt_tokens, completion_tokens)
        if is_counted and call_id is not None and len(self._call_ids) < 10_000:
            self._call_ids.add(call_id)
        return is_counted

    def memory(
        self, backend: str | None = None, ttl_seconds: int | None = None, pii_scrubbed: bool | None = None
    ) -> bool:
        """A write to memory. There is no header for it, only an event."""
        self._has_begun = True
        declared, other_backends = self._sink.memory_selection()
        is_short_term = backend is None or backend not in other_backends
        # Of several writes, one whose TTL differs from the declared one.
        if is_whole(ttl_seconds) and is_short_term and (self._ttl is None or ttl_seconds != declared):
            self._ttl = ttl_seconds
        details = {
            "backend": reported_name(backend) if is_name(backend) else None,
            "ttlSeconds": ttl_seconds,
            "piiScrubbed": pii_scrubbed,
        }
        return self._send({"type": "memory"}, details, is_listed=False)

    def confirmed(self, value: bool = True) -> bool:
        """Whether the user confirmed a destructive tool. Only before the response head: there is no event for it."""
        is_flag = isinstance(value, bool)  # pyright: ignore[reportUnnecessaryIsInstance]
        if not is_flag or self._is_taken:
            self._sink.lost("confirmed", "response head already sent" if is_flag else "not a boolean")
            return False
        self._has_begun = True
        self._confirmed = value
        return True

    def facts(self) -> dict[str, Any]:
        """The facts of the request so far, for `check_policy(**facts)`."""
        facts: dict[str, Any] = {
            "guardrails_invoked": list(self._invoked),
            "tools_called": list(self._called),
        }
        if self._confirmed is not None:
            facts["user_confirmed"] = self._confirmed
        if self._toxicity is not None:
            facts["toxicity_score"] = self._toxicity
        if self._ttl is not None:
            facts["memory_ttl_seconds"] = self._ttl
        return facts

    def headers(self) -> dict[str, str]:
        """The headers for the response, none if nothing was reported. From here the head counts as sent."""
        self._is_taken = True
        if not self._has_begun:
            return {}
        headers = {GUARDRAILS_HEADER: ", ".join(self._guardrails), TOOLS_HEADER: ", ".join(self._tools)}
        if self._confirmed is not None:
            headers[CONFIRMED_HEADER] = "true" if self._confirmed else "false"
        return headers

    def close(self) -> None:
        """The response has ended. After one minute `current_behavior()` no longer returns this object."""
        self._is_taken = True
        self._closed_at = time.monotonic()

    def is_over(self) -> bool:
        return self._closed_at is not None and time.monotonic() - self._closed_at > _GRACE_SECONDS

    def _list(self, names: dict[str, None], name: str) -> bool:
        encoded = header_form(name)
        if encoded in names:
            return True
        if self._is_taken or sum(map(len, names)) + 2 * len(names) + len(encoded) > _MAX_LIST:
            return False
        names[encoded] = None
        return True

    def _send(self, event: dict[str, Any], details: dict[str, Any], is_listed: bool) -> bool:
        event.update((name, value) for name, value in details.items() if value is not None)
        is_sent = self._request_id is not None and self._sink.send_event(self._request_id, event)
        if not is_sent and not is_listed:
            self._sink.lost(event.get("guardrailType") or event.get("name") or event["type"], _LATE)
        return is_sent or is_listed

    def _reject(self, name: object) -> bool:
        self._sink.lost(name, "not a valid name")
        return False


def _remember(names: dict[str, None], name: str) -> None:
    if len(names) < _MAX_NAMES:
        names[name] = None


class _NoSink:
    def send_event(self, request_id: str | None, event: Event) -> bool:
        return False

    def count_usage(self, request_id: str | None, model_id: str, prompt: int, completion: int) -> bool:
        from ._shared import describe, warn
        from .reporter import default_reporter

        try:
            reporter = default_reporter()
        except Exception as error:
            warn("usage not counted: there is no reporter", reason=describe(error))
            return False
        return reporter.count_usage(None, model_id, prompt, completion)

    def lost(self, name: object, reason: str) -> None:
        _once.warn("no open request, guardrails and tools not reported", "install the web framework's integration")

    def memory_selection(self) -> tuple[float | None, tuple[str, ...]]:
        return None, ()


class _NoRequest(Behavior):
    """Outside a request. Methods return False, and `model` counts without a request."""

    def __init__(self) -> None:
        super().__init__(_NO_SINK, None)
        self._is_taken = True

    def begin(self) -> bool:
        return self.confirmed()

    def facts(self) -> dict[str, Any]:
        """What ran before is unknown: None, which does not deny."""
        self.begin()
        return {"guardrails_invoked": None, "user_confirmed": None}

    def headers(self) -> dict[str, str]:
        return {}


_NO_SINK = _NoSink()
_once = OnceEach()
CURRENT: ContextVar[Behavior | None] = ContextVar("agent_compliance_behavior", default=None)


def current_behavior() -> Behavior:
    """The behaviour of the request in whose context the caller runs, else an object that reports nothing."""
    behavior = CURRENT.get()
    return _NoRequest() if behavior is None or behavior.is_over() else behavior


def behavior_of(sink: Reporter | _NoSink, request_id: str | None) -> Behavior:
    """A behaviour for one request. The sidecar has no longer ids."""
    return Behavior(sink, request_id if request_id and len(request_id) <= 128 else None)


class RequestScope:
    """Makes a behaviour the current one in a `with` block, and closes it at the end unless `closes` is False."""

    __slots__ = ("_behavior", "_closes", "_token")

    def __init__(self, behavior: Behavior, closes: bool = True) -> None:
        self._behavior = behavior
        self._closes = closes
        self._token: Token[Behavior | None] | None = None

    def __enter__(self) -> Behavior:
        self._token = CURRENT.set(self._behavior)
        return self._behavior

    def __exit__(self, *_error: object) -> None:
        if self._closes:
            self._behavior.close()
        if self._token is not None:
            CURRENT.reset(self._token)


_ENCODED_HEADERS = tuple(name.encode() for name in HEADERS)
_REASONS = {200: "200 OK", 405: "405 Method Not Allowed", 503: "503 Service Unavailable"}


class AsgiMiddleware:
    """Serves `/platform/health` and `/platform/usage`, and opens a Behavior for every other request."""

    def __init__(self, app: Any, reporter: Reporter) -> None:
        self.app: AsgiApp = app
        self.reporter = reporter

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        kind = scope["type"]
        if kind == "lifespan":
            await self._lifespan(scope, receive, send)
            return
        if kind != "http":
            await self.app(scope, receive, send)
            return
        reporter = self.reporter
        reporter.start()
        path = reporter.route_of(scope["path"], scope.get("root_path", ""))
        if path is not None:
            await self._serve(scope["method"], path, send)
            return
        behavior = behavior_of(reporter, _request_id_in(scope))

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                reported = behavior.headers()
                if reported:
                    message = {**message, "headers": _with_headers(message.get("headers", ()), reported)}
            await send(message)

        # Without a `with` block, which would cost a tenth of what the middleware costs.
        token = CURRENT.set(behavior)
        try:
            await self.app(scope, receive, send_with_headers)
        finally:
            behavior.close()
            CURRENT.reset(token)

    async def _lifespan(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.reporter.start()
        try:
            await self.app(scope, receive, send)
        finally:
            import asyncio

            await asyncio.to_thread(self.reporter.stop)

    async def _serve(self, method: str, path: str, send: Send) -> None:
        reporter = self.reporter
        if reporter.waits_for_checks(path):
            import asyncio

            status, headers, body = await asyncio.to_thread(reporter.respond, method, path)
        else:
            status, headers, body = reporter.respond(method, path)
        encoded = [(name.encode(), value.encode()) for name, value in headers.items()]
        await send({"type": "http.response.start", "status": status, "headers": encoded})
        await send({"type": "http.response.body", "body": body})


class WsgiMiddleware:
    """The same for WSGI applications."""

    def __init__(self, app: Any, reporter: Reporter) -> None:
        self.app: WsgiApp = app
        self.reporter = reporter

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        reporter = self.reporter
        reporter.start()
        path = reporter.route_of(environ.get("PATH_INFO", ""), "")
        if path is not None:
            status, headers, body = reporter.respond(environ["REQUEST_METHOD"], path)
            start_response(_REASONS[status], list(headers.items()))
            return [body]
        from contextvars import copy_context

        behavior = behavior_of(reporter, environ.get("HTTP_X_REQUEST_ID"))

        def start_with_headers(status: str, headers: list[tuple[str, str]], *exc_info: Any) -> Any:
            reported = behavior.headers()
            if reported:
                headers = [each for each in headers if each[0].lower() not in HEADERS] + [*reported.items()]
            return start_response(status, headers, *exc_info)

        context = copy_context()
        context.run(CURRENT.set, behavior)
        try:
            body_parts = context.run(self.app, environ, start_with_headers)
        except BaseException:
            behavior.close()
            raise
        wrapper = environ.get("wsgi.file_wrapper")
        if isinstance(body_parts, (list, tuple)) or (isinstance(wrapper, type) and isinstance(body_parts, wrapper)):
            # Complete, or sent by the server itself.
            behavior.close()
            return body_parts
        return _Parts(body_parts, behavior, context)


class _Parts:
    def __init__(self, parts: Iterable[bytes], behavior: Behavior, context: Context) -> None:
        self._parts = parts
        self._behavior = behavior
        self._context = context
        self._iterator: Iterator[bytes] | None = None

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        if self._iterator is None:
            self._iterator = self._context.run(iter, self._parts)
        return self._context.run(next, self._iterator)

    def close(self) -> None:
        """Called by the server at the end of the response."""
        self._behavior.close()
        close = getattr(self._parts, "close", None)
        if close is not None:
            self._context.run(close)


def denial(error: PolicyDenied) -> dict[str, Any]:
    """The body of a 403 response, in the form of the sidecar."""
    return {
        "error": "PolicyViolation",
        "blocked": True,
        "violations": error.violations,
        "message": f"The model call is blocked by policy: {', '.join(error.violations)}",
    }


def _request_id_in(scope: Scope) -> str | None:
    for name, value in scope["headers"]:
        if name == b"x-request-id":
            return str(value.decode("latin-1"))
    return None


def _with_headers(headers: Iterable[Any], reported: dict[str, str]) -> list[Any]:
    kept = [each for each in headers if each[0].lower() not in _ENCODED_HEADERS]
    return kept + [(name.encode(), value.encode()) for name, value in reported.items()]
