"""The token of the pushes, and its renewal."""

from __future__ import annotations

import os

from ._log import debug, describe, info, warn
from ._settings import is_sendable
from ._text import is_record, iso_time, json_of, utc_now

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ._settings import PushSettings

    # A new key with its end, or the reason why there is none.
    Renewal = tuple[str, str] | str

_MAX_TOKEN = 16_384


class Bearer:
    """The token, read for every push. A registration key is renewed after two thirds of its lifetime."""

    def __init__(self, settings: PushSettings, renew: Callable[[str], Renewal]) -> None:
        self._key = settings.key
        self._token_file = settings.token_file
        self._store = settings.key_store_path
        self._renew = renew
        # A renewed key, which may not be stored, and the stored key that it replaces.
        self._renewed: tuple[str, str] | None = None
        self._is_failing = False

    def current(self) -> str:
        """Raises OSError if the token file cannot be read."""
        return self._key_for(self._stored())

    def renew_if_due(self) -> None:
        """Never raises. The next push retries a failed renewal."""
        try:
            stored = self._stored()
        except OSError:
            # The push itself reports an unreadable token.
            return
        # The kubelet renews projected tokens.
        if self._token_file is not None and not is_registration_key(stored):
            return
        bearer = self._key_for(stored)
        if not is_renewal_due(bearer, utc_now()):
            return
        renewal = self._renew(bearer)
        if isinstance(renewal, str):
            log = debug if self._is_failing else warn
            log("control plane key renewal failed", reason=renewal)
            self._is_failing = True
            return
        self._is_failing = False
        key, expires_at = renewal
        self._renewed = (stored, key)
        info("control plane key renewed", expires_at=expires_at)
        self._keep(key)

    def _stored(self) -> str:
        if self._key is None:
            return read_token(self._token_file or "")
        return self._key if self._store is None else _newer_of(self._key, self._store)

    def _key_for(self, stored: str) -> str:
        """A key without a renewal: the agent was registered again, or another process renewed the key."""
        return self._renewed[1] if self._renewed is not None and self._renewed[0] == stored else stored

    def _keep(self, key: str) -> None:
        path = self._store if self._token_file is None else self._token_file
        if path is None:
            return
        try:
            replace_file(path, f"{key}\n")
        except OSError as error:
            message = "failed to write renewed key to its file, a restart uses the previous key"
            warn(message, path=path, reason=describe(error))


def read_token(path: str) -> str:
    """The token of a file. Raises OSError."""
    try:
        with open(path, encoding="utf-8") as file:
            token = file.read(_MAX_TOKEN + 2).strip()
    except (OSError, UnicodeDecodeError) as error:
        raise OSError(f"the token file {path} cannot be read") from error
    if not token:
        raise OSError(f"the token file {path} is empty")
    if len(token) > _MAX_TOKEN or not is_sendable(token):
        raise OSError(f"the token file {path} does not contain a token")
    return token


def is_registration_key(token: str) -> bool:
    """Whether its holder renews the token. Cluster tokens are signed with a key pair, not HS256."""
    return _part_of(token, 0).get("alg") == "HS256"


def is_renewal_due(key: str, now: float) -> bool:
    """From two thirds of the lifetime to its end. The claims are read without verification, the server's task."""
    claims = _part_of(key, 1)
    expires, issued = _number(claims.get("exp")), _number(claims.get("iat", now))
    return expires is not None and issued is not None and issued + (expires - issued) * 2 / 3 <= now < expires


def replace_file(path: str, text: str) -> None:
    """Replaces a file atomically, readable only by its owner. The target of a symbolic link is replaced."""
    import contextlib
    import tempfile

    target = os.path.realpath(path)
    if os.path.exists(target) and not os.path.isfile(target):
        with open(target, "w", encoding="utf-8") as pipe:
            pipe.write(text)
        return
    handle, temporary = tempfile.mkstemp(dir=os.path.dirname(target), prefix=os.path.basename(target), suffix=".tmp")
    try:
        with open(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except OSError:
        with contextlib.suppress(OSError):
            os.remove(temporary)
        raise


def _newer_of(own: str, store: str) -> str:
    """The stored key if it belongs to the same agent, is newer than `own` and has not expired; else `own`."""
    try:
        kept = read_token(store)
    except OSError:
        return own
    mine, theirs = _part_of(own, 1), _part_of(kept, 1)
    is_same = theirs.get("sub") is not None and theirs.get("sub") == mine.get("sub")
    issued, known = _number(theirs.get("iat")), _number(mine.get("iat"))
    expires = _number(theirs.get("exp"))
    is_later = issued is not None and known is not None and issued > known
    is_alive = expires is not None and expires > utc_now()
    return kept if is_registration_key(kept) and is_same and is_later and is_alive else own


def _part_of(token: str, index: int) -> dict[str, Any]:
    """Header (0) or claims (1) of a JWT; empty for another token."""
    import base64
    import binascii

    parts = token.split(".")
    if len(parts) != 3:
        return {}
    try:
        value = json_of(base64.urlsafe_b64decode(parts[index] + "=" * (-len(parts[index]) % 4)))
    except (binascii.Error, ValueError):
        return {}
    return value if is_record(value) else {}


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def expiry_of(value: object) -> str | None:
    """An ISO 8601 time of the control plane; None: not a time."""
    from datetime import datetime

    if not isinstance(value, str):
        return None
    try:
        return iso_time(datetime.fromisoformat(value.replace("Z", "+00:00")).timestamp())
    except ValueError:
        return None
