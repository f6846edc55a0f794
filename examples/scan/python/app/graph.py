"""The agent: a model with tools, and a memory of each conversation."""

from pathlib import Path

from langgraph.prebuilt import create_react_agent

from app.llm import model
from app.mcp_servers import mcp_tools
from app.memory import conversations
from app.tools import TOOLS

PROMPT = Path(__file__).parent.parent / "prompts" / "system.md"


async def build_agent():
    return create_react_agent(
        model,
        [*TOOLS, *await mcp_tools()],
        prompt=PROMPT.read_text(encoding="utf-8"),
        checkpointer=conversations(),
    )
