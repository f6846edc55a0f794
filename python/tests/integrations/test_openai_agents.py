# The frameworks are not installed where the types are checked.
# mypy: disable-error-code="import-not-found,import-untyped,untyped-decorator,misc"
"""OpenAI Agents SDK, with both of its APIs."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from agent_compliance import Reporter
from agent_compliance.integrations import _observe, openai_agents
from fake_model import MODEL, FakeModel
from fake_sidecar import FakeSidecar
from integrations.contract import GUARDRAIL, QUESTION, Contract, multiply


def agent_of(url: str, guarded: bool, name: str, kind: str, *, blocks: bool = False) -> Any:
    import agents
    from openai import AsyncOpenAI

    async def pii_detector(_context: Any, _agent: Any, _input: Any) -> Any:
        return agents.GuardrailFunctionOutput(output_info=None, tripwire_triggered=blocks)

    model = getattr(agents, kind)(model=name, openai_client=AsyncOpenAI(base_url=url, api_key="key", max_retries=0))
    # A guardrail that runs next to the model call would have no result yet when the policy is evaluated.
    guardrails = [agents.InputGuardrail(pii_detector, run_in_parallel=False)] if guarded else []
    return agents.Agent(
        name="calculator", model=model, tools=[agents.function_tool(multiply)], input_guardrails=guardrails
    )


class TestChatCompletions(Contract):
    kind = "OpenAIChatCompletionsModel"

    def install(self, reporter: Reporter, **options: Any) -> None:
        openai_agents.install(reporter, export=False, **options)

    async def ask(
        self, url: str, question: str, *, stream: bool = False, guarded: bool = True, model: str = MODEL
    ) -> str:
        from agents import ModelSettings, RunConfig, Runner

        agent = agent_of(url, guarded, model, self.kind)
        config = RunConfig(model_settings=ModelSettings(include_usage=True))
        if not stream:
            return str((await Runner.run(agent, question, run_config=config)).final_output)
        run = Runner.run_streamed(agent, question, run_config=config)
        async for _ in run.stream_events():
            pass
        return str(run.final_output)

    def test_blocking_guardrail(self, model: FakeModel, sidecar: FakeSidecar, reporter: Reporter) -> None:
        from agents import InputGuardrailTripwireTriggered, Runner

        self.install(reporter)

        async def run() -> None:
            with pytest.raises(InputGuardrailTripwireTriggered):
                await Runner.run(agent_of(model.url, True, MODEL, self.kind, blocks=True), QUESTION)

        seen = self.observed(reporter, sidecar, run)
        assert model.calls == []
        assert [(event["guardrailType"], event["blocked"]) for event in seen.of("guardrail")] == [(GUARDRAIL, True)]

    def test_without_tracing(
        self, model: FakeModel, sidecar: FakeSidecar, reporter: Reporter, caplog: pytest.LogCaptureFixture
    ) -> None:
        from agents import RunConfig, Runner

        self.install(reporter)
        _observe._logged.clear()

        async def run() -> None:
            config = RunConfig(tracing_disabled=True)
            await Runner.run(agent_of(model.url, True, MODEL, self.kind), QUESTION, run_config=config)

        with caplog.at_level(logging.WARNING, "agent_compliance"):
            seen = self.observed(reporter, sidecar, run)
        # Model calls do not need the tracing; tools and guardrails do.
        assert seen.models == self.billed(model)
        assert seen.tool_results == []
        assert [record.message for record in caplog.records if "tracing is disabled" in record.message]


class TestResponses(TestChatCompletions):
    kind = "OpenAIResponsesModel"
