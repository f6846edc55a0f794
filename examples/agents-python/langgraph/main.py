"""A LangGraph agent: a guardrail node, a model node and a tool node."""

import os
import re

import uvicorn
from agent_compliance import Reporter, set_default_reporter
from agent_compliance.integrations import fastapi, langchain
from fastapi import FastAPI, HTTPException
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from pydantic import BaseModel

PERSONAL_DATA = re.compile(r"[\w.+-]+@[\w-]+\.\w+|\b\d{3}-\d{2}-\d{4}\b")

# The names of the registered tools, which the reporter compares with agent.yaml.
set_default_reporter(Reporter(tools=["calculator"]))
app = FastAPI()
fastapi.install(app)  # A denial of the policy becomes a 403.
langchain.install(check_policy=True, guardrails={"pii_detector": "pii-detector"})


class PersonalDataError(Exception):
    """The message contains personal data."""


@tool
def calculator(a: float, b: float) -> float:
    """Multiplies two numbers."""
    return a * b


model = ChatOpenAI(model="gpt-4o-mini").bind_tools([calculator])


def pii_detector(state: MessagesState) -> dict:
    if PERSONAL_DATA.search(state["messages"][-1].text):
        raise PersonalDataError
    return {}


async def call_model(state: MessagesState) -> dict:
    return {"messages": [await model.ainvoke(state["messages"])]}


graph = (
    StateGraph(MessagesState)
    .add_node("pii_detector", pii_detector)
    .add_node("model", call_model)
    .add_node("tools", ToolNode([calculator]))
    .add_edge(START, "pii_detector")
    .add_edge("pii_detector", "model")
    .add_conditional_edges("model", tools_condition, {"tools": "tools", END: END})
    .add_edge("tools", "model")
    .compile()
)


class Question(BaseModel):
    message: str


@app.post("/v1/chat")
async def chat(question: Question) -> dict[str, str]:
    try:
        result = await graph.ainvoke({"messages": [{"role": "user", "content": question.message}]})
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
