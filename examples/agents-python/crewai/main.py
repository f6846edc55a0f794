"""A crew of one agent with CrewAI, and a guardrail in front of it."""

import os
import re

import uvicorn
from agent_compliance import Reporter, current_behavior, set_default_reporter
from agent_compliance.integrations import crewai, fastapi
from crewai import LLM, Agent, Crew, Task
from crewai.tools import tool
from fastapi import FastAPI, HTTPException
from pydantic import BaseModel

PERSONAL_DATA = re.compile(r"[\w.+-]+@[\w-]+\.\w+|\b\d{3}-\d{2}-\d{4}\b")

# The names of the registered tools, which the reporter compares with agent.yaml.
set_default_reporter(Reporter(tools=["calculator"]))
app = FastAPI()
fastapi.install(app)  # A denial of the policy becomes a 403.
crewai.install(check_policy=True)


@tool("calculator")
def calculator(a: float, b: float) -> float:
    """Multiplies two numbers."""
    return a * b


def crew() -> Crew:
    """A crew keeps the state of its run, so that each request has its own."""
    clerk = Agent(
        role="calculator",
        goal="Answer questions about numbers",
        backstory="A careful clerk",
        llm=LLM(model="openai/gpt-4o-mini"),
        tools=[calculator],
    )
    task = Task(description="{message}", expected_output="The answer", agent=clerk)
    return Crew(agents=[clerk], tasks=[task])


class Question(BaseModel):
    message: str


# Not async: CrewAI blocks, and FastAPI runs this function in a thread, with the context of the request.
@app.post("/v1/chat")
def chat(question: Question) -> dict[str, str]:
    is_blocked = PERSONAL_DATA.search(question.message) is not None
    current_behavior().guardrail("pii-detector", blocked=is_blocked)
    if is_blocked:
        raise HTTPException(422, "the message contains personal data")
    return {"response": crew().kickoff({"message": question.message}).raw}


@app.get("/health")
async def health() -> dict[str, str]:
    return {"status": "ok"}


@app.get("/capabilities")
async def capabilities() -> dict[str, list[str]]:
    return {"tools": ["calculator"]}


if __name__ == "__main__":
    host = os.environ.get("HOST", "127.0.0.1")
    uvicorn.run(app, host=host, port=int(os.environ.get("PORT", "8000")), log_level="warning")
