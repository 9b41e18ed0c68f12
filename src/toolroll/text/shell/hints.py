"""Hints on why a command failed, from its output, where a model would not guess it."""

from __future__ import annotations

import re

_TERMINAL = re.compile(
    r"/dev/tty|not a tty|not a terminal|input device is not a TTY|must be run from a terminal|inappropriate ioctl",
    re.IGNORECASE,
)
_NO_INPUT = re.compile(r"(?m)^EOFError: EOF when reading a line\s*$")
_TAIL = 20_000  # characters; a program says at the end why it gives up


def hint(output: str) -> str:
    """A sentence on what stood in the command's way and what to do, or nothing."""
    said = output[-_TAIL:]
    if _TERMINAL.search(said):
        return "This command had no terminal: use the program's options for running without questions."
    if _NO_INPUT.search(said):
        return "Programs have no standard input (stdin) here: put the values into the code or give them as arguments."
    return ""
