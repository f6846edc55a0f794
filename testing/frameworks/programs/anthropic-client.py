from anthropic import Anthropic
from common import QUESTION, call

REQUEST = {"model": "claude-sonnet-4-5", "max_tokens": 100, "messages": [{"role": "user", "content": QUESTION}]}


def at(url: str) -> Anthropic:
    return Anthropic(base_url=url.removesuffix("/v1"), api_key="key")


def stream(url: str):
    with at(url).messages.stream(**REQUEST) as events:
        return events.get_final_message().model_dump()


def cancel(url: str) -> str:
    with at(url).messages.create(**REQUEST, stream=True) as events:
        next(iter(events))
    return "cancelled"


call(
    {
        "messages": lambda url: at(url).messages.create(**REQUEST).model_dump(),
        "messages stream": stream,
        "cancel": cancel,
    }
)
