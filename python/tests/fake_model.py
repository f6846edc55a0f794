"""A model server on a socket that is compatible with OpenAI: chat completions and responses, whole and streamed.

It calls each offered tool once before its text, and knows the tokens that it used. All sums of its tokens differ.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from conftest import Answer, HttpServer

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


class FakeModel(HttpServer):
    """A server on a free port of loopback, until `close`. `calls` are the calls since `reset`."""

    def __init__(self) -> None:
        super().__init__()
        self.url += "/v1"
        self.tool_input: dict[str, Any] = dict(_TOOL_INPUT)
        self.calls: list[Call] = []
        self._lock = threading.Lock()
        self.answer = self._completion

    def reset(self, **tool_input: Any) -> None:
        """Forgets the calls, and sets the arguments of the next calls of tools."""
        with self._lock:
            self.calls.clear()
            self.tool_input = tool_input or dict(_TOOL_INPUT)

    def tokens(self, question: str = "") -> tuple[int, int]:
        """Prompt and completion tokens of all calls whose question contains the text."""
        billed = [call for call in self.calls if question in call.question]
        return sum(call.prompt_tokens for call in billed), sum(call.completion_tokens for call in billed)

    def _completion(self, request: dict[str, Any]) -> Answer:
        body = request["json"]
        if body is None:
            return 404, {}, b""
        with self._lock:
            index = len(self.calls)
            call = Call(
                body["model"],
                _PROMPT[index % len(_PROMPT)],
                _COMPLETION[index % len(_COMPLETION)],
                body.get("stream") is True,
                _question(body),
            )
            self.calls.append(call)
        tools = [] if _has_tool_result(body) else _tools(body)
        reply = _Reply(call, index, tools, json.dumps(self.tool_input))
        is_chat = request["path"].endswith("/chat/completions")
        # Some clients keep connections across event loops, and a test has its own loop.
        headers = {"content-type": "text/event-stream" if call.is_stream else "application/json", "connection": "close"}
        if not call.is_stream:
            return 200, headers, json.dumps(_chat(reply) if is_chat else _response(reply)).encode()
        has_usage = (body.get("stream_options") or {}).get("include_usage") is True
        events = _chat_stream(reply, has_usage) if is_chat else _response_stream(reply)
        return 200, headers, "".join(events).encode()


@dataclass
class _Reply:
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


def _chat_head(reply: _Reply, kind: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{reply.id}", "object": kind, "created": 1_800_000_000, "model": reply.call.model}


def _chat_tools(reply: _Reply) -> list[dict[str, Any]]:
    return [
        {
            "index": number,
            "id": reply.tool_id(number),
            "type": "function",
            "function": {"name": name, "arguments": reply.arguments},
        }
        for number, name in enumerate(reply.tools)
    ]


def _chat(reply: _Reply) -> dict[str, Any]:
    tools = {"tool_calls": _chat_tools(reply)} if reply.tools else {}
    message = {"role": "assistant", "content": None if reply.tools else TEXT, **tools}
    reason = "tool_calls" if reply.tools else "stop"
    return {
        **_chat_head(reply, "chat.completion"),
        "choices": [{"index": 0, "message": message, "finish_reason": reason, "logprobs": None}],
        "usage": _chat_usage(reply.call),
    }


def _chat_stream(reply: _Reply, has_usage: bool) -> Iterator[str]:
    head = _chat_head(reply, "chat.completion.chunk")

    def chunk(delta: dict[str, Any], reason: str | None = None) -> str:
        choice = {"index": 0, "delta": delta, "finish_reason": reason, "logprobs": None}
        return f"data: {json.dumps({**head, 'choices': [choice]})}\n\n"

    yield chunk({"role": "assistant", "content": None if reply.tools else ""})
    if reply.tools:
        yield chunk({"tool_calls": _chat_tools(reply)})
    else:
        for word in TEXT.split(" "):
            yield chunk({"content": f"{word} "})
    yield chunk({}, "tool_calls" if reply.tools else "stop")
    if has_usage:
        yield f"data: {json.dumps({**head, 'choices': [], 'usage': _chat_usage(reply.call)})}\n\n"
    yield "data: [DONE]\n\n"


def _output(reply: _Reply) -> list[dict[str, Any]]:
    if reply.tools:
        return [
            {
                "type": "function_call",
                "id": f"fc_{reply.tool_id(number)}",
                "call_id": reply.tool_id(number),
                "name": name,
                "arguments": reply.arguments,
                "status": "completed",
            }
            for number, name in enumerate(reply.tools)
        ]
    content = [{"type": "output_text", "text": TEXT, "annotations": [], "logprobs": []}]
    return [
        {"type": "message", "id": f"msg_{reply.id}", "role": "assistant", "status": "completed", "content": content}
    ]


def _response(reply: _Reply, status: str = "completed") -> dict[str, Any]:
    call = reply.call
    usage = {
        "input_tokens": call.prompt_tokens,
        "input_tokens_details": {"cached_tokens": 3},
        "output_tokens": call.completion_tokens,
        "output_tokens_details": {"reasoning_tokens": 2},
        "total_tokens": call.prompt_tokens + call.completion_tokens,
    }
    return {
        "id": f"resp_{reply.id}",
        "object": "response",
        "created_at": 1_800_000_000,
        "status": status,
        "model": call.model,
        "output": _output(reply) if status == "completed" else [],
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


def _response_stream(reply: _Reply) -> Iterator[str]:
    events: list[dict[str, Any]] = [{"type": "response.created", "response": _response(reply, "in_progress")}]
    for index, item in enumerate(_output(reply)):
        events.append({"type": "response.output_item.added", "output_index": index, "item": item})
        if item["type"] == "message":
            for word in TEXT.split(" "):
                place = {"item_id": item["id"], "output_index": index, "content_index": 0, "logprobs": []}
                events.append({"type": "response.output_text.delta", "delta": f"{word} ", **place})
        events.append({"type": "response.output_item.done", "output_index": index, "item": item})
    events.append({"type": "response.completed", "response": _response(reply)})
    for number, event in enumerate(events):
        yield f"event: {event['type']}\ndata: {json.dumps({**event, 'sequence_number': number})}\n\n"
