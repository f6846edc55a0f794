import asyncio
import json

from common import MODEL, QUESTION, serve
from smolagents import OpenAIModel, ToolCallingAgent, tool
from starlette.responses import JSONResponse, Response


@tool
def multiply(a: int, b: int) -> int:
    """Multiplies two numbers.

    Args:
        a: the first number
        b: the second number
    """
    return a * b


def agent(url: str) -> ToolCallingAgent:
    model = OpenAIModel(model_id=MODEL, api_base=url, api_key="key")
    return ToolCallingAgent(tools=[multiply], model=model, verbosity_level=0)


async def result(url: str):
    run = await asyncio.to_thread(agent(url).run, QUESTION, return_full_result=True)
    return Response(json.dumps(run.dict(), default=str), media_type="application/json")


async def output(url: str):
    return JSONResponse({"output": await asyncio.to_thread(agent(url).run, QUESTION)})


serve({"result": result, "output": output})
