"""Two distributions: the package, and the integrations of agent frameworks that are installed into it."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import agent_compliance

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PYTHON = Path(__file__).resolve().parents[1]
LOCK = PYTHON.parent / "testing" / "frameworks" / "packages" / "requirements.txt"
MODULES = [path.stem for path in (PYTHON / "integrations" / "src").rglob("[a-z]*.py")]
VERSION = agent_compliance.__version__


def project(folder: str) -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads((PYTHON / folder / "pyproject.toml").read_text())["project"]
    return found


def run(program: str) -> str:
    """Runs a program that has only the sources of the core."""
    code = f"import sys; sys.path.insert(0, {str(PYTHON / 'src')!r})\n{program}"
    result = subprocess.run(
        [sys.executable, "-I", "-c", code], timeout=120, check=False, capture_output=True, text=True
    )
    return result.stdout + result.stderr


@pytest.mark.parametrize("module", MODULES)
def test_an_integration_that_is_not_installed_names_the_command(module: str) -> None:
    extra = module.replace("_", "-")
    package = "agent_compliance.integrations"
    for line in (f"from {package} import {module}", f"from {package}.{module} import install"):
        message = f'ImportError: {package}.{module} is not installed: pip install "agent-compliance[{extra}]"'
        assert message in run(line)
    assert extra in project(".")["optional-dependencies"]


def test_other_modules_are_missing_as_usual() -> None:
    assert "cannot import name 'nothing'" in run("from agent_compliance.integrations import nothing")
    assert "ModuleNotFoundError: No module named" in run("import agent_compliance.integrations.nothing")
    assert run("from agent_compliance.integrations import flask\nimport agent_compliance.integrations.starlette") == ""


def test_the_integrations_can_be_in_another_directory() -> None:
    other = str(PYTHON / "integrations" / "src")
    program = (
        f"sys.path.append({other!r})\nfrom agent_compliance.integrations import langchain\nprint(langchain.__file__)"
    )
    assert run(program).startswith(other)


def test_both_distributions_have_one_version() -> None:
    integrations = project("integrations")
    assert integrations["version"] == VERSION
    assert integrations["dependencies"] == [f"agent-compliance=={VERSION}"]


def test_the_extras_require_what_is_tested() -> None:
    locked = dict(re.findall(r"^([a-z-]+)==([0-9.]+)", LOCK.read_text(), re.MULTILINE))
    extras: dict[str, list[str]] = project(".")["optional-dependencies"]
    assert extras.pop("yaml") == ["pyyaml>=6"]
    for integrations, framework in extras.values():
        name, _, version = framework.partition(">=")
        assert (integrations, version) == (f"agent-compliance-integrations=={VERSION}", locked[name])
