"""What the loop needs of a model: a `host.model.Model` is one, a transcript that is replayed another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from toolroll.host.models.chat.messages import Message, Turn
    from toolroll.host.models.chat.model import Heard
    from toolroll.host.runtime.cancellation import Token


class Mind(Protocol):
    """Says what to do next."""

    name: str

    def turn(
        self,
        messages: Iterable[Message],
        token: Token,
        *,
        tools: Iterable[Mapping[str, Any]] = (),
        stop: Iterable[str] = (),
        hear: Heard | None = None,
    ) -> Turn: ...
