"""Log of what is not in the journal: commands, network requests, changes of state, and turns of the conversation.

Lines of a file in the state folder, with secrets redacted. The oldest are dropped when it gets long.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from toolroll.host.runtime.call import Call
    from toolroll.host.runtime.state import State
    from toolroll.policy.secrets import Redaction

_FOLDER, _NOW, _BEFORE = "calls", "calls.jsonl", "calls.1.jsonl"
_MAX_FILE_BYTES = 2_000_000  # of a file; there are two
_MAX_TEXT_CHARS = 2_000  # characters of the arguments of one call, or of one line of a turn
_MAX_TURN_CHARS = 20_000
_MAX_RECENT_TURNS = 1_000  # by which a client that sends the whole conversation with each call is noticed
SAID = "said"  # the outcome of a turn


class LoggedCall(msgspec.Struct, frozen=True):
    """One call, or a piece of one turn."""

    time: float
    tool: str
    """Of a turn: who said it."""
    arguments: str
    """As JSON, cut where it is long; of a turn: the text."""
    outcome: str
    """"success", or the code of the error; "said" for a turn."""
    session: str = ""
    message: str = ""


class CallLog:
    """Appends calls and reads them back. Several processes may do so at once."""

    def __init__(self, state: State, environment: Mapping[str, str]) -> None:
        self._state = state
        self._environment = environment
        self._recent: deque[int] = deque(maxlen=_MAX_RECENT_TURNS)

    def keep(self, call: Call, outcome: str) -> None:
        """Append the call. A full disk is no error: the call itself has succeeded."""
        text = msgspec.json.encode(dict(call.arguments), enc_hook=str).decode()[:_MAX_TEXT_CHARS]
        said = (call.name, self._redacted(text), outcome, call.session, self._redacted(call.message[:_MAX_TEXT_CHARS]))
        line = msgspec.json.encode(LoggedCall(time.time(), *said)) + b"\n"
        with suppress(OSError):
            self._append(line)

    def keep_turn(self, role: str, text: str, session: str) -> None:
        """Append what was said, in pieces; not again what was said before."""
        text = text.strip()[:_MAX_TURN_CHARS]
        known_by = hash((role, text))
        if known_by in self._recent:
            return
        self._recent.append(known_by)
        text, now = self._redacted(text), time.time()
        pieces = (text[at : at + _MAX_TEXT_CHARS] for at in range(0, len(text), _MAX_TEXT_CHARS))
        for piece in pieces:
            with suppress(OSError):
                self._append(msgspec.json.encode(LoggedCall(now, role, piece, SAID, session)) + b"\n")

    def _append(self, line: bytes) -> None:
        folder = self._state.folder(_FOLDER)
        fd = os.open(_NOW, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600, dir_fd=folder)
        try:
            os.write(fd, line)  # at once, so that lines of several processes do not mix
            if os.fstat(fd).st_size > _MAX_FILE_BYTES:
                os.replace(_NOW, _BEFORE, src_dir_fd=folder, dst_dir_fd=folder)
        finally:
            os.close(fd)

    def all(self) -> list[LoggedCall]:
        """The logged calls, the oldest first; broken lines are skipped."""
        found: list[LoggedCall] = []
        for name in (_BEFORE, _NOW):
            for line in self._lines(name):
                try:
                    found.append(msgspec.json.decode(line, type=LoggedCall))
                except (msgspec.DecodeError, UnicodeDecodeError):
                    continue
        return found

    def _lines(self, name: str) -> list[bytes]:
        try:
            with open(os.path.join(self._state.path, _FOLDER, name), "rb") as file:
                return file.read().splitlines()
        except FileNotFoundError:
            return []

    @cached_property
    def _redacted(self) -> Redaction:
        return _make_redaction(tuple(self._environment.items()))


@lru_cache(maxsize=4)  # many kits have the same environment
def _make_redaction(environment: tuple[tuple[str, str], ...]) -> Redaction:
    from toolroll.policy.secrets import Redaction

    return Redaction(dict(environment))
