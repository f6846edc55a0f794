from typing import Any

import cohere
from lane_chat_loop import QUESTIONS, function_of
from lane_tools import DECLARED, UNDECLARED, forms, run_tool

client = cohere.ClientV2()
MODEL = "command-a-03-2025"


def whole(**request: Any) -> tuple[Any, list[dict[str, Any]]]:
    answer = client.chat(model=MODEL, **request)
    return answer, [each.model_dump() for each in answer.message.tool_calls or []]


def streamed(**request: Any) -> tuple[Any, list[dict[str, Any]]]:
    events = list(client.chat_stream(model=MODEL, **request))
    calls: list[dict[str, Any]] = []
    for event in events:
        if event.type == "tool-call-start":
            calls.append(event.delta.message.tool_calls.model_dump())
        if event.type == "tool-call-delta":
            calls[-1]["function"]["arguments"] += event.delta.message.tool_calls.function.arguments
    return events, calls


def loop(tools: list[Any], answer_to: Any) -> list[Any]:
    messages: list[dict[str, Any]] = list(QUESTIONS)
    received = []
    while True:
        answer, calls = answer_to(messages=list(messages), tools=[function_of(tool) for tool in tools])
        received.append(answer)
        if not calls:
            return received
        messages.append({"role": "assistant", "tool_calls": calls})
        for each in calls:
            content = run_tool(each["function"]["name"], each["function"]["arguments"])
            messages.append({"role": "tool", "tool_call_id": each["id"], "content": content})


forms(
    {
        "text": lambda: whole(messages=QUESTIONS)[0],
        "stream": lambda: streamed(messages=QUESTIONS)[0],
        "tools": lambda: loop(DECLARED, whole),
        "tools stream": lambda: loop(DECLARED, streamed),
        "undeclared": lambda: loop(UNDECLARED, whole),
    }
)
