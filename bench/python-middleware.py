"""What the ASGI middleware costs: a FastAPI hello world with and without it, alternating, medians of processor time.

`python bench/python-middleware.py` needs `agent_compliance`, `fastapi` and `uvicorn` on the path; the bar is a ratio of 1.15.
"""

import asyncio
import gc
import http.client
import statistics
import threading
import time
from typing import Any

import uvicorn
from fastapi import FastAPI

from agent_compliance import Reporter

ROUNDS = 41
CALLS = 400
REQUESTS = 200
MANIFEST = {"metadata": {"name": "shop"}, "spec": {"model": {"provider": "none", "id": "m", "apiKey": "k"}}}
SCOPE = {
    "type": "http",
    "asgi": {"version": "3.0"},
    "http_version": "1.1",
    "method": "GET",
    "path": "/",
    "raw_path": b"/",
    "root_path": "",
    "scheme": "http",
    "query_string": b"",
    "headers": [(b"host", b"localhost"), (b"accept", b"*/*"), (b"x-request-id", b"0123456789abcdef")],
    "client": ("127.0.0.1", 1),
    "server": ("127.0.0.1", 80),
}


def hello() -> FastAPI:
    app = FastAPI()

    @app.get("/")
    async def root() -> dict[str, str]:
        return {"message": "hello"}

    return app


async def direct(app: Any) -> float:
    """Seconds of the thread's processor time per request, without a server."""

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(_message: Any) -> None:
        return

    started = time.thread_time()
    for _ in range(CALLS):
        await app(dict(SCOPE), receive, send)
    return (time.thread_time() - started) / CALLS


class Served:
    """The application in uvicorn, in a thread."""

    def __init__(self, app: Any) -> None:
        self.server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning", access_log=False))
        self.thread = threading.Thread(target=self.server.run)
        self.thread.start()
        while not self.server.started:
            time.sleep(0.01)
        self.connection = http.client.HTTPConnection(*self.server.servers[0].sockets[0].getsockname()[:2])

    def measure(self) -> float:
        """Seconds of the server thread's processor time per request."""
        clock = time.pthread_getcpuclockid(self.thread.ident)  # type: ignore[arg-type]
        started = time.clock_gettime(clock)
        for _ in range(REQUESTS):
            self.connection.request("GET", "/", headers={"x-request-id": "0123456789abcdef"})
            self.connection.getresponse().read()
        return (time.clock_gettime(clock) - started) / REQUESTS

    def close(self) -> None:
        self.connection.close()
        self.server.should_exit = True
        self.thread.join()


def show(name: str, bare: list[float], mounted: list[float]) -> None:
    """The medians, and the median of the ratios of each pair."""
    ratio = statistics.median(after / before for before, after in zip(bare, mounted, strict=True))
    before, after = statistics.median(bare) * 1e6, statistics.median(mounted) * 1e6
    print(f"{name}: {before:.1f} us bare, {after:.1f} us with the middleware, ratio {ratio:.3f}")


def main() -> None:
    reporter = Reporter(MANIFEST, env={})
    reporter.start()
    reporter.get_report()
    apps = (hello(), reporter.asgi(hello()))

    async def in_process() -> tuple[list[float], list[float]]:
        times: tuple[list[float], list[float]] = ([], [])
        for index in range(2 * ROUNDS + 4):
            times[index % 2].append(await direct(apps[index % 2]))
        return times[0][2:], times[1][2:]

    gc.disable()
    show("called directly", *asyncio.run(in_process()))
    servers = [Served(app) for app in apps]
    times: tuple[list[float], list[float]] = ([], [])
    for index in range(2 * ROUNDS + 4):
        times[index % 2].append(servers[index % 2].measure())
    show("uvicorn", times[0][2:], times[1][2:])
    for server in servers:
        server.close()
    reporter.stop()


main()
