"""Carrying out what a model asks for: what only looks side by side, what changes something alone and in order."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from toolroll.chains import LinkedToken, parallel
from toolroll.dialect import Relay
from toolroll.executor import parse_arguments
from toolroll.policy.effects import Effect
from toolroll.result import ToolError

if TYPE_CHECKING:
    from toolroll.dialect import Entry
    from toolroll.host.models.chat.messages import ToolCall
    from toolroll.host.runtime.cancellation import Token
    from toolroll.kit import Kit
    from toolroll.result import Result

_LOOKS = Effect.READ | Effect.NETWORK


def carry_out(kit: Kit, calls: Sequence[ToolCall], token: Token) -> list[Result]:
    """The results of the calls, in their order."""
    entries = {entry.name: entry for entry in kit.entries()}
    results: list[Result] = []
    for looks, group in groupby(calls, key=lambda call: only_looks(call, entries.get(call.name))):
        asked = [(call.name, call.arguments) for call in group]
        if looks:
            results += parallel(kit, asked, token=token)
        else:  # a model that writes a file and runs its tests in one turn means them in this order
            results += [kit.call(name, arguments, token=LinkedToken(token)) for name, arguments in asked]
    return results


def only_looks(call: ToolCall, entry: Entry | None) -> bool:
    """Whether the call changes nothing, so that it makes no difference what runs beside it."""
    if entry is None:
        return True
    if isinstance(entry, Relay):
        return entry.effects in _LOOKS
    try:
        effects = entry.pick(parse_arguments(call.arguments)).effects
    except (ToolError, KeyError):  # the call will fail, and say why
        return True
    return effects in _LOOKS
