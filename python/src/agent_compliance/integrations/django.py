"""Django: `MIDDLEWARE = ["agent_compliance.integrations.django.Middleware", …]`, as the first entry.

Serves the reports of the agent, opens a behavior for each request, and returns 403 for a denial of the policy.
Works under WSGI and ASGI.
"""

from __future__ import annotations

import asyncio
import importlib
from typing import TYPE_CHECKING, Any

from agent_compliance import PolicyDenied, default_reporter
from agent_compliance.behavior import HEADERS, RequestScope, denial

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from agent_compliance import Behavior, Reporter

_END = object()


class Middleware:
    """The middleware. The reporter is that of the process (`set_default_reporter` replaces it)."""

    sync_capable = True
    async_capable = True

    def __init__(self, get_response: Any) -> None:
        self._get_response = get_response
        self._http = importlib.import_module("django.http")
        asgiref = importlib.import_module("asgiref.sync")
        self._is_async = asgiref.iscoroutinefunction(get_response)
        if self._is_async:
            asgiref.markcoroutinefunction(self)

    def __call__(self, request: Any) -> Any:
        """Responds to the request, as a coroutine if the rest of the application is asynchronous."""
        reporter = default_reporter()
        reporter.start()
        if self._is_async:
            return self._respond_async(reporter, request)
        path = reporter.route_of(request.path_info, "")
        if path is not None:
            return self._report(reporter.respond(request.method, path))
        behavior = reporter.behavior(request.headers.get("x-request-id"))
        with RequestScope(behavior, closes=False):
            return self._finished(self._get_response(request), behavior)

    async def _respond_async(self, reporter: Reporter, request: Any) -> Any:
        path = reporter.route_of(request.path_info, "")
        if path is not None:
            return self._report(await asyncio.to_thread(reporter.respond, request.method, path))
        behavior = reporter.behavior(request.headers.get("x-request-id"))
        with RequestScope(behavior, closes=False):
            return self._finished(await self._get_response(request), behavior)

    def process_exception(self, _request: Any, error: Exception) -> Any:
        """Returns 403 for a denial that a view did not handle."""
        return self._http.JsonResponse(denial(error), status=403) if isinstance(error, PolicyDenied) else None

    def _report(self, report: tuple[int, dict[str, str], bytes]) -> Any:
        status, headers, body = report
        return self._http.HttpResponse(body, status=status, headers=headers)

    def _finished(self, response: Any, behavior: Behavior) -> Any:
        """The response with the headers. The parts of a stream are computed in the context of its request."""
        reported = behavior.headers()
        if reported:
            for name in HEADERS:
                del response[name]
            for name, value in reported.items():
                response[name] = value
        if not response.streaming:
            behavior.close()
        elif getattr(response, "is_async", False):
            response.streaming_content = _async_parts(response.streaming_content, behavior)
        else:
            response.streaming_content = _parts(response.streaming_content, behavior)
        return response


def _parts(parts: Any, behavior: Behavior) -> Iterator[Any]:
    iterator = iter(parts)
    try:
        while True:
            # Not across `yield`: between two parts the thread serves the server.
            with RequestScope(behavior, closes=False):
                part = next(iterator, _END)
            if part is _END:
                return
            yield part
    finally:
        behavior.close()


async def _async_parts(parts: Any, behavior: Behavior) -> AsyncIterator[Any]:
    iterator: Any = aiter(parts)
    try:
        while True:
            with RequestScope(behavior, closes=False):
                part: Any = await anext(iterator, _END)
            if part is _END:
                return
            yield part
    finally:
        behavior.close()
