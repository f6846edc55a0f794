"""Imports what the threads of the package need, before they start.

A fork copies the lock of a module that another thread imports. Nothing releases it in the child, so that the next
import of that module would wait forever: servers fork their workers after they have loaded the application.
"""

from __future__ import annotations

# http.client imports ssl if this Python has it.
_NAMES = (
    "base64",
    "contextlib",
    "datetime",
    "email.utils",
    "encodings.idna",
    "encodings.utf_16_le",
    "errno",
    "http.client",
    "io",
    "ipaddress",
    "json",
    "logging",
    "re",
    "socket",
    "tempfile",
    "urllib.parse",
    "agent_compliance._checks",
    "agent_compliance._probes",
    "agent_compliance.behavior",
)


def import_modules() -> None:
    """Imports the modules in the thread of the caller."""
    for name in _NAMES:
        __import__(name)
