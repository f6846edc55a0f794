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
    "_policy": ("PolicyDenied", "PolicyUnavailable"),
    "_settings": ("ManifestError", "PushOptions", "SettingsError"),
    "behavior": ("Behavior", "current_behavior"),
    "reporter": ("Reporter", "default_reporter", "set_default_reporter"),
}


def __getattr__(name: str) -> object:
    for module, names in _MODULES.items():
        if name in names:
            value: object = getattr(__import__(f"{__name__}.{module}", fromlist=[name]), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
