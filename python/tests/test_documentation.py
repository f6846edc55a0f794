"""The examples of the documentation run as they are written."""

import ast
import json
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from conftest import manifest

ROOT = Path(__file__).resolve().parents[2]
TEXT = "".join((ROOT / name).read_text(encoding="utf-8") for name in ("python/README.md", "docs/guide/python.md"))
FRAMEWORKS = (ROOT / "docs/guide/frameworks.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", FRAMEWORKS, re.DOTALL)
EXAMPLES = re.findall(r"```python\n(# ([a-z]+\.py).*?)```", TEXT, re.DOTALL)


def test_there_are_examples() -> None:
    assert [name for _, name in EXAMPLES] == ["asgi.py", "asgi.py", "wsgi.py", "chat.py", "handler.py"]


@pytest.mark.parametrize(("code", "name"), EXAMPLES, ids=[name for _, name in EXAMPLES])
def test_example(
    code: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for package in re.findall(r"^from (fastapi|flask) ", code, re.MULTILINE):
        pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    # JSON is YAML.
    (tmp_path / "agent.yaml").write_text(json.dumps(manifest()))
    members: dict[str, Any] = {"__name__": name}
    exec(compile(code, name, "exec"), members)
    if name == "handler.py":
        assert "'x-platform-tools-called': 'search'" in capsys.readouterr().out
    if name == "chat.py":
        assert answer_of(members["app"]) == b"You said: hello"


@pytest.mark.parametrize("block", BLOCKS)
def test_lines_of_a_framework_are_a_program(block: str) -> None:
    compile(block, "block", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


def test_the_line_for_django_is_its_setting() -> None:
    (line,) = re.findall(r"^MIDDLEWARE = .*$", FRAMEWORKS, re.MULTILINE)
    settings: dict[str, Any] = {}
    exec(line, settings)
    (path,) = settings["MIDDLEWARE"]
    module, _, name = path.rpartition(".")
    assert hasattr(import_module(module), name)


def answer_of(app: Any) -> bytes:
    import asyncio

    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": "/v1/chat", "headers": []}
    asyncio.run(app(scope, None, send))
    app.reporter.stop()
    assert (b"x-platform-guardrails-invoked", b"pii-detector") in sent[0]["headers"]
    body: bytes = sent[1]["body"]
    return body


def test_every_name_of_the_package_is_documented() -> None:
    import agent_compliance

    assert [name for name in agent_compliance.__all__ if name not in TEXT] == ["Behavior"]
