import json
import ssl
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent_compliance import Reporter, _checks, _probes
from conftest import SLOW, HttpServer, manifest


@pytest.fixture(autouse=True)
def _slow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_probes, "_HTTP_SECONDS", SLOW)
    monkeypatch.setattr(_probes, "_TCP_SECONDS", SLOW)
    monkeypatch.setattr(_checks, "_TOTAL_SECONDS", SLOW)


def checks_of(spec: dict[str, Any], env: dict[str, str] | None = None, **options: Any) -> dict[str, dict[str, Any]]:
    """Checks by id."""
    folder = options.get("folder", ".")
    checks = _checks.run_checks(manifest(**spec), env or {}, folder, options.get("tools"))
    return {check["id"]: check for check in checks}


def outcome(check: dict[str, Any]) -> tuple[str, str | None]:
    return check["status"], check.get("message")


def test_variables_and_tools(reporters: Callable[..., Reporter]) -> None:
    spec = {
        "requires": {"envVars": ["A", "B", "$env:C", "A"]},
        "tools": [{"name": "t1"}, {"name": "t2"}],
        "x-note": "$env:NOT_READ",
    }
    found = checks_of(spec, {"A": "1", "B": ""}, tools={"t1"})
    assert {check_id: check["status"] for check_id, check in found.items()} == {
        "env:C": "fail",
        "env:A": "pass",
        "env:B": "fail",
        "model:no-such-vendor/gpt-4o": "skip",
        "tool:t1": "pass",
        "tool:t2": "fail",
    }
    assert found["env:B"] == {
        "id": "env:B",
        "category": "env",
        "severity": "error",
        "status": "fail",
        "message": "B is not set in the environment",
        "remediation": "Set the environment variable B for the agent.",
    }
    assert outcome(checks_of(spec)["tool:t1"]) == ("skip", "the reporter has no tool registry")


def test_files_and_secrets(tmp_path: Path) -> None:
    (tmp_path / "prompt.md").write_text("x")
    (tmp_path / "outside").symlink_to("/etc/hostname")
    spec = {
        "prompts": {
            "system": "$file:prompt.md",
            "a": "$file:missing",
            "b": "$file:outside",
            "c": "$file:/etc/hostname",
            "d": "$file: ",
            "e": "$file:\0",
        },
        "keys": ["$secret:db-password", "$secret:none"],
    }
    found = checks_of(spec, {"PLATFORM_SECRET_DB_PASSWORD": "x"}, folder=str(tmp_path))
    files = [check["status"] for check in found.values() if check["category"] == "file"]
    assert files == ["pass", "fail", "fail", "fail", "fail", "fail"]
    assert found["secret:db-password"]["status"] == "pass"
    assert found["secret:none"]["remediation"] == "Set the variable PLATFORM_SECRET_NONE."
    secrets = tmp_path / "secrets"
    secrets.mkdir()
    (secrets / "db-password").write_text("x\r\n")
    (secrets / "none").write_text("\n")
    found = checks_of(spec, {"PLATFORM_SECRET_DIR": str(secrets)}, folder=str(tmp_path))
    assert found["secret:db-password"]["status"] == "pass"
    assert outcome(found["secret:none"]) == ("fail", "the secret backend file does not contain this secret")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("literal", "literal"),
        ("$other:x", "$other:x"),
        ("$env:A", "1"),
        ("$file:a.txt", "content"),
        ("$secret:a-b", "secret"),
        ("$func:now_unix", "1700000000"),
        ("$func:now_date", "2023-11-14"),
        ("$func:now_iso", "2023-11-14T22:13:20.000Z"),
    ],
)
def test_references_have_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, value: str) -> None:
    monkeypatch.setattr(_checks, "utc_now", lambda: 1_700_000_000.0)
    (tmp_path / "a.txt").write_text("content")
    references = _checks.References({"A": "1", "PLATFORM_SECRET_A_B": "secret"}, str(tmp_path))
    assert references.resolve(text) == value


@pytest.mark.parametrize("text", ["$env:B", "$file:b", "$file:big", "$secret:b", "$func:other"])
def test_references_without_a_value(tmp_path: Path, text: str) -> None:
    (tmp_path / "big").write_bytes(b"x" * (1024 * 1024 + 1))
    with pytest.raises(_checks.Unresolved):
        _checks.References({}, str(tmp_path)).resolve(text)
    with pytest.raises(_checks.Unresolved):
        _checks.References({"PLATFORM_SECRET_DIR": str(tmp_path)}, str(tmp_path)).resolve(text)


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (200, ("pass", None)),
        (404, ("pass", None)),
        (429, ("pass", None)),
        (302, ("pass", None)),
        (401, ("fail", "the key was rejected: openai responded with 401")),
        (403, ("fail", "the key was rejected: openai responded with 403")),
        (503, ("fail", "openai responded with 503")),
    ],
)
def test_the_model_check_sends_the_key(http_server: HttpServer, status: int, expected: tuple[str, str | None]) -> None:
    http_server.answer = lambda _request: (status, {"location": "/other"}, b"")
    model = {"provider": "openai", "id": "m", "apiKey": "$env:KEY"}
    check = checks_of({"model": model}, {"KEY": "sk-1", "OPENAI_BASE_URL": http_server.url + "/v1/"})["model:openai/m"]
    assert outcome(check) == expected
    (request,) = http_server.requests
    assert (request["path"], request["headers"]["authorization"]) == ("/v1/models", "Bearer sk-1")
    assert ("latencyMs" in check) == (expected[0] == "pass")


def test_vendors_have_their_own_headers(http_server: HttpServer) -> None:
    http_server.answer = lambda _request: (400, {}, b"")
    model = {
        "provider": "Anthropic",
        "id": "a",
        "apiKey": "k",
        "fallback": {"provider": "gemini", "id": "g", "apiKey": "k"},
    }
    env = {"ANTHROPIC_BASE_URL": http_server.url, "GOOGLE_BASE_URL": http_server.url}
    found = checks_of({"model": model}, env)
    assert found["model:Anthropic/a"]["status"] == "pass"
    assert outcome(found["model:gemini/g"]) == ("fail", "the key was rejected: gemini responded with 400")
    headers = {request["path"]: request["headers"] for request in http_server.requests}
    assert headers["/v1/models"]["x-api-key"] == "k"
    assert headers["/v1/models"]["anthropic-version"] == "2023-06-01"
    assert headers["/v1beta/models"]["x-goog-api-key"] == "k"


@pytest.mark.parametrize(
    ("provider", "variable", "path"),
    [("gemini", "GOOGLE_GEMINI_BASE_URL", "/v1beta/models"), ("cohere", "CO_API_URL", "/v1/models")],
)
def test_the_variable_of_the_vendors_client_counts_without_the_usual_one(
    http_server: HttpServer, provider: str, variable: str, path: str
) -> None:
    model = {"provider": provider, "id": "m", "apiKey": "k"}
    found = checks_of({"model": model}, {variable: f"{http_server.url}/"})
    assert found[f"model:{provider}/m"]["status"] == "pass"
    assert [request["path"] for request in http_server.requests] == [path]


@pytest.mark.parametrize(
    ("provider", "env", "expected"),
    [
        ("my-llm", {}, ("skip", "no API address is known for provider my-llm: set MY_LLM_BASE_URL")),
        ("azure", {}, ("skip", "no API address is known for provider azure: set AZURE_OPENAI_ENDPOINT")),
        ("openai", {"OPENAI_BASE_URL": "ftp://x"}, ("skip", "OPENAI_BASE_URL is not an http(s) URL")),
        (
            "openai",
            {"OPENAI_BASE_URL": "http://u:p@x"},
            ("skip", "OPENAI_BASE_URL contains a user name or password, which is not supported"),
        ),
        (
            "openai",
            {"OPENAI_BASE_URL": "http://127.0.0.1:1", "KEY": "a\nb"},
            ("fail", "the key cannot be sent: it is not a valid header value"),
        ),
        (
            "openai",
            {"OPENAI_BASE_URL": "http://127.0.0.1:1", "KEY": "€"},
            ("fail", "the key cannot be sent: it is not a valid header value"),
        ),
        ("openai", {"OPENAI_BASE_URL": "http://127.0.0.1:1"}, ("fail", "openai cannot be reached: ECONNREFUSED")),
    ],
)
def test_a_model_that_cannot_be_checked(provider: str, env: dict[str, str], expected: tuple[str, str]) -> None:
    model = {"provider": provider, "id": "m", "apiKey": "$env:KEY"}
    found = checks_of({"model": model}, {"KEY": "k", **env})
    assert outcome(found[f"model:{provider}/m"]) == expected


def test_a_model_without_its_key_is_skipped() -> None:
    model = {"provider": "openai", "id": "m", "apiKey": "$env:KEY"}
    assert outcome(checks_of({"model": model})["model:openai/m"]) == ("skip", "requires env:KEY, which failed")
    unknown = {"provider": "openai", "id": "m", "apiKey": "$func:other"}
    assert outcome(checks_of({"model": unknown})["model:openai/m"]) == ("skip", "unknown function other")


def test_a_model_that_hangs(raw_server: Callable[[bytes | None], int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_probes, "_HTTP_SECONDS", 0.05)
    model = {"provider": "openai", "id": "m", "apiKey": "k"}
    found = checks_of({"model": model}, {"OPENAI_BASE_URL": f"http://127.0.0.1:{raw_server(None)}"})
    assert outcome(found["model:openai/m"]) == ("fail", "openai did not respond within 50 ms")


REDIS_OTHER = "the server does not speak the Redis protocol"
POSTGRES_OTHER = "the server does not speak the PostgreSQL protocol"
ERROR_57P03 = b"E" + (4 + 8).to_bytes(4, "big") + b"C57P03\0\0"
ERROR_28000 = b"E" + (4 + 8).to_bytes(4, "big") + b"C28000\0\0"


@pytest.mark.parametrize(
    ("kind", "answer", "expected"),
    [
        ("redis", b"+PONG\r\n", ("pass", None)),
        ("redis", b"-NOAUTH Authentication required.\r\n", ("pass", None)),
        ("redis", b"-LOADING \xff data\r\n", ("fail", "PING returned an error: LOADING ? data")),
        ("redis", b"HTTP/1.1 400\r\n", ("fail", REDIS_OTHER)),
        ("redis", b"+OK\r\n", ("fail", REDIS_OTHER)),
        ("redis", b"-" + b"x" * 600, ("fail", REDIS_OTHER)),
        ("redis", b"+PO", ("fail", "connection closed without a response")),
        ("redis", b"", ("fail", "connection closed without a response")),
        ("valkey", b"+PONG\r\n", ("pass", None)),
        ("postgres", b"R" + (8).to_bytes(4, "big") + b"\0\0\0\3", ("pass", None)),
        ("postgres", ERROR_57P03, ("fail", _probes._POSTGRES_DOWN["57P03"])),
        ("pgvector", ERROR_28000, ("pass", None)),
        ("postgres", b"HTTP/1.1 400", ("fail", POSTGRES_OTHER)),
        ("postgres", b"E\0\0\0\1", ("fail", POSTGRES_OTHER)),
        ("postgres", b"E\0\0", ("fail", "connection closed without a response")),
        ("postgres", ERROR_57P03[:8], ("fail", "connection closed without a response")),
        ("nats", b"", ("pass", None)),
    ],
)
def test_services_respond_in_their_protocol(
    raw_server: Callable[[bytes | None], int], kind: str, answer: bytes, expected: tuple[str, str | None]
) -> None:
    service = {"name": "s", "type": kind, "address": f"127.0.0.1:{raw_server(answer)}"}
    assert outcome(checks_of({"requires": {"services": [service]}})["service:s"]) == expected


def test_a_service_that_hangs(raw_server: Callable[[bytes | None], int], monkeypatch: pytest.MonkeyPatch) -> None:
    pinged = _probes._pinged

    def pinged_briefly(raw: Any, host: str, ping: Any, _deadline: float) -> str:
        return pinged(raw, host, ping, time.monotonic() + 0.05)

    monkeypatch.setattr(_probes, "_pinged", pinged_briefly)
    service = {"name": "s", "address": f"redis://127.0.0.1:{raw_server(None)}"}
    found = checks_of({"requires": {"services": [service]}})
    assert outcome(found["service:s"]) == ("fail", "connection accepted, but no response within 30 s")


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("$env:NOT_SET", ("skip", "requires env:NOT_SET, which failed")),
        ("$func:other", ("skip", "unknown function other")),
        ("file:///x", ("skip", "the address has no host and port")),
        ("mongodb+srv://x/y", ("skip", "the address has no host and port")),
        ("host:99999", ("skip", "the address has no host and port")),
        ("host:999999", ("skip", "the address has no host and port")),
        ("a b", ("skip", "the address has no host and port")),
        ("169.254.169.254:80", ("skip", "link-local and metadata addresses are not probed")),
        ("host.invalid:80", ("fail", "host not found")),
        ("x" * 70 + ":80", ("fail", "the address is not a valid host and port")),
    ],
)
def test_addresses_that_cannot_be_probed(address: str, expected: tuple[str, str]) -> None:
    check = checks_of({"requires": {"services": [{"name": "s", "address": address}]}})["service:s"]
    assert check["status"] == expected[0]
    # Without a network the DNS server does not respond.
    assert (check["message"] or "").startswith(expected[1])


@pytest.mark.parametrize(
    ("address", "kind", "expected"),
    [
        ("redis", "redis", ("redis", 6379)),
        ("postgresql+asyncpg://u:p@w@db/x", "", ("db", 5432)),
        ("https://api.example.com/x?y", "", ("api.example.com", 443)),
        ("[::1]:80", "", ("::1", 80)),
        ("kafka://a:1,b:2", "", ("a", 1)),
        ("host", "other", None),
    ],
)
def test_addresses(address: str, kind: str, expected: tuple[str, int] | None) -> None:
    assert _probes.parse_address(address, kind) == expected


def test_a_critical_service_is_an_error(closed_port: int) -> None:
    services = [
        {"name": "a", "address": f"127.0.0.1:{closed_port}", "critical": True},
        {"name": "b", "address": f"127.0.0.1:{closed_port}"},
        {"type": "redis"},
    ]
    checks = _checks.run_checks(manifest(requires={"services": services}), {}, ".", None)
    by_id = {check["id"]: check for check in checks}
    assert by_id["service:a"]["severity"] == "error"
    assert outcome(by_id["service:b"]) == ("fail", "connection refused")
    assert outcome(by_id["service:redis"]) == ("skip", "the manifest declares no address")
    assert _checks.status_of(checks) == "unhealthy"
    assert _checks.summary_of(checks) == {"passed": 0, "failed": 1, "warnings": 1, "skipped": 2}
    del by_id["service:a"]
    assert _checks.status_of(list(by_id.values())) == "degraded"
    del by_id["service:b"]
    assert _checks.status_of(list(by_id.values())) == "healthy"


def test_the_worst_of_several_checks_with_one_id_counts() -> None:
    good = {"id": "tool:x", "status": "pass"}
    bad = {"id": "tool:x", "status": "fail"}
    assert _checks._rated([good, bad, good], set()) == [bad]


def test_memories_use_the_address_of_their_backend(raw_server: Callable[[bytes | None], int], closed_port: int) -> None:
    port = raw_server(b"+PONG\r\n")
    spec = {
        "requires": {"services": [{"name": "cache", "type": "redis", "address": f"127.0.0.1:{port}"}]},
        "memory": {
            "backend": "redis",
            "shortTerm": {"ttlSeconds": 1},
            "longTerm": {"backend": "postgres", "connectionString": f"127.0.0.1:{closed_port}"},
            "vector": {"backend": "qdrant"},
        },
        "observability": {"tracing": {"backend": "otel", "endpoint": f"http://127.0.0.1:{port}"}},
    }
    found = checks_of(spec)
    assert [check_id for check_id in found if check_id.startswith(("memory", "tracing"))] == [
        "memory:backend",
        "memory:shortTerm",
        "memory:longTerm",
        "memory:vector",
        "tracing:otel",
    ]
    assert outcome(found["memory:backend"]) == ("pass", None)
    assert outcome(found["memory:shortTerm"]) == ("pass", None)
    assert outcome(found["memory:longTerm"]) == ("fail", "connection refused")
    assert outcome(found["memory:vector"]) == ("skip", "the manifest declares no address")
    assert found["tracing:otel"]["status"] == "pass"
    own = {"backend": "redis", "shortTerm": {"connection": f"redis://127.0.0.1:{port}"}}
    assert outcome(checks_of({"memory": own})["memory:backend"]) == ("pass", None)
    no_address = {"requires": {"services": [{"type": "redis"}]}, "memory": {"backend": "redis"}}
    assert outcome(checks_of(no_address)["memory:backend"]) == ("skip", "the manifest declares no address")


REPLY = json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"protocolVersion": "2025-11-25"}}).encode()
UNKNOWN = json.dumps({"jsonrpc": "2.0", "id": 1, "error": {"code": -32601}}).encode()
OTHER_ERROR = json.dumps({"jsonrpc": "2.0", "id": 1, "error": {"code": -32000}}).encode()
STREAM = {"content-type": "text/event-stream; charset=utf-8"}


def mcp(server: dict[str, Any]) -> tuple[str, str | None]:
    return outcome(checks_of({"mcp": {"servers": [{"name": "s", **server}]}})["mcp:s"])


@pytest.mark.parametrize(
    ("status", "headers", "body", "expected"),
    [
        (200, {"content-type": "application/json"}, REPLY, ("pass", None)),
        (200, {**STREAM, "mcp-session-id": "1"}, b"event: message\r\ndata: " + REPLY + b"\r\n\r\n", ("pass", None)),
        (400, {"content-type": "application/json"}, OTHER_ERROR, ("pass", None)),
        (401, {}, b"", ("pass", None)),
        (429, {}, b"", ("pass", None)),
        (502, {}, b"", ("fail", "the server responded with 502")),
        (404, {}, b"", ("fail", "the server responded to an MCP handshake with 404")),
        (303, {}, b"", ("fail", "the server redirected (303) to another address")),
        (308, {"location": "http://other.invalid/"}, b"", ("fail", "the server redirected (308) to another address")),
        (
            200,
            {"content-type": "text/html"},
            b"<html>",
            ("fail", "the server responded to an MCP handshake with text/html, which is not MCP"),
        ),
        (
            200,
            {},
            UNKNOWN,
            ("fail", "the server responded to an MCP handshake with content of unknown type, which is not MCP"),
        ),
        (
            200,
            STREAM,
            b"data: {}\n\n",
            ("fail", "the server responded to an MCP handshake with an event stream that is not MCP"),
        ),
    ],
)
def test_mcp_servers_answer_a_handshake(
    http_server: HttpServer, status: int, headers: dict[str, str], body: bytes, expected: tuple[str, str | None]
) -> None:
    http_server.answer = lambda _request: (status, headers, body)
    assert mcp({"url": http_server.url + "/mcp"}) == expected
    if "mcp-session-id" in headers:
        assert http_server.requests[-1]["method"] == "DELETE"


def test_mcp_over_sse_and_after_a_redirect(http_server: HttpServer) -> None:
    def older(request: dict[str, Any]) -> tuple[int, dict[str, str], bytes]:
        is_get = request["method"] == "GET"
        return (200, STREAM, b"event: endpoint\ndata: /x\n\n") if is_get else (405, {}, b"")

    http_server.answer = older
    assert mcp({"url": http_server.url, "transport": "sse"}) == ("pass", None)
    assert mcp({"url": http_server.url}) == ("pass", None)
    assert mcp({"host": "127.0.0.1", "port": http_server.port}) == ("pass", None)

    def moved(request: dict[str, Any]) -> tuple[int, dict[str, str], bytes]:
        is_first = request["path"] == "/mcp"
        return (307, {"location": "/mcp/"}, b"") if is_first else (200, {"content-type": "application/json"}, REPLY)

    http_server.answer = moved
    assert mcp({"url": http_server.url + "/mcp"}) == ("pass", None)


def test_mcp_servers_that_do_not_answer(
    raw_server: Callable[[bytes | None], int], http_server: HttpServer, closed_port: int
) -> None:
    assert mcp({"url": f"http://127.0.0.1:{closed_port}"}) == ("fail", "connection refused")
    assert mcp({"host": "127.0.0.1", "port": closed_port}) == ("fail", "connection refused")
    late = {"healthCheck": {"timeoutSeconds": 0.05}}
    assert mcp({"url": f"http://127.0.0.1:{raw_server(None)}", **late}) == ("fail", "no response within 0.05 s")
    assert mcp({"host": "127.0.0.1", "port": raw_server(None), **late}) == ("pass", None)
    assert mcp({"url": f"http://127.0.0.1:{raw_server(b'SSH-2.0')}"}) == ("fail", "the response is not valid HTTP")
    assert mcp({"url": "x"}) == ("skip", "the address is not an http(s) URL")
    assert mcp({"url": "http://169.254.169.254/"})[0] == "skip"
    http_server.answer = lambda _request: (404, {}, b"")
    assert mcp({"host": "127.0.0.1", "port": http_server.port}) == ("pass", None)
    http_server.answer = lambda _request: (200, {"content-type": "application/json"}, b"x" * 300_000)
    assert mcp({"url": http_server.url})[0] == "fail"


def test_mcp_servers_that_the_agent_starts() -> None:
    env_path = checks_of({"mcp": {"servers": [{"name": "s", "command": "sh"}]}}, {"PATH": "/bin:/usr/bin"})
    assert outcome(env_path["mcp:s"]) == ("skip", "command found; only the agent starts it")
    assert mcp({"command": "no-such-command"}) == ("fail", "command not found: no-such-command")
    assert mcp({"command": "/bin/sh", "transport": "stdio"}) == ("skip", "command found; only the agent starts it")
    assert mcp({"command": "$env:NO"}) == ("skip", "requires env:NO, which failed")
    assert mcp({"transport": "stdio"}) == ("skip", "a stdio server is started by the agent and has no address")
    assert mcp({}) == ("skip", "the manifest declares no address")


def test_a_probe_that_hangs_does_not_delay_the_report(monkeypatch: pytest.MonkeyPatch) -> None:
    release = threading.Event()
    monkeypatch.setattr(_checks, "_TOTAL_SECONDS", 0.05)
    monkeypatch.setattr(_probes, "model_reach", lambda *_arguments: release.wait(SLOW))
    monkeypatch.setattr(_checks, "_is_there", lambda *_arguments: release.wait(SLOW))
    found = checks_of({"prompt": "$file:x"})
    release.set()
    assert outcome(found["model:no-such-vendor/gpt-4o"]) == ("skip", "the probe was aborted")
    assert outcome(found["file:x"]) == ("skip", "the agent's files cannot be read from here")


def test_tls_is_used_without_verification(tmp_path: Path, raw_server: Callable[[bytes | None], int]) -> None:
    port = raw_server(b"+PONG\r\n")
    state, reason = _probes.tcp_reach("127.0.0.1", port, _probes._ping_of("rediss://h", ""))
    # The server speaks no TLS.
    assert state == "unreachable"
    assert str(reason).startswith(("connection failed", "connection closed"))
    assert issubclass(ssl.SSLError, OSError)


def test_reasons_contain_no_address() -> None:
    assert _probes.reason_of(OSError(113, "x")) == "no route to the host"
    assert _probes.reason_of(TimeoutError()) == "connection timed out"
    assert _probes.reason_of(OSError(99, "x")) == "connection failed (EADDRNOTAVAIL)"
    assert _probes.reason_of(RuntimeError("x")) == "connection failed"
    assert _probes._ping_of("postgres://[x", "") is not None
