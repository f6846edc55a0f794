"""One streamed call of the model."""

from collections.abc import Awaitable, Callable
from typing import Any

from common import MODEL, QUESTION
from openai import AsyncOpenAI


async def usage_after(url: str, on_text: Callable[[], Awaitable[None]]) -> Any:
    """Its usage; `on_text` runs when its text has begun."""
    usage, has_begun = None, False
    async with await AsyncOpenAI(base_url=url, api_key="key").chat.completions.create(
        model=MODEL,
        messages=[{"role": "user", "content": QUESTION}],
        stream=True,
        stream_options={"include_usage": True},
    ) as chunks:
        async for chunk in chunks:
            usage = chunk.usage or usage
            if chunk.choices and chunk.choices[0].delta.content and not has_begun:
                has_begun = True
                await on_text()
    return usage
