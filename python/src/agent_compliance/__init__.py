"""Reporter for AI agents in Python: health checks, token usage, behaviour of each request, policy.

Names are imported at their first use, so that `import agent_compliance` is cheap.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._policy import PolicyDenied, PolicyUnavailable
    from ._settings import ManifestError, PushOptions, SettingsError
    from .behavior import Behavior, current_behavior
    from .reporter import Reporter, default_reporter, set_default_reporter

__version__ = "0.2.0"

__all__ = [
    "Behavior",
    "ManifestError",
    "PolicyDenied",
    "PolicyUnavailable",
    "PushOptions",
    "Reporter",
    "SettingsError",
    "current_behavior",
    "default_reporter",
    "set_default_reporter",
]

_MODULES = {
    "Behavior": "behavior",
    "ManifestError": "_settings",
    "PolicyDenied": "_policy",
    "PolicyUnavailable": "_policy",
    "PushOptions": "_settings",
    "Reporter": "reporter",
    "SettingsError": "_settings",
    "current_behavior": "behavior",
    "default_reporter": "reporter",
    "set_default_reporter": "reporter",
}


def __getattr__(name: str) -> object:
    module = _MODULES.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(__import__(f"{__name__}.{module}", fromlist=[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
