import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from agent_compliance import PolicyDenied, PolicyUnavailable, Reporter, _policy
from conftest import HttpServer, manifest

COSTS = {"maxTokensPerDay": 10, "maxMonthlyUSD": 30, "usdPerMillionTokens": {"input": 1, "output": 1}}
PII = {"guardrails": {"input": [{"type": "pii-detector"}]}}
TOXICITY = {
    "guardrails": {
        "output": [
            {"type": "toxicity-filter", "threshold": 0.9},
            {"type": "toxicity-filter", "threshold": 0.7},
            {"type": "toxicity-filter"},
        ]
    }
}
TOOLS = {"tools": [{"name": "refund", "annotations": {"destructiveHint": True}}, {"name": "search"}]}
MEMORY = {"memory": {"shortTerm": {"ttlSeconds": 60}}}


def with_costs() -> dict[str, Any]:
    value = manifest()
    value["spec"]["model"]["costControls"] = COSTS
    return value


@pytest.mark.parametrize(
    ("declared", "facts", "violations"),
    [
        (manifest(), {}, ()),
        (manifest(**PII), {}, ("pii_detector_not_invoked",)),
        (manifest(**PII), {"guardrails_invoked": []}, ("pii_detector_not_invoked",)),
        (manifest(**PII), {"guardrails_invoked": ("pii-detector",)}, ()),
        (manifest(**PII), {"guardrails_invoked": None}, ()),
        (manifest(**TOXICITY), {}, ()),
        (manifest(**TOXICITY), {"toxicity_score": 0.69}, ()),
        (manifest(**TOXICITY), {"toxicity_score": 0.7}, ("toxicity_threshold_exceeded",)),
        (manifest(**TOOLS), {"tools_called": ["search"]}, ()),
        (manifest(**TOOLS), {"tools_called": {"refund"}}, ("destructive_tool_without_confirmation",)),
        (
            manifest(**TOOLS),
            {"tools_called": ["refund"], "user_confirmed": False},
            ("destructive_tool_without_confirmation",),
        ),
        (manifest(**TOOLS), {"tools_called": ["refund"], "user_confirmed": True}, ()),
        (manifest(**TOOLS), {"tools_called": ["refund"], "user_confirmed": None}, ()),
        (
            manifest(**PII, **TOOLS),
            {"guardrails_invoked": None, "tools_called": ["refund"]},
            ("destructive_tool_without_confirmation",),
        ),
        (manifest(**MEMORY), {"memory_ttl_seconds": 60}, ()),
        (manifest(**MEMORY), {"memory_ttl_seconds": 61}, ("memory_ttl_mismatch",)),
        (manifest(**MEMORY), {"memory_ttl_seconds": None}, ()),
        (with_costs(), {}, ()),
        (with_costs(), {"tokens_today": 9, "cost_today_usd": 0.99}, ()),
        (
            with_costs(),
            {"tokens_today": 10, "cost_today_usd": 1},
            ("daily_token_limit_exceeded", "monthly_cost_limit_exceeded"),
        ),
    ],
)
def test_the_rules_of_the_manifest(
    reporters: Callable[..., Reporter], declared: dict[str, Any], facts: dict[str, Any], violations: tuple[str, ...]
) -> None:
    reporter = reporters(declared)
    if not violations:
        reporter.check_policy(**facts)
        return
    with pytest.raises(PolicyDenied, match=", ".join(violations)) as error:
        reporter.check_policy(**facts)
    assert error.value.violations == violations


def test_unknown_facts_are_no_verdict(reporters: Callable[..., Reporter]) -> None:
    reporter = reporters(manifest(**PII, **TOOLS), fail_closed=True)
    reason = "the facts of destructive_tool_without_confirmation, pii_detector_not_invoked are unknown"
    with pytest.raises(PolicyUnavailable, match=reason):
        reporter.check_policy(guardrails_invoked=None, tools_called=["refund"], user_confirmed=None)


def test_the_reporters_own_counts_are_used(reporters: Callable[..., Reporter]) -> None:
    reporter = reporters(with_costs())
    reporter.record_usage("a", 5, 5)
    with pytest.raises(PolicyDenied, match="daily_token_limit_exceeded"):
        reporter.check_policy()


@pytest.mark.parametrize(
    "facts",
    [
        {"guardrails_invoked": "pii-detector"},
        {"guardrails_invoked": [1]},
        {"tools_called": [""]},
        {"user_confirmed": "yes"},
        {"toxicity_score": True},
        {"memory_ttl_seconds": 1.5},
        {"tokens_today": -1},
        {"other": 1},
    ],
)
def test_invalid_facts_raise_a_type_error(reporters: Callable[..., Reporter], facts: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match=next(iter(facts))):
        reporters().check_policy(**facts)


def test_the_engine_gets_the_document_of_the_sidecar(
    http_server: HttpServer, reporters: Callable[..., Reporter]
) -> None:
    http_server.answer = lambda _request: (200, {}, b'{"result":["b","a","b"]}')
    reporter = reporters(
        {**with_costs(), "metadata": {"name": "my-shop"}}, env={"POLICY_URL": f"{http_server.url}/opa/"}
    )
    with pytest.raises(PolicyDenied) as error:
        reporter.check_policy(
            guardrails_invoked=["\ud800"],
            tools_called=["x" * 600],
            user_confirmed=True,
            toxicity_score=0.5,
            memory_ttl_seconds=7,
        )
    assert error.value.violations == ("a", "b")
    (request,) = http_server.requests
    assert (request["method"], request["path"]) == ("POST", "/opa/v1/data/platform/agent/my_shop/deny")
    assert request["json"] == {
        "input": {
            "agent_name": "my-shop",
            "request_type": "llm_call",
            "tokens_today": 0,
            "cost_today_usd": 0,
            "guardrails_invoked": ["\ufffd"],
            "tools_called": ["x" * 500],
            "user_confirmed": True,
            "toxicity_score": 0.5,
            "memory_write": {"ttl_seconds": 7},
        }
    }


def test_a_name_of_digits_is_no_list_index(http_server: HttpServer, reporters: Callable[..., Reporter]) -> None:
    http_server.answer = lambda _request: (200, {}, b'{"result":[]}')
    reporters({**manifest(), "metadata": {"name": "42"}}, policy_url=http_server.url).check_policy()
    assert http_server.requests[0]["path"] == "/v1/data/platform/agent/_42/deny"


@pytest.mark.parametrize(
    ("status", "body", "reason"),
    [
        (500, b"", "status 500"),
        (200, b"{}", "does not have the rules"),
        (200, b"[]", "not a JSON object"),
        (200, b"x", "not a JSON object"),
        (200, b'{"a":"' + b"x" * 300_000 + b'"}', "larger than"),
    ],
)
def test_without_a_verdict_the_call_is_allowed_unless_it_fails_closed(
    http_server: HttpServer,
    reporters: Callable[..., Reporter],
    status: int,
    body: bytes,
    reason: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    http_server.answer = lambda _request: (status, {}, body)
    reporter = reporters(policy_url=http_server.url)
    reporter.check_policy()
    reporter.check_policy()
    assert len(caplog.records) == 1
    assert reason in caplog.text
    with pytest.raises(PolicyUnavailable, match=reason):
        reporters(policy_url=http_server.url, fail_closed=True).check_policy()


@pytest.mark.parametrize(
    ("result", "violations", "problem"),
    [
        (b'[{"msg":"no"},"pii"]', ("no", "pii"), None),
        (b'[{"msg":{},"reason":"why"},"a\\r\\nb"]', ("a\r\nb", "why"), None),
        (b'"no"', ("no",), None),
        (b'{"msg":"no"}', ("no",), None),
        (b"null", (), None),
        (b"false", (), None),
        (b'""', (), None),
        (b"{}", (), None),
        (b"0", ("policy_result_invalid",), "no text in a int"),
        (b"true", ("policy_result_invalid",), "no text in a bool"),
        (b'{"pii":true}', ("policy_result_invalid",), "no text in a dict"),
        (b'["pii",[]]', ("pii", "policy_result_invalid"), "no text in a list"),
        (b'["",null]', ("policy_result_invalid",), "no text in a NoneType"),
    ],
)
def test_a_result_that_is_not_empty_denies_in_any_form(
    http_server: HttpServer,
    reporters: Callable[..., Reporter],
    result: bytes,
    violations: tuple[str, ...],
    problem: str | None,
    caplog: pytest.LogCaptureFixture,
) -> None:
    http_server.answer = lambda _request: (200, {}, b'{"result":' + result + b"}")
    reporter = reporters(policy_url=http_server.url)
    for _ in range(6):
        if violations:
            with pytest.raises(PolicyDenied) as error:
                reporter.check_policy()
            assert error.value.violations == violations
        else:
            reporter.check_policy()
    assert len(http_server.requests) == 6
    assert (problem in caplog.text) if problem else (caplog.text == "")


def test_an_outage_is_logged_again_after_a_verdict(
    http_server: HttpServer, reporters: Callable[..., Reporter], caplog: pytest.LogCaptureFixture
) -> None:
    answers = iter([b"{}", b'{"result":[]}', b"{}"])
    http_server.answer = lambda _request: (200, {}, next(answers))
    reporter = reporters(policy_url=http_server.url)
    for _ in range(3):
        reporter.check_policy()
    assert len(caplog.records) == 2


def test_a_hung_engine_is_queried_once_per_five_seconds(
    http_server: HttpServer, reporters: Callable[..., Reporter], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1000.0
    monkeypatch.setattr("agent_compliance._policy.time.monotonic", lambda: now)
    monkeypatch.setattr(_policy, "post_json", lambda *_a, **_k: (_ for _ in ()).throw(OSError("hung")))
    reporter = reporters(policy_url=http_server.url, fail_closed=True)

    def reason() -> str:
        with pytest.raises(PolicyUnavailable) as error:
            reporter.check_policy()
        return error.value.reason

    assert [reason() for _ in range(6)] == ["hung"] * 5 + ["no response 5 times in a row"]
    now += 5
    assert [reason() for _ in range(2)] == ["hung", "no response 5 times in a row"]
    monkeypatch.undo()
    reporter._policy._engine._next = 0.0  # type: ignore[union-attr]
    http_server.answer = lambda _request: (200, {}, b'{"result":[]}')
    reporter.check_policy()
    reporter.check_policy()
    assert len(http_server.requests) == 2


def test_an_engine_that_never_answers_ends_with_the_limit(
    raw_server: Callable[[bytes | None], int], reporters: Callable[..., Reporter]
) -> None:
    reporter = reporters(policy_url=f"http://127.0.0.1:{raw_server(None)}", policy_timeout=0.05, fail_closed=True)
    with pytest.raises(PolicyUnavailable, match="no response within 50 ms"):
        reporter.check_policy()


def test_asyncio_does_not_wait_for_the_engine(http_server: HttpServer, reporters: Callable[..., Reporter]) -> None:
    http_server.answer = lambda _request: (200, {}, json.dumps({"result": ["no"]}).encode())

    async def check() -> None:
        await reporters(manifest(**PII)).acheck_policy(guardrails_invoked=["pii-detector"])
        with pytest.raises(PolicyDenied):
            await reporters(manifest(**PII)).acheck_policy()
        with pytest.raises(PolicyDenied, match="no"):
            await reporters(policy_url=http_server.url).acheck_policy()

    asyncio.run(check())
