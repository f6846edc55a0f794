"""The model of the agent, and the one that answers when it is unavailable."""

from langchain_anthropic import ChatAnthropic
from langchain_openai import ChatOpenAI

from app.config import get_settings

settings = get_settings()

primary = ChatOpenAI(
    model=settings.model_name,
    api_key=settings.openai_api_key,
    temperature=0.2,
    # model="gpt-4-0314" was too slow.
)
backup = ChatAnthropic(model="claude-sonnet-4-5", api_key=settings.anthropic_api_key)

model = primary.with_fallbacks([backup])
