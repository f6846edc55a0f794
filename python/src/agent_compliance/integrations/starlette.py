"""Starlette and FastAPI: `starlette.install(app)`.

Serves the reports of the agent, opens a behavior for each request, and answers 403 for a denial of the policy.
"""

from __future__ import annotations

import functools
import importlib
from typing import TYPE_CHECKING, Any

from agent_compliance import PolicyDenied, default_reporter

from ._observe import denial

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_compliance import Reporter


def install(app: Any, reporter: Reporter | None = None) -> None:
    """Installs the middleware outside of all others, so that responses to errors have the headers too.

    A second call replaces the reporter. Call it before the application serves its first request.
    """
    if getattr(app, "middleware_stack", None) is not None:
        raise RuntimeError("install must be called before the application serves requests")
    build = app.build_middleware_stack
    if isinstance(build, functools.partial) and build.func is _built:
        build = build.args[0]
    app.build_middleware_stack = functools.partial(_built, build, reporter or default_reporter())
    app.add_exception_handler(PolicyDenied, _denied)


def _built(build: Callable[[], Any], reporter: Reporter) -> Any:
    return reporter.asgi(build())


async def _denied(_request: Any, error: Any) -> Any:
    responses = importlib.import_module("starlette.responses")
    return responses.JSONResponse(denial(error), status_code=403)
