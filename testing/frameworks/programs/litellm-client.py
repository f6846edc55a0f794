import litellm
from common import MODEL, QUESTION, call

MESSAGES = [{"role": "user", "content": QUESTION}]


def completion(url: str, **options):
    return litellm.completion(
        model=f"openai/{MODEL}", api_base=url, api_key="key", messages=MESSAGES, **options
    )


def anthropic(url: str):
    base = url.removesuffix("/v1")
    return litellm.completion(
        model="anthropic/claude-sonnet-4-5", api_base=base, api_key="key", messages=MESSAGES
    )


def cancel(url: str) -> str:
    stream = completion(url, stream=True)
    next(iter(stream))
    stream.completion_stream.response.close()
    return "cancelled"


call(
    {
        "chat": lambda url: completion(url).model_dump(exclude={"created"}),
        "chat stream": lambda url: [
            chunk.choices[0].delta.content
            for chunk in completion(url, stream=True, stream_options={"include_usage": True})
            if chunk.choices
        ],
        "messages": lambda url: anthropic(url).model_dump(exclude={"created"}),
        "cancel": cancel,
    }
)
