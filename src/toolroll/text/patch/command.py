"""Read a shell command that only applies a patch, as models write it that know `apply_patch` as a program."""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Mapping
from typing import Any

from toolroll.result import Suggestion

_NAMES = ("apply_patch", "applypatch")
_SHELLS = ("bash", "sh", "zsh")
_FOLDER = re.compile(r"\s*cd\s+(?P<folder>'[^']*'|\"[^\"$`\\]*\"|[^\s'\"$`\\;&|<>()*?~]+)\s*&&\s*")
_DOCUMENT = re.compile(
    r"""\s*(?:apply_?patch\s*(?P<in><<)|cat\s*(?P<piped><<)|apply_?patch\s+"\$\(\s*cat\s*(?P<inner><<))
    -?\s*(?P<quote>['"]?)(?P<end>\w+)(?P=quote)[ \t]*(?P<pipe>\|\s*apply_?patch[ \t]*)?\n
    (?P<body>.*?)(?:\n[ \t]*(?P=end)[ \t]*(?P<rest>\n.*)?)?\Z""",
    re.VERBOSE | re.DOTALL,
)
_HEADER = re.compile(r"^([ \t]*\*\*\* (?:(?:Add|Delete|Update) File|Move to): +)(.*)$", re.MULTILINE)


def read_patch_command(arguments: Mapping[str, Any], folder: str) -> Suggestion | None:
    """The call of `patch` that a call of `bash` stands for; `folder` is where its shell would run. None for others."""
    if arguments.get("args") or arguments.get("hold"):
        return None
    command = str(arguments.get("command", ""))
    if not any(name in command for name in _NAMES):
        return None
    text = _read(command)
    if text is None:
        return None
    where, body = text
    return Suggestion("patch", {"patch": _below(posixpath.join(folder, where), body)})


def _read(command: str, *, wrapped: bool = False) -> tuple[str, str] | None:
    """The folder and the patch."""
    where, start = "", 0
    if moved := _FOLDER.match(command):
        where, start = shlex.split(moved["folder"])[0], moved.end()
    if document := _DOCUMENT.match(command, start):
        piped, inner = bool(document["piped"]), bool(document["inner"])
        closed = (document["rest"] or "").strip() == (')"' if inner else "")
        return (where, document["body"]) if piped == bool(document["pipe"]) and closed else None
    try:
        words = shlex.split(command[start:])
    except ValueError:
        return None
    if len(words) == 3 and words[0].rpartition("/")[2] in _SHELLS and words[1] in ("-c", "-lc") and not wrapped:
        inside = _read(words[2], wrapped=True)
        return inside and (posixpath.join(where, inside[0]), inside[1])
    is_patch = len(words) == 2 and words[0] in _NAMES and words[1].lstrip().startswith("*** Begin Patch")
    expands = command.rstrip().endswith('"') and re.search(r"[$`]", command) is not None
    return (where, words[1]) if is_patch and not expands else None


def _below(folder: str, patch: str) -> str:
    """The patch with its names in a folder."""
    if folder in ("", "."):
        return patch
    return _HEADER.sub(lambda header: header[1] + posixpath.join(folder, header[2].strip()), patch)
