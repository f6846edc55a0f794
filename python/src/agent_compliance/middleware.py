"""ASGI and WSGI middleware: serves the reports, and opens a behaviour for each request."""

from __future__ import annotations

from .behavior import CURRENT, HEADERS, behavior_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Iterator, MutableMapping
    from contextvars import Context
    from typing import Any

    from .behavior import Behavior
    from .reporter import Reporter

    Scope = MutableMapping[str, Any]
    Message = MutableMapping[str, Any]
    Receive = Callable[[], Awaitable[Message]]
    Send = Callable[[Message], Awaitable[None]]
    AsgiApp = Callable[[Scope, Receive, Send], Awaitable[None]]
    WsgiApp = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]

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
    """A response whose parts are computed in the context of its request."""

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


def _request_id_in(scope: Scope) -> str | None:
    for name, value in scope["headers"]:
        if name == b"x-request-id":
            return str(value.decode("latin-1"))
    return None


def _with_headers(headers: Iterable[Any], reported: dict[str, str]) -> list[Any]:
    kept = [each for each in headers if each[0].lower() not in _ENCODED_HEADERS]
    return kept + [(name.encode(), value.encode()) for name, value in reported.items()]
