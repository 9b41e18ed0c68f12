"""The messages of a run, and how they are shortened for the context window of the model."""

from __future__ import annotations

from dataclasses import replace

from toolroll.host.models.chat.messages import ChatMessage

_KEPT_CHARS = 200  # of a result that is shortened
_RECENT_RESULTS = 2  # shortened last


class Conversation:
    """The messages of one run so far."""

    def __init__(self, system: str, task: str) -> None:
        self.messages = [ChatMessage("system", system), ChatMessage("user", task)]

    def add(self, *messages: ChatMessage) -> None:
        self.messages += messages

    def shorten(self) -> int:
        """Cut the older half of the long tool results; the number of results cut, 0 if none is left to cut."""
        long = [
            place
            for place, one in enumerate(self.messages)
            if one.role == "tool" and (len(one.text) > 2 * _KEPT_CHARS or one.images)
        ]
        chosen = long[: max(1, len(long) // 2)] if len(long) > _RECENT_RESULTS else long
        for place in chosen:
            one = self.messages[place]
            note = f"[Shortened: it had {len(one.text)} characters. Call the tool again if you need them.]"
            self.messages[place] = replace(one, text=f"{one.text[:_KEPT_CHARS]}\n{note}", images=())
        return len(chosen)
