"""References of the manifest: `$env:VAR`, `$file:path`, `$secret:name` and `$func:name`."""

import os
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

_REFERENCE = re.compile(r"\$(env|file|secret|func):(.*)", re.DOTALL)
_MAX_FILE_BYTES = 1024 * 1024


def reference_of(text: str) -> tuple[str, str] | None:
    """Kind and name of a reference; None: the text is a literal value."""
    match = _REFERENCE.fullmatch(text)
    return None if match is None else (match[1], match[2])


def references_in(value: Any) -> Iterator[tuple[str, str]]:
    """Kind and name of every reference. Values under `x-` keys are skipped."""
    if isinstance(value, str):
        found = reference_of(value)
        if found is not None:
            yield found
    elif isinstance(value, list):
        for item in value:
            yield from references_in(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            if not str(key).startswith("x-"):
                yield from references_in(item)


class References:
    """Resolves references with the environment and the files of this process."""

    def __init__(self, folder: Path) -> None:
        """`folder` is the directory of the manifest."""
        self._folder = folder.resolve()

    def resolve(self, text: str) -> str | None:
        """The value of a string of the manifest; None: its reference has no value."""
        reference = reference_of(text)
        if reference is None:
            return text
        kind, name = reference
        if kind == "env":
            # An empty variable counts as unset, because charts render a missing value as an empty string.
            return os.environ.get(name) or None
        if kind == "file":
            return self._file(name)
        return self._secret(name) if kind == "secret" else _now(name)

    def source(self, text: str) -> str:
        """Where the value of a reference comes from, for a log. A literal value is not shown."""
        kind, name = reference_of(text) or ("", "")
        if kind == "env":
            return f"the variable {name} is not set"
        if kind == "secret":
            if os.environ.get("PLATFORM_SECRET_DIR"):
                return f"PLATFORM_SECRET_DIR has no file {name} with the secret"
            return f"neither {_secret_variable(name)} nor PLATFORM_SECRET_DIR is set"
        return f"the file {name} cannot be read" if kind == "file" else "it has no value"

    def _file(self, name: str) -> str | None:
        try:
            path = (self._folder / name).resolve()
            return _text_of(path) if path.is_relative_to(self._folder) else None
        except (OSError, ValueError):
            return None

    def _secret(self, name: str) -> str | None:
        directory = os.environ.get("PLATFORM_SECRET_DIR")
        if not directory:
            return os.environ.get(_secret_variable(name)) or None
        try:
            text = _text_of(Path(directory) / name)
        except (OSError, ValueError):
            return None
        # Editors append a line feed that is not part of the secret.
        return (text or "").removesuffix("\n").removesuffix("\r") or None


def _secret_variable(name: str) -> str:
    return "PLATFORM_SECRET_" + re.sub("[^A-Z0-9]", "_", name.upper())


def _text_of(path: Path) -> str | None:
    if not path.is_file() or path.stat().st_size > _MAX_FILE_BYTES:
        return None
    return path.read_text(encoding="utf-8", errors="replace")


def _now(function: str) -> str | None:
    now = datetime.now(UTC)
    if function == "now_unix":
        return str(int(now.timestamp()))
    if function == "now_date":
        return now.strftime("%Y-%m-%d")
    return iso_time(now) if function == "now_iso" else None


def iso_time(time: datetime) -> str:
    """ISO 8601 with milliseconds."""
    return time.strftime("%Y-%m-%dT%H:%M:%S.") + f"{time.microsecond // 1000:03}Z"
