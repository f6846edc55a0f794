"""What comes in and what goes out."""

import time
import uuid
from dataclasses import dataclass, field
from typing import Any, Literal


@dataclass(frozen=True)
class Message:
    """One message of the client's conversation."""

    role: Literal["user", "assistant"]
    content: str


@dataclass(frozen=True)
class Question:
    """The body of a chat request."""

    messages: list[Message]
    confirmed: bool
    """Whether the user confirmed that tools may change or delete data."""


@dataclass(frozen=True)
class Answer:
    """The result of one run of the agent."""

    text: str
    calls: list[tuple[int, int]] = field(default_factory=list)
    """Prompt tokens and completion tokens of each call of the model."""


class InvalidQuestion(Exception):
    """The body is not a chat request. The text is for the client."""


def question_of(body: Any) -> Question:
    """Reads `{"messages": [...]}` in the form of OpenAI, or `{"message": "..."}`. Raises InvalidQuestion."""
    if not isinstance(body, dict):
        raise InvalidQuestion("the body must be a JSON object")
    if body.get("stream") is True:
        raise InvalidQuestion("stream is not supported: output guardrails need the whole text")
    if isinstance(body.get("message"), str):
        messages = [Message("user", encodable(body["message"]))]
    else:
        messages = [_message_of(each) for each in _list_of(body.get("messages"))]
    if not messages or messages[-1].role != "user":
        raise InvalidQuestion("the last message must have the role user")
    return Question(messages, confirmed=body.get("confirmed") is True)


def completion_of(answer: Answer, model_id: str, finish_reason: str) -> dict[str, Any]:
    """The response in the form of OpenAI, with the tokens of all calls."""
    completion: dict[str, Any] = {
        "id": f"chatcmpl-{uuid.uuid4().hex}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": model_id,
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": answer.text},
                "finish_reason": finish_reason,
            }
        ],
    }
    if answer.calls:
        prompt, completed = (sum(counts) for counts in zip(*answer.calls, strict=True))
        completion["usage"] = {
            "prompt_tokens": prompt,
            "completion_tokens": completed,
            "total_tokens": prompt + completed,
        }
    return completion


def _list_of(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise InvalidQuestion('the body must have "messages" or "message"')
    return value


def _message_of(value: Any) -> Message:
    if not isinstance(value, dict) or value.get("role") not in ("user", "assistant"):
        raise InvalidQuestion("each message must have the role user or assistant")
    content = value.get("content")
    if isinstance(content, list):
        content = "\n".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    if not isinstance(content, str):
        raise InvalidQuestion("the content of each message must be a text")
    return Message(value["role"], encodable(content))


def encodable(text: str) -> str:
    """Without half surrogate pairs, which JSON can contain and UTF-8 cannot."""
    return text.encode("utf-8", "replace").decode("utf-8")
