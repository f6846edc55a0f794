from common import MODEL, QUESTION, multiply, serve, sse
from llama_index.core.agent.workflow import AgentOutput, FunctionAgent
from llama_index.llms.openai_like import OpenAILike
from starlette.responses import JSONResponse, Response


def agent(url: str, streaming: bool) -> FunctionAgent:
    llm = OpenAILike(
        model=MODEL,
        api_base=url,
        api_key="key",
        is_chat_model=True,
        is_function_calling_model=True,
        max_retries=1,
        additional_kwargs={"stream_options": {"include_usage": True}} if streaming else {},
    )
    return FunctionAgent(tools=[multiply], llm=llm, streaming=streaming)


async def output(url: str):
    return Response((await agent(url, False).run(QUESTION)).model_dump_json(), media_type="application/json")


async def text(url: str):
    return JSONResponse({"text": str(await agent(url, False).run(QUESTION))})


async def events(url: str):
    return sse(agent(url, True).run(QUESTION).stream_events(), lambda event: event.model_dump_json())


async def events_with_raw(url: str):
    """The response of the model is not part of an event's JSON."""

    def to_json(event) -> dict:
        raw = getattr(event, "raw", None) if isinstance(event, AgentOutput) else None
        return {**event.model_dump(mode="json"), "raw": raw}

    return sse(agent(url, True).run(QUESTION).stream_events(), to_json)


serve({"output": output, "text": text, "events": events, "events with raw": events_with_raw})
