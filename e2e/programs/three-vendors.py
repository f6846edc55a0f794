"""An agent that works on its own with the official clients of three vendors, which it never stops to call.

Of each vendor it keeps one stream open, and reads one short stream after the other. GET /report has the results by vendor:
{"openai": {"streams": 3, "failures": 1, "last": "InternalServerError", "longestFailureMs": 12}, ...}
"""

import json
import os
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import anthropic
import openai
from google import genai
from google.genai import types

report: dict[str, dict] = {}


MESSAGES = [{"role": "user", "content": "Count."}]
openai_client = openai.OpenAI()
anthropic_client = anthropic.Anthropic()
google_client = genai.Client(
    api_key=os.environ["GEMINI_API_KEY"],
    http_options=types.HttpOptions(base_url=os.environ["GOOGLE_GEMINI_BASE_URL"]),
)


def ask_openai(model: str) -> None:
    for _ in openai_client.chat.completions.create(model=model, messages=MESSAGES, stream=True):
        pass


def ask_anthropic(model: str) -> None:
    with anthropic_client.messages.stream(model=model, max_tokens=9, messages=MESSAGES) as stream:
        for _ in stream:
            pass


def ask_google(model: str) -> None:
    for _ in google_client.models.generate_content_stream(model=model, contents="Count."):
        pass


def work(vendor: str, ask, model: str) -> None:
    mine = report.setdefault(vendor, {"streams": 0, "failures": 0, "last": "", "longestFailureMs": 0})
    while True:
        started = time.monotonic()
        try:
            ask(model)
            mine["streams"] += 1
        except Exception as error:  # The test needs the class that the agent gets.
            mine["failures"] += 1
            mine["last"] = type(error).__name__
            mine["text"] = str(error)[:300]
            if model == "short":
                took = round((time.monotonic() - started) * 1000)
                mine["longestFailureMs"] = max(mine["longestFailureMs"], took)
            time.sleep(0.5)


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        data = json.dumps(report).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_) -> None:
        pass


for name, function in (("openai", ask_openai), ("anthropic", ask_anthropic), ("google", ask_google)):
    for kind in ("long", "short"):
        threading.Thread(target=work, args=(name, function, kind), daemon=True).start()
ThreadingHTTPServer(("", 8000), Handler).serve_forever()
