"""Why a hunk is not applied, in words that tell what to do next."""

from __future__ import annotations

from collections.abc import Sequence

from toolroll.result import ErrorCode, Suggestion, ToolError
from toolroll.text.edit import refusals
from toolroll.text.edit.model import Relation
from toolroll.text.patch.search import FileLines, Side, keys

_SHOWN = 160  # characters of a line that is quoted
_LISTED = 8  # line numbers that are named
_AROUND = 2  # lines shown on each side of the one that differs
_AGAIN = "Read the file and make the patch from what it says now."


def no_fit(view: FileLines, side: Side, at: int | None = None) -> ToolError:
    """The hunk fits nowhere, or not at line `at`, which is the only place it can mean."""
    if not side.old:
        what = (
            "only adds lines and shows none around them, so nothing says where they belong. Add a line "
            "of the file before or after them, marked with a blank."
        )
        return _error(view, side, what)
    near = refusals.find_near(view.source, side.keys, alike=side.hint is None) if at is None else [at]
    if not near and side.hint is not None and side.hint < len(view.keys):
        near = [side.hint]
    if not near:
        first = next((key for key in side.keys if key.strip()), side.keys[0])
        return _error(view, side, f"does not fit: none of its lines, such as {_cut(first)}, is in the file. {_AGAIN}")
    return _different(view, side, near)


def _different(view: FileLines, side: Side, near: Sequence[int]) -> ToolError:
    """The message for the first line that is not as expected, where most of the lines fit."""
    start = near[0]
    at = next((at for at, key in enumerate(side.keys) if _key(view, start + at) != key), None)
    if at is None:
        return _error(view, side, f"does not fit at line {start + 1}: {_about_ends(view, side, start)}")
    line = start + at
    expected, actual = side.keys[at], _key(view, line)
    where = f"line {line + 1} is {_cut(actual)}" if actual is not None else f"the file ends at line {line}"
    blanks = " They differ only in blanks." if actual is not None and actual.split() == expected.split() else ""
    shown = range(max(0, line - _AROUND), min(len(view.keys), line + _AROUND + 1))
    there = "".join(f"\n{number + 1}: {view.keys[number][:_SHOWN]}" for number in shown)
    return _error(
        view,
        side,
        f"does not fit: {where}, the patch expects {_cut(expected)}.{blanks} {_AGAIN}"
        + (f" It has there:{there}" if there else ""),
        refusals.corrections(view.source, near, side.keys, "\n".join(keys(side.hunk.new))),
        line=line + 1,
        expected=expected,
        actual=actual,
    )


def _about_ends(view: FileLines, side: Side, start: int) -> str:
    if start + len(side.old) != len(view.keys):
        return f"the patch expects the end of the file after it, but the file has {len(view.keys)} lines."
    if side.hunk.old_open and not view.open:
        return "the patch expects no newline at the end of the file, but there is one."
    return "the line endings are not those that the patch changes. It may be applied already."


def ambiguous(view: FileLines, side: Side, places: Sequence[int]) -> ToolError:
    """The hunk fits at several places and nothing says which is meant."""
    lines = sorted(place + 1 for place in places)
    listed = ", ".join(map(str, lines[:_LISTED])) + (", ..." if len(lines) > _LISTED else "")
    head = ", or the head of its function after '@@'" if side.hint is None else ""
    advice = f"Give more lines around the change{head}."
    return _error(view, side, f"fits at several places (lines {listed}). {advice}", lines=lines[:_LISTED])


def too_alike(view: FileLines, side: Side) -> ToolError:
    """The search was given up."""
    what = (
        "was not found where its header says, and too many lines of the file look like it. Give the right "
        "line in its header, or more lines around the change."
    )
    return _error(view, side, what)


def elsewhere(view: FileLines, side: Side, places: Sequence[int], *heads: str) -> ToolError:
    """The hunk fits, but not under the lines that it names."""
    named = " and ".join(map(_cut, heads))
    what = f"fits only at line {places[0] + 1}, which is not beneath {named} as its '@@' line says. {_AGAIN}"
    return _error(view, side, what)


def not_certain(view: FileLines, side: Side, place: int, relation: Relation) -> ToolError:
    """The hunk stands there, but how its new lines are to be written is not certain."""
    new = "\n".join(keys(side.hunk.new))
    own = [line for line, mark in zip(view.keys[place:], side.hunk.marks.replace("+", ""), strict=False) if mark == " "]
    ways = [_with_own(way, side, own) for way in dict.fromkeys((*relation.rewrite(new), new)) if side.hunk.added]
    return _error(
        view,
        side,
        f"fits line {place + 1} only with other {relation.name}, and how its new lines are to be written there is not "
        f"certain. {_AGAIN}",
        refusals.ways_to_write(view.source, view.span(side, place, relation), ways),
        lines=[place + 1],
    )


def _with_own(new: str, side: Side, own: Sequence[str]) -> str:
    """The new lines of a hunk, those that stay as the file has them."""
    kept, marks = iter(own), side.hunk.marks.replace("-", "")
    return "\n".join(next(kept) if mark == " " else line for mark, line in zip(marks, new.split("\n"), strict=True))


def applied(names: Sequence[str], line: int) -> ToolError:
    """Everything that the patch does is done."""
    return ToolError(
        ErrorCode.CONFLICT,
        f"The patch is applied already: what it makes of {', '.join(map(repr, names))} stands there, the first hunk at "
        f"line {line}. Nothing was changed.",
    )


def added_twice(view: FileLines, side: Side, place: int) -> ToolError:
    """The hunk fits, but the lines that it adds stand near there."""
    what = (
        f"fits only at line {place + 1}, and the lines that it adds, or most of them, are in the file already, near "
        f"line {(side.hint or 0) + 1}. Leave it out if it is done; else give more lines around the change."
    )
    return _error(view, side, what)


def overlapping(view: FileLines, side: Side, place: int) -> ToolError:
    """The hunks fit only over each other or in another order."""
    what = (
        f"fits only at line {place + 1}, where it meets another hunk. Put the hunks in the "
        "order of the file, and join those that touch the same lines."
    )
    return _error(view, side, what)


def _error(view: FileLines, side: Side, what: str, calls: Sequence[Suggestion] = (), **details: object) -> ToolError:
    return ToolError(
        ErrorCode.CONFLICT,
        f"{view.name!r}: hunk {side.number} of {side.total} (line {side.hunk.line} of the patch) {what}",
        details={"path": view.name, "hunk": side.number, "patch_line": side.hunk.line, **details},
        suggest=tuple(Suggestion(call.name, {"path": view.name, **call.arguments}) for call in calls),
    )


def _key(view: FileLines, line: int) -> str | None:
    return view.keys[line] if 0 <= line < len(view.keys) else None


def _cut(text: str | None) -> str:
    text = text or ""
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "...")
