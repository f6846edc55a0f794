"""The agent: an AutoGen assistant with the tools."""

import asyncio
from functools import cache

from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.messages import BaseChatMessage
from autogen_core.model_context import UnboundedChatCompletionContext
from autogen_core.models import AssistantMessage, LLMMessage, ModelFamily, UserMessage
from autogen_core.tools import FunctionTool
from autogen_ext.models.openai import OpenAIChatCompletionClient

from .conversation import Answer, Message
from .settings import model, system_prompt
from .tools import TOOLS, Tool, ToolCalls

_MAX_STEPS = 10


@cache
def _client() -> OpenAIChatCompletionClient:
    declared = model()
    return OpenAIChatCompletionClient(
        model=declared.id,
        base_url=declared.base_url,
        api_key=declared.api_key,
        # Without it the client accepts only the names of models that it knows.
        model_info={
            "vision": False,
            "function_calling": True,
            "json_output": True,
            "family": ModelFamily.UNKNOWN,
            "structured_output": True,
        },
        **declared.parameters,
    )


def _tool(tool: Tool, calls: ToolCalls) -> FunctionTool:
    async def run(text: str) -> str:
        return await asyncio.to_thread(calls.call, tool, text)

    return FunctionTool(run, description=tool.description, name=tool.call_name)


def _earlier(message: Message) -> LLMMessage:
    if message.role == "user":
        return UserMessage(content=message.content, source="user")
    return AssistantMessage(content=message.content, source="agent")


async def run(messages: list[Message], calls: ToolCalls) -> Answer:
    """Answers the last message."""
    agent = AssistantAgent(
        "agent",
        _client(),
        tools=[_tool(tool, calls) for tool in TOOLS],
        model_context=UnboundedChatCompletionContext([_earlier(message) for message in messages[:-1]]),
        system_message=system_prompt(),
        max_tool_iterations=_MAX_STEPS,
    )
    result = await agent.run(task=messages[-1].content)
    used = [each.models_usage for each in result.messages if each.models_usage is not None]
    last = result.messages[-1]
    text = last.to_text() if isinstance(last, BaseChatMessage) else ""
    return Answer(text, [(usage.prompt_tokens, usage.completion_tokens) for usage in used])
