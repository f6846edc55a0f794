import json
import sys
from pathlib import Path
from typing import Any

import pytest

from agent_compliance import ManifestError, Reporter
from conftest import manifest

YAML = """
metadata: {name: shop}
spec:
  model: {provider: openai, id: gpt-4o, apiKey: "$env:KEY"}
  tools:
    - {name: no, description: 2026-01-01, x-octal: 0o17, x-hex: 0x1F, x-float: 1.5e3, x-null: ~}
"""


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"model": {"provider": "p", "id": "m"}}, "spec.model.apiKey must be a non-empty string"),
        ({"tools": [{}]}, "spec.tools must be a list of objects with a name"),
        ({"tools": None}, "spec.tools must be a list of objects with a name"),
        (
            {"tools": [{"name": "x", "annotations": {"destructiveHint": "yes"}}]},
            "spec.tools[0].annotations.destructiveHint must be true or false",
        ),
        ({"memory": []}, "spec.memory must be an object"),
        ({"memory": {"shortTerm": {"ttlSeconds": True}}}, "spec.memory.shortTerm.ttlSeconds must be a number"),
        ({"requires": {"envVars": [1]}}, "spec.requires.envVars must be a list of strings"),
        ({"guardrails": {"input": [1]}}, "spec.guardrails.input must be a list of objects"),
    ],
)
def test_a_manifest_that_cannot_be_used_is_rejected_with_its_problem(change: dict[str, Any], problem: str) -> None:
    with pytest.raises(ManifestError) as error:
        Reporter(manifest(**change))
    assert problem in error.value.problems


def test_a_fallback_needs_all_members() -> None:
    value = manifest()
    value["spec"]["model"]["fallback"] = {}
    with pytest.raises(ManifestError) as error:
        Reporter(value)
    assert [problem.split(" ")[0] for problem in error.value.problems] == [
        "spec.model.fallback.provider",
        "spec.model.fallback.id",
        "spec.model.fallback.apiKey",
    ]


def test_the_manifest_is_found_in_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ManifestError, match="no manifest was passed"):
        Reporter(env={})
    (tmp_path / "agent.json").write_text(json.dumps(manifest()))
    assert Reporter(env={}).name == "shop"
    (tmp_path / "agent.yaml").write_text(YAML.replace("shop", "from-yaml"))
    assert Reporter(env={}).name == "from-yaml"
    other = tmp_path / "other.json"
    other.write_text(json.dumps({**manifest(), "metadata": {"name": "other"}}))
    assert Reporter(env={"AGENT_MANIFEST": str(other)}).name == "other"


def test_yaml_is_read_as_version_1_2(tmp_path: Path) -> None:
    path = tmp_path / "agent.yaml"
    path.write_text(YAML)
    assert Reporter(path, env={}).manifest["spec"]["tools"] == [
        {
            "name": "no",
            "description": "2026-01-01",
            "x-octal": 15,
            "x-hex": 31,
            "x-float": 1500.0,
            "x-null": None,
        }
    ]


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("agent.json", "{", "is not valid JSON"),
        ("agent.json", "[1]", "metadata.name must be a non-empty string"),
        ("agent.yaml", "a: [", "is not valid YAML"),
        ("agent.yaml", "", "metadata.name must be a non-empty string"),
    ],
)
def test_a_file_that_is_no_manifest(tmp_path: Path, name: str, text: str, reason: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(ManifestError, match=reason.replace(".", r"\.")):
        Reporter(str(tmp_path / name), env={})


def test_a_missing_file() -> None:
    with pytest.raises(ManifestError, match=r"cannot read /no/such\.json: FileNotFoundError"):
        Reporter("/no/such.json", env={})


def test_yaml_without_pyyaml_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "agent.yaml").write_text(YAML)
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(ManifestError, match=r'pip install "agent-compliance\[yaml\]"'):
        Reporter(tmp_path / "agent.yaml", env={})
