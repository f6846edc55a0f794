import threading
from collections.abc import Callable
from typing import Any

import pytest

from agent_compliance import Behavior, Reporter, behavior, current_behavior, set_default_reporter
from agent_compliance._shared import OnceEach
from conftest import HttpServer, manifest


class Sent:
    """A reporter with its sidecar."""

    def __init__(self, reporter: Reporter, server: HttpServer) -> None:
        self.reporter = reporter
        self._server = server

    def events(self) -> list[Any]:
        assert self.reporter.events.flush(30)
        return [event for request in self._server.requests for event in request["json"]["events"]]


@pytest.fixture
def sent(http_server: HttpServer, reporters: Callable[..., Reporter]) -> Sent:
    memory = {"shortTerm": {"backend": "redis", "ttlSeconds": 60}, "longTerm": {"backend": "postgres"}}
    return Sent(reporters(manifest(memory=memory), sidecar_url=http_server.url), http_server)


def test_details_go_into_events(sent: Sent) -> None:
    request = sent.reporter.behavior("r")
    assert request.guardrail("toxicity-filter", blocked=False, score=0.5)
    assert request.guardrail("off", invoked=False)
    assert request.tool("search", success=True, latency_ms=12.5)
    assert request.memory("redis", ttl_seconds=60, pii_scrubbed=True)
    assert request.model("gpt", 3, 4)
    assert request.headers()["x-platform-guardrails-invoked"] == "toxicity-filter"
    assert sent.events() == [
        {"type": "guardrail", "guardrailType": "toxicity-filter", "invoked": True, "blocked": False, "score": 0.5},
        {"type": "guardrail", "guardrailType": "off", "invoked": False},
        {"type": "tool", "name": "search", "success": True, "latencyMs": 12.5},
        {"type": "memory", "backend": "redis", "ttlSeconds": 60, "piiScrubbed": True},
        {"type": "model", "modelId": "gpt", "promptTokens": 3, "completionTokens": 4},
    ]


def test_without_a_request_id_only_headers_and_tokens_count(sent: Sent, caplog: pytest.LogCaptureFixture) -> None:
    request = sent.reporter.behavior(None)
    assert request.guardrail("pii-detector", blocked=True)
    request.headers()
    assert not request.tool("late")
    assert not request.memory("redis")
    assert request.model("gpt", 1, 1)
    assert [event["type"] for event in sent.events()] == ["model"]
    assert len(caplog.records) == 1


@pytest.mark.parametrize("name", ["", "  ", None, 5])
def test_an_invalid_name_is_rejected(sent: Sent, name: Any) -> None:
    request = sent.reporter.behavior("r")
    assert not request.guardrail(name)
    assert not request.tool(name)
    assert request.headers() == {}


def test_confirmed_must_be_a_boolean(sent: Sent) -> None:
    value: Any = "yes"
    assert not sent.reporter.behavior("r").confirmed(value)
    request = sent.reporter.behavior("r")
    assert request.confirmed(False)
    assert request.headers()["x-platform-user-confirmed"] == "false"


def test_a_call_id_counts_once(sent: Sent) -> None:
    request = sent.reporter.behavior("r")
    assert request.model("gpt", 1, 1, "call-1")
    assert request.model("gpt", 1, 1, "call-1")
    assert request.model("gpt", 1, 1, "call-2")
    assert not request.model("gpt", -1, 1, "call-3")
    assert request.model("gpt", 1, 1, "call-3")
    assert sent.reporter.get_usage()["totalCalls"] == 3


def test_facts_are_those_of_the_request(sent: Sent) -> None:
    request = sent.reporter.behavior("r")
    assert request.facts() == {"guardrails_invoked": [], "tools_called": []}
    request.guardrail("toxicity-filter", score=0.2)
    request.guardrail("toxicity-filter", score=0.1)
    request.tool("refund")
    request.confirmed()
    request.memory("postgres", ttl_seconds=5)
    request.memory("redis", ttl_seconds=60)
    assert request.facts()["memory_ttl_seconds"] == 60
    request.memory(ttl_seconds=61)
    request.memory("redis", ttl_seconds=60)
    assert request.facts() == {
        "guardrails_invoked": ["toxicity-filter"],
        "tools_called": ["refund"],
        "user_confirmed": True,
        "toxicity_score": 0.2,
        "memory_ttl_seconds": 61,
    }


def test_an_invalid_ttl_is_no_fact(sent: Sent) -> None:
    request = sent.reporter.behavior("r")
    value: Any = 1.5
    assert not request.memory(ttl_seconds=value)
    sent.reporter.check_policy(**request.facts())


def test_outside_a_request_nothing_is_reported(
    sent: Sent, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(behavior, "_once", OnceEach())
    outside = current_behavior()
    assert not outside.begin()
    assert not outside.guardrail("a")
    assert not outside.tool("a")
    assert not outside.memory("a")
    assert not outside.confirmed()
    unknown = {"guardrails_invoked": None, "user_confirmed": None}
    assert (outside.facts(), outside.headers(), outside.request_id) == (unknown, {}, None)
    assert [record.message.partition(",")[0] for record in caplog.records] == ["no open request"]
    outside.close()
    set_default_reporter(sent.reporter)
    assert outside.model("gpt", 1, 2)
    assert sent.reporter.get_usage()["totalTokens"] == 3
    assert sent.events()[0]["type"] == "model"


def test_without_a_reporter_tokens_outside_a_request_are_lost(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("AGENT_MANIFEST", raising=False)
    assert not current_behavior().model("gpt", 1, 2)
    assert "there is no reporter" in caplog.text
    sink = behavior._NoSink()
    sink.lost("a", "b")
    assert sink.memory_selection() == (None, ())
    assert not sink.send_event(None, {})


def test_a_request_scope_makes_its_behavior_the_current_one(sent: Sent) -> None:
    with sent.reporter.request("r1") as outer:
        assert current_behavior() is outer
        assert outer.request_id == "r1"
        with sent.reporter.request("r2") as inner:
            assert current_behavior() is inner
        assert current_behavior() is outer
        assert sent.reporter.record_usage("gpt", 1, 1)
    assert current_behavior() is not outer
    assert sent.events()[0]["type"] == "model"


def test_late_work_belongs_to_its_request_for_one_minute(sent: Sent, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr("agent_compliance.behavior.time.monotonic", lambda: now)
    request = sent.reporter.behavior("r")
    token = behavior.CURRENT.set(request)
    try:
        request.close()
        now += 60
        assert current_behavior() is request
        assert not request.is_over()
        now += 0.1
        assert current_behavior() is not request
    finally:
        behavior.CURRENT.reset(token)


def test_requests_do_not_mix(sent: Sent) -> None:
    barrier = threading.Barrier(8)
    found: list[tuple[str, dict[str, str]]] = []

    def run(name: str) -> None:
        with sent.reporter.request(name) as request:
            for index in range(20):
                barrier.wait(30)
                current_behavior().tool(f"{name}-{index}")
            found.append((name, request.headers()))

    threads = [threading.Thread(target=run, args=(f"t{index}",)) for index in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    for name, headers in found:
        assert headers["x-platform-tools-called"] == ", ".join(f"{name}-{index}" for index in range(20))


@pytest.mark.parametrize("value", [None, "", "x" * 129])
def test_an_id_that_the_sidecar_cannot_have_sent_is_ignored(
    reporters: Callable[..., Reporter], value: str | None
) -> None:
    request: Behavior = reporters().behavior(value)
    assert request.request_id is None
