"""Output for people and programs: the one writer. rich is imported only for a table on a terminal."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

from toolroll.text.escape import escape_json, escape_text

if TYPE_CHECKING:
    from toolroll.control.prompt import ApprovalPrompt

_CODES = {"red": "31", "green": "32", "yellow": "33", "cyan": "36", "dim": "2", "bold": "1"}
_EARLY_S = 0.5  # after the last row of a question: a key that is pressed sooner is dropped
_MIN_WIDTH = 5  # of a column
_DIFF = {"+": "green", "-": "red", "@": "cyan"}
_CLEAR_LINE = "\r\x1b[K"


class Styled(str):
    """A text without control characters but our own: `write` leaves it as it is."""

    __slots__ = ()


CLEAR = Styled(_CLEAR_LINE)
"""Clears the line of a terminal that the cursor is in."""


def is_terminal(stream: TextIO) -> bool:
    """True for a terminal, or when FORCE_COLOR is set."""
    return bool(_environ(stream).get("FORCE_COLOR")) or stream.isatty()


def has_colours(stream: TextIO) -> bool:
    """True for a terminal that is not dumb, without NO_COLOR."""
    environ = _environ(stream)
    return is_terminal(stream) and not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"


def _environ(stream: TextIO) -> Mapping[str, str]:
    """The variables of whom a stream belongs to: in the daemon, a client."""
    return getattr(stream, "environ", os.environ)


def coloured(text: str, colour: str, stream: TextIO) -> Styled:
    """The text in this colour, if the stream has colours."""
    text = visible(text, stream)
    return Styled(f"\x1b[{_CODES[colour]}m{text}\x1b[0m" if colour and has_colours(stream) else text)


def visible(text: str, stream: TextIO) -> str:
    """The text for a stream: on a terminal, what could control it, hide or reorder text is escaped."""
    return text if isinstance(text, Styled) or not is_terminal(stream) else escape_text(text)


def write(*pieces: str, to: TextIO | None = None, end: str = "\n", flush: bool = False) -> None:
    """Write a line of text to stdout or another stream, in one piece: several threads may do so."""
    stream = sys.stdout if to is None else to
    stream.write("".join(visible(one, stream) for one in pieces) + end)
    if flush:
        stream.flush()


def show(text: str, *, diff: bool = False, to: TextIO | None = None) -> None:
    """Write a tool's text to stdout or another stream, with colours for a diff."""
    text, stream = text.removesuffix("\n"), sys.stdout if to is None else to
    write(Styled("\n".join(colour_diff(line, stream) for line in text.split("\n"))) if diff else text, to=stream)


def colour_diff(line: str, stream: TextIO) -> Styled:
    """A line of a diff in its colour, if the stream has colours."""
    return coloured(line, _DIFF.get(line[:1], ""), stream)


def complain(text: str, label: str = "toolroll", *, to: TextIO | None = None) -> None:
    """Write a message to stderr, or another stream."""
    stream = sys.stderr if to is None else to
    write(coloured(label + ":", "red", stream), " ", text, to=stream)


def ask(prompt: ApprovalPrompt, is_withdrawn: Callable[[], bool], stdin: TextIO, stderr: TextIO) -> str:
    """Show a question and return the typed line; CannotAskError if it is withdrawn or the terminal is closed."""
    from toolroll.host.approval.request import CannotAskError

    title, _, rest = prompt.text.partition("\n")
    write("\n", coloured(title, "yellow", stderr), "\n", rest, to=stderr)
    for line in prompt.diff.split("\n") if prompt.diff else ():
        write(colour_diff(line, stderr), to=stderr)
    typed = ask_line(prompt.choices, stdin, stderr, is_withdrawn)
    if typed is None:
        write("\nIt was answered elsewhere, or its call has ended.", to=stderr)
        raise CannotAskError("it was answered elsewhere")
    if not typed:
        raise CannotAskError("the terminal was closed")
    return typed


def ask_line(
    choices: str, stdin: TextIO, stream: TextIO, is_withdrawn: Callable[[], bool] = lambda: False
) -> str | None:
    """Ask below what is shown and return the typed line; empty at the end of the input, None if it is withdrawn.

    On a terminal only keys count that were pressed some time after the last row was drawn: nobody answers what was not
    on the screen.
    """
    import select

    from toolroll.host.runtime.cancellation import POLL_SECONDS

    if not stdin.isatty():
        write(choices, to=stream, end="", flush=True)
        return stdin.readline()
    with _dropping_keys(stdin.fileno()):
        write(choices, to=stream, end="", flush=True)
        end = time.monotonic() + _EARLY_S
        while time.monotonic() < end and not is_withdrawn():
            time.sleep(POLL_SECONDS)
    while not select.select([stdin], [], [], POLL_SECONDS)[0]:
        if is_withdrawn():
            return None
    return stdin.readline()


@contextmanager
def _dropping_keys(fd: int) -> Iterator[None]:
    """Drop, unechoed, what is typed on a terminal until the end of the block, and what was typed before."""
    import termios

    before = termios.tcgetattr(fd)
    termios.tcsetattr(fd, termios.TCSADRAIN, [*before[:3], before[3] & ~termios.ECHO, *before[4:]])
    try:
        yield
    finally:
        termios.tcsetattr(fd, termios.TCSAFLUSH, before)


def show_json(value: Any, indent: int | None = 2, *, to: TextIO | None = None) -> None:
    """Write a value as JSON; characters that control, hide or reorder text are escapes of JSON."""
    import json

    stream = sys.stdout if to is None else to
    ascii_only = "utf" not in (stream.encoding or "").lower()
    write(escape_json(json.dumps(value, indent=indent, ensure_ascii=ascii_only)), to=stream, flush=indent is None)


def show_table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, right: str, colours: Sequence[str]) -> None:
    """Write rows under their columns; `right` names a column of numbers.

    `colours` has the colour of each row's second cell.
    """
    if is_terminal(sys.stdout):
        _rich_table(columns, rows, right, colours)
    else:
        _plain_table(columns, rows, right)


def _plain_table(columns: Sequence[str], rows: Sequence[Sequence[str]], right: str) -> None:
    every = [columns, *rows]
    widths = [max(len(row[at]) for row in every) for at in range(len(columns))]
    for row in every:
        cells = [
            cell.rjust(width) if column == right else cell.ljust(width)
            for cell, width, column in zip(row, widths, columns, strict=True)
        ]
        write("  ".join(cells).rstrip())


def _rich_table(columns: Sequence[str], rows: Sequence[Sequence[str]], right: str, colours: Sequence[str]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for column in columns:
        # In a narrow terminal the others are wrapped, so that no column is lost.
        whole = column in (columns[0], right)
        table.add_column(column, justify="right" if column == right else "left", no_wrap=whole, min_width=_MIN_WIDTH)
    for row, colour in zip(rows, colours, strict=True):
        cells = [Text(visible(cell, sys.stdout)) for cell in row]
        cells[1].stylize(colour)
        table.add_row(*cells)
    Console(file=sys.stdout, no_color=not has_colours(sys.stdout), highlight=False).print(table)
