"""Logs and traces."""

import os

import structlog
from langfuse.langchain import CallbackHandler

log = structlog.get_logger()


def callbacks() -> list[CallbackHandler]:
    """Traces are sent only if the key of the project is set."""
    if os.environ.get("LANGFUSE_SECRET_KEY", "") == "":
        return []
    return [CallbackHandler()]
