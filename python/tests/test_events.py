import json
import threading
from collections.abc import Callable
from typing import Any

import pytest

from agent_compliance import Reporter, SettingsError, _events
from agent_compliance._http import http_url
from conftest import SLOW, HttpServer, wait_for

TOOL = {"type": "tool", "name": "search"}
MODEL = {"type": "model", "modelId": "m", "promptTokens": 1, "completionTokens": 2}


def test_events_arrive_with_the_request_and_the_agent(
    http_server: HttpServer, reporters: Callable[..., Reporter]
) -> None:
    reporter = reporters(sidecar_url=http_server.url + "/base")
    assert reporter.events.send("r1", [TOOL, MODEL])
    assert reporter.events.flush(30)
    (request,) = http_server.requests
    assert (request["method"], request["path"]) == ("POST", "/base/events")
    assert request["json"] == {"requestId": "r1", "agentName": "shop", "events": [TOOL, MODEL]}
    assert reporter.events.counts() == {"delivered": 2, "dropped": 0, "queued": 0}


@pytest.mark.parametrize(
    ("request_id", "event"),
    [
        (None, TOOL),
        ("", TOOL),
        ("x" * 129, TOOL),
        (5, TOOL),
        ("r", "text"),
        ("r", {"type": "other"}),
        ("r", {"type": ["tool"]}),
        ("r", {"type": "tool"}),
        ("r", {"type": "tool", "name": ""}),
        ("r", {"type": "tool", "name": "x" * 501}),
        ("r", {"type": "tool", "name": "x", "latencyMs": -1}),
        ("r", {"type": "tool", "name": "x", "success": 1}),
        ("r", {"type": "guardrail", "guardrailType": "x"}),
        ("r", {"type": "guardrail", "guardrailType": "x", "invoked": True, "score": float("nan")}),
        ("r", {**MODEL, "promptTokens": 1.5}),
        ("r", {"type": "memory", "ttlSeconds": -1}),
    ],
)
def test_an_invalid_event_is_dropped(
    reporters: Callable[..., Reporter], request_id: Any, event: Any, caplog: pytest.LogCaptureFixture
) -> None:
    events = reporters().events
    assert not events.send(request_id, [event])
    assert not events.send(request_id, [event])
    assert events.counts()["dropped"] == 2
    assert len(caplog.records) == 1


def test_an_event_has_only_known_members(http_server: HttpServer, reporters: Callable[..., Reporter]) -> None:
    events = reporters(sidecar_url=http_server.url).events
    assert events.send("r", [{**TOOL, "secret": 1, "success": None}])
    assert events.flush(30)
    assert http_server.requests[0]["json"]["events"] == [TOOL]


def test_usage_of_an_unknown_request_is_sent_again_without_it(
    http_server: HttpServer, reporters: Callable[..., Reporter]
) -> None:
    http_server.answer = lambda request: (202 if request["json"]["requestId"] else 200, {}, b"{}")
    events = reporters(sidecar_url=http_server.url).events
    assert events.send("r", [TOOL, MODEL])
    assert events.flush(30)
    assert [request["json"]["requestId"] for request in http_server.requests] == ["r", None]
    assert http_server.requests[1]["json"]["events"] == [MODEL]
    assert events.counts() == {"delivered": 2, "dropped": 0, "queued": 0}


def test_batches_have_limits(http_server: HttpServer, reporters: Callable[..., Reporter]) -> None:
    events = reporters(sidecar_url=http_server.url).events
    assert events.send("small", [TOOL] * 501)
    assert events.send("large", [{"type": "tool", "name": "ö" * 500}] * 100)
    assert events.flush(30)
    counts = [len(request["json"]["events"]) for request in http_server.requests]
    assert counts[:2] == [500, 1]
    assert sum(counts) == 601
    assert all(len(request["body"]) <= 64 * 1024 for request in http_server.requests)


def test_a_full_queue_drops_events(http_server: HttpServer, reporters: Callable[..., Reporter]) -> None:
    release = threading.Event()

    def late(_request: dict[str, Any]) -> tuple[int, dict[str, str], bytes]:
        release.wait(SLOW)
        return 200, {}, b""

    http_server.answer = late
    events = reporters(sidecar_url=http_server.url).events
    assert events.send("first", [TOOL])
    wait_for(lambda: http_server.requests, "the first batch")
    assert events.send("second", [TOOL] * 1000)
    assert not events.send("third", [TOOL])
    assert events.counts() == {"delivered": 0, "dropped": 1, "queued": 1001}
    assert not events.flush(0.01)
    release.set()
    assert events.flush(30)
    assert events.counts() == {"delivered": 1001, "dropped": 1, "queued": 0}


@pytest.mark.parametrize(("status", "warnings"), [(500, 1), (404, 1), (400, 1)])
def test_a_failure_is_logged_once(
    http_server: HttpServer,
    reporters: Callable[..., Reporter],
    status: int,
    warnings: int,
    caplog: pytest.LogCaptureFixture,
) -> None:
    http_server.answer = lambda _request: (status, {}, b"")
    events = reporters(sidecar_url=http_server.url).events
    for _ in range(3):
        assert events.send("r", [TOOL])
        assert events.flush(30)
    assert events.counts()["dropped"] == 3
    assert len(caplog.records) == warnings
    assert f"status {status}" in caplog.text


def test_an_outage_is_logged_again_after_a_delivery(
    http_server: HttpServer, reporters: Callable[..., Reporter], caplog: pytest.LogCaptureFixture
) -> None:
    statuses = iter([503, 503, 200, 503])
    http_server.answer = lambda _request: (next(statuses), {}, b"")
    events = reporters(sidecar_url=http_server.url).events
    for _ in range(4):
        assert events.send("r", [TOOL])
        assert events.flush(30)
    assert len(caplog.records) == 2


def test_without_a_sidecar_events_are_dropped(
    closed_port: int, reporters: Callable[..., Reporter], caplog: pytest.LogCaptureFixture
) -> None:
    events = reporters(env={"PLATFORM_SIDECAR_URL": f"http://user:secret@127.0.0.1:{closed_port}"}).events
    assert events.send("r", [TOOL])
    assert events.flush(30)
    assert events.counts() == {"delivered": 0, "dropped": 1, "queued": 0}
    assert "Connection refused" in caplog.text
    assert "secret" not in caplog.text


def test_a_closed_sender_drops_events(http_server: HttpServer) -> None:
    url = http_url(http_server.url)
    assert url is not None
    events = _events.EventSender(url, "shop", timeout=SLOW)
    assert events.send("r", [TOOL])
    events.close(30)
    assert not events.send("r", [TOOL])
    assert events.counts() == {"delivered": 1, "dropped": 1, "queued": 0}


def test_an_endless_response_ends_with_the_limit(raw_server: Callable[[bytes | None], int]) -> None:
    url = http_url(f"http://127.0.0.1:{raw_server(None)}")
    assert url is not None
    events = _events.EventSender(url, "shop", timeout=0.05)
    assert events.send("r", [TOOL])
    assert events.flush(30)
    assert events.counts()["dropped"] == 1
    events.close()


@pytest.mark.parametrize("url", ["ftp://x", "x", "http://", "http://x:99999"])
def test_an_invalid_url_is_rejected(reporters: Callable[..., Reporter], url: str) -> None:
    with pytest.raises(SettingsError, match="sidecar_url must be a URL"):
        reporters(sidecar_url=url)


def test_a_batch_is_one_json_document() -> None:
    text, is_usage = _events._queued("r", MODEL)
    assert json.loads(text) == MODEL
    assert is_usage
