"""An MCP server with FastMCP: one tool calculates, the other one asks a model."""

import os
import re

import uvicorn
from agent_compliance import Reporter, current_behavior, default_reporter, set_default_reporter
from agent_compliance.integrations import fastmcp
from mcp.server.fastmcp import FastMCP
from mcp.server.fastmcp.exceptions import ToolError
from openai import AsyncOpenAI
from starlette.requests import Request
from starlette.responses import JSONResponse

MODEL = "gpt-4o-mini"
PERSONAL_DATA = re.compile(r"[\w.+-]+@[\w-]+\.\w+|\b\d{3}-\d{2}-\d{4}\b")

# The names of the registered tools, which the reporter compares with agent.yaml.
set_default_reporter(Reporter(tools=["calculator", "ask"]))
server = FastMCP("calculator", stateless_http=True)
fastmcp.install(server)
client = AsyncOpenAI()


def detect_personal_data(text: str) -> None:
    """The guardrail that agent.yaml declares for every input."""
    is_blocked = PERSONAL_DATA.search(text) is not None
    current_behavior().guardrail("pii-detector", blocked=is_blocked)
    if is_blocked:
        raise ToolError("the input contains personal data")


@server.tool()
def calculator(a: float, b: float) -> float:
    """Multiplies two numbers."""
    detect_personal_data(f"{a} {b}")
    return a * b


@server.tool()
async def ask(message: str) -> str:
    """Answers a question about numbers."""
    detect_personal_data(message)
    behavior = current_behavior()
    # PolicyDenied becomes an error of the tool, as every exception does.
    await default_reporter().acheck_policy(**behavior.facts())
    messages: list = [{"role": "user", "content": message}]
    completion = await client.chat.completions.create(model=MODEL, messages=messages)
    if completion.usage is not None:
        behavior.model(completion.model, completion.usage.prompt_tokens, completion.usage.completion_tokens)
    return completion.choices[0].message.content or ""


@server.custom_route("/health", methods=["GET"])
async def health(_request: Request) -> JSONResponse:
    return JSONResponse({"status": "ok"})


@server.custom_route("/capabilities", methods=["GET"])
async def capabilities(_request: Request) -> JSONResponse:
    return JSONResponse({"tools": ["calculator", "ask"]})


if __name__ == "__main__":
    app = server.streamable_http_app()
    host = os.environ.get("HOST", "127.0.0.1")
    uvicorn.run(app, host=host, port=int(os.environ.get("PORT", "8000")), log_level="warning")
