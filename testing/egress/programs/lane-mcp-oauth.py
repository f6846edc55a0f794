import os
from typing import Any

from common import call
from mcp import ClientSession
from mcp.client.auth.extensions.client_credentials import ClientCredentialsOAuthProvider
from mcp.client.streamable_http import streamablehttp_client

URL = os.environ["SHOP_MCP_URL"]


class Storage:
    """Keeps what the provider stores in memory."""

    tokens: Any = None
    client: Any = None

    async def get_tokens(self) -> Any:
        return self.tokens

    async def set_tokens(self, tokens: Any) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> Any:
        return self.client

    async def set_client_info(self, client_info: Any) -> None:
        self.client = client_info


async def names(**options: Any) -> list[str]:
    async with streamablehttp_client(URL, **options) as (reader, writer, _), ClientSession(reader, writer) as client:
        await client.initialize()
        return [tool.name for tool in (await client.list_tools()).tools]


call(
    {
        "oauth": lambda _url: names(auth=ClientCredentialsOAuthProvider(URL, Storage(), "agent", "secret")),
        "token": lambda _url: names(headers={"authorization": f"Bearer {os.environ['TOKEN']}"}),
    }
)
