"""Pydantic AI: `pydantic_ai.install()`.

Models and toolsets are observed where the agent calls them. Pydantic AI has no notion of a guardrail: name the output
validators and tools that are guardrails, or report them with `current_behavior().guardrail(…)`.
"""

from __future__ import annotations

import functools
import importlib
import time
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from agent_compliance import current_behavior

from ._observe import Guardrails, Observer, Seen, blocked_by, quietly, wrap_call, wrap_methods

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from agent_compliance import Reporter

# Raised by a tool that waits for an approval or runs elsewhere: it has not failed.
_DEFERRED = frozenset({"CallDeferred", "ApprovalRequired"})

_observer = Observer()
_seen = Seen()
_running: ContextVar[frozenset[str]] = ContextVar("agent_compliance_pydantic_ai", default=frozenset())


def install(reporter: Reporter | None = None, check_policy: bool = False, guardrails: Guardrails = None) -> None:
    """Reports the runs of all agents in this process. A second call replaces the options.

    `guardrails`: names of the functions of output validators, or of tools, as `{name: type in the manifest}`. With
    `check_policy` the policy is evaluated before each model call, and `PolicyDenied` reaches the caller of the agent.
    """
    models = importlib.import_module("pydantic_ai.models")
    toolsets = importlib.import_module("pydantic_ai.toolsets")
    output = importlib.import_module("pydantic_ai._output")
    if not _observer.install(reporter, check_policy, guardrails):
        return
    wrap_methods(models.Model, {"request": wrap_call(_before, _count), "request_stream": _request_stream})
    wrap_methods(toolsets.AbstractToolset, {"call_tool": _call_tool})
    validator = getattr(output, "OutputValidator", None)
    if validator is not None:
        validator.validate = _validate(validator.validate)


async def _before(behavior: Any, _args: Any, _kwargs: Any) -> None:
    await _observer.abefore_model(behavior)


def _request_stream(original: Any) -> Any:
    @functools.wraps(original)
    @asynccontextmanager
    async def request_stream(self: Any, *args: Any, **kwargs: Any) -> AsyncGenerator[Any, None]:
        behavior = current_behavior()
        await _observer.abefore_model(behavior)
        async with original(self, *args, **kwargs) as stream:
            try:
                yield stream
            finally:
                _count_stream(behavior, self, stream)

    return request_stream


@quietly
def _count_stream(behavior: Any, model: Any, stream: Any) -> None:
    _count(behavior, model, stream.get(), stream)


@quietly
def _count(behavior: Any, model: Any, response: Any, identity: Any = None) -> None:
    if not _seen.is_first(response if identity is None else identity):
        return
    call_id = getattr(response, "provider_response_id", None)
    model_id = getattr(response, "model_name", None) or getattr(model, "model_name", None)
    _observer.model(behavior, model_id, response.usage, call_id)


def _call_tool(original: Any) -> Any:
    @functools.wraps(original)
    async def call_tool(self: Any, name: Any, tool_args: Any, ctx: Any, tool: Any) -> Any:
        # Toolsets wrap each other; the outermost one has the name that the model called.
        key = f"{getattr(ctx, 'run_id', None)} {getattr(ctx, 'tool_call_id', None) or name}"
        if key in _running.get() or _is_output(tool):
            return await original(self, name, tool_args, ctx, tool)
        behavior, started = current_behavior(), time.monotonic()
        token = _running.set(_running.get() | {key})
        try:
            result = await original(self, name, tool_args, ctx, tool)
        except Exception as error:
            if type(error).__name__ not in _DEFERRED:
                _observer.tool(behavior, name, False, started)
            raise
        finally:
            _running.reset(token)
        _observer.tool(behavior, name, True, started, result)
        return result

    return call_tool


def _is_output(tool: Any) -> bool:
    """Whether the tool only carries the structured output of the agent."""
    return getattr(getattr(tool, "tool_def", None), "kind", None) == "output"


def _validate(original: Any) -> Any:
    @functools.wraps(original)
    async def validate(self: Any, *args: Any, **kwargs: Any) -> Any:
        kind = _observer.guardrail_type(getattr(getattr(self, "function", None), "__name__", None))
        if kind is None:
            return await original(self, *args, **kwargs)
        behavior = current_behavior()
        try:
            result = await original(self, *args, **kwargs)
        except Exception:
            _report_guardrail(behavior, kind, True)
            raise
        _report_guardrail(behavior, kind, blocked_by(result) or False)
        return result

    return validate


@quietly
def _report_guardrail(behavior: Any, kind: str, blocked: bool) -> None:
    behavior.guardrail(kind, blocked=blocked)
