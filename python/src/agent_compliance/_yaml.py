"""Reads YAML 1.2 as the sidecar does. Needs PyYAML: `pip install "agent-compliance[yaml]"`."""

from __future__ import annotations

from ._manifest import ManifestError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_TAG = "tag:yaml.org,2002:"


def yaml_value(text: str, path: str) -> object:
    """The value of a YAML document. Raises ManifestError."""
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
