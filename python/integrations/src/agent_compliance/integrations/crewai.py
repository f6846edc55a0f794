"""CrewAI: `crewai.install()`.

Listeners of the event bus report model calls, tools and guardrails of tasks. A hook before each model call evaluates
the policy.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from agent_compliance import PolicyDenied, PolicyUnavailable, current_behavior

from ._observe import Guardrails, Observer, as_type, quietly

if TYPE_CHECKING:
    from agent_compliance import Reporter

# CrewAI runs listeners in threads: before a policy decision, reports of earlier events have to arrive.
_FLUSH_SECONDS = 1.0

_observer = Observer()


def install(reporter: Reporter | None = None, check_policy: bool = False, guardrails: Guardrails = None) -> None:
    """Reports the crews, flows and agents of this process. A second call replaces the options.

    `guardrails`: names of tools and of functions that are guardrails of tasks, as `{name: type in the manifest}`. With
    `check_policy` the policy is evaluated before each model call, and `PolicyDenied` reaches the caller of `kickoff`.
    """
    events = importlib.import_module("crewai.events")
    hooks = importlib.import_module("crewai.hooks")
    if not _observer.install(reporter, check_policy, guardrails):
        return
    bus = events.crewai_event_bus
    bus.on(events.LLMCallCompletedEvent)(_on_model)
    bus.on(events.ToolUsageFinishedEvent)(_on_tool)
    bus.on(events.ToolUsageErrorEvent)(_on_tool_error)
    bus.on(events.LLMGuardrailCompletedEvent)(_on_guardrail)
    denied_type = _aborting(importlib.import_module("crewai.hooks.dispatch").HookAborted)
    hooks.register_before_llm_call_hook(_before_call(bus, denied_type))


def _aborting(aborted: Any) -> tuple[Any, Any]:
    """CrewAI lets only its own exception out of a hook, so a denial is both."""

    def of(decision: Any) -> Any:
        def init(self: Any, error: Any) -> None:
            Exception.__init__(self, str(error))
            self.__dict__.update(vars(error))
            self.reason, self.source = str(error), "agent-compliance"

        return type(decision.__name__, (decision, aborted), {"__init__": init, "__module__": decision.__module__})

    return of(PolicyDenied), of(PolicyUnavailable)


def _before_call(bus: Any, exceptions: tuple[Any, Any]) -> Any:
    denied, unavailable = exceptions

    def before_llm_call(_context: Any) -> None:
        if _observer.check_policy:
            bus.flush(timeout=_FLUSH_SECONDS)
        try:
            _observer.before_model()
        except PolicyDenied as error:
            raise denied(error) from error
        except PolicyUnavailable as error:
            raise unavailable(error) from error

    return before_llm_call


@quietly
def _on_model(source: Any, event: Any) -> None:
    # The result of a tool that the LLM object ran itself is the same event without a usage.
    if event.usage is None and getattr(event.call_type, "value", None) == "tool_call":
        return
    model_id = event.model or getattr(source, "model", None)
    _observer.model(current_behavior(), model_id, event.usage, event.response_id or event.call_id)


@quietly
def _on_tool(_source: Any, event: Any) -> None:
    behavior = current_behavior()
    kind = _observer.guardrail_type(event.tool_name)
    if kind is not None:
        _observer.tool(behavior, event.tool_name, None, None, event.output)
        return
    elapsed = (event.finished_at - event.started_at).total_seconds()
    success = getattr(event, "failure", None) is None
    behavior.tool(event.tool_name, success=success, latency_ms=round(max(elapsed, 0.0) * 1000, 3))


@quietly
def _on_tool_error(_source: Any, event: Any) -> None:
    _observer.tool(current_behavior(), event.tool_name, False, None)


@quietly
def _on_guardrail(_source: Any, event: Any) -> None:
    name = getattr(event, "guardrail_name", None) or ""
    kind = _observer.guardrail_type(name) or as_type(name)
    if getattr(event, "guardrail_type", None) == "hallucination":
        kind = "hallucination-detector"
    elif getattr(event, "guardrail_type", None) == "llm" and kind == name:
        # The name of such a guardrail is its whole prompt.
        kind = "custom"
    current_behavior().guardrail(kind or "custom", blocked=not event.success)
