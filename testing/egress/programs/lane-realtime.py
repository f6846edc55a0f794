from typing import Any

from lane_tools import forms
from openai import OpenAI


def session() -> Any:
    with OpenAI().realtime.connect(model="gpt-realtime") as connection:
        return connection.recv()


forms({"session": session})
