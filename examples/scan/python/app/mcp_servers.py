"""MCP servers of the agent."""

from langchain_core.tools import BaseTool
from langchain_mcp_adapters.client import MultiServerMCPClient

from app.config import get_settings

client = MultiServerMCPClient(
    {
        "warehouse": {"transport": "streamable_http", "url": get_settings().warehouse_url},
        "manuals": {
            "transport": "stdio",
            "command": "npx",
            "args": ["-y", "@modelcontextprotocol/server-filesystem", "/srv/manuals"],
        },
    }
)


async def mcp_tools() -> list[BaseTool]:
    return await client.get_tools()
