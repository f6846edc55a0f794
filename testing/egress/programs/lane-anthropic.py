from typing import Any

from anthropic import Anthropic
from common import QUESTION
from lane_tools import DECLARED, UNDECLARED, description_of, forms, run_tool, schema_of

client = Anthropic()
REQUEST: dict[str, Any] = {"model": "claude-sonnet-4-5", "max_tokens": 100}
QUESTIONS = [{"role": "user", "content": QUESTION}]


def tool_of(tool: Any) -> dict[str, Any]:
    return {"name": tool.__name__, "description": description_of(tool), "input_schema": schema_of(tool)}


def whole(**request: Any) -> tuple[Any, Any]:
    answer = client.messages.create(**REQUEST, **request)
    return answer, answer


def streamed(**request: Any) -> tuple[Any, Any]:
    with client.messages.stream(**REQUEST, **request) as stream:
        return [*stream], stream.get_final_message()


def loop(tools: list[Any], answer_to: Any) -> list[Any]:
    messages: list[Any] = list(QUESTIONS)
    received = []
    while True:
        answer, message = answer_to(messages=list(messages), tools=[tool_of(tool) for tool in tools])
        received.append(answer)
        calls = [block for block in message.content if block.type == "tool_use"]
        if not calls:
            return received
        results = [
            {"type": "tool_result", "tool_use_id": each.id, "content": run_tool(each.name, each.input)}
            for each in calls
        ]
        messages.append({"role": "assistant", "content": [each.model_dump() for each in message.content]})
        messages.append({"role": "user", "content": results})


forms(
    {
        "text": lambda: whole(messages=QUESTIONS)[0],
        "stream": lambda: streamed(messages=QUESTIONS)[0],
        "tools": lambda: loop(DECLARED, whole),
        "tools stream": lambda: loop(DECLARED, streamed),
        "undeclared": lambda: loop(UNDECLARED, whole),
    }
)
