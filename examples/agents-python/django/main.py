"""An agent with Django and the client of OpenAI, in one file."""

import json
import os
import re
import sys

from agent_compliance import Reporter, current_behavior, default_reporter, set_default_reporter
from django.conf import settings
from django.core.management import execute_from_command_line
from django.http import HttpRequest, JsonResponse
from django.urls import path
from openai import OpenAI

MODEL = "gpt-4o-mini"
PERSONAL_DATA = re.compile(r"[\w.+-]+@[\w-]+\.\w+|\b\d{3}-\d{2}-\d{4}\b")
CALCULATOR = {
    "type": "function",
    "function": {
        "name": "calculator",
        "description": "Multiplies two numbers.",
        "parameters": {
            "type": "object",
            "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
            "required": ["a", "b"],
        },
    },
}

# The names of the registered tools, which the reporter compares with agent.yaml.
set_default_reporter(Reporter(tools=["calculator"]))
MIDDLEWARE = ["agent_compliance.integrations.django.Middleware"]
settings.configure(
    ALLOWED_HOSTS=["*"],
    MIDDLEWARE=MIDDLEWARE,
    ROOT_URLCONF=__name__,
    # Only for this example: it has no sessions and signs nothing.
    SECRET_KEY="example",
)
client = OpenAI()


def chat(request: HttpRequest) -> JsonResponse:
    message = json.loads(request.body)["message"]
    is_blocked = PERSONAL_DATA.search(message) is not None
    current_behavior().guardrail("pii-detector", blocked=is_blocked)
    if is_blocked:
        return JsonResponse({"error": "the message contains personal data"}, status=422)
    return JsonResponse({"response": answer(message)})


def answer(message: str) -> str | None:
    """Calls the model until it has no tool call left. A denial of the policy before a call becomes a 403."""
    behavior = current_behavior()
    messages: list = [{"role": "user", "content": message}]
    while True:
        default_reporter().check_policy(**behavior.facts())
        completion = client.chat.completions.create(model=MODEL, messages=messages, tools=[CALCULATOR])
        if completion.usage is not None:
            behavior.model(completion.model, completion.usage.prompt_tokens, completion.usage.completion_tokens)
        reply = completion.choices[0].message
        if not reply.tool_calls:
            return reply.content
        messages.append(reply)
        for call in reply.tool_calls:
            result = calculator(**json.loads(call.function.arguments))
            behavior.tool("calculator", success=True)
            messages.append({"role": "tool", "tool_call_id": call.id, "content": str(result)})


def calculator(a: float, b: float) -> float:
    return a * b


def health(_request: HttpRequest) -> JsonResponse:
    return JsonResponse({"status": "ok"})


def capabilities(_request: HttpRequest) -> JsonResponse:
    return JsonResponse({"tools": ["calculator"]})


urlpatterns = [path("v1/chat", chat), path("health", health), path("capabilities", capabilities)]

if __name__ == "__main__":
    address = f"{os.environ.get('HOST', '127.0.0.1')}:{os.environ.get('PORT', '8000')}"
    execute_from_command_line([sys.argv[0], "runserver", "--noreload", "--skip-checks", address])
