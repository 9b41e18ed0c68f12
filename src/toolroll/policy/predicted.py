"""Predict from its words what a command would write, remove and reach. Nothing is run or looked at."""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolroll.policy.commands import JudgedPart

_MAX_NAMED = 10
_MAX_TEXT_CHARS = 20_000  # of a part whose words are computed: longer ones tell nothing
REMOVES, WRITES, APPENDS, CREATES = "removes", "creates or overwrites", "appends to", "creates"
CHANGES, REACHES = "changes", "may reach"
_ORDER = REMOVES, WRITES, APPENDS, CREATES, CHANGES, REACHES
_ALL = {
    **dict.fromkeys(("rm", "rmdir", "unlink", "shred", "srm"), REMOVES),
    **dict.fromkeys((">", ">|", "&>", "tee", "truncate"), WRITES),
    **dict.fromkeys((">>", "&>>"), APPENDS),
    **dict.fromkeys(("touch", "mkdir"), CREATES),
    **dict.fromkeys(("chmod", "chown", "chgrp"), CHANGES),
}
"""What each program does to all the paths that it names."""
_TO_LAST = frozenset({"cp", "mv", "ln", "install", "rsync", "scp"})
_VALUES = {
    "touch": {"-d", "-r", "-t"},
    "mkdir": {"-m"},
    "truncate": {"-s", "-r"},
    "shred": {"-n", "-s"},
    "install": {"-m", "-o", "-g", "-S"},
    "rsync": {"-e"},
    "cp": {"-S"},
    "mv": {"-S"},
    "ln": {"-S"},
}
"""Options whose value is the next word, and no path that is changed."""
_INTO = ("-t", "--target-directory")
_OUTPUT = {"curl": ("-o", "--output"), "wget": ("-O", "--output-document")}
_UNNAMED = ("/dev/null", "{}")
_REDIRECTION = re.compile(r"\d*(&>>|&>|>>|>\||>)\s*(.+)", re.DOTALL)
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,20}://(?:[^/?#@\s]{0,200}@)?(\[[0-9A-Fa-f:]+\]|[^/?#:\s]+)")
_REMOTE = re.compile(r"(?:[\w.-]+@)([\w.-]+):")


def predict(parts: Iterable[JudgedPart]) -> tuple[str, ...]:
    """One line for each kind of effect that the words tell, such as "removes a.txt, build"."""
    found: dict[str, dict[str, None]] = {}
    for part in parts:
        words = _words(part)
        for kind, path in _effects(words):
            if path not in _UNNAMED:
                found.setdefault(kind, {})[posixpath.normpath(posixpath.join(part.where or ".", path))] = None
        if part.decision != "allow":  # what only reads or prints names hosts too
            found.setdefault(REACHES, {}).update(dict.fromkeys(_hosts(words)))
    return tuple(f"{kind} {_list(list(found[kind]))}" for kind in _ORDER if found.get(kind))


def _list(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
    return ", ".join(names[:_MAX_NAMED]) + more


def _words(part: JudgedPart) -> list[str]:
    if part.words is not None or len(part.text) > _MAX_TEXT_CHARS:
        return list(part.words or ())
    written = _REDIRECTION.fullmatch(part.text)
    try:  # patterns and variables, which are computed, are shown as they are written
        return shlex.split(part.text if written is None else f"'{written[1]}' {written[2]}")
    except ValueError:
        return []


def _hosts(words: Iterable[str]) -> Iterator[str]:
    for one in words:
        if match := _URL.search(one[:_MAX_TEXT_CHARS]) or _REMOTE.match(one[:_MAX_TEXT_CHARS]):
            yield match[1]


def _effects(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """What a command does, and the path as it names it."""
    program = posixpath.basename(words[0]) if words else ""
    named, into = _named(program, words[1:])
    if _ALL.get(program) == CHANGES:
        named = named[1:]  # behind the mode or the owner
    if program in _ALL:
        appends = program == "tee" and "-a" in words
        yield from ((APPENDS if appends else _ALL[program], one) for one in named)
    elif program in _TO_LAST and (into or len(named) > 1):
        yield from ((REMOVES, one) for one in (named if into else named[:-1]) if program == "mv")
        yield WRITES, into or named[-1]
    elif program == "dd":
        yield from ((WRITES, one[3:]) for one in named if one.startswith("of="))
    elif program == "sed" and any(re.match(r"-[A-Za-z]*i|--in-place", one) for one in words):
        yield from ((CHANGES, one) for one in named[1:])
    elif program in _OUTPUT:
        yield from ((WRITES, after) for one, after in pairwise(words) if one in _OUTPUT[program])
    elif program == "find" and "-delete" in words:
        yield from ((REMOVES, one) for one in words[1:2])
    elif program == "git" and named[:1] == ["clean"]:
        yield from ((REMOVES, one) for one in named[1:] or ["."])


def _named(program: str, words: Sequence[str]) -> tuple[list[str], str]:
    """The paths that a command names, and the folder that an option names as their target."""
    named, into, left = list[str](), "", iter(words)
    for word in left:
        if word == "--":
            named += left
        elif word in _VALUES.get(program, ()):
            next(left, None)
        elif program in _TO_LAST and word in _INTO:
            into = next(left, "")
        elif word.startswith("--target-directory="):
            into = word.partition("=")[2]
        elif not word.startswith("-"):
            named.append(word)
    return named, into
