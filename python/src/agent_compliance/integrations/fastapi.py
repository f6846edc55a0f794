"""FastAPI: `fastapi.install(app)`. A FastAPI application is a Starlette application."""

from __future__ import annotations

from .starlette import install

__all__ = ["install"]
