"""An AutoGen assistant with a guardrail in front of it."""

import os
import re

import uvicorn
from agent_compliance import Reporter, current_behavior, set_default_reporter
from agent_compliance.integrations import autogen, fastapi
from autogen_agentchat.agents import AssistantAgent
from autogen_ext.models.openai import OpenAIChatCompletionClient
from fastapi import FastAPI, HTTPException
from pydantic import BaseModel

PERSONAL_DATA = re.compile(r"[\w.+-]+@[\w-]+\.\w+|\b\d{3}-\d{2}-\d{4}\b")

# The names of the registered tools, which the reporter compares with agent.yaml.
set_default_reporter(Reporter(tools=["calculator"]))
app = FastAPI()
fastapi.install(app)  # A denial of the policy becomes a 403.
autogen.install(check_policy=True)

client = OpenAIChatCompletionClient(model="gpt-4o-mini")


async def calculator(a: float, b: float) -> float:
    """Multiplies two numbers."""
    return a * b


class Question(BaseModel):
    message: str


@app.post("/v1/chat")
async def chat(question: Question) -> dict[str, str]:
    is_blocked = PERSONAL_DATA.search(question.message) is not None
    current_behavior().guardrail("pii-detector", blocked=is_blocked)
    if is_blocked:
        raise HTTPException(422, "the message contains personal data")
    # An assistant remembers its conversation, so that each request has its own.
    assistant = AssistantAgent("calculator", client, tools=[calculator], max_tool_iterations=5)
    result = await assistant.run(task=question.message)
    return {"response": result.messages[-1].to_text()}


@app.get("/health")
async def health() -> dict[str, str]:
    return {"status": "ok"}


@app.get("/capabilities")
async def capabilities() -> dict[str, list[str]]:
    return {"tools": ["calculator"]}


if __name__ == "__main__":
    host = os.environ.get("HOST", "127.0.0.1")
    uvicorn.run(app, host=host, port=int(os.environ.get("PORT", "8000")), log_level="warning")
