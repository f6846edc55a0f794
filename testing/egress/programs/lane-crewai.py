"""MODEL: the model with the name of its vendor, as CrewAI writes it."""

import os
from typing import Any

from common import QUESTION
from crewai import LLM, Agent, Crew, Task
from crewai.tools import tool
from lane_tools import DECLARED, UNDECLARED, forms


def kickoff(tools: list[Any]) -> Any:
    agent = Agent(
        role="calculator",
        goal="calculate",
        backstory="a clerk",
        llm=LLM(model=os.environ["MODEL"]),
        tools=[tool(each.__name__)(each) for each in tools],
    )
    task = Task(description=QUESTION, expected_output="a number", agent=agent)
    result = Crew(agents=[agent], tasks=[task]).kickoff()
    return {"raw": result.raw, "usage": result.token_usage}


forms(
    {
        "text": lambda: kickoff([]),
        "tools": lambda: kickoff(DECLARED),
        "undeclared": lambda: kickoff(UNDECLARED),
    }
)
