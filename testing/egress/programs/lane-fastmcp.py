"""TRANSPORT=sse: the older HTTP+SSE transport."""

import os
from collections.abc import Awaitable, Callable
from typing import Any

from common import call
from fastmcp import Client
from fastmcp.client.transports import SSETransport, StreamableHttpTransport

URL = os.environ["SHOP_MCP_URL"]
Transport = SSETransport if os.environ.get("TRANSPORT") == "sse" else StreamableHttpTransport


async def session(use: Callable[[Client], Awaitable[Any]]) -> Any:
    async with Client(Transport(URL)) as client:
        return await use(client)


async def names(client: Client) -> list[str]:
    return [tool.name for tool in await client.list_tools()]


async def run(client: Client, name: str, given: dict[str, Any]) -> Any:
    result = await client.call_tool_mcp(name, given)
    return result.model_dump(by_alias=True)


async def multiply(client: Client) -> Any:
    return await run(client, "multiply", {"a": 6, "b": 7})


async def delete_order(client: Client) -> Any:
    return await run(client, "delete_order", {"order": "A-1"})


async def both(client: Client) -> Any:
    return [await delete_order(client), await multiply(client)]


call(
    {
        "list": lambda _url: session(names),
        "tool": lambda _url: session(multiply),
        "forbidden": lambda _url: session(delete_order),
        "both": lambda _url: session(both),
    }
)
