"""An agent without a framework, with Flask: returns its own JSON or the vendor's, or reports its calls as events."""

import json
import os
import urllib.request

from common import MODEL, QUESTION, chain_of
from flask import Flask, Response, jsonify, request
from openai import OpenAI

app = Flask(__name__)
FIRST = [{"role": "user", "content": QUESTION}]


def ask(url: str, times: int = 2):
    client = OpenAI(base_url=url, api_key="key")
    return [client.chat.completions.create(model=MODEL, messages=FIRST) for _ in range(times)]


def report(completions) -> None:
    """What the reporter does in JavaScript: one event for each call of a model."""
    events = [
        {
            "type": "model",
            "modelId": each.model,
            "promptTokens": each.usage.prompt_tokens,
            "completionTokens": each.usage.completion_tokens,
        }
        for each in completions
    ]
    batch = {"requestId": request.headers.get("X-Request-Id"), "events": events}
    data = json.dumps(batch).encode()
    headers = {"content-type": "application/json"}
    # Without a sidecar the request has no receiver.
    try:
        urllib.request.urlopen(urllib.request.Request(os.environ["EVENTS_URL"], data, headers)).read()
    except urllib.error.HTTPError:
        pass


def streamed(url: str):
    client = OpenAI(base_url=url, api_key="key")
    options = {"include_usage": True}
    with client.chat.completions.create(model=MODEL, messages=FIRST, stream=True, stream_options=options) as chunks:
        for chunk in chunks:
            yield f"data: {chunk.model_dump_json()}\n\n"


@app.post("/v1/chat")
def chat():
    name, url = request.args["answer"], os.environ["MODEL_URL"]
    if name == "denied":
        try:
            ask(os.environ["DENYING_URL"])
        except Exception as error:
            return jsonify(chain_of(error))
    if name == "completion":
        return Response(ask(url, 1)[0].model_dump_json(), mimetype="application/json")
    if name == "stream":
        return Response(streamed(url), mimetype="text/event-stream")
    completions = ask(url)
    if name == "text with events":
        report(completions)
    return jsonify(reply=completions[-1].choices[0].message.content)


app.run(host="127.0.0.1", port=int(os.environ["PORT"]))
