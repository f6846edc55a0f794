"""Fixtures of the integrations: a model, a sidecar and a reporter on sockets, and the packages of the frameworks."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from agent_compliance import Reporter, set_default_reporter
from conftest import SLOW
from fake_model import FakeModel
from fake_sidecar import FakeSidecar

TESTS = Path(__file__).parents[1]
pytest.register_assert_rewrite("integrations.contract", "integrations.web")

# No framework sends what the tests do to its vendor.
ENVIRONMENT = {
    "CREWAI_DISABLE_TELEMETRY": "true",
    "CREWAI_TRACING_ENABLED": "false",
    "OTEL_SDK_DISABLED": "true",
    "LANGSMITH_TRACING": "false",
    "OPENAI_API_KEY": "key",
    "FASTMCP_CHECK_FOR_UPDATES": "off",
    "NO_PROXY": "127.0.0.1,localhost",
}

MANIFEST: dict[str, Any] = {
    "apiVersion": "platform.io/v1",
    "kind": "PlatformAgent",
    "metadata": {"name": "calculator", "version": "1.0.0", "description": "calculates"},
    "spec": {
        "model": {"provider": "openai", "id": "gpt-4o-mini", "apiKey": "$env:OPENAI_API_KEY"},
        "tools": [{"name": "multiply", "type": "function", "description": "multiplies"}],
        "guardrails": {"input": [{"type": "pii-detector"}]},
    },
}


def _add_packages() -> str | None:
    """Adds the packages of the frameworks after those of this environment. The reason if they are not installed."""
    folder = os.environ.get("AGENT_COMPLIANCE_FRAMEWORKS")
    script = TESTS.parents[1] / "scripts" / "framework-packages.sh"
    if not folder and not script.exists():
        return "AGENT_COMPLIANCE_FRAMEWORKS does not name the directory of the packages of the frameworks"
    if not folder:
        run = subprocess.run([script, "python", "--installed"], capture_output=True, text=True, check=False)
        if run.returncode != 0:
            return (run.stdout + run.stderr).strip()
        folder = run.stdout.strip()
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    packages = Path(folder) / "lib" / version / "site-packages"
    if not packages.is_dir():
        return f"the packages of the frameworks are not those of {version}"
    if str(packages) not in sys.path:
        sys.path.append(str(packages))
    return None


_MISSING = _add_packages()


@pytest.fixture(autouse=True)
def packages() -> None:
    """Skips with the reason where this machine does not have the frameworks."""
    if _MISSING is not None:
        pytest.skip(_MISSING)


@pytest.fixture(autouse=True, scope="package")
def environment() -> Iterator[None]:
    """Sets the environment before a framework is imported, and only for these tests."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in ENVIRONMENT.items():
            patch.setenv(name, value)
        yield


@pytest.fixture(scope="session")
def model_server() -> Iterator[FakeModel]:
    with closing(FakeModel()) as model:
        yield model


@pytest.fixture
def model(model_server: FakeModel) -> FakeModel:
    model_server.reset()
    return model_server


@pytest.fixture
def sidecar() -> Iterator[FakeSidecar]:
    with closing(FakeSidecar()) as sidecar:
        yield sidecar


@pytest.fixture
def reporter(sidecar: FakeSidecar) -> Iterator[Reporter]:
    reporter = Reporter(MANIFEST, sidecar_url=sidecar.url, env={})
    # Not the limit of two seconds, which a slow machine reaches.
    reporter.events._timeout = SLOW
    set_default_reporter(reporter)
    yield reporter
    reporter.stop()
    reporter.events.close()
    set_default_reporter(None)
