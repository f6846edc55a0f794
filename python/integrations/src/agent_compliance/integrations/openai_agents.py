"""OpenAI Agents SDK: `openai_agents.install()`.

Model calls are counted where the SDK calls its models, so they need no tracing. A tracing processor reports tools and
guardrails.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ._observe import (
    Guardrails,
    Observer,
    Open,
    Seen,
    as_type,
    log_once,
    quietly,
    wrap_call,
    wrap_methods,
    wrap_stream,
)

if TYPE_CHECKING:
    from agent_compliance import Reporter

_FAKE_ID = "__fake_id__"
_TERMINAL = frozenset({"response.completed", "response.incomplete", "response.failed"})

_observer = Observer()
_seen = Seen()


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
    agents = importlib.import_module("agents")
    if not _observer.install(reporter, check_policy, guardrails):
        return
    models = {"get_response": wrap_call(_before, _count), "stream_response": wrap_stream(_before, _count_event)}
    wrap_methods(agents.Model, models)
    if export:
        agents.add_trace_processor(_Processor())
    else:
        agents.set_trace_processors([_Processor()])


async def _before(behavior: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    _warn_without_tracing(args, kwargs)
    await _observer.abefore_model(behavior)


@quietly
def _count_event(behavior: Any, model: Any, event: Any) -> None:
    if getattr(event, "type", None) in _TERMINAL:
        _count(behavior, model, getattr(event, "response", None))


@quietly
def _count(behavior: Any, model: Any, response: Any) -> None:
    if response is None or not _seen.is_first(response):
        return
    model_id = getattr(model, "model", None) or getattr(response, "model", None)
    # The id of a whole response, and of the last event of a stream.
    call_id = getattr(response, "response_id", None) or getattr(response, "id", None)
    _observer.model(behavior, model_id, getattr(response, "usage", None), None if call_id == _FAKE_ID else call_id)


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
