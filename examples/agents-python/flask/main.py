"""An agent with Flask and the client of OpenAI."""

import json
import os
import re

from agent_compliance import Reporter, current_behavior, default_reporter, set_default_reporter
from agent_compliance.integrations import flask
from flask import Flask, jsonify, request
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
app = Flask(__name__)
flask.install(app)
client = OpenAI()


@app.post("/v1/chat")
def chat():
    message = request.get_json()["message"]
    is_blocked = PERSONAL_DATA.search(message) is not None
    current_behavior().guardrail("pii-detector", blocked=is_blocked)
    if is_blocked:
        return jsonify(error="the message contains personal data"), 422
    return jsonify(response=answer(message))


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


@app.get("/health")
def health():
    return jsonify(status="ok")


@app.get("/capabilities")
def capabilities():
    return jsonify(tools=["calculator"])


if __name__ == "__main__":
    app.run(host=os.environ.get("HOST", "127.0.0.1"), port=int(os.environ.get("PORT", "8000")))
