"""Conversations with a chat model, and what a provider's protocol consists of: `openai` and `anthropic` are the two."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

import msgspec

from toolroll.result import Image, ToolError
from toolroll.schema.argument_text import read_object

if TYPE_CHECKING:
    import httpx2


Role = Literal["system", "user", "assistant", "tool"]
StopReason = Literal["end", "calls", "length", "refused", "unclear"]
"""Why an answer ends; "unclear" when it is neither an answer nor a tool call."""

_CHARS_PER_TOKEN = 4


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call that a model asks for."""

    id: str
    name: str
    arguments: str
    """JSON as the model wrote it, possibly invalid."""


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message of a conversation. A message of the role "tool" answers the call `call_id`."""

    role: Role
    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    call_id: str = ""
    failed: bool = False
    images: tuple[Image, ...] = ()
    provider_blocks: tuple[Mapping[str, Any], ...] = ()
    """Opaque blocks of the provider, such as signed thinking; they are sent back unchanged."""

    @property
    def chars(self) -> int:
        return len(self.text) + sum(len(call.arguments) for call in self.calls)


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one or several turns."""

    input: int = 0
    output: int = 0
    cached: int = 0
    """Input tokens that the provider read from its cache."""
    estimated: bool = False
    """True if a part is an estimate, because the provider reported no usage."""

    @property
    def total(self) -> int:
        return self.input + self.output

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input + other.input,
            self.output + other.output,
            self.cached + other.cached,
            self.estimated or other.estimated,
        )


@dataclass(frozen=True, slots=True)
class Turn:
    """One answer of a model, why it stopped, and what it cost."""

    message: ChatMessage
    stop: StopReason
    usage: Usage


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """The conversation, the tools that the model may call, and the bounds of its answer."""

    messages: tuple[ChatMessage, ...]
    tools: tuple[Mapping[str, Any], ...] = ()
    """Definitions in the shape of MCP, `{name, description, inputSchema}`."""
    stop: tuple[str, ...] = ()
    max_tokens: int | None = None
    """Of the answer; None leaves it to the provider."""


def estimate_usage(request: ChatRequest, answer: ChatMessage) -> Usage:
    """Usage by the number of characters, for providers that report none."""
    sent = sum(message.chars for message in request.messages)
    return Usage(sent // _CHARS_PER_TOKEN + 1, answer.chars // _CHARS_PER_TOKEN + 1, estimated=True)


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
        return read_object(text)[0]
    except ToolError:
        return {"broken": text}
