import json

from ag_ui.core import RunAgentInput, UserMessage
from common import MODEL, QUESTION, multiply, serve
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.ui.ag_ui import AGUIAdapter
from pydantic_ai.ui.vercel_ai import VercelAIAdapter
from pydantic_ai.ui.vercel_ai.request_types import SubmitMessage, TextUIPart, UIMessage
from starlette.responses import JSONResponse, Response


def agent(url: str, kind=OpenAIChatModel) -> Agent:
    return Agent(kind(MODEL, provider=OpenAIProvider(base_url=url, api_key="key")), tools=[multiply])


async def messages(url: str):
    result = await agent(url).run(QUESTION)
    return Response(result.all_messages_json(), media_type="application/json")


async def output(url: str):
    return JSONResponse({"output": (await agent(url).run(QUESTION)).output})


async def usage(url: str):
    result = await agent(url, OpenAIResponsesModel).run(QUESTION)
    usage = result.usage() if callable(result.usage) else result.usage
    body = {"output": result.output, "usage": vars(usage)}
    return Response(json.dumps(body, default=str), media_type="application/json")


async def ag_ui(url: str):
    run_input = RunAgentInput(
        thread_id="thread",
        run_id="run",
        state=None,
        messages=[UserMessage(id="1", role="user", content=QUESTION)],
        tools=[],
        context=[],
        forwarded_props=None,
    )
    adapter = AGUIAdapter(agent=agent(url), run_input=run_input, accept="text/event-stream")
    return adapter.streaming_response(adapter.run_stream())


async def vercel(url: str):
    message = UIMessage(id="1", role="user", parts=[TextUIPart(text=QUESTION)])
    run_input = SubmitMessage(id="chat", messages=[message])
    adapter = VercelAIAdapter(agent=agent(url), run_input=run_input, accept="text/event-stream")
    return adapter.streaming_response(adapter.run_stream())


serve(
    {
        "messages": messages,
        "output": output,
        "output with usage": usage,
        "AG-UI": ag_ui,
        "Vercel UI stream": vercel,
    }
)
