"""The rules of .gitignore, .ignore and .rgignore files, as git and ripgrep read them.

Files and folders are asked about from the top down, so that nothing in an ignored folder is ever asked about.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from toolroll.result import ToolError
from toolroll.text.search import globs

if TYPE_CHECKING:
    from toolroll.host.files.root import Root

NAMES = (".rgignore", ".ignore", ".gitignore")
"""Strongest first: a rule of a stronger file wins over any rule of a weaker one, wherever the two are."""
_MAX_BYTES = 250_000
_SPECIAL = re.compile(r"[*?\[\\]")
_CHOICE = re.compile(r"\*([^*?\[\\]*)\[(?![!^])([^]\[\\-]+)\]([^*?\[\\]*)")  # such as *.py[cod]
# ripgrep reads no further than to bytes that are not UTF-8, takes braces for choices, knows no backslash in brackets,
# closes brackets that are open, and drops a tab at the end.
_STRANGE = re.compile(r"[\udc80-\udcff]|^(?!#).*(?:[{}]|\[[^]]*(?:[\[\\]|$)|\t *$)")
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class IgnoreRule(NamedTuple):
    """One line."""

    segments: tuple[str, ...]
    anchored: bool
    """It is about paths from the file's own folder; else about names at any depth below it."""
    negated: bool
    folders_only: bool

    def __str__(self) -> str:
        start = ("!" if self.negated else "") + ("/" if self.anchored else "")
        return start + "/".join(self.segments) + ("/" if self.folders_only else "")

    @property
    def regex(self) -> str:
        """Fits a path from the file's folder, which ends in "/" if it is a folder."""
        text = "/".join(self.segments)
        return globs.path_regex(text if self.anchored else f"**/{text}") + ("/" if self.folders_only else "/?")


class IgnoreRules:
    """The rules of one file, or of several that are taken as one."""

    def __init__(self, lines: Iterable[str]) -> None:
        self.every = list(parse(lines))
        self._suspects = quick_check(self.every)

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self.every)

    def verdict(self, path: str, folder: bool) -> bool | None:
        """Whether the file or folder at `path`, from the rules' own folder, is ignored; None if none fits."""
        if not self._suspects(path[path.rfind("/") + 1 :]):
            return None
        regex, negated = self._whole
        found = regex.fullmatch(f"{path}/" if folder else path)
        return None if found is None else not negated[(found.lastindex or 1) - 1]

    @cached_property
    def _whole(self) -> tuple[re.Pattern[str], list[bool]]:
        """All rules as one expression with a group for each, and which of them are negated."""
        sources: list[str] = []
        negated: list[bool] = []
        for rule in reversed(self.every):  # the last rule that fits decides
            with suppress(ToolError):  # what cannot be read matches nothing, as in git
                sources.append(f"({rule.regex})")
                negated.append(rule.negated)
        return re.compile("|".join(sources) or r"(?!)"), negated


def quick_check(rules: Iterable[IgnoreRule]) -> Callable[[str], object]:
    """A quick check by the name of a file or folder whether any of these rules may match it; mostly none does."""
    names, starts, ends, others = set[str](), set[str](), set[str](), set[str]()
    for rule in rules:
        last = rule.segments[-1]  # whatever the rule fits, this fits its name
        if not _SPECIAL.search(last):
            names.add(last)
        elif last[0] == "*" and not _SPECIAL.search(last, 1):
            ends.add(last[1:])
        elif last[-1] == "*" and not _SPECIAL.search(last[:-1]):
            starts.add(last[:-1])
        elif choice := _CHOICE.fullmatch(last):
            ends.update(choice[1] + one + choice[3] for one in choice[2])
        else:
            with suppress(ToolError):
                others.add(globs.segment(last))
    first, behind = tuple(starts), tuple(ends)
    regex = re.compile("|".join(others) or r"(?!)")

    def may_fit(name: str) -> object:
        return name in names or name.endswith(behind) or name.startswith(first) or (others and regex.fullmatch(name))

    return may_fit


def parse(lines: Iterable[str]) -> Iterator[IgnoreRule]:
    """The rules in these lines; blank lines and comments are passed over."""
    for line in lines:
        text = _trimmed(line.removesuffix("\r"))
        if not text or text.startswith("#"):
            continue
        negated = text.startswith("!")
        text = text[negated:]
        body = text.removeprefix("/").removesuffix("/")
        if body:
            yield IgnoreRule(
                tuple(body.split("/")),
                anchored="/" in body or text.startswith("/"),
                negated=negated,
                folders_only=text.endswith("/"),
            )


def read(folder: int, name: str) -> list[str]:
    """The lines of the ignore file `name` in an open folder; none if it is missing or not a regular file."""
    try:
        fd = os.open(name, _OPEN, dir_fd=folder)
    except OSError:
        return []
    return _lines(fd)


def needs_own_walk(folder: int) -> bool:
    """Whether ripgrep would not read the ignore files in an open folder as git does."""
    return any(_STRANGE.search(line) for name in NAMES for line in read(folder, name))


def inherited_rules(root: Root, parts: Sequence[str]) -> list[str]:
    """What the ignore files above the folder `parts` of the workspace say about its contents, weakest first.

    These are lines for an ignore file in that folder. Nothing above the workspace is looked at. A rule for
    the folder itself, or for one above it, is left out: a caller that names an ignored folder wants to see into it.
    """
    lines = list(_above(root, (), ".git/info/exclude", parts))
    for name in reversed(NAMES):
        for depth in range(len(parts)):
            lines += _above(root, parts[:depth], name, parts[depth:])
    return lines


def _above(root: Root, folder: Sequence[str], name: str, below: Sequence[str]) -> Iterator[str]:
    try:
        fd = root.file("/".join((*folder, name)))
    except (OSError, ToolError):
        return
    for rule in parse(_lines(fd)):
        with suppress(ToolError):
            yield from (str(found) for found in _beneath(rule, below))


def _beneath(rule: IgnoreRule, below: Sequence[str]) -> list[IgnoreRule]:
    """The rules that say the same as `rule`, but from a folder further down."""
    if not rule.anchored:
        return [rule]
    lefts = {rule.segments}
    for name in below:
        lefts = {left for segments in lefts for left in globs.after(segments, name)}
    return [IgnoreRule(left, True, rule.negated, rule.folders_only) for left in sorted(lefts) if left]


def _trimmed(line: str) -> str:
    """The line without spaces at its end, except for one that a backslash protects."""
    text = line.rstrip(" ")
    escapes = len(text) - len(text.rstrip("\\"))
    return f"{text} " if escapes % 2 and text != line else text


def _lines(fd: int) -> list[str]:
    """All lines of a descriptor, which is closed; none if it is no regular file of a likely size."""
    try:
        about = os.fstat(fd)
        if not stat.S_ISREG(about.st_mode) or about.st_size > _MAX_BYTES:
            return []
        text = os.read(fd, _MAX_BYTES).removeprefix(b"\xef\xbb\xbf")
    finally:
        os.close(fd)
    return text.decode("utf-8", "surrogateescape").split("\n")
