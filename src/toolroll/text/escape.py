"""Escape every invisible or control character in text that a person approves."""

from __future__ import annotations

import re

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


def escape_text(text: str, *, keep: str = "\n\t") -> str:
    """The text with control, format (bidi, zero-width), private and blank characters as escapes; `keep` stays."""
    return text.translate(_Escapes(keep))


def escape_line(text: str) -> str:
    """The text on one line: line breaks and tabs are escapes too."""
    return escape_text(text, keep="")


def _escape(char: str) -> str:
    code = ord(char)
    if char in _SHORT:
        return _SHORT[char]
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
