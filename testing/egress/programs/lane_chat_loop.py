"""The usual loops around a client for chat completions."""

from typing import Any

from common import QUESTION
from lane_tools import DECLARED, UNDECLARED, description_of, forms, run_tool, schema_of

QUESTIONS = [{"role": "user", "content": QUESTION}]


def function_of(tool: Any) -> dict[str, Any]:
    function = {"name": tool.__name__, "description": description_of(tool), "parameters": schema_of(tool)}
    return {"type": "function", "function": function}


def calls_in(chunks: list[Any]) -> list[dict[str, Any]]:
    calls: dict[int, dict[str, Any]] = {}
    for chunk in chunks:
        for part in chunk.choices[0].delta.tool_calls or []:
            function = {"name": part.function.name, "arguments": ""}
            known = calls.setdefault(part.index, {"id": part.id, "type": "function", "function": function})
            known["function"]["arguments"] += part.function.arguments or ""
    return list(calls.values())


def chat_forms(create: Any) -> None:
    """Runs the forms with `create`, which takes the members of a request except the model."""

    def whole(**request: Any) -> tuple[Any, list[dict[str, Any]]]:
        answer = create(**request)
        calls = [
            {"id": each.id, "type": "function", "function": each.function.model_dump()}
            for each in answer.choices[0].message.tool_calls or []
        ]
        return answer, calls

    def streamed(**request: Any) -> tuple[Any, list[dict[str, Any]]]:
        chunks, text = [], ""
        for chunk in create(**request, stream=True):
            # Many agents read the first choice of every chunk without a check.
            text += chunk.choices[0].delta.content or ""
            chunks.append(chunk)
        return [*chunks, text], calls_in(chunks)

    def loop(tools: list[Any], answer_to: Any) -> list[Any]:
        messages: list[dict[str, Any]] = list(QUESTIONS)
        received = []
        while True:
            answer, calls = answer_to(messages=list(messages), tools=[function_of(tool) for tool in tools])
            received.append(answer)
            if not calls:
                return received
            messages.append({"role": "assistant", "content": None, "tool_calls": calls})
            for each in calls:
                content = run_tool(each["function"]["name"], each["function"]["arguments"])
                messages.append({"role": "tool", "tool_call_id": each["id"], "content": content})

    forms(
        {
            "text": lambda: create(messages=QUESTIONS),
            "stream": lambda: streamed(messages=QUESTIONS)[0],
            "tools": lambda: loop(DECLARED, whole),
            "tools stream": lambda: loop(DECLARED, streamed),
            "undeclared": lambda: loop(UNDECLARED, whole),
        }
    )
