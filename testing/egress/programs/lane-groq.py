from functools import partial

from groq import Groq
from lane_chat_loop import chat_forms

chat_forms(partial(Groq().chat.completions.create, model="llama-3.3-70b-versatile"))
