"""An agent whose only report are the spans of an instrumentation package ($INSTRUMENTATION).

Its response has only the text, so the response shows no token. `POST /v1/chat` starts the span of a server from the request's
`traceparent`, as the instrumentation of a server does.
"""

import json
import os

import uvicorn
from common import MODEL, QUESTION, multiply
from openai import OpenAI
from opentelemetry import propagate, trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(), schedule_delay_millis=200))
trace.set_tracer_provider(provider)
tracer = trace.get_tracer("agent")

TOOL = {
    "type": "function",
    "function": {
        "name": "multiply",
        "parameters": {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
        },
    },
}


def instrument(name: str) -> None:
    if name == "openllmetry":
        from opentelemetry.instrumentation.openai import OpenAIInstrumentor
    elif name == "opentelemetry":
        from opentelemetry.instrumentation.openai_v2 import OpenAIInstrumentor
    elif name == "openinference":
        from openinference.instrumentation.openai import OpenAIInstrumentor
    else:
        from openinference.instrumentation.langchain import LangChainInstrumentor as OpenAIInstrumentor
    OpenAIInstrumentor().instrument(tracer_provider=provider)


def answer_with_openai() -> str:
    """The loop of an agent: calls the tools that the model asks for until the model answers with a text."""
    client = OpenAI(base_url=os.environ["MODEL_URL"], api_key="key")
    messages: list = [{"role": "user", "content": QUESTION}]
    while True:
        message = client.chat.completions.create(model=MODEL, messages=messages, tools=[TOOL]).choices[0].message
        if not message.tool_calls:
            return message.content or ""
        messages.append(message.model_dump(exclude_none=True))
        for call in message.tool_calls:
            attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": call.function.name}
            with tracer.start_as_current_span(f"execute_tool {call.function.name}", attributes=attributes):
                result = multiply(**json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": str(result)})


def answer_with_langchain() -> str:
    from langchain.agents import create_agent
    from langchain_openai import ChatOpenAI

    model = ChatOpenAI(model=MODEL, base_url=os.environ["MODEL_URL"], api_key="key")
    result = create_agent(model, tools=[multiply]).invoke({"messages": [{"role": "user", "content": QUESTION}]})
    return result["messages"][-1].content


async def chat(request: Request) -> PlainTextResponse:
    context = propagate.extract(dict(request.headers))
    with tracer.start_as_current_span("POST /v1/chat", context=context, kind=trace.SpanKind.SERVER):
        with tracer.start_as_current_span("pii-detector", attributes={"openinference.span.kind": "GUARDRAIL"}):
            pass
        return PlainTextResponse(answer())


instrument(os.environ["INSTRUMENTATION"])
answer = answer_with_langchain if "langchain" in os.environ["INSTRUMENTATION"] else answer_with_openai
app = Starlette(routes=[Route("/v1/chat", chat, methods=["POST"])])
uvicorn.run(app, host="127.0.0.1", port=int(os.environ["PORT"]), log_level="error")
