"""The policy rules of a manifest: the same denials as an engine with the generated Rego."""

from __future__ import annotations

from ._text import reported_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Manifest = dict[str, Any]
    Input = dict[str, Any]
    Rule = tuple[str, Callable[[Input], bool]]


def at(value: Any, *keys: str) -> Any:
    """The value at a path; None: absent."""
    for key in keys:
        if value is None:
            return None
        value = value.get(key)
    return value


def items_at(value: Any, *keys: str) -> list[Any]:
    """The list at a path; empty if absent."""
    found: list[Any] | None = at(value, *keys)
    return found or []


def rules_of(manifest: Manifest) -> list[Rule]:
    """Reason and test of each rule that the manifest declares, sorted by reason."""
    spec = manifest["spec"]
    bound = (
        ("daily_token_limit_exceeded", _token_limit(spec)),
        ("destructive_tool_without_confirmation", _destructive_tools(spec)),
        ("memory_ttl_mismatch", _memory_ttl(spec)),
        ("monthly_cost_limit_exceeded", _cost_limit(spec)),
        ("pii_detector_not_invoked", _pii_detector(spec)),
        ("toxicity_threshold_exceeded", _toxicity(spec)),
    )
    return [(reason, denies) for reason, denies in bound if denies is not None]


def denials_of(rules: list[Rule], facts: Input) -> list[str]:
    """The reasons that deny, sorted."""
    return [reason for reason, denies in rules if denies(facts)]


def memory_selection_of(manifest: Manifest) -> tuple[float | None, tuple[str, ...]]:
    """The declared TTL, and the backends of other memories, to whose writes it does not apply."""
    memory = at(manifest, "spec", "memory")
    short_term = at(memory, "shortTerm", "backend") or at(memory, "backend")
    others = [at(memory, role, "backend") for role in ("longTerm", "vector")]
    return at(memory, "shortTerm", "ttlSeconds"), tuple(
        each for each in others if each is not None and each != short_term
    )


def price_of(manifest: Manifest) -> tuple[float, float] | None:
    """US dollars per million prompt and completion tokens, if both are declared."""
    prices = at(manifest, "spec", "model", "costControls", "usdPerMillionTokens")
    prompt, completion = at(prices, "input"), at(prices, "output")
    return None if prompt is None or completion is None else (prompt, completion)


def _limit(name: str, limit: float) -> Callable[[Input], bool]:
    return lambda facts: name in facts and facts[name] >= limit


def _token_limit(spec: Any) -> Callable[[Input], bool] | None:
    limit = at(spec, "model", "costControls", "maxTokensPerDay")
    return None if limit is None else _limit("tokens_today", limit)


def _cost_limit(spec: Any) -> Callable[[Input], bool] | None:
    limit = at(spec, "model", "costControls", "maxMonthlyUSD")
    return None if limit is None else _limit("cost_today_usd", limit / 30)


def _toxicity(spec: Any) -> Callable[[Input], bool] | None:
    thresholds = [
        each["threshold"]
        for each in items_at(spec, "guardrails", "output")
        if each.get("type") == "toxicity-filter" and "threshold" in each
    ]
    return _limit("toxicity_score", min(thresholds)) if thresholds else None


def _destructive_tools(spec: Any) -> Callable[[Input], bool] | None:
    destructive = {
        reported_name(tool["name"])
        for tool in items_at(spec, "tools")
        if at(tool, "annotations", "destructiveHint") is True
    }
    if not destructive:
        return None
    return lambda facts: (
        facts.get("user_confirmed") is not True and not destructive.isdisjoint(facts.get("tools_called", ()))
    )


def _memory_ttl(spec: Any) -> Callable[[Input], bool] | None:
    declared = at(spec, "memory", "shortTerm", "ttlSeconds")
    if declared is None:
        return None
    return lambda facts: "memory_write" in facts and facts["memory_write"]["ttl_seconds"] != declared


def _pii_detector(spec: Any) -> Callable[[Input], bool] | None:
    if not any(each.get("type") == "pii-detector" for each in items_at(spec, "guardrails", "input")):
        return None
    return lambda facts: (
        facts["request_type"] == "llm_call" and "pii-detector" not in facts.get("guardrails_invoked", ())
    )
