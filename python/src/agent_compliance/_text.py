"""Names and JSON values in the form that the sidecar reads."""

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
    """A name as it appears in reports: well-formed Unicode of at most 500 UTF-16 units."""
    return cut(well_formed(declared), MAX_NAME)


def header_form(name: str) -> str:
    """The name as a list member of a behavioural header: percent-encoded UTF-8."""
    if not name.strip(_PLAIN):
        return name
    return "".join(
        character if character in _PLAIN else "".join(f"%{byte:02X}" for byte in character.encode("utf-8"))
        for character in well_formed(name)
    )


def is_name(value: object) -> TypeGuard[str]:
    """Whether the value is a text that is not blank."""
    return isinstance(value, str) and value.strip() != ""


def is_record(value: object) -> TypeGuard[dict[str, Any]]:
    """Whether the value is a JSON object."""
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[list[Any]]:
    """Whether the value is a JSON array."""
    return isinstance(value, list)


def is_flag(value: object) -> TypeGuard[bool]:
    """Whether the value is a JSON boolean."""
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
    """Compact JSON. Raises ValueError for NaN and infinity."""
    import json

    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def json_bytes(value: object) -> bytes:
    """Compact JSON as UTF-8."""
    return well_formed(json_text(value)).encode("utf-8")


def json_of(text: str | bytes) -> Any:
    """The parsed JSON; None for a text that is not JSON."""
    import json

    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def utc_now() -> float:
    """Seconds since the epoch."""
    import time

    return time.time()


def iso_time(seconds: float) -> str:
    """ISO 8601 in UTC with milliseconds."""
    import time

    milliseconds = int(seconds * 1000)
    whole, rest = divmod(milliseconds, 1000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(whole)) + f".{rest:03}Z"


def day_of(seconds: float) -> str:
    """The UTC day."""
    return iso_time(seconds)[:10]
