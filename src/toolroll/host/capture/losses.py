"""Say before a command runs what it would remove or overwrite and `undo` could not put back."""

from __future__ import annotations

import fnmatch
import os
import shlex
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from toolroll.text.lines import list_some
from toolroll.text.names import show_name

if TYPE_CHECKING:
    from toolroll.host.capture.baseline import TreeBaseline
    from toolroll.policy.commands import JudgedPart

_REMOVERS = frozenset({"rm", "rmdir", "unlink", "shred", "truncate", "srm", "mv", "dd"})
_MAX_NAMED = 10


def find_targets(parts: Iterable[JudgedPart], cwd: str, top: str) -> list[str]:
    """The paths, or patterns of paths, that commands remove or overwrite: from the top, empty for all of it."""
    found = []
    for part in parts:
        for one in _targets(_words(part)):
            path = os.path.relpath(os.path.join(top, cwd, part.where or ".", one), top)
            if not path.startswith("../") and path != "..":
                found.append("" if path == "." else path)
    return found


def _words(part: JudgedPart) -> list[str]:
    if part.words is not None:
        return list(part.words)
    try:  # such as patterns, which are computed
        return shlex.split(part.text)
    except ValueError:
        return []


def _targets(words: Sequence[str]) -> Iterator[str]:
    """What a command removes or overwrites, as it names it."""
    named = [one for one in words[1:] if not one.startswith("-")]
    program = os.path.basename(words[0]) if words else ""
    if program in _REMOVERS:
        yield from (one.removeprefix("of=") for one in named)
    elif program == "find" and "-delete" in words:
        yield from words[1:2]
    elif program == "git" and named[:1] == ["clean"]:
        yield from named[1:] or ["."]
    elif program in (">", ">|"):
        yield from words[1:2]


def name_losses(baseline: TreeBaseline, targets: Iterable[str]) -> str:
    """One sentence about what is at these paths and could not be put back; empty if there is nothing."""
    lost = sorted({one for target in targets for one in _losses(baseline, target)})
    if not lost:
        return ""
    return f"`undo` could not put back: {list_some(lost, _MAX_NAMED)}."


def _losses(baseline: TreeBaseline, target: str) -> Iterator[str]:
    above = target.split("/")
    whole = next((one for at in range(1, len(above)) if baseline.is_whole(one := "/".join(above[:at]))), None)
    if whole is not None:
        yield f"{show_name(target)} (in the ignored folder {show_name(whole)})"
        return
    for path, size in baseline.unkept():
        if size is not None and _is_meant(path, target):
            yield f"{show_name(path)} ({size} bytes)"
        elif size is None and _is_meant(path, target):
            yield f"{show_name(path)}/ (ignored)"


def _is_meant(path: str, target: str) -> bool:
    """Whether a path is a target or beneath it."""
    if not target or path == target or path.startswith(f"{target}/"):
        return True
    depth = target.count("/") + 1
    return fnmatch.fnmatchcase("/".join(path.split("/")[:depth]), target)
