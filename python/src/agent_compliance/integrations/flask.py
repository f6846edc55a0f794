"""Flask: `flask.install(app)`.

Serves the reports of the agent, opens a behavior for each request, and returns 403 for a denial of the policy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agent_compliance import PolicyDenied, default_reporter
from agent_compliance.behavior import WsgiMiddleware, denial

if TYPE_CHECKING:
    from agent_compliance import Reporter


def install(app: Any, reporter: Reporter | None = None) -> None:
    """Installs the middleware around the application. A second call replaces the reporter."""
    used, inner = reporter or default_reporter(), app.wsgi_app
    app.wsgi_app = used.wsgi(inner.app if isinstance(inner, WsgiMiddleware) else inner)
    app.register_error_handler(PolicyDenied, _denied)


def _denied(error: PolicyDenied) -> tuple[dict[str, Any], int]:
    return denial(error), 403
