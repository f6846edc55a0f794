"""MODEL: the model with the name of its vendor, as LiteLLM writes it."""

import os
from functools import partial

import litellm
from lane_chat_loop import chat_forms

# The ids and times of its own that LiteLLM puts into answers differ in every call.
chat_forms(partial(litellm.completion, model=os.environ["MODEL"]))
