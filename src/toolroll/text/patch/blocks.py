"""Parse SEARCH/REPLACE blocks: the name of a file, then the text to find and its replacement between markers."""

from __future__ import annotations

import re
from collections.abc import Sequence

from toolroll.text.diff import lines_alike
from toolroll.text.patch.model import FilePatch, Hunk, unreadable

_SEARCH = re.compile(r"<{5,9} ?SEARCH\b.*|-{5,9} SEARCH")
_MIDDLE, _REPLACE = re.compile(r"={5,9}"), re.compile(r">{5,9} ?REPLACE\b.*|\+{5,9} REPLACE")
_ABOVE = 3  # lines above a block that may name its file
_DRESS = re.compile(r"^(?:#+ |\*\*|[`'\"]|File: ?|//+ ?)+|(?:\*\*|[`'\":])+$")


def is_blocks(text: str) -> bool:
    """The text has such blocks."""
    return "SEARCH" in text and any(_SEARCH.fullmatch(line.strip()) for line in text.split("\n"))


def parse(text: str) -> list[FilePatch]:
    """The files of the blocks in their order; a block without a name is about the file of the block before it."""
    lines = text.replace("\r\n", "\n").split("\n")
    found: dict[str, list[Hunk]] = {}
    name, at, after = "", 0, 0
    while at < len(lines):
        if not _SEARCH.fullmatch(lines[at].strip()):
            at += 1
            continue
        name = _name(lines[max(after, at - _ABOVE) : at]) or name
        if not name:
            unreadable(at + 1, "nothing says which file this block is about. Put its name in the line above.")
        middle = _marker(lines, at, _MIDDLE, "=======")
        end = _marker(lines, middle, _REPLACE, ">>>>>>> REPLACE")
        found.setdefault(name, []).append(_hunk(lines[at + 1 : middle], lines[middle + 1 : end], at + 1))
        at = after = end + 1
    return [_file(name, hunks) for name, hunks in found.items()]


def _marker(lines: Sequence[str], at: int, mark: re.Pattern[str], shown: str) -> int:
    found = next((line for line in range(at + 1, len(lines)) if mark.fullmatch(lines[line].strip())), None)
    if found is None:
        unreadable(at + 1, f"{shown!r} is missing behind this line: the patch may have been cut off. Send all of it.")
    return found


def _name(above: Sequence[str]) -> str:
    """The name of a file in the lines above a block, the nearest first; empty if none looks like one."""
    for line in reversed(above):
        bare = _DRESS.sub("", line.strip())
        named = re.search(r"[./]\w", bare) and (" " not in bare or "/" in bare)
        if named and not line.strip().startswith("```"):
            return bare
    return ""


def _hunk(old: Sequence[str], new: Sequence[str], line: int) -> Hunk:
    """The lines that both begin or end with are only shown."""
    head, tail = lines_alike(old, new)
    gone, come = old[head : len(old) - tail], new[head : len(new) - tail]
    marks = " " * head + "-" * len(gone) + "+" * len(come) + " " * tail
    return Hunk(marks, (*old[:head], *gone, *come, *old[len(old) - tail :]), line=line)


def _file(name: str, hunks: Sequence[Hunk]) -> FilePatch:
    made = all(not hunk.old for hunk in hunks)
    return FilePatch(
        "create" if made else "change", None if made else name, name, tuple(hunks), bare_names=True, line=hunks[0].line
    )
