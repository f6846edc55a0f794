# The frameworks are not installed where the types are checked.
# mypy: disable-error-code="import-not-found,import-untyped,untyped-decorator,misc"
"""MCP servers of both packages over streamable HTTP, with the client of the SDK."""

from __future__ import annotations

import asyncio
import json
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

import pytest

from agent_compliance import Reporter, current_behavior
from agent_compliance.integrations import fastmcp
from agent_compliance.integrations._observe import Observer
from fake_sidecar import FakeSidecar
from integrations.contract import GUARDRAIL, Observed, multiply

KINDS = ["mcp", "mcp stateless", "fastmcp", "fastmcp stateless"]
# Of `mcp`, which the other package of the same environment uses as well.
IS_MCP_2 = find_spec("mcp") is not None and find_spec("mcp.server.mcpserver") is not None


def app_of(kind: str, **options: Any) -> Any:
    """The application of a server with a tool, a tool that is a guardrail, and a tool that reports by itself."""
    is_stateless = kind.endswith("stateless")
    server: Any
    if kind.startswith("fastmcp"):
        from fastmcp import FastMCP

        server = FastMCP("calculator")
    elif IS_MCP_2:
        from mcp.server import MCPServer

        server = MCPServer("calculator")
    else:
        from mcp.server.fastmcp import FastMCP as SdkServer

        server = SdkServer("calculator", host="127.0.0.1", stateless_http=is_stateless)
    server.tool()(multiply)

    @server.tool()
    def check_pii(text: str) -> dict[str, bool]:
        return {"blocked": "@" in text}

    @server.tool()
    async def confirm() -> str:
        current_behavior().confirmed()
        return "yes"

    fastmcp.install(server)
    # The second call replaces the options.
    fastmcp.install(server, guardrails={"check_pii": GUARDRAIL}, **options)
    if kind.startswith("fastmcp"):
        return server.http_app(stateless_http=is_stateless)
    return server.streamable_http_app(stateless_http=is_stateless) if IS_MCP_2 else server.streamable_http_app()


@contextmanager
def serving(app: Any) -> Iterator[str]:
    """Serves the application with uvicorn in a thread."""
    import uvicorn

    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="error"))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.01)
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()


async def call(url: str, *calls: tuple[str, dict[str, Any]]) -> list[tuple[bool, str]]:
    """Calls tools in one session. Every request has an id of its own, like behind a sidecar."""
    import httpx
    from mcp import ClientSession
    from mcp.client.streamable_http import streamable_http_client

    numbers = iter(range(1000))

    async def number(request: httpx.Request) -> None:
        content = json.loads(request.content) if request.content else {}
        name = content.get("params", {}).get("name") if content.get("method") == "tools/call" else None
        request.headers["x-request-id"] = name or f"other-{next(numbers)}"

    async with (
        httpx.AsyncClient(event_hooks={"request": [number]}) as http,
        streamable_http_client(f"{url}/mcp", http_client=http) as (reader, writer, *_),
        ClientSession(reader, writer) as session,
    ):
        await session.initialize()
        results = [await session.call_tool(name, arguments) for name, arguments in calls]
        failed = [result.is_error if IS_MCP_2 else result.isError for result in results]
        return [
            (bool(is_error), str(getattr(result.content[0], "text", "")))
            for is_error, result in zip(failed, results, strict=True)
        ]


@pytest.mark.parametrize("kind", KINDS)
def test_tools_and_guardrails(kind: str, sidecar: FakeSidecar, reporter: Reporter) -> None:
    with serving(app_of(kind)) as url:
        personal = ("check_pii", {"text": "jane@example.org"})
        calls: list[tuple[str, dict[str, Any]]] = [("multiply", {"a": 6, "b": 7}), personal, ("confirm", {})]
        results = asyncio.run(call(url, *calls))
        with urllib.request.urlopen(f"{url}/platform/usage", timeout=30) as response:
            assert json.load(response)["source"] == "agent-sdk"
    assert reporter.events.flush(30)
    assert [is_error for is_error, _ in results] == [False, False, False]
    # Each call belongs to the HTTP request that carried it, not to the one that began the session.
    assert Observed({}, sidecar.events["multiply"]).tool_results == [("multiply", True)]
    (guardrail,) = sidecar.events["check_pii"]
    assert (guardrail["guardrailType"], guardrail["blocked"]) == (GUARDRAIL, True)
    assert Observed({}, sidecar.events["confirm"]).tool_results == [("confirm", True)]


@pytest.mark.parametrize("kind", KINDS)
def test_failing_tool(kind: str, sidecar: FakeSidecar, reporter: Reporter) -> None:
    with serving(app_of(kind)) as url:
        results = asyncio.run(call(url, ("multiply", {"a": 0, "b": 7})))
    assert reporter.events.flush(30)
    assert results[0][0]
    assert Observed({}, sidecar.events["multiply"]).tool_results == [("multiply", False)]


@pytest.mark.parametrize("kind", KINDS)
def test_denial_before_the_tool(kind: str, sidecar: FakeSidecar, reporter: Reporter) -> None:
    with serving(app_of(kind, check_policy=True)) as url:
        results = asyncio.run(call(url, ("multiply", {"a": 6, "b": 7})))
    assert reporter.events.flush(30)
    is_error, text = results[0]
    assert is_error
    assert "denied by policy" in text
    assert "multiply" not in sidecar.events


@pytest.mark.parametrize("check_policy", [False, True])
def test_stdio_has_no_request(check_policy: bool, reporter: Reporter) -> None:
    """Without HTTP there is no request to report to, and the tool works. What ran before it is unknown."""
    from fastmcp import Client, FastMCP

    server: Any = FastMCP("calculator")
    server.tool()(multiply)
    fastmcp.install(server, check_policy=check_policy)

    async def run() -> Any:
        async with Client(server) as client:
            return (await client.call_tool("multiply", {"a": 6, "b": 7})).data

    assert asyncio.run(run()) == 42


@pytest.mark.skipif(not IS_MCP_2, reason="needs mcp 2")
def test_call_that_waits_for_input_is_not_reported(sidecar: FakeSidecar, reporter: Reporter) -> None:
    """The client repeats the call with the input."""
    from mcp.types import InputRequiredResult

    async def run() -> Any:
        return InputRequiredResult.model_construct()

    with reporter.request("r-1") as behavior:
        asyncio.run(fastmcp._observed(Observer(reporter), behavior, "multiply", run))
        assert behavior.facts()["tools_called"] == []


def test_server_without_tools_is_refused(reporter: Reporter) -> None:
    from mcp.server.lowlevel import Server

    with pytest.raises(ValueError, match="no tools yet"):
        fastmcp.install(Server("empty"))
