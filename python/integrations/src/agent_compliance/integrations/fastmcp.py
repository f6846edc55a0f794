"""MCP servers: `fastmcp.install(server)`, for the packages `mcp` (FastMCP of 1.x, MCPServer of 2.x) and `fastmcp`.

Each call of a tool is reported to the request that carried it. A server over HTTP also serves the reports of the agent.
"""

from __future__ import annotations

import functools
import importlib
import time
from typing import TYPE_CHECKING, Any

from agent_compliance import PolicyDenied, PolicyUnavailable, current_behavior
from agent_compliance.behavior import RequestScope

from ._observe import Guardrails, Observer, only_decisions, quietly

if TYPE_CHECKING:
    from agent_compliance import Behavior, Reporter

_SCOPE_KEY = "agent_compliance.behavior"
_OBSERVER = "_agent_compliance_observer"
_APPS = ("http_app", "streamable_http_app", "sse_app")


def install(
    server: Any,
    reporter: Reporter | None = None,
    check_policy: bool = False,
    guardrails: Guardrails = None,
) -> None:
    """Reports the calls of the tools of this server. A second call for the server replaces the options.

    Call it after the server is created and before it runs. `guardrails`: names of tools that are guardrails, as
    `{name: type in the manifest}`. With `check_policy` the policy is evaluated before each call of a tool, with the
    tool as one that is called; the client gets a denial as an error of the tool.
    """
    known: Observer | None = getattr(server, _OBSERVER, None)
    if known is not None:
        known.configure(reporter, check_policy, guardrails)
        return
    observer = Observer(reporter, check_policy, guardrails)
    if hasattr(server, "add_middleware"):
        server.add_middleware(_middleware(observer))
    else:
        inner = getattr(server, "_mcp_server", None) or getattr(server, "_lowlevel_server", server)
        (_wrap_handler if hasattr(inner, "request_handlers") else _wrap_handler_of_2)(inner, observer)
    for name in _APPS:
        build = getattr(server, name, None)
        if build is not None:
            setattr(server, name, _serving(build, observer))
    setattr(server, _OBSERVER, observer)


def _serving(build: Any, observer: Observer) -> Any:
    @functools.wraps(build)
    def app(*args: Any, **kwargs: Any) -> Any:
        built = build(*args, **kwargs)
        # The first is outside: the behavior of the request is known when it goes into the scope.
        built.add_middleware(_RememberingApp)
        built.add_middleware(observer.reporter.asgi)
        return built

    return app


class _RememberingApp:
    """Puts the behavior into the scope, because a session handles its messages in the context of its first request."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            scope[_SCOPE_KEY] = current_behavior()
        await self._app(scope, receive, send)


@quietly
def _behavior_of(request: Any) -> Behavior:
    """The behavior of the HTTP request that carried the message; over stdio there is none."""
    scope: dict[str, Any] = getattr(request, "scope", None) or {}
    behavior: Behavior = scope.get(_SCOPE_KEY) or current_behavior()
    return behavior


async def _observed(observer: Observer, behavior: Behavior, name: Any, run: Any) -> Any:
    """Runs a call of a tool in the context of its request, and reports it."""
    started = time.monotonic()
    try:
        with RequestScope(behavior, closes=False):
            await _check(observer, behavior, str(name))
            result = await run()
    except (PolicyDenied, PolicyUnavailable):
        raise
    except Exception:
        observer.tool(behavior, name, False, started)
        raise
    # The server asks the client for more input, and the client repeats the call with it.
    if type(result).__name__ != "InputRequiredResult":
        has_failed = bool(_member(result, "is_error", "isError"))
        observer.tool(
            behavior, name, not has_failed, started, _member(result, "structured_content", "structuredContent")
        )
    return result


def _member(result: Any, name: str, name_of_1: str) -> Any:
    """A member of the result of a tool: `mcp` 2.x has other names than 1.x, and reading an old one is a warning."""
    content = getattr(result, "root", result)
    return getattr(content, name if hasattr(content, name) else name_of_1, None)


async def _check(observer: Observer, behavior: Behavior, name: str) -> None:
    if not observer.check_policy:
        return
    with only_decisions("policy not evaluated before a call of a tool"):
        facts = behavior.facts()
        if observer.guardrail_type(name) is None:
            facts["tools_called"] = [*facts.get("tools_called", []), name]
        await observer.reporter.acheck_policy(**facts)


_NO_TOOLS = "the server has no tools yet: register them before install"


def _wrap_handler(server: Any, observer: Observer) -> None:
    """The server of the package `mcp` 1.x: its handler of calls is replaced, and returns failures as results."""
    types = importlib.import_module("mcp.types")
    handler = server.request_handlers.get(types.CallToolRequest)
    if handler is None:
        raise ValueError(_NO_TOOLS)

    async def call_tool(request: Any) -> Any:
        behavior = _behavior_of(_current_request(server))
        name = request.params.name
        try:
            return await _observed(observer, behavior, name, lambda: handler(request))
        except (PolicyDenied, PolicyUnavailable) as error:
            return types.ServerResult(_denied(error))

    server.request_handlers[types.CallToolRequest] = call_tool


def _wrap_handler_of_2(server: Any, observer: Observer) -> None:
    """The same for `mcp` 2.x, which passes the request of each call to its handler."""
    entry = server.get_request_handler("tools/call")
    if entry is None:
        raise ValueError(_NO_TOOLS)

    async def call_tool(context: Any, params: Any) -> Any:
        behavior = _behavior_of(context.request)
        try:
            return await _observed(observer, behavior, params.name, lambda: entry.handler(context, params))
        except (PolicyDenied, PolicyUnavailable) as error:
            return _denied(error)

    server.add_request_handler("tools/call", entry.params_type, call_tool)


def _denied(error: Exception) -> Any:
    content = [{"type": "text", "text": f"denied by policy: {error}"}]
    result = importlib.import_module("mcp.types").CallToolResult
    # By the names of the protocol, which are those of both versions.
    return result.model_validate({"content": content, "isError": True})


def _current_request(server: Any) -> Any:
    try:
        return server.request_context.request
    except (LookupError, AttributeError):
        return None


def _middleware(observer: Observer) -> Any:
    """The middleware of the package `fastmcp`."""
    base = importlib.import_module("fastmcp.server.middleware").Middleware
    errors = importlib.import_module("fastmcp.exceptions")
    dependencies = importlib.import_module("fastmcp.server.dependencies")

    def current_request() -> Any:
        try:
            return dependencies.get_http_request()
        except RuntimeError:
            return None

    async def on_call_tool(_self: Any, context: Any, call_next: Any) -> Any:
        behavior = _behavior_of(current_request())
        name = context.message.name
        try:
            return await _observed(observer, behavior, name, lambda: call_next(context))
        except (PolicyDenied, PolicyUnavailable) as error:
            raise errors.ToolError(f"denied by policy: {error}") from error

    return type("AgentComplianceMiddleware", (base,), {"on_call_tool": on_call_tool})()
