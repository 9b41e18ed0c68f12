"""A tool of a server as a kit can take it: under a name of its own, with the effects that it may have at worst."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from toolroll.policy.effects import Effect

if TYPE_CHECKING:
    from toolroll.host.mcp.config import Entry
    from toolroll.host.mcp.definitions import Definition
    from toolroll.host.mcp.results import Answer
    from toolroll.host.mcp.server import Remote
    from toolroll.host.runtime.call import Call

Follow = Callable[[Iterable[str], Iterable["Offered"]], None]
"""Takes the names of tools that are gone or are others now, and what there is in their place."""

_MOST_NAME = 64  # as much as the model providers take
_ODD = re.compile(r"[^A-Za-z0-9_-]")


@dataclass(frozen=True, slots=True)
class Offered:
    """A tool that can be registered, alone or with the others of its server."""

    name: str
    description: str
    effects: Effect
    schema: dict[str, Any]
    server: Remote
    own_name: str
    """As the server calls it."""

    def offered(self) -> list[Offered]:
        """Only this one."""
        return [self]

    def follow(self, _follow: Follow) -> None:
        """It stays as it was registered; a call of it that has become another asks first."""

    def call(self, call: Call, /, **arguments: Any) -> Answer:
        """Call it on the server; the kit's guard has let the call pass."""
        return self.server.call(self.own_name, arguments, call, authorised=True)


def shown_name(entry: Entry, own: str) -> str:
    """What a tool of a server is called in a kit. No tool of ours has two underscores in its name."""
    name = f"{entry.prefix}__{_ODD.sub('_', own)}"
    if name == f"{entry.prefix}__{own}" and len(name) <= _MOST_NAME:
        return name
    import hashlib

    known_by = hashlib.blake2b(own.encode("utf-8", "replace"), digest_size=3).hexdigest()
    return f"{name[: _MOST_NAME - 7]}_{known_by}"


def outside(entry: Entry, network: bool) -> Effect:
    """Whether a server may reach other machines, or is one."""
    return Effect.NETWORK if entry.url or entry.network or network else Effect.NONE


def effects_of(entry: Entry, one: Definition, writes: str, network: bool) -> Effect:
    """What a call may do at worst. That it only reads is believed where the operator trusts the server."""
    reached = outside(entry, network)
    if entry.trust and one.reads:
        return Effect.READ | reached
    changes = Effect.NONE if writes == "nothing" else Effect.WRITE | Effect.DELETE
    return Effect.RUN | reached | changes
