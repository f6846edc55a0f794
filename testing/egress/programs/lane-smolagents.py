from typing import Any

from common import QUESTION
from lane_tools import DECLARED, UNDECLARED, forms
from smolagents import OpenAIModel, ToolCallingAgent, tool


def run(tools: list[Any]) -> Any:
    agent = ToolCallingAgent(
        tools=[tool(each) for each in tools], model=OpenAIModel(model_id="gpt-4o-mini"), verbosity_level=0
    )
    result = agent.run(QUESTION, return_full_result=True)
    return {"output": result.output, "state": result.state}


forms(
    {
        "text": lambda: run([]),
        "tools": lambda: run(DECLARED),
        "undeclared": lambda: run(UNDECLARED),
    }
)
