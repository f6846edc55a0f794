# The frameworks are not installed where the types are checked.
# mypy: disable-error-code="import-not-found,import-untyped,untyped-decorator,misc"
"""AutoGen: an agent, a team, and clients that wrap clients."""

from __future__ import annotations

from typing import Any

import pytest

from agent_compliance import PolicyDenied, Reporter, current_behavior
from agent_compliance.integrations import autogen
from fake_model import MODEL, FakeModel
from fake_sidecar import FakeSidecar
from integrations.contract import GUARDRAIL, QUESTION, Contract, multiply


def client_of(url: str, name: str, stream: bool = False) -> Any:
    from autogen_ext.models.openai import OpenAIChatCompletionClient

    options: dict[str, Any] = {"stream_options": {"include_usage": True}} if stream else {}
    return OpenAIChatCompletionClient(model=name, base_url=url, api_key="key", max_retries=0, **options)


def agent_of(client: Any, stream: bool = False) -> Any:
    from autogen_agentchat.agents import AssistantAgent

    return AssistantAgent(
        "calculator",
        client,
        tools=[multiply],
        max_tool_iterations=5,
        model_client_stream=stream,
        system_message="You calculate.",
    )


class TestAgent(Contract):
    def install(self, reporter: Reporter, **options: Any) -> None:
        autogen.install(reporter, **options)

    def runner(self, agent: Any) -> Any:
        """What runs the task: the agent."""
        return agent

    async def ask(
        self, url: str, question: str, *, stream: bool = False, guarded: bool = True, model: str = MODEL
    ) -> str:
        if guarded:
            # A guardrail is a function of the application.
            try:
                current_behavior().guardrail(GUARDRAIL)
            except RuntimeError:
                assert question == QUESTION
        runner = self.runner(agent_of(client_of(url, model, stream), stream))
        if not stream:
            return str((await runner.run(task=question)).messages[-1].content)
        pieces = [str(getattr(piece, "content", "")) async for piece in runner.run_stream(task=question)]
        return "".join(pieces)

    def test_cache_counts_calls_once(self, model: FakeModel, sidecar: FakeSidecar, reporter: Reporter) -> None:
        from autogen_core import InMemoryStore
        from autogen_core.models import UserMessage
        from autogen_ext.models.cache import ChatCompletionCache

        self.install(reporter)

        async def run() -> None:
            cached = ChatCompletionCache(client_of(model.url, MODEL), InMemoryStore())
            for _ in range(2):
                await cached.create([UserMessage(content=QUESTION, source="user")])

        seen = self.observed(reporter, sidecar, run)
        assert len(model.calls) == 1
        assert seen.models == self.billed(model)

    def test_workbench_without_stream(self, sidecar: FakeSidecar, reporter: Reporter) -> None:
        from autogen_core.tools import FunctionTool, StaticWorkbench

        self.install(reporter)

        class Failing(StaticWorkbench):
            async def call_tool(self, *_args: Any, **_kwargs: Any) -> Any:
                raise ValueError("no connection")

        async def run() -> None:
            tools = [FunctionTool(multiply, "multiplies")]
            await StaticWorkbench(tools).call_tool("multiply", {"a": 6, "b": 7})
            await StaticWorkbench(tools).call_tool("multiply", {"a": 0, "b": 7})
            with pytest.raises(ValueError, match="no connection"):
                await Failing(tools).call_tool("other", {})

        seen = self.observed(reporter, sidecar, run)
        assert seen.tool_results == [("multiply", True), ("multiply", False), ("other", False)]

    def test_client_without_a_model(self, sidecar: FakeSidecar, reporter: Reporter) -> None:
        from autogen_core.models import CreateResult, RequestUsage, UserMessage
        from autogen_ext.models.replay import ReplayChatCompletionClient

        self.install(reporter)

        async def run() -> None:
            result = CreateResult(finish_reason="stop", content="42", usage=RequestUsage(3, 1), cached=False)
            await ReplayChatCompletionClient([result]).create([UserMessage(content=QUESTION, source="user")])

        assert self.observed(reporter, sidecar, run).models == [("unknown", 3, 1)]

    def test_guardrail_as_tool(self, model: FakeModel, sidecar: FakeSidecar, reporter: Reporter) -> None:
        autogen.install(reporter, guardrails={"multiply": GUARDRAIL})

        async def run() -> None:
            await agent_of(client_of(model.url, MODEL)).run(task=QUESTION)

        seen = self.observed(reporter, sidecar, run)
        assert (seen.guardrails, seen.tools) == (GUARDRAIL, "")


class TestTeam(TestAgent):
    """Teams run agents in a runtime of their own."""

    def runner(self, agent: Any) -> Any:
        from autogen_agentchat.conditions import MaxMessageTermination
        from autogen_agentchat.teams import RoundRobinGroupChat

        return RoundRobinGroupChat([agent], termination_condition=MaxMessageTermination(2))

    def test_other_errors_stay(self, reporter: Reporter) -> None:
        import asyncio

        self.install(reporter, check_policy=True)

        async def run() -> None:
            with reporter.request("r-1") as behavior:
                behavior.guardrail(GUARDRAIL)
                with pytest.raises(RuntimeError) as raised:
                    await self.ask("http://127.0.0.1:1/v1", QUESTION)
                assert not isinstance(raised.value, PolicyDenied)

        asyncio.run(run())
