"""Run the tool calls of a turn: read-only calls in parallel, all others alone and in order."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from toolroll import formats
from toolroll.chains import Under, parallel
from toolroll.dialect import Relay
from toolroll.policy.effects import Effect
from toolroll.result import ToolError

if TYPE_CHECKING:
    from toolroll.dialect import Entry
    from toolroll.host.models.chat.messages import ToolCall
    from toolroll.host.runtime.cancellation import CancelToken
    from toolroll.kit import Kit
    from toolroll.result import Result

_READ_ONLY = Effect.READ | Effect.NETWORK


def run_calls(kit: Kit, calls: Sequence[ToolCall], token: CancelToken) -> list[Result]:
    """The results of the calls, in their order."""
    entries = {entry.name: entry for entry in kit.entries()}
    results: list[Result] = []
    for read_only, group in groupby(calls, key=lambda call: is_read_only(call, entries.get(call.name))):
        group_calls = [(call.name, call.arguments) for call in group]
        if read_only:
            results += parallel(kit, group_calls, token=token)
        else:  # a model that writes a file and runs its tests in one turn expects this order
            results += [kit.call(name, arguments, token=Under(token)) for name, arguments in group_calls]
    return results


def is_read_only(call: ToolCall, entry: Entry | None) -> bool:
    """True if the call changes nothing, so that others can run at the same time."""
    if entry is None:
        return True
    if isinstance(entry, Relay):
        return entry.effects in _READ_ONLY
    try:
        effects = entry.pick(formats.arguments(call.arguments)).effects
    except (ToolError, KeyError):  # the call will fail with an explanation
        return True
    return effects in _READ_ONLY
