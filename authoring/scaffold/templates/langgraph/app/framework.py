"""The agent: a LangGraph graph of the model and the tools."""

from functools import cache

from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langchain_core.tools import StructuredTool
from langchain_openai import ChatOpenAI

from .conversation import Answer, Message
from .settings import model, system_prompt
from .tools import TOOLS, Tool, ToolCalls

_MAX_STEPS = 25


@cache
def _client() -> ChatOpenAI:
    declared = model()
    return ChatOpenAI(
        model=declared.id,
        base_url=declared.base_url,
        api_key=declared.api_key,
        use_responses_api=False,
        max_retries=2,
        **declared.parameters,
    )


def _tool(tool: Tool, calls: ToolCalls) -> StructuredTool:
    def run(text: str) -> str:
        return calls.call(tool, text)

    return StructuredTool.from_function(run, name=tool.call_name, description=tool.description)


async def run(messages: list[Message], calls: ToolCalls) -> Answer:
    """Answers the last message."""
    agent = create_agent(_client(), [_tool(tool, calls) for tool in TOOLS], system_prompt=system_prompt())
    conversation = [{"role": message.role, "content": message.content} for message in messages]
    result = await agent.ainvoke({"messages": conversation}, {"recursion_limit": _MAX_STEPS})
    answers = [each for each in result["messages"][len(conversation) :] if isinstance(each, AIMessage)]
    used = [each.usage_metadata for each in answers if each.usage_metadata is not None]
    return Answer(str(answers[-1].text), [(usage["input_tokens"], usage["output_tokens"]) for usage in used])
