"""What every integration with an agent framework must report, compared with what the model has billed."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import pytest

from agent_compliance import Behavior, PolicyDenied, Reporter
from fake_model import MODEL, FakeModel
from fake_sidecar import FakeSidecar

QUESTION = "How much is six times seven?"
GUARDRAIL = "pii-detector"


def multiply(a: int, b: int) -> int:
    """Multiplies two numbers.

    Args:
        a: the first number
        b: the second number
    """
    if a == 0:
        raise ValueError("the first number is zero")
    return a * b


class Observed:
    """What was reported for one request."""

    def __init__(self, headers: dict[str, str], events: list[dict[str, Any]]) -> None:
        self.guardrails = headers.get("x-platform-guardrails-invoked")
        self.tools = headers.get("x-platform-tools-called")
        self.events = events

    def of(self, kind: str) -> list[dict[str, Any]]:
        """The events of one type."""
        return [event for event in self.events if event["type"] == kind]

    @property
    def models(self) -> list[tuple[str, int, int]]:
        """Model calls."""
        return [(each["modelId"], each["promptTokens"], each["completionTokens"]) for each in self.of("model")]

    @property
    def tool_results(self) -> list[tuple[str, bool | None]]:
        """Calls of tools and whether they succeeded."""
        return [(each["name"], each.get("success")) for each in self.of("tool")]


class Contract:
    """Tests of one framework. A subclass installs the integration and runs one conversation."""

    #: The framework calls the model again after the tool.
    calls = 2
    has_stream = True

    def install(self, reporter: Reporter, **options: Any) -> None:
        """Installs the integration with the guardrail of the conversation."""
        raise NotImplementedError

    async def ask(
        self, url: str, question: str, *, stream: bool = False, guarded: bool = True, model: str = MODEL
    ) -> str:
        """Runs an agent with the tool `multiply`, and with the guardrail before the model call if `guarded`."""
        raise NotImplementedError

    def settle(self) -> None:
        """Waits until the framework has called its listeners."""

    async def observe(self, reporter: Reporter, request_id: str, run: Callable[[], Awaitable[Any]]) -> dict[str, str]:
        """Runs in a request, and returns the headers of its response."""
        with reporter.request(request_id) as behavior:
            await run()
            await asyncio.to_thread(self.settle)
            return behavior.headers()

    def observed(
        self, reporter: Reporter, sidecar: FakeSidecar, run: Callable[[], Awaitable[Any]], request_id: str = "r-1"
    ) -> Observed:
        headers = asyncio.run(self.observe(reporter, request_id, run))
        assert reporter.events.flush(30)
        return Observed(headers, sidecar.events.get(request_id, []))

    def billed(self, model: FakeModel, question: str = "") -> list[tuple[str, int, int]]:
        """What the model has billed for one question."""
        return [
            (call.model, call.prompt_tokens, call.completion_tokens)
            for call in model.calls
            if question in call.question
        ]

    def test_whole_responses(self, model: FakeModel, sidecar: FakeSidecar, reporter: Reporter) -> None:
        self.install(reporter)
        seen = self.observed(reporter, sidecar, lambda: self.ask(model.url, QUESTION))
        assert len(model.calls) == self.calls
        assert seen.models == self.billed(model)
        assert seen.tools == "multiply"
        assert seen.tool_results == [("multiply", True)]
        assert seen.guardrails == GUARDRAIL

    def test_streams(self, model: FakeModel, sidecar: FakeSidecar, reporter: Reporter) -> None:
        if not self.has_stream:
            return
        self.install(reporter)
        seen = self.observed(reporter, sidecar, lambda: self.ask(model.url, QUESTION, stream=True))
        assert [call.is_stream for call in model.calls] == [True] * self.calls
        assert seen.models == self.billed(model)
        assert seen.tool_results == [("multiply", True)]

    def test_failing_tool(self, model: FakeModel, sidecar: FakeSidecar, reporter: Reporter) -> None:
        self.install(reporter)
        model.reset(a=0, b=7)

        async def run() -> None:
            # Some frameworks raise what the tool raised.
            with suppress(ValueError):
                await self.ask(model.url, QUESTION)

        seen = self.observed(reporter, sidecar, run)
        assert seen.tool_results
        assert set(seen.tool_results) == {("multiply", False)}
        assert seen.models == self.billed(model)

    def test_parallel_requests(self, model: FakeModel, sidecar: FakeSidecar, reporter: Reporter) -> None:
        self.install(reporter)
        questions = [f"question {number}" for number in range(3)]

        async def run() -> None:
            runs = (self.observe(reporter, each, lambda each=each: self.ask(model.url, each)) for each in questions)  # type: ignore[misc]
            await asyncio.gather(*runs)

        asyncio.run(run())
        assert reporter.events.flush(30)
        for question in questions:
            seen = Observed({}, sidecar.events[question])
            assert len(seen.models) == self.calls
            assert sorted(seen.models) == sorted(self.billed(model, question))
            assert seen.tool_results == [("multiply", True)]

    def test_requests_in_threads(self, model: FakeModel, sidecar: FakeSidecar, reporter: Reporter) -> None:
        self.install(reporter)
        questions = [f"question {number}" for number in range(2)]

        def work(question: str) -> None:
            asyncio.run(self.observe(reporter, question, lambda: self.ask(model.url, question)))

        threads = [threading.Thread(target=work, args=(question,)) for question in questions]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert reporter.events.flush(30)
        for question in questions:
            assert sorted(Observed({}, sidecar.events[question]).models) == sorted(self.billed(model, question))

    def test_several_conversations_in_one_request(
        self, model: FakeModel, sidecar: FakeSidecar, reporter: Reporter
    ) -> None:
        self.install(reporter)

        async def run() -> None:
            await self.ask(model.url, "first")
            await self.ask(model.url, "second")

        seen = self.observed(reporter, sidecar, run)
        assert len(model.calls) == 2 * self.calls
        assert seen.models == self.billed(model)

    def test_outside_a_request(self, model: FakeModel, sidecar: FakeSidecar, reporter: Reporter) -> None:
        self.install(reporter)
        asyncio.run(self.ask(model.url, QUESTION))
        self.settle()
        assert reporter.events.flush(30)
        assert Observed({}, sidecar.events[None]).models == self.billed(model)
        assert (reporter.get_usage()["totalCalls"], reporter.get_usage()["totalTokens"]) == (
            self.calls,
            sum(model.tokens()),
        )

    def test_outside_a_request_with_policy(self, model: FakeModel, sidecar: FakeSidecar, reporter: Reporter) -> None:
        self.install(reporter, check_policy=True)
        assert "42" in asyncio.run(self.ask(model.url, QUESTION))
        assert len(model.calls) == self.calls

    def test_denial_before_the_model_call(self, model: FakeModel, sidecar: FakeSidecar, reporter: Reporter) -> None:
        self.install(reporter, check_policy=True)

        async def run() -> None:
            with pytest.raises(PolicyDenied) as denied:
                await self.ask(model.url, QUESTION, guarded=False)
            assert denied.value.violations

        self.observed(reporter, sidecar, run)
        assert model.calls == []

    def test_denial_of_a_stream(self, model: FakeModel, sidecar: FakeSidecar, reporter: Reporter) -> None:
        if not self.has_stream:
            return
        self.install(reporter, check_policy=True)

        async def run() -> None:
            with pytest.raises(PolicyDenied):
                await self.ask(model.url, QUESTION, guarded=False, stream=True)

        self.observed(reporter, sidecar, run)
        assert model.calls == []

    def test_allowed_after_the_guardrail(self, model: FakeModel, sidecar: FakeSidecar, reporter: Reporter) -> None:
        self.install(reporter, check_policy=True)
        seen = self.observed(reporter, sidecar, lambda: self.ask(model.url, QUESTION))
        assert seen.models == self.billed(model)
        assert len(seen.models) == self.calls

    def test_own_errors_do_not_break_the_agent(
        self, model: FakeModel, sidecar: FakeSidecar, reporter: Reporter, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.install(reporter)

        def fail(*_args: Any, **_kwargs: Any) -> bool:
            raise RuntimeError("an error of the reporter")

        for method in ("begin", "model", "tool", "guardrail", "facts"):
            monkeypatch.setattr(Behavior, method, fail)
        answers: list[str] = []

        async def run() -> None:
            answers.append(await self.ask(model.url, QUESTION))

        asyncio.run(self.observe(reporter, "r-1", run))
        assert "42" in answers[0]
        assert len(model.calls) == self.calls
