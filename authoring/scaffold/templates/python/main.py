"""Starts the agent: `python main.py`."""

import os

import uvicorn

from app.manifest import SPEC
from app.server import app

if __name__ == "__main__":
    port = int(os.environ.get("PORT") or (SPEC.get("api") or {}).get("port") or 8000)
    uvicorn.run(app, host=os.environ.get("HOST") or "0.0.0.0", port=port, server_header=False)
