"""Names, JSON values and times in the form that the sidecar reads, and the log."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeGuard

MAX_NAME = 500
MAX_TOKENS = 1_000_000_000

# Token characters of RFC 9110, without `%`.
_PLAIN = "!#$&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def well_formed(text: str) -> str:
    """The text with U+FFFD for each lone surrogate, which UTF-8 cannot contain."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def cut(text: str, units: int) -> str:
    """At most `units` UTF-16 units, like the sidecar. A surrogate pair is not split."""
    if 2 * len(text) <= units or (text.isascii() and len(text) <= units):
        return text
    encoded = text.encode("utf-16-le", "surrogatepass")
    if len(encoded) <= 2 * units:
        return text
    # A high surrogate has the upper byte D8 to DB.
    end = 2 * units - (2 if 0xD8 <= encoded[2 * units - 1] <= 0xDB else 0)
    return encoded[:end].decode("utf-16-le", "surrogatepass")


def reported_name(declared: str) -> str:
    return cut(well_formed(declared), MAX_NAME)


def header_form(name: str) -> str:
    if not name.strip(_PLAIN):
        return name
    return "".join(
        character if character in _PLAIN else "".join(f"%{byte:02X}" for byte in character.encode("utf-8"))
        for character in well_formed(name)
    )


def is_name(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and value.strip() != ""


def is_record(value: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def is_flag(value: object) -> TypeGuard[bool]:
    return isinstance(value, bool)


def is_whole(value: object) -> TypeGuard[int]:
    """Whether the value is an integer from 0 that JSON keeps exactly."""
    return type(value) is int and 0 <= value < 2**53


def is_count(value: object) -> TypeGuard[int]:
    """Whether the value is an integer from 0 to 10**9."""
    return type(value) is int and 0 <= value <= MAX_TOKENS


def is_number(value: object, minimum: float, maximum: float) -> TypeGuard[float]:
    """Whether the value is a finite number in the range. A boolean is not a number."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and minimum <= value <= maximum


def json_text(value: object) -> str:
    import json

    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def json_bytes(value: object) -> bytes:
    return well_formed(json_text(value)).encode("utf-8")


def json_of(text: str | bytes) -> Any:
    import json

    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def utc_now() -> float:
    import time

    return time.time()


def iso_time(seconds: float) -> str:
    import time

    milliseconds = int(seconds * 1000)
    whole, rest = divmod(milliseconds, 1000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(whole)) + f".{rest:03}Z"


def day_of(seconds: float) -> str:
    return iso_time(seconds)[:10]


def describe(error: BaseException) -> str:
    text = str(error) or type(error).__name__
    cause = error.__cause__
    return text if cause is None else f"{text} ({describe(cause)})"


def warn(message: str, **fields: object) -> None:
    _log(30, message, fields)


def info(message: str, **fields: object) -> None:
    _log(20, message, fields)


def debug(message: str, **fields: object) -> None:
    _log(10, message, fields)


def _log(level: int, message: str, fields: dict[str, object]) -> None:
    import logging
    from contextlib import suppress

    details = " ".join(f"{name}={value}" for name, value in fields.items())
    # A handler of the agent can raise, and so can a closed sys.stderr.
    with suppress(Exception):
        logging.getLogger("agent_compliance").log(level, "%s %s" if details else "%s%s", message, details)


class OnceEach:
    """Logs each message with its reason once. A mistake in the agent's code repeats with every request."""

    def __init__(self) -> None:
        self._logged: set[tuple[str, str]] = set()

    def warn(self, message: str, reason: str, **fields: object) -> None:
        if (message, reason) in self._logged or len(self._logged) >= 100:
            return
        self._logged.add((message, reason))
        warn(message, reason=reason, **fields)
