"""Loop detection: refuses calls that repeat a third time with the same results."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from toolroll.host.models.chat.messages import ToolCall

_MAX_CYCLE_CALLS = 3
_MAX_CALLS_IN_A_ROW = 6  # of one call whose results differ, as when a job is polled
_MAX_WARNINGS = 5
_REMEMBERED_CALLS = 21


class RepeatGuard:
    """Remembers calls and their results; refuses the third round of a cycle, and ends a run that goes on after that."""

    def __init__(self) -> None:
        self._past: list[tuple[str, str]] = []
        self._in_a_row = 0
        self._warnings = 0

    def refusal(self, call: ToolCall) -> str | None:
        """The message that replaces the result of a repeated call; None if the call may run."""
        key = _key(call)
        cycle = next((size for size in range(1, _MAX_CYCLE_CALLS + 1) if self._repeats_cycle(key, size)), 0)
        if not cycle and not self._is_stuck(key):
            return None
        what = "This same call was" if cycle <= 1 else f"The same {cycle} calls in turn were"
        return (
            f"{what} made again and again, so it was not carried out. The result would be the one that you "
            "have. Do something else: change the arguments, use another tool, or end with what you know."
        )

    def end_turn(self, *, refused: bool) -> None:
        self._in_a_row = self._in_a_row + 1 if refused else 0
        self._warnings += refused

    @property
    def exhausted(self) -> bool:
        """True if the model keeps repeating itself after warnings."""
        return self._in_a_row > 1 or self._warnings >= _MAX_WARNINGS

    def remember(self, call: ToolCall, result: str) -> None:
        self._past = [*self._past, (_key(call), result)][-_REMEMBERED_CALLS:]

    def _repeats_cycle(self, key: str, size: int) -> bool:
        """True if the last calls are two rounds of a cycle of this size, and this call starts a third."""
        last = self._past[-2 * size :]
        return len(last) == 2 * size and last[:size] == last[size:] and last[0][0] == key

    def _is_stuck(self, key: str) -> bool:
        last: Sequence[tuple[str, str]] = self._past[-_MAX_CALLS_IN_A_ROW:]
        return len(last) == _MAX_CALLS_IN_A_ROW and all(one == key for one, _ in last)


def _key(call: ToolCall) -> str:
    """The call in a normal form, without differences in white space and in the order of arguments."""
    try:
        given = msgspec.json.encode(msgspec.json.decode(call.arguments or "{}"), order="sorted").decode()
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        given = call.arguments
    return f"{call.name} {given}"
