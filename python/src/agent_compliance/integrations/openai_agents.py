"""OpenAI Agents SDK: `openai_agents.install()`.

Model calls are counted where the SDK calls its models, so they need no tracing. A tracing processor reports tools and
guardrails.
"""

from __future__ import annotations

import functools
import importlib
from typing import TYPE_CHECKING, Any

from agent_compliance import current_behavior

from ._observe import Guardrails, Observer, Open, Seen, as_type, closing, log_once, quietly, wrap_methods

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from agent_compliance import Reporter

_FAKE_ID = "__fake_id__"
_TERMINAL = frozenset({"response.completed", "response.incomplete", "response.failed"})

_observer = Observer()
_seen = Seen()
_is_installed = False


def install(
    reporter: Reporter | None = None,
    check_policy: bool = False,
    guardrails: Guardrails = None,
    export: bool = True,
) -> None:
    """Reports the runs of all agents in this process. A second call replaces the options.

    `guardrails`: types of the guardrails by their names; a name such as `pii_detector` needs no entry. `export=False`
    removes the exporter that sends traces to OpenAI; use it instead of disabling the tracing, because tools and
    guardrails are reported by the tracing. With `check_policy` the policy is evaluated before each model call, and
    `PolicyDenied` reaches the caller of the runner.
    """
    global _observer, _is_installed
    agents = importlib.import_module("agents")
    _observer = Observer(reporter, check_policy, guardrails)
    if _is_installed:
        return
    _is_installed = True
    wrap_methods(agents.Model, {"get_response": _get_response, "stream_response": _stream_response})
    if export:
        agents.add_trace_processor(_Processor())
    else:
        agents.set_trace_processors([_Processor()])


def _get_response(original: Any) -> Any:
    @functools.wraps(original)
    async def get_response(self: Any, *args: Any, **kwargs: Any) -> Any:
        behavior = current_behavior()
        _warn_without_tracing(args, kwargs)
        await _observer.abefore_model(behavior)
        response = await original(self, *args, **kwargs)
        _count(behavior, self, response, getattr(response, "response_id", None))
        return response

    return get_response


def _stream_response(original: Any) -> Any:
    @functools.wraps(original)
    async def stream_response(self: Any, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        behavior = current_behavior()
        _warn_without_tracing(args, kwargs)
        await _observer.abefore_model(behavior)
        async with closing(original(self, *args, **kwargs)) as events:
            async for event in events:
                # Before the event: the SDK may stop at the last one.
                if getattr(event, "type", None) in _TERMINAL:
                    response = getattr(event, "response", None)
                    _count(behavior, self, response, getattr(response, "id", None))
                yield event

    return stream_response


@quietly
def _count(behavior: Any, model: Any, response: Any, response_id: Any) -> None:
    if response is None or not _seen.is_first(response):
        return
    model_id = getattr(model, "model", None) or getattr(response, "model", None)
    call_id = None if response_id == _FAKE_ID else response_id
    _observer.model(behavior, model_id, getattr(response, "usage", None), call_id)


@quietly
def _warn_without_tracing(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    tracing = next((each for each in (*args, *kwargs.values()) if type(each).__name__ == "ModelTracing"), None)
    if tracing is not None and tracing.is_disabled():
        log_once("tools and guardrails of OpenAI Agents not observed: tracing is disabled; see install(export=False)")


class _Processor:
    """A tracing processor, by its methods. The SDK catches exceptions of processors."""

    def __init__(self) -> None:
        self._open = Open()

    @quietly
    def on_span_start(self, span: Any) -> None:
        """A tool or a guardrail begins."""
        if span.span_data.type in ("function", "guardrail"):
            self._open.begin(span.span_id)

    @quietly
    def on_span_end(self, span: Any) -> None:
        """A tool or a guardrail has ended."""
        data = span.span_data
        if data.type == "function":
            behavior, started, _ = self._open.end(span.span_id)
            _observer.tool(behavior, data.name, span.error is None, started)
        elif data.type == "guardrail":
            behavior, _, _ = self._open.end(span.span_id)
            kind = _observer.guardrail_type(data.name) or as_type(data.name)
            behavior.guardrail(kind, blocked=data.triggered if span.error is None or data.triggered else None)

    def on_trace_start(self, trace: Any) -> None:
        """Traces are not reported."""

    def on_trace_end(self, trace: Any) -> None:
        """Traces are not reported."""

    def shutdown(self, timeout: float | None = None) -> None:
        """Nothing is open."""

    def force_flush(self) -> None:
        """Nothing waits."""
