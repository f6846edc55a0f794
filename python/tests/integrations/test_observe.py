"""What the integrations share."""

from __future__ import annotations

import asyncio
import logging
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from agent_compliance import PolicyDenied, Reporter, behavior
from agent_compliance._shared import OnceEach
from agent_compliance.integrations import _observe
from agent_compliance.integrations._observe import (
    Observer,
    Open,
    Seen,
    as_type,
    blocked_by,
    closing,
    quietly,
    tokens_of,
    wrap_methods,
)
from fake_sidecar import FakeSidecar
from integrations.conftest import MANIFEST


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        ({"prompt_tokens": 3, "completion_tokens": 1}, (3, 1)),
        ({"input_tokens": 3, "output_tokens": 1}, (3, 1)),
        (SimpleNamespace(input_tokens=3, output_tokens=None), (3, 0)),
        ({"prompt_token_count": 3, "candidates_token_count": 1}, (3, 1)),
        (SimpleNamespace(request_tokens=3, response_tokens=1), (3, 1)),
        ({"prompt_tokens": 0, "completion_tokens": 0}, None),
        ({"total_tokens": 4}, None),
        (None, None),
    ],
)
def test_tokens(usage: Any, tokens: tuple[int, int] | None) -> None:
    assert tokens_of(usage) == tokens


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("pii_detector", "pii-detector"),
        ("Prompt Injection", "prompt-injection"),
        ("pii-detector", "pii-detector"),
        ("check_pii", "check_pii"),
    ],
)
def test_types(name: str, kind: str) -> None:
    assert as_type(name) == kind


def test_guardrails_as_list_and_mapping() -> None:
    assert Observer(guardrails=["pii_detector"]).guardrail_type("pii_detector") == "pii-detector"
    assert Observer(guardrails={"check": "toxicity-filter"}).guardrail_type("check") == "toxicity-filter"
    assert Observer(guardrails={"check": "toxicity-filter"}).guardrail_type("other") is None
    assert Observer().guardrail_type(None) is None


@pytest.mark.parametrize(
    ("result", "blocked"), [({"blocked": True}, True), ({"blocked": "yes"}, None), ("text", None), ({}, None)]
)
def test_blocked(result: Any, blocked: bool | None) -> None:
    assert blocked_by(result) is blocked


def test_errors_are_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    _observe._logged.clear()

    @quietly
    def fail() -> None:
        raise RuntimeError("own")

    with caplog.at_level(logging.WARNING, "agent_compliance"):
        for _ in range(3):
            fail()
    assert len(caplog.records) == 1


def test_denials_pass() -> None:
    @quietly
    def deny() -> None:
        raise PolicyDenied(["no"])

    with pytest.raises(PolicyDenied):
        deny()


def test_objects_are_counted_once() -> None:
    class Response:
        pass

    seen, response = Seen(), Response()
    assert [seen.is_first(response), seen.is_first(response), seen.is_first(Response())] == [True, False, True]
    # An object without weak references has no identity that outlives it.
    assert [seen.is_first(1), seen.is_first(1)] == [True, True]
    del response
    assert len(seen._references) == 0


def test_open_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_observe, "_MAX_OPEN", 2)
    opened = Open()
    for key in range(4):
        opened.begin(key, f"name {key}")
    assert [opened.end(key)[2] for key in range(4)] == [None, None, "name 2", "name 3"]


def test_methods_of_present_and_later_classes() -> None:
    class Base:
        seen: ClassVar[list[str]] = []

        def __init_subclass__(cls, **kwargs: Any) -> None:
            super().__init_subclass__(**kwargs)
            cls.seen.append(cls.__name__)

        def call(self) -> str:
            raise NotImplementedError

    class Present(Base):
        def call(self) -> str:
            return "present"

    wrap_methods(Base, {"call": lambda original: lambda self: f"wrapped {original(self)}"})

    class Later(Base):
        def call(self) -> str:
            return "later"

    class Inheriting(Later):
        pass

    assert [Present().call(), Later().call(), Inheriting().call()] == [
        "wrapped present",
        "wrapped later",
        "wrapped later",
    ]
    assert Base.seen == ["Present", "Later", "Inheriting"]


def test_invalid_facts_do_not_break_the_agent(
    reporter: Reporter, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    _observe._logged.clear()

    def fail(**_facts: Any) -> None:
        raise TypeError("not a fact")

    monkeypatch.setattr(reporter, "check_policy", fail)
    with caplog.at_level(logging.WARNING, "agent_compliance"):
        Observer(reporter, check_policy=True).before_model()
    assert [record.message for record in caplog.records] == ["policy not evaluated before a model call"]


def test_invalid_facts_of_asyncio(
    reporter: Reporter, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    _observe._logged.clear()

    async def fail(**_facts: Any) -> None:
        raise TypeError("not a fact")

    monkeypatch.setattr(reporter, "acheck_policy", fail)
    with caplog.at_level(logging.WARNING, "agent_compliance"):
        asyncio.run(Observer(reporter, check_policy=True).abefore_model())
    assert [record.message for record in caplog.records] == ["policy not evaluated before a model call"]


def test_outside_a_request_the_guardrail_is_unknown(
    sidecar: FakeSidecar, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """No denial and one warning. What does not depend on the request still denies."""
    monkeypatch.setattr(behavior, "_once", OnceEach())
    model = {**MANIFEST["spec"]["model"], "costControls": {"maxTokensPerDay": 10}}
    limited = {**MANIFEST, "spec": {**MANIFEST["spec"], "model": model}}
    reporter = Reporter(limited, sidecar_url=sidecar.url, env={})
    observer = Observer(reporter, check_policy=True)
    with caplog.at_level(logging.WARNING, "agent_compliance"):
        observer.before_model()
        asyncio.run(observer.abefore_model())
    assert [record.message.partition(",")[0] for record in caplog.records] == ["no open request"]
    reporter.record_usage("gpt", 5, 5)
    with pytest.raises(PolicyDenied) as denied:
        observer.before_model()
    assert denied.value.violations == ("daily_token_limit_exceeded",)


def test_tool_without_a_name(reporter: Reporter) -> None:
    with reporter.request("r-1") as behavior:
        Observer(reporter).tool(behavior, None, True, None)
        assert behavior.facts()["tools_called"] == []


@pytest.mark.parametrize(
    ("success", "result", "blocked"),
    [(True, None, None), (True, {"blocked": False}, False), (True, {"blocked": True}, True), (False, None, True)],
)
def test_a_tool_that_is_a_guardrail(
    success: bool, result: Any, blocked: bool | None, reporter: Reporter, sidecar: FakeSidecar
) -> None:
    with reporter.request("r-1") as behavior:
        Observer(reporter, guardrails={"scan": "pii-detector"}).tool(behavior, "scan", success, None, result)
        assert behavior.headers()["x-platform-guardrails-invoked"] == "pii-detector"
    assert reporter.events.flush(30)
    assert [event["blocked"] for event in sidecar.events.get("r-1", [])] == ([] if blocked is None else [blocked])


def test_iterators_that_cannot_be_closed() -> None:
    async def run() -> object:
        iterator = object()
        async with closing(iterator) as same:
            return same is iterator

    assert asyncio.run(run()) is True


class Raising(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        raise RuntimeError(record.getMessage())


def test_a_handler_that_raises_does_not_reach_the_agent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_observe, "_logged", set())
    logger = logging.getLogger("agent_compliance")
    handler = Raising()
    logger.addHandler(handler)
    try:
        assert quietly(lambda: 1 / 0)() is None
    finally:
        logger.removeHandler(handler)
    assert len(_observe._logged) == 1
