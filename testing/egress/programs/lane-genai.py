"""VERTEX=1: Vertex AI with an API key."""

import os
from typing import Any

from common import QUESTION
from google import genai
from google.genai import types
from lane_tools import DECLARED, UNDECLARED, description_of, forms, run_tool, schema_of

IS_VERTEX = os.environ.get("VERTEX") == "1"
client = genai.Client(vertexai=IS_VERTEX, api_key=os.environ["GOOGLE_API_KEY"])
MODEL = "gemini-2.5-flash"


def config(tools: list[Any]) -> types.GenerateContentConfig:
    declarations = [
        types.FunctionDeclaration(
            name=tool.__name__, description=description_of(tool), parameters_json_schema=schema_of(tool)
        )
        for tool in tools
    ]
    return types.GenerateContentConfig(tools=[types.Tool(function_declarations=declarations)])


def whole(**request: Any) -> tuple[Any, list[Any]]:
    answer = client.models.generate_content(model=MODEL, **request)
    return answer, list(answer.candidates[0].content.parts)


def streamed(**request: Any) -> tuple[Any, list[Any]]:
    chunks = list(client.models.generate_content_stream(model=MODEL, **request))
    return chunks, [part for chunk in chunks for part in chunk.candidates[0].content.parts or []]


def loop(tools: list[Any], answer_to: Any) -> list[Any]:
    contents = [types.Content(role="user", parts=[types.Part(text=QUESTION)])]
    received = []
    while True:
        answer, parts = answer_to(contents=list(contents), config=config(tools))
        received.append(answer)
        calls = [part.function_call for part in parts if part.function_call]
        if not calls:
            return received
        results = [
            types.Part.from_function_response(
                name=each.name, response={"output": run_tool(each.name, each.args)}
            )
            for each in calls
        ]
        contents += [types.Content(role="model", parts=parts), types.Content(role="user", parts=results)]


forms(
    {
        "text": lambda: whole(contents=QUESTION)[0],
        "stream": lambda: streamed(contents=QUESTION)[0],
        "tools": lambda: loop(DECLARED, whole),
        "tools stream": lambda: loop(DECLARED, streamed),
        "undeclared": lambda: loop(UNDECLARED, whole),
    }
)
