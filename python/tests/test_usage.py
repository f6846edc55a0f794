from collections.abc import Callable
from typing import Any

import pytest

from agent_compliance import Reporter
from agent_compliance import reporter as _reporter
from conftest import manifest

PRICES = {"costControls": {"usdPerMillionTokens": {"input": 2, "output": 10}}}


def test_calls_are_summed_by_model(reporters: Callable[..., Reporter]) -> None:
    reporter = reporters()
    assert reporter.record_usage("a", 3, 4)
    assert reporter.record_usage("a", 1, 1)
    assert reporter.record_usage("b", 0, 0)
    usage = reporter.get_usage()
    assert usage["source"] == "agent-sdk"
    assert usage["models"] == [
        {"modelId": "a", "promptTokens": 4, "completionTokens": 5, "totalTokens": 9, "callCount": 2},
        {"modelId": "b", "promptTokens": 0, "completionTokens": 0, "totalTokens": 0, "callCount": 1},
    ]
    assert (usage["totalTokens"], usage["totalCalls"]) == (9, 3)


@pytest.mark.parametrize(
    "call", [("", 1, 1), (None, 1, 1), ("a", -1, 1), ("a", 1.0, 1), ("a", True, 1), ("a", 1, 10**9 + 1)]
)
def test_an_invalid_call_is_not_counted(
    reporters: Callable[..., Reporter], call: tuple[Any, Any, Any], caplog: pytest.LogCaptureFixture
) -> None:
    reporter = reporters()
    assert not reporter.record_usage(*call)
    assert not reporter.record_usage(*call)
    assert reporter.get_usage()["totalCalls"] == 0
    assert len(caplog.records) == 1


def test_models_beyond_the_99th_count_as_other(reporters: Callable[..., Reporter]) -> None:
    reporter = reporters()
    for index in range(120):
        assert reporter.record_usage(f"m{index}", 1, 0)
    models = reporter.get_usage()["models"]
    assert len(models) == 100
    assert models[-1]["modelId"] == "(other)"
    assert models[-1]["callCount"] == 21


def test_a_window_stays_until_its_heartbeat_is_confirmed() -> None:
    ledger = _reporter.UsageLedger(None)
    ledger.record("a", 1, 1)
    first = ledger.take("1")
    ledger.record("a", 2, 2)
    ledger.record("b", 5, 0)
    assert ledger.take("1") == first
    ledger.confirm("another")
    assert ledger.window()["totalTokens"] == 11
    ledger.confirm("1")
    assert [(model["modelId"], model["totalTokens"]) for model in ledger.window()["models"]] == [("a", 4), ("b", 5)]
    ledger.take("2")
    ledger.confirm("2")
    assert ledger.window()["models"] == []


def test_totals_start_from_zero_each_utc_day(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1_700_000_000.0
    monkeypatch.setattr(_reporter, "utc_now", lambda: now)
    ledger = _reporter.UsageLedger((2.0, 10.0))
    ledger.record("a", 1_000_000, 100_000)
    assert ledger.totals() == {"tokensToday": 1_100_000, "costTodayUsd": 3.0}
    now += 86_400
    assert ledger.totals() == {"tokensToday": 0, "costTodayUsd": 0.0}
    ledger.record("a", 1, 0)
    assert ledger.totals()["tokensToday"] == 1


def test_the_cost_needs_both_prices(reporters: Callable[..., Reporter]) -> None:
    spec = manifest()
    spec["spec"]["model"].update(PRICES)
    priced = reporters(spec)
    priced.record_usage("a", 500_000, 0)
    assert priced.totals() == {"tokensToday": 500_000, "costTodayUsd": 1.0}
    assert reporters().totals() == {"tokensToday": 0}
