"""Glob patterns for paths: `*` `**` `?` `[a-z]` `[!a]` `{a,b}` and backslash escapes. No pattern is slow.

A pattern without "/" is about the name, at any depth; one with "/" starts at the searched folder. A "/" at
the end means all that is under such a folder, and does not anchor by itself (as in .gitignore). Brackets also match
themselves: `app/[id]/page.tsx` finds the file of that name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from operator import methodcaller

from toolroll.result import ErrorCode, ToolError

MAX_ALTERNATIVES = 1000
_MAX_TYPED = 4096
_MAX_CHARS = 50_000  # of all alternatives together
_MAX_NESTING = 20
_ANY = "[^/]*"
_SPECIAL = re.compile(r"[\\*?\[\]{}]")
_ENDING = re.compile(r"\*[\w.-]+", re.ASCII)
_BRACKETS = re.compile(r"\\.|[\[\]]", re.DOTALL)
_BRACES = re.compile(r"\\.|\[[!^]?\]?(?:\\.|[^\]\\])*+\]|[{},]|[^\\{},\[]+|.", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Matcher:
    """A compiled pattern; made by `compile`."""

    names: tuple[str, ...]
    """The alternatives that match names at any depth, without braces."""
    paths: tuple[str, ...]
    """The alternatives that start at the searched folder, without braces and without slashes at the ends."""
    names_dot: bool
    """The pattern names something that starts with a dot, so hidden files are wanted."""
    _names: re.Pattern[str] | None
    _paths: re.Pattern[str] | None

    def by_name(self) -> Callable[[str], object] | None:
        """A fast test of a name alone; None if the pattern is about paths too."""
        if self.paths or self._names is None:
            return None
        return self._by_ending() or self._names.fullmatch

    def by_path(self) -> Callable[[str], object]:
        """The fastest equivalent of `matches`."""
        return self._by_ending() or self.matches

    def matches(self, path: str) -> bool:
        """Whether `path`, relative to the searched folder and with forward slashes, matches."""
        if self._names is not None and self._names.fullmatch(path, path.rfind("/") + 1):
            return True
        return self._paths is not None and self._paths.fullmatch(path) is not None

    def _by_ending(self) -> Callable[[str], object] | None:
        if self.paths or self._names is None or self._names.flags & re.IGNORECASE:
            return None
        if not all(map(_ENDING.fullmatch, self.names)):
            return None
        return methodcaller("endswith", tuple(name[1:] for name in self.names))


@dataclass(frozen=True, slots=True)
class GlobFilter:
    """Files that match one of `include` (or all, if empty) and none of `exclude`."""

    include: tuple[Matcher, ...] = ()
    exclude: tuple[Matcher, ...] = ()

    def excludes(self, path: str) -> bool:
        """Whether this file or folder itself is excluded; check the folders above it first."""
        return any(matcher.matches(path) for matcher in self.exclude)

    def includes(self, path: str) -> bool:
        """Whether this file is wanted, if it is not excluded."""
        return not self.include or any(matcher.matches(path) for matcher in self.include)

    def wants(self, path: str) -> bool:
        """Whether this file is wanted and neither it nor a folder above it is excluded."""
        if not self.includes(path):
            return False
        if not self.exclude:
            return True
        steps = path.split("/")
        return not any(self.excludes("/".join(steps[: n + 1])) for n in range(len(steps)))


@lru_cache(maxsize=256)
def compile(pattern: str, *, case: bool = True) -> Matcher:
    """A matcher for `pattern`; ValidationError that says why if it is invalid."""
    names: list[str] = []
    paths: list[str] = []
    dot = False
    for text in _readings(expand(pattern)):
        anchored, segments = _segments(text)
        dot = dot or any(segment.startswith((".", "\\.")) for segment in segments)
        if anchored:
            paths.append("/".join(segments))
        else:
            names.append(segments[0] if segments else "**")
    return Matcher(tuple(names), tuple(paths), dot, _union(names, case), _union(paths, case))


def _readings(patterns: Iterable[str]) -> Iterator[str]:
    """The patterns, and those with brackets also as the names that they spell."""
    for text in patterns:
        yield text
        spelled = _BRACKETS.sub(lambda found: found[0] if len(found[0]) > 1 else f"\\{found[0]}", text)
        if spelled != text:
            yield spelled


def quote(text: str) -> str:
    """The pattern that matches exactly this text."""
    return _SPECIAL.sub(r"\\\g<0>", text)


def widen(pattern: str) -> str:
    """A pattern for names like those that `pattern` matches: at any depth, and around a plain word."""
    text = pattern.strip("/") or "**"
    return f"**/*{text}*" if "/" not in text and not _SPECIAL.search(text) else f"**/{text}"


def escapes(pattern: str) -> bool:
    """Whether the pattern leads out of the searched folder: it is absolute, or has a ".."."""
    return any(text.startswith("/") or ".." in text.split("/") for text in expand(pattern))


def expand(pattern: str) -> tuple[str, ...]:
    """The patterns without braces that `pattern` stands for, each once."""
    if not pattern:
        raise _invalid(pattern, "is empty. Use '**' for everything")
    if len(pattern) > _MAX_TYPED:
        raise _invalid(pattern[:80], f"is longer than {_MAX_TYPED} characters. Use a shorter one")
    tokens = _BRACES.findall(pattern)
    # Choices that are being read: for each open brace the finished ones, and the one that grows.
    finished: list[list[str]] = [[]]
    growing: list[list[str]] = [[""]]
    for token in tokens:
        if token == "{":
            finished.append([])
            growing.append([""])
        elif token == "}" and len(growing) > 1:
            inner = finished.pop() + growing.pop()
            growing[-1] = _product(growing[-1], inner, pattern)
        elif token == "," and len(growing) > 1:
            finished[-1] += growing[-1]
            growing[-1] = [""]
        else:
            growing[-1] = _product(growing[-1], [token], pattern)
        if len(growing) > _MAX_NESTING:
            raise _invalid(pattern, f"nests braces more than {_MAX_NESTING} deep. Use a simpler one")
    if len(growing) > 1:
        raise _invalid(pattern, "has a '{' without its '}'. Close it, or write '\\{' for the character itself")
    return tuple(dict.fromkeys(growing[0]))


def after(segments: tuple[str, ...], name: str) -> Iterator[tuple[str, ...]]:
    """What may be left of an anchored pattern once its start has matched the folder `name`."""
    if not segments:
        return
    first, *rest = segments
    if first == "**":
        yield segments
        yield from after(tuple(rest), name)
    elif re.fullmatch(segment(first), name):
        yield tuple(rest)


def inside(pattern: str, folder: str) -> tuple[str, ...]:
    """The patterns that say the same as `pattern`, but from a folder in the searched one; none if nothing can match."""
    found: dict[str, None] = {}
    for text in expand(pattern):
        anchored, segments = _segments(text)
        lefts = after(tuple(segments), folder) if anchored else ()
        found |= dict.fromkeys("./" + "/".join(left) for left in lefts if left) if anchored else {text: None}
    return tuple(found)


def segment(text: str) -> str:
    """The regular expression for one segment, which never matches beyond it and never backtracks far."""
    pieces = _pieces(text)
    if len(pieces) == 1:
        return pieces[0]
    if not any(pieces):
        return "[^/]+"  # no name is empty: `src/*` is not the folder "src/"
    # A piece has a fixed length, so that the first place where it fits is as good as any: the atomic groups
    # keep `*a*a*a*b` from trying them all.
    middle = "".join(f"(?>[^/]*?{piece})" for piece in pieces[1:-1] if piece)
    return f"{pieces[0]}{middle}{_ANY}{pieces[-1]}"


def path_regex(pattern: str) -> str:
    """The regular expression for a whole path; each "**" is any number of folders."""
    runs: list[list[str]] = [[]]
    for text in pattern.split("/"):
        if len(text) > 1 and not text.strip("*"):
            runs.append([])
        else:
            runs[-1].append(segment(text))
    first, *rest = runs
    if not rest:
        return "/".join(first)
    start = "".join(f"{text}/" for text in first)
    # As within a segment: a run has a fixed number of segments, so its first place is as good as any.
    middle = "".join(f"(?>(?:[^/]+/)*?{'/'.join(run)}/)" for run in rest[:-1] if run)
    return start + middle + (f"(?:[^/]+/)*{'/'.join(rest[-1])}" if rest[-1] else r"[\s\S]+")


def _segments(text: str) -> tuple[bool, list[str]]:
    """Whether a pattern without braces is about whole paths, and its segments."""
    segments = [segment for segment in text.split("/") if segment not in ("", ".")]
    anchored = len(segments) > 1 or (bool(segments) and text.startswith(("/", "./")))
    if text.endswith("/") and segments:
        return True, [*segments, "**"] if anchored else ["**", *segments, "**"]
    if len(segments) == 2 and segments[0] == "**" and segments[1] != "**":
        return False, segments[1:]  # "**/name" is "name", and a name is quicker to match
    return anchored, segments


def _product(left: list[str], right: list[str], pattern: str) -> list[str]:
    if len(left) * len(right) > MAX_ALTERNATIVES:
        raise _invalid(pattern, f"stands for more than {MAX_ALTERNATIVES} patterns. Use fewer braces")
    made = [a + b for a in left for b in right]
    if sum(map(len, made)) > _MAX_CHARS:
        raise _invalid(pattern, "is too long. Use a shorter one")
    return made


def _pieces(text: str) -> list[str]:
    """The regular expressions between the stars of one segment."""
    pieces, at = [""], 0
    while at < len(text):
        char = text[at]
        at += 1
        if char == "*":
            pieces.append("")
        elif char == "?":
            pieces[-1] += "[^/]"
        elif char == "[":
            found, at = _class(text, at)
            pieces[-1] += found
        elif char == "\\":
            if at == len(text):
                raise _invalid(text, "ends in a backslash. Put the escaped character after it")
            pieces[-1] += re.escape(text[at])
            at += 1
        else:
            pieces[-1] += re.escape(char)
    return pieces


def _class(text: str, at: int) -> tuple[str, int]:
    """The regular expression of the bracket that opens just before `at`, and where it ends."""
    negated = text[at : at + 1] in ("!", "^")
    at += negated
    chars: list[str] = []  # a "-" that makes a range is "", so that an escaped or outer one differs
    while at < len(text) and (text[at] != "]" or not chars):
        between = text[at] == "-" and chars and text[at + 1 : at + 2] not in ("", "]")
        at += text[at] == "\\"
        chars.append("" if between else text[at : at + 1])
        at += 1
    if at >= len(text):
        raise _invalid(text, "has a '[' without its ']'. Close it, or write '\\[' for the character itself")
    body = "".join(re.escape(char) if char else "-" for char in chars)
    try:
        re.compile(f"[{body}]")
    except re.error:
        return "(?!)", at + 1  # a range that runs backwards, which matches nothing
    return f"(?!/)[{'^' if negated else ''}{body}]", at + 1


def _union(patterns: list[str], case: bool) -> re.Pattern[str] | None:
    return re.compile("|".join(map(path_regex, patterns)), 0 if case else re.IGNORECASE) if patterns else None


def _invalid(pattern: str, reason: str) -> ToolError:
    return ToolError(ErrorCode.VALIDATION, f"The pattern {pattern!r} {reason}.")
