"""Checks of what goes into the model and what comes out."""

import re

EMAIL = re.compile(r"[\w.+-]+@[\w-]+\.[\w.]+")
CARD = re.compile(r"\b\d(?:[ -]?\d){12,18}\b")
INJECTION = re.compile(r"\b(ignore|forget)\b.{0,30}\b(instructions|rules)\b", re.IGNORECASE)
HARSH = {"idiot", "moron"}


def redact_pii(text: str) -> str:
    """Replaces e-mail addresses and card numbers."""
    return CARD.sub("[card]", EMAIL.sub("[email]", text))


def is_prompt_injection(text: str) -> bool:
    return INJECTION.search(text) is not None


def contains_profanity(text: str) -> bool:
    return any(word in HARSH for word in text.lower().split())
