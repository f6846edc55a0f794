import asyncio
import http.client
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, make_server

import pytest

import agent_compliance
from agent_compliance import (
    PushOptions,
    Reporter,
    SettingsError,
    current_behavior,
    default_reporter,
    set_default_reporter,
)
from conftest import SLOW, HttpServer, manifest, wait_for

SOURCE = Path(agent_compliance.__file__).parent.parent


def get(
    port: int, path: str, method: str = "GET", headers: dict[str, str] | None = None
) -> tuple[int, dict[str, str], bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request(method, path, headers=headers or {})
    response = connection.getresponse()
    body = response.read()
    connection.close()
    return response.status, {name.lower(): value for name, value in response.getheaders()}, body


async def asgi_app(scope: Any, receive: Any, send: Any) -> None:
    """An agent: reports, streams, and reports again after the head."""
    if scope["type"] == "lifespan":
        while True:
            message = await receive()
            await send({"type": f"{message['type']}.complete"})
            if message["type"] == "lifespan.shutdown":
                return
    behavior = current_behavior()
    if scope["path"] == "/plain":
        await send({"type": "http.response.start", "status": 200})
        await send(
            {"type": "http.response.body", "body": behavior.request_id.encode() if behavior.request_id else b"-"}
        )
        return
    behavior.guardrail("pii-detector")
    await asyncio.to_thread(current_behavior().tool, "search")
    headers = [(b"content-type", b"text/plain"), (b"X-Platform-Tools-Called", b"by hand")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    behavior.guardrail("output")
    behavior.model("gpt", 1, 2)
    await send({"type": "http.response.body", "body": b"done"})


def wsgi_app(environ: Any, start_response: Any) -> Iterable[bytes]:
    path = environ["PATH_INFO"]
    if path == "/error":
        raise RuntimeError("of the agent")
    if path == "/file":
        start_response("200 OK", [])
        return environ["wsgi.file_wrapper"](open("/dev/null", "rb"))  # type: ignore[no-any-return]
    if path == "/list":
        current_behavior().tool("search")
        start_response("200 OK", [("X-Platform-Tools-Called", "by hand")])
        return [b"x"]
    return stream(start_response)


def stream(start_response: Any) -> Iterator[bytes]:
    current_behavior().guardrail("pii-detector")
    start_response("200 OK", [])
    yield b"a"
    current_behavior().guardrail("output")
    yield b"b"


@pytest.fixture
def uvicorn_port() -> Iterator[Callable[[Any], int]]:
    uvicorn = pytest.importorskip("uvicorn")
    servers: list[tuple[Any, threading.Thread]] = []

    def start(app: Any) -> int:
        server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning", lifespan="on"))
        thread = threading.Thread(target=server.run, daemon=True)
        thread.start()
        servers.append((server, thread))
        wait_for(lambda: server.started, "uvicorn")
        port: int = server.servers[0].sockets[0].getsockname()[1]
        return port

    yield start
    for server, thread in servers:
        server.should_exit = True
        thread.join(30)


@pytest.fixture
def wsgi_port() -> Iterator[Callable[[Any], int]]:
    servers: list[Any] = []

    class Quiet(WSGIRequestHandler):
        def log_message(self, *_arguments: Any) -> None:
            return

        def get_stderr(self) -> Any:
            return open(os.devnull, "w")

    def start(app: Any) -> int:
        server = make_server("127.0.0.1", 0, app, handler_class=Quiet)
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        servers.append(server)
        return server.server_port

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def test_asgi_in_uvicorn(
    uvicorn_port: Callable[[Any], int], http_server: HttpServer, reporters: Callable[..., Reporter]
) -> None:
    reporter = reporters(sidecar_url=http_server.url)
    port = uvicorn_port(reporter.asgi(asgi_app))
    status, headers, body = get(port, "/platform/health?x=1")
    report = json.loads(body)
    assert (status, report["agentName"], headers["cache-control"]) == (200, "shop", "no-store")
    assert get(port, "/platform/health", "HEAD")[2] == b""
    status, headers, body = get(port, "/platform/usage", "POST")
    assert (status, headers["allow"], headers["content-type"]) == (405, "GET, HEAD", "application/problem+json")
    assert json.loads(body)["detail"] == "POST is not allowed on /platform/usage"
    status, headers, body = get(port, "/chat", headers={"X-Request-Id": "r1"})
    assert (status, body) == (200, b"done")
    assert headers["x-platform-guardrails-invoked"] == "pii-detector"
    assert headers["x-platform-tools-called"] == "search"
    status, headers, body = get(port, "/plain", headers={"X-Request-Id": "r2"})
    assert (body, "x-platform-tools-called" in headers) == (b"r2", False)
    assert get(port, "/plain")[2] == b"-"
    assert json.loads(get(port, "/platform/usage")[2])["totalTokens"] == 3
    assert reporter.events.flush(30)
    assert [request["json"]["requestId"] for request in http_server.requests] == ["r1"]
    assert [event["type"] for event in http_server.requests[0]["json"]["events"]] == ["guardrail", "model"]


def test_the_lifespan_starts_and_stops_the_reporter(
    uvicorn_port: Callable[[Any], int], reporters: Callable[..., Reporter]
) -> None:
    reporter = reporters()

    async def run() -> None:
        received = iter([{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}])
        running: list[bool] = []

        async def receive() -> Any:
            running.append(reporter._running is not None)
            return next(received)

        async def send(_message: Any) -> None:
            return

        await reporter.asgi(asgi_app)({"type": "lifespan"}, receive, send)
        assert running == [True, True]

    asyncio.run(run())
    assert reporter._running is None


def test_other_protocols_pass_through(reporters: Callable[..., Reporter]) -> None:
    scopes: list[Any] = []

    async def app(scope: Any, _receive: Any, _send: Any) -> None:
        scopes.append((scope["type"], current_behavior().request_id))

    asyncio.run(reporters().asgi(app)({"type": "websocket", "path": "/platform/health"}, None, None))  # type: ignore[arg-type]
    assert scopes == [("websocket", None)]


@pytest.mark.parametrize(
    ("path", "root_path", "expected"),
    [
        ("/platform/health", "", "/platform/health"),
        ("/platform/other", "", None),
        ("/api/platform/usage", "/api", "/platform/usage"),
        ("/api/platform/usage", "", None),
        ("/x", "/api", None),
    ],
)
def test_routes(reporters: Callable[..., Reporter], path: str, root_path: str, expected: str | None) -> None:
    assert reporters().route_of(path, root_path) == expected


def test_wsgi(wsgi_port: Callable[[Any], int], http_server: HttpServer, reporters: Callable[..., Reporter]) -> None:
    reporter = reporters(sidecar_url=http_server.url)
    port = wsgi_port(reporter.wsgi(wsgi_app))
    assert json.loads(get(port, "/platform/health")[2])["agentName"] == "shop"
    assert get(port, "/platform/usage", "POST")[0] == 405
    _, headers, body = get(port, "/list", headers={"X-Request-Id": "r1"})
    assert (headers["x-platform-tools-called"], body) == ("search", b"x")
    _, headers, body = get(port, "/stream", headers={"X-Request-Id": "r2"})
    assert (headers["x-platform-guardrails-invoked"], body) == ("pii-detector", b"ab")
    assert reporter.events.flush(30)
    (request,) = http_server.requests
    assert request["json"]["requestId"] == "r2"
    assert request["json"]["events"] == [{"type": "guardrail", "guardrailType": "output", "invoked": True}]
    assert get(port, "/file")[0] == 200
    assert get(port, "/error")[0] == 500
    assert current_behavior().request_id is None


def test_wsgi_closes_the_response(reporters: Callable[..., Reporter]) -> None:
    closed: list[bool] = []

    class Parts:
        def __iter__(self) -> Iterator[bytes]:
            return iter([b"x"])

        def close(self) -> None:
            closed.append(True)

    app = reporters().wsgi(lambda _environ, _start: Parts())
    response: Any = app({"PATH_INFO": "/x"}, lambda *_arguments: None)
    assert iter(response) is response
    assert list(response) == [b"x"]
    response.close()
    assert closed == [True]


def test_a_stopped_reporter_runs_no_checks(reporters: Callable[..., Reporter]) -> None:
    reporter = reporters()
    assert reporter.get_report() is None
    assert not reporter.waits_for_checks("/platform/health")
    status, _, body = reporter.respond("GET", "/platform/health")
    assert (status, json.loads(body)["detail"]) == (503, "the reporter was not started")
    reporter.start()
    reporter.start()
    report = reporter.get_report()
    assert report is not None
    reporter.stop()
    reporter.stop()
    assert reporter.get_report() is report
    assert reporter.respond("GET", "/platform/health")[0] == 200


def test_reports_are_renewed(reporters: Callable[..., Reporter]) -> None:
    names: list[str] = []
    reporter = reporters(
        manifest(tools=[{"name": "late"}]), tools=lambda: names, refresh_seconds=0.01, stale_seconds=0.001
    )
    reporter.start()
    assert reporter.get_report() is not None
    names.append("late")

    def is_there() -> bool:
        report = reporter.get_report()
        return report is not None and report["checks"][-1]["status"] == "pass"

    wait_for(is_there, "a new report")


def test_checks_that_cannot_run_are_no_error_of_the_agent(
    reporters: Callable[..., Reporter], caplog: pytest.LogCaptureFixture
) -> None:
    def tools() -> list[str]:
        raise RuntimeError("registry not ready")

    reporter = reporters(tools=tools)
    reporter.start()
    status, _, body = reporter.respond("GET", "/platform/health")
    assert (status, json.loads(body)["detail"]) == (503, "the health checks could not run")
    wait_for(lambda: "retrying" in caplog.text, "the warning")
    assert "registry not ready" in caplog.text


def test_the_default_reporter_is_created_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "agent.json").write_text(json.dumps(manifest()))
    monkeypatch.chdir(tmp_path)
    try:
        assert default_reporter() is default_reporter()
        other = Reporter(manifest(), env={})
        set_default_reporter(other)
        assert default_reporter() is other
    finally:
        set_default_reporter(None)


@pytest.mark.parametrize("name", ["refresh_seconds", "stale_seconds", "policy_timeout"])
@pytest.mark.parametrize("value", [0, -1, True, float("nan"), float("inf")])
def test_invalid_times_are_rejected(name: str, value: Any) -> None:
    with pytest.raises(SettingsError, match=name):
        Reporter(manifest(), env={}, **{name: value})


def no_thread(_thread: threading.Thread) -> None:
    """What Python does at the limit of threads of a container."""
    raise RuntimeError("can't start new thread")


def test_a_process_without_free_threads_serves_requests(
    http_server: HttpServer,
    reporters: Callable[..., Reporter],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    push = PushOptions(http_server.url, key="k")
    reporter, sending = reporters(push=push), reporters(sidecar_url=http_server.url)
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", no_thread)
        reporter.start()
        reporter.stop()
        assert sending.record_usage("m", 1, 1)
        assert sending.record_usage("m", 1, 1)
    assert [record.getMessage() for record in caplog.records] == [
        "failed to start the threads of the reporter reason=can't start new thread",
        "failed to start the thread of the events reason=can't start new thread",
    ]
    assert sending.record_usage("m", 1, 1)
    assert sending.events.flush(30)
    assert sending.events.counts() == {"delivered": 3, "dropped": 0, "queued": 0}


def test_a_forked_process_has_its_own_threads(tmp_path: Path) -> None:
    program = f"""
import faulthandler, os, sys
sys.path.insert(0, {str(SOURCE)!r})
from agent_compliance import Reporter
reporter = Reporter({manifest()!r}, env={{"PLATFORM_SIDECAR_URL": "http://127.0.0.1:1", "POLICY_URL": "http://127.0.0.1:1"}})
reporter.start()
reporter.record_usage("m", 1, 1)
# As if another thread worked at the time of the fork.
reporter._lock.acquire()
reporter.events._changed.acquire()
reporter._policy._engine.lock.acquire()
pid = os.fork()
if pid == 0:
    faulthandler.dump_traceback_later(50, exit=True)
    reporter.check_policy()
    assert reporter.get_usage()["totalCalls"] == 0
    reporter.start()
    report = reporter.get_report()
    sent = reporter.record_usage("m", 1, 1) and reporter.events.flush(30)
    os._exit(0 if report is not None and sent and reporter.events.counts()["dropped"] == 1 else 1)
reporter._policy._engine.lock.release()
reporter.events._changed.release()
reporter._lock.release()
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""
    result = subprocess.run([sys.executable, "-W", "ignore", "-c", program], timeout=120, check=False)
    assert result.returncode == 0


def test_threads_import_nothing(http_server: HttpServer) -> None:
    services = [
        {"name": "cache", "address": f"redis://127.0.0.1:{http_server.port}"},
        {"name": "queue", "address": f"rediss://127.0.0.1:{http_server.port}"},
        {"name": "data", "address": f"postgres://127.0.0.1:{http_server.port}"},
    ]
    servers = [{"name": "m", "url": http_server.url}]
    spec = {"requires": {"services": services}, "mcp": {"servers": servers}, "prompt": "$file:x", "key": "$secret:y"}
    spec["model"] = {"provider": "openai", "id": "m", "apiKey": "k"}
    program = f"""
import sys, threading
sys.path[:0] = {[str(SOURCE), str(Path(__file__).parent)]!r}
from agent_compliance import PushOptions, Reporter
imported = []
def note(event, arguments):
    if event == "import" and threading.current_thread() is not threading.main_thread():
        imported.append(arguments[0])
sys.addaudithook(note)
push = PushOptions({http_server.url!r}, key="k")
pushing = Reporter({manifest(**spec)!r}, env={{"OPENAI_BASE_URL": {http_server.url!r}}}, push=push)
sending = Reporter({manifest()!r}, env={{"PLATFORM_SIDECAR_URL": {http_server.url!r}}})
sending.record_usage("m", 1, 1)
sent = sending.events.flush({SLOW})
pushing.start()
probes = sys.modules.get("agent_compliance._probes")
if probes is not None:
    # No server here speaks these protocols.
    probes._TCP_SECONDS = 0.1
gate = threading.Event()
while pushing._pusher._seq < 2:
    gate.wait(0.01)
print(sent, len(pushing.get_report()["checks"]), imported)
"""
    result = subprocess.run([sys.executable, "-c", program], timeout=120, check=True, capture_output=True, text=True)
    assert result.stdout.strip() == "True 7 []"


def test_events_that_wait_are_sent_at_exit(http_server: HttpServer) -> None:
    program = f"""
import sys
sys.path.insert(0, {str(SOURCE)!r})
from agent_compliance import Reporter, _events
_events.EventSender.flush.__defaults__ = ({SLOW},)
reporter = Reporter({manifest()!r}, env={{"PLATFORM_SIDECAR_URL": {http_server.url!r}}})
reporter.events._timeout = {SLOW}
reporter.start()
reporter.record_usage("m", 1, 1)
"""
    subprocess.run([sys.executable, "-c", program], timeout=120, check=True)
    assert [request["json"]["events"][0]["type"] for request in http_server.requests] == ["model"]


def test_the_import_loads_nothing_expensive() -> None:
    program = f"""
import sys
before = set(sys.modules)
sys.path.insert(0, {str(SOURCE)!r})
import agent_compliance
assert not [name for name in sys.modules if name.startswith("agent_compliance.")]
from agent_compliance import Reporter
new = set(sys.modules) - before
print(sorted(new & {{"asyncio", "collections", "contextvars", "dataclasses", "email", "functools", "http.client",
    "inspect", "json", "logging", "re", "socket", "ssl", "subprocess", "threading", "typing", "urllib.parse", "yaml"}}))
"""
    result = subprocess.run(
        [sys.executable, "-S", "-c", program], timeout=120, check=True, capture_output=True, text=True
    )
    assert result.stdout.strip() == "[]"


def test_public_names() -> None:
    for name in agent_compliance.__all__:
        assert getattr(agent_compliance, name) is not None
    assert set(agent_compliance.__all__) <= set(dir(agent_compliance))
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = agent_compliance.nothing
