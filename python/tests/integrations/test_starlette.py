# The frameworks are not installed where the types are checked.
# mypy: disable-error-code="import-not-found,import-untyped,untyped-decorator,misc"
"""Starlette and FastAPI under uvicorn."""

from __future__ import annotations

from typing import Any

import pytest

from agent_compliance import Reporter, current_behavior
from agent_compliance.integrations import fastapi, starlette
from fake_sidecar import FakeSidecar
from integrations.test_fastmcp import serving
from integrations.web import OTHER, async_parts, check, work


def starlette_app() -> Any:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import PlainTextResponse, StreamingResponse
    from starlette.routing import Route

    async def view(request: Request) -> Any:
        if request.url.path == "/stream":
            current_behavior().begin()
            return StreamingResponse(async_parts())
        return PlainTextResponse(work(request.url.path))

    return Starlette(routes=[Route("/{path:path}", view)])


def test_starlette(sidecar: FakeSidecar, reporter: Reporter) -> None:
    app = starlette_app()
    starlette.install(app, Reporter(OTHER, env={}))
    # The second call replaces the reporter.
    starlette.install(app)
    with serving(app) as url:
        check(url, reporter, sidecar)


def test_late_installation_is_refused(sidecar: FakeSidecar, reporter: Reporter) -> None:
    app = starlette_app()
    starlette.install(app)
    with serving(app) as url:
        check(url, reporter, sidecar)
        with pytest.raises(RuntimeError, match="before the application serves"):
            starlette.install(app)


@pytest.mark.parametrize("is_async", [True, False])
def test_fastapi(is_async: bool, sidecar: FakeSidecar, reporter: Reporter) -> None:
    from fastapi import FastAPI
    from fastapi.responses import PlainTextResponse, StreamingResponse

    app = FastAPI()

    @app.get("/stream")
    async def stream() -> Any:
        current_behavior().begin()
        return StreamingResponse(async_parts())

    if is_async:

        @app.get("/{path}", response_class=PlainTextResponse)
        async def view(path: str) -> str:
            return work(f"/{path}")
    else:

        @app.get("/{path}", response_class=PlainTextResponse)
        def threaded_view(path: str) -> str:
            # FastAPI runs it in a thread of a pool.
            return work(f"/{path}")

    fastapi.install(app, reporter)
    with serving(app) as url:
        check(url, reporter, sidecar)
