"""LangChain and LangGraph: `langchain.install()`, or `langchain.Handler()` in `callbacks`.

A callback handler reports model calls with their tokens, tools, and guardrails: nodes and middleware by their names.
"""

from __future__ import annotations

import functools
import importlib
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from ._observe import Guardrails, Observer, Open, blocked_by, is_mapping, log_once, quietly, tokens_of

if TYPE_CHECKING:
    from agent_compliance import Reporter

# The middleware of LangChain that redacts or blocks personal data is a guardrail without being named.
_PII_MIDDLEWARE = "PIIMiddleware["
_HOOKS = frozenset({"before_agent", "before_model", "after_model", "after_agent"})
# A graph that waits for a human raises these: nothing failed.
_INTERRUPTS = frozenset({"GraphInterrupt", "NodeInterrupt", "GraphBubbleUp", "ParentCommand"})

_installed: Any = None


def install(reporter: Reporter | None = None, check_policy: bool = False, guardrails: Guardrails = None) -> None:
    """Adds the handler to every run in this process. A second call replaces the options.

    `guardrails`: names of nodes, runnables or tools that are guardrails, as `{name: type in the manifest}`. With
    `check_policy` the policy is evaluated before each model call, and `PolicyDenied` reaches the caller of the graph.
    """
    global _installed
    if _installed is not None:
        _installed.configure(reporter, check_policy, guardrails)
        return
    _installed = Handler(reporter, check_policy, guardrails)
    # The default value is in force in every thread, also in those without the context of a request.
    variable: ContextVar[Any] = ContextVar("agent_compliance_langchain", default=_installed)
    context = importlib.import_module("langchain_core.tracers.context")
    context.register_configure_hook(variable, True, _handler_class())


def Handler(  # noqa: N802 - used like the class that it returns an object of
    reporter: Reporter | None = None, check_policy: bool = False, guardrails: Guardrails = None
) -> Any:
    """A callback handler for `callbacks`. Where it is given, an installed handler is not added."""
    return _handler_class()(reporter, check_policy, guardrails)


@functools.cache
def _handler_class() -> Any:
    base = importlib.import_module("langchain_core.callbacks").BaseCallbackHandler
    return type("AgentComplianceHandler", (_Recorder, base), {})


class _Recorder:
    """The methods that LangChain calls. Only a denial of the policy raises."""

    raise_error = True

    def __init__(
        self, reporter: Reporter | None = None, check_policy: bool = False, guardrails: Guardrails = None
    ) -> None:
        self._open = Open()
        self.configure(reporter, check_policy, guardrails)

    def configure(self, reporter: Reporter | None, check_policy: bool, guardrails: Guardrails) -> None:
        """Sets the options."""
        self._observer = Observer(reporter, check_policy, guardrails)
        # A policy engine can take a second: LangChain then calls the handler in a thread, not in the event loop.
        self.run_inline = not check_policy

    @quietly
    def on_llm_start(self, _serialized: Any, _prompts: Any, *, run_id: Any, **kwargs: Any) -> None:
        """A call of a model begins."""
        self._observer.before_model()
        parameters: dict[str, Any] = kwargs.get("invocation_params") or {}
        metadata: dict[str, Any] = kwargs.get("metadata") or {}
        name = parameters.get("model") or parameters.get("model_name") or metadata.get("ls_model_name")
        self._open.begin(run_id, name)

    on_chat_model_start = on_llm_start

    @quietly
    def on_llm_end(self, response: Any, *, run_id: Any, **_kwargs: Any) -> None:
        """A call of a model has ended, also that of a stream."""
        behavior, _, name = self._open.end(run_id)
        message = next((m for m in _messages_of(response) if getattr(m, "usage_metadata", None)), None)
        if message is None:
            output: dict[str, Any] = getattr(response, "llm_output", None) or {}
            usage = output.get("token_usage") or output.get("usage")
            self._observer.model(behavior, output.get("model_name") or name, usage, run_id)
            return
        # Responses of the cache cost nothing.
        if message.usage_metadata.get("total_cost") == 0:
            return
        metadata: dict[str, Any] = message.response_metadata or {}
        model_id = metadata.get("model_name") or metadata.get("model") or name
        self._observer.model(behavior, model_id, message.usage_metadata, metadata.get("id") or run_id)

    @quietly
    def on_llm_error(self, _error: Any, *, run_id: Any, **kwargs: Any) -> None:
        """A call failed. A stream that was cut can have its usage already."""
        response = kwargs.get("response")
        if any(tokens_of(getattr(message, "usage_metadata", None)) for message in _messages_of(response)):
            self.on_llm_end(response, run_id=run_id)
        else:
            self._open.end(run_id)

    @quietly
    def on_tool_start(self, serialized: Any, _input: Any, *, run_id: Any, **kwargs: Any) -> None:
        """A tool begins."""
        self._open.begin(run_id, _name_of(serialized, kwargs))

    @quietly
    def on_tool_end(self, output: Any, *, run_id: Any, **_kwargs: Any) -> None:
        """A tool has returned."""
        behavior, started, name = self._open.end(run_id)
        self._observer.tool(behavior, name, getattr(output, "status", None) != "error", started, output)

    @quietly
    def on_tool_error(self, error: Any, *, run_id: Any, **_kwargs: Any) -> None:
        """A tool has raised."""
        behavior, started, name = self._open.end(run_id)
        success = None if type(error).__name__ in _INTERRUPTS else False
        self._observer.tool(behavior, name, success, started)

    @quietly
    def on_chain_start(self, serialized: Any, _inputs: Any, *, run_id: Any, **kwargs: Any) -> None:
        """A runnable begins; only guardrails are of interest."""
        kind = self._guardrail_type(_name_of(serialized, kwargs))
        if kind is not None:
            self._open.begin(run_id, kind)

    @quietly
    def on_chain_end(self, outputs: Any, *, run_id: Any, **_kwargs: Any) -> None:
        """A guardrail has passed the data, or has ended the run."""
        behavior, _, kind = self._open.end(run_id)
        if kind is not None:
            behavior.guardrail(kind, blocked=_blocked(outputs))

    @quietly
    def on_chain_error(self, error: Any, *, run_id: Any, **_kwargs: Any) -> None:
        """A guardrail has raised: it blocked."""
        behavior, _, kind = self._open.end(run_id)
        if kind is not None:
            behavior.guardrail(kind, blocked=None if type(error).__name__ in _INTERRUPTS else True)

    def _guardrail_type(self, name: Any) -> str | None:
        if not isinstance(name, str):
            return None
        # Hooks of a middleware are nodes with the name of the middleware and of the hook.
        middleware, _, hook = name.rpartition(".")
        if hook in _HOOKS:
            named = self._observer.guardrail_type(name) or self._observer.guardrail_type(middleware)
            return named or ("pii-detector" if middleware.startswith(_PII_MIDDLEWARE) else None)
        return self._observer.guardrail_type(name)


def _name_of(serialized: Any, kwargs: dict[str, Any]) -> Any:
    """The name of a tool or of a runnable."""
    return kwargs.get("name") or (serialized.get("name") if is_mapping(serialized) else None)


def _messages_of(response: Any) -> list[Any]:
    generations: list[list[Any]] = getattr(response, "generations", None) or []
    if len(generations) > 1:
        log_once("a callback of LangChain has the responses of several prompts: only the first is counted")
    return [getattr(each, "message", None) for each in (generations[0] if generations else [])]


def _blocked(outputs: Any) -> bool | None:
    """Whether a guardrail ended the run: a command to the end, `jump_to: end`, or `blocked` in its result."""
    update = getattr(outputs, "update", None)
    if getattr(outputs, "goto", None) == "__end__":
        return True
    result = update if is_mapping(update) else outputs
    if is_mapping(result) and result.get("jump_to") == "end":
        return True
    return blocked_by(result)
