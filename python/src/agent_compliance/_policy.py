"""Evaluates the policy before a model call: in this process, or by the policy engine at POLICY_URL."""

from __future__ import annotations

import time
from threading import Lock

from ._http import post_json
from ._settings import at, items_at
from ._shared import (
    OnceEach,
    cut,
    describe,
    is_flag,
    is_list,
    is_name,
    is_number,
    is_record,
    is_whole,
    json_bytes,
    json_of,
    reported_name,
    warn,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any
    from urllib.parse import SplitResult

    Manifest = dict[str, Any]
    # Denials, or the reason why there is no decision and whether the engine failed.
    Result = tuple[list[str], None, bool] | tuple[None, str, bool]

_MAX_FAILURES = 5
_PAUSE_SECONDS = 5.0
_MAX_REASONS = 100
_MAX_REASON = 200
_MAX_NAMES = 1000
# Denials by a missing fact. They are no decision if the fact is None: unknown.
_REQUIRED = {
    "destructive_tool_without_confirmation": "user_confirmed",
    "pii_detector_not_invoked": "guardrails_invoked",
}


class PolicyDenied(Exception):
    """The declared policy denies the model call. `violations`: the reasons, sorted."""

    def __init__(self, violations: list[str]) -> None:
        super().__init__(f"the policy denies the model call: {', '.join(violations)}")
        self.violations = tuple(violations)


class PolicyUnavailable(Exception):
    """The policy engine gave no decision. Raised only with `fail_closed`."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"no decision from the policy engine: {reason}")
        self.reason = reason


class PolicyCheck:
    def __init__(
        self,
        manifest: Manifest,
        *,
        url: SplitResult | None,
        timeout: float,
        fail_closed: bool,
        totals: Callable[[], dict[str, float]],
    ) -> None:
        self._agent_name: str = manifest["metadata"]["name"]
        self._manifest = manifest
        self._engine = None if url is None else _Engine(url, self._agent_name, timeout)
        self._fail_closed = fail_closed
        self._totals = totals
        self._is_unavailable = False

    @property
    def is_remote(self) -> bool:
        return self._engine is not None

    def after_fork(self) -> None:
        """In a forked process the lock of another thread would stay locked."""
        if self._engine is not None:
            self._engine.lock = Lock()

    def check(self, facts: Mapping[str, object]) -> None:
        """Returns if the call is allowed. Raises PolicyDenied, PolicyUnavailable, or TypeError for invalid facts."""
        document = policy_input(self._agent_name, facts, self._totals())
        if self._engine is None:
            denials: list[str] | None = denials_of(self._manifest, document)
            reason: str | None = None
        else:
            denials, reason, _ = self._engine.evaluate(document)
        if denials is not None:
            self._is_unavailable = False
            decided = [each for each in denials if facts.get(_REQUIRED.get(each, ""), 0) is not None]
            if decided:
                raise PolicyDenied(decided)
            if not denials or not self._fail_closed:
                return
            reason = f"no request is open, so the facts of {', '.join(denials)} are unknown"
        if self._fail_closed:
            raise PolicyUnavailable(reason or "")
        # One warning per outage.
        if not self._is_unavailable:
            warn("no policy decision, model calls allowed (fail-open)", reason=reason)
        self._is_unavailable = True


class _Engine:
    """With a hung engine the first five calls wait for the timeout, then only one call every five seconds."""

    def __init__(self, url: SplitResult, agent_name: str, timeout: float) -> None:
        path = url.path.removesuffix("/") + f"/v1/data/platform/agent/{_segment_of(agent_name)}/deny"
        self._url = url._replace(path=path, fragment="")
        self._timeout = timeout
        self.lock = Lock()
        self._failures = 0
        self._next = 0.0
        self._once = OnceEach()

    def evaluate(self, document: dict[str, Any]) -> Result:
        with self.lock:
            now = time.monotonic()
            if self._failures >= _MAX_FAILURES and now < self._next:
                return None, f"no response {_MAX_FAILURES} times in a row", True
            self._next = now + _PAUSE_SECONDS
        result = self._query(document)
        with self.lock:
            self._failures = self._failures + 1 if result[2] else 0
        return result

    def _query(self, document: dict[str, Any]) -> Result:
        try:
            reply = post_json(self._url, json_bytes({"input": document}), timeout=self._timeout)
        except Exception as error:
            return None, describe(error), True
        if reply.status != 200:
            return None, f"the engine responded with status {reply.status}", True
        document = json_of(reply.body or b"")
        if not is_record(document):
            return None, "the response is not a JSON object", True
        if "result" not in document:
            return None, "the engine does not have the rules of this agent", False
        return self._denials_in(document["result"]), None, False

    def _denials_in(self, result: object) -> list[str]:
        """Every result that is not empty denies, in any form."""
        is_empty = result is None or result is False or result in ("", {})
        reasons: set[str] = set()
        for element in result if is_list(result) else () if is_empty else (result,):
            texts = (element.get("msg"), element.get("reason")) if is_record(element) else (element,)
            reason = next((each for each in texts if is_name(each)), None)
            if reason is None:
                problem = f"no text in a {type(element).__name__}"
                self._once.warn("policy engine result invalid, counted as a denial", problem)
            reasons.add("policy_result_invalid" if reason is None else cut(reason, _MAX_REASON))
        return sorted(reasons)[:_MAX_REASONS]


def _segment_of(agent_name: str) -> str:
    from urllib.parse import quote

    segment = agent_name.replace("-", "_")
    # The data API would read a number as a list index.
    is_number_like = segment.isascii() and segment.isdigit()
    return quote(f"_{segment}" if is_number_like else segment, safe="!'()*")


def _is_names(value: object) -> bool:
    return (
        is_list(value)
        and len(value) <= _MAX_NAMES
        and all(isinstance(name, str) and 0 < len(name) <= 1_000_000 for name in value)
    )


# Test, and the text of its error.
_FACTS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "guardrails_invoked": (_is_names, "must be a list of at most 1000 non-empty texts"),
    "tools_called": (_is_names, "must be a list of at most 1000 non-empty texts"),
    "user_confirmed": (is_flag, "must be true or false"),
    "toxicity_score": (lambda value: is_number(value, -1e9, 1e9), "must be a number"),
    "memory_ttl_seconds": (is_whole, "must be a whole number"),
    "tokens_today": (lambda value: is_number(value, 0, 1.7e308), "must be a number of at least 0"),
    "cost_today_usd": (lambda value: is_number(value, 0, 1.7e308), "must be a number of at least 0"),
}


def policy_input(agent_name: str, facts: Mapping[str, object], totals: dict[str, float]) -> dict[str, Any]:
    known: dict[str, Any] = {}
    problems: list[str] = []
    for name, given in facts.items():
        value = list(given) if isinstance(given, (tuple, set, frozenset)) else given  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        row = _FACTS.get(name)
        if row is None:
            problems.append(f"{name} is not a fact")
        elif value is not None and not row[0](value):
            problems.append(f"{name} {row[1]}")
        elif value is not None:
            known[name] = value
    if problems:
        raise TypeError(f"invalid facts: {'; '.join(problems)}")
    document: dict[str, Any] = {
        "agent_name": agent_name,
        "request_type": "llm_call",
        "tokens_today": known.get("tokens_today", totals["tokensToday"]),
    }
    cost = known.get("cost_today_usd", totals.get("costTodayUsd"))
    if cost is not None:
        document["cost_today_usd"] = cost
    for name in ("guardrails_invoked", "tools_called"):
        if name in known:
            document[name] = [reported_name(each) for each in known[name]]
    for name in ("user_confirmed", "toxicity_score"):
        if name in known:
            document[name] = known[name]
    if "memory_ttl_seconds" in known:
        document["memory_write"] = {"ttl_seconds": known["memory_ttl_seconds"]}
    return document


def denials_of(manifest: Manifest, facts: dict[str, Any]) -> list[str]:
    """The reasons that deny, sorted: the same as those of an engine with the generated Rego."""
    spec = manifest["spec"]
    limits = at(spec, "model", "costControls")
    monthly = at(limits, "maxMonthlyUSD")
    toxicity = [
        each["threshold"]
        for each in items_at(spec, "guardrails", "output")
        if each.get("type") == "toxicity-filter" and "threshold" in each
    ]
    destructive = {
        reported_name(tool["name"])
        for tool in items_at(spec, "tools")
        if at(tool, "annotations", "destructiveHint") is True
    }
    ttl = at(spec, "memory", "shortTerm", "ttlSeconds")
    detects_pii = any(each.get("type") == "pii-detector" for each in items_at(spec, "guardrails", "input"))

    def reaches(name: str, limit: float | None) -> bool:
        return limit is not None and name in facts and facts[name] >= limit

    found = {
        "daily_token_limit_exceeded": reaches("tokens_today", at(limits, "maxTokensPerDay")),
        "destructive_tool_without_confirmation": facts.get("user_confirmed") is not True
        and not destructive.isdisjoint(facts.get("tools_called", ())),
        "memory_ttl_mismatch": ttl is not None and at(facts, "memory_write", "ttl_seconds") not in (None, ttl),
        "monthly_cost_limit_exceeded": reaches("cost_today_usd", None if monthly is None else monthly / 30),
        "pii_detector_not_invoked": detects_pii and "pii-detector" not in facts.get("guardrails_invoked", ()),
        "toxicity_threshold_exceeded": reaches("toxicity_score", min(toxicity, default=None)),
    }
    return [reason for reason, is_denied in found.items() if is_denied]
