"""The conversation with a model: what was said, and how it gets shorter when it is too long."""

from __future__ import annotations

from dataclasses import replace

from toolroll.host.models.chat.messages import Message

_KEPT = 200  # characters of a result that is shortened
_RECENT = 2  # results that are shortened last


class Conversation:
    """The messages so far."""

    def __init__(self, system: str, task: str) -> None:
        self.messages = [Message("system", system), Message("user", task)]

    def add(self, *messages: Message) -> None:
        self.messages += messages

    def shorten(self) -> int:
        """Cut the older half of the long results; how many were cut, 0 when there are none left."""
        long = [
            place
            for place, one in enumerate(self.messages)
            if one.role == "tool" and (len(one.text) > 2 * _KEPT or one.images)
        ]
        chosen = long[: max(1, len(long) // 2)] if len(long) > _RECENT else long
        for place in chosen:
            one = self.messages[place]
            note = f"[Shortened: it had {len(one.text)} characters. Call the tool again if you need them.]"
            self.messages[place] = replace(one, text=f"{one.text[:_KEPT]}\n{note}", images=())
        return len(chosen)
