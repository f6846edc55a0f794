"""The page of the frameworks: an agent without this package, with the lines that the page prints."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import textwrap
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from conftest import wait_for
from fake_model import FakeModel
from fake_sidecar import FakeSidecar
from integrations.conftest import ENVIRONMENT
from integrations.contract import QUESTION

ROOT = Path(__file__).resolve().parents[3]
# Directory of the example, and heading of its section.
PAGES = {
    "langgraph": "LangGraph",
    "langchain": "LangChain",
    "openai-agents": "OpenAI Agents",
    "crewai": "CrewAI",
    "pydantic-ai": "pydantic-ai",
    "autogen": "AutoGen",
}
OWN_LINE = re.compile(r"agent_compliance|set_default_reporter|current_behavior|\.install\(")


def agent_of(page: str) -> str:
    """The example without its own lines, with the blocks of its section where a user would insert them."""
    text = (ROOT / "docs/guide/frameworks.md").read_text(encoding="utf-8")
    section = text.partition(f"\n## {PAGES[page]} (Python)\n")[2].partition("\n## ")[0]
    blocks: list[str] = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    places = ["app = FastAPI()", "is_blocked = "]
    lines: list[str] = []
    for line in (ROOT / "examples/agents-python" / page / "main.py").read_text(encoding="utf-8").splitlines():
        if OWN_LINE.search(line):
            continue
        lines.append(line)
        if places and line.lstrip().startswith(places[0]):
            places.pop(0)
            indent = line[: len(line) - len(line.lstrip())]
            lines.append(textwrap.indent(blocks.pop(0) if blocks else "", indent))
    assert blocks == []
    return "\n".join(lines)


@contextmanager
def running(page: str, folder: Path, port: int, model: FakeModel, sidecar: FakeSidecar) -> Iterator[str]:
    """The agent in a process of its own, as a user starts it."""
    (folder / "main.py").write_text(agent_of(page), encoding="utf-8")
    manifest = (ROOT / "examples/agents-python" / page / "agent.yaml").read_text(encoding="utf-8")
    (folder / "agent.yaml").write_text(manifest, encoding="utf-8")
    env = {
        **os.environ,
        **ENVIRONMENT,
        "PYTHONPATH": os.pathsep.join(sys.path),
        "OPENAI_BASE_URL": model.url,
        "PLATFORM_SIDECAR_URL": sidecar.url,
        "PORT": str(port),
    }
    with (
        (folder / "log").open("wb") as log,
        subprocess.Popen(
            [sys.executable, "main.py"], cwd=folder, env=env, stdout=log, stderr=subprocess.STDOUT
        ) as agent,
    ):
        url = f"http://127.0.0.1:{port}"
        try:
            wait_for(lambda: has_ended(agent) or status_of(f"{url}/health") == 200, "the agent")
            assert agent.poll() is None, (folder / "log").read_text()
            yield url
        finally:
            agent.terminate()


def has_ended(agent: subprocess.Popen[bytes]) -> bool:
    """Waits a moment: some frameworks need many seconds to load."""
    with suppress(subprocess.TimeoutExpired):
        agent.wait(0.1)
    return agent.returncode is not None


def status_of(url: str, message: str | None = None) -> int:
    """The status of the response; 0: there is none."""
    body = None if message is None else json.dumps({"message": message}).encode()
    request = urllib.request.Request(url, body, {"content-type": "application/json", "x-request-id": "r-1"})
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            return int(response.status)
    except urllib.error.HTTPError as error:
        return error.code
    except urllib.error.URLError:
        return 0


@pytest.mark.parametrize("page", PAGES)
def test_the_lines_of_the_page(
    page: str, tmp_path: Path, closed_port: int, model: FakeModel, sidecar: FakeSidecar
) -> None:
    with running(page, tmp_path, closed_port, model, sidecar) as url:
        log = tmp_path / "log"
        assert status_of(f"{url}/v1/chat", QUESTION) == 200, log.read_text()
        assert len(model.calls) > 0
        calls = len(model.calls)
        assert status_of(f"{url}/v1/chat", "I am ann.lee@example.com") == 422, log.read_text()
        assert len(model.calls) == calls
        wait_for(lambda: any(event.get("blocked") for event in sidecar.events.get("r-1", [])), "the guardrail")
        assert "no open request" not in log.read_text()
