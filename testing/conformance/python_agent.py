"""The agent of the conformance suite with the reporter for Python. `node-agent.ts` does the same.

The argument is `asgi` (needs uvicorn) or `wsgi`.
"""

import asyncio
import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, make_server

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent / "python" / "src"))
from agent_compliance import PolicyDenied, PolicyUnavailable, Reporter, current_behavior

TOOLS = ["search", "refund order, ä"]
reporter = Reporter(os.environ["MANIFEST"], tools=TOOLS)
remote = Reporter(os.environ["MANIFEST"], tools=TOOLS, policy_url=os.environ["ENGINE_URL"], fail_closed=True)


def snake(members: dict[str, Any]) -> dict[str, Any]:
    """camelCase of the cases as names of arguments."""
    return {re.sub("[A-Z]", lambda each: "_" + each[0].lower(), name): value for name, value in members.items()}


def verdict(by: Reporter, facts: dict[str, Any]) -> Any:
    """None: allowed; a list: denied; a text: the error."""
    try:
        by.check_policy(**snake(facts))
    except TypeError:
        return "invalid facts"
    except PolicyDenied as error:
        return list(error.violations)
    except PolicyUnavailable as error:
        return str(error)
    return None


def result_of(by: Reporter, name: str, values: list[Any]) -> Any:
    behavior = current_behavior()
    if name == "checkPolicy":
        return verdict(by, values[0])
    if name == "recordUsage":
        return by.record_usage(*values)
    if name == "send":
        return by.events.send(behavior.request_id, values[0])
    if name in ("guardrail", "tool"):
        details = snake(values[1]) if len(values) > 1 else {}
        return getattr(behavior, name)(values[0], **details)
    return getattr(behavior, name)(*values)


def answer(path: str, body: bytes) -> Iterator[tuple[int, bytes]]:
    """Status and a part of the body; the first part sends the head."""
    by = {"/act": reporter, "/remote": remote}.get(path)
    if path == "/flush":
        reporter.events.flush(30)
        yield 200, b"[]"
    elif by is None:
        yield 404, b'{"error":"not found"}'
    else:
        results: list[Any] = []
        for name, *values in json.loads(body):
            if name == "head":
                yield 200, b" "
            else:
                results.append(result_of(by, name, values))
        yield 200, json.dumps(results).encode()


def wsgi_app(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterator[bytes]:
    body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
    for index, (status, part) in enumerate(answer(environ["PATH_INFO"], body)):
        if index == 0:
            start_response(f"{status} x", [("content-type", "application/json")])
        yield part


async def asgi_app(scope: Any, receive: Any, send: Any) -> None:
    body = b""
    while (message := await receive())["type"] == "http.request":
        body += message.get("body", b"")
        if not message.get("more_body"):
            break
    parts = answer(scope["path"], body)
    is_first = True
    while (part := await asyncio.to_thread(next, parts, None)) is not None:
        if is_first:
            headers = [(b"content-type", b"application/json")]
            await send({"type": "http.response.start", "status": part[0], "headers": headers})
            is_first = False
        await send({"type": "http.response.body", "body": part[1], "more_body": True})
    await send({"type": "http.response.body", "body": b""})


class Quiet(WSGIRequestHandler):
    """Writes no line for each request."""

    def log_message(self, *_arguments: Any) -> None:
        return


def main() -> None:
    # `remote` shares the tokens of no request with `reporter`, and only answers policy questions.
    if sys.argv[1] == "wsgi":
        server = make_server("127.0.0.1", 0, reporter.wsgi(wsgi_app), handler_class=Quiet)
        reporter.start()
        print(f"port {server.server_port}", flush=True)
        server.serve_forever()
        return
    import uvicorn

    class Server(uvicorn.Server):
        async def startup(self, sockets: Any = None) -> None:
            await super().startup(sockets)
            print(f"port {self.servers[0].sockets[0].getsockname()[1]}", flush=True)

    reporter.start()
    Server(uvicorn.Config(reporter.asgi(asgi_app), port=0, log_level="warning", lifespan="off")).run()


main()
