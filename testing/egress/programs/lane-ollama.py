from typing import Any

import ollama
from lane_chat_loop import QUESTIONS, function_of
from lane_tools import DECLARED, UNDECLARED, forms, run_tool

MODEL = "llama3.2"


def whole(**request: Any) -> tuple[Any, list[Any]]:
    answer = ollama.chat(model=MODEL, **request)
    return answer, list(answer.message.tool_calls or [])


def streamed(**request: Any) -> tuple[Any, list[Any]]:
    chunks = list(ollama.chat(model=MODEL, stream=True, **request))
    return chunks, [call for chunk in chunks for call in chunk.message.tool_calls or []]


def loop(tools: list[Any], answer_to: Any) -> list[Any]:
    messages: list[dict[str, Any]] = list(QUESTIONS)
    received = []
    while True:
        answer, calls = answer_to(messages=list(messages), tools=[function_of(tool) for tool in tools])
        received.append(answer)
        if not calls:
            return received
        asked = [{"function": each.function.model_dump()} for each in calls]
        messages.append({"role": "assistant", "content": "", "tool_calls": asked})
        for each in calls:
            content = run_tool(each.function.name, each.function.arguments)
            messages.append({"role": "tool", "tool_name": each.function.name, "content": content})


forms(
    {
        "text": lambda: whole(messages=QUESTIONS)[0],
        "stream": lambda: streamed(messages=QUESTIONS)[0],
        "tools": lambda: loop(DECLARED, whole),
        "tools stream": lambda: loop(DECLARED, streamed),
        "undeclared": lambda: loop(UNDECLARED, whole),
    }
)
