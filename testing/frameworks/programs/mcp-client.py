import asyncio

from common import call
from mcp import ClientSession
from mcp.client.streamable_http import streamablehttp_client


async def call_tool(url: str, name: str, on_progress=None):
    async with streamablehttp_client(f"{url}/mcp") as (reader, writer, _):
        async with ClientSession(reader, writer) as session:
            await session.initialize()
            result = await session.call_tool(name, {}, progress_callback=on_progress)
            return result.model_dump()


async def cancel(url: str) -> str:
    begun = asyncio.Event()

    async def on_progress(*_args) -> None:
        begun.set()

    task = asyncio.create_task(call_tool(url, "tool", on_progress))
    await begun.wait()
    task.cancel()
    await asyncio.wait([task])
    return "cancelled"


call(
    {
        "tool": lambda url: call_tool(url, "tool"),
        "tool with usage": lambda url: call_tool(url, "tool_with_usage"),
        "cancel": cancel,
    }
)
