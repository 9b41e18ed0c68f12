"""What a server offers and whom it serves, whatever the wire between them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Protocol

from toolroll.host.runtime.cancellation import Token

Item = dict[str, Any]
"""One JSON object in the shape that the protocol gives it."""
Kind = Literal["tools", "resources", "prompts"]


class Unknown(Exception):  # noqa: N818 (reads as what it says: `raise Unknown`)
    """There is no tool, resource or prompt of this name; the message says so."""


class Peer(Protocol):
    """The client at the other end of one request."""

    token: Token
    """Cancelled when the client cancels the request or goes away."""

    def can(self, capability: str) -> bool:
        """Whether the client can do this: "elicitation", "roots" or "sampling"."""

    def request(self, method: str, params: Item) -> Item:
        """Ask the client and wait for its result, in a worker thread.

        Raises ToolError when the client cannot, refuses, or goes away before it has answered.
        """

    def notify(self, method: str, params: Item) -> None:
        """Tell the client something and do not wait."""

    def progress(self, done: float, total: float | None, note: str) -> None:
        """Tell how far the work is; sent only if the request asked for it."""


class Offer(Protocol):
    """What a server offers. Everything is synchronous and may be called from several threads."""

    name: str
    version: str
    title: str
    instructions: str

    def tools(self) -> list[Item]:
        """The tools, as `tools/list` gives them."""

    def call(self, name: str, arguments: Item, peer: Peer) -> Item:
        """Call a tool: the result of `tools/call`. Raises Unknown for a tool that there is not."""

    def resources(self) -> list[Item]:
        """The resources, as `resources/list` gives them."""

    def templates(self) -> list[Item]:
        """The resource templates, as `resources/templates/list` gives them."""

    def read(self, uri: str) -> list[Item]:
        """The contents of a resource, as `resources/read` gives them. Raises Unknown."""

    def prompts(self) -> list[Item]:
        """The prompts, as `prompts/list` gives them."""

    def prompt(self, name: str, arguments: dict[str, str]) -> Item:
        """A prompt filled in: the result of `prompts/get`. Raises Unknown, or ValueError for wrong arguments."""

    def complete(self, ref: Item, argument: Item) -> list[str]:
        """Values that an argument of a prompt or a template could have, by what was typed of it."""

    def watch(self, changed: Callable[[Kind], None]) -> Callable[[], None]:
        """Call `changed` whenever a list is another one; gives the way to stop that."""

    def close(self) -> None:
        """End all work and give everything back."""
