"""Health checks of the items that the manifest declares."""

from __future__ import annotations

from functools import partial

from ._declared import critical_ids_of, model_id_of, models_of, targets_of, variables_of
from ._references import References, Unresolved, references_in, secret_variable
from ._rules import items_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from ._declared import Target
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
    """The status of a report."""
    failed = {check["severity"] for check in checks if check["status"] == "fail"}
    return "unhealthy" if "error" in failed else "degraded" if "warning" in failed else "healthy"


def summary_of(checks: list[Check]) -> dict[str, int]:
    """Counts every check in exactly one of the four numbers."""
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
    """Manifest path: whether its value is missing, and why it cannot be used."""
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
