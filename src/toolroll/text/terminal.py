"""What a program wrote to a terminal, as plain text."""

from __future__ import annotations

import re
from functools import cache

# Escape sequences, each of them matched in one pass: no class holds what ends it or what begins another that has an
# end, so nothing is looked at twice.
_ESCAPE = r"""
    (?:\x1b\[|\x9b)[0-?]*+[\ -/]*+[@-~]?                                           # CSI: colours, cursor
    | (?:\x1b\]|\x9d)[^\x07\x1b\n\x90\x98\x9c-\x9f]*+(?:\x07|\x1b\\|\x9c)         # OSC: titles, links
    | (?:\x1b[PX^_]|[\x90\x98\x9e\x9f])[^\x1b\x90\x98\x9c-\x9f]*+(?:\x1b\\|\x9c)  # DCS, SOS, PM, APC
    | \x1b[\ -/]*+[0-~]?                                                           # everything else, and ESC alone
"""
# Controls that are left, and characters that reorder or hide text.
_CONTROL = "\x00-\x07\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f"

_ODD_CONTROLS = bytes((*range(7), *range(14, 27), *range(28, 32), 127))
_FEW = 3
_NUL = re.compile("\0+")
_LOOKED_AT = 1 << 16  # bytes that are checked for binary data


def clean(data: bytes) -> str:
    """A program's output as text: no escapes or controls, NUL as ␀, every line as it looked in the end."""
    text = data.decode("utf-8", "replace")
    escape, control, odd = _patterns()
    if odd.search(text) is None:
        return text
    text = escape.sub("", text)
    if "\r" in text or "\b" in text:
        text = "\n".join(_last_state(line) for line in text.split("\n"))
    return control.sub("", _NUL.sub("␀", text))


def is_binary(data: bytes) -> bool:
    """Whether it is not text: more than a few bytes, and much of it, are no UTF-8, or NUL and other odd controls."""
    head = data[:_LOOKED_AT]
    odd = head.decode("utf-8", "replace").count("\ufffd") - head.count(b"\xef\xbf\xbd")
    odd += len(head) - len(head.translate(None, _ODD_CONTROLS))
    return odd > _FEW and odd * 10 > len(head) * 3


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """Made on first use: most sessions begin without any output to clean."""
    return re.compile(_ESCAPE, re.VERBOSE), re.compile(f"[{_CONTROL}]+"), re.compile(f"[\b{_CONTROL}]")


def _last_state(line: str) -> str:
    """A line after all that was written over it."""
    if "\r" in line:
        line = line.rstrip("\r").rpartition("\r")[2]
    if "\b" not in line:
        return line
    first, *rest = line.split("\b")
    shown = list(first)
    for piece in rest:
        if shown:
            shown.pop()
        shown += piece
    return "".join(shown)
