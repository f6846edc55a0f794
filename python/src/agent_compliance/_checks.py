"""What the manifest declares, and the health checks of it."""

from __future__ import annotations

import os
from functools import partial
from typing import Any, NamedTuple

from ._settings import at, items_at
from ._shared import day_of, is_list, is_record, iso_time, utc_now

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    from ._probes import Reach

    Check = dict[str, Any]
    Manifest = dict[str, Any]

SEVERITIES = {
    "env": "error",
    "model": "error",
    "service": "warning",
    "memory": "warning",
    "mcp": "warning",
    "file": "warning",
    "secret": "warning",
    "tool": "info",
    "tracing": "info",
}
# Limit of all probes together; each probe has its own, shorter limit.
_TOTAL_SECONDS = 5.5
_WORST_FIRST = ("fail", "skip", "pass")


def run_checks(manifest: Manifest, env: Mapping[str, str], folder: str, tools: set[str] | None) -> list[Check]:
    """All checks of the manifest. `tools`: the names of the registered tools; None: not known."""
    references = References(env, folder)
    declared = list(references_in(manifest))
    targets = targets_of(manifest)
    jobs = _probe_jobs(manifest, targets, references)
    for kind, name, _ in declared:
        if kind in ("file", "secret"):
            jobs[f"{kind}:{name}"] = partial(_is_there, references, kind, name)
    found = in_parallel(jobs, _TOTAL_SECONDS)
    checks = _reference_checks(manifest, references, declared, found)
    unmet = _unmet(declared, checks)
    for path, model in models_of(manifest):
        check_id = model_id_of(model)
        remediation = "Check the model provider's address and status, and the API key."
        checks.append(_reach_check(check_id, found.get(check_id), unmet.get(f"{path}.apiKey"), remediation))
    for target in targets:
        reach = found.get(target.id) if target.id in jobs else ("unknown", target.reason)
        remediation = "Check that the target is running and that its address in the manifest is correct."
        checks.append(_reach_check(target.id, reach, unmet.get(target.path), remediation))
    checks += [_tool_check(tool["name"], tools) for tool in items_at(manifest, "spec", "tools")]
    return _rated(checks, critical_ids_of(manifest))


def status_of(checks: list[Check]) -> str:
    failed = {check["severity"] for check in checks if check["status"] == "fail"}
    return "unhealthy" if "error" in failed else "degraded" if "warning" in failed else "healthy"


def summary_of(checks: list[Check]) -> dict[str, int]:
    failed = [check["severity"] == "error" for check in checks if check["status"] == "fail"]
    return {
        "passed": sum(check["status"] == "pass" for check in checks),
        "failed": sum(failed),
        "warnings": len(failed) - sum(failed),
        "skipped": sum(check["status"] == "skip" for check in checks),
    }


def in_parallel(jobs: Mapping[str, Callable[[], Any]], timeout: float) -> dict[str, Any]:
    """The results of jobs that ended in time. A job that hangs, such as a DNS query, keeps only its own thread."""
    import threading
    import time

    results: dict[str, Any] = {}

    def run(name: str, job: Callable[[], Any]) -> None:
        results[name] = job()

    threads = [threading.Thread(target=run, args=item, name="platform-probe", daemon=True) for item in jobs.items()]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + timeout
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    return dict(results)


def _probe_jobs(manifest: Manifest, targets: list[Target], references: References) -> dict[str, Callable[[], Any]]:
    from ._probes import model_reach, target_reach

    jobs: dict[str, Callable[[], Any]] = {}
    for _, model in models_of(manifest):
        jobs[model_id_of(model)] = partial(model_reach, model, references)
    for target in targets:
        if target.address is not None or target.command is not None:
            jobs[target.id] = partial(target_reach, target, references)
    return jobs


def _is_there(references: References, kind: str, name: str) -> bool:
    if kind == "file":
        return references.file_path(name) is not None
    try:
        references.resolve(f"$secret:{name}")
    except Unresolved:
        return False
    return True


def _reference_checks(
    manifest: Manifest, references: References, declared: list[tuple[str, str, str]], found: dict[str, Any]
) -> list[Check]:
    checks: list[Check] = []
    for name in variables_of(manifest):
        if references.env.get(name):
            checks.append(_check(f"env:{name}", "pass"))
        else:
            remediation = f"Set the environment variable {name} for the agent."
            checks.append(_check(f"env:{name}", "fail", f"{name} is not set in the environment", remediation))
    for wanted in ("file", "secret"):
        for name in dict.fromkeys(name for kind, name, _ in declared if kind == wanted):
            is_there = found.get(f"{wanted}:{name}")
            if is_there is None:
                message = "the agent's files cannot be read from here"
                checks.append(_check(f"{wanted}:{name}", "skip", message))
            elif is_there:
                checks.append(_check(f"{wanted}:{name}", "pass"))
            else:
                checks.append(_missing(wanted, name, references.secret_backend))
    return checks


def _missing(kind: str, name: str, backend: str) -> Check:
    if kind == "file":
        message = "the file cannot be read inside the manifest's directory"
        remediation = "Create a readable file at this path, inside the manifest's directory."
        return _check(f"file:{name}", "fail", message, remediation)
    remediation = (
        f"Set the variable {secret_variable(name)}."
        if backend == "env"
        else "Create a file with this name in the directory in PLATFORM_SECRET_DIR."
    )
    return _check(f"secret:{name}", "fail", f"the secret backend {backend} does not contain this secret", remediation)


def _unmet(declared: list[tuple[str, str, str]], checks: list[Check]) -> dict[str, tuple[bool, str]]:
    status = {check["id"]: check["status"] for check in checks}
    unmet: dict[str, tuple[bool, str]] = {}
    for kind, name, path in declared:
        found = status.get(f"{kind}:{name}")
        if found == "fail":
            unmet[path] = (True, f"requires {kind}:{name}, which failed")
        elif found == "skip":
            unmet[path] = (False, f"requires {kind}:{name}, which cannot be checked here")
    return unmet


def _reach_check(check_id: str, reach: Reach | None, unmet: tuple[bool, str] | None, remediation: str) -> Check:
    """Never `pass` when a required value is missing."""
    state, detail = reach or ("unknown", "the probe was aborted")
    if unmet is not None and (unmet[0] or state == "unknown"):
        return _check(check_id, "skip", unmet[1])
    if state == "unreachable":
        return _check(check_id, "fail", str(detail), remediation)
    if state == "unknown":
        return _check(check_id, "skip", str(detail))
    return {**_check(check_id, "pass"), "latencyMs": detail}


def _tool_check(name: str, tools: set[str] | None) -> Check:
    if tools is None:
        return _check(f"tool:{name}", "skip", "the reporter has no tool registry")
    if name in tools:
        return _check(f"tool:{name}", "pass")
    remediation = f"Register a tool named {name}, or remove it from the manifest."
    return _check(f"tool:{name}", "fail", "declared but not registered", remediation)


def _check(check_id: str, status: str, message: str | None = None, remediation: str | None = None) -> Check:
    category = check_id.partition(":")[0]
    check = {"id": check_id, "category": category, "severity": SEVERITIES[category], "status": status}
    if message is not None:
        check["message"] = message
    if remediation is not None:
        check["remediation"] = remediation
    return check


def _rated(checks: list[Check], critical: set[str]) -> list[Check]:
    """Each id once, with its worst status, so that a second result for one id cannot hide a failure."""
    by_id: dict[str, Check] = {}
    for check in checks:
        if check["id"] in critical:
            check["severity"] = "error"
        known = by_id.get(check["id"])
        if known is None or _WORST_FIRST.index(check["status"]) < _WORST_FIRST.index(known["status"]):
            by_id[check["id"]] = check
    return list(by_id.values())


_NO_ADDRESS = "the manifest declares no address"


class Target(NamedTuple):
    id: str
    path: str
    address: str | None
    kind: str = ""
    port: int | None = None
    timeout: float | None = None
    transport: str | None = None
    reason: str = _NO_ADDRESS
    command: str | None = None


def model_id_of(model: Any) -> str:
    return f"model:{model['provider']}/{model['id']}"


def models_of(manifest: Manifest) -> list[tuple[str, Any]]:
    model = manifest["spec"]["model"]
    fallback = model.get("fallback")
    models = [("spec.model", model)]
    return models if fallback is None else [*models, ("spec.model.fallback", fallback)]


def variables_of(manifest: Manifest) -> dict[str, str]:
    paths: dict[str, str] = {}
    for kind, name, path in references_in(manifest):
        if kind == "env":
            paths.setdefault(name, path)
    for index, name in enumerate(items_at(manifest, "spec", "requires", "envVars")):
        if not name.startswith("$"):
            paths.setdefault(name, f"spec.requires.envVars[{index}]")
    return paths


def critical_ids_of(manifest: Manifest) -> set[str]:
    services = items_at(manifest, "spec", "requires", "services")
    return {_service_id(service) for service in services if service.get("critical") is True}


def targets_of(manifest: Manifest) -> list[Target]:
    """All network dependencies in the order of the manifest; each id once."""
    spec = manifest["spec"]
    found = [*_services(spec), *_mcp_servers(spec), *_memories(spec), *_tracing(spec)]
    unique: dict[str, Target] = {}
    for target in found:
        unique.setdefault(target.id, target)
    return list(unique.values())


def _service_id(service: Any) -> str:
    return f"service:{service['name'] if 'name' in service else service.get('type', '')}"


def _services(spec: Any) -> list[Target]:
    return [
        Target(
            _service_id(service),
            f"spec.requires.services[{index}].address",
            service.get("address"),
            kind=service.get("type") or "",
        )
        for index, service in enumerate(items_at(spec, "requires", "services"))
    ]


def _mcp_servers(spec: Any) -> list[Target]:
    return [_mcp_server(server, index) for index, server in enumerate(items_at(spec, "mcp", "servers"))]


def _mcp_server(server: Any, index: int) -> Target:
    target_id, path = f"mcp:{server['name']}", f"spec.mcp.servers[{index}]"
    transport, command = server.get("transport"), server.get("command")
    timeout = at(server, "healthCheck", "timeoutSeconds")
    if transport != "stdio" and "url" in server:
        return Target(target_id, f"{path}.url", server["url"], timeout=timeout, transport=transport)
    if transport != "stdio" and "host" in server and "port" in server:
        return Target(
            target_id,
            f"{path}.host",
            server["host"],
            port=int(server["port"]),
            timeout=timeout,
            transport=transport,
        )
    is_process = transport == "stdio" or command is not None
    reason = "a stdio server is started by the agent and has no address" if is_process else _NO_ADDRESS
    if command is None:
        return Target(target_id, path, None, reason=reason)
    return Target(target_id, f"{path}.command", None, reason=reason, command=command)


def _memories(spec: Any) -> list[Target]:
    memory = spec.get("memory")
    if memory is None:
        return []
    backend = memory.get("backend")
    roles: list[tuple[str, str, str | None, str | None]] = []
    keys = (("shortTerm", "connection"), ("longTerm", "connectionString"), ("vector", "connectionString"))
    for role, key in keys:
        part = memory.get(role)
        if part is not None:
            used = part.get("backend", backend if role == "shortTerm" else None)
            roles.append((role, f"spec.memory.{role}.{key}", used, part.get(key)))
    if backend is not None:
        same = next((each for each in roles if each[2] == backend and each[3] is not None), None)
        path, address = (same[1], same[3]) if same else ("spec.memory.backend", None)
        roles.insert(0, ("backend", path, backend, address))
    return [_memory(spec, *role) for role in roles]


def _memory(spec: Any, role: str, path: str, backend: str | None, address: str | None) -> Target:
    """A memory without an address uses the address of the required service with the backend's name or type."""
    if address is not None:
        return Target(f"memory:{role}", path, address, kind=backend or "")
    for index, service in enumerate(items_at(spec, "requires", "services")):
        if backend is not None and backend in (service.get("name"), service.get("type")):
            if "address" not in service:
                break
            service_path = f"spec.requires.services[{index}].address"
            return Target(f"memory:{role}", service_path, service["address"], kind=service.get("type") or "")
    return Target(f"memory:{role}", path, None)


def _tracing(spec: Any) -> list[Target]:
    tracing = at(spec, "observability", "tracing")
    if tracing is None:
        return []
    path = "spec.observability.tracing.endpoint"
    return [Target(f"tracing:{tracing.get('backend', 'undefined')}", path, tracing.get("endpoint"))]


_KINDS = ("env", "file", "secret", "func")
_MAX_FILE_BYTES = 1024 * 1024


class Unresolved(Exception):
    """A reference has no value. The text never contains a value."""


def reference_of(text: str) -> tuple[str, str] | None:
    if not text.startswith("$"):
        return None
    kind, colon, name = text[1:].partition(":")
    return (kind, name) if colon and kind in _KINDS else None


def references_in(value: object, path: str = "") -> Iterator[tuple[str, str, str]]:
    """Kind, name and manifest path of every reference. Values under `x-` keys are skipped."""
    if isinstance(value, str):
        found = reference_of(value)
        if found is not None:
            yield (*found, path)
    elif is_list(value):
        for index, item in enumerate(value):
            yield from references_in(item, f"{path}[{index}]")
    elif is_record(value):
        for key, item in value.items():
            # YAML allows keys that are no texts.
            if not str(key).startswith("x-"):
                yield from references_in(item, f"{path}.{key}" if path else str(key))


def secret_variable(name: str) -> str:
    return "PLATFORM_SECRET_" + plain_name(name)


def plain_name(name: str) -> str:
    """The name in upper case, with `_` for every character that a variable cannot have."""
    upper = name.upper()
    return "".join(each if each.isascii() and each.isalnum() else "_" for each in upper)


class References:
    def __init__(self, env: Mapping[str, str], folder: str) -> None:
        self.env = env
        self._folder = os.path.realpath(folder)

    @property
    def secret_backend(self) -> str:
        return "file" if self.env.get("PLATFORM_SECRET_DIR") else "env"

    def resolve(self, text: str) -> str:
        """The value of a string of the manifest. Raises Unresolved with the reason."""
        reference = reference_of(text)
        if reference is None:
            return text
        kind, name = reference
        if kind == "env":
            return self._variable(name, f"the variable {name} is not set")
        if kind == "file":
            path = self.file_path(name)
            content = None if path is None else _text_of(path)
            if content is None:
                raise Unresolved(f"the file {name} cannot be read inside the manifest's directory")
            return content
        return self._secret(name) if kind == "secret" else _now(name)

    def file_path(self, name: str) -> str | None:
        """The real path of a readable file; None: missing, or outside the directory of the manifest."""
        try:
            if not name.strip() or os.path.isabs(name):
                return None
            path = os.path.realpath(os.path.join(self._folder, name))
            is_inside = path.startswith(self._folder.rstrip(os.sep) + os.sep)
            return path if is_inside and os.path.isfile(path) and os.access(path, os.R_OK) else None
        except (OSError, ValueError):
            return None

    def _variable(self, name: str, reason: str) -> str:
        # An empty variable counts as unset, because charts render a missing value as an empty string.
        value = self.env.get(name)
        if not value:
            raise Unresolved(reason)
        return value

    def _secret(self, name: str) -> str:
        folder = self.env.get("PLATFORM_SECRET_DIR")
        if not folder:
            variable = secret_variable(name)
            return self._variable(variable, f"the secret {name} was not found: {variable} is not set")
        content = None if os.sep in name else _text_of(os.path.join(folder, name))
        # Editors append a line feed that is not part of the secret.
        secret = (content or "").removesuffix("\n").removesuffix("\r")
        if not secret:
            raise Unresolved(f"the secret {name} was not found: no such file in PLATFORM_SECRET_DIR")
        return secret


def _text_of(path: str) -> str | None:
    try:
        if not os.path.isfile(path):
            return None
        with open(path, "rb") as file:
            content = file.read(_MAX_FILE_BYTES + 1)
    except (OSError, ValueError):
        return None
    return None if len(content) > _MAX_FILE_BYTES else content.decode("utf-8", "replace")


def _now(function: str) -> str:
    now = utc_now()
    if function == "now_unix":
        return str(int(now))
    if function == "now_date":
        return day_of(now)
    if function == "now_iso":
        return iso_time(now)
    raise Unresolved(f"unknown function {function}")
