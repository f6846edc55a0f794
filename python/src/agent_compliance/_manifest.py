"""Reads the manifest and checks the members that the reporter reads. `platform validate` checks all of them."""

from __future__ import annotations

import os

from ._text import is_flag, is_list, is_record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    Manifest = dict[str, Any]
    ManifestInput = Mapping[str, Any] | str | os.PathLike[str] | None


_ABSENT = object()


class ManifestError(ValueError):
    """The manifest cannot be used. `problems` has all reasons."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__(f"the reporter cannot use this manifest: {'; '.join(problems)}")
        self.problems = tuple(problems)


def load_manifest(given: ManifestInput, env: Mapping[str, str]) -> tuple[Manifest, str]:
    """The manifest, and the directory of its file. Raises ManifestError with all problems."""
    if given is not None and not isinstance(given, (str, os.PathLike)):
        return _checked(dict(given)), "."
    path = _found_path(env) if given is None else os.fspath(given)
    return _checked(_parsed(path)), os.path.dirname(path) or "."


def _found_path(env: Mapping[str, str]) -> str:
    named = env.get("AGENT_MANIFEST")
    if named:
        return named
    for name in ("agent.yaml", "agent.json"):
        if os.path.isfile(name):
            return name
    raise ManifestError(["no manifest was passed, AGENT_MANIFEST is not set, and there is no agent.yaml or agent.json"])


def _parsed(path: str) -> object:
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise ManifestError([f"cannot read {path}: {type(error).__name__}"]) from error
    if path.endswith(".json"):
        import json

        try:
            return json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ManifestError([f"{path} is not valid JSON"]) from error
    from ._yaml import yaml_value

    return yaml_value(text, path)


def _checked(value: object) -> Manifest:
    problems: list[str] = []
    for path, kind, required in _SHAPE:
        for at, found, has_parent in _values_at(value, path.split(".")):
            is_wanted = required == "always" or (required == "in its parent" and has_parent)
            if (found is not _ABSENT or is_wanted) and not _KINDS[kind](found):
                problems.append(f"{at} must be {kind}")
    if problems or not is_record(value):
        raise ManifestError(problems)
    return value


def _values_at(value: object, keys: list[str]) -> list[tuple[str, object, bool]]:
    """Path, value and whether its parent exists, for each place that the path matches."""
    places: list[tuple[str, object, bool]] = [("", value, True)]
    for key in keys:
        following: list[tuple[str, object, bool]] = []
        for at, found, _ in places:
            if key == "*":
                items = found if is_list(found) else []
                following += [(f"{at}[{index}]", item, True) for index, item in enumerate(items)]
            else:
                path = f"{at}.{key}" if at else key
                inner: object = found.get(key, _ABSENT) if is_record(found) else _ABSENT
                following.append((path, inner, is_record(found)))
        places = following
    return places


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < float("inf")


def _is_each(value: object, test: Callable[[object], bool]) -> bool:
    return is_list(value) and all(test(item) for item in value)


def _has_name(value: object) -> bool:
    return is_record(value) and _is_text(value.get("name"))


_KINDS: dict[str, Callable[[object], bool]] = {
    "a non-empty string": lambda value: _is_text(value) and value != "",
    "a string": _is_text,
    "a number": _is_number,
    "true or false": is_flag,
    "an object": is_record,
    "a list of strings": lambda value: _is_each(value, _is_text),
    "a list of objects": lambda value: _is_each(value, is_record),
    "a list of objects with a name": lambda value: _is_each(value, _has_name),
}

# Every member that the reporter reads, outer members first; `*`: each entry of the list.
_SHAPE: tuple[tuple[str, str, str], ...] = (
    ("metadata.name", "a non-empty string", "always"),
    ("spec.model.provider", "a non-empty string", "always"),
    ("spec.model.id", "a non-empty string", "always"),
    ("spec.model.apiKey", "a non-empty string", "always"),
    ("spec.model.fallback", "an object", ""),
    ("spec.model.fallback.provider", "a non-empty string", "in its parent"),
    ("spec.model.fallback.id", "a non-empty string", "in its parent"),
    ("spec.model.fallback.apiKey", "a non-empty string", "in its parent"),
    ("spec.model.costControls", "an object", ""),
    ("spec.model.costControls.maxMonthlyUSD", "a number", ""),
    ("spec.model.costControls.maxTokensPerDay", "a number", ""),
    ("spec.model.costControls.usdPerMillionTokens", "an object", ""),
    ("spec.model.costControls.usdPerMillionTokens.input", "a number", ""),
    ("spec.model.costControls.usdPerMillionTokens.output", "a number", ""),
    ("spec.tools", "a list of objects with a name", ""),
    ("spec.tools.*.annotations", "an object", ""),
    ("spec.tools.*.annotations.destructiveHint", "true or false", ""),
    ("spec.mcp", "an object", ""),
    ("spec.mcp.servers", "a list of objects with a name", ""),
    ("spec.mcp.servers.*.transport", "a string", ""),
    ("spec.mcp.servers.*.command", "a string", ""),
    ("spec.mcp.servers.*.url", "a string", ""),
    ("spec.mcp.servers.*.host", "a string", ""),
    ("spec.mcp.servers.*.port", "a number", ""),
    ("spec.mcp.servers.*.healthCheck", "an object", ""),
    ("spec.mcp.servers.*.healthCheck.timeoutSeconds", "a number", ""),
    ("spec.memory", "an object", ""),
    ("spec.memory.backend", "a string", ""),
    ("spec.memory.shortTerm", "an object", ""),
    ("spec.memory.shortTerm.backend", "a string", ""),
    ("spec.memory.shortTerm.connection", "a string", ""),
    ("spec.memory.shortTerm.ttlSeconds", "a number", ""),
    ("spec.memory.longTerm", "an object", ""),
    ("spec.memory.longTerm.backend", "a string", ""),
    ("spec.memory.longTerm.connectionString", "a string", ""),
    ("spec.memory.vector", "an object", ""),
    ("spec.memory.vector.backend", "a string", ""),
    ("spec.memory.vector.connectionString", "a string", ""),
    ("spec.requires", "an object", ""),
    ("spec.requires.envVars", "a list of strings", ""),
    ("spec.requires.services", "a list of objects", ""),
    ("spec.requires.services.*.name", "a string", ""),
    ("spec.requires.services.*.type", "a string", ""),
    ("spec.requires.services.*.address", "a string", ""),
    ("spec.requires.services.*.critical", "true or false", ""),
    ("spec.guardrails", "an object", ""),
    ("spec.guardrails.input", "a list of objects", ""),
    ("spec.guardrails.input.*.type", "a string", ""),
    ("spec.guardrails.output", "a list of objects", ""),
    ("spec.guardrails.output.*.type", "a string", ""),
    ("spec.guardrails.output.*.threshold", "a number", ""),
    ("spec.evaluation", "an object", ""),
    ("spec.evaluation.datasets", "a list of objects with a name", ""),
    ("spec.observability", "an object", ""),
    ("spec.observability.tracing", "an object", ""),
    ("spec.observability.tracing.backend", "a string", ""),
    ("spec.observability.tracing.endpoint", "a string", ""),
)
