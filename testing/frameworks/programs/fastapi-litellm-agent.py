import json
import os

import litellm
import uvicorn
from common import MODEL, QUESTION, chain_of
from fastapi import FastAPI
from fastapi.responses import StreamingResponse

app = FastAPI()
FIRST = [{"role": "user", "content": QUESTION}]


async def ask(url: str, **options):
    return await litellm.acompletion(
        model=f"openai/{MODEL}", api_base=url, api_key="key", messages=FIRST, **options
    )


async def streamed():
    chunks = await ask(os.environ["MODEL_URL"], stream=True, stream_options={"include_usage": True})
    async for chunk in chunks:
        yield f"data: {chunk.model_dump_json()}\n\n"
    yield "data: [DONE]\n\n"


@app.post("/v1/chat")
async def chat(answer: str):
    if answer == "denied":
        try:
            return await ask(os.environ["DENYING_URL"])
        except Exception as error:
            return chain_of(error)
    if answer == "stream":
        return StreamingResponse(streamed(), media_type="text/event-stream")
    first, second = await ask(os.environ["MODEL_URL"]), await ask(os.environ["MODEL_URL"])
    if answer == "two completions":
        return {"draft": first.model_dump(), "reply": second.model_dump()}
    return {"reply": second.choices[0].message.content}


uvicorn.run(app, host="127.0.0.1", port=int(os.environ["PORT"]), log_level="error")
