# The frameworks are not installed where the types are checked.
# mypy: disable-error-code="import-not-found,import-untyped,untyped-decorator,misc"
"""LangChain and LangGraph with the installed handler."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agent_compliance import PolicyDenied, Reporter
from agent_compliance.integrations import langchain
from fake_model import MODEL, FakeModel
from fake_sidecar import FakeSidecar
from integrations.contract import GUARDRAIL, QUESTION, Contract, multiply


def chat_model(url: str, name: str = MODEL) -> Any:
    from langchain_openai import ChatOpenAI

    return ChatOpenAI(model=name, base_url=url, api_key="key", stream_usage=True, max_retries=0)


def graph_of(url: str, guarded: bool, name: str = MODEL) -> Any:
    """A graph with a node for the guardrail, one for the model and one for tools."""
    from langgraph.graph import START, MessagesState, StateGraph
    from langgraph.prebuilt import ToolNode, tools_condition

    bound = chat_model(url, name).bind_tools([multiply])

    async def call(state: Any) -> Any:
        return {"messages": [await bound.ainvoke(state["messages"])]}

    graph = StateGraph(MessagesState)
    graph.add_node("call", call)
    graph.add_node("tools", ToolNode([multiply], handle_tool_errors=True))
    graph.add_conditional_edges("call", tools_condition)
    graph.add_edge("tools", "call")
    if guarded:
        graph.add_node("check_pii", lambda _state: {})
        graph.add_edge(START, "check_pii")
        graph.add_edge("check_pii", "call")
    else:
        graph.add_edge(START, "call")
    return graph.compile()


class TestLangGraph(Contract):
    def install(self, reporter: Reporter, **options: Any) -> None:
        langchain.install(reporter, guardrails={"check_pii": GUARDRAIL}, **options)

    async def ask(
        self, url: str, question: str, *, stream: bool = False, guarded: bool = True, model: str = MODEL
    ) -> str:
        graph = graph_of(url, guarded, model)
        state: Any = {"messages": [("user", question)]}
        if not stream:
            return str((await graph.ainvoke(state))["messages"][-1].content)
        pieces = [piece.content async for piece, _ in graph.astream(state, stream_mode="messages")]
        return "".join(pieces)

    def test_agent_with_middleware(self, model: FakeModel, sidecar: FakeSidecar, reporter: Reporter) -> None:
        from langchain.agents import create_agent
        from langchain.agents.middleware import PIIMiddleware

        self.install(reporter)

        async def run() -> None:
            agent = create_agent(
                chat_model(model.url), tools=[multiply], middleware=[PIIMiddleware("email", strategy="block")]
            )
            await agent.ainvoke({"messages": [("user", QUESTION)]})

        seen = self.observed(reporter, sidecar, run)
        assert seen.guardrails == GUARDRAIL
        assert seen.models == self.billed(model)

    def test_blocking_middleware(self, model: FakeModel, sidecar: FakeSidecar, reporter: Reporter) -> None:
        from langchain.agents import create_agent
        from langchain.agents.middleware import PIIMiddleware
        from langchain.agents.middleware.pii import PIIDetectionError

        self.install(reporter)
        outcome: list[str] = []

        async def run() -> None:
            agent = create_agent(chat_model(model.url), middleware=[PIIMiddleware("email", strategy="block")])
            try:
                await agent.ainvoke({"messages": [("user", "write to jane@example.org")]})
            except PIIDetectionError:
                outcome.append("blocked")

        seen = self.observed(reporter, sidecar, run)
        assert outcome == ["blocked"]
        assert model.calls == []
        assert [event["blocked"] for event in seen.of("guardrail")] == [True]

    def test_synchronous_graph_in_threads(self, model: FakeModel, sidecar: FakeSidecar, reporter: Reporter) -> None:
        from langchain_core.runnables import RunnableLambda, RunnableParallel

        self.install(reporter)
        llm = chat_model(model.url)
        fan = RunnableParallel(one=RunnableLambda(lambda _: "one") | llm, two=RunnableLambda(lambda _: "two") | llm)

        async def run() -> None:
            # Both branches run in threads of a pool.
            fan.invoke(None)

        seen = self.observed(reporter, sidecar, run)
        assert sorted(seen.models) == sorted(self.billed(model))
        assert len(seen.models) == 2

    def test_explicit_handler_counts_once(self, model: FakeModel, sidecar: FakeSidecar, reporter: Reporter) -> None:
        self.install(reporter)
        handler = langchain.Handler(reporter)

        async def run() -> None:
            await chat_model(model.url).ainvoke(QUESTION, config={"callbacks": [handler]})

        seen = self.observed(reporter, sidecar, run)
        assert seen.models == self.billed(model)

    def test_cached_responses_cost_nothing(self, model: FakeModel, sidecar: FakeSidecar, reporter: Reporter) -> None:
        from langchain_core.caches import InMemoryCache

        self.install(reporter)
        llm = chat_model(model.url)
        llm.cache = InMemoryCache()

        async def run() -> None:
            await llm.ainvoke(QUESTION)

        for request_id in ("r-1", "r-2"):
            asyncio.run(self.observe(reporter, request_id, run))
        assert reporter.events.flush(30)
        assert len(model.calls) == 1
        assert [len(events) for events in sidecar.events.values()] == [1]

    def test_stream_without_usage_is_not_counted(
        self, model: FakeModel, sidecar: FakeSidecar, reporter: Reporter
    ) -> None:
        self.install(reporter)
        llm = chat_model(model.url)
        llm.stream_usage = False

        async def run() -> None:
            async for _ in llm.astream(QUESTION):
                pass

        seen = self.observed(reporter, sidecar, run)
        assert len(model.calls) == 1
        assert seen.models == []
        # The request has called a model: its empty lists are facts.
        assert (seen.guardrails, seen.tools) == ("", "")

    def test_guardrail_that_ends_the_run(self, model: FakeModel, sidecar: FakeSidecar, reporter: Reporter) -> None:
        from langgraph.graph import START, MessagesState, StateGraph
        from langgraph.types import Command

        self.install(reporter)
        graph = StateGraph(MessagesState)
        graph.add_node("check_pii", lambda _state: Command(goto="__end__"))
        graph.add_edge(START, "check_pii")
        compiled = graph.compile()

        async def run() -> None:
            await compiled.ainvoke({"messages": [("user", QUESTION)]})

        seen = self.observed(reporter, sidecar, run)
        assert [(event["guardrailType"], event["blocked"]) for event in seen.of("guardrail")] == [(GUARDRAIL, True)]

    def test_synchronous_denial(self, model: FakeModel, sidecar: FakeSidecar, reporter: Reporter) -> None:
        self.install(reporter, check_policy=True)

        async def run() -> None:
            with pytest.raises(PolicyDenied):
                chat_model(model.url).invoke(QUESTION)

        self.observed(reporter, sidecar, run)
        assert model.calls == []

    def test_completion_model_without_usage(self, sidecar: FakeSidecar, reporter: Reporter) -> None:
        from langchain_core.language_models import FakeListLLM

        self.install(reporter)

        async def run() -> None:
            assert await FakeListLLM(responses=["42"]).ainvoke(QUESTION) == "42"

        seen = self.observed(reporter, sidecar, run)
        assert (seen.models, seen.guardrails) == ([], "")

    def test_failing_model(self, sidecar: FakeSidecar, reporter: Reporter) -> None:
        self.install(reporter)

        async def run() -> None:
            with pytest.raises(Exception, match="Connection error"):
                await chat_model("http://127.0.0.1:1/v1").ainvoke(QUESTION)

        assert self.observed(reporter, sidecar, run).models == []

    def test_waiting_for_a_human_is_no_failure(self, sidecar: FakeSidecar, reporter: Reporter) -> None:
        from langchain_core.messages import AIMessage
        from langgraph.checkpoint.memory import InMemorySaver
        from langgraph.graph import START, MessagesState, StateGraph
        from langgraph.prebuilt import ToolNode
        from langgraph.types import interrupt

        self.install(reporter)

        def approved(a: int) -> int:
            """Asks a human."""
            return int(interrupt(a))

        def waiting(_state: Any) -> Any:
            return interrupt("may it pass?")

        async def pause(node: str, action: Any) -> None:
            graph = StateGraph(MessagesState)
            graph.add_node(node, action)
            graph.add_edge(START, node)
            call = {"name": "approved", "args": {"a": 1}, "id": "1"}
            state: Any = {"messages": [AIMessage("", tool_calls=[call])]}
            compiled = graph.compile(checkpointer=InMemorySaver())
            assert "__interrupt__" in await compiled.ainvoke(state, {"configurable": {"thread_id": "1"}})

        async def run() -> None:
            await pause("tools", ToolNode([approved]))
            await pause("check_pii", waiting)

        seen = self.observed(reporter, sidecar, run)
        assert [success for _, success in seen.tool_results] == [None]
        assert (seen.guardrails, seen.of("guardrail")) == (GUARDRAIL, [])

    def test_cut_stream_with_usage(self, sidecar: FakeSidecar, reporter: Reporter) -> None:
        from langchain_core.messages import AIMessage
        from langchain_core.outputs import ChatGeneration, LLMResult

        handler = langchain.Handler(reporter)
        usage: Any = {"input_tokens": 3, "output_tokens": 1, "total_tokens": 4}
        message = AIMessage("4", usage_metadata=usage, response_metadata={"model_name": MODEL})
        generation = ChatGeneration(message=message)

        async def run() -> None:
            handler.on_llm_error(OSError(), run_id=1, response=LLMResult(generations=[[generation]]))
            handler.on_llm_end(LLMResult(generations=[[generation], [generation]]), run_id=2)

        assert self.observed(reporter, sidecar, run).models == [(MODEL, 3, 1)] * 2

    @pytest.mark.parametrize(
        ("outputs", "blocked"), [({"jump_to": "end"}, True), ({"blocked": False}, False), ({"blocked": True}, True)]
    )
    def test_results_of_guardrails(self, outputs: Any, blocked: bool, sidecar: FakeSidecar, reporter: Reporter) -> None:
        from langchain_core.runnables import RunnableLambda

        self.install(reporter)

        async def run() -> None:
            await RunnableLambda(lambda _: outputs, name="check_pii").ainvoke(QUESTION)

        assert [event["blocked"] for event in self.observed(reporter, sidecar, run).of("guardrail")] == [blocked]
