"""What the integrations share: the observer of an installation, and how methods of a framework are wrapped."""

from __future__ import annotations

import functools
import logging
import time
import weakref
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterable, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeGuard, TypeVar, cast

from agent_compliance import Behavior, PolicyDenied, PolicyUnavailable, current_behavior, default_reporter

if TYPE_CHECKING:
    from agent_compliance import Reporter

_LOG = logging.getLogger("agent_compliance")
_MARK = "_agent_compliance_wrapped"
_MAX_OPEN = 10_000
_MAX_LOGGED = 100

GUARDRAIL_TYPES = frozenset(
    {"topic-filter", "pii-detector", "prompt-injection", "hallucination-detector", "toxicity-filter", "custom"}
)
"""The types of guardrails that a manifest can declare."""

Guardrails = Mapping[str, str] | Iterable[str] | None
Function = TypeVar("Function", bound=Callable[..., Any])

_logged: set[str] = set()


def log_once(message: str, error: BaseException | None = None) -> None:
    """Logs each message once, because an error in an integration repeats with every call."""
    key = message if error is None else f"{message} {type(error).__name__}"
    if key in _logged or len(_logged) >= _MAX_LOGGED:
        return
    _logged.add(key)
    # A handler of the agent can raise, and so can a closed sys.stderr.
    with suppress(Exception):
        _LOG.warning("%s", message, exc_info=error)


@contextmanager
def only_decisions(message: str) -> Generator[None, None, None]:
    """Logs an error instead of raising it. Only decisions of the policy reach the application."""
    try:
        yield
    except (PolicyDenied, PolicyUnavailable):
        raise
    except Exception as error:
        log_once(message, error)


def quietly(function: Function) -> Function:
    """Wraps a function that observes: it never breaks the agent. Its result is None after an error."""

    @functools.wraps(function)
    def observed(*args: Any, **kwargs: Any) -> Any:
        with only_decisions(f"integration failed in {function.__module__}.{function.__qualname__}"):
            return function(*args, **kwargs)
        return None

    return observed  # type: ignore[return-value]


def is_mapping(value: Any) -> TypeGuard[Mapping[str, Any]]:
    """Whether the value is a dict or the like, whose keys are names."""
    return isinstance(value, Mapping)


def as_type(name: str) -> str:
    """The type of a manifest that a name spells, such as `pii_detector`; else the name."""
    spelled = name.strip().lower().replace("_", "-").replace(" ", "-")
    return spelled if spelled in GUARDRAIL_TYPES else name


class Observer:
    """Options of one installation, and how a model call is checked and counted."""

    def __init__(
        self, reporter: Reporter | None = None, check_policy: bool = False, guardrails: Guardrails = None
    ) -> None:
        self._is_installed = False
        self.configure(reporter, check_policy, guardrails)

    def install(self, reporter: Reporter | None, check_policy: bool, guardrails: Guardrails) -> bool:
        """Replaces the options. True: at the first call, when the framework has to be wrapped."""
        self.configure(reporter, check_policy, guardrails)
        is_first, self._is_installed = not self._is_installed, True
        return is_first

    def configure(self, reporter: Reporter | None, check_policy: bool, guardrails: Guardrails) -> None:
        """Replaces the options."""
        self._reporter = reporter
        self.check_policy = check_policy
        named = guardrails if is_mapping(guardrails) else {name: name for name in guardrails or ()}
        self._guardrails = {name: as_type(kind) for name, kind in named.items()}

    @property
    def reporter(self) -> Reporter:
        """The reporter of the installation, else that of the process."""
        return self._reporter or default_reporter()

    def guardrail_type(self, name: str | None) -> str | None:
        """The type of the guardrail that the framework calls `name`. None: not a guardrail."""
        return None if name is None else self._guardrails.get(name)

    def before_model(self, behavior: Any = None) -> None:
        """Opens the report of the request and evaluates the policy, if the installation asks for it.

        Raises PolicyDenied or PolicyUnavailable; the framework must call this before it sends the request.
        """
        behavior = self._begin(behavior)
        if self.check_policy:
            with only_decisions("policy not evaluated before a model call"):
                self.reporter.check_policy(**behavior.facts())

    async def abefore_model(self, behavior: Any = None) -> None:
        """`before_model` without blocking the event loop."""
        behavior = self._begin(behavior)
        if self.check_policy:
            with only_decisions("policy not evaluated before a model call"):
                await self.reporter.acheck_policy(**behavior.facts())

    @staticmethod
    def _begin(behavior: Any) -> Any:
        behavior = current_behavior() if behavior is None else behavior
        quietly(behavior.begin)()
        return behavior

    @quietly
    def model(self, behavior: Any, model_id: Any, usage: Any, call_id: Any = None) -> None:
        """Counts one model call. A response without usage is not counted, because its tokens are unknown."""
        tokens = tokens_of(usage)
        if tokens is None:
            log_once(f"model call of {model_id} not counted: the response has no usage")
            return
        name = str(model_id or "unknown")
        if self._reporter is not None and type(behavior) is not Behavior:
            # Outside a request the behavior counts for the reporter of the process.
            self._reporter.record_usage(name, *tokens)
            return
        behavior.model(name, *tokens, call_id=str(call_id) if call_id else None)

    @quietly
    def tool(self, behavior: Any, name: Any, success: bool | None, started: float | None, result: Any = None) -> None:
        """Reports a call of a tool, or of the guardrail that the framework runs as a tool."""
        if not name:
            return
        kind = self.guardrail_type(str(name))
        if kind is not None:
            # The agent does not get the data of a guardrail that failed.
            behavior.guardrail(kind, blocked=True if success is False else blocked_by(result))
            return
        latency = None if started is None else round((time.monotonic() - started) * 1000, 3)
        behavior.tool(str(name), success=success, latency_ms=latency)


_NAMES = (
    ("prompt_tokens", "completion_tokens"),
    ("input_tokens", "output_tokens"),
    ("prompt_token_count", "candidates_token_count"),
    ("request_tokens", "response_tokens"),
)


def tokens_of(usage: Any) -> tuple[int, int] | None:
    """Prompt and completion tokens of a usage object or dict. None: unknown, also if both are zero."""
    if usage is None:
        return None
    for prompt_name, completion_name in _NAMES:
        prompt, completion = (_member(usage, name) for name in (prompt_name, completion_name))
        if isinstance(prompt, int) or isinstance(completion, int):
            counts = (prompt or 0, completion or 0)
            return counts if any(counts) else None
    return None


def _member(value: Any, name: str) -> Any:
    return value.get(name) if is_mapping(value) else getattr(value, name, None)


def blocked_by(result: Any) -> bool | None:
    """Whether the result of a guardrail states that it blocked: a dict with the boolean `blocked`."""
    blocked = result.get("blocked") if is_mapping(result) else None
    return blocked if isinstance(blocked, bool) else None


class Open:
    """What has begun and not ended: behavior, start and name by a key. Bounded, because some ends never come."""

    def __init__(self) -> None:
        self._open: dict[Any, tuple[Any, float, Any]] = {}

    def begin(self, key: Any, name: Any = None) -> Any:
        """Remembers the behavior of the current request, because the end can be in another context."""
        if len(self._open) >= _MAX_OPEN:
            self._open.pop(next(iter(self._open), None), None)
        behavior = current_behavior()
        self._open[key] = (behavior, time.monotonic(), name)
        return behavior

    def end(self, key: Any) -> tuple[Any, float | None, Any]:
        """Behavior, start and name; of a key that is not known the behavior of the current request."""
        return self._open.pop(key, None) or (current_behavior(), None, None)


class Seen:
    """Objects that were counted: a model that wraps another one often returns the same response."""

    def __init__(self) -> None:
        self._references: dict[int, weakref.ref[Any]] = {}

    def is_first(self, value: Any) -> bool:
        """Whether this object is here for the first time."""
        key = id(value)
        known = self._references.get(key)
        if known is not None and known() is value:
            return False

        def forget(reference: weakref.ref[Any]) -> None:
            if self._references.get(key) is reference:
                del self._references[key]

        try:
            self._references[key] = weakref.ref(value, forget)
        except TypeError:
            _LOG.debug("responses of the type %s have no identity", type(value).__name__)
        return True


@asynccontextmanager
async def closing(iterator: Any) -> AsyncGenerator[Any, None]:
    """Closes an asynchronous iterator at the end, if it can be closed: not every model returns a generator."""
    try:
        yield iterator
    finally:
        close = getattr(iterator, "aclose", None)
        if close is not None:
            await close()


def wrap_call(before: Callable[..., Any], after: Callable[..., None]) -> Callable[[Any], Any]:
    """A wrapper for `wrap_methods` of a coroutine that calls a model.

    `await before(behavior, args, kwargs)` may deny the call; `after(behavior, model, response)` counts it.
    """

    def wrapper(original: Any) -> Any:
        @functools.wraps(original)
        async def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            behavior = current_behavior()
            await before(behavior, args, kwargs)
            response = await original(self, *args, **kwargs)
            after(behavior, self, response)
            return response

        return call

    return wrapper


def wrap_stream(before: Callable[..., Any], after: Callable[..., None]) -> Callable[[Any], Any]:
    """The same for an asynchronous iterator. `after` gets each part first: the framework may stop at the last one."""

    def wrapper(original: Any) -> Any:
        @functools.wraps(original)
        async def stream(self: Any, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
            behavior = current_behavior()
            await before(behavior, args, kwargs)
            async with closing(original(self, *args, **kwargs)) as parts:
                async for part in parts:
                    after(behavior, self, part)
                    yield part

        return stream

    return wrapper


def wrap_methods(base: type, wrappers: Mapping[str, Callable[[Any], Any]]) -> None:
    """Wraps the methods of every class that derives from `base`, also of classes that are defined later."""

    def wrap(cls: type) -> None:
        for name, wrapper in wrappers.items():
            method = vars(cls).get(name)
            if not callable(method) or getattr(method, _MARK, False) or getattr(method, "__isabstractmethod__", False):
                continue
            wrapped = wrapper(method)
            setattr(wrapped, _MARK, True)
            setattr(cls, name, wrapped)

    for cls in _subclasses(base):
        wrap(cls)
    own = vars(base).get("__init_subclass__")

    def init_subclass(cls: type[Any], /, **kwargs: Any) -> None:
        if own is None:
            cast("Any", super(base, cls)).__init_subclass__(**kwargs)
        else:
            own.__get__(None, cls)(**kwargs)
        wrap(cls)

    # Not as an attribute: a type checker does not know the name as one that can be replaced.
    setattr(base, "__init_subclass__", classmethod(init_subclass))  # noqa: B010


def _subclasses(base: type) -> set[type]:
    found: set[type] = set()
    waiting: list[type] = [base]
    while waiting:
        subclasses: list[type] = waiting.pop().__subclasses__()
        for cls in subclasses:
            if cls not in found:
                found.add(cls)
                waiting.append(cls)
    return found
