"""Reads agent.yaml."""

import os
import re
from pathlib import Path
from typing import Any

import yaml

from platform_reporter import References

ROOT = Path(__file__).resolve().parent.parent
PATH = Path(os.environ.get("MANIFEST_PATH") or ROOT / "agent.yaml")


class _Loader(yaml.SafeLoader):
    """YAML 1.2 as the sidecar reads it. PyYAML alone reads `no` as false and `2026-01-01` as a date."""

    yaml_implicit_resolvers: dict[str, Any] = {}


def _integer(loader: _Loader, node: yaml.ScalarNode) -> int:
    text = loader.construct_scalar(node)
    return int(text, {"0o": 8, "0x": 16}.get(text[:2], 10))


_TAG = "tag:yaml.org,2002:"
for _name, _pattern, _first in (
    ("bool", "true|True|TRUE|false|False|FALSE", "tTfF"),
    ("null", "~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("int", "[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", "-+0123456789"),
    ("float", r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", "-+.0123456789"),
):
    _Loader.add_implicit_resolver(_TAG + _name, re.compile(f"^(?:{_pattern})$"), list(_first))
_Loader.add_constructor(_TAG + "int", _integer)

MANIFEST: dict[str, Any] = yaml.load(PATH.read_text(encoding="utf-8"), _Loader)
SPEC: dict[str, Any] = MANIFEST["spec"]
NAME: str = MANIFEST["metadata"]["name"]
REFERENCES = References(PATH.resolve().parent)
