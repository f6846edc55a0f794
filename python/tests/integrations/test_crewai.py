# The frameworks are not installed where the types are checked.
# mypy: disable-error-code="import-not-found,import-untyped,untyped-decorator,misc"
"""CrewAI: a crew with a task, a tool and a guardrail of the task."""

# No future import: CrewAI reads the annotations of guardrails.
import asyncio
from typing import Any

import pytest

from agent_compliance import PolicyUnavailable, Reporter, current_behavior
from agent_compliance.integrations import crewai
from fake_model import MODEL, FakeModel
from fake_sidecar import FakeSidecar
from integrations.conftest import MANIFEST
from integrations.contract import GUARDRAIL, QUESTION, Contract


def check_text(output: Any) -> tuple[bool, Any]:
    """A guardrail of a task."""
    return True, output.raw


def crew_of(url: str, question: str, model: str, *, stream: bool = False, check: Any = check_text) -> Any:
    from crewai import LLM, Agent, Crew, Task
    from crewai.tools import tool

    @tool("multiply")
    def multiply(a: int, b: int) -> int:
        """Multiplies two numbers."""
        if a == 0:
            raise ValueError("the first number is zero")
        return a * b

    llm = LLM(model=f"openai/{model}", base_url=url, api_key="key", stream=stream, max_retries=0)
    agent = Agent(role="calculator", goal="calculate", backstory="a clerk", llm=llm, tools=[multiply])
    task = Task(description=question, expected_output="a number", agent=agent, guardrail=check, guardrail_max_retries=1)
    return Crew(agents=[agent], tasks=[task])


class TestCrew(Contract):
    def install(self, reporter: Reporter, **options: Any) -> None:
        crewai.install(reporter, guardrails={"check_text": GUARDRAIL}, **options)

    def settle(self) -> None:
        from crewai.events import crewai_event_bus

        assert crewai_event_bus.flush(timeout=30)

    async def ask(
        self, url: str, question: str, *, stream: bool = False, guarded: bool = True, model: str = MODEL
    ) -> str:
        if guarded:
            # An input guardrail is a function of the application.
            try:
                current_behavior().guardrail(GUARDRAIL)
            except RuntimeError:
                assert question == QUESTION
        crew = crew_of(url, question, model, stream=stream)
        return str((await asyncio.to_thread(crew.kickoff)).raw)

    def test_guardrail_of_a_task(self, model: FakeModel, sidecar: FakeSidecar, reporter: Reporter) -> None:
        self.install(reporter)
        results = iter([(False, "no number"), (True, "42")])

        def check_text(_output: Any) -> tuple[bool, Any]:
            return next(results)

        async def run() -> None:
            await asyncio.to_thread(crew_of(model.url, QUESTION, MODEL, check=check_text).kickoff)

        seen = self.observed(reporter, sidecar, run)
        # Listeners run in threads, so their order can differ.
        assert sorted(event["blocked"] for event in seen.of("guardrail")) == [False, True]
        assert sorted(seen.models) == sorted(self.billed(model))

    def test_guardrail_as_tool(self, model: FakeModel, sidecar: FakeSidecar, reporter: Reporter) -> None:
        crewai.install(reporter, guardrails={"multiply": GUARDRAIL})

        async def run() -> None:
            await asyncio.to_thread(crew_of(model.url, QUESTION, MODEL).kickoff)

        seen = self.observed(reporter, sidecar, run)
        assert (seen.tools, seen.tool_results) == ("", [])
        assert GUARDRAIL in str(seen.guardrails)

    def test_unavailable_policy(self, model: FakeModel, reporter: Reporter) -> None:
        closed = Reporter(MANIFEST, policy_url="http://127.0.0.1:1", fail_closed=True, env={})
        crewai.install(closed, check_policy=True)
        with closed.request(), pytest.raises(PolicyUnavailable):
            crew_of(model.url, QUESTION, MODEL).kickoff()
        assert model.calls == []

    @pytest.mark.parametrize(
        ("kind", "name", "reported"),
        [
            ("hallucination", "checks facts", "hallucination-detector"),
            ("llm", "there is no personal data", "custom"),
            ("function", "toxicity_filter", "toxicity-filter"),
            ("function", None, "custom"),
        ],
    )
    def test_kinds_of_guardrails(
        self, kind: str, name: str | None, reported: str, sidecar: FakeSidecar, reporter: Reporter
    ) -> None:
        from crewai.events import LLMGuardrailCompletedEvent, crewai_event_bus

        self.install(reporter)

        async def run() -> None:
            event = LLMGuardrailCompletedEvent(
                success=True, result=None, retry_count=0, guardrail_type=kind, guardrail_name=name
            )
            crewai_event_bus.emit(None, event)

        seen = self.observed(reporter, sidecar, run)
        assert [(event["guardrailType"], event["blocked"]) for event in seen.of("guardrail")] == [(reported, False)]
