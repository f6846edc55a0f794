"""MODEL: the model with the name of its vendor, as pydantic-ai writes it."""

import os
from typing import Any

from common import QUESTION
from lane_tools import DECLARED, UNDECLARED, forms
from pydantic_ai import Agent


def agent(tools: list[Any]) -> Agent:
    return Agent(os.environ["MODEL"], tools=tools)


async def whole(tools: list[Any]) -> Any:
    result = await agent(tools).run(QUESTION)
    usage = result.usage() if callable(result.usage) else result.usage
    return {"output": result.output, "usage": str(usage)}


async def streamed(tools: list[Any]) -> Any:
    async with agent(tools).run_stream(QUESTION) as result:
        return [text async for text in result.stream_text(delta=True, debounce_by=None)]


forms(
    {
        "text": lambda: whole([]),
        "stream": lambda: streamed([]),
        "tools": lambda: whole(DECLARED),
        "tools stream": lambda: streamed(DECLARED),
        "undeclared": lambda: whole(UNDECLARED),
    }
)
