"""VENDOR: the package of the model. AGENT=1: with LangGraph's agent, else a loop around the model."""

import importlib
import json
import os
from typing import Any

from common import QUESTION
from lane_tools import DECLARED, UNDECLARED, forms, run_tool
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

CLASSES = {
    "openai": ("langchain_openai", "ChatOpenAI", {"model": "gpt-4o-mini"}),
    "anthropic": ("langchain_anthropic", "ChatAnthropic", {"model": "claude-sonnet-4-5"}),
    "google": ("langchain_google_genai", "ChatGoogleGenerativeAI", {"model": "gemini-2.5-flash"}),
    "groq": ("langchain_groq", "ChatGroq", {"model": "llama-3.3-70b-versatile"}),
    "mistral": ("langchain_mistralai", "ChatMistralAI", {"model": "mistral-small-latest"}),
    "ollama": ("langchain_ollama", "ChatOllama", {"model": "llama3.2"}),
}
module, name, options = CLASSES[os.environ["VENDOR"]]
model = getattr(importlib.import_module(module), name)(**options)


def shown(message: Any) -> dict[str, Any]:
    calls = [(each["name"], each["args"]) for each in getattr(message, "tool_calls", [])]
    # LangChain adds up usage in the order of a set.
    usage = json.dumps(getattr(message, "usage_metadata", None), sort_keys=True)
    return {"content": message.content, "calls": calls, "usage": usage}


def whole(bound: Any, messages: list[Any]) -> tuple[Any, AIMessage]:
    answer = bound.invoke(messages)
    return shown(answer), answer


def streamed(bound: Any, messages: list[Any]) -> tuple[Any, Any]:
    chunks = list(bound.stream(messages))
    answer = chunks[0]
    for chunk in chunks[1:]:
        answer = answer + chunk
    return [shown(chunk) for chunk in chunks], answer


def loop(tools: list[Any], answer_to: Any) -> list[Any]:
    bound = model.bind_tools(tools) if tools else model
    messages: list[Any] = [HumanMessage(QUESTION)]
    received = []
    while True:
        answer, message = answer_to(bound, messages)
        received.append(answer)
        if not message.tool_calls:
            return received
        messages.append(message)
        for each in message.tool_calls:
            content = run_tool(each["name"], each["args"])
            messages.append(ToolMessage(content=content, tool_call_id=each["id"]))


def agent(tools: list[Any]) -> list[Any]:
    from langchain.agents import create_agent

    state = create_agent(model, tools=tools).invoke({"messages": [{"role": "user", "content": QUESTION}]})
    return [shown(message) for message in state["messages"]]


def agent_stream(tools: list[Any]) -> list[Any]:
    from langchain.agents import create_agent

    question = {"messages": [{"role": "user", "content": QUESTION}]}
    chunks = create_agent(model, tools=tools).stream(question, stream_mode="messages")
    return [shown(message) for message, _ in chunks]


IS_AGENT = os.environ.get("AGENT") == "1"
run = agent if IS_AGENT else lambda tools: loop(tools, whole)
run_stream = agent_stream if IS_AGENT else lambda tools: loop(tools, streamed)

forms(
    {
        "text": lambda: run([]),
        "stream": lambda: run_stream([]),
        "tools": lambda: run(DECLARED),
        "tools stream": lambda: run_stream(DECLARED),
        "undeclared": lambda: run(UNDECLARED),
    }
)
