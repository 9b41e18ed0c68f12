"""Hints on why a command failed, from its output, where a model would not guess it."""

from __future__ import annotations

import re

_TERMINAL = re.compile(
    r"/dev/tty|not a tty|not a terminal|input device is not a TTY|must be run from a terminal|inappropriate ioctl",
    re.IGNORECASE,
)
_NETWORK = re.compile(
    r"could not resolve host|temporary failure in name resolution|network is unreachable|getaddrinfo|"
    r"failed to lookup address|name or service not known|ENOTFOUND|EAI_AGAIN",
    re.IGNORECASE,
)
_DENIED = re.compile(
    r"permission denied|operation not permitted|read-only file system|EACCES|EPERM|EROFS", re.IGNORECASE
)
_NO_INPUT = re.compile(r"(?m)^EOFError: EOF when reading a line\s*$")
_TAIL = 20_000  # characters; a program says at the end why it gives up


def hint(output: str, *, confined: bool, network: bool) -> str:
    """A sentence on what stood in the command's way and what to do, or nothing."""
    said = output[-_TAIL:]
    if _TERMINAL.search(said):
        return "Commands have no terminal: use the program's options for running without questions."
    if _NO_INPUT.search(said):
        return "Programs have no standard input (stdin) here: put the values into the code or give them as arguments."
    if confined and not network and _NETWORK.search(said):
        return "Commands have no network here: use another tool to fetch, or ask the user to allow it."
    if confined and _DENIED.search(said):
        return "Commands are confined: they write only in the workspace and in $TMPDIR, and cannot read private files."
    return ""
