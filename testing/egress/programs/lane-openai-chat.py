from functools import partial

from lane_chat_loop import chat_forms
from openai import OpenAI

chat_forms(partial(OpenAI().chat.completions.create, model="gpt-4o-mini"))
