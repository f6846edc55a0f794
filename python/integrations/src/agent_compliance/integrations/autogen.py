"""AutoGen (AgentChat and Core): `autogen.install()`.

Model clients and workbenches are observed where agents call them. AutoGen has no notion of a guardrail: name the tools
that are guardrails, or report them with `current_behavior().guardrail(…)`.
"""

from __future__ import annotations

import functools
import importlib
import time
from contextlib import suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from agent_compliance import PolicyDenied, PolicyUnavailable, current_behavior

from ._observe import (
    Guardrails,
    Observer,
    Seen,
    closing,
    is_mapping,
    quietly,
    wrap_call,
    wrap_methods,
    wrap_stream,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from agent_compliance import Reporter

_observer = Observer()
_seen = Seen()
_denials: ContextVar[list[Exception] | None] = ContextVar("agent_compliance_autogen", default=None)


def install(reporter: Reporter | None = None, check_policy: bool = False, guardrails: Guardrails = None) -> None:
    """Reports the calls of all model clients and tools in this process. A second call replaces the options.

    `guardrails`: names of tools that are guardrails, as `{name: type in the manifest}`. With `check_policy` the policy
    is evaluated before each model call, and `PolicyDenied` reaches the caller of the agent or of the team.
    """
    models = importlib.import_module("autogen_core.models")
    tools = importlib.import_module("autogen_core.tools")
    if _observer.install(reporter, check_policy, guardrails):
        clients = {"create": wrap_call(_before, _count), "create_stream": wrap_stream(_before, _count)}
        wrap_methods(models.ChatCompletionClient, clients)
        wrap_methods(tools.Workbench, {"call_tool": _call_tool, "call_tool_stream": _call_tool_stream})
        _wrap_teams()


async def _before(behavior: Any, _args: Any, _kwargs: Any) -> None:
    try:
        await _observer.abefore_model(behavior)
    except (PolicyDenied, PolicyUnavailable) as error:
        denials = _denials.get()
        if denials is not None:
            denials.append(error)
        raise


@quietly
def _count(behavior: Any, client: Any, result: Any) -> None:
    # The text of a stream comes in strings; its last part is the result with the usage.
    if isinstance(result, str) or not _seen.is_first(result) or getattr(result, "cached", False):
        return
    _observer.model(behavior, _model_of(client), getattr(result, "usage", None))


def _model_of(client: Any) -> Any:
    """The model that the client was created with. Clients have no common attribute for it."""
    for _ in range(3):
        for holder in (getattr(client, "_create_args", None), getattr(client, "_raw_config", None)):
            if is_mapping(holder) and holder.get("model"):
                return holder["model"]
        named = getattr(client, "model", None) or getattr(client, "_model_name", None)
        if isinstance(named, str):
            return named
        # A cache holds the client that it wraps.
        client = getattr(client, "client", None)
    return "unknown"


def _call_tool(original: Any) -> Any:
    @functools.wraps(original)
    async def call_tool(self: Any, name: Any, *args: Any, **kwargs: Any) -> Any:
        behavior, started = current_behavior(), time.monotonic()
        try:
            result = await original(self, name, *args, **kwargs)
        except Exception:
            _observer.tool(behavior, name, False, started)
            raise
        _report(behavior, name, result, started)
        return result

    return call_tool


def _call_tool_stream(original: Any) -> Any:
    @functools.wraps(original)
    async def call_tool_stream(self: Any, name: Any, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        behavior, started = current_behavior(), time.monotonic()
        async with closing(original(self, name, *args, **kwargs)) as parts:
            async for part in parts:
                if hasattr(part, "is_error"):
                    _report(behavior, name, part, started)
                yield part

    return call_tool_stream


@quietly
def _report(behavior: Any, name: Any, result: Any, started: float) -> None:
    if _seen.is_first(result):
        _observer.tool(behavior, name, not getattr(result, "is_error", False), started)


def _wrap_teams() -> None:
    """Teams turn an exception of an agent into a RuntimeError with its text; a denial is raised in its place."""
    try:
        teams = importlib.import_module("autogen_agentchat.teams")
    except ImportError:
        return
    original = teams.BaseGroupChat.run_stream

    @functools.wraps(original)
    async def run_stream(self: Any, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        denials: list[Exception] = []
        token = _denials.set(denials)
        stream = original(self, *args, **kwargs)
        try:
            async with closing(stream) as messages:
                async for message in messages:
                    yield message
        except RuntimeError as error:
            if denials:
                raise denials[0] from error
            raise
        finally:
            _release(token)

    teams.BaseGroupChat.run_stream = run_stream


def _release(token: Any) -> None:
    # A stream can be closed in another context, where the variable was not set.
    with suppress(ValueError):
        _denials.reset(token)
