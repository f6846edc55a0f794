"""Warnings of the package, through the standard logger `agent_compliance`."""

from __future__ import annotations


def describe(error: BaseException) -> str:
    """The error and its cause in one line."""
    text = str(error) or type(error).__name__
    cause = error.__cause__
    return text if cause is None else f"{text} ({describe(cause)})"


def warn(message: str, **fields: object) -> None:
    """Logs a warning. Never raises."""
    _log(30, message, fields)


def info(message: str, **fields: object) -> None:
    """Logs an information."""
    _log(20, message, fields)


def debug(message: str, **fields: object) -> None:
    """Logs a detail."""
    _log(10, message, fields)


def _log(level: int, message: str, fields: dict[str, object]) -> None:
    import logging

    details = " ".join(f"{name}={value}" for name, value in fields.items())
    logging.getLogger("agent_compliance").log(level, "%s %s" if details else "%s%s", message, details)


class OnceEach:
    """Logs each message with its reason once. A mistake in the agent's code repeats with every request."""

    def __init__(self) -> None:
        self._logged: set[tuple[str, str]] = set()

    def warn(self, message: str, reason: str, **fields: object) -> None:
        """Logs the warning if it is new."""
        if (message, reason) in self._logged or len(self._logged) >= 100:
            return
        self._logged.add((message, reason))
        warn(message, reason=reason, **fields)
