"""A refused edit that helps: what is near, how it differs, and calls that would work."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Mapping, Sequence

from toolroll.result import ErrorCode, Suggestion, ToolError
from toolroll.text import code_tokens
from toolroll.text import lines as text_lines
from toolroll.text.edit import indent
from toolroll.text.edit.model import EXACT, EditSource, Span, squeezed

_SHOWN = 3  # places, and lines of each
_COMMON = 20  # a line that stands more often says nothing about a place
_AROUND = 12  # lines that a corrected call may take in on each side
_LISTED, _TOLD = 10, 100  # line numbers in the message, and in the details
_COMPARED = 20_000  # lines compared by likeness
_MOST_TEXT = 8_000_000  # characters of a file in which near lines are looked for
_MOST_QUOTED = 400  # lines of a quote that is corrected
_ALIKE = 75  # percent of two lines' letters, so that one may be a misquote of the other
_WIDTH = 160
_IMPORT = re.compile(r"import [\w.]+|from (?!__future__)[\w.]+ import\b")
_IMPORTS = re.compile(r"(?:(?:import [^\n(]+|from \S+ import [^\n(]+)\n*)+")


def not_found(source: EditSource, old: str, new: str) -> ToolError:
    """The quote fits nowhere."""
    parts = ["The old text was not found."]
    if (line := _already_there(source, new)) is not None:
        parts.append(f"The new text is already there, at line {line}.")
    quoted = _quoted(old)
    near = find_near(source, quoted)
    parts += [_described(source, start, quoted) for start in near]
    parts.append("Copy the text exactly as the file has it." if near else "Read the file and copy the text exactly.")
    return ToolError(
        ErrorCode.NOT_FOUND,
        "\n".join(parts),
        details={"near": [start + 1 for start in near] or ([line] if line else [])},
        suggest=corrections(source, near, quoted, new),
    )


def corrections(source: EditSource, near: Sequence[int], quoted: Sequence[str], new: str) -> tuple[Suggestion, ...]:
    """Calls that make the change where the file is nearly what was quoted."""
    calls = (_corrected(source, start, quoted, new) for start in near)
    return tuple(call for call in calls if call is not None)


def ambiguous(source: EditSource, spans: Sequence[Span], old: str, new: str, *, every: bool = False) -> ToolError:
    """The quote fits several places; `every` if all of them were asked for, and the quote is too loose for that."""
    lines = [source.line_at(span.start) for span in spans[:_TOLD]]
    listed = ", ".join(map(str, lines[:_LISTED])) + (", ..." if len(lines) > _LISTED else "")
    how = "" if spans[0].relation.cost == EXACT else f" (but for {spans[0].relation.name})"
    likely = [span for span in spans[:_TOLD] if _is_whole(source, span)] or spans  # rather than parts of lines
    ways = [(span, source.ways(span, new)) for span in likely[:_SHOWN]] if old else []
    calls = [_widened(source, span, way[0]) for span, way in ways if len(way) == 1]
    return ToolError(
        ErrorCode.CONFLICT,
        f"The old text occurs {len(spans)} times{how} (multiple matches, lines {listed}). "
        + ("Quote the text exactly." if every else "Give more lines around the one you mean, or set `replace_all`."),
        details={"lines": lines},
        suggest=tuple(call for call in calls if call is not None),
    )


def _is_whole(source: EditSource, span: Span) -> bool:
    """Whether a place is whole lines, but for the indentation of the first."""
    first = source.text[source.text.rfind("\n", 0, span.start) + 1 : span.start]
    return not first.strip() and (source.text[span.end : span.end + 1] in ("", "\n", "\r"))


def empty_quote(text: str, path: str, new: str) -> ToolError:
    """There is no quote, so that nothing says where in the file the new text belongs."""
    line = _place_of_imports(text) if _IMPORTS.fullmatch(new) else None
    at = line or len(text_lines.split(text)) + 1
    call = Suggestion("insert", {"path": path, "line": at, "content": new})
    where = f"before line {at}, where the file imports" if line else "at the end of the file"
    return ToolError(
        ErrorCode.VALIDATION,
        f"`old` is empty, and {path!r} has content. Quote the text to replace; `insert` puts new lines {where}.",
        suggest=(call,) if new else (),
    )


def _place_of_imports(text: str) -> int | None:
    """The first line at which another import can stand."""
    lines = text.split("\n")
    return next((number for number, line in enumerate(lines, 1) if _IMPORT.match(line)), None)


def too_many(number: int) -> ToolError:
    """The quote fits so many places that they were not all looked at."""
    return ToolError(
        ErrorCode.CONFLICT,
        f"The old text occurs at {number} places or more. Quote it exactly, with more lines around the one you mean.",
    )


def ways_to_write(source: EditSource, span: Span, ways: Sequence[str]) -> tuple[Suggestion, ...]:
    """Calls that write a place in each of these ways."""
    calls = (_widened(source, span, way) for way in ways)
    return tuple(call for call in calls if call is not None)


def not_rewritable(source: EditSource, span: Span, old: str, ways: Sequence[str]) -> ToolError:
    """The place is clear, but not how the new text is to be written there: in no way, or in several."""
    line, name = source.line_at(span.start), span.relation.name
    if ways:
        why = f"with other {name}, and the new text may be indented like the old text or like the file"
    elif "indentation" in name:
        why = f"with other {name}, and how the new text is to be indented is not certain"
    else:
        why = f"only with {name}, and whether the new text is to be read so too is not certain"
    return ToolError(
        ErrorCode.CONFLICT,
        f"The old text is at line {line}, but {why}. Quote the lines exactly as the file has them."
        + (f"\n{_described(source, line - 1, _quoted(old))}" if "indentation" in name else ""),
        details={"lines": [line]},
        suggest=ways_to_write(source, span, ways),
    )


def already_there(source: EditSource, span: Span) -> ToolError:
    """The edit would change nothing."""
    line = source.line_at(span.start)
    return ToolError(
        ErrorCode.CONFLICT,
        f"The new text is already there, at line {line}: nothing would change.",
        details={"lines": [line]},
    )


def _quoted(old: str) -> list[str]:
    return old.replace("\r\n", "\n").removesuffix("\n").split("\n")


def _already_there(source: EditSource, new: str) -> int | None:
    plain = new.strip()
    if len(plain) < 8:
        return None
    at = source.text.find(plain)
    if at < 0 and len(source.text) <= _MOST_TEXT:
        at = next((source.starts[start] for start in source.windows(_quoted(plain))), -1)
    return source.line_at(at) if at >= 0 else None


def find_near(source: EditSource, quoted: Sequence[str], *, alike: bool = True) -> list[int]:
    """First lines (from 0) of the runs of lines most like the quoted ones, the most alike first.

    `alike`: if no line is equal, the likest ones.
    """
    if len(source.text) > _MOST_TEXT or len(quoted) > len(source.lines):
        return []
    places: dict[str, list[int]] = {}
    for number, line in enumerate(source.squeezed[1:-1].split("\n")):
        places.setdefault(line, []).append(number)
    votes: Counter[int] = Counter()
    for offset, line in enumerate(quoted):
        found = places.get(squeezed(line), ()) if line.strip() else ()
        if len(found) <= _COMMON:
            votes.update(number - offset for number in found)
    last = len(source.lines) - len(quoted)
    best = max((count for start, count in votes.items() if 0 <= start <= last), default=0)
    # A place with half as many equal lines as the best one is no candidate beside it.
    starts = [start for start, count in votes.most_common(40) if 0 <= start <= last and count * 2 > best]
    apart: list[int] = []
    for start in starts or (_alike(source, quoted) if alike else []):
        if all(abs(start - one) >= len(quoted) for one in apart):
            apart.append(start)
    return apart[:_SHOWN]


def _alike(source: EditSource, quoted: Sequence[str]) -> list[int]:
    """The same by likeness of the longest quoted line, for a quote of which no line is in the file."""
    from rapidfuzz import fuzz, process

    offset, longest = max(enumerate(quoted), key=lambda pair: len(pair[1].strip()))
    if len(longest.strip()) < 4:
        return []
    lines = [line[:_WIDTH] for line in source.lines[:_COMPARED]]
    found = process.extract(longest.strip()[:_WIDTH], lines, scorer=fuzz.ratio, limit=_SHOWN, score_cutoff=60)
    return [start for _, _, at in found if 0 <= (start := at - offset) <= len(source.lines) - len(quoted)]


def _described(source: EditSource, start: int, quoted: Sequence[str]) -> str:
    """The lines that differ, as they are and as they were quoted, with their blanks made visible."""
    actual = source.lines[start : start + len(quoted)]
    pairs = list(zip(quoted, actual, strict=False))
    differing = [(number, q, a) for number, (q, a) in enumerate(pairs, start + 1) if q.rstrip() != a.rstrip()]
    head = f"Near: lines {start + 1}-{start + len(quoted)}, {len(pairs) - len(differing)} of {len(pairs)} lines equal."
    shown = []
    for number, q, a in differing[:_SHOWN]:
        shown += [
            f"  line {number} is   {_visible(a)}",
            f"  you wrote{' ' * len(str(number))}  {_visible(q)}",
        ]
        if words := _difference(q, a):
            shown.append(f"    {words}")
    return "\n".join([head, *shown])


def _visible(line: str) -> str:
    body = line.rstrip("\r").strip(" \t")
    left = line[: len(line) - len(line.lstrip(" \t"))]
    right = line.rstrip("\r")[len(left) + len(body) :]
    marks = str.maketrans({" ": "\u00b7", "\t": "\u2192"})
    shown = left.translate(marks) + body + right.translate(marks)
    return shown if len(shown) <= _WIDTH else shown[:_WIDTH] + "..."


def _difference(quoted: str, actual: str) -> str:
    """The parts that differ, as the two lines have them; empty when only blanks do."""
    import difflib

    quoted, actual = quoted[:2000], actual[:2000]
    ours, theirs = code_tokens.token_spans(quoted), code_tokens.token_spans(actual)
    words = [quoted[start:end] for start, end in ours], [actual[start:end] for start, end in theirs]
    changes = []
    for kind, a, b, c, d in difflib.SequenceMatcher(None, *words, autojunk=False).get_opcodes():
        if kind == "equal":
            continue
        extra = quoted[ours[a][0] : ours[b - 1][1]] if b > a else ""
        missing = actual[theirs[c][0] : theirs[d - 1][1]] if d > c else ""
        if extra and missing:
            changes.append(f"{extra!r} should be {missing!r}")
        else:
            changes.append(f"{missing!r} is missing" if missing else f"{extra!r} is not there")
    if not changes:
        return "only blanks differ" if quoted.rstrip() != actual.rstrip() else ""
    return "; ".join(changes[:_SHOWN])


def _corrected(source: EditSource, start: int, quoted: Sequence[str], new: str) -> Suggestion | None:
    """The call with the file's own lines for old, and the caller's change carried over to them.

    None where a line that the caller does not know of would go, or the indentation of the new lines is not certain.
    """
    import difflib

    if len(quoted) > _MOST_QUOTED:
        return None
    pairs = _paired(source, start, quoted)
    same = [(quoted[at], source.lines[line]) for at, line in pairs.items() if quoted[at].strip()]
    if not same or len(same) * 2 < sum(1 for line in quoted if line.strip()):
        return None
    first, last = min(pairs.items()), max(pairs.items())
    low, high = first[1] - first[0], last[1] + len(quoted) - last[0]
    wanted = new.replace("\r\n", "\n").removesuffix("\n").split("\n") if new else []
    shift = indent.between([q for q, _ in same], [a for _, a in same])
    ways = indent.readings(wanted, [q for q, _ in same], [a for _, a in same], shift) if shift else ()
    if low < 0 or high > len(source.lines) or (new and len(ways) != 1):
        return None
    own, sure = _own_lines(source, quoted, pairs, low, high)
    carried: list[str] = []
    for kind, a, b, c, d in difflib.SequenceMatcher(None, quoted, wanted, autojunk=False).get_opcodes():
        if kind == "equal":
            carried += [source.lines[line] for lines in own[a:b] for line in lines]
        elif any(len(own[at]) != 1 or at not in sure for at in range(a, b)):
            return None
        else:
            carried += ways[0][c:d] if new else []
    if 0 not in pairs and carried and not any(line[:1].isspace() for line in (quoted[0], carried[0])):
        carried[0] = indent.indent_of(source.lines[low]) + carried[0]  # the quote begins behind its indentation
    return _unique(source, low, high, [line.removesuffix("\r") for line in carried])


def _paired(source: EditSource, start: int, quoted: Sequence[str]) -> dict[int, int]:
    """For quoted lines that stand near `start`, by their number from 0, the number of the file's line."""
    import difflib

    low = max(0, start - _AROUND)
    here = [squeezed(line) for line in source.lines[low : start + len(quoted) + _AROUND]]
    blocks = difflib.SequenceMatcher(None, [squeezed(q) for q in quoted], here, autojunk=False).get_matching_blocks()
    return {a + at: low + b + at for a, b, size in blocks for at in range(size)}


def _own_lines(
    source: EditSource, quoted: Sequence[str], pairs: Mapping[int, int], low: int, high: int
) -> tuple[list[list[int]], set[int]]:
    """For each quoted line the file's lines from `low` to before `high` that stand for it, mostly one; which are sure.

    In a gap of the same size lines stand for each other, surely if alike; other lines belong to the line before them.
    """
    from rapidfuzz import fuzz

    own: list[list[int]] = [[pairs[at]] if at in pairs else [] for at in range(len(quoted))]
    known = [(-1, low - 1), *sorted(pairs.items()), (len(quoted), high)]
    sure = set(pairs)
    for (a, b), (c, d) in itertools.pairwise(known):
        for line in range(b + 1, d):
            at = a + line - b
            own[at if c - a == d - b else max(a, 0)].append(line)
            if c - a == d - b and fuzz.ratio(quoted[at].strip(), source.lines[line].strip()) >= _ALIKE:
                sure.add(at)
    return own, sure


def made_already(source: EditSource, span: Span, new: str) -> ToolError:
    """The error for a quote that ends inside a word, where the new text stands already: the edit was sent twice."""
    line = source.line_at(span.start)
    call = _widened(source, span, new)
    text = f"Line {line} has {new!r} already, and the old text ends inside a word there: this edit seems to be made."
    text = f"{text} Nothing was changed. If it is meant once more, end `old` with the word."
    details = {"lines": [line]}
    return ToolError(ErrorCode.CONFLICT, text, details=details, suggest=() if call is None else (call,))


def _widened(source: EditSource, span: Span, written: str) -> Suggestion | None:
    """The call that writes `written` at a place: with as many lines around it as make it the only one."""
    first = source.line_at(span.start) - 1
    last = source.line_at(max(span.start, span.end - 1))
    before, after = (
        source.text[source.starts[first] : span.start],
        source.text[span.end : source.starts[last] - 1],
    )
    replaced = (before + written.replace("\r\n", "\n") + after).replace("\r\n", "\n").removesuffix("\r")
    return _unique(source, first, last, replaced.removesuffix("\n").split("\n") if replaced else [])


def _unique(source: EditSource, start: int, end: int, lines: Sequence[str]) -> Suggestion | None:
    """An edit of the file's lines from `start` to before `end`, widened until it fits one place only."""
    for around in range(_AROUND + 1):
        first, last = max(0, start - around), min(len(source.lines), end + around)
        before, after = source.lines[first:start], source.lines[end:last]
        old = "\n".join(source.lines[first:last])
        if source.text.find(old, source.text.find(old) + 1) < 0:  # not even over its own end
            new = "\n".join([*before, *lines, *after])
            plain_old, plain_new = old.replace("\r\n", "\n"), new.replace("\r\n", "\n")
            return Suggestion("edit", {"old": plain_old, "new": plain_new}) if plain_old != plain_new else None
    return None
