"""Shared by all Python programs: an agent's server, a client's command loop, and errors as JSON."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from typing import Any

MODEL = "gpt-4o-mini"
QUESTION = "How much is six times seven?"


def multiply(a: int, b: int) -> int:
    """Multiplies two numbers.

    Args:
        a: the first number
        b: the second number
    """
    return a * b


def chain_of(error: BaseException | None) -> list[dict[str, Any]]:
    """Classes, codes and messages of an exception and of its causes, the outermost first."""
    chain: list[dict[str, Any]] = []
    while error is not None and len(chain) < 6:
        kind = type(error)
        status = getattr(error, "status_code", None) or getattr(error, "status", None)
        chain.append(
            {
                "type": f"{kind.__module__.split('.')[0]}.{kind.__name__}",
                "status": status if isinstance(status, int) else None,
                "message": str(error),
                "reasonAt": reason_at(error),
            }
        )
        inside = getattr(error, "exceptions", [None])[0]
        error = inside or error.__cause__ or error.__context__
    return chain


def reason_at(error: BaseException) -> str | None:
    """Where the sidecar's header is that names the broken rules."""
    headers = getattr(getattr(error, "response", None), "headers", None) or {}
    return "response.headers" if "x-platform-policy-violations" in headers else None


Answer = Callable[[str], Awaitable[Any]]


def serve(answers: dict[str, Answer]) -> None:
    """Serves an agent on $PORT.

    `POST /v1/chat?answer=<name>` is answered by `answers[name](model_url)`, which gives a Starlette response.
    `?answer=denied` is the first of them with a model that is denied, and answers with the exception.
    """
    import uvicorn
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import JSONResponse, Response
    from starlette.routing import Route

    async def chat(request: Request) -> Response:
        name = request.query_params["answer"]
        if name != "denied":
            return await answers[name](os.environ["MODEL_URL"])
        try:
            response = await next(iter(answers.values()))(os.environ["DENYING_URL"])
            return JSONResponse([{"type": "no error", "status": None, "message": response.body.decode()}])
        except BaseException as error:
            return JSONResponse(chain_of(error))

    app = Starlette(routes=[Route("/v1/chat", chat, methods=["POST"])])
    uvicorn.run(app, host="127.0.0.1", port=int(os.environ["PORT"]), log_level="error")


def sse(values: AsyncIterator[Any], to_json: Callable[[Any], Any] = lambda value: value) -> Any:
    """Server-sent events of an async iterator's values."""
    from starlette.responses import StreamingResponse

    async def events() -> AsyncIterator[str]:
        async with aclosing(values):
            async for value in values:
                data = to_json(value)
                yield f"data: {data if isinstance(data, str) else json.dumps(data, default=str)}\n\n"

    return StreamingResponse(events(), media_type="text/event-stream")


def call(calls: dict[str, Callable[[str], Any]]) -> None:
    """Runs calls of a client.

    Each line of the input is `{name, url}`, each line of the output what it gives, or its exception.
    """
    for line in sys.stdin:
        command = json.loads(line)
        try:
            result = calls[command["name"]](command["url"])
            if asyncio.iscoroutine(result):
                result = asyncio.run(result)
            outcome = {"result": result}
        except BaseException as error:
            outcome = {"error": chain_of(error)}
        print(json.dumps(outcome, default=str), flush=True)
