"""A guard against going in circles: calls that come a third time with nothing new between them."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from toolroll.host.models.chat.messages import ToolCall

_LONGEST_CIRCLE = 3
_MOST_IN_A_ROW = 6  # of one call whose results differ, as when a job is looked after
_MOST_WARNINGS = 5


class Repeats:
    """Remembers calls and their results. A third time round a circle is refused; going on after that is the end."""

    def __init__(self) -> None:
        self._past: list[tuple[str, str]] = []
        self._in_a_row = 0
        self._warnings = 0

    def refusal(self, call: ToolCall) -> str | None:
        """What the model is told in place of a result; None when the call may run."""
        key = _key(call)
        circle = next((size for size in range(1, _LONGEST_CIRCLE + 1) if self._goes_round(key, size)), 0)
        if not circle and not self._is_stuck(key):
            return None
        what = "This same call was" if circle <= 1 else f"The same {circle} calls in turn were"
        return (
            f"{what} made again and again, so it was not carried out. The result would be the one that you "
            "have. Do something else: change the arguments, use another tool, or end with what you know."
        )

    def warned(self, refused: bool) -> None:
        """Whether something was refused in this turn."""
        self._in_a_row = self._in_a_row + 1 if refused else 0
        self._warnings += refused

    @property
    def hopeless(self) -> bool:
        """Whether the model goes on after it was told."""
        return self._in_a_row > 1 or self._warnings >= _MOST_WARNINGS

    def saw(self, call: ToolCall, result: str) -> None:
        """Remember what a call gave."""
        self._past = [*self._past[-20:], (_key(call), result)]

    def _goes_round(self, key: str, size: int) -> bool:
        """Whether the last calls went round a circle of this size twice, and this call begins a third time."""
        last = self._past[-2 * size :]
        return len(last) == 2 * size and last[:size] == last[size:] and last[0][0] == key

    def _is_stuck(self, key: str) -> bool:
        last: Sequence[tuple[str, str]] = self._past[-_MOST_IN_A_ROW:]
        return len(last) == _MOST_IN_A_ROW and all(one == key for one, _ in last)


def _key(call: ToolCall) -> str:
    """The call in one spelling, so that spaces and the order of arguments make no difference."""
    try:
        given = msgspec.json.encode(msgspec.json.decode(call.arguments or "{}"), order="sorted").decode()
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        given = call.arguments
    return f"{call.name} {given}"
