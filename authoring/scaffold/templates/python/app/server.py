"""The HTTP server of the agent."""

import asyncio
import contextlib
import json
import logging
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import unquote

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from platform_reporter import Behavior, Reporter, ReporterRoutes

from . import framework, guardrails
from .conversation import Answer, InvalidQuestion, Message, Question, completion_of, encodable, question_of
from .manifest import MANIFEST, NAME, REFERENCES, SPEC
from .settings import NotConfigured, model_id
from .tools import TOOLS, ToolCalls

_LOG = logging.getLogger(__name__)
_MAX_BODY = 1024 * 1024
_TIMEOUT_SECONDS = 300

reporter = Reporter(MANIFEST, REFERENCES, tools=lambda: [tool.name for tool in TOOLS])


def _path(declared: str | None, default: str) -> str:
    path = REFERENCES.resolve(declared) if declared else None
    return unquote((path or default).split("?")[0])


_API: dict[str, Any] = SPEC.get("api") or {}
CHAT_PATH = _path((_API.get("chatEndpoint") or {}).get("path"), "/v1/chat")
HEALTH_PATH = _path(_API.get("healthEndpoint"), "/health")
CAPABILITIES_PATH = _path(_API.get("capabilitiesEndpoint"), "/capabilities")


async def _dispatch(request: Request) -> JSONResponse:
    """Paths are compared as text, because a declared path may contain the characters of a pattern."""
    path, is_get = request.scope["path"], request.method in ("GET", "HEAD")
    if path == CHAT_PATH and request.method == "POST":
        return await _chat(request)
    if path == HEALTH_PATH and is_get:
        return JSONResponse({"status": "ok"})
    if path == CAPABILITIES_PATH and is_get:
        tools = [{"name": tool.name, "description": tool.description} for tool in TOOLS]
        return JSONResponse({"name": NAME, "tools": tools})
    if path in (CHAT_PATH, HEALTH_PATH, CAPABILITIES_PATH):
        return _error(405, "the method is not allowed")
    return _error(404, "there is no such path")


async def _chat(request: Request) -> JSONResponse:
    try:
        question = question_of(await _json_body(request))
    except InvalidQuestion as error:
        return _error(400, str(error))
    behavior = reporter.behavior(request.headers.get("x-request-id"))
    if question.confirmed:
        behavior.confirmed()
    try:
        status, body = await _respond(question, behavior)
        return JSONResponse(body, status, behavior.headers())
    finally:
        behavior.send()


async def _json_body(request: Request) -> Any:
    data = bytearray()
    async for chunk in request.stream():
        data += chunk
        if len(data) > _MAX_BODY:
            raise InvalidQuestion("the body has more than 1 MiB")
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        raise InvalidQuestion("the body is not valid JSON") from None


async def _respond(question: Question, behavior: Behavior) -> tuple[int, dict[str, Any]]:
    """Status and body. Output guardrails run on every text that leaves the agent: each request reports all of them."""
    checked = guardrails.check("input", [message.content for message in question.messages], behavior)
    if checked.blocked is not None:
        return 422, _error_body(_checked_text(checked.blocked, behavior))
    roles = [message.role for message in question.messages]
    messages = [Message(role, text) for role, text in zip(roles, checked.texts, strict=True)]
    calls = ToolCalls(behavior, question.confirmed)
    try:
        answer = await asyncio.wait_for(framework.run(messages, calls), _TIMEOUT_SECONDS)
    except NotConfigured as error:
        _LOG.error("the model cannot be called: %s %s", error, error.detail)
        return 503, _error_body(_checked_text(str(error), behavior))
    except Exception:
        _LOG.exception("the agent failed")
        return 502, _error_body(_checked_text(_fallback_text(), behavior))
    for prompt_tokens, completion_tokens in answer.calls:
        behavior.model(model_id(), prompt_tokens, completion_tokens)
    context = "\n".join([*(message.content for message in messages), *calls.results])
    checked = guardrails.check("output", [encodable(answer.text)], behavior, context)
    is_blocked = checked.blocked is not None
    final = Answer(checked.blocked or checked.texts[0], answer.calls)
    return 200, completion_of(final, model_id(), "content_filter" if is_blocked else "stop")


def _checked_text(text: str, behavior: Behavior) -> str:
    checked = guardrails.check("output", [text], behavior, text)
    return checked.blocked or checked.texts[0]


def _fallback_text() -> str:
    declared = (SPEC.get("prompts") or {}).get("fallback")
    return (REFERENCES.resolve(declared) if declared else None) or "The agent could not answer."


def _error(status: int, message: str) -> JSONResponse:
    return JSONResponse(_error_body(message), status)


def _error_body(message: str) -> dict[str, Any]:
    return {"error": {"message": message}}


@contextlib.asynccontextmanager
async def _lifespan(_app: Starlette) -> AsyncIterator[None]:
    reporter.start()
    yield
    reporter.stop()


app = Starlette(
    routes=[Route("/{path:path}", _dispatch, methods=["GET", "HEAD", "POST"])],
    middleware=[Middleware(ReporterRoutes, reporter=reporter)],
    lifespan=_lifespan,
)
