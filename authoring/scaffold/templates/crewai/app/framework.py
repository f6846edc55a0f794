"""The agent: a CrewAI crew of one agent with the tools."""

import asyncio
import os
from typing import Any

# Before the import, which reads them.
os.environ.setdefault("CREWAI_DISABLE_TELEMETRY", "true")
os.environ.setdefault("CREWAI_TRACING_ENABLED", "false")

from crewai import LLM, Agent, Crew, Task
from crewai.tools import BaseTool
from pydantic import BaseModel, PrivateAttr

from .conversation import Answer, Message
from .manifest import MANIFEST, NAME
from .settings import Model, model, system_prompt
from .tools import TOOLS, Tool, ToolCalls

_MAX_STEPS = 10


class _Arguments(BaseModel):
    text: str


class _Tool(BaseTool):
    args_schema: type[BaseModel] = _Arguments
    # Private, because CrewAI serializes the other members in its events.
    _tool: Any = PrivateAttr()
    _calls: Any = PrivateAttr()

    def _run(self, text: str) -> str:
        return self._calls.call(self._tool, text)


def _tool(tool: Tool, calls: ToolCalls) -> _Tool:
    # CrewAI changes names; the name of the module is one that it keeps.
    made = _Tool(name=tool.module, description=tool.description)
    made._tool, made._calls = tool, calls
    return made


def _transcript(messages: list[Message]) -> str:
    return "\n\n".join(f"{message.role}: {message.content}" for message in messages)


def _kickoff(declared: Model, messages: list[Message], calls: ToolCalls) -> Answer:
    llm = LLM(
        model=f"openai/{declared.id}",
        custom_openai=True,
        base_url=declared.base_url,
        api_key=declared.api_key,
        **declared.parameters,
    )
    agent = Agent(
        role=NAME,
        goal=MANIFEST["metadata"]["description"] or NAME,
        backstory=system_prompt(),
        llm=llm,
        tools=[_tool(tool, calls) for tool in TOOLS],
        max_iter=_MAX_STEPS,
        cache=False,
        verbose=False,
    )
    task = Task(
        description=f"Answer the last message of this conversation.\n\n{_transcript(messages)}",
        expected_output="The answer to the last message of the user.",
        agent=agent,
    )
    output = Crew(agents=[agent], tasks=[task], cache=False, verbose=False).kickoff()
    usage = output.token_usage
    # CrewAI has the sum of all calls only.
    calls_made = [(usage.prompt_tokens, usage.completion_tokens)] if usage.successful_requests else []
    return Answer(output.raw, calls_made)


async def run(messages: list[Message], calls: ToolCalls) -> Answer:
    """Answers the last message."""
    return await asyncio.to_thread(_kickoff, model(), messages, calls)
