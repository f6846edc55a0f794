from typing import Any

from common import QUESTION
from lane_tools import DECLARED, UNDECLARED, forms
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.llms.openai import OpenAI


async def run(tools: list[Any], is_stream: bool = False) -> Any:
    llm = OpenAI(model="gpt-4o-mini", max_retries=1)
    if not tools:
        return [each.delta async for each in await llm.astream_complete(QUESTION)] if is_stream else str(
            await llm.acomplete(QUESTION)
        )
    return str(await FunctionAgent(tools=tools, llm=llm, streaming=is_stream).run(QUESTION))


forms(
    {
        "text": lambda: run([]),
        "stream": lambda: run([], True),
        "tools": lambda: run(DECLARED),
        "tools stream": lambda: run(DECLARED, True),
        "undeclared": lambda: run(UNDECLARED),
    }
)
