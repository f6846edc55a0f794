"""An agent without a framework: the standard library and agent_compliance."""

import json
import os
import re
from collections.abc import Callable, Iterable
from http import HTTPStatus
from socketserver import ThreadingMixIn
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from agent_compliance import PolicyDenied, Reporter, current_behavior
from model import complete

MODEL = "gpt-4o-mini"
PERSONAL_DATA = re.compile(r"[\w.+-]+@[\w-]+\.\w+|\b\d{3}-\d{2}-\d{4}\b")
CALCULATOR = {
    "type": "function",
    "function": {
        "name": "calculator",
        "description": "Multiplies two numbers.",
        "parameters": {
            "type": "object",
            "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
            "required": ["a", "b"],
        },
    },
}

HOST, PORT = os.environ.get("HOST", "127.0.0.1"), int(os.environ.get("PORT", "8000"))
# The reporter checks the API of the model. That of the built-in model is this process.
OWN_API = {} if os.environ.get("OPENAI_BASE_URL") else {"OPENAI_BASE_URL": f"http://127.0.0.1:{PORT}/v1"}
reporter = Reporter(tools=["calculator"], env={**os.environ, **OWN_API})
Body = dict[str, object]


def chat(message: str) -> tuple[int, Body]:
    behavior = current_behavior()
    scrubbed = PERSONAL_DATA.sub("[removed]", message)
    behavior.guardrail("pii-detector", blocked=False)
    messages: list[dict] = [{"role": "user", "content": scrubbed}]
    tokens = 0
    while True:
        try:
            reporter.check_policy(**behavior.facts())
        except PolicyDenied as error:
            return 403, {"denied": list(error.violations)}
        completion = complete({"model": MODEL, "messages": messages, "tools": [CALCULATOR]})
        usage = completion["usage"]
        behavior.model(completion["model"], usage["prompt_tokens"], usage["completion_tokens"])
        tokens += usage["prompt_tokens"] + usage["completion_tokens"]
        reply = completion["choices"][0]["message"]
        if not reply.get("tool_calls"):
            return 200, {"response": reply["content"], "tokens": tokens}
        messages.append(reply)
        for call in reply["tool_calls"]:
            result = calculator(**json.loads(call["function"]["arguments"]))
            behavior.tool("calculator", success=True)
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": str(result)})


def calculator(a: float, b: float) -> float:
    return a * b


def app(environ: dict, start_response: Callable) -> Iterable[bytes]:
    status, body = respond(environ)
    start_response(f"{status} {HTTPStatus(status).phrase}", [("content-type", "application/json")])
    return [json.dumps(body).encode()]


def respond(environ: dict) -> tuple[int, Body]:
    route = f"{environ['REQUEST_METHOD']} {environ['PATH_INFO']}"
    if route == "POST /v1/chat":
        length = int(environ.get("CONTENT_LENGTH") or 0)
        return chat(json.loads(environ["wsgi.input"].read(length))["message"])
    if route == "GET /health":
        return 200, {"status": "ok"}
    if route == "GET /capabilities":
        return 200, {"tools": ["calculator"]}
    if route == "GET /v1/models":
        return 200, {"object": "list", "data": [{"id": MODEL, "object": "model"}]}
    return 404, {"error": "not found"}


class Server(ThreadingMixIn, WSGIServer):
    """A thread for each request, so that a request that waits for the model delays no other."""

    daemon_threads = True


class Handler(WSGIRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """No line for each request."""


if __name__ == "__main__":
    with make_server(HOST, PORT, reporter.wsgi(app), Server, Handler) as server:
        # After the port is open: the first check calls the API of the model, which is this process.
        reporter.start()
        server.serve_forever()
