"""References of the manifest: `$env:VAR`, `$file:path`, `$secret:name` and `$func:name`."""

from __future__ import annotations

import os

from ._text import day_of, is_list, is_record, iso_time, utc_now

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_KINDS = ("env", "file", "secret", "func")
_MAX_FILE_BYTES = 1024 * 1024


class Unresolved(Exception):
    """A reference has no value. The text never contains a value."""


def reference_of(text: str) -> tuple[str, str] | None:
    """Kind and name of a reference; None: the text is a literal value."""
    if not text.startswith("$"):
        return None
    kind, colon, name = text[1:].partition(":")
    return (kind, name) if colon and kind in _KINDS else None


def references_in(value: object, path: str = "") -> Iterator[tuple[str, str, str]]:
    """Kind, name and manifest path of every reference. Values under `x-` keys are skipped."""
    if isinstance(value, str):
        found = reference_of(value)
        if found is not None:
            yield (*found, path)
    elif is_list(value):
        for index, item in enumerate(value):
            yield from references_in(item, f"{path}[{index}]")
    elif is_record(value):
        for key, item in value.items():
            # YAML allows keys that are no texts.
            if not str(key).startswith("x-"):
                yield from references_in(item, f"{path}.{key}" if path else str(key))


def secret_variable(name: str) -> str:
    """The variable of a secret: `PLATFORM_SECRET_DB_PASSWORD` for `db-password`."""
    return "PLATFORM_SECRET_" + plain_name(name)


def plain_name(name: str) -> str:
    """The name in upper case, with `_` for every character that a variable cannot have."""
    upper = name.upper()
    return "".join(each if each.isascii() and each.isalnum() else "_" for each in upper)


class References:
    """Resolves references with an environment and the directory of the manifest."""

    def __init__(self, env: Mapping[str, str], folder: str) -> None:
        self.env = env
        self._folder = os.path.realpath(folder)

    @property
    def secret_backend(self) -> str:
        """`file` if PLATFORM_SECRET_DIR is set, else `env`."""
        return "file" if self.env.get("PLATFORM_SECRET_DIR") else "env"

    def resolve(self, text: str) -> str:
        """The value of a string of the manifest. Raises Unresolved with the reason."""
        reference = reference_of(text)
        if reference is None:
            return text
        kind, name = reference
        if kind == "env":
            return self._variable(name, f"the variable {name} is not set")
        if kind == "file":
            path = self.file_path(name)
            content = None if path is None else _text_of(path)
            if content is None:
                raise Unresolved(f"the file {name} cannot be read inside the manifest's directory")
            return content
        return self._secret(name) if kind == "secret" else _now(name)

    def file_path(self, name: str) -> str | None:
        """The real path of a readable file; None: missing, or outside the directory of the manifest."""
        try:
            if not name.strip() or os.path.isabs(name):
                return None
            path = os.path.realpath(os.path.join(self._folder, name))
            is_inside = path.startswith(self._folder.rstrip(os.sep) + os.sep)
            return path if is_inside and os.path.isfile(path) and os.access(path, os.R_OK) else None
        except (OSError, ValueError):
            return None

    def _variable(self, name: str, reason: str) -> str:
        # An empty variable counts as unset, because charts render a missing value as an empty string.
        value = self.env.get(name)
        if not value:
            raise Unresolved(reason)
        return value

    def _secret(self, name: str) -> str:
        folder = self.env.get("PLATFORM_SECRET_DIR")
        if not folder:
            variable = secret_variable(name)
            return self._variable(variable, f"the secret {name} was not found: {variable} is not set")
        content = None if os.sep in name else _text_of(os.path.join(folder, name))
        # Editors append a line feed that is not part of the secret.
        secret = (content or "").removesuffix("\n").removesuffix("\r")
        if not secret:
            raise Unresolved(f"the secret {name} was not found: no such file in PLATFORM_SECRET_DIR")
        return secret


def _text_of(path: str) -> str | None:
    try:
        if not os.path.isfile(path):
            return None
        with open(path, "rb") as file:
            content = file.read(_MAX_FILE_BYTES + 1)
    except (OSError, ValueError):
        return None
    return None if len(content) > _MAX_FILE_BYTES else content.decode("utf-8", "replace")


def _now(function: str) -> str:
    now = utc_now()
    if function == "now_unix":
        return str(int(now))
    if function == "now_date":
        return day_of(now)
    if function == "now_iso":
        return iso_time(now)
    raise Unresolved(f"unknown function {function}")
