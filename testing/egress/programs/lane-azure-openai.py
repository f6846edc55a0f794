from functools import partial

from lane_chat_loop import chat_forms
from openai import AzureOpenAI

chat_forms(partial(AzureOpenAI(api_version="2024-10-21").chat.completions.create, model="gpt-4o-mini"))
