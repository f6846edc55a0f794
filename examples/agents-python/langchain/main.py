"""A LangChain agent with a guardrail in front of it."""

import os
import re

import uvicorn
from agent_compliance import Reporter, set_default_reporter
from agent_compliance.integrations import fastapi, langchain
from fastapi import FastAPI, HTTPException
from langchain.agents import create_agent
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from pydantic import BaseModel

PERSONAL_DATA = re.compile(r"[\w.+-]+@[\w-]+\.\w+|\b\d{3}-\d{2}-\d{4}\b")

# The names of the registered tools, which the reporter compares with agent.yaml.
set_default_reporter(Reporter(tools=["calculator"]))
app = FastAPI()
fastapi.install(app)  # A denial of the policy becomes a 403.
langchain.install(check_policy=True, guardrails=["pii-detector"])


class PersonalDataError(Exception):
    """The message contains personal data."""


@tool
def calculator(a: float, b: float) -> float:
    """Multiplies two numbers."""
    return a * b


def pii_detector(message: str) -> dict:
    if PERSONAL_DATA.search(message):
        raise PersonalDataError
    return {"messages": [{"role": "user", "content": message}]}


agent = create_agent(ChatOpenAI(model="gpt-4o-mini"), tools=[calculator])
# The name of the step is the type of the guardrail in agent.yaml.
chain = RunnableLambda(pii_detector, name="pii-detector") | agent


class Question(BaseModel):
    message: str


@app.post("/v1/chat")
async def chat(question: Question) -> dict[str, str]:
    try:
        result = await chain.ainvoke(question.message)
    except PersonalDataError as error:
        raise HTTPException(422, "the message contains personal data") from error
    return {"response": result["messages"][-1].text}


@app.get("/health")
async def health() -> dict[str, str]:
    return {"status": "ok"}


@app.get("/capabilities")
async def capabilities() -> dict[str, list[str]]:
    return {"tools": ["calculator"]}


if __name__ == "__main__":
    host = os.environ.get("HOST", "127.0.0.1")
    uvicorn.run(app, host=host, port=int(os.environ.get("PORT", "8000")), log_level="warning")
