"""TRANSPORT=sse: the older HTTP+SSE transport."""

import os
from collections.abc import Awaitable, Callable
from typing import Any

from common import call
from mcp import ClientSession
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamablehttp_client

URL = os.environ["SHOP_MCP_URL"]
connect = sse_client if os.environ.get("TRANSPORT") == "sse" else streamablehttp_client


async def session(use: Callable[[ClientSession], Awaitable[Any]]) -> Any:
    async with connect(URL) as (reader, writer, *_), ClientSession(reader, writer) as client:
        await client.initialize()
        return await use(client)


async def names(client: ClientSession) -> list[str]:
    return [tool.name for tool in (await client.list_tools()).tools]


async def multiply(client: ClientSession) -> Any:
    return (await client.call_tool("multiply", {"a": 6, "b": 7})).model_dump(by_alias=True)


async def delete_order(client: ClientSession) -> Any:
    return (await client.call_tool("delete_order", {"order": "A-1"})).model_dump(by_alias=True)


async def both(client: ClientSession) -> Any:
    return [await delete_order(client), await multiply(client)]


call(
    {
        "list": lambda _url: session(names),
        "tool": lambda _url: session(multiply),
        "forbidden": lambda _url: session(delete_order),
        "both": lambda _url: session(both),
    }
)
