"""An MCP server whose tools call a model."""

import os
from typing import Any

import uvicorn
from mcp.server.fastmcp import Context, FastMCP
from one_call import usage_after

server = FastMCP("calculator", stateless_http=True, host="127.0.0.1")
server.settings.transport_security = None
TEXT = "Six times seven is “42”."


async def asked(context: Context) -> Any:
    return await usage_after(os.environ["MODEL_URL"], lambda: context.report_progress(1))


@server.tool(name="tool", structured_output=False)
async def tool(context: Context) -> str:
    await asked(context)
    return TEXT


@server.tool(name="tool_with_usage")
async def tool_with_usage(context: Context) -> dict[str, Any]:
    usage = await asked(context)
    return {"text": TEXT, "usage": usage.model_dump(exclude_none=True)}


uvicorn.run(server.streamable_http_app(), host="127.0.0.1", port=int(os.environ["PORT"]), log_level="error")
