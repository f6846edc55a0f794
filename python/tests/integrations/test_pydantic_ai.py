# The frameworks are not installed where the types are checked.
# mypy: disable-error-code="import-not-found,import-untyped,untyped-decorator,misc"
"""Pydantic AI with chat completions and with the Responses API."""

from __future__ import annotations

from typing import Any

import pytest

from agent_compliance import Reporter
from agent_compliance.integrations import pydantic_ai
from fake_model import MODEL, FakeModel
from fake_sidecar import FakeSidecar
from integrations.contract import GUARDRAIL, QUESTION, Contract, multiply


def model_of(url: str, name: str, kind: str) -> Any:
    import pydantic_ai.models.openai
    from openai import AsyncOpenAI
    from pydantic_ai.providers.openai import OpenAIProvider

    client = AsyncOpenAI(base_url=url, api_key="key", max_retries=0)
    return getattr(pydantic_ai.models.openai, kind)(name, provider=OpenAIProvider(openai_client=client))


class TestChatCompletions(Contract):
    kind = "OpenAIChatModel"

    def install(self, reporter: Reporter, **options: Any) -> None:
        pydantic_ai.install(reporter, guardrails={"check_output": GUARDRAIL}, **options)

    async def ask(
        self, url: str, question: str, *, stream: bool = False, guarded: bool = True, model: str = MODEL
    ) -> str:
        from pydantic_ai import Agent

        from agent_compliance import current_behavior

        agent = Agent(model_of(url, model, self.kind), tools=[multiply])
        if guarded:
            # An input guardrail is a function of the application.
            try:
                current_behavior().guardrail(GUARDRAIL)
            except RuntimeError:
                assert question == QUESTION
        if not stream:
            return str((await agent.run(question)).output)
        async with agent.run_stream(question) as run:
            pieces = [piece async for piece in run.stream_text(delta=True)]
        return "".join(pieces)

    def test_output_validators(self, model: FakeModel, sidecar: FakeSidecar, reporter: Reporter) -> None:
        from pydantic_ai import Agent, ModelRetry

        self.install(reporter)
        agent = Agent(model_of(model.url, MODEL, self.kind), retries=1)
        results = iter([True, False])

        @agent.output_validator
        def check_output(text: str) -> str:
            if next(results):
                raise ModelRetry("personal data")
            return text

        async def run() -> None:
            await agent.run(QUESTION)

        seen = self.observed(reporter, sidecar, run)
        assert [event["blocked"] for event in seen.of("guardrail")] == [True, False]
        assert seen.guardrails == GUARDRAIL
        assert len(seen.models) == 2

    def test_wrapped_models_and_toolsets(self, model: FakeModel, sidecar: FakeSidecar, reporter: Reporter) -> None:
        from pydantic_ai import Agent, FunctionToolset
        from pydantic_ai.models.fallback import FallbackModel

        self.install(reporter)
        wrapped = FallbackModel(model_of(model.url, MODEL, self.kind), model_of(model.url, MODEL, self.kind))
        agent = Agent(wrapped, toolsets=[FunctionToolset([multiply]).prefixed("math")])

        async def run() -> None:
            await agent.run(QUESTION)

        seen = self.observed(reporter, sidecar, run)
        assert seen.models == self.billed(model)
        assert seen.tool_results == [("math_multiply", True)]

    def test_structured_output_is_no_tool(self, model: FakeModel, sidecar: FakeSidecar, reporter: Reporter) -> None:
        from pydantic_ai import Agent, ToolOutput

        self.install(reporter)

        def product(a: int, b: int) -> int:
            return a * b

        async def run() -> None:
            agent = Agent(model_of(model.url, MODEL, self.kind), output_type=ToolOutput(product))
            assert (await agent.run(QUESTION)).output == 42

        seen = self.observed(reporter, sidecar, run)
        assert seen.tool_results == []
        assert seen.models == self.billed(model)

    def test_waiting_tools_are_not_reported(self, model: FakeModel, sidecar: FakeSidecar, reporter: Reporter) -> None:
        from pydantic_ai import Agent, CallDeferred, DeferredToolRequests

        self.install(reporter)

        def later(a: int, b: int) -> int:
            raise CallDeferred

        async def run() -> None:
            agent = Agent(model_of(model.url, MODEL, self.kind), tools=[later], output_type=[str, DeferredToolRequests])
            assert isinstance((await agent.run(QUESTION)).output, DeferredToolRequests)

        assert self.observed(reporter, sidecar, run).tool_results == []


class TestResponses(TestChatCompletions):
    kind = "OpenAIResponsesModel"


def test_models_that_are_defined_later(sidecar: FakeSidecar, reporter: Reporter) -> None:
    import asyncio

    pydantic_ai.install(reporter)
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelResponse, TextPart
    from pydantic_ai.models import Model
    from pydantic_ai.usage import RequestUsage

    class OwnModel(Model):
        model_name = "own"
        system = "own"

        async def request(self, *_args: Any) -> ModelResponse:
            return ModelResponse([TextPart("42")], usage=RequestUsage(input_tokens=3, output_tokens=1))

    with reporter.request("r-1"):
        assert asyncio.run(Agent(OwnModel()).run(QUESTION)).output == "42"
    assert reporter.events.flush(30)
    (event,) = sidecar.events["r-1"]
    assert (event["modelId"], event["promptTokens"], event["completionTokens"]) == ("own", 3, 1)


@pytest.mark.parametrize("names", [["check_output"], None])
def test_validators_without_a_type(names: list[str] | None, reporter: Reporter) -> None:
    pydantic_ai.install(reporter, guardrails=names)
    assert pydantic_ai._observer.guardrail_type("check_output") == (names[0] if names else None)
