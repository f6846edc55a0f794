"""Integrations of frameworks. Each module has a function `install`."""

from __future__ import annotations

import os
import sys

# The distribution agent-compliance-integrations installs these modules into this package.
_OTHERS = ("autogen", "crewai", "fastmcp", "langchain", "openai_agents", "pydantic_ai")


class _NotInstalled:
    """The last finder, which is asked for a module that no other finder has."""

    @staticmethod
    def find_spec(name: str, *_others: object) -> None:
        package, _, module = name.rpartition(".")
        if package == __name__ and module in _OTHERS:
            extra = module.replace("_", "-")
            raise ImportError(f'{name} is not installed: pip install "agent-compliance[{extra}]"', name=name)


sys.meta_path.append(_NotInstalled)
# It can be in another directory, for example that of an editable installation.
_folders = [os.path.join(each, *__name__.split(".")) for each in sys.path]
__path__ += [each for each in _folders if each not in __path__ and os.path.isdir(each)]
