"""A model server on a socket that is compatible with OpenAI: chat completions and responses, whole and streamed.

It calls each offered tool once before its text, and knows the tokens that it used. All sums of its tokens differ.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

MODEL = "gpt-4o-mini"
TEXT = "Six times seven is 42."
_PROMPT = [31, 67, 131, 263, 521, 1031]
_COMPLETION = [5, 11, 23, 47, 97, 193]
_TOOL_INPUT = {"a": 6, "b": 7}


@dataclass
class Call:
    """One billed call."""

    model: str
    prompt_tokens: int
    completion_tokens: int
    is_stream: bool
    question: str


@dataclass
class FakeModel:
    """The running server. `calls` are the calls since `reset`."""

    url: str
    tool_input: dict[str, Any] = field(default_factory=lambda: dict(_TOOL_INPUT))
    calls: list[Call] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def reset(self, **tool_input: Any) -> None:
        """Forgets the calls, and sets the arguments of the next calls of tools."""
        with self.lock:
            self.calls.clear()
            self.tool_input = tool_input or dict(_TOOL_INPUT)

    def tokens(self, question: str = "") -> tuple[int, int]:
        """Prompt and completion tokens of all calls whose question contains the text."""
        billed = [call for call in self.calls if question in call.question]
        return sum(call.prompt_tokens for call in billed), sum(call.completion_tokens for call in billed)


class FakeModelServer:
    """`with FakeModelServer() as model:` runs the server on a free port of loopback."""

    def __init__(self) -> None:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._server.daemon_threads = True
        self.model = FakeModel(f"http://127.0.0.1:{self._server.server_address[1]}/v1")
        self._server.fake = self.model  # type: ignore[attr-defined]
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> FakeModel:
        self._thread.start()
        return self.model

    def __exit__(self, *_error: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 30

    def log_message(self, *_args: Any) -> None:
        """Requests are not logged."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        fake: FakeModel = self.server.fake  # type: ignore[attr-defined]
        kind = "chat" if self.path.endswith("/chat/completions") else "responses"
        with fake.lock:
            index = len(fake.calls)
            question = _question(body)
            call = Call(
                body["model"],
                _PROMPT[index % len(_PROMPT)],
                _COMPLETION[index % len(_COMPLETION)],
                body.get("stream") is True,
                question,
            )
            fake.calls.append(call)
        tools = [] if _has_tool_result(body) else _tools(body)
        answer = _Answer(call, index, tools, json.dumps(fake.tool_input))
        make = {"chat": (_chat, _chat_stream), "responses": (_response, _response_stream)}[kind]
        if not call.is_stream:
            self._send("application/json", [json.dumps(make[0](answer)).encode()])
            return
        has_usage = kind == "responses" or (body.get("stream_options") or {}).get("include_usage") is True
        self._send("text/event-stream", [event.encode() for event in make[1](answer, has_usage)])

    def do_GET(self) -> None:
        self.send_error(404)

    def _send(self, content_type: str, pieces: list[bytes]) -> None:
        self.send_response(200)
        self.send_header("content-type", content_type)
        self.send_header("content-length", str(sum(map(len, pieces))))
        # Some clients keep connections across event loops, and a test has its own loop.
        self.send_header("connection", "close")
        self.end_headers()
        for piece in pieces:
            self.wfile.write(piece)


@dataclass
class _Answer:
    call: Call
    index: int
    tools: list[str]
    arguments: str

    @property
    def id(self) -> str:
        return f"{self.call.model}-{self.index}"

    def tool_id(self, number: int) -> str:
        return f"call_{self.index}_{number}"


def _question(body: dict[str, Any]) -> str:
    """The text of the first message of the user."""
    messages = body.get("messages", body.get("input"))
    if isinstance(messages, str):
        return messages
    for message in messages or []:
        if message.get("role") == "user":
            content = message["content"]
            return content if isinstance(content, str) else json.dumps(content)
    return ""


def _has_tool_result(body: dict[str, Any]) -> bool:
    messages = body.get("messages", body.get("input"))
    return isinstance(messages, list) and any(
        message.get("role") == "tool" or message.get("type") == "function_call_output" for message in messages
    )


def _tools(body: dict[str, Any]) -> list[str]:
    return [tool.get("function", tool)["name"] for tool in body.get("tools") or []]


def _chat_usage(call: Call) -> dict[str, Any]:
    return {
        "prompt_tokens": call.prompt_tokens,
        "completion_tokens": call.completion_tokens,
        "total_tokens": call.prompt_tokens + call.completion_tokens,
        "prompt_tokens_details": {"cached_tokens": 3},
        "completion_tokens_details": {"reasoning_tokens": 2},
    }


def _chat_head(answer: _Answer, kind: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{answer.id}", "object": kind, "created": 1_800_000_000, "model": answer.call.model}


def _chat_tools(answer: _Answer) -> list[dict[str, Any]]:
    return [
        {
            "index": number,
            "id": answer.tool_id(number),
            "type": "function",
            "function": {"name": name, "arguments": answer.arguments},
        }
        for number, name in enumerate(answer.tools)
    ]


def _chat(answer: _Answer) -> dict[str, Any]:
    tools = {"tool_calls": _chat_tools(answer)} if answer.tools else {}
    message = {"role": "assistant", "content": None if answer.tools else TEXT, **tools}
    reason = "tool_calls" if answer.tools else "stop"
    return {
        **_chat_head(answer, "chat.completion"),
        "choices": [{"index": 0, "message": message, "finish_reason": reason, "logprobs": None}],
        "usage": _chat_usage(answer.call),
    }


def _chat_stream(answer: _Answer, has_usage: bool) -> Iterator[str]:
    head = _chat_head(answer, "chat.completion.chunk")

    def chunk(delta: dict[str, Any], reason: str | None = None) -> str:
        choice = {"index": 0, "delta": delta, "finish_reason": reason, "logprobs": None}
        return f"data: {json.dumps({**head, 'choices': [choice]})}\n\n"

    yield chunk({"role": "assistant", "content": None if answer.tools else ""})
    if answer.tools:
        yield chunk({"tool_calls": _chat_tools(answer)})
    else:
        for word in TEXT.split(" "):
            yield chunk({"content": f"{word} "})
    yield chunk({}, "tool_calls" if answer.tools else "stop")
    if has_usage:
        yield f"data: {json.dumps({**head, 'choices': [], 'usage': _chat_usage(answer.call)})}\n\n"
    yield "data: [DONE]\n\n"


def _output(answer: _Answer) -> list[dict[str, Any]]:
    if answer.tools:
        return [
            {
                "type": "function_call",
                "id": f"fc_{answer.tool_id(number)}",
                "call_id": answer.tool_id(number),
                "name": name,
                "arguments": answer.arguments,
                "status": "completed",
            }
            for number, name in enumerate(answer.tools)
        ]
    content = [{"type": "output_text", "text": TEXT, "annotations": [], "logprobs": []}]
    return [
        {"type": "message", "id": f"msg_{answer.id}", "role": "assistant", "status": "completed", "content": content}
    ]


def _response(answer: _Answer, status: str = "completed") -> dict[str, Any]:
    call = answer.call
    usage = {
        "input_tokens": call.prompt_tokens,
        "input_tokens_details": {"cached_tokens": 3},
        "output_tokens": call.completion_tokens,
        "output_tokens_details": {"reasoning_tokens": 2},
        "total_tokens": call.prompt_tokens + call.completion_tokens,
    }
    return {
        "id": f"resp_{answer.id}",
        "object": "response",
        "created_at": 1_800_000_000,
        "status": status,
        "model": call.model,
        "output": _output(answer) if status == "completed" else [],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "temperature": 1.0,
        "top_p": 1.0,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "usage": usage if status == "completed" else None,
    }


def _response_stream(answer: _Answer, _has_usage: bool) -> Iterator[str]:
    events: list[dict[str, Any]] = [{"type": "response.created", "response": _response(answer, "in_progress")}]
    for index, item in enumerate(_output(answer)):
        events.append({"type": "response.output_item.added", "output_index": index, "item": item})
        if item["type"] == "message":
            for word in TEXT.split(" "):
                place = {"item_id": item["id"], "output_index": index, "content_index": 0, "logprobs": []}
                events.append({"type": "response.output_text.delta", "delta": f"{word} ", **place})
        events.append({"type": "response.output_item.done", "output_index": index, "item": item})
    events.append({"type": "response.completed", "response": _response(answer)})
    for number, event in enumerate(events):
        yield f"event: {event['type']}\ndata: {json.dumps({**event, 'sequence_number': number})}\n\n"
