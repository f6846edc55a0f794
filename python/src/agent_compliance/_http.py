"""HTTP requests with one time limit for the whole exchange."""

from __future__ import annotations

import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Mapping
    from typing import Any
    from urllib.parse import SplitResult

MAX_REPLY_BYTES = 256 * 1024


class Late(Exception):
    """The exchange did not end within its limit."""


class Reply:
    """Status, headers by lower-case name, and body of a response. `body` is None if it is too large."""

    __slots__ = ("body", "headers", "status")

    def __init__(self, status: int, headers: dict[str, str], body: bytes | None) -> None:
        self.status = status
        self.headers = headers
        self.body = body


def http_url(text: str) -> SplitResult | None:
    from urllib.parse import urlsplit

    try:
        url = urlsplit(text.strip())
        is_valid = url.scheme in ("http", "https") and bool(url.hostname) and url.port != 0
    except ValueError:
        return None
    return url if is_valid else None


def url_below(base: SplitResult, path: str) -> SplitResult:
    return base._replace(path=base.path.rstrip("/") + path, query="", fragment="")


def origin_of(url: SplitResult) -> str:
    """Scheme, host and port for a log: without a user and a password."""
    return f"{url.scheme}://{url.netloc.rpartition('@')[2]}"


def request(
    url: SplitResult,
    *,
    timeout: float,
    method: str = "GET",
    headers: Mapping[str, str] | None = None,
    body: bytes | None = None,
    ca: str | None = None,
    max_bytes: int = MAX_REPLY_BYTES,
    is_enough: Callable[[dict[str, str], bytes], bool] | None = None,
) -> Reply:
    """One request on its own connection; redirects are not followed.

    `ca`: PEM of the CA; `max_bytes` 0: the body is not read; `is_enough` ends the body early.
    Raises OSError, http.client.HTTPException, ValueError (a header that cannot be sent) or Late.
    """
    import http.client

    deadline = time.monotonic() + timeout
    connection = _connection(url, timeout, ca)
    try:
        target = (url.path or "/") + (f"?{url.query}" if url.query else "")
        # `identity`: http.client does not decompress.
        all_headers = {"accept": "application/json", "accept-encoding": "identity", "connection": "close"}
        connection.request(method, target, body, {**all_headers, **(headers or {})})
        # The response of a connection has a limit for each read only; this one has a limit for all of them.
        response = http.client.HTTPResponse(_DeadlineSocket(connection.sock, deadline), method=method)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        response.begin()
        found = {name.lower(): value for name, value in response.getheaders()}
        return Reply(response.status, found, _read(response, found, max_bytes, is_enough))
    except TimeoutError:
        raise Late(f"no response within {round(timeout * 1000)} ms") from None
    finally:
        connection.close()


def post_json(
    url: SplitResult,
    body: bytes | None,
    *,
    timeout: float,
    bearer: str | None = None,
    ca: str | None = None,
) -> Reply:
    """POST of a JSON text, or without a body. A response above 256 KiB is an error."""
    headers = {} if body is None else {"content-type": "application/json"}
    if bearer is not None:
        headers["authorization"] = f"Bearer {bearer}"
    reply = request(url, method="POST", headers=headers, body=body or b"", timeout=timeout, ca=ca)
    if reply.body is None:
        raise OSError(f"the response is larger than {MAX_REPLY_BYTES} bytes")
    return reply


def _connection(url: SplitResult, timeout: float, ca: str | None) -> Any:
    import http.client

    host, port = url.hostname or "", url.port
    if url.scheme == "http":
        return http.client.HTTPConnection(host, port, timeout=timeout)
    import ssl

    context = ssl.create_default_context(cadata=ca)
    return http.client.HTTPSConnection(host, port, timeout=timeout, context=context)


def _read(
    response: Any,
    headers: dict[str, str],
    max_bytes: int,
    is_enough: Callable[[dict[str, str], bytes], bool] | None,
) -> bytes | None:
    if max_bytes == 0:
        return b""
    if is_enough is None:
        whole: bytes = response.read(max_bytes + 1)
        if len(whole) > max_bytes:
            return None
        if response.length:
            raise ConnectionResetError("connection closed within the response")
        return whole
    body = b""
    while chunk := response.read1(65_536):
        body += chunk
        if len(body) > max_bytes:
            return None
        if is_enough(headers, body):
            break
    return body


class _DeadlineSocket:
    def __init__(self, sock: socket.socket, deadline: float) -> None:
        self._sock = sock
        self._deadline = deadline

    def makefile(self, _mode: str) -> Any:
        import io

        sock, deadline = self._sock, self._deadline

        class Reader(io.RawIOBase):
            def readable(self) -> bool:
                return True

            def readinto(self, buffer: Any) -> int:
                left = deadline - time.monotonic()
                if left <= 0:
                    raise TimeoutError
                sock.settimeout(left)
                return sock.recv_into(buffer)

        return io.BufferedReader(Reader())
