"""An agent with FastAPI and the client of OpenAI."""

import json
import os
import re

import uvicorn
from agent_compliance import Reporter, current_behavior, default_reporter, set_default_reporter
from agent_compliance.integrations import fastapi
from fastapi import FastAPI, HTTPException
from openai import AsyncOpenAI
from pydantic import BaseModel

MODEL = "gpt-4o-mini"
PERSONAL_DATA = re.compile(r"[\w.+-]+@[\w-]+\.\w+|\b\d{3}-\d{2}-\d{4}\b")
CALCULATOR = {
    "type": "function",
    "function": {
        "name": "calculator",
        "description": "Multiplies two numbers.",
        "parameters": {
            "type": "object",
            "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
            "required": ["a", "b"],
        },
    },
}

# The names of the registered tools, which the reporter compares with agent.yaml.
set_default_reporter(Reporter(tools=["calculator"]))
app = FastAPI()
fastapi.install(app)
client = AsyncOpenAI()


class Question(BaseModel):
    message: str


@app.post("/v1/chat")
async def chat(question: Question) -> dict[str, str | None]:
    behavior = current_behavior()
    is_blocked = PERSONAL_DATA.search(question.message) is not None
    behavior.guardrail("pii-detector", blocked=is_blocked)
    if is_blocked:
        raise HTTPException(422, "the message contains personal data")
    return {"response": await answer(question.message)}


async def answer(message: str) -> str | None:
    """Calls the model until it has no tool call left. A denial of the policy before a call becomes a 403."""
    behavior = current_behavior()
    messages: list = [{"role": "user", "content": message}]
    while True:
        await default_reporter().acheck_policy(**behavior.facts())
        completion = await client.chat.completions.create(model=MODEL, messages=messages, tools=[CALCULATOR])
        if completion.usage is not None:
            behavior.model(completion.model, completion.usage.prompt_tokens, completion.usage.completion_tokens)
        reply = completion.choices[0].message
        if not reply.tool_calls:
            return reply.content
        messages.append(reply)
        for call in reply.tool_calls:
            result = calculator(**json.loads(call.function.arguments))
            behavior.tool("calculator", success=True)
            messages.append({"role": "tool", "tool_call_id": call.id, "content": str(result)})


def calculator(a: float, b: float) -> float:
    return a * b


@app.get("/health")
async def health() -> dict[str, str]:
    return {"status": "ok"}


@app.get("/capabilities")
async def capabilities() -> dict[str, list[str]]:
    return {"tools": ["calculator"]}


if __name__ == "__main__":
    host = os.environ.get("HOST", "127.0.0.1")
    uvicorn.run(app, host=host, port=int(os.environ.get("PORT", "8000")), log_level="warning")
