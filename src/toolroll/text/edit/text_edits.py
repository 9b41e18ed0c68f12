"""Many small edits of one text, all at once: what a language server makes of a rename."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable
from dataclasses import dataclass

from toolroll.result import ErrorCode, ToolError

# One word as some language has it: #private, 'lifetime, @ivar, $var, ~Destructor, ends?, changes!
_NAME = re.compile(r"[#'@$~]?[^\W\d][\w$]*[?!]?")


# Where the server itself does not mind.
_RESERVED = {
    "python": frozenset(keyword.kwlist),
    "typescript": frozenset(
        re.findall(
            r"\w+",
            "break case catch class const continue debugger default delete do else enum export extends false finally "
            "for function if import in instanceof new null return super switch this throw true try typeof var void "
            "while with",
        )
    ),
}


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


def is_reserved(name: str) -> bool:
    """Whether a word belongs to a language itself, as far as that is known."""
    return any(name in words for words in _RESERVED.values())


def holds(text: str, name: str) -> bool:
    """Whether a name stands somewhere in a text, as a word of its own."""
    return re.search(rf"(?<![\w$]){re.escape(name)}(?![\w$])", text) is not None


def check_name(name: str, language: str | None = None) -> None:
    """Raise ToolError when this cannot be the name of anything, in this language or in any."""
    if name in _RESERVED.get(language or "", ()):
        raise ToolError(ErrorCode.VALIDATION, f"`new_name` is {name!r}, a word of the language itself. Give another.")
    if not _NAME.fullmatch(name):
        raise ToolError(ErrorCode.VALIDATION, f"`new_name` is {name!r}, which is no name. Give one word.")
