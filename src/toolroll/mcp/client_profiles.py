"""What single MCP clients need, as data: chosen by the name that a client gives of itself. Seen by running them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
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

    meta: Mapping[str, Any] = field(default_factory=dict)
    """The `_meta` of each definition."""
    links: bool = True
    """Add a link to the full output of a cut result. Some clients turn it into text beside the handle, or drop it."""
    max_chars: int = 19_000
    """The client cuts or replaces a longer result by itself, with the handle in it. Copilot has the lowest limit."""
    max_lines: int | None = None
    """The client drops all lines after these, with the handle of a cut output in the last one."""
    shared: bool = True
    """Its agents and subagents use one connection: what one has read, another has not."""


DEFAULT = ClientProfile()
_CLAUDE = {"anthropic/maxResultSizeChars": 200_000}
# By the beginning of `clientInfo.name`.
_PROFILES = {
    # It searches deferred tools by itself: a model would not look for a second search behind that one.
    "claude-code": ClientProfile(tools="all", loads=True, meta=_CLAUDE, links=False, max_chars=100_000),
    "codex-mcp-client": ClientProfile(tools="all", links=False, max_chars=46_000, shared=False),
    "gemini-cli-mcp-client": ClientProfile(links=False, max_chars=38_000),
    "qwen": ClientProfile(links=False, max_chars=26_000),
    "opencode": ClientProfile(links=False, max_chars=50_000, max_lines=2000),
    "toolroll": ClientProfile(max_chars=1_000_000, shared=False),
}
# Parameters that clients put on every tool for themselves: Gemini CLI and its descendants, Windsurf, Cline.
_OF_CLIENTS = frozenset({"wait_for_previous", "waitForPreviousTools", "toolSummary", "toolAction", "task_progress"})


def find_profile(client: Mapping[str, Any]) -> ClientProfile:
    """The profile of a client, by its `clientInfo`; the default for one that is not known."""
    name = client.get("name")
    known = (profile for start, profile in _PROFILES.items() if isinstance(name, str) and name.startswith(start))
    return next(known, DEFAULT)


def drop_client_parameters(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments without those that clients add for themselves and the tool does not have."""
    own = _OF_CLIENTS - schema.get("properties", {}).keys()
    return {name: value for name, value in arguments.items() if name not in own}


def mark(definition: dict[str, Any], profile: ClientProfile, *, loaded: bool) -> dict[str, Any]:
    """A definition with what the client is to know of it."""
    meta = {**profile.meta, **({"anthropic/alwaysLoad": True} if loaded else {})}
    return definition | {"_meta": meta} if meta else definition
