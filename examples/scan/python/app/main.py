"""HTTP API of the agent."""

import uvicorn
from fastapi import FastAPI, HTTPException
from pydantic import BaseModel

from app.config import get_settings
from app.graph import build_agent
from app.guardrails import contains_profanity, is_prompt_injection, redact_pii
from app.observability import callbacks, log

app = FastAPI(title="Order desk")


class Question(BaseModel):
    message: str
    conversation: str


@app.get("/healthz")
async def health() -> dict[str, str]:
    return {"status": "ok"}


@app.post("/v1/chat")
async def chat(question: Question) -> dict[str, str]:
    message = redact_pii(question.message)
    if is_prompt_injection(message):
        raise HTTPException(status_code=422, detail="the message was blocked")
    agent = await build_agent()
    result = await agent.ainvoke(
        {"messages": [{"role": "user", "content": message}]},
        config={"configurable": {"thread_id": question.conversation}, "callbacks": callbacks()},
    )
    answer = result["messages"][-1].content
    if contains_profanity(answer):
        log.warning("answer blocked", conversation=question.conversation)
        raise HTTPException(status_code=502, detail="the answer was blocked")
    return {"response": answer}


def main() -> None:
    uvicorn.run(app, host="0.0.0.0", port=get_settings().port)


if __name__ == "__main__":
    main()
