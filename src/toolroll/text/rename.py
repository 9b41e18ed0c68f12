"""Many small edits of one text, all at once: what a language server makes of a rename."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from toolroll.result import ErrorCode, ToolError

# One word as some language has it: #private, 'lifetime, @ivar, $var, ~Destructor, ends?, changes!
_NAME = re.compile(r"[#'@$~]?[^\W\d][\w$]*[?!]?")


@dataclass(frozen=True, slots=True)
class Edit:
    """The text from one offset to another, and what comes in its place."""

    start: int
    end: int
    new: str


def apply(text: str, edits: Iterable[Edit]) -> str:
    """The text with all edits made; ToolError when two of them are about the same characters."""
    pieces: list[str] = []
    at = 0
    # Edits of equal start are kept in the order they were given: so the protocol has it for insertions.
    for edit in sorted(edits, key=lambda one: (one.start, one.end)):
        if edit.start < at or edit.end < edit.start:
            raise ToolError(
                ErrorCode.EXECUTION,
                "The language server gave edits that overlap. Nothing was changed; use `multiedit` instead.",
            )
        pieces += [text[at : edit.start], edit.new]
        at = edit.end
    return "".join([*pieces, text[at:]])


def check_name(name: str) -> None:
    """Raise ToolError when this cannot be the name of anything in any language."""
    if not _NAME.fullmatch(name):
        raise ToolError(ErrorCode.VALIDATION, f"`new_name` is {name!r}, which is no name. Give one word.")
