"""Probes of the model's API, of services and of MCP servers. No probe logs in, and none raises."""

from __future__ import annotations

import os
import time

from ._checks import Unresolved, plain_name
from ._http import Late, Reply, http_url, request
from ._shared import is_record, json_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any
    from urllib.parse import SplitResult

    from ._checks import References, Target

    # `reachable` with milliseconds, `unreachable` or `unknown` with the reason.
    Reach = tuple[str, int | str]
    # None: more bytes are needed; an empty text: the service responds; else why it does not.
    Judge = Callable[[bytes], str | None]
    # Why an MCP handshake failed, and whether an MCP server can still be there.
    Outcome = tuple[str, bool]
    # Path of the cheapest GET that requires the key, header of the key, other headers, more rejections.
    Vendor = tuple[str, str, dict[str, str], tuple[int, ...]]

_HTTP_SECONDS = 5.0
_TCP_SECONDS = 3.0
_MAX_ANSWER = 16 * 1024


def target_reach(target: Target, references: References) -> Reach:
    try:
        if target.address is None:
            return _command_reach(references.resolve(target.command or ""), references.env.get("PATH", ""))
        address = references.resolve(target.address)
    except Unresolved as reason:
        return "unknown", str(reason)
    if target.id.startswith("mcp:"):
        return mcp_reach(address, target.port, target.transport, target.timeout)
    place = (address, target.port) if target.port is not None else parse_address(address, target.kind)
    if place is None:
        return "unknown", "the address has no host and port"
    return tcp_reach(*place, _ping_of(address, target.kind))


def _command_reach(command: str, path: str) -> Reach:
    """Whether this process could start a command. It is not started."""
    folders = [""] if "/" in command else [folder or "." for folder in path.split(os.pathsep)]
    places = [os.path.join(folder, command) for folder in folders]
    if os.name == "nt" or any(os.path.isfile(place) and os.access(place, os.X_OK) for place in places):
        return "unknown", "command found; only the agent starts it"
    return "unreachable", f"command not found: {command[:100]}"


# Default ports by URL scheme or service type.
_PORTS = {
    "amqp": 5672,
    "amqps": 5671,
    "bolt": 7687,
    "chroma": 8000,
    "clickhouse": 8123,
    "elasticsearch": 9200,
    "http": 80,
    "https": 443,
    "kafka": 9092,
    "mariadb": 3306,
    "memcached": 11211,
    "milvus": 19530,
    "mongodb": 27017,
    "mqtt": 1883,
    "mysql": 3306,
    "nats": 4222,
    "neo4j": 7687,
    "opensearch": 9200,
    "postgres": 5432,
    "postgresql": 5432,
    "qdrant": 6333,
    "rabbitmq": 5672,
    "redis": 6379,
    "rediss": 6379,
    "weaviate": 8080,
    "ws": 80,
    "wss": 443,
}


def parse_address(address: str, kind: str) -> tuple[str, int] | None:
    """Host and port of `host:port`, a URL, or a host whose service type has a default port. None: neither."""
    import re

    text = address.strip()
    # The first of several hosts. The user part may contain `@`.
    url = re.match(
        r"([a-z][a-z0-9+.-]*)://(?:[^/?#]*@)?(\[[^\]]+\]|[^:/?#,\[\]@]+)(?::(\d+))?(?:[,/?#]|$)", text, re.IGNORECASE
    )
    if url is not None:
        scheme, host, port = url[1].lower(), url[2], url[3]
        if scheme.endswith("+srv"):
            return None
    else:
        plain = re.fullmatch(r"(\[[^\]]+\]|[^:/?#\[\]@\s]+)(?::(\d+))?", text)
        if plain is None:
            return None
        scheme, host, port = kind.lower(), plain[1], plain[2]
    number = int(port) if port and len(port) < 6 else 0 if port else _PORTS.get(scheme.split("+")[0], 0)
    return (host.strip("[]"), number) if 0 < number < 65_536 else None


def tcp_reach(host: str, port: int, ping: tuple[bytes, bool, Judge] | None) -> Reach:
    import socket

    started = time.monotonic()
    refusal = _refusal_of(host, port)
    if refusal is not None:
        return refusal
    what = "no connection"
    try:
        with socket.create_connection((host, port), timeout=_TCP_SECONDS) as raw:
            if ping is None:
                return "reachable", _passed(started)
            what = "connection accepted, but no response"
            problem = _pinged(raw, host, ping, started + _TCP_SECONDS)
            return ("unreachable", problem) if problem else ("reachable", _passed(started))
    except TimeoutError:
        return "unreachable", f"{what} within {_TCP_SECONDS:g} s"
    except (OSError, UnicodeError, OverflowError) as error:
        return "unreachable", reason_of(error)


def _refusal_of(host: str, port: int) -> Reach | None:
    """Metadata services are not probed: only this process may be able to access them."""
    import ipaddress
    import socket

    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError, OverflowError) as error:
        return "unreachable", reason_of(error)
    addresses = [ipaddress.ip_address(str(each[4][0]).partition("%")[0]) for each in found]
    is_metadata = [
        address.is_link_local
        or str(address) in ("100.100.100.200", "168.63.129.16", "fd20:ce::254")
        or str(address).startswith("fd00:ec2:")
        for address in addresses
    ]
    return ("unknown", "link-local and metadata addresses are not probed") if all(is_metadata) else None


def _pinged(raw: Any, host: str, ping: tuple[bytes, bool, Judge], deadline: float) -> str:
    message, is_tls, judge = ping
    connection = raw
    if is_tls:
        import ssl

        context = ssl.create_default_context()
        # Nothing secret is sent.
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        connection = context.wrap_socket(raw, server_hostname=host)
    try:
        connection.sendall(message)
        received = b""
        while len(received) <= _MAX_ANSWER:
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError
            connection.settimeout(left)
            chunk: bytes = connection.recv(4096)
            if not chunk:
                return "connection closed without a response"
            received += chunk
            verdict = judge(received)
            if verdict is not None:
                return verdict
        return "the response is too long"
    finally:
        connection.close()


_REDIS = ("redis", "valkey", "keydb", "dragonfly")
_POSTGRES = ("postgres", "postgresql", "pgvector", "timescaledb")


def _ping_of(address: str, kind: str) -> tuple[bytes, bool, Judge] | None:
    scheme, colon, _ = address.strip().partition("://")
    protocol = (scheme.partition("+")[0] if colon else kind).lower()
    if protocol in (*_REDIS, "rediss", "valkeys"):
        return b"*1\r\n$4\r\nPING\r\n", protocol in ("rediss", "valkeys"), _judge_redis
    if protocol not in _POSTGRES:
        return None
    from urllib.parse import unquote, urlsplit

    try:
        url = urlsplit(address.strip())
        user, database = unquote(url.username or "") or "postgres", unquote(url.path[1:])
    except ValueError:
        user, database = "postgres", ""
    values = ("user", user, "database", database or user, "application_name", "agent-compliance")
    # Each text ends with NUL, so NUL bytes inside a text are removed.
    body = b"".join(value.replace("\0", "").encode() + b"\0" for value in values) + b"\0"
    head = (8 + len(body)).to_bytes(4, "big") + (196_608).to_bytes(4, "big")
    return head + body, False, _judge_postgres


def _judge_redis(received: bytes) -> str | None:
    line, end, _ = received.partition(b"\r\n")
    if received[:1] in (b"+", b"-") and not end and len(received) < 512:
        return None
    if not end or line[:1] not in (b"+", b"-"):
        return "the server does not speak the Redis protocol"
    if line == b"+PONG":
        return ""
    text = line.decode("latin-1")
    code = text[1:].split(" ")[0]
    if not (text.startswith("-") and code.isascii() and code.isalpha() and code.isupper()):
        return "the server does not speak the Redis protocol"
    # A server that requires a login works.
    if code in ("NOAUTH", "NOPERM", "WRONGPASS"):
        return ""
    return "PING returned an error: " + "".join(each if " " <= each <= "~" else "?" for each in text[1:100])


# States that mean the service is down. Other errors concern this user, who does not log in anyway.
_POSTGRES_DOWN = {
    "57P01": "the server is shutting down",
    "57P02": "the server crashed and is restarting",
    "57P03": "the server is starting up or shutting down and does not accept connections",
    "53300": "the server has no free connection slot",
}


def _judge_postgres(received: bytes) -> str | None:
    other = "the server does not speak the PostgreSQL protocol"
    if received[:1] not in (b"R", b"E", b"v"):
        return other
    if len(received) < 5:
        return None
    length = int.from_bytes(received[1:5], "big", signed=True) + 1
    if not 5 < length <= 8192:
        return other
    # The server requests authentication, or negotiates the version.
    if received[:1] != b"E":
        return ""
    if len(received) < length:
        return None
    fields = received[5:length].decode("latin-1").split("\0")
    return _POSTGRES_DOWN.get(next((field[1:] for field in fields if field.startswith("C")), ""), "")


# Generated from core/vendors.
_BASE_URLS = {
    "openai": "https://api.openai.com/v1",
    "anthropic": "https://api.anthropic.com",
    "google": "https://generativelanguage.googleapis.com",
    "groq": "https://api.groq.com/openai/v1",
    "mistral": "https://api.mistral.ai/v1",
    "cohere": "https://api.cohere.com/v1",
    "ollama": "http://localhost:11434/v1",
    "deepseek": "https://api.deepseek.com",
    "xai": "https://api.x.ai/v1",
    "together": "https://api.together.xyz/v1",
    "openrouter": "https://openrouter.ai/api/v1",
}
_CLIENTS = {
    "google": ("GOOGLE_GEMINI_BASE_URL", ""),
    "cohere": ("CO_API_URL", "/v1"),
    "xai": ("XAI_API_BASE", ""),
}
_VARIABLES = {
    "azure": "AZURE_OPENAI_ENDPOINT",
}
_OPENAI: Vendor = ("/models", "authorization", {}, ())
_OTHERS: dict[str, Vendor] = {
    "anthropic": ("/v1/models", "x-api-key", {"anthropic-version": "2023-06-01"}, ()),
    "google": ("/v1beta/models", "x-goog-api-key", {}, (400,)),
    "azure": ("/openai/models?api-version=2024-10-21", "api-key", {}, ()),
    "openrouter": ("/key", "authorization", {}, ()),
}
_ALIASES = {
    "gemini": "google",
    "google-genai": "google",
    "azure-openai": "azure",
    "mistralai": "mistral",
    "x-ai": "xai",
    "grok": "xai",
    "togetherai": "together",
}
# End of the generated part.


def model_reach(model: Any, references: References) -> Reach:
    """The result never contains the key."""
    provider: str = model["provider"]
    folded = provider.strip().lower()
    name = _ALIASES.get(folded, folded)
    base = _BASE_URLS.get(name)
    path, key_header, headers, rejected = _OTHERS.get(name, _OPENAI)
    variable = _VARIABLES.get(name, plain_name(name) + "_BASE_URL")
    given = references.env.get(variable)
    client, end = _CLIENTS.get(name, ("", ""))
    lane = references.env.get(client)
    if lane and not given:
        variable, given = client, lane.rstrip("/") + end
    if not given and base is None:
        return "unknown", f"no API address is known for provider {provider}: set {variable}"
    url = http_url((given or base or "").rstrip("/") + path)
    if url is None:
        return "unknown", f"{variable} is not an http(s) URL"
    if "@" in url.netloc:
        return "unknown", f"{variable} contains a user name or password, which is not supported"
    try:
        key = references.resolve(model["apiKey"])
    except Unresolved as reason:
        return "unknown", str(reason)
    value = f"Bearer {key}" if key_header == "authorization" else key
    started = time.monotonic()
    try:
        # A header with a line feed is rejected, one with other characters cannot be encoded.
        value.encode("latin-1")
        reply = request(url, headers={**headers, key_header: value}, timeout=_HTTP_SECONDS, max_bytes=0)
    except ValueError:
        # The text of the error could show the key.
        return "unreachable", "the key cannot be sent: it is not a valid header value"
    except Late:
        return "unreachable", f"{provider} did not respond within {_HTTP_SECONDS * 1000:g} ms"
    except Exception as error:
        code = _errno_name(error)
        return "unreachable", f"{provider} cannot be reached" + (f": {code}" if code else "")
    if reply.status in (401, 403, *rejected):
        return "unreachable", f"the key was rejected: {provider} responded with {reply.status}"
    if reply.status >= 500:
        return "unreachable", f"{provider} responded with {reply.status}"
    return "reachable", _passed(started)


_INITIALIZE = (
    b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},'
    b'"clientInfo":{"name":"agent-compliance-probe","version":"1.0.0"}}}'
)
_EVENT_STREAM = "text/event-stream"
_METHOD_NOT_FOUND = -32601


def mcp_reach(address: str, port: int | None, transport: str | None, timeout: float | None) -> Reach:
    """Whether an MCP server responds: a handshake over streamable HTTP, then over the older HTTP+SSE."""
    if port is None:
        urls = [http_url(address)] * 2
    else:
        host = f"[{address}]" if ":" in address else address
        origin = f"{'https' if port == 443 else 'http'}://{host}:{port}"
        urls = [http_url(f"{origin}/mcp"), http_url(f"{origin}/sse")]
    streamable, sse = urls
    if streamable is None or sse is None:
        return "unknown", "the address is not an http(s) URL"
    refusal = _refusal_of(streamable.hostname or "", streamable.port or 443)
    if refusal is not None:
        return refusal
    started = time.monotonic()
    limit = min(timeout or _HTTP_SECONDS, _HTTP_SECONDS)
    handshakes = [(_initialize, streamable), (_listen, sse)]
    if transport == "sse":
        handshakes.reverse()
    outcomes: list[Outcome] = []
    for handshake, url in handshakes:
        left = limit - (time.monotonic() - started)
        if left <= 0:
            break
        try:
            outcome = handshake(url, left)
        except Exception as error:
            # With a host and a port the path is a guess, and the server may use MCP over TCP.
            if port is not None and transport is None and not outcomes:
                connected = tcp_reach(address, port, None)
                if connected[0] == "reachable":
                    return connected
            late = f"no response within {limit:g} s"
            outcomes.append((late if isinstance(error, Late) else reason_of(error), False))
            break
        if outcome is None:
            return "reachable", _passed(started)
        outcomes.append(outcome)
    if port is not None and all(is_there for _, is_there in outcomes):
        return "reachable", _passed(started)
    return "unreachable", outcomes[0][0]


def _initialize(url: SplitResult, timeout: float) -> Outcome | None:
    deadline = time.monotonic() + timeout
    headers = {"accept": f"application/json, {_EVENT_STREAM}", "content-type": "application/json"}

    def post(to: SplitResult) -> Reply:
        left = max(0.001, deadline - time.monotonic())
        return request(to, method="POST", body=_INITIALIZE, headers=headers, timeout=left, is_enough=_has_reply)

    reply = post(url)
    if reply.status in (307, 308):
        from urllib.parse import urljoin

        # Frameworks redirect `/mcp` to `/mcp/`, and MCP clients follow.
        moved = http_url(urljoin(url.geturl(), reply.headers.get("location", "")))
        if moved is not None and (moved.scheme, moved.netloc) == (url.scheme, url.netloc):
            url = moved
            reply = post(url)
    outcome = _outcome_of(reply, _has_reply)
    session = reply.headers.get("mcp-session-id")
    if outcome is None and session is not None:
        _end_session(url, session)
    return outcome


def _listen(url: SplitResult, timeout: float) -> Outcome | None:
    reply = request(url, headers={"accept": _EVENT_STREAM}, timeout=timeout, is_enough=_has_endpoint)
    return _outcome_of(reply, _has_endpoint)


def _end_session(url: SplitResult, session: str) -> None:
    """An MCP server keeps each session until the client deletes it."""
    try:
        request(url, method="DELETE", headers={"mcp-session-id": session}, timeout=0.5, max_bytes=0)
    except Exception:
        return


def _events_in(headers: dict[str, str], body: bytes) -> list[tuple[str, str]]:
    if _type_of(headers) != _EVENT_STREAM:
        return []
    events: list[tuple[str, str]] = []
    blocks = body.replace(b"\r\n", b"\n").replace(b"\r", b"\n").decode("utf-8", "replace").split("\n\n")
    for block in blocks[:-1]:
        fields = [line.partition(":") for line in block.split("\n")]
        data = "\n".join(value.removeprefix(" ") for name, _, value in fields if name == "data")
        kinds = [value.removeprefix(" ") for name, _, value in fields if name == "event"]
        events.append((kinds[-1] if kinds else "", data))
    return events


def _has_reply(headers: dict[str, str], body: bytes) -> bool:
    return any(_is_reply(data) for _, data in _events_in(headers, body))


def _has_endpoint(headers: dict[str, str], body: bytes) -> bool:
    return any(kind == "endpoint" for kind, _ in _events_in(headers, body))


def _is_reply(text: str | bytes) -> bool:
    """Whether this is a JSON-RPC response to `initialize`. Other JSON-RPC servers do not know that method."""
    message = json_of(text)
    if not is_record(message) or message.get("jsonrpc") != "2.0":
        return False
    result, error = message.get("result"), message.get("error")
    if is_record(error):
        return error.get("code") != _METHOD_NOT_FOUND
    return is_record(result) and isinstance(result.get("protocolVersion"), str)


def _outcome_of(reply: Reply, is_handshake: Callable[[dict[str, str], bytes], bool]) -> Outcome | None:
    status, body = reply.status, reply.body or b""
    # A server that requires a key, or limits the rate.
    if status in (401, 403, 429) or (200 <= status <= 299 and is_handshake(reply.headers, body)):
        return None
    if status >= 500:
        return f"the server responded with {status}", False
    if 300 <= status <= 399:
        return f"the server redirected ({status}) to another address", False
    if _is_reply(body):
        return None
    if status >= 400:
        return f"the server responded to an MCP handshake with {status}", True
    kind = _type_of(reply.headers)
    what = "an event stream that is not MCP" if kind == _EVENT_STREAM else f"{kind}, which is not MCP"
    return f"the server responded to an MCP handshake with {what}", False


def _type_of(headers: dict[str, str]) -> str:
    kind = headers.get("content-type", "").split(";")[0].strip().lower()
    return kind if kind.count("/") == 1 and len(kind) <= 121 and kind.isascii() else "content of unknown type"


def reason_of(error: BaseException) -> str:
    """Why a connection failed. Contains no address: addresses may contain passwords, and reports are public."""
    import http.client
    import socket

    if isinstance(error, ConnectionRefusedError):
        return "connection refused"
    if isinstance(error, (ConnectionResetError, BrokenPipeError, http.client.RemoteDisconnected)):
        return "connection closed without a response"
    if isinstance(error, socket.gaierror):
        is_again = error.errno == socket.EAI_AGAIN
        return "host not found (the DNS server does not respond)" if is_again else "host not found"
    if isinstance(error, http.client.HTTPException):
        return "the response is not valid HTTP"
    if isinstance(error, UnicodeError):
        return "the address is not a valid host and port"
    name = _errno_name(error)
    if name in ("EHOSTUNREACH", "ENETUNREACH"):
        return "no route to the host"
    if isinstance(error, TimeoutError):
        return "connection timed out"
    return f"connection failed ({name})" if name else "connection failed"


def _errno_name(error: BaseException) -> str | None:
    import errno

    return errno.errorcode.get(getattr(error, "errno", None) or 0)


def _passed(started: float) -> int:
    return round((time.monotonic() - started) * 1000)
