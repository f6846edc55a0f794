"""Health checks of the items that the manifest declares."""

import os
import re
import shutil
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import unquote

from .model_api import TABLES, model_api
from .references import References, reference_of, references_in

_HTTP_SECONDS = 5
_TCP_SECONDS = 3
_MAX_TEXT = 500
_URL = re.compile(
    r"([a-z][a-z0-9+.-]*)://(?:[^/?#]*@)?(\[[^\]]+\]|[^:/?#,\[\]@]+)(?::(\d+))?(?:[,/?#].*)?",
    re.IGNORECASE | re.DOTALL,
)
_HOST = re.compile(r"(\[[^\]]+\]|[^:/?#\[\]@\s]+)(?::(\d+))?")

Check = dict[str, Any]
Probe = Callable[[], Check]


def run_checks(manifest: dict[str, Any], references: References, registered: set[str] | None) -> list[Check]:
    """All checks. `registered`: the names of the registered tools; None: not known."""
    spec = manifest["spec"]
    probes = [*_model_probes(spec, references), *_reach_probes(spec, references)]
    with ThreadPoolExecutor(max_workers=16) as pool:
        probed = list(pool.map(lambda probe: probe(), probes))
    checks = [*_reference_checks(manifest, references), *probed, *_tool_checks(spec, registered)]
    # A second item with the same id, such as two services of one type, is one check.
    unique = {check["id"]: check for check in reversed(checks)}
    critical = {
        _service_id(service)
        for service in _list(spec, "requires", "services")
        if service.get("critical") is True
    }
    for check in unique.values():
        is_critical = check["id"] in critical
        check["severity"] = "error" if is_critical else TABLES["severities"][check["category"]]
    return list(reversed(unique.values()))


def summary_of(checks: list[Check]) -> dict[str, Any]:
    """Status and summary of a report."""
    failed = [check["severity"] for check in checks if check["status"] == "fail"]
    status = "unhealthy" if "error" in failed else "degraded" if "warning" in failed else "healthy"
    summary = {
        "passed": sum(check["status"] == "pass" for check in checks),
        "failed": failed.count("error"),
        "warnings": len(failed) - failed.count("error"),
        "skipped": sum(check["status"] == "skip" for check in checks),
    }
    return {"status": status, "summary": summary}


def _check(check_id: str, status: str, message: str | None = None, started: float | None = None) -> Check:
    check = {"id": check_id[:_MAX_TEXT], "category": check_id.partition(":")[0], "status": status}
    if message is not None:
        check["message"] = message[:_MAX_TEXT]
    if started is not None:
        check["latencyMs"] = round((time.monotonic() - started) * 1000)
    return check


def _declared(check_id: str, is_there: bool, problem: str) -> Check:
    return _check(check_id, "pass") if is_there else _check(check_id, "fail", problem)


def _list(spec: dict[str, Any], *keys: str) -> list[Any]:
    value: Any = spec
    for key in keys:
        value = (value or {}).get(key)
    return value or []


def _reference_checks(manifest: dict[str, Any], references: References) -> list[Check]:
    found = dict.fromkeys(references_in(manifest))
    variables = dict.fromkeys(
        [name for kind, name in found if kind == "env"] + _list(manifest["spec"], "requires", "envVars")
    )
    checks = [_declared(f"env:{name}", bool(os.environ.get(name)), "not set") for name in variables]
    for kind, name in found:
        if kind in ("file", "secret"):
            is_there = references.resolve(f"${kind}:{name}") is not None
            checks.append(_declared(f"{kind}:{name}", is_there, "not readable"))
    return checks


def _tool_checks(spec: dict[str, Any], registered: set[str] | None) -> list[Check]:
    checks = []
    for tool in _list(spec, "tools"):
        check_id = f"tool:{tool['name']}"
        if registered is None:
            checks.append(_check(check_id, "skip", "the reporter has no tool registry"))
        elif tool["name"] in registered:
            checks.append(_check(check_id, "pass"))
        else:
            checks.append(_check(check_id, "fail", "declared but not registered"))
    return checks


def _model_probes(spec: dict[str, Any], references: References) -> list[Probe]:
    models = [spec["model"], spec["model"].get("fallback")]
    return [lambda model=model: _model_check(model, references) for model in models if model is not None]


def _model_check(model: dict[str, Any], references: References) -> Check:
    provider = model["provider"]
    check_id = f"model:{provider}/{model['id']}"
    api = model_api(provider)
    if isinstance(api, str):
        return _check(check_id, "skip", api)
    key = references.resolve(model["apiKey"])
    if key is None:
        return _check(check_id, "skip", "the API key is not set")
    started = time.monotonic()
    try:
        request = urllib.request.Request(api.check_url, headers=api.headers_with(key))
        with urllib.request.build_opener(_NoRedirect).open(request, timeout=_HTTP_SECONDS) as response:
            status = response.status
    except urllib.error.HTTPError as error:
        status = error.code
        error.close()
    except ValueError:
        # The text of the error could show the key.
        return _check(check_id, "fail", "the key cannot be sent: it is not a valid header value")
    except Exception as error:
        return _check(check_id, "fail", f"{provider} cannot be reached: {type(error).__name__}")
    if status in (401, 403, *api.rejected):
        return _check(check_id, "fail", f"the key was rejected: {provider} responded with {status}")
    if status >= 500:
        return _check(check_id, "fail", f"{provider} responded with {status}")
    return _check(check_id, "pass", started=started)


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Following a redirect would send the key to its target."""

    def redirect_request(self, *_args: Any) -> None:
        return None


def _reach_probes(spec: dict[str, Any], references: References) -> list[Probe]:
    probes: list[Probe] = []

    def add(check_id: str, address: str | None, kind: str = "") -> None:
        probes.append(lambda: _reach_check(check_id, address, kind, references))

    services = _list(spec, "requires", "services")
    for service in services:
        add(_service_id(service), service.get("address"), service.get("type") or "")
    for server in _list(spec, "mcp", "servers"):
        probes.append(lambda server=server: _mcp_check(server, references))
    for role, backend, address in _memories(spec.get("memory") or {}):
        same = [each for each in services if backend and backend in (each.get("name"), each.get("type"))]
        if address is None and same:
            add(f"memory:{role}", same[0].get("address"), same[0].get("type") or "")
        else:
            add(f"memory:{role}", address, backend or "")
    tracing = (spec.get("observability") or {}).get("tracing")
    if tracing:
        add(f"tracing:{tracing['backend']}", tracing.get("endpoint"))
    return probes


def _service_id(service: dict[str, Any]) -> str:
    return f"service:{service.get('name') or service.get('type') or ''}"


def _memories(memory: dict[str, Any]) -> list[tuple[str, str | None, str | None]]:
    """Role, backend and address of each declared memory."""
    backend = memory.get("backend")
    roles = []
    keys = {"shortTerm": "connection", "longTerm": "connectionString", "vector": "connectionString"}
    for role, key in keys.items():
        part = memory.get(role)
        if part is not None:
            default = backend if role == "shortTerm" else None
            roles.append((role, part.get("backend") or default, part.get(key)))
    if backend is None:
        return roles
    address = next((found for _, used, found in roles if used == backend and found is not None), None)
    return [("backend", backend, address), *roles]


def _mcp_check(server: dict[str, Any], references: References) -> Check:
    """A stdio server is started by the agent only; of other servers the port is checked."""
    check_id = f"mcp:{server['name']}"
    command = server.get("command")
    if server.get("transport") == "stdio" or (command and not server.get("url") and not server.get("host")):
        program = references.resolve(command)
        if program is not None and shutil.which(program) is None:
            return _check(check_id, "fail", "command not found")
        return _check(check_id, "skip", "only the agent starts a stdio server")
    address = server.get("url")
    if address is None and server.get("host"):
        host = references.resolve(server["host"])
        if host is None:
            return _check(check_id, "skip", "the reference of the host has no value")
        return _connect(check_id, host, server["port"])
    return _reach_check(check_id, address, "", references)


def _reach_check(check_id: str, address: str | None, kind: str, references: References) -> Check:
    if address is None:
        return _check(check_id, "skip", "the manifest declares no address")
    resolved = references.resolve(address)
    if resolved is None:
        kind_and_name = reference_of(address) or ("", "")
        return _check(check_id, "skip", f"requires {':'.join(kind_and_name)}, which failed")
    target = _host_and_port(resolved, kind)
    if target is None:
        return _check(check_id, "skip", "the address has no host and port")
    return _connect(check_id, *target)


def _connect(check_id: str, host: str, port: int) -> Check:
    started = time.monotonic()
    try:
        socket.create_connection((host, port), timeout=_TCP_SECONDS).close()
    except (OSError, UnicodeError) as error:
        return _check(check_id, "fail", f"cannot connect: {type(error).__name__}")
    return _check(check_id, "pass", started=started)


def _host_and_port(address: str, kind: str) -> tuple[str, int] | None:
    text = address.strip()
    url = _URL.fullmatch(text)
    if url is not None:
        scheme, host, port = url[1].lower(), url[2], url[3]
        if scheme.endswith("+srv"):
            return None
    else:
        plain = _HOST.fullmatch(text)
        if plain is None:
            return None
        scheme, host, port = kind.lower(), plain[1], plain[2]
    number = int(port) if port else TABLES["ports"].get(scheme.split("+")[0], 0)
    return (unquote(host.strip("[]")), number) if 0 < number < 65_536 else None
