import json

from autogen_agentchat.agents import AssistantAgent
from autogen_ext.models.openai import OpenAIChatCompletionClient
from common import MODEL, QUESTION, multiply, serve, sse
from starlette.responses import JSONResponse, Response


def agent(url: str, stream: bool = False) -> AssistantAgent:
    options = {"include_usage": True} if stream else {}
    client = OpenAIChatCompletionClient(
        model=MODEL, base_url=url, api_key="key", **({"stream_options": options} if options else {})
    )
    return AssistantAgent(
        "calculator",
        client,
        tools=[multiply],
        max_tool_iterations=5,
        model_client_stream=stream,
        system_message="You calculate.",
    )


async def result(url: str):
    return Response((await agent(url).run(task=QUESTION)).model_dump_json(), media_type="application/json")


async def text(url: str):
    run = await agent(url).run(task=QUESTION)
    return JSONResponse({"text": run.messages[-1].content})


async def messages(url: str):
    return sse(agent(url, stream=True).run_stream(task=QUESTION), lambda message: message.model_dump_json())


serve({"result": result, "text": text, "messages": messages})
