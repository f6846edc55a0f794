"""Addresses of model vendors."""

import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TABLES: dict[str, Any] = json.loads(Path(__file__).with_name("tables.json").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class ModelApi:
    """How to reach a vendor's API."""

    check_url: str
    """The cheapest GET that requires the key."""
    key_header: str
    headers: dict[str, str]
    rejected: list[int]
    openai_url: str | None
    """Base URL of the API that is compatible with OpenAI; None: unknown."""

    def headers_with(self, key: str) -> dict[str, str]:
        value = f"Bearer {key}" if self.key_header == "authorization" else key
        return {"accept": "application/json", **self.headers, self.key_header: value}


def model_api(provider: str) -> ModelApi | str:
    """The API of a declared provider, or the reason why its address is unknown.

    `<PROVIDER>_BASE_URL` replaces the address.
    """
    folded = provider.strip().lower()
    name = TABLES["aliases"].get(folded, folded)
    variable = (
        "AZURE_OPENAI_ENDPOINT" if name == "azure" else re.sub("[^A-Z0-9]", "_", name.upper()) + "_BASE_URL"
    )
    known = TABLES["vendors"].get(name)
    given = os.environ.get(variable)
    base = given or (known or {}).get("baseUrl")
    if not base:
        return f"no API address is known for provider {provider}: set {variable}"
    if not re.match("https?://", base):
        return f"{variable} is not an http(s) URL"
    row = known or TABLES["vendors"]["openai"]
    base = base.rstrip("/")
    path = row["openAiPath"]
    return ModelApi(
        check_url=base + row["checkPath"],
        key_header=row["keyHeader"],
        headers=row["headers"],
        rejected=row["rejected"],
        openai_url=(base if given else None) if path is None else base + path,
    )
