"""What single MCP clients need, as data: chosen by the name that a client gives of itself. Seen by running them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from toolroll.catalogue import Choice


@dataclass(frozen=True, slots=True)
class ClientProfile:
    """How the tools and their results are given to a client."""

    tools: Choice | None = None
    """Which definitions it gets; None for the kit's own choice."""
    loads: bool = False
    """Mark the tools that are not rare as always loaded: the client defers the others behind a search of its own."""

    links: bool = True
    """Add a link to the full output of a cut result. Some clients turn it into text beside the handle, or drop it."""
    max_lines: int | None = None
    """The client drops all lines after these, with the handle of a cut output in the last one."""
    shared: bool = False
    """Its agents and subagents use one connection: what one has read, another has not."""


DEFAULT = ClientProfile()
# By the beginning of `clientInfo.name`.
_PROFILES = {
    # It searches deferred tools by itself: a model would not look for a second search behind that one.
    "claude-code": ClientProfile(tools="all", loads=True, links=False, shared=True),
    "codex-mcp-client": ClientProfile(links=False),
    "gemini-cli-mcp-client": ClientProfile(links=False, shared=True),
    "opencode": ClientProfile(links=False, max_lines=2000, shared=True),
}


def find_profile(client: Mapping[str, Any]) -> ClientProfile:
    """The profile of a client, by its `clientInfo`; the default for one that is not known."""
    name = client.get("name")
    known = (profile for start, profile in _PROFILES.items() if isinstance(name, str) and name.startswith(start))
    return next(known, DEFAULT)


def mark_loaded(definition: dict[str, Any]) -> dict[str, Any]:
    """A definition that Claude Code does not defer."""
    return definition | {"_meta": {"anthropic/alwaysLoad": True}}
