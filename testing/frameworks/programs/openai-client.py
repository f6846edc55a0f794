from common import MODEL, QUESTION, call
from openai import OpenAI

MESSAGES = [{"role": "user", "content": QUESTION}]


def at(url: str) -> OpenAI:
    return OpenAI(base_url=url, api_key="key")


def streamed(url: str):
    options = {"include_usage": True}
    return at(url).chat.completions.create(model=MODEL, messages=MESSAGES, stream=True, stream_options=options)


def cancel(url: str) -> str:
    with streamed(url) as stream:
        next(iter(stream))
    return "cancelled"


call(
    {
        "chat": lambda url: at(url).chat.completions.create(model=MODEL, messages=MESSAGES).model_dump(),
        "chat stream": lambda url: [chunk.model_dump() for chunk in streamed(url)],
        "responses": lambda url: at(url).responses.create(model=MODEL, input=QUESTION).model_dump(),
        "responses stream": lambda url: [
            event.model_dump() for event in at(url).responses.create(model=MODEL, input=QUESTION, stream=True)
        ],
        "cancel": cancel,
    }
)
