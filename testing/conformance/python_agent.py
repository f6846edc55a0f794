"""The agent of the conformance suites with the reporter for Python. `node-agent.ts` does the same."""

import json
import logging
import os
import re
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, make_server

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent / "python" / "src"))
from agent_compliance import PolicyDenied, PolicyUnavailable, Reporter, current_behavior

TOOLS = ["search", "refund order, ä"]
logging.basicConfig(level="DEBUG", format="%(levelname)s %(message)s")
REFRESH_SECONDS = int(os.environ.get("REFRESH_MS", "30000")) / 1000
reporter = Reporter(os.environ["MANIFEST"], tools=TOOLS, refresh_seconds=REFRESH_SECONDS)
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


class Quiet(WSGIRequestHandler):
    """Writes no line for each request."""

    def log_message(self, *_arguments: Any) -> None:
        return


server = make_server("127.0.0.1", 0, reporter.wsgi(wsgi_app), handler_class=Quiet)
reporter.start()
print(f"port {server.server_port}", flush=True)
signal.signal(signal.SIGTERM, lambda *_arguments: sys.exit())
try:
    server.serve_forever()
finally:
    reporter.stop()
