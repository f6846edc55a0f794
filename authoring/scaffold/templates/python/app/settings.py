"""The model and the system prompt of the manifest."""

from dataclasses import dataclass
from typing import Any

from platform_reporter import model_api

from .manifest import MANIFEST, NAME, REFERENCES, SPEC

# Used where agent.yaml declares no system prompt.
PROMPT_FILE = "$file:prompts/system.md"
# Names of the parameters in the manifest and in the clients.
_PARAMETERS = {
    "temperature": "temperature",
    "maxTokens": "max_tokens",
    "topP": "top_p",
    "frequencyPenalty": "frequency_penalty",
    "presencePenalty": "presence_penalty",
}


class NotConfigured(Exception):
    """The model cannot be called. The text is for the caller of the agent, `detail` only for its log."""

    def __init__(self, text: str, detail: str = "") -> None:
        super().__init__(text)
        self.detail = detail


@dataclass(frozen=True)
class Model:
    """A model behind an API that is compatible with OpenAI."""

    id: str
    base_url: str
    api_key: str
    parameters: dict[str, Any]


def model() -> Model:
    """The declared model with the key of this environment. Raises NotConfigured."""
    declared = SPEC["model"]
    api = model_api(declared["provider"])
    if isinstance(api, str):
        raise NotConfigured(api)
    if api.openai_url is None:
        raise NotConfigured("no API that is compatible with OpenAI is known for the declared provider")
    key = REFERENCES.resolve(declared["apiKey"])
    if key is None:
        raise NotConfigured(
            "the API key of the model is not set", f"spec.model.apiKey: {REFERENCES.source(declared['apiKey'])}"
        )
    parameters = declared.get("parameters") or {}
    return Model(
        id=model_id(),
        base_url=api.openai_url,
        api_key=key,
        parameters={name: parameters[key] for key, name in _PARAMETERS.items() if key in parameters},
    )


def model_id() -> str:
    """The id of the declared model."""
    return REFERENCES.resolve(SPEC["model"]["id"]) or SPEC["model"]["id"]


def system_prompt() -> str:
    """The declared system prompt with its variables, else the one in prompts/."""
    prompts = SPEC.get("prompts") or {}
    text = REFERENCES.resolve(prompts.get("system") or PROMPT_FILE)
    if text is None:
        text = f"You are {NAME}. {MANIFEST['metadata']['description']}"
    for variable in prompts.get("variables") or []:
        text = text.replace("{{" + variable["name"] + "}}", REFERENCES.resolve(variable["value"]) or "")
    return text
