import asyncio

from common import MODEL, QUESTION, serve
from crewai import LLM, Agent, Crew, Task
from crewai.tools import tool
from starlette.responses import JSONResponse


@tool("multiply")
def multiply(a: int, b: int) -> int:
    """Multiplies two numbers."""
    return a * b


async def kickoff(url: str, tools=True):
    llm = LLM(model=f"openai/{MODEL}", base_url=url, api_key="key")
    agent = Agent(
        role="calculator", goal="calculate", backstory="a clerk", llm=llm, tools=[multiply] if tools else []
    )
    task = Task(description=QUESTION, expected_output="a number", agent=agent)
    return await asyncio.to_thread(Crew(agents=[agent], tasks=[task]).kickoff)


async def output(url: str):
    return JSONResponse((await kickoff(url)).model_dump(mode="json"))


async def raw(url: str):
    return JSONResponse({"raw": (await kickoff(url)).raw})


serve({"output": output, "text": raw})
