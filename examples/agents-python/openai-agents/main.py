"""An agent with the OpenAI Agents SDK and its own guardrail decorator."""

import os
import re

import uvicorn
from agent_compliance import Reporter, set_default_reporter
from agent_compliance.integrations import fastapi, openai_agents
from agents import (
    Agent,
    GuardrailFunctionOutput,
    InputGuardrailTripwireTriggered,
    RunContextWrapper,
    Runner,
    function_tool,
    input_guardrail,
)
from fastapi import FastAPI, HTTPException
from pydantic import BaseModel

PERSONAL_DATA = re.compile(r"[\w.+-]+@[\w-]+\.\w+|\b\d{3}-\d{2}-\d{4}\b")

# The names of the registered tools, which the reporter compares with agent.yaml.
set_default_reporter(Reporter(tools=["calculator"]))
app = FastAPI()
fastapi.install(app)  # A denial of the policy becomes a 403.
openai_agents.install(check_policy=True)


@function_tool
def calculator(a: float, b: float) -> float:
    """Multiplies two numbers."""
    return a * b


# The name is the type of the guardrail in agent.yaml. It runs before the first call of the model, not at the same time.
@input_guardrail(name="pii-detector", run_in_parallel=False)
def pii_detector(_context: RunContextWrapper, _agent: Agent, message) -> GuardrailFunctionOutput:
    found = PERSONAL_DATA.search(str(message)) is not None
    return GuardrailFunctionOutput(output_info=None, tripwire_triggered=found)


agent = Agent(name="calculator", model="gpt-4o-mini", tools=[calculator], input_guardrails=[pii_detector])


class Question(BaseModel):
    message: str


@app.post("/v1/chat")
async def chat(question: Question) -> dict[str, str]:
    try:
        result = await Runner.run(agent, question.message)
    except InputGuardrailTripwireTriggered as error:
        raise HTTPException(422, "the message contains personal data") from error
    return {"response": str(result.final_output)}


@app.get("/health")
async def health() -> dict[str, str]:
    return {"status": "ok"}


@app.get("/capabilities")
async def capabilities() -> dict[str, list[str]]:
    return {"tools": ["calculator"]}


if __name__ == "__main__":
    host = os.environ.get("HOST", "127.0.0.1")
    uvicorn.run(app, host=host, port=int(os.environ.get("PORT", "8000")), log_level="warning")
