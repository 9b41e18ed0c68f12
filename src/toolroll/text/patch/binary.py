"""Parse and apply the binary patches of git: whole contents and deltas, deflated and written in base 85."""

from __future__ import annotations

import base64
import hashlib
import re
import zlib
from collections.abc import Sequence

from toolroll.result import ErrorCode, ToolError
from toolroll.text.patch.model import BinaryPatch, unreadable

_BEGIN = re.compile(r"(literal|delta) (\d{1,9})")
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"  # how many bytes a line has, from 1
_MOST_BYTES = 100_000_000


def apply(patch: BinaryPatch, old: bytes, name: str) -> bytes:
    """The new content; ToolError if the old one is not that of the patch."""
    kind, data = patch.there
    if len(patch.old_id) == 40 and old and _id(old) != patch.old_id:
        done = _id(old) == patch.new_id
        raise ToolError(
            ErrorCode.CONFLICT,
            f"{name!r} is not the file that the binary patch was made of"
            + (": the patch is applied already." if done else ". Make the patch again."),
        )
    return data if kind == "literal" else _patched(old, data, name)


def parse(lines: Sequence[str], at: int, ids: tuple[str, str]) -> tuple[BinaryPatch, int]:
    """The patch whose first part begins at line `at` (from 0), and the line after it."""
    there, at = _part(lines, at)
    back = None
    if at < len(lines) and _BEGIN.fullmatch(lines[at].rstrip("\r")):
        back, at = _part(lines, at)
    return BinaryPatch(there, back, *ids), at


def _part(lines: Sequence[str], at: int) -> tuple[tuple[str, bytes], int]:
    found = _BEGIN.fullmatch(lines[at].rstrip("\r")) if at < len(lines) else None
    if found is None:
        unreadable(at + 1, "'literal' or 'delta' and a size are missing. Make it with git diff --binary.")
    start, packed, size = at, bytearray(), int(found[2])
    at += 1
    try:
        while at < len(lines) and (line := lines[at].rstrip("\r")):
            packed += base64.b85decode(line[1:])[: _LETTERS.index(line[0]) + 1]
            at += 1
        inflate = zlib.decompressobj()
        data = inflate.decompress(packed, min(size, _MOST_BYTES) + 1)
    except (ValueError, zlib.error):
        unreadable(at + 1, "this is no data of a binary patch.")
    if len(data) != size:
        unreadable(start + 1, f"its data has not the {size} bytes that it says.")
    return (found[1], data), at + 1


def _patched(old: bytes, delta: bytes, name: str) -> bytes:
    """The content that a delta makes: pieces of the old one, and pieces of its own."""
    try:
        size, at = _number(delta, 0)
        wanted, at = _number(delta, at)
        made = bytearray()
        while at < len(delta) and len(made) <= min(wanted, _MOST_BYTES):
            code = delta[at]
            at += 1
            if code & 0x80:
                values = [0, 0]
                for bit in range(7):
                    if code >> bit & 1:
                        values[bit // 4] |= delta[at] << 8 * (bit % 4)
                        at += 1
                start, count = values[0], values[1] or 0x10000
                made += old[start : start + count]
            else:
                made += delta[at : at + code]
                at += code
    except IndexError:
        size, wanted, made = -1, 0, bytearray()
    if size != len(old) or wanted != len(made):
        raise ToolError(ErrorCode.CONFLICT, f"{name!r} is not the file that the binary patch was made of.")
    return bytes(made)


def _number(delta: bytes, at: int) -> tuple[int, int]:
    found = shift = 0
    while True:
        found |= (delta[at] & 0x7F) << shift
        shift += 7
        at += 1
        if not delta[at - 1] & 0x80:
            return found, at


def _id(data: bytes) -> str:
    """What git calls a content by."""
    return hashlib.sha1(b"blob %d\0%s" % (len(data), data), usedforsecurity=False).hexdigest()
