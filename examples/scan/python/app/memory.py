"""Memory of conversations."""

from langgraph.checkpoint.redis.aio import AsyncRedisSaver

from app.config import get_settings


def conversations() -> AsyncRedisSaver:
    return AsyncRedisSaver(redis_url=get_settings().redis_url, ttl={"default_ttl": 60})
