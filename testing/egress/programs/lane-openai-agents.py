import dataclasses
from typing import Any

from agents import Agent, Runner, function_tool
from common import QUESTION
from lane_tools import DECLARED, UNDECLARED, forms


def agent(tools: list[Any]) -> Agent:
    return Agent(name="calculator", model="gpt-4o-mini", tools=[function_tool(tool) for tool in tools])


async def whole(tools: list[Any]) -> Any:
    result = await Runner.run(agent(tools), QUESTION)
    responses = [dataclasses.asdict(each) for each in result.raw_responses]
    return {"output": result.final_output, "responses": str(responses)}


async def streamed(tools: list[Any]) -> Any:
    events = Runner.run_streamed(agent(tools), QUESTION).stream_events()
    return [
        each.data.model_dump(mode="json") if each.type == "raw_response_event" else each.type
        async for each in events
    ]


forms(
    {
        "text": lambda: whole([]),
        "stream": lambda: streamed([]),
        "tools": lambda: whole(DECLARED),
        "tools stream": lambda: streamed(DECLARED),
        "undeclared": lambda: whole(UNDECLARED),
    }
)
