"""Settings of the reporter, from its arguments and the environment."""

from __future__ import annotations

from ._http import http_url

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from urllib.parse import SplitResult

SIDECAR_URL = "http://127.0.0.1:4001"


class SettingsError(ValueError):
    """An argument or a variable of the reporter is not valid. `problems` has all reasons, without secrets."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__(f"the reporter cannot use these settings: {'; '.join(problems)}")
        self.problems = tuple(problems)


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


class PushSettings:
    """Checked settings of the push."""

    def __init__(self, options: PushOptions, url: SplitResult, interval_seconds: int) -> None:
        self.url = url
        self.key = options.key
        self.token_file = options.token_file
        self.key_store_path = options.key_store_path
        self.ca_file = options.ca_file
        self.interval_seconds = interval_seconds
        self.instance = options.instance or _host_name()


def sidecar_url(argument: str | None, env: Mapping[str, str]) -> SplitResult:
    """The URL of the sidecar's control port."""
    return _url_of("sidecar_url", argument, "PLATFORM_SIDECAR_URL", env) or _parsed("sidecar_url", SIDECAR_URL)


def policy_url(argument: str | None, env: Mapping[str, str]) -> SplitResult | None:
    """The URL of the policy engine; None: the rules are evaluated in this process."""
    return _url_of("policy_url", argument, "POLICY_URL", env)


def seconds(name: str, value: float) -> float:
    """A positive number of seconds."""
    if isinstance(value, bool) or not 0 < value <= 1_000_000:
        raise SettingsError([f"{name} must be a number of seconds above 0"])
    return value


def push_settings(argument: PushOptions | bool | None, env: Mapping[str, str]) -> PushSettings | None:
    """None: no push. Without an argument the `PLATFORM_*` variables are used; False disables push."""
    if argument is False:
        return None
    if isinstance(argument, PushOptions):
        return _checked(argument, {name: f"push.{name}" for name in _VARIABLES})
    if not env.get("PLATFORM_URL"):
        return None
    return _checked(_from_environment(env), _VARIABLES)


_VARIABLES = {
    "url": "PLATFORM_URL",
    "key": "PLATFORM_KEY",
    "token_file": "PLATFORM_TOKEN_FILE",
    "key_store_path": "PLATFORM_KEY_STORE_PATH",
    "interval_seconds": "HEARTBEAT_SECONDS",
}


def _from_environment(env: Mapping[str, str]) -> PushOptions:
    interval = env.get("HEARTBEAT_SECONDS") or "30"
    return PushOptions(
        env["PLATFORM_URL"],
        key=env.get("PLATFORM_KEY") or None,
        token_file=env.get("PLATFORM_TOKEN_FILE") or None,
        key_store_path=env.get("PLATFORM_KEY_STORE_PATH") or None,
        ca_file=env.get("PLATFORM_CA_FILE") or None,
        interval_seconds=int(interval) if interval.isdecimal() and len(interval) < 6 else 0,
    )


def _checked(options: PushOptions, names: dict[str, str]) -> PushSettings:
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
    return PushSettings(options, url, interval)


def is_sendable(key: str) -> bool:
    """Whether the key is a valid header value: visible ASCII."""
    return 0 < len(key) <= 16_384 and all("!" <= character <= "~" for character in key)


def _url_of(name: str, argument: str | None, variable: str, env: Mapping[str, str]) -> SplitResult | None:
    if argument is not None:
        return _parsed(name, argument)
    # An empty variable counts as unset, because charts render an empty string for an unset value.
    value = env.get(variable)
    return _parsed(variable, value) if value else None


def _parsed(name: str, value: str) -> SplitResult:
    url = http_url(value)
    if url is None:
        # The value is not shown, because a URL can contain a password.
        raise SettingsError([f"{name} must be a URL with the http: or https: protocol"])
    return url


def _host_name() -> str:
    import socket

    return socket.gethostname()
