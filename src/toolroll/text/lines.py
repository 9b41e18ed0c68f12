"""Lines of a text: numbers count from 1, ends are inclusive, and line endings stay as the file has them."""

from __future__ import annotations

from collections.abc import Sequence

from toolroll.result import ErrorCode, Suggestion, ToolError

_SAMPLE = 512  # bytes that tell how long the lines are
_SHORT = 40  # bytes of a line
_SHORTEST = 22  # the same where the lines are about as many as expected
_LESS = 16  # the part by which they may be fewer
_PIECE = 1 << 18  # bytes that are counted at a time, which stay in the processor's cache
_NUMBER = 8  # characters of a line number and its separator


def counted(number: int, noun: str) -> str:
    """`1 file`, `2 files`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def list_some(words: Sequence[str], most: int) -> str:
    """`a, b and 3 more`."""
    more = f" and {len(words) - most} more" if len(words) > most else ""
    return ", ".join(words[:most]) + more


def line_range(first: int, last: int) -> str:
    """`line 3`, `lines 3-5`."""
    return f"line {first}" if first == last else f"lines {first}-{last}"


def split(text: str) -> list[str]:
    """The lines with their endings. Only a line feed ends a line, as editors and compilers count."""
    pieces = text.split("\n")
    lines = [piece + "\n" for piece in pieces[:-1]]
    return [*lines, pieces[-1]] if pieces[-1] else lines


def feeds(data: bytes, end: int | None = None) -> int:
    """How many line feeds there are before `end`."""
    size = len(data) if end is None else end
    if size <= _PIECE and end is None:
        return _feeds(data)
    return sum(_feeds(data[at : min(at + _PIECE, size)]) for at in range(0, size, _PIECE))


def _feeds(data: bytes) -> int:
    # Taking them out looks for the next one, counting looks at every byte: quicker unless the lines are short.
    if data.count(b"\n", 0, _SAMPLE) * _SHORT > _SAMPLE:
        return data.count(b"\n")
    return len(data) - len(data.replace(b"\n", b""))


def as_many(data: bytes, expected: int) -> int:
    """How many line feeds there are: sooner than by `feeds` if they are about as many as expected."""
    if expected * _SHORTEST > len(data):
        return data.count(b"\n")
    # To write over the first ones takes one look for each, to take them out takes two; but does not tell how many.
    sure = expected - expected // _LESS
    rest = data.replace(b"\n", b"\r", sure).find(b"\n") if sure else 0
    return _feeds(data) if rest < 0 else sure + _feeds(data[rest:])


def nth_feed(data: bytes, number: int) -> int:
    """Where the line feed of this number (from 1) stands; ValueError if there are fewer."""
    return data.replace(b"\n", b"\r", number - 1).index(b"\n")


def ending(text: str) -> str:
    """The line ending that most lines have."""
    if "\r" not in text:  # mostly, and much quicker than counting
        return "\n"
    return "\r\n" if text.count("\r\n") * 2 > text.count("\n") else "\n"


def adapt(content: str, end: str) -> str:
    """The content with this line ending."""
    plain = content.replace("\r\n", "\n")
    return plain if end == "\n" else plain.replace("\n", end)


def insert(text: str, line: int | None, content: str) -> str:
    """The text with whole lines put before line `line`; one past the last line, or None, appends."""
    if not content:
        raise ToolError(ErrorCode.VALIDATION, "The `content` is empty. Give the lines to insert.")
    lines = split(text)
    line = len(lines) + 1 if line is None else line
    if line > len(lines) + 1:
        raise ToolError(
            ErrorCode.VALIDATION,
            f"`line` is {line}, but the file has {counted(len(lines), 'line')}. Use 1 to {len(lines) + 1}.",
        )
    return _joined(lines[: line - 1], content, lines[line - 1 :], text)


def replace(text: str, start: int, end: int, content: str) -> str:
    """The text with lines `start` to `end` replaced by whole lines; empty content deletes them."""
    lines = split(text)
    if start > end:
        raise ToolError(ErrorCode.VALIDATION, f"`start` ({start}) is after `end` ({end}).")
    if end > len(lines):
        raise _beyond(lines, start, end, content)
    return _joined(lines[: start - 1], content, lines[end:], text)


def _beyond(lines: list[str], start: int, end: int, content: str) -> ToolError:
    """The error for a range that ends beyond the file, with the call that goes up to its last line."""
    last, calls = len(lines), tuple[Suggestion, ...]()
    if last and start <= last:
        calls = (Suggestion("replace_lines", {"start": start, "end": last, "content": content}),)
    elif last and start == last + 1 and content:
        added = adapt("".join(_joined(lines[-1:], content, [], lines[-1])), "\n")
        calls = (Suggestion("replace_lines", {"start": last, "end": last, "content": added}),)
    said = f"`end` is {end}, but the file has {counted(last, 'line')}."
    advice = f"Replace up to line {last}, or read it again." if calls else "Read it again for its numbers."
    return ToolError(ErrorCode.VALIDATION, f"{said} {advice}", suggest=calls)


def _joined(before: list[str], content: str, after: list[str], text: str) -> str:
    """The pieces as whole lines: a line gains an ending where another follows it, or where the old text had one."""
    end = ending(text)
    middle = adapt(content, end)
    if before and not before[-1].endswith("\n") and (middle or after):
        before = [*before[:-1], before[-1] + end]
    if middle and (after or text.endswith("\n")) and not middle.endswith("\n"):
        middle += end
    return "".join([*before, middle, *after])


def split_bare(text: str) -> list[str]:
    """The lines without their endings."""
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return [line.removesuffix("\r") for line in lines] if "\r" in text else lines


def cut_to_fit(lines: list[str], line_chars: int, most: int) -> list[str]:
    """The first lines that fit into `most` characters, long ones cut; at least one."""
    if sum(map(len, lines)) + _NUMBER * len(lines) <= most and max(map(len, lines), default=0) <= line_chars:
        return lines
    kept: list[str] = []
    room = most
    for line in lines:
        shown = line if len(line) <= line_chars else f"{line[:line_chars]}... [{len(line) - line_chars} more]"
        room -= len(shown) + _NUMBER
        if room < 0 and kept:
            break
        kept.append(shown)
    return kept


def show_around(text: str, line: int, count: int) -> str:
    """A line with its number and so many before and after it; a mark shows which one is meant."""
    every = split_bare(text)
    shown = range(max(1, line - count), min(len(every), line + count) + 1)
    return "\n".join(f"{'>' if at == line else ' '} {at}: {every[at - 1]}" for at in shown)
