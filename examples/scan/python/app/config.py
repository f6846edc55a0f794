"""Settings of the agent, from environment variables and .env."""

from functools import lru_cache

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict


class Settings(BaseSettings):
    model_config = SettingsConfigDict(env_file=".env", extra="ignore")

    openai_api_key: SecretStr
    anthropic_api_key: SecretStr | None = None
    model_name: str = "gpt-4.1-mini"
    redis_url: str = "redis://localhost:6379/0"
    database_url: str
    warehouse_url: str = Field(default="http://localhost:9000/mcp")
    port: int = 8080


@lru_cache
def get_settings() -> Settings:
    return Settings()
