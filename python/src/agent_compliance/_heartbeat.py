"""The body of a heartbeat: health, gap, evidence and usage of an agent without a sidecar."""

from __future__ import annotations

from ._declared import model_id_of, targets_of, variables_of
from ._rules import at, items_at, price_of
from ._text import cut, iso_time, json_bytes, reported_name, utc_now

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    Json = dict[str, Any]

MAX_BYTES = 64 * 1024
_MAX_TEXT = 500
_EVIDENCE_SECONDS = 24 * 60 * 60
_MAX_KEYS = 2000
_POINTS = {"critical": 30, "high": 20, "medium": 10, "low": 5}
_RANKS = list(_POINTS)
_MAX_NOT_SHOWN_POINTS = 20
_GRADES = (("A", 90), ("B", 75), ("C", 60), ("D", 45), ("F", 0))


class SeenTimes:
    """When each item was last seen, for 24 hours."""

    def __init__(self) -> None:
        self._times: dict[str, float] = {}

    def note(self, keys: Iterable[str]) -> None:
        """Notes the keys as seen now."""
        now = utc_now()
        for key in keys:
            self._times.pop(key, None)
            self._times[key] = now
        for key, seen in list(self._times.items()):
            if len(self._times) <= _MAX_KEYS and now - seen < _EVIDENCE_SECONDS:
                return
            del self._times[key]

    def last_of(self, keys: Iterable[str]) -> float | None:
        """The last time that one of the keys was seen."""
        now = utc_now()
        times = [self._times[key] for key in keys if now - self._times.get(key, 0) < _EVIDENCE_SECONDS]
        return max(times, default=None)


def compose(manifest: Json, health: Json, seen: SeenTimes, beat: Json) -> Json:
    """A HeartbeatV1 from reports of the same time. Probes and usage come from the agent, so they count as reported."""
    checks = health["checks"]
    seen.note(_key("check", check["id"]) for check in checks if check["status"] == "pass")
    for model in beat["usage"]["models"]:
        seen.note(_model_keys(model["modelId"], model["totalTokens"]))
    declared = manifest["spec"]["model"]
    return {
        "version": 1,
        "proofRevision": 0,
        "proof": [],
        **beat,
        "sentAt": iso_time(utc_now()),
        "source": "agent-sdk",
        "health": health,
        "gap": gap_of(manifest, checks),
        "evidence": evidence_of(manifest, seen),
        "model": {"provider": declared["provider"], "id": declared["id"]},
    }


def gap_of(manifest: Json, checks: list[Json]) -> Json:
    """The gap report (shape A) of the rows that need no sidecar."""
    spec = manifest["spec"]
    by_id = {check["id"]: check for check in checks}
    found = [*_manifest_issues(spec), *_model_issues(spec, by_id)]
    found += _check_issues("env:", {f"env:{name}" for name in variables_of(manifest)}, by_id, "high")
    targets = [target.id for target in targets_of(manifest)]
    services = [cut(each, _MAX_TEXT) for each in targets if each.startswith("service:")]
    tools = [cut(f"tool:{tool['name']}", _MAX_TEXT) for tool in items_at(spec, "tools")]
    found += _check_issues("service:", services, by_id, "high") + _skipped(services, by_id)
    found += _check_issues("tool:", tools, by_id, "medium") + _skipped(tools, by_id)
    for prefix in ("memory:", "mcp:"):
        found += _skipped([cut(each, _MAX_TEXT) for each in targets if each.startswith(prefix)], by_id)
    unique: dict[str, Json] = {}
    for issue in found:
        known = unique.get(issue["property"])
        if known is None or _rank(issue) < _rank(known):
            unique[issue["property"]] = issue
    issues = sorted(unique.values(), key=_rank)
    not_shown = sum(_POINTS[issue["severity"]] for issue in issues if issue["isNotShown"])
    others = sum(_POINTS[issue["severity"]] for issue in issues if not issue["isNotShown"])
    score = max(0, 100 - others - min(not_shown, _MAX_NOT_SHOWN_POINTS))
    return {
        "score": score,
        "grade": next(grade for grade, minimum in _GRADES if score >= minimum),
        "source": "agent-sdk",
        "issues": [{name: value for name, value in issue.items() if name != "isNotShown"} for issue in issues],
    }


def _rank(issue: Json) -> int:
    return _RANKS.index(issue["severity"])


def _issue(severity: str, name: str, description: str, recommendation: str, *, is_not_shown: bool = False) -> Json:
    return {
        "severity": severity,
        "property": cut(name, _MAX_TEXT),
        "description": cut(description, _MAX_TEXT),
        "recommendation": cut(recommendation, _MAX_TEXT),
        "isNotShown": is_not_shown,
    }


def _manifest_issues(spec: Json) -> list[Json]:
    issues: list[Json] = []
    if not items_at(spec, "guardrails", "input") and not items_at(spec, "guardrails", "output"):
        issues.append(
            _issue(
                "medium",
                "auditable",
                "The manifest declares no guardrails, so the use of guardrails cannot be audited.",
                "Declare the guardrails of the agent in spec.guardrails.input and spec.guardrails.output.",
            )
        )
    if items_at(spec, "evaluation", "datasets"):
        issues.append(
            _issue(
                "low",
                "evaluated",
                "Evaluation datasets are declared, but there is no valid proof that they were run (EVAL-01).",
                "Run a dataset against the agent and submit the result as a proof of EVAL-01 "
                "(POST /proof/rule/EVAL-01).",
            )
        )
    return issues


def _model_issues(spec: Json, by_id: dict[str, Json]) -> list[Json]:
    model = spec["model"]
    check = by_id[model_id_of(model)]
    if check["status"] == "pass":
        return []
    is_failed = check["status"] == "fail"
    problem = "cannot be used with the agent's API key" if is_failed else "was not checked by the agent"
    key = model["apiKey"] if model["apiKey"].startswith("$") else "spec.model.apiKey"
    return [
        _issue(
            "critical" if is_failed else "high",
            "model.apiKey",
            f"The model {model['provider']}/{model['id']} {problem}: {check['message']}",
            check.get("remediation") or f"Set the API key that {key} refers to.",
        )
    ]


def _check_issues(prefix: str, declared: Iterable[str], by_id: dict[str, Json], severity: str) -> list[Json]:
    """Every failed check. All declared items have a check, because the report is the reporter's own."""
    wanted = set(declared)
    return [
        _issue(
            severity,
            check_id,
            f"The agent's check {check_id} failed: {check['message']}",
            check["remediation"],
        )
        for check_id, check in by_id.items()
        if check_id.startswith(prefix) and check["status"] == "fail" and cut(check_id, _MAX_TEXT) in wanted
    ]


def _skipped(declared: Iterable[str], by_id: dict[str, Json]) -> list[Json]:
    checks = {cut(check_id, _MAX_TEXT): check for check_id, check in by_id.items()}
    return [
        _issue(
            "low",
            check_id,
            f"{check_id} is declared, not shown: the agent skipped the check: {checks[check_id]['message']}",
            f"Enable the agent's reporter to check {check_id}, or remove it from the manifest.",
            is_not_shown=True,
        )
        for check_id in declared
        if checks[check_id]["status"] == "skip"
    ]


def evidence_of(manifest: Json, seen: SeenTimes) -> Json:
    """The declared items with their evidence. Without a sidecar the only evidence is the agent's own report."""
    items = [_judged(kind, name, keys, seen) for kind, name, keys in _declared_items(manifest)]
    reported = [item for item in items if item["tier"] == "reported"]
    rest = [item for item in items if item["tier"] == "none"]
    return {
        "shown": len(reported) * 0.5,
        "declared": len(items),
        "reported": len(reported),
        "items": [*reported, *rest],
    }


def _judged(kind: str, name: str, keys: list[str], seen: SeenTimes) -> Json:
    item = {"kind": kind, "name": cut(name, _MAX_TEXT)}
    last = seen.last_of(keys)
    if last is None:
        return {**item, "tier": "none"}
    return {**item, "tier": "reported", "shownBy": _SHOWN_BY[kind], "lastSeen": iso_time(last)}


_CHECK = "check reported by the agent"
_SHOWN_BY = {
    "model": "`model` event with this model id, or check reported by the agent",
    "tool": "call in a behavioral header or event, or check reported by the agent",
    "service": _CHECK,
    "memory": f"{_CHECK}, or `memory` event with this backend",
    "mcp": _CHECK,
    "budget": "tokens in `model` events; `maxMonthlyUSD` also needs both prices",
}


def _declared_items(manifest: Json) -> list[tuple[str, str, list[str]]]:
    """Kind, name and keys of each item; the last of several items with one name counts."""
    spec = manifest["spec"]
    model = spec["model"]
    model_keys = [_key("report", _model_subject(model["id"])), _key("check", model_id_of(model))]
    items = [("model", model["id"], model_keys)]
    items += [("tool", tool["name"], [_key("check", f"tool:{tool['name']}")]) for tool in items_at(spec, "tools")]
    items += [
        ("guardrail", f"{where}.{each.get('type')}", [])
        for where in ("input", "output")
        for each in items_at(spec, "guardrails", where)
    ]
    targets = targets_of(manifest)
    for kind in ("service", "memory", "mcp"):
        found = [target.id for target in targets if target.id.startswith(f"{kind}:")]
        items += [(kind, each.partition(":")[2], [_key("check", each)]) for each in found]
    limits: dict[str, Any] = at(model, "costControls") or {}
    tokens = [_key("report", "tokens")]
    if "maxTokensPerDay" in limits:
        items.append(("budget", "maxTokensPerDay", tokens))
    if "maxMonthlyUSD" in limits:
        items.append(("budget", "maxMonthlyUSD", [] if price_of(manifest) is None else tokens))
    if items_at(spec, "evaluation", "datasets"):
        items.append(("evaluation", "datasets", []))
    return list({(kind, name): (kind, name, keys) for kind, name, keys in items}.values())


def _key(source: str, subject: str) -> str:
    return f"{source} {reported_name(subject)}"


def _model_subject(declared: str) -> str:
    """The subject of a declared model id. A dated id matches only the same date."""
    return f"model:{_plain_model(declared).removesuffix('-latest')}"


def _model_keys(model_id: str, tokens: int) -> list[str]:
    """The keys of a reported model call: the id itself, and the id without its date."""
    import re

    plain = _plain_model(model_id)
    undated = re.sub(r"-(\d{4}-\d{2}-\d{2}|\d{2}-\d{4}|\d{8}|\d{6}|\d{3,4}|latest)$", "", plain)
    is_one = model_id not in ("unknown", "(several)", "(other)")
    subjects = [f"model:{plain}", f"model:{undated}"] if is_one else []
    return [_key("report", subject) for subject in [*subjects, *(["tokens"] if tokens > 0 else [])]]


def _plain_model(model_id: str) -> str:
    """A model id without the path prefix that gateways add."""
    return model_id.rpartition("/")[2].lower()


_SHORTENED = frozenset({"description", "recommendation", "message", "remediation", "modelId"})
_SHORT = 120


def fit(heartbeat: Json) -> tuple[bytes, bool]:
    """JSON of at most 64 KiB, and whether it was shortened: texts first, then the less important half of a list."""
    body = json_bytes(heartbeat)
    if len(body) <= MAX_BYTES:
        return body, False
    fitted = _with_short_texts(heartbeat)
    body = json_bytes(fitted)
    while len(body) > MAX_BYTES:
        rows = [row for row in _LISTS if len(fitted[row[0]][row[1]]) > row[2]]
        if not rows:
            break
        part, name, _, halved = max(rows, key=lambda row: len(json_bytes(fitted[row[0]][row[1]])))
        fitted[part][name] = halved(fitted[part][name])
        body = json_bytes(fitted)
    return body, True


def _with_short_texts(value: Any, name: str = "") -> Any:
    if isinstance(value, dict):
        members: dict[str, Any] = value  # pyright: ignore[reportUnknownVariableType]
        return {key: _with_short_texts(item, key) for key, item in members.items()}
    if isinstance(value, list):
        items: list[Any] = value  # pyright: ignore[reportUnknownVariableType]
        return [_with_short_texts(item) for item in items]
    is_long = isinstance(value, str) and name in _SHORTENED and len(value) > _SHORT
    return value[: _SHORT - 1] + "…" if is_long else value


def _worst_half(items: list[Json], rank: Callable[[Json], int]) -> list[Json]:
    """The half with the lowest ranks, in its original order."""
    order = sorted(range(len(items)), key=lambda index: (rank(items[index]), index))
    kept = set(order[: len(items) // 2])
    return [item for index, item in enumerate(items) if index in kept]


def _folded(items: list[Json]) -> list[Json]:
    """Folds the models with the fewest tokens into one row, so that the sums stay correct."""
    named = sorted((each for each in items if each["modelId"] != "(other)"), key=lambda each: -each["totalTokens"])
    kept = named[: len(named) // 2]
    folded = [each for each in items if each not in kept]
    counts = ("promptTokens", "completionTokens", "totalTokens", "callCount")
    return [*kept, {"modelId": "(other)", **{name: sum(each[name] for each in folded) for name in counts}}]


_STATUSES = ("fail", "skip", "pass")
# Lists that are shortened: part of the heartbeat, name, length that stays, and how they lose their less important half.
_LISTS: tuple[tuple[str, str, int, Callable[[list[Json]], list[Json]]], ...] = (
    ("evidence", "items", 0, lambda items: _worst_half(items, lambda item: ("none", "reported").index(item["tier"]))),
    ("gap", "issues", 0, lambda items: _worst_half(items, _rank)),
    ("health", "checks", 0, lambda items: _worst_half(items, lambda item: _STATUSES.index(item["status"]))),
    ("usage", "models", 2, _folded),
)
