"""What a manifest declares: variables, and the targets that are probed."""

from __future__ import annotations

from typing import Any, NamedTuple

from ._references import references_in
from ._rules import at, items_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    Manifest = dict[str, Any]

_NO_ADDRESS = "the manifest declares no address"


class Target(NamedTuple):
    """A network dependency of the manifest."""

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
    """The check id of a model or a fallback."""
    return f"model:{model['provider']}/{model['id']}"


def models_of(manifest: Manifest) -> list[tuple[str, Any]]:
    """Manifest path and declaration of the model and its fallback."""
    model = manifest["spec"]["model"]
    fallback = model.get("fallback")
    models = [("spec.model", model)]
    return models if fallback is None else [*models, ("spec.model.fallback", fallback)]


def variables_of(manifest: Manifest) -> dict[str, str]:
    """Each environment variable that the manifest needs, with the first path that declares it."""
    paths: dict[str, str] = {}
    for kind, name, path in references_in(manifest):
        if kind == "env":
            paths.setdefault(name, path)
    for index, name in enumerate(items_at(manifest, "spec", "requires", "envVars")):
        if not name.startswith("$"):
            paths.setdefault(name, f"spec.requires.envVars[{index}]")
    return paths


def critical_ids_of(manifest: Manifest) -> set[str]:
    """The check ids of the services that the manifest declares critical."""
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
