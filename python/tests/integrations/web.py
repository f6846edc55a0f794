"""What every integration with a web framework must do."""

from __future__ import annotations

import http.client
import json
from typing import Any

from agent_compliance import Behavior, PolicyDenied, Reporter, current_behavior
from fake_sidecar import FakeSidecar

HEADERS = {"x-request-id": "r-1"}
# The manifest of a reporter that gets no request.
OTHER = {"metadata": {"name": "other"}, "spec": {"model": {"provider": "p", "id": "m", "apiKey": "k"}}}


def work(path: str) -> str:
    """The handler of every application: reports, and denies or fails by the path."""
    behavior = current_behavior()
    if path == "/denied":
        behavior.begin()
        raise PolicyDenied(["pii detection is required"])
    if path == "/failing":
        behavior.guardrail("pii-detector")
        raise RuntimeError("a failure of the view")
    if path == "/model":
        behavior.guardrail("pii-detector")
        behavior.model("gpt-4o-mini", 31, 5)
        behavior.tool("multiply")
    return type(behavior).__name__


def get(url: str, path: str) -> tuple[int, dict[str, str], str]:
    """Status, headers and body of a GET."""
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=30)
    connection.request("GET", path, headers=HEADERS)
    response = connection.getresponse()
    body = response.read().decode()
    connection.close()
    return response.status, {name.lower(): value for name, value in response.getheaders()}, body


def check(url: str, reporter: Reporter, sidecar: FakeSidecar) -> None:
    """All requests of the contract."""
    status, headers, body = get(url, "/model")
    assert (status, body) == (200, Behavior.__name__)
    assert headers["x-platform-guardrails-invoked"] == "pii-detector"
    assert headers["x-platform-tools-called"] == "multiply"
    status, headers, body = get(url, "/plain")
    assert (status, body) == (200, Behavior.__name__)
    assert "x-platform-guardrails-invoked" not in headers
    status, headers, body = get(url, "/denied")
    assert status == 403
    assert json.loads(body)["violations"] == ["pii detection is required"]
    assert headers["x-platform-guardrails-invoked"] == ""
    status, headers, _ = get(url, "/failing")
    assert status == 500
    assert headers["x-platform-guardrails-invoked"] == "pii-detector"
    status, _, body = get(url, "/platform/usage")
    assert (status, json.loads(body)["totalCalls"]) == (200, 1)
    status, _, body = get(url, "/platform/health")
    assert (status, json.loads(body)["agentName"]) == (200, "calculator")
    models = [{"type": "model", "modelId": "gpt-4o-mini", "promptTokens": 31, "completionTokens": 5}]
    status, headers, body = get(url, "/stream")
    assert (status, body) == (200, "onetwo")
    assert headers["x-platform-guardrails-invoked"] == ""
    models.append({"type": "model", "modelId": "streamed", "promptTokens": 7, "completionTokens": 3})
    assert reporter.events.flush(30)
    assert [event for event in sidecar.events["r-1"] if event["type"] == "model"] == models


def parts() -> Any:
    """Parts of a streamed response; the model call ends after the head."""
    yield "one"
    current_behavior().model("streamed", 7, 3)
    yield "two"


async def async_parts() -> Any:
    """The same, asynchronous."""
    for part in parts():
        yield part
