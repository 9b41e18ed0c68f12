"""Quotes that leave lines out: `...` on a line of its own stands for lines that are neither shown nor changed."""

from __future__ import annotations

import re

from toolroll.result import ErrorCode, ToolError
from toolroll.text.edit.match import EditResult
from toolroll.text.edit.match import replace as replace_one

_ELISION = re.compile(r"[ \t]*(?:#|//|--|/\*|<!--)?[ \t]*(?:\.\.\.|\u2026)[^\w\n]*")


def replace(text: str, old: str, new: str) -> EditResult:
    """Replace each piece between elisions by its counterpart; the pieces must be unique and in this order."""
    pieces, wanted = _pieces(old), _pieces(new)
    if len(pieces) < 2 or len(pieces) != len(wanted) or not all(piece.strip() for piece in pieces):
        raise ToolError(
            ErrorCode.NOT_FOUND,
            "The old text was not found. Lines left out are written `...` on a line of their own, as often in "
            "the new text as in the old one.",
        )
    result, done, spans = text, 0, []
    for piece, counterpart in zip(pieces, wanted, strict=True):
        if piece == counterpart:
            at = result.find(piece, done)
            found = (at, at + len(piece)) if at >= 0 and result.count(piece) == 1 else None
            if found is None:
                raise _out_of_order(piece)
        else:
            one = replace_one(result, piece, counterpart)
            found = one.spans[0]
            if found[0] < done:
                raise _out_of_order(piece)
            grown = len(one.text) - len(result)
            result, found = one.text, (found[0], found[1] + grown)
        spans.append(found)
        done = found[1]
    first, last = (result.count("\n", 0, at) + 1 for at in (spans[0][0], spans[-1][1]))
    return EditResult(result, tuple(spans), "lines left out", (first, last))


def _pieces(text: str) -> list[str]:
    pieces: list[list[str]] = [[]]
    for line in text.split("\n"):
        if _ELISION.fullmatch(line):
            pieces.append([])
        else:
            pieces[-1].append(line)
    return ["\n".join(piece) for piece in pieces]


def _out_of_order(piece: str) -> ToolError:
    start = piece.strip().split("\n")[0]
    return ToolError(ErrorCode.CONFLICT, f"The piece that begins with {start!r} is not found once and in this order.")
