"""Escape every invisible or control character in text that a person approves."""

from __future__ import annotations

import re
from functools import lru_cache

_SHORT = {"\r": "\\r", "\n": "\\n", "\t": "\\t"}
# Printable for Unicode, yet nothing is seen: fillers, joiners, variation selectors, the blank of braille.
_BLANK = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")


class _Escapes(dict[int, str]):
    """What each character is written as; worked out when it is first met."""

    def __init__(self, keep: str) -> None:
        super().__init__({ord(one): one for one in keep})

    def __missing__(self, code: int) -> str:
        char = chr(code)
        self[code] = char if char.isprintable() and not _BLANK.match(char) else _escape(char)
        return self[code]


_table = lru_cache(maxsize=None)(_Escapes)


def escape_text(text: str, *, keep: str = "\n\t") -> str:
    """The text with control, format (bidi, zero-width), private and blank characters as escapes; `keep` stays."""
    return text.translate(_table(keep))


def escape_line(text: str) -> str:
    """The text on one line: line breaks and tabs are escapes too."""
    return escape_text(text, keep="")


def escape_json(text: str) -> str:
    """JSON text with the same characters as escapes of JSON; its value stays the same."""
    hidden = {char for char in set(text) if char != "\n" and escape_line(char) != char}
    units = ((one, one.encode("utf-16-be", "surrogatepass").hex()) for one in hidden)
    return text.translate({ord(one): re.sub("....", r"\\u\g<0>", hexed) for one, hexed in units})


def _escape(char: str) -> str:
    code = ord(char)
    if char in _SHORT:
        return _SHORT[char]
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
