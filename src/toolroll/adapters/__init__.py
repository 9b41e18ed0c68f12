"""A kit in agent frameworks: each module is for one framework, and only it imports that framework.

`toolroll.adapters.langchain.tools(kit)` gives LangChain every tool of a kit.
"""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    """Import an adapter on first use."""
    from importlib import import_module

    try:
        return import_module(f"{__name__}.{name}")
    except ModuleNotFoundError as error:
        if error.name != f"{__name__}.{name}":
            raise
        raise AttributeError(f"There is no adapter {name!r}.") from None
