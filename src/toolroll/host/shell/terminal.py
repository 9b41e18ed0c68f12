"""Pseudo-terminals for commands: press keys, and read its screen as text."""

from __future__ import annotations

import re
import threading
import time
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from toolroll.host.shell.output import COLUMNS, ROWS, CapturedOutput
from toolroll.result import ErrorCode, ToolError
from toolroll.text.terminal import clean

if TYPE_CHECKING:
    from toolroll.host.runtime.cancellation import CancelToken
    from toolroll.host.shell.supervisor import RunningCommand

# What was printed since the last look and costs more than this is skipped: the screen of a flood is that of its end.
_MAX_NEW_BYTES, _MAX_LOOK_SECONDS, _LAST_BYTES = 256 << 10, 0.4, 4 << 10
_MAX_MARKS = 8  # combining characters on one place
_SIZE = re.compile(r"([0-9]{1,3})x([0-9]{1,3})")
_LEAST, _MOST = (20, 5), (500, 200)
_QUIET_SECONDS, _LOOK_SECONDS, _SETTLE_SECONDS = 0.15, 0.03, 0.5
_APPLICATION_KEYS = 1 << 5  # the mode in which arrows are sent as ESC O, as pyte numbers private modes

_ARROWS = {"up": "A", "down": "B", "right": "C", "left": "D", "home": "H", "end": "F"}
_KEYS = {
    "enter": "\r",
    "tab": "\t",
    "esc": "\x1b",
    "space": " ",
    "backspace": "\x7f",
    "shift-tab": "\x1b[Z",
    "insert": "\x1b[2~",
    "delete": "\x1b[3~",
    "pageup": "\x1b[5~",
    "pagedown": "\x1b[6~",
    **{f"f{number}": f"\x1bO{letter}" for number, letter in zip(range(1, 5), "PQRS", strict=True)},
    **{f"f{at}": f"\x1b[{code}~" for at, code in zip(range(5, 13), (15, 17, 18, 19, 20, 21, 23, 24), strict=True)},
}


def parse_size(text: str) -> tuple[int, int]:
    """Columns and rows; ToolError if it is no size, or one that is too small or too large."""
    found = _SIZE.fullmatch(text)
    columns, rows = (int(found[1]), int(found[2])) if found else (0, 0)
    if not (_LEAST[0] <= columns <= _MOST[0] and _LEAST[1] <= rows <= _MOST[1]):
        raise ToolError(
            ErrorCode.VALIDATION, f"{text!r} is no size of a terminal. Give columns and rows, 20x5 to 500x200: '80x24'."
        )
    return columns, rows


def encode_keys(text: str, keys: Iterable[str], *, application: bool = False) -> str:
    """What a terminal sends for a typed text and for the named keys that are pressed after it."""
    return text.replace("\r\n", "\r").replace("\n", "\r") + "".join(_encode_key(key, application) for key in keys)


def _encode_key(key: str, application: bool) -> str:
    name = key.strip().lower().replace("_", "-")
    for other, ours in (("control-", "ctrl-"), ("escape", "esc"), ("page-", "page")):
        name = name.replace(other, ours)
    if name in _ARROWS:
        return ("\x1bO" if application else "\x1b[") + _ARROWS[name]
    if name in _KEYS:
        return _KEYS[name]
    if re.fullmatch(r"(?:ctrl-|c-|\^)[a-z@\[\\\]^_]", name):
        return chr(ord(name[-1].upper()) & 0x1F)
    if re.fullmatch(r"(?:alt-|m-)[ -~]", name):
        return "\x1b" + key.strip()[-1]
    known = ", ".join((*_ARROWS, *(one for one in _KEYS if one[0] != "f"), "f1 to f12", "ctrl-c", "alt-x"))
    raise ToolError(ErrorCode.VALIDATION, f"There is no key {key!r}. There are: {known}. Text goes into `input`.")


@dataclass(frozen=True, slots=True)
class ScreenText:
    """What a screen shows."""

    text: str
    size: str
    """Columns and rows, and where the cursor is."""


class TerminalScreen:
    """The screen of one terminal, brought up to date when it is looked at."""

    def __init__(self, output: CapturedOutput) -> None:
        self._output = output
        self._lock = threading.RLock()  # a model and a person may look at once
        self._offset = 0
        self._columns, self._rows = COLUMNS, ROWS
        self._screen, self._stream = _make_screen(COLUMNS, ROWS)

    def resize(self, columns: int, rows: int) -> None:
        with self._lock:
            self.look()
            self._columns, self._rows = columns, rows
            if self._screen is not None:
                self._screen.resize(rows, columns)

    @property
    def application_keys(self) -> bool:
        """Whether a program has asked for the other form of the arrow keys."""
        self.look()
        return self._screen is not None and _APPLICATION_KEYS in self._screen.mode

    def look(self) -> ScreenText:
        """The screen as it is now."""
        with self._lock:
            return self._last_lines() if self._screen is None else self._look()

    def _look(self) -> ScreenText:
        total, until = self._output.total, time.monotonic() + _MAX_LOOK_SECONDS
        if total - self._offset > _MAX_NEW_BYTES:
            self._start_over(total - _LAST_BYTES)
        while self._offset < total and (chunk := self._output.read(self._offset, _LAST_BYTES)):
            self._offset = self._output.present(self._offset) + len(chunk)
            self._feed("".join(_thin(chunk.decode("utf-8", "replace"))))
            if time.monotonic() > until and total - self._offset > _LAST_BYTES:
                self._start_over(total - _LAST_BYTES)
        lines = [line.rstrip() for line in self._screen.display]
        cursor = self._screen.cursor
        where = f"{self._columns}x{self._rows}, cursor in row {cursor.y + 1}, column {cursor.x + 1}"
        return ScreenText(clean("\n".join(lines).rstrip().encode()), where)

    def _feed(self, text: str) -> None:
        try:
            self._stream.feed(text)
        except Exception:  # a sequence that the library does not bear; what follows is shown
            self._start_over(self._offset)

    def _start_over(self, offset: int) -> None:
        self._screen, self._stream = _make_screen(self._columns, self._rows)
        self._offset = offset

    def _last_lines(self) -> ScreenText:
        """Without the library: the last lines that were printed."""
        head, _, tail = self._output.ends(2 * _LAST_BYTES)
        lines = clean(tail or head).splitlines()[-self._rows :]
        from toolroll.host.requirement import add_extra

        return ScreenText("\n".join(lines), f"the last lines; {add_extra('terminal')} for the screen")


def _make_screen(columns: int, rows: int) -> tuple[Any, Any]:
    try:
        import pyte
    except ImportError:
        return None, None
    screen = pyte.Screen(columns, rows)
    return screen, pyte.Stream(screen)


def _thin(text: str) -> Iterator[str]:
    """The text without endless combining characters, which the library would put together one by one."""
    if text.isascii():
        yield text
        return
    marks = 0
    for char in text:
        marks = marks + 1 if unicodedata.combining(char) else 0
        if marks <= _MAX_MARKS:
            yield char


def settle(running: RunningCommand, seconds: float, token: CancelToken) -> None:
    """Wait until a program on a terminal has answered and rests, it has ended, or the time is over."""
    output, until = running.output, time.monotonic() + (seconds or _SETTLE_SECONDS)
    total, changed = output.total, None
    while time.monotonic() < until and not running.over:
        running.wait(_LOOK_SECONDS, token, kill=False)
        token.check()
        if output.total != total:
            total, changed = output.total, time.monotonic()
        elif changed is not None and time.monotonic() - changed >= _QUIET_SECONDS:
            return
