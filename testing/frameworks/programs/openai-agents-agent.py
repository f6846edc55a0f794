import dataclasses
import json

from agents import Agent, OpenAIChatCompletionsModel, OpenAIResponsesModel, RunConfig, Runner, function_tool
from common import MODEL, QUESTION, multiply, serve, sse
from openai import AsyncOpenAI
from starlette.responses import JSONResponse, Response

CONFIG = RunConfig(tracing_disabled=True)


def agent(url: str, kind=OpenAIResponsesModel) -> Agent:
    model = kind(model=MODEL, openai_client=AsyncOpenAI(base_url=url, api_key="key"))
    return Agent(name="calculator", model=model, tools=[function_tool(multiply)])


def plain(value):
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    return dataclasses.asdict(value) if dataclasses.is_dataclass(value) else str(value)


def as_json(value) -> Response:
    return Response(json.dumps(value, default=plain), media_type="application/json")


async def run(url: str, kind=OpenAIResponsesModel):
    return await Runner.run(agent(url, kind), QUESTION, run_config=CONFIG)


async def output(url: str):
    return JSONResponse({"output": (await run(url)).final_output})


async def usage(url: str):
    result = await run(url)
    return as_json({"output": result.final_output, "usage": result.context_wrapper.usage})


async def raw_responses(url: str):
    return as_json({"raw_responses": (await run(url)).raw_responses})


async def raw_completions(url: str):
    return as_json({"raw_responses": (await run(url, OpenAIChatCompletionsModel)).raw_responses})


def raw(event):
    """As the guide to streaming shows it: the events of the model, and the names of the others."""
    if event.type == "raw_response_event":
        return json.dumps({"type": event.type, "data": event.data}, default=plain)
    return json.dumps({"type": event.type, "name": getattr(event, "name", None)})


async def events(url: str):
    return sse(Runner.run_streamed(agent(url), QUESTION, run_config=CONFIG).stream_events(), raw)


async def completion_events(url: str):
    streamed = Runner.run_streamed(agent(url, OpenAIChatCompletionsModel), QUESTION, run_config=CONFIG)
    return sse(streamed.stream_events(), raw)


serve(
    {
        "output": output,
        "output with usage": usage,
        "raw responses": raw_responses,
        "raw chat completions": raw_completions,
        "events": events,
        "events of chat completions": completion_events,
    }
)
