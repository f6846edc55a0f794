"""Guardrails of the manifest. Each one reports itself for every request.

The detectors are simple baselines. Replace them by the detectors that your agent needs.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from platform_reporter import Behavior

from .manifest import REFERENCES, SPEC


@dataclass(frozen=True)
class Detection:
    """Score from 0 to 1, and the text without what was found."""

    score: float
    text: str


@dataclass(frozen=True)
class Checked:
    """The texts after all guardrails. `blocked`: the message for the user if a guardrail blocks."""

    texts: list[str]
    blocked: str | None = None


def check(where: str, texts: list[str], behavior: Behavior, context: str = "") -> Checked:
    """Runs the guardrails of `where` (input or output) on all texts. Every one runs, also after one that blocks."""
    blocked = None
    for declared in (SPEC.get("guardrails") or {}).get(where) or []:
        kind = declared["type"]
        found = [DETECTORS[kind](text, declared, context) for text in texts]
        score = max((each.score for each in found), default=0.0)
        action = _action(declared) if score > 0 and score >= _threshold(declared) else "pass"
        scrubbed = [each.text for each in found]
        # A detector that cannot remove what it found blocks.
        is_blocking = action == "block" or (action == "scrub" and scrubbed == texts)
        if is_blocking:
            blocked = blocked or _message(declared)
        elif action == "scrub":
            texts = scrubbed
        behavior.guardrail(kind, blocked=is_blocking, score=score)
    return Checked(texts, blocked)


def _action(declared: dict[str, Any]) -> str:
    """`scrub`, `pass` or `block`. Every other action of the manifest, such as retry, blocks."""
    default = {"pii-detector": "scrub", "hallucination-detector": "warn"}.get(declared["type"], "block")
    action = (declared.get("action") or default).strip().lower()
    if action in ("scrub", "redact", "mask", "anonymize"):
        return "scrub"
    return "pass" if action in ("warn", "log", "flag", "allow") else "block"


def _threshold(declared: dict[str, Any]) -> float:
    default = {"toxicity-filter": 0.7}.get(declared["type"], 0.5)
    return declared.get("threshold", default)


def _message(declared: dict[str, Any]) -> str:
    message = REFERENCES.resolve(declared.get("message") or "")
    return message or f"The guardrail {declared['type']} does not allow this."


_INJECTION = re.compile(
    r"\b(?:ignore|forget|disregard|override)\b.{0,40}\b(?:instructions?|rules|prompts?|guardrails?)\b"
    r"|\bsystem prompt\b|\bdeveloper mode\b",
    re.IGNORECASE | re.DOTALL,
)
_TOXIC = re.compile(r"\b(?:idiot|stupid|moron|worthless|hate you|kill you|shut up)\b", re.IGNORECASE)
_PERSONAL = (
    ("email", re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})+")),
    ("iban", re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,4})?\b")),
    ("card", re.compile(r"\b\d(?:[ -]?\d){12,18}\b")),
    ("ssn", re.compile(r"\b\d{3}-\d{2}-\d{4}\b")),
    ("phone", re.compile(r"(?<![\w.])(?:\+\d{1,3}(?:[ /-]?\d{2,6}){2,4}|\(?\d{3}\)?[ -]\d{3}[ -]\d{4})(?!\d)")),
)
# Names of fields for each pattern, in lower case without separators.
_FIELDS: dict[str, list[str]] = json.loads(
    Path(__file__).with_name("personal_fields.json").read_text(encoding="utf-8")
)
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_MAX_LENGTH = 100_000


def _topics(text: str, declared: dict[str, Any], _context: str) -> Detection:
    topics = [re.escape(topic) for topic in declared.get("blockedTopics") or [] if topic.strip()]
    return _found(re.compile("|".join(topics), re.IGNORECASE), "topic", text) if topics else Detection(0, text)


def _personal_data(text: str, declared: dict[str, Any], _context: str) -> Detection:
    """Searches for the declared `fields`. Without a known field it searches for all: add a pattern for others."""
    fields = {re.sub(r"[\s._-]", "", field.lower()) for field in declared.get("fields") or []}
    labels = {label for label, names in _FIELDS.items() if fields.intersection(names)} or _FIELDS.keys()
    scrubbed = text
    for label, pattern in _PERSONAL:
        if label not in labels:
            continue
        scrubbed = pattern.sub(f"[{label}]", scrubbed)
    return Detection(float(scrubbed != text), scrubbed)


def _injection(text: str, _declared: dict[str, Any], _context: str) -> Detection:
    return _found(_INJECTION, "removed", text)


def _toxicity(text: str, _declared: dict[str, Any], _context: str) -> Detection:
    scrubbed, count = _TOXIC.subn("[removed]", text)
    return Detection(min(1.0, count * 0.4), scrubbed)


def _hallucination(text: str, _declared: dict[str, Any], context: str) -> Detection:
    """Share of the numbers in the answer that neither the conversation nor a tool contains."""
    known = set(_NUMBER.findall(context))
    numbers = _NUMBER.findall(text)
    return Detection(sum(each not in known for each in numbers) / max(len(numbers), 1), text)


def _custom(text: str, _declared: dict[str, Any], _context: str) -> Detection:
    """Put your own rule here. Until then: no control characters, and not more than 100,000 characters."""
    if len(text) > _MAX_LENGTH:
        return Detection(1, text)
    return _found(_CONTROL, "", text)


def _found(pattern: re.Pattern[str], label: str, text: str) -> Detection:
    scrubbed, count = pattern.subn(f"[{label}]" if label else "", text)
    return Detection(float(count > 0), scrubbed)


DETECTORS: dict[str, Callable[[str, dict[str, Any], str], Detection]] = {
    "topic-filter": _topics,
    "pii-detector": _personal_data,
    "prompt-injection": _injection,
    "toxicity-filter": _toxicity,
    "hallucination-detector": _hallucination,
    "custom": _custom,
}
