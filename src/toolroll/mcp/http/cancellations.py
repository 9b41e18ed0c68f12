"""Cancellations that arrive before the call that they name.

A client sends a call and its cancellation on two connections, so the server may read the cancellation first. The SDK
ignores a cancellation of a request that it does not know yet.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from mcp.shared.dispatcher import coerce_request_id
from mcp_types import RequestId

EARLY_CANCELLATION_TIMEOUT_S = 5.0
"""Time in which the call must follow its cancellation."""
MAX_IDS_PER_SESSION = 64
"""Cancellations, and ids of calls that have begun, that are kept for one session; the oldest are dropped."""
MAX_SESSIONS_WITH_IDS = 64
_MAX_ID_CHARS = 128

K = TypeVar("K")
V = TypeVar("V")


@dataclass(slots=True)
class _SessionIds:
    begun: OrderedDict[RequestId, None] = field(default_factory=OrderedDict)
    cancelled: OrderedDict[RequestId, float] = field(default_factory=OrderedDict)  # with the time of expiry


class EarlyCancellations:
    """The cancellations of calls that have not begun, by session and request id."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        # The SDK does not report the end of a session, so the oldest sessions are dropped.
        self._sessions: OrderedDict[str, _SessionIds] = OrderedDict()

    def add(self, session: str, request_id: RequestId) -> None:
        """Remember a cancellation, unless a call with this id has begun: the SDK cancels that one itself."""
        ids, key = self._ids_of(session), coerce_request_id(request_id)
        if key not in ids.begun and _is_short(key):
            _put(ids.cancelled, key, self._clock() + EARLY_CANCELLATION_TIMEOUT_S, MAX_IDS_PER_SESSION)

    def begin(self, session: str, request_id: RequestId) -> bool:
        """Note that a call begins; True when its client has cancelled it already."""
        ids, key = self._ids_of(session), coerce_request_id(request_id)
        if _is_short(key):
            _put(ids.begun, key, None, MAX_IDS_PER_SESSION)
        expiry = ids.cancelled.pop(key, None)
        return expiry is not None and self._clock() < expiry

    def _ids_of(self, session: str) -> _SessionIds:
        ids = self._sessions.get(session) or _SessionIds()
        _put(self._sessions, session, ids, MAX_SESSIONS_WITH_IDS)
        return ids


def _is_short(key: RequestId) -> bool:
    return len(str(key)) <= _MAX_ID_CHARS


def _put(entries: OrderedDict[K, V], key: K, value: V, most: int) -> None:
    entries[key] = value
    entries.move_to_end(key)
    while len(entries) > most:
        entries.popitem(last=False)
