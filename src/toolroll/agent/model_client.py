"""The interface between the loop and a model: `ChatModel`, `ReactModel` and `ReplayModel` implement it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from toolroll.host.models.chat.messages import ChatMessage, Turn
    from toolroll.host.models.chat.model import OnText
    from toolroll.host.runtime.cancellation import CancelToken


class ModelClient(Protocol):
    """A model that takes turns in a conversation."""

    name: str

    def turn(
        self,
        messages: Iterable[ChatMessage],
        token: CancelToken,
        *,
        tools: Iterable[Mapping[str, Any]] = (),
        stop: Iterable[str] = (),
        on_text: OnText | None = None,
    ) -> Turn:
        """The next turn of the model. Raises ModelError."""
