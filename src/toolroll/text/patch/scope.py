"""Whether a line lies under another one, as a line of a function lies under its head."""

from __future__ import annotations

from collections.abc import Iterable
from string import ascii_letters

from toolroll.text.patch.search import FileLines

_FAR = 20_000  # lines that are walked up for one question
_STARTS = frozenset(ascii_letters + "_$")  # what git takes for the begin of a section
_CUT = 60  # bytes from which on a section may be cut off: git shows no more than 80


def beneath(view: FileLines, text: str, at: int) -> bool:
    """A line that begins with `text` stands above line `at`, and nothing between them begins a new part."""
    return _head(view, text, at - 1) is not None


def names(lines: Iterable[str], text: str) -> bool:
    """One of the lines begins with `text`."""
    return any(begins(line.lstrip(), text) for line in lines)


def known(view: FileLines, text: str) -> bool:
    """A line of the file begins with `text`, as far as that can be said with the work that is left."""
    if text not in view.heads:
        view.work -= len(view.keys)
        view.heads[text] = view.work > 0 and names(view.keys, text)
    return view.heads[text]


def anchored(view: FileLines, anchors: tuple[str, ...], at: int) -> bool:
    """Line `at` lies under the last anchor (or is it), and each anchor under the one before it."""
    last = at
    for text in reversed(anchors):
        found = _head(view, text, last)
        if found is None:
            return False
        last = found - 1
    return True


def after(view: FileLines, anchors: tuple[str, ...], at: int) -> bool:
    """The anchors stand somewhere above line `at`, in their order."""
    last = at
    for text in reversed(anchors):
        lines = range(min(last, len(view.keys) - 1), max(-1, last - _FAR), -1)
        found = next((line for line in lines if begins(view.keys[line].lstrip(), text)), None)
        if found is None:
            return False
        last = found - 1
    return True


def find(view: FileLines, anchors: tuple[str, ...], start: int) -> int | None:
    """The line of the last anchor, each behind the one before it and the first behind line `start`, or anywhere."""
    at = start
    for text in anchors:
        lines = range(at, len(view.keys))
        found = next((line for line in lines if begins(view.keys[line].lstrip(), text)), None)
        if found is None:
            return find(view, anchors, 0) if start else None
        at = found + 1
    return at - 1


def _head(view: FileLines, text: str, last: int) -> int | None:
    """The nearest line that begins with `text` and is less indented than all that follow it, up to `last`."""
    last = min(last, len(view.keys) - 1)
    top = _margin_above(view, last)
    if top >= 0 and begins(view.keys[top], text):
        return top
    least = -1
    for at in range(last, top, -1):
        line = view.keys[at]
        bare = line.lstrip()
        if not bare:
            continue
        indent = len(line) - len(bare)
        if (least < 0 or indent < least) and begins(bare, text):
            return at
        if bare[0] in _STARTS:  # a brace or a comment at the margin begins nothing
            least = indent if least < 0 else min(least, indent)
    return None


def _margin_above(view: FileLines, last: int) -> int:
    """The nearest line that begins something at the left margin: whatever stands above it is another part."""
    end = max(-1, last - min(_FAR, max(0, view.work)))
    lines, found = view.keys, last
    asked, known = view.margin
    while found > end and lines[found][:1] not in _STARTS:
        found -= 1
        if found == asked and known > end:  # the hunk before this one lies under the same line
            found = known
    view.work -= last - found
    if found > end:
        view.margin = (last, found)
    return found


def begins(bare: str, text: str) -> bool:
    """The line begins with the text, and not in the middle of a word unless the text was cut off."""
    if not bare.startswith(text):
        return False
    rest = bare[len(text) : len(text) + 1]
    return not (rest.isalnum() or rest == "_") or len(text.encode(errors="replace")) >= _CUT
