"""What a reporter is created from: its manifest, arguments and variables.

Of the manifest, the members that the reporter reads are checked. `platform validate` checks all of them.
"""

from __future__ import annotations

import os

from ._http import http_url
from ._shared import is_flag, is_list, is_record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any
    from urllib.parse import SplitResult

    # The options are valid, and this is their URL.
    PushSettings = tuple["PushOptions", SplitResult]
    Manifest = dict[str, Any]
    ManifestInput = Mapping[str, Any] | str | os.PathLike[str] | None

_ABSENT = object()


class _InvalidError(ValueError):
    _what: str

    def __init__(self, problems: list[str]) -> None:
        super().__init__(f"the reporter cannot use {self._what}: {'; '.join(problems)}")
        self.problems = tuple(problems)


class ManifestError(_InvalidError):
    """The manifest cannot be used. `problems` has all reasons."""

    _what = "this manifest"


class SettingsError(_InvalidError):
    """An argument or a variable of the reporter is not valid. `problems` has all reasons, without secrets."""

    _what = "these settings"


def at(value: Any, *keys: str) -> Any:
    for key in keys:
        if value is None:
            return None
        value = value.get(key)
    return value


def items_at(value: Any, *keys: str) -> list[Any]:
    found: list[Any] | None = at(value, *keys)
    return found or []


def memory_selection_of(manifest: Manifest) -> tuple[float | None, tuple[str, ...]]:
    """The declared TTL, and the backends of other memories, to whose writes it does not apply."""
    memory = at(manifest, "spec", "memory")
    short_term = at(memory, "shortTerm", "backend") or at(memory, "backend")
    others = [at(memory, role, "backend") for role in ("longTerm", "vector")]
    return at(memory, "shortTerm", "ttlSeconds"), tuple(
        each for each in others if each is not None and each != short_term
    )


def price_of(manifest: Manifest) -> tuple[float, float] | None:
    """US dollars per million prompt and completion tokens, if both are declared."""
    prices = at(manifest, "spec", "model", "costControls", "usdPerMillionTokens")
    prompt, completion = at(prices, "input"), at(prices, "output")
    return None if prompt is None or completion is None else (prompt, completion)


def load_manifest(given: ManifestInput, env: Mapping[str, str]) -> tuple[Manifest, str]:
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
    return _yaml_value(text, path)


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


_TAG = "tag:yaml.org,2002:"


def _yaml_value(text: str, path: str) -> object:
    try:
        import yaml
    except ImportError as error:
        message = f'reading {path} needs PyYAML: pip install "agent-compliance[yaml]", or pass a dict or a .json file'
        raise ManifestError([message]) from error
    try:
        value: object = yaml.load(text, _loader())  # noqa: S506 - a subclass of SafeLoader
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ManifestError([f"{path} is not valid YAML"]) from error
    return value


def _loader() -> Any:
    """PyYAML alone reads YAML 1.1: `no` as false and `2026-01-01` as a date."""
    import re

    import yaml

    class Loader(yaml.SafeLoader):
        yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012

    def integer(loader: Any, node: Any) -> int:
        digits: str = loader.construct_scalar(node)
        return int(digits, {"0o": 8, "0x": 16}.get(digits[:2], 10))

    untyped: Any = Loader
    for name, pattern, first in (
        ("bool", "true|True|TRUE|false|False|FALSE", [*"tTfF"]),
        ("null", "~|null|Null|NULL|", ["~", "n", "N", ""]),
        ("int", "[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", [*"-+0123456789"]),
        ("float", r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", [*"-+.0123456789"]),
    ):
        untyped.add_implicit_resolver(_TAG + name, re.compile(f"^(?:{pattern})$"), first)
    untyped.add_constructor(_TAG + "int", integer)
    return Loader


SIDECAR_URL = "http://127.0.0.1:4001"


class PushOptions:
    """The control plane that receives the heartbeats of an agent without a sidecar.

    Set either `key` (a registration key) or `token_file`. A key is renewed in memory, and in `key_store_path` if it
    is set; a registration key in `token_file` is renewed in the file.
    """

    def __init__(
        self,
        url: str,
        *,
        key: str | None = None,
        token_file: str | None = None,
        key_store_path: str | None = None,
        ca_file: str | None = None,
        interval_seconds: int = 30,
        instance: str | None = None,
    ) -> None:
        self.url = url
        self.key = key
        self.token_file = token_file
        self.key_store_path = key_store_path
        self.ca_file = ca_file
        self.interval_seconds = interval_seconds
        self.instance = instance

    def __repr__(self) -> str:
        return f"PushOptions(url={self.url!r})"


def sidecar_url(argument: str | None, env: Mapping[str, str]) -> SplitResult:
    return _url_of("sidecar_url", argument, "PLATFORM_SIDECAR_URL", env) or _parsed_url("sidecar_url", SIDECAR_URL)


def policy_url(argument: str | None, env: Mapping[str, str]) -> SplitResult | None:
    return _url_of("policy_url", argument, "POLICY_URL", env)


def seconds(name: str, value: float) -> float:
    if isinstance(value, bool) or not 0 < value <= 1_000_000:
        raise SettingsError([f"{name} must be a number of seconds above 0"])
    return value


def push_settings(argument: PushOptions | bool | None, env: Mapping[str, str]) -> PushSettings | None:
    """None: no push. Without an argument the `PLATFORM_*` variables are used; False disables push."""
    if argument is False:
        return None
    if isinstance(argument, PushOptions):
        return _checked_push(argument, {name: f"push.{name}" for name in _VARIABLES})
    if not env.get("PLATFORM_URL"):
        return None
    return _checked_push(_from_environment(env), _VARIABLES)


_VARIABLES = {
    "url": "PLATFORM_URL",
    "key": "PLATFORM_KEY",
    "token_file": "PLATFORM_TOKEN_FILE",
    "key_store_path": "PLATFORM_KEY_STORE_PATH",
    "ca_file": "PLATFORM_CA_FILE",
    "interval_seconds": "HEARTBEAT_SECONDS",
}


def _from_environment(env: Mapping[str, str]) -> PushOptions:
    given = {name: env[variable] for name, variable in _VARIABLES.items() if env.get(variable)}
    interval = given.pop("interval_seconds", "30")
    return PushOptions(**given, interval_seconds=int(interval) if interval.isdecimal() and len(interval) < 6 else 0)


def _checked_push(options: PushOptions, names: dict[str, str]) -> PushSettings:
    problems: list[str] = []
    url = http_url(options.url)
    if url is None:
        problems.append(f"{names['url']} must be a URL with the http: or https: protocol")
    interval = options.interval_seconds
    if type(interval) is not int or not 10 <= interval <= 3600:
        problems.append(f"{names['interval_seconds']} must be an integer from 10 to 3600")
    if (options.key is None) == (options.token_file is None):
        problems.append(f"exactly one of {names['key']} and {names['token_file']} is required")
    elif options.key_store_path is not None and options.key is None:
        problems.append(f"{names['key_store_path']} must be used with {names['key']}")
    # Reported here instead of with every push. Shells and secrets often add a line feed at the end.
    if options.key is not None and not is_sendable(options.key):
        problems.append(f"{names['key']} must consist of visible ASCII characters, without spaces and line feeds")
    if problems or url is None:
        raise SettingsError(problems)
    return options, url


def is_sendable(key: str) -> bool:
    return 0 < len(key) <= 16_384 and all("!" <= character <= "~" for character in key)


def _url_of(name: str, argument: str | None, variable: str, env: Mapping[str, str]) -> SplitResult | None:
    if argument is not None:
        return _parsed_url(name, argument)
    # An empty variable counts as unset, because charts render an empty string for an unset value.
    value = env.get(variable)
    return _parsed_url(variable, value) if value else None


def _parsed_url(name: str, value: str) -> SplitResult:
    url = http_url(value)
    if url is None:
        # The value is not shown, because a URL can contain a password.
        raise SettingsError([f"{name} must be a URL with the http: or https: protocol"])
    return url
