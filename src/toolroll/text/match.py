"""Finding the text that an edit means. Exact and unique: anything less is refused."""

from __future__ import annotations

from dataclasses import dataclass

from toolroll.result import ErrorCode, ToolError
from toolroll.text.lines import adapt

_LISTED = 10  # line numbers named in a refusal


@dataclass(frozen=True, slots=True)
class Replaced:
    """The new text, and how many places were replaced."""

    text: str
    count: int


def replace(text: str, old: str, new: str, *, every: bool = False, near_line: int | None = None) -> Replaced:
    """Replace the one place where `old` stands; with `every` each, with `near_line` the one nearest."""
    if not old:
        raise ToolError(
            ErrorCode.VALIDATION, "`old` is required and must not be empty. To make a file, use `write`."
        )
    if old == new:
        raise ToolError(ErrorCode.VALIDATION, "`old` and `new` are the same: nothing would change.")
    if old not in text:
        # A model writes line feeds; the file may have another ending.
        old = adapt(old, "\r\n")
    places = _places(text, old)
    if not places:
        raise ToolError(
            ErrorCode.NOT_FOUND,
            "The old text was not found. Read the file and copy it exactly, blanks included.",
        )
    if len(places) > 1 and not every:
        places = [_nearest(text, places, near_line)]
    return Replaced(_spliced(text, places, len(old), new), len(places))


def _places(text: str, old: str) -> list[int]:
    places = []
    at = text.find(old)
    while at >= 0:
        places.append(at)
        at = text.find(old, at + len(old))
    return places


def _nearest(text: str, places: list[int], near_line: int | None) -> int:
    numbered = [(text.count("\n", 0, place) + 1, place) for place in places]
    if near_line is not None:
        ranked = sorted((abs(line - near_line), place) for line, place in numbered)
        if ranked[0][0] < ranked[1][0]:
            return ranked[0][1]
    listed = ", ".join(str(line) for line, _ in numbered[:_LISTED])
    more = ", ..." if len(numbered) > _LISTED else ""
    raise ToolError(
        ErrorCode.CONFLICT,
        f"The old text occurs {len(places)} times (multiple matches, lines {listed}{more}). "
        "Give more lines around the one you mean, or set `replace_all`.",
        details={"lines": [line for line, _ in numbered]},
    )


def _spliced(text: str, places: list[int], length: int, new: str) -> str:
    pieces, end = [], 0
    for place in places:
        pieces += [text[end:place], adapt(new, _ending_at(text, place))]
        end = place + length
    return "".join([*pieces, text[end:]])


def _ending_at(text: str, place: int) -> str:
    """The line ending around a place: of its own line, or for the last line of the one before."""
    feed = text.find("\n", place)
    feed = feed if feed >= 0 else text.rfind("\n", 0, place)
    return "\r\n" if feed > 0 and text[feed - 1] == "\r" else "\n"
