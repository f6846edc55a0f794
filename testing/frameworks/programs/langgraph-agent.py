import json

from common import MODEL, QUESTION, multiply, serve, sse
from langchain.agents import create_agent
from langchain_anthropic import ChatAnthropic
from langchain_core.load import dumps
from langchain_openai import ChatOpenAI
from starlette.responses import Response

INPUT = {"messages": [{"role": "user", "content": QUESTION}]}


def agent(url: str, **options):
    model = ChatOpenAI(model=MODEL, base_url=url, api_key="key", max_retries=2, **options)
    return create_agent(model, tools=[multiply])


def plain(value):
    """As LangGraph's own server shows messages: the model_dump of each."""
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    return value


async def state(url: str):
    result = await agent(url).ainvoke(INPUT)
    return Response(json.dumps(plain(result)), media_type="application/json")


async def anthropic_state(url: str):
    model = ChatAnthropic(model="claude-sonnet-4-5", base_url=url.removesuffix("/v1"), api_key="key")
    result = await create_agent(model, tools=[multiply]).ainvoke(INPUT)
    return Response(json.dumps(plain(result)), media_type="application/json")


async def anthropic_messages(url: str):
    model = ChatAnthropic(model="claude-sonnet-4-5", base_url=url.removesuffix("/v1"), api_key="key")
    return sse(create_agent(model, tools=[multiply]).astream(INPUT, stream_mode="messages"), plain)


async def serialized(url: str):
    return Response(dumps(await agent(url).ainvoke(INPUT)), media_type="application/json")


async def last_message(url: str):
    result = await agent(url).ainvoke(INPUT)
    return Response(result["messages"][-1].content, media_type="text/plain")


async def updates(url: str):
    return sse(agent(url, stream_usage=True).astream(INPUT, stream_mode="updates"), plain)


async def values(url: str):
    return sse(agent(url, stream_usage=True).astream(INPUT, stream_mode="values"), plain)


async def messages(url: str):
    return sse(agent(url, stream_usage=True).astream(INPUT, stream_mode="messages"), plain)


async def updates_and_messages(url: str):
    both = ["updates", "messages"]
    return sse(agent(url, stream_usage=True).astream(INPUT, stream_mode=both), plain)


async def messages_without_usage(url: str):
    return sse(agent(url, stream_usage=False).astream(INPUT, stream_mode="messages"), plain)


async def events(url: str):
    return sse(agent(url, stream_usage=True).astream_events(INPUT, version="v2"), plain)


serve(
    {
        "state": state,
        "serialized state": serialized,
        "state of Anthropic": anthropic_state,
        "messages of Anthropic": anthropic_messages,
        "text": last_message,
        "updates": updates,
        "values": values,
        "messages": messages,
        "messages without usage": messages_without_usage,
        "updates and messages": updates_and_messages,
        "events": events,
    }
)
