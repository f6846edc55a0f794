from typing import Any

from common import QUESTION
from lane_tools import DECLARED, UNDECLARED, description_of, forms, run_tool, schema_of
from openai import OpenAI

client = OpenAI()


def create(**request: Any) -> Any:
    return client.responses.create(model="gpt-4o-mini", **request)


def function_of(tool: Any) -> dict[str, Any]:
    return {
        "type": "function",
        "name": tool.__name__,
        "description": description_of(tool),
        "parameters": schema_of(tool),
    }


def whole(**request: Any) -> tuple[Any, list[Any]]:
    answer = create(**request)
    return answer, answer.output


def streamed(**request: Any) -> tuple[Any, list[Any]]:
    events = list(create(**request, stream=True))
    return events, next(each.response.output for each in events if each.type == "response.completed")


def loop(tools: list[Any], answer_to: Any) -> list[Any]:
    given: list[Any] = [{"role": "user", "content": QUESTION}]
    received = []
    while True:
        answer, output = answer_to(input=list(given), tools=[function_of(tool) for tool in tools])
        received.append(answer)
        calls = [each for each in output if each.type == "function_call"]
        if not calls:
            return received
        given += [each.model_dump(exclude_none=True) for each in output]
        for each in calls:
            result = run_tool(each.name, each.arguments)
            given.append({"type": "function_call_output", "call_id": each.call_id, "output": result})


forms(
    {
        "text": lambda: create(input=QUESTION),
        "stream": lambda: streamed(input=QUESTION)[0],
        "tools": lambda: loop(DECLARED, whole),
        "tools stream": lambda: loop(DECLARED, streamed),
        "undeclared": lambda: loop(UNDECLARED, whole),
        "stored forbidden": lambda: create(
            input=QUESTION, tools=[function_of(tool) for tool in DECLARED], previous_response_id="resp_1"
        ),
    }
)
