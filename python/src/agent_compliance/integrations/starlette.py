"""Starlette and FastAPI: `starlette.install(app)`.

Serves the reports of the agent, opens a behavior for each request, and returns 403 for a denial of the policy.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from agent_compliance import PolicyDenied, default_reporter
from agent_compliance.behavior import denial

if TYPE_CHECKING:
    from agent_compliance import Reporter


def install(app: Any, reporter: Reporter | None = None) -> None:
    """Installs the middleware outside of all others, so that responses to errors have the headers too.

    A second call replaces the reporter. Call it before the application serves its first request.
    """
    if getattr(app, "middleware_stack", None) is not None:
        raise RuntimeError("install must be called before the application serves requests")
    used = reporter or default_reporter()
    # That of the application, also at a second call.
    build = app.__dict__.setdefault("_agent_compliance_build", app.build_middleware_stack)
    app.build_middleware_stack = lambda: used.asgi(build())
    app.add_exception_handler(PolicyDenied, _denied)


async def _denied(_request: Any, error: Any) -> Any:
    responses = importlib.import_module("starlette.responses")
    return responses.JSONResponse(denial(error), status_code=403)
