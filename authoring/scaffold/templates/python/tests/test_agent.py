"""Tests without a model: `python -m unittest`."""

import asyncio
import json
import unittest
from typing import Any
from unittest import mock

from app import framework, server
from app.conversation import Answer, Message
from app.manifest import NAME, SPEC
from app.tools import PROBLEMS, TOOLS, ToolCalls

GUARDRAILS = SPEC.get("guardrails") or {}
TYPES = [declared["type"] for where in ("input", "output") for declared in GUARDRAILS.get(where) or []]


def request(method: str, path: str, body: object = None) -> tuple[int, dict[str, str], Any]:
    """Status, headers and JSON of a request to the server."""
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": json.dumps(body).encode(), "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "scheme": "http",
        "server": ("agent", 80),
        "client": ("client", 1),
        "headers": [(b"content-type", b"application/json"), (b"x-request-id", b"test")],
    }
    asyncio.run(server.app(scope, receive, send))
    headers = {name.decode().lower(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], headers, json.loads(b"".join(each.get("body", b"") for each in sent[1:]))


class ToolTests(unittest.TestCase):
    def test_every_tool_can_be_imported(self) -> None:
        self.assertEqual(PROBLEMS, {})

    def test_every_declared_tool_is_registered(self) -> None:
        self.assertEqual({tool.name for tool in TOOLS}, {tool["name"] for tool in SPEC.get("tools") or []})


class ServerTests(unittest.TestCase):
    def test_the_agent_is_healthy_and_lists_its_tools(self) -> None:
        self.assertEqual(request("GET", server.HEALTH_PATH)[0], 200)
        status, _, listed = request("GET", server.CAPABILITIES_PATH)
        self.assertEqual(status, 200)
        self.assertEqual([tool["name"] for tool in listed["tools"]], [tool.name for tool in TOOLS])

    def test_the_report_has_a_check_of_every_tool(self) -> None:
        status, _, report = request("GET", "/platform/health")
        self.assertEqual((status, report["agentName"]), (200, NAME))
        checks = {check["id"]: check["status"] for check in report["checks"]}
        for tool in TOOLS:
            self.assertEqual(checks[f"tool:{tool.name}"[:500]], "pass")

    def test_every_guardrail_reports_itself(self) -> None:
        async def run(messages: list[Message], _calls: ToolCalls) -> Answer:
            return Answer(messages[-1].content, [(3, 2)])

        with mock.patch.object(framework, "run", run):
            status, headers, completion = request("POST", server.CHAT_PATH, {"message": "Hello"})
        self.assertEqual(status, 200)
        reported = headers["x-platform-guardrails-invoked"].split(", ")
        self.assertEqual([each for each in reported if each], list(dict.fromkeys(TYPES)))
        self.assertEqual(completion["usage"]["total_tokens"], 5)

    def test_an_invalid_question_is_rejected(self) -> None:
        system = {"messages": [{"role": "system", "content": "x"}]}
        for body in ([], {}, system, {"message": "x", "stream": True}):
            self.assertEqual(request("POST", server.CHAT_PATH, body)[0], 400)


if __name__ == "__main__":
    unittest.main()
