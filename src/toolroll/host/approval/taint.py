"""Track secrets that a session has read, and ask before a request could carry one out.

The rules for both are imported when something is about to be sent: most sessions send nothing.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeVar

from toolroll.host.approval.guard import Guard
from toolroll.host.approval.request import ApprovalRequest
from toolroll.host.runtime.call import Call
from toolroll.policy.effects import Effect
from toolroll.policy.rules import MODES
from toolroll.result import ErrorCode, ToolError

_WAITING_CHARACTERS = 1 << 18  # of results that are not scanned yet, above which a thread scans them
_MAX_WAITING_CHARACTERS = 1 << 23  # above which each call scans a piece too
_PIECE_CHARACTERS, _OVERLAP_CHARACTERS = 1 << 14, 1 << 12
_QUIET_S = 0.05  # without a result, after which no call is taken to be in flight
_MAX_VALUES = 2_000


class OutgoingRequest(Protocol):
    """What is judged of an HTTP request."""

    @property
    def method(self) -> str: ...
    @property
    def url(self) -> str: ...
    @property
    def headers(self) -> Mapping[str, str]: ...
    @property
    def body(self) -> bytes | None: ...


SentT = TypeVar("SentT", bound=OutgoingRequest)


class Taint:
    """The secrets that one kit has read. Results are queued, and scanned in pieces while no call is in flight."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self._lock = threading.Lock()  # of the queue; nothing is scanned while it is held
        self._scanning = threading.Lock()
        self._waiting: deque[_Shown] = deque()
        self._size = 0
        self._kept_at = 0.0
        self._thread: threading.Thread | None = None
        self._source = ""
        self._values: set[str] = set()

    def close(self) -> None:
        """Forget what waits to be scanned."""
        with self._lock:
            self._waiting.clear()
            self._size = 0

    def notice_files(self, paths: Iterable[str]) -> None:
        """Record files whose contents are about to be shown."""
        self._keep(partial(_secret_source, list(paths), None), "")

    def notice_result(self, effects: Effect, paths: Iterable[str], arguments: Mapping[str, Any], text: str) -> None:
        """Record what a call has shown. `paths` are those that it names; without any, its arguments are searched."""
        if Effect.NETWORK in effects and self._guard.policy.taint == "foreign":
            self._keep(lambda: "Text from another machine", "")
        if effects == Effect.NETWORK:
            return  # what a public server sends is no secret of ours
        named = list(paths)
        searched = arguments if not named and effects & (Effect.READ | Effect.RUN | Effect.SHELL) else None
        if named or searched or text:
            self._keep(partial(_secret_source, named, searched), text)

    def check_request(self, call: Call, request: SentT) -> SentT:
        """The request; ToolError if it must not be sent: it does more than look, or could carry a secret."""
        from toolroll.policy import taint

        guard, method = self._guard, request.method
        if method not in taint.LOOKING and Effect.WRITE not in MODES[guard.mode] & ~guard.policy.deny:
            why = f"mode {guard.mode!r}" if Effect.WRITE not in MODES[guard.mode] else "the policy"
            raise ToolError(ErrorCode.PERMISSION, f"{method!r} is not allowed by {why}, which only looks. Use 'GET'.")
        if source := self.source:
            carried = request.body is not None
            why = taint.objection(method, request.url, request.headers, body=carried, values=self._values)
            self._require(call, source, why)
        return request

    def check_text(self, call: Call, text: str) -> None:
        """The same for a text that goes to a server of the operator's choice."""
        if source := self.source:
            from toolroll.policy import taint

            self._require(call, source, taint.objection_to_text(text, self._values))

    def check_call(self, call: Call, effects: Effect) -> None:
        """The same for a call of a program that may send its arguments where it likes."""
        if Effect.NETWORK in effects and (source := self.source):
            self._require(call, source, "a call of this tool can carry it")

    def check_program(self, call: Call) -> None:
        """The same for a call that a program makes, unless commands may use the whole network anyway."""
        if self._guard.policy.network is not True:
            why = "the program that makes this call could send what it has read"
            key, covers = ("program", call.name), f"every call of {call.name!r} that a program makes"
            self._guard.require(ApprovalRequest(call.name, Effect.NETWORK, call.arguments, why, key=key, covers=covers))

    @property
    def source(self) -> str:
        """The first secret that was read, in words; empty if none was."""
        while self._scan_piece():
            pass
        return self._source

    def _keep(self, find_source: Callable[[], str], text: str) -> None:
        with self._lock:
            self._waiting.append(_Shown(find_source, text))
            self._size += len(text)
            self._kept_at = time.monotonic()
            if self._size > _WAITING_CHARACTERS and self._thread is None:
                self._thread = threading.Thread(target=self._scan_while_quiet, name="toolroll secrets", daemon=True)
                self._thread.start()
        if self._size > _MAX_WAITING_CHARACTERS:
            self._scan_piece()

    def _scan_while_quiet(self) -> None:
        waits = True
        while waits:
            time.sleep(max(0.0, self._kept_at + _QUIET_S - time.monotonic()))
            waits = time.monotonic() < self._kept_at + _QUIET_S or self._scan_piece()
            with self._lock:
                if not (waits := waits and bool(self._waiting)):
                    self._thread = None

    def _scan_piece(self) -> bool:
        """Look for secrets in the next piece; False if there is none."""
        from toolroll.policy.secrets import holds_secret
        from toolroll.policy.taint import values_in

        with self._scanning:  # pieces are scanned in their order: the first secret is the one that is named
            with self._lock:
                if not self._waiting:
                    return False
                shown, at = self._waiting[0], self._waiting[0].scanned
                shown.scanned += _PIECE_CHARACTERS
                self._size -= len(shown.text[at : shown.scanned])
                if shown.scanned >= len(shown.text):
                    self._waiting.popleft()
            piece = shown.text[at : shown.scanned + _OVERLAP_CHARACTERS]
            shown.source = shown.source or (shown.find_source() if not at else "")
            if shown.source or holds_secret(piece):
                self._source = self._source or shown.source or "A text that looks like a secret"
                if len(self._values) < _MAX_VALUES:
                    self._values |= values_in(piece)
        return True

    def _require(self, call: Call, source: str, objection: str) -> None:
        """Ask for something that could carry a secret out; without an objection there is nothing to ask."""
        if not objection:
            return
        why = f"{source} was read in this session, and {objection}"
        self._guard.require(ApprovalRequest(call.name, Effect.NETWORK, call.arguments, why))


@dataclass(slots=True)
class _Shown:
    """What a call has shown."""

    find_source: Callable[[], str]
    """The secret file that it comes from, in words; empty if there is none."""
    text: str
    scanned: int = 0
    source: str = ""


def _secret_source(paths: Iterable[str], arguments: Mapping[str, Any] | None) -> str:
    """The secret file among these paths, or the one that the arguments mention, in words; empty if there is none."""
    from toolroll.policy.taint import secret_file, secret_file_in

    found = secret_file(paths) or ("" if arguments is None else secret_file_in(arguments))
    return f"The secret file {found!r}" if found else ""
