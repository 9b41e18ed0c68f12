"""What a terminal shows of a run: the model's text, its calls, diffs in colours, and a line with the state of it."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from toolroll.cli.screen import CLEAR, ask, colour_diff, coloured, has_colours, write

if TYPE_CHECKING:
    from toolroll.agent.transcript import Record, ToolRecord
    from toolroll.control.prompt import ApprovalPrompt
    from toolroll.host.runtime.cancellation import CancelToken

_MAX_DIFF_LINES = 60
_TICK_S = 1.0


class AgentScreen:
    """Writes to stderr as a run goes on. A context manager: the line with its state is gone at the end.

    `price` is in dollars for a million tokens, of input and of output.
    """

    def __init__(self, price: Sequence[float] | None = None) -> None:
        self._price = price
        self._began = time.monotonic()
        self._lock = threading.RLock()
        self._ended = threading.Event()
        self._live = has_colours(sys.stderr) and sys.stderr.isatty()
        self._at_start, self._shown = True, False
        self.steps = self.input_tokens = self.output_tokens = 0
        self._doing = "waiting for the model"

    def __enter__(self) -> AgentScreen:
        if self._live:
            threading.Thread(target=self._tick, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        with self._lock:
            self._clear()
            self._live = False

    def write(self, text: str) -> None:
        """Write text above the line; it may be a part of one."""
        if not text:
            return
        with self._lock:
            self._clear()
            write(text, end="", to=sys.stderr, flush=True)
            self._at_start = text.endswith("\n")
            self._draw()

    def show(self, record: Record) -> None:
        """Show a record, without the model's text, which was written as it arrived."""
        from toolroll.agent.transcript import AssistantRecord, EndRecord, StartRecord, ToolRecord

        if isinstance(record, AssistantRecord):
            self.steps += 1
            self.input_tokens += record.input_tokens
            self.output_tokens += record.output_tokens
            self._doing = ", ".join(one.name for one in record.calls) or "waiting for the model"
        elif isinstance(record, ToolRecord):
            self._doing = "waiting for the model"
        lines = [] if isinstance(record, StartRecord | EndRecord) else format_record(record)
        with self._lock:
            self._clear()
            if not self._at_start:
                write(to=sys.stderr)
            self._at_start = True
            for line in lines:
                write(line, to=sys.stderr)
            self._draw()

    def ask(self, prompt: ApprovalPrompt, withdrawn: CancelToken) -> str:
        """Show a question and return the typed line; CannotAskError if it is withdrawn or the terminal is closed."""
        with self._lock:
            self._clear()
            return ask(prompt, lambda: withdrawn.cancelled, sys.stdin, sys.stderr)

    def totals(self) -> str:
        """Steps, tokens, cost and time so far."""
        tokens = self.input_tokens + self.output_tokens
        parts = [f"{self.steps} steps" if self.steps != 1 else "1 step", f"{tokens:,} tokens"]
        if self._price is not None:
            parts.append(f"${cost(self._price, self.input_tokens, self.output_tokens):.4f}")
        seconds = int(time.monotonic() - self._began)
        return ", ".join([*parts, f"{seconds // 60}:{seconds % 60:02d}"])

    def _tick(self) -> None:
        while not self._ended.wait(_TICK_S):
            with self._lock:
                self._draw()

    def _draw(self) -> None:
        if not self._live or not self._at_start or self._ended.is_set():
            return
        line = f"{self.totals()}  {self._doing}"[: _columns() - 1]
        write(CLEAR, coloured(line, "cyan", sys.stderr), end="", to=sys.stderr, flush=True)
        self._shown = True

    def _clear(self) -> None:
        if self._shown:
            write(CLEAR, end="", to=sys.stderr, flush=True)
            self._shown = False


def cost(price: Sequence[float], input_tokens: int, output_tokens: int) -> float:
    """Dollars for these tokens; `price` is for a million."""
    return (input_tokens * price[0] + output_tokens * price[1]) / 1_000_000


def format_record(record: Record) -> list[str]:
    """A record as lines for stderr, without the model's text: a diff whole, all else in one line as wide as it is."""
    from toolroll.agent.transcript import AssistantRecord, ToolRecord, describe_record

    if isinstance(record, AssistantRecord):
        return [_short(f"-> {one.name} {one.arguments}", "dim") for one in record.calls]
    if isinstance(record, ToolRecord) and (diff := _find_diff(record)):
        head, lines = diff
        shown = [colour_diff(line, sys.stderr) for line in lines[:_MAX_DIFF_LINES]]
        rest = len(lines) - _MAX_DIFF_LINES
        return [
            _short(head, "dim"),
            *shown,
            *([coloured(f"[{rest} more lines]", "dim", sys.stderr)] if rest > 0 else []),
        ]
    failed = isinstance(record, ToolRecord) and record.status == "error"
    return [_short(describe_record(record), "red" if failed else "dim")]


def _find_diff(record: ToolRecord) -> tuple[str, list[str]] | None:
    """The first line of a result with the lines of the diff in it; None without one."""
    lines = record.text.splitlines()
    start = next((at for at, line in enumerate(lines) if line.startswith("@@ -")), None)
    return None if start is None else (f"<- {record.name} {' '.join(lines[:start])}", lines[start:])


def _short(line: str, colour: str) -> str:
    line, most = " ".join(line.split()), max(40, _columns())
    cut = line if len(line) <= most else f"{line[: most - 6]} [...]"
    return coloured(cut, colour, sys.stderr)


def _columns() -> int:
    """The width of the terminal; wide for what is none, which cuts nothing that is worth to be read."""
    return shutil.get_terminal_size().columns if sys.stderr.isatty() else 300
