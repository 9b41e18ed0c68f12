"""What a provider's protocol consists of; the modules `openai` and `anthropic` are the two."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

if TYPE_CHECKING:
    import httpx2

    from toolroll.host.models.chat.messages import ChatRequest, Turn


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The server of a model, and the environment variables that set it up."""

    provider: str
    url: str
    key: str = field(default="", repr=False)
    key_variable: str = ""
    url_variable: str = ""


class TurnReader(Protocol):
    """Assembles a turn from the events of a stream."""

    complete: bool
    """True once the answer has come to its end."""

    def take(self, event: Any, /) -> str:
        """Add an event; the text that it holds. Raises any of `UNREADABLE`."""

    def take_whole(self, answer: Mapping[str, Any], /) -> str:
        """Read an answer that was not streamed; its text. Raises any of `UNREADABLE`."""

    def turn(self) -> Turn:
        """The turn so far."""


class ChatProtocol(Protocol):
    """A provider's protocol, on top of its SDK."""

    PACKAGE: str
    """The package of the SDK, and of its `APIError`."""

    def headers(self, key: str) -> dict[str, str]: ...
    def send(self, endpoint: Endpoint, web: httpx2.Client, model: str, request: ChatRequest) -> Any:
        """Send a request; the stream of the SDK with the events of the answer."""

    def make_reader(self) -> TurnReader: ...


UNREADABLE = (AttributeError, LookupError, TypeError, ValueError, RecursionError)
"""Raised where an answer has not the shape of the protocol: the SDKs do not validate what they receive."""


def count(value: object) -> int:
    """A number of tokens; 0 for anything else."""
    return value if isinstance(value, int) and value >= 0 else 0


def encode_arguments(arguments: object) -> str:
    """The arguments of a call as JSON text; text stays as it is."""
    return arguments if isinstance(arguments, str) else msgspec.json.encode(arguments).decode()


def parse_arguments(text: str) -> Mapping[str, Any]:
    """The arguments of a call as an object, which servers require; invalid JSON becomes `{"broken": text}`."""
    try:
        found = msgspec.json.decode(text or "{}")
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        found = None
    return found if isinstance(found, dict) else {"broken": text}
