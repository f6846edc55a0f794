"""MODEL: the model with the name of its vendor, as LiteLLM writes it."""

import os
from functools import partial

import litellm
from lane_chat_loop import chat_forms

# LiteLLM counts the tokens of some models with a tokenizer that it downloads.
litellm.disable_hf_tokenizer_download = True
# LiteLLM's own gateway for MCP requires version 2 of mcp, and other programs require version 1.
create = partial(litellm.completion, _skip_mcp_handler=True)
# The ids and times of its own that LiteLLM puts into answers differ in every call.
chat_forms(partial(create, model=os.environ["MODEL"]))
