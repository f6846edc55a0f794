"""LangChain and LangGraph with the installed handler."""

from __future__ import annotations

import asyncio
from typing import Any

from contract import GUARDRAIL, QUESTION, Contract, multiply

from agent_compliance import Reporter
from agent_compliance.integrations import langchain
from fake_model import MODEL, FakeModel
from fake_sidecar import FakeSidecar


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
        assert reporter.events.flush(10)
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
