from typing import Any

from autogen_agentchat.agents import AssistantAgent
from autogen_ext.models.openai import OpenAIChatCompletionClient
from common import QUESTION
from lane_tools import DECLARED, UNDECLARED, forms


async def run(tools: list[Any], is_stream: bool = False) -> Any:
    agent = AssistantAgent(
        "calculator",
        OpenAIChatCompletionClient(model="gpt-4o-mini"),
        tools=tools,
        max_tool_iterations=5,
        model_client_stream=is_stream,
    )
    result = await agent.run(task=QUESTION)
    return [(message.type, str(message.content), message.models_usage) for message in result.messages]


forms(
    {
        "text": lambda: run([]),
        "stream": lambda: run([], True),
        "tools": lambda: run(DECLARED),
        "tools stream": lambda: run(DECLARED, True),
        "undeclared": lambda: run(UNDECLARED),
    }
)
