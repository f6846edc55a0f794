"""Shared by the Python programs of the lanes: the tools, which count their runs, and the command loop."""

import asyncio
import inspect
import json
from collections.abc import Callable
from typing import Any

from common import call

RAN: list[str] = []


def multiply(a: int, b: int) -> str:
    """Multiplies two numbers.

    Args:
        a: the first number
        b: the second number
    """
    RAN.append("multiply")
    return str(a * b)


def delete_order(order: str) -> str:
    """Deletes an order.

    Args:
        order: the number of the order
    """
    RAN.append("delete_order")
    return f"{order} is deleted"


def drop_table() -> str:
    """Drops a table."""
    RAN.append("drop_table")
    return "dropped"


# The manifest declares both.
DECLARED = [multiply, delete_order]
# The manifest does not declare the second one.
UNDECLARED = [multiply, drop_table]


def schema_of(tool: Callable[..., str]) -> dict[str, Any]:
    kinds = {int: "integer", str: "string"}
    parameters = inspect.signature(tool).parameters
    return {
        "type": "object",
        "properties": {name: {"type": kinds[each.annotation]} for name, each in parameters.items()},
        "required": list(parameters),
        "additionalProperties": False,
    }


def description_of(tool: Callable[..., str]) -> str:
    return (tool.__doc__ or "").splitlines()[0]


def run_tool(name: str, arguments: Any) -> str:
    """Runs a tool. The arguments are JSON text or a dictionary."""
    given = json.loads(arguments or "{}") if isinstance(arguments, str) else dict(arguments or {})
    return {"multiply": multiply, "delete_order": delete_order, "drop_table": drop_table}[name](**given)


def plain(value: Any) -> Any:
    """JSON of what libraries return."""
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    return [plain(each) for each in value] if isinstance(value, (list, tuple)) else value


def forms(answers: dict[str, Callable[[], Any]]) -> None:
    """Runs forms on command: each gives what the client received, and the tools that ran."""

    # One event loop, because some libraries keep connections between calls.
    runner = asyncio.Runner()

    def command(answer: Callable[[], Any]) -> Callable[[str], Any]:
        def run(_url: str) -> dict[str, Any]:
            RAN.clear()
            received = answer()
            if inspect.iscoroutine(received):
                received = runner.run(received)
            return {"received": plain(received), "ran": list(RAN)}

        return run

    call({name: command(answer) for name, answer in answers.items()})
