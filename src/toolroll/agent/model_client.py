"""The interface between the loop and a model: `ChatModel`, `ReactModel` and `ReplayModel` implement it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from toolroll.host.models.chat.messages import ChatRequest, Turn
    from toolroll.host.models.chat.model import OnText
    from toolroll.host.runtime.cancellation import CancelToken


class ModelClient(Protocol):
    """A model that takes turns in a conversation."""

    name: str

    def turn(self, request: ChatRequest, token: CancelToken, on_text: OnText | None = None) -> Turn:
        """The next turn of the model. Raises ModelError."""
