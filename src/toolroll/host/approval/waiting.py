"""Requests that wait for a person: one place for all who may answer, in this process or over its control socket.

The first answer is the one that counts, wherever it was given. An answer from elsewhere names the digest of what its
person was shown, and is applied only when the waiting call has taken it.
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from typing import Any, Literal

import msgspec

from toolroll.host.approval.request import Answer, ApprovalRequest, CannotAskError
from toolroll.host.runtime.cancellation import POLL_SECONDS, CancelToken
from toolroll.policy.effects import Effect
from toolroll.text.escape import escape_text

PATIENCE_S = 300.0
_ASKED_PATIENCE_S = 86_400.0  # while a client or a terminal asks
_TAKEN_S = 3.0  # for the call that waits, to take the answer
_ANY_TIME = nullcontext()
_MAX_REMEMBERED = 1_000  # ids of answered requests, for those who come late

AnswerState = Literal["applied", "late", "gone", "changed", "refused"]
Asker = Callable[[CancelToken], Answer]
"""Asks a person by itself; its token is cancelled when the answer came from elsewhere."""


class CommandPart(msgspec.Struct, frozen=True):
    """One simple command of a request, and why it is asked about."""

    text: str
    why: str


class WaitingRequest(msgspec.Struct, frozen=True):
    """One request as the person sees it."""

    id: str
    tool: str
    title: str
    text: str  # the whole question, to be shown as it is
    diff: str  # of the files that the call would change; may be empty
    arguments: Mapping[str, Any]
    runs: tuple[str, ...]
    parts: tuple[CommandPart, ...]
    effects: tuple[str, ...]
    held: str  # the changes that a command has made and that wait to land; may be empty
    lasting: bool  # whether "session" and "always" can be answered
    scope: str  # what those cover
    asked: float  # when, in seconds since the epoch
    ends: float  # when the call gives up waiting
    digest: str  # of what is shown
    editable: bool


class _Waiting:
    """A request from its question to its answer."""

    def __init__(self, request: ApprovalRequest, preview: Callable[[ApprovalRequest], str]) -> None:
        self.id = os.urandom(3).hex()
        self.request = request
        self.asked = time.time()
        self.ends = self.asked + _ASKED_PATIENCE_S
        self.came, self.ended = threading.Event(), threading.Event()
        self.answer: list[Answer] = []  # one at most
        self.error: BaseException | None = None  # of the asker
        self.taken = False
        self._preview = preview
        self._lock = threading.Lock()

    @cached_property
    def _diff(self) -> str:
        try:
            return self._preview(self.request)
        except Exception:  # a diff is a help: without one, the whole call is shown
            return ""

    def describe(self) -> WaitingRequest:
        """The request as it is shown; its diff is made when somebody looks for the first time."""
        with self._lock:
            diff = self._diff
        request, held = self.request, escape_text(self.request.held)
        shown = msgspec.json.encode([self.id, request.text, diff, held], enc_hook=str)
        return WaitingRequest(
            self.id,
            request.name,
            request.title,
            request.text,
            diff,
            request.arguments,
            tuple(map(escape_text, request.runs)),
            tuple(CommandPart(escape_text(text), escape_text(why)) for text, why in request.parts),
            tuple(str(one.name).lower() for one in Effect if one in request.effects),
            held,
            bool(request.key),
            request.scope if request.key else "",
            self.asked,
            self.ends,
            hashlib.blake2b(shown, digest_size=16).hexdigest(),
            request.editable,
        )


class WaitingApprovals:
    """The requests of a process that wait."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[str, _Waiting] = {}
        self._answered: deque[str] = deque(maxlen=_MAX_REMEMBERED)
        self.on_change: Callable[[], None] = lambda: None
        """Called when a request comes or goes. It must return at once."""
        self.is_watched: Callable[[], bool] = lambda: False
        """Whether somebody who can answer is shown what waits."""

    def ask(
        self,
        request: ApprovalRequest,
        token: CancelToken,
        *,
        asker: Asker,
        turn: AbstractContextManager[object] = _ANY_TIME,
        preview: Callable[[ApprovalRequest], str] = lambda _request: "",
        notice: Callable[[str], None] | None = None,
    ) -> Answer:
        """Wait for the answer of `asker`, or from elsewhere; CannotAskError when none comes.

        `turn` is held while `asker` asks: the lock of a terminal, which shows one question after the other.
        When `asker` cannot ask, it is waited for one from elsewhere, if somebody is shown what waits or there is
        `notice`, which then gets the id.
        """
        waiting, withdrawn = _Waiting(request, preview), CancelToken()
        with self._lock:
            self._waiting[waiting.id] = waiting
        self.on_change()
        try:
            work = threading.Thread(target=self._run_asker, args=(waiting, asker, turn, withdrawn), daemon=True)
            work.start()
            self._wait(waiting, token)
            if isinstance(waiting.error, CannotAskError) and (notice is not None or self.is_watched()):
                self._wait_for_others(waiting, token, notice)
            return self._take(waiting)
        finally:
            withdrawn.cancel()
            with self._lock:
                del self._waiting[waiting.id]
                self._answered.append(waiting.id)
            waiting.ended.set()
            self.on_change()

    def all(self) -> list[WaitingRequest]:
        """The requests that wait, the oldest first."""
        with self._lock:
            found = list(self._waiting.values())
        return [one.describe() for one in found]

    def answer(self, id: str, digest: str, answer: Answer) -> tuple[AnswerState, str]:
        """Answer a request as it was shown; returns what became of the answer, and why."""
        with self._lock:
            waiting = self._waiting.get(id)
        if waiting is None:
            if id in self._answered:
                return "late", "The request was answered elsewhere, or its call has ended."
            return "gone", "No such request waits."
        if digest != waiting.describe().digest:
            return "changed", "This is not the request that was shown. Look at it again."
        if not self._give(waiting, answer):
            return "late", "Another answer came first."
        waiting.ended.wait(_TAKEN_S)
        return (
            ("applied", "") if waiting.taken else ("gone", "The call that waited has ended: nothing took the answer.")
        )

    def _give(self, waiting: _Waiting, answer: Answer) -> bool:
        """Make this the answer of a request, and of those that it covers too; False if it has one."""
        with self._lock:
            if waiting.answer or waiting.ended.is_set():
                return False
            waiting.answer.append(answer)
            settled = [one for one in self._waiting.values() if _covers(waiting.request, answer, one)]
            for one in settled:
                one.answer.append("once")
        for one in (waiting, *settled):
            one.came.set()
        return True

    def _run_asker(
        self, waiting: _Waiting, asker: Asker, turn: AbstractContextManager[object], withdrawn: CancelToken
    ) -> None:
        try:
            with turn:
                if not waiting.answer:
                    self._give(waiting, asker(withdrawn))
        except BaseException as error:  # it is raised where the request waits
            waiting.error = error
            waiting.came.set()

    def _wait_for_others(self, waiting: _Waiting, token: CancelToken, notice: Callable[[str], None] | None) -> None:
        waiting.error = None
        with self._lock:
            waiting.ends = time.time() + PATIENCE_S
            if not waiting.answer:
                waiting.came.clear()
        self.on_change()  # it ends at another time
        if notice is not None:
            notice(waiting.id)
        self._wait(waiting, token)

    def _wait(self, waiting: _Waiting, token: CancelToken) -> None:
        while not waiting.came.wait(POLL_SECONDS) and time.time() < waiting.ends:
            token.check()

    def _take(self, waiting: _Waiting) -> Answer:
        with self._lock:
            if waiting.answer:
                waiting.taken = True
                return waiting.answer[0]
            waiting.ended.set()  # an answer from now on is late
        if waiting.error is not None:
            raise waiting.error
        raise CannotAskError(f"no answer came within {waiting.ends - waiting.asked:.0f} seconds")


def _covers(request: ApprovalRequest, answer: Answer, other: _Waiting) -> bool:
    """Whether an answer to a request is remembered, and would so answer another one that waits."""
    if answer not in ("session", "always") or not request.key or other.answer or other.ended.is_set():
        return False
    return (request.guard, request.key) == (other.request.guard, other.request.key)
