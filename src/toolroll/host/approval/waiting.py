"""Requests that wait for an answer from another process: files in the workspace's state folder.

The process that asks writes `ID.json` and waits for `ID.answer`, which names the text that was read. Commands cannot
reach the state folder, so that none can answer for itself; without a sandbox nothing keeps them from it.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

import msgspec

from toolroll.host.approval.request import Answer, ApprovalRequest, CannotAskError
from toolroll.host.runtime.cancellation import CancelToken
from toolroll.host.runtime.state import State

PATIENCE_S = 300.0
_FOLDER = "approvals"
_LOOK_S = 0.1
_TAKEN_S = 3.0  # for the process that asked, to take the answer

T = TypeVar("T")


class WaitingRequest(msgspec.Struct, frozen=True):
    """One request as the person sees it."""

    id: str
    tool: str
    text: str  # the whole question, to be shown as it is
    asked: float  # when, in seconds since the epoch
    ends: float  # when its process gives up waiting
    lasting: bool  # whether "session" and "always" can be answered


class _GivenAnswer(msgspec.Struct, frozen=True):
    answer: Answer
    digest: str


class WaitingApprovals:
    """The requests of a workspace that wait: for the process that asks, and for the one that answers."""

    def __init__(self, state: State) -> None:
        self._state = state

    def ask(
        self, request: ApprovalRequest, token: CancelToken, notice: Callable[[str], None], patience: float = PATIENCE_S
    ) -> Answer:
        """Wait for the answer; CannotAskError when none comes. `notice` gets the id as soon as it can be answered."""
        id = os.urandom(3).hex()
        text, now = request.text, time.time()
        waiting = WaitingRequest(id, request.name, text, now, now + patience, bool(request.key))
        self._state.put(_FOLDER, f"{id}.json", msgspec.json.encode(waiting))
        end = time.monotonic() + patience
        try:
            notice(id)
            while time.monotonic() < end:
                token.check()
                found = self._read(f"{id}.answer", _GivenAnswer)
                if found is not None and found.digest == _digest(text):
                    return found.answer
                time.sleep(_LOOK_S)
        finally:
            self._remove(id)
        raise CannotAskError(f"`toolroll approve` was not used within {patience:g} seconds")

    def all(self) -> list[WaitingRequest]:
        """The requests that wait, the oldest first; what killed processes left is removed when its time is over."""
        found = []
        for name in self._names():
            waiting = self._read(name, WaitingRequest)
            if waiting is not None and time.time() < waiting.ends:
                found.append(waiting)
            else:
                self._remove(name.removesuffix(".json"))
        return sorted(found, key=lambda one: one.asked)

    def answer(self, request: WaitingRequest, answer: Answer) -> bool:
        """Answer a request as it was shown; False when nothing takes the answer."""
        if request not in self.all():
            return False
        given = _GivenAnswer(answer, _digest(request.text))
        self._state.put(_FOLDER, f"{request.id}.answer", msgspec.json.encode(given))
        end = time.monotonic() + _TAKEN_S
        while time.monotonic() < end:
            if request not in self.all():
                return True
            time.sleep(_LOOK_S)
        self._remove(request.id)
        return False

    def _names(self) -> list[str]:
        with suppress(FileNotFoundError):
            return [name for name in os.listdir(os.path.join(self._state.path, _FOLDER)) if name.endswith(".json")]
        return []

    def _read(self, name: str, kind: type[T]) -> T | None:
        with suppress(OSError, msgspec.MsgspecError), open(os.path.join(self._state.path, _FOLDER, name), "rb") as file:
            return msgspec.json.decode(file.read(), type=kind)
        return None

    def _remove(self, id: str) -> None:
        for name in (f"{id}.json", f"{id}.answer"):
            with suppress(OSError):
                os.unlink(os.path.join(self._state.path, _FOLDER, name))


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
