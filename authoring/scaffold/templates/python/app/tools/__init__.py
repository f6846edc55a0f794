"""The tools of the manifest. tools.json has the module of each tool."""

import importlib
import json
import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from platform_reporter import Behavior

from ..conversation import encodable
from ..manifest import SPEC

_LOG = logging.getLogger(__name__)
TIMEOUT_SECONDS = 30
_MAX_RESULT = 20_000
_NEEDS_CONFIRMATION = (
    "This tool may change or delete data and was not called. Ask the user to confirm; the client then sends"
    ' "confirmed": true with the request.'
)


@dataclass(frozen=True)
class Tool:
    """One declared tool."""

    name: str
    """Name in the manifest, which reports use."""
    call_name: str
    """Name that the model sees: letters, digits, `_` and `-`."""
    module: str
    description: str
    is_destructive: bool
    run: Callable[[str], object]


def _load() -> list[Tool]:
    declared = {tool["name"]: tool for tool in SPEC.get("tools") or []}
    entries = json.loads(Path(__file__).with_name("tools.json").read_text(encoding="utf-8"))
    return [_tool(entry, declared[entry["name"]]) for entry in entries if entry["name"] in declared]


def _tool(entry: dict[str, Any], declared: dict[str, Any]) -> Tool:
    return Tool(
        name=entry["name"],
        call_name=entry["callName"],
        module=entry["module"],
        description=(declared.get("description") or entry["name"])[:1000],
        is_destructive=(declared.get("annotations") or {}).get("destructiveHint") is True,
        run=_function_of(entry["module"]),
    )


def _function_of(module: str) -> Callable[[str], object]:
    """The function of a tool. A module with an error is a tool that fails: the other tools work."""
    try:
        return importlib.import_module(f"{__name__}.{module}").run
    except (Exception, SystemExit) as error:
        _LOG.exception("app/tools/%s.py cannot be imported", module)
        PROBLEMS[module] = f"{type(error).__name__}: {error}"
        return _not_importable


def _not_importable(_text: str) -> str:
    raise NotImplementedError


# Module and reason of each tool that cannot be imported. The tests of the project check that it is empty.
PROBLEMS: dict[str, str] = {}
TOOLS: list[Tool] = _load()


class ToolCalls:
    """The tool calls of one request."""

    def __init__(self, behavior: Behavior, confirmed: bool) -> None:
        self._behavior = behavior
        self._confirmed = confirmed
        self.results: list[str] = []

    def call(self, tool: Tool, text: str) -> str:
        """Calls a tool, reports the call, and returns the text for the model. Waits at most 30 seconds."""
        if tool.is_destructive and not self._confirmed:
            return _NEEDS_CONFIRMATION
        started = time.monotonic()
        success, result = _run(tool, text)
        self._behavior.tool(tool.name, success=success, latency_ms=round((time.monotonic() - started) * 1000))
        self.results.append(result)
        return result


def _run(tool: Tool, text: str) -> tuple[bool, str]:
    """In a thread, so that a tool that hangs does not hang the agent."""
    outcome: list[tuple[bool, str]] = []
    thread = threading.Thread(target=lambda: outcome.append(_outcome(tool, text)), daemon=True)
    thread.start()
    thread.join(TIMEOUT_SECONDS)
    return outcome[0] if outcome else (False, f"The tool did not finish within {TIMEOUT_SECONDS} seconds.")


def _outcome(tool: Tool, text: str) -> tuple[bool, str]:
    try:
        result = tool.run(text)
        shown = result if isinstance(result, str) else json.dumps(result, default=str)
    except NotImplementedError:
        return False, "This tool is not implemented yet."
    except BaseException as error:
        _LOG.exception("tool %s failed", tool.module)
        return False, f"The tool failed: {type(error).__name__}."
    return True, encodable(shown[:_MAX_RESULT])
