"""What an MCP server serves (`Backend`) and the client of one request (`Peer`), independent of the transport."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Protocol

from toolroll.host.runtime.cancellation import CancelToken

Item = dict[str, Any]
"""One JSON object in the shape that the protocol gives it."""
ListKind = Literal["tools", "resources", "prompts"]


class UnknownItemError(Exception):
    """No tool, resource or prompt has this name; the message says so."""


class Peer(Protocol):
    """The client at the other end of one request."""

    token: CancelToken
    """Cancelled when the client cancels the request or goes away."""
    client: Item
    """What the client says of itself (`clientInfo`)."""

    @property
    def meta(self) -> Item:
        """The `_meta` of the request."""

    def can(self, capability: str) -> bool:
        """True when the client supports "elicitation", "roots" or "sampling"."""

    def request(self, method: str, params: Item, *, withdrawn: CancelToken | None = None) -> Item:
        """Send a request to the client and wait for its result, in a worker thread.

        Raises ToolError when the client cannot answer, refuses, or goes away first, and when the request is cancelled
        by `withdrawn`; the client gets a message about that.
        """

    def notify(self, method: str, params: Item) -> None:
        """Send a notification without waiting."""

    def progress(self, done: float, total: float | None, note: str) -> None:
        """Report progress; sent only if the request asked for it."""


class Backend(Protocol):
    """The tools, resources and prompts of a server. All methods block and may be called from several threads."""

    name: str
    version: str
    title: str
    instructions: str

    def tools(self, client: Item | None = None) -> list[Item]:
        """The tools, as `tools/list` returns them to a client that calls itself so (`clientInfo`)."""

    def call(self, name: str, arguments: Item, peer: Peer) -> Item:
        """Call a tool: the result of `tools/call`. Raises UnknownItemError for an unknown tool."""

    def resources(self) -> list[Item]:
        """The resources, as `resources/list` returns them."""

    def templates(self) -> list[Item]:
        """The resource templates, as `resources/templates/list` returns them."""

    def read(self, uri: str) -> list[Item]:
        """The contents of a resource, as `resources/read` returns them. Raises UnknownItemError."""

    def prompts(self) -> list[Item]:
        """The prompts, as `prompts/list` returns them."""

    def prompt(self, name: str, arguments: dict[str, str]) -> Item:
        """A prompt with its arguments: the result of `prompts/get`.

        Raises UnknownItemError, or ValueError for wrong arguments.
        """

    def complete(self, ref: Item, argument: Item) -> list[str]:
        """Completions for an argument of a prompt or a template."""

    def watch(self, changed: Callable[[ListKind], None]) -> Callable[[], None]:
        """Call `changed` whenever a list changes; returns a function that stops that."""

    def close(self) -> None:
        """Cancel all calls and release everything."""
