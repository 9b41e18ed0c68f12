"""Choose the place of each hunk: where its number says, or the one other place that fits, or none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isqrt
from typing import NamedTuple, NoReturn

from toolroll.result import ToolError
from toolroll.text.edit.model import AS_IT_IS, BLANKS, Relation, squeezed
from toolroll.text.patch import errors, scope
from toolroll.text.patch.search import MOST, FileLines, Side, keys

_MARGIN = 40  # lines: a place that is not where its number says is taken only if no other is nearly as near

_CONTEXT = 3  # lines that programs show before and after a change

_MANY = 1000  # places of a hunk that means the first one

_WAYS = 100_000  # how many ways to set two hunks one after the other are compared


@dataclass(frozen=True, slots=True)
class HunkPlaces:
    """The places where one hunk fits."""

    side: Side
    places: tuple[int, ...]
    relations: Mapping[int, Relation] = field(default_factory=dict)
    """How it relates to places that it does not fit exactly."""


class Placed(NamedTuple):
    """Where a hunk goes (a line from 0), and by which relation; None if its result is there already."""

    side: Side
    start: int
    relation: Relation | None = AS_IT_IS
    note: str = ""


def choose(view: FileLines, sides: Sequence[Side], name: str) -> list[Placed]:
    """The place of each hunk. Raises ToolError unless every hunk has one, and only one that can be meant."""
    if _as_numbered(view, sides):
        placed = [Placed(side, side.hint or 0) for side in sides]
    elif any(side.hunk.ordered for side in sides):
        placed = _in_order(view, sides, name)
    else:
        placed = _by_number(view, sides, name)
    return [one._replace(relation=None) if one.relation and view.stands(one.side, one.start) else one for one in placed]


def _by_number(view: FileLines, sides: Sequence[Side], name: str) -> list[Placed]:
    """The places nearest to the numbers, of hunks that are not there already."""
    view.index(sides)
    most = max(2, min(MOST, isqrt(_WAYS // len(sides))))
    found = {side.number: _options(view, side, sides, most, name) for side in sides}
    options = [one for one in found.values() if isinstance(one, HunkPlaces)]
    rest = [one.side for one in options]
    if not options:
        return [one for one in found.values() if isinstance(one, Placed)]
    if all(len(one.places) == 1 for one in options):
        starts = [one.places[0] for one in options]
        if (late := _overlapping(starts, rest)) is not None:
            raise errors.overlapping(rest[late], sides, starts[late], name)
    else:
        starts = _meant(options, rest, name)
    _check_stale(view, rest, starts, name)
    chosen = {
        one.side.number: Placed(one.side, start, one.relations.get(start, AS_IT_IS))
        for one, start in zip(options, starts, strict=True)
    }
    return [one if isinstance(one, Placed) else chosen[number] for number, one in found.items()]


def _in_order(view: FileLines, sides: Sequence[Side], name: str) -> list[Placed]:
    """Each hunk at the first place that fits behind the one before it."""
    view.index(sides)
    cursor, taken, placed = 0, set[int](), []
    for side in sides:
        one = _next(view, side, sides, cursor, name)
        lines = range(one.start, one.start + len(one.side.old)) if one.relation is not None else ()
        if not taken.isdisjoint(lines):
            raise errors.overlapping(side, sides, one.start, name)
        taken.update(lines)
        cursor = max(cursor, one.start + len(one.side.old)) if one.side.old else cursor
        placed.append(one)
    return placed


def _next(view: FileLines, side: Side, sides: Sequence[Side], cursor: int, name: str) -> Placed:
    """The place of one hunk, where the last one ends at line `cursor`."""
    if not side.old:
        return _addition(view, side, sides, cursor, name)
    exact, complete = view.places(side, _MANY)
    related = {} if exact else view.related(side, _MANY)
    found = sorted(exact or related)
    if not found and side.hunk.texts[-1].strip() == "" and side.hunk.marks[-1] != "+" and len(side.old) > 1:
        hunk = side.hunk._replace(marks=side.hunk.marks[:-1], texts=side.hunk.texts[:-1])
        return _next(view, Side(hunk, side.number), sides, cursor, name)
    there = None if exact else _standing(view, side, related)
    if there is not None or not found:
        return there or _raise(errors.no_fit(view, side, sides, name))
    if side.hunk.anchors:
        found = _anchored(view, side, sides, found, name)
    behind = [at for at in found if at >= cursor]
    if not behind and (len(found) > 1 or not complete):
        raise errors.ambiguous(side, sides, found, name)
    start = (behind or found)[0]
    after = f" after line {cursor}" if cursor else ""
    note = f": {len(behind)} places fit; took the first{after}, as the format says" if len(behind) > 1 else ""
    return Placed(side, start, related.get(start, AS_IT_IS), note)


def _addition(view: FileLines, side: Side, sides: Sequence[Side], cursor: int, name: str) -> Placed:
    """Lines without any around them go behind the line that is named, or to the end of the file."""
    at = scope.find(view, side.hunk.anchors, cursor) if side.hunk.anchors else len(view.lines) - 1
    if at is None:
        raise errors.no_fit(view, side, sides, name)
    added = keys(side.hunk.new)
    start = at + 1 - len(added) if not side.hunk.anchors else at + 1
    if view.keys[max(0, start) : start + len(added)] == added:
        return Placed(side, start, None)
    return Placed(side, at + 1)


def _is_loose(related: Mapping[int, Relation]) -> bool:
    return min((one.cost for one in related.values()), default=0) > BLANKS


def _standing(view: FileLines, side: Side, related: Mapping[int, Relation]) -> Placed | None:
    """The place of a hunk that fits nowhere, or only loosely, because its result is there already."""
    back = side.reversed()
    if not side.hunk.added or not back.old or (related and not _is_loose(related)):
        return None
    if back.hint is not None and view.fits(back, back.hint):
        return Placed(side, back.hint, None)
    found, complete = view.places(back)
    if not found and list(map(squeezed, side.keys)) != list(map(squeezed, back.keys)):
        found = list(view.related(back, MOST))
    return Placed(side, found[0], None) if complete and len(found) == 1 else None


def _raise(error: ToolError) -> NoReturn:
    raise error


def _check_stale(view: FileLines, sides: Sequence[Side], starts: Sequence[int], name: str) -> None:
    """Raise if a hunk was found elsewhere while its own place is there too, but for a line that has changed."""
    offsets = [None if one.hint is None else start - one.hint for one, start in zip(sides, starts, strict=True)]
    usual = Counter(offsets).most_common(1)[0][0]
    for side, offset in zip(sides, offsets, strict=True):
        if side.hint is None or offset == 0 or (offset == usual and len(sides) > 1):
            continue
        for place in {side.hint, side.hint + (usual or 0)} - {side.hint + (offset or 0)}:
            if view.nearly(side, place):
                raise errors.no_fit(view, side, sides, name, place)


def _as_numbered(view: FileLines, sides: Sequence[Side]) -> bool:
    """Every hunk fits where its number says, and lies under the section that it names."""
    end = 0
    for side in sides:
        if side.hint is None or side.hint < end or not view.fits(side, side.hint):
            return False
        if not side.old and view.lines:
            return False
        section = side.hunk.section
        if section and not scope.beneath(view, section, side.hint):
            return False
        end = side.hint + len(side.old)
    return True


def _options(view: FileLines, side: Side, sides: Sequence[Side], most: int, name: str) -> HunkPlaces | Placed:
    found, complete = view.places(side, most)
    related: dict[int, Relation] = {}
    if not found and (related := view.related(side, most)):
        found, complete = sorted(related, key=lambda at: abs(at - (side.hint or 0))), len(related) < most
    elif found and side.hint is not None and side.hint not in found:
        near = view.relation(side, side.hint)
        if near is not None and near.cost <= BLANKS:
            raise errors.ambiguous(side, sides, [side.hint, found[0]], name)
    there = None if (found and not related) or not complete else _standing(view, side, related)
    if there is not None or not found:
        return there or _raise((errors.no_fit if complete else errors.too_alike)(view, side, sides, name))
    found = _in_section(view, side, sides, found, name)
    found = _at_edge(view, side, sides, found)
    if len(found) > 1 and (side.hint is None or not complete or _is_loose(related)):
        raise errors.ambiguous(side, sides, found, name)
    return HunkPlaces(side, tuple(found), related)


def _anchored(view: FileLines, side: Side, sides: Sequence[Side], found: list[int], name: str) -> list[int]:
    anchors = side.hunk.anchors
    under = [at for at in found if scope.anchored(view, anchors, at)]
    under = under or [at for at in found if scope.after(view, anchors, at)]
    if not under:
        raise errors.elsewhere(side, sides, found, name, *anchors)
    return under


def _in_section(view: FileLines, side: Side, sides: Sequence[Side], found: list[int], name: str) -> list[int]:
    """The places under the section that the header names, if it says anything."""
    section = side.hunk.section
    if not section or found == [side.hint] or scope.names(side.keys, section):
        return found
    under = [at for at in found if scope.beneath(view, section, at)]
    if under and side.hint in found and side.hint not in under:  # the number and the section disagree
        raise errors.ambiguous(side, sides, [side.hint, *under], name)
    if not under and len(side.old) <= _CONTEXT and side.hint not in found and scope.known(view, section):
        # So few lines stand elsewhere by chance; a section after which they come, nearby, may be changed by the patch.
        near = [at for at in found if side.hint is None or abs(at - side.hint) <= _MARGIN]
        under = [at for at in near if scope.after(view, (section,), at)]
        if not under:
            raise errors.elsewhere(side, sides, found, name, section)
    return under or found


def _at_edge(view: FileLines, side: Side, sides: Sequence[Side], found: list[int]) -> list[int]:
    """Of several places near the number the one where the file begins or ends, if only that explains the hunk.

    A program shows as many lines before a change as after it, unless the file has no more.
    """
    if len(found) == 1 or side.hint is None or side.hint in found or not side.hunk.counted:
        return found
    before, after = side.hunk.context
    edge = None
    if before >= _CONTEXT and not after and side is sides[-1]:
        edge = len(view.lines) - len(side.old)
    elif after >= _CONTEXT and not before and side is sides[0]:
        edge = 0
    return [edge] if edge in found and abs(edge - side.hint) <= _MARGIN else found


def _overlapping(starts: Sequence[int], sides: Sequence[Side]) -> int | None:
    """A hunk that touches lines of another. Where each has but one place, their order does not matter."""
    end = 0
    for at in sorted(range(len(starts)), key=starts.__getitem__):
        if starts[at] < end:
            return at
        end = starts[at] + len(sides[at].old)
    return None


def _meant(options: Sequence[HunkPlaces], sides: Sequence[Side], name: str) -> list[int]:
    """One place for each hunk, when it is clear which: by their common offset, or by each one's own."""
    offset = _common_offset(options, sides, name)
    if offset is not None:
        starts = [offset + one.side.hint if one.side.hint is not None else one.places[0] for one in options]
        if _overlapping(starts, sides) is None:
            return starts
    near, steady = _best(options, carry=False), _best(options, carry=True)
    if near is None or steady is None:
        worst = max(options, key=lambda one: len(one.places))
        raise errors.overlapping(worst.side, sides, worst.places[0], name)
    doubts = {*_doubts(options, near, carry=False), *_doubts(options, steady, carry=True)}
    doubts |= {at for at in range(len(options)) if near[at] != steady[at]}
    if doubts:
        first = options[min(doubts)]
        raise errors.ambiguous(first.side, sides, first.places, name)
    return near


def _common_offset(options: Sequence[HunkPlaces], sides: Sequence[Side], name: str) -> int | None:
    """By how much all hunks are off, if it is the same for all."""
    shared: set[int] | None = None
    for one in options:
        if one.side.hint is not None:
            offsets = {place - one.side.hint for place in one.places}
            shared = offsets if shared is None else shared & offsets
    if not shared:
        return None
    best = min(shared, key=abs)
    if best and any(abs(other) <= abs(best) + _MARGIN for other in shared - {best}):
        first = next(one for one in options if len(one.places) > 1)
        raise errors.ambiguous(first.side, sides, first.places, name)
    return best


def _offsets(options: Sequence[HunkPlaces], starts: Sequence[int]) -> list[int]:
    """How far each hunk is from its number; one without a number is as far as the hunk before it."""
    found: list[int] = []
    for one, start in zip(options, starts, strict=True):
        hint = one.side.hint
        found.append(start - hint if hint is not None else found[-1] if found else 0)
    return found


def _best(options: Sequence[HunkPlaces], *, carry: bool) -> list[int] | None:
    """The places in order that are nearest to the numbers, or with `carry`, whose offsets change least."""
    states = [_Way(0, 0, 0, None)]
    for one in options:
        following = []
        for place in one.places:
            ways = [way.on(one.side, place, carry) for way in states if way.end <= place]
            if ways:
                following.append(min(ways, key=lambda way: way.cost))
        states = following
    if not states:
        return None
    way: _Way | None = min(states, key=lambda way: way.cost)
    starts = []
    while way is not None and way.before is not None:
        starts.append(way.start)
        way = way.before
    return starts[::-1]


@dataclass(frozen=True, slots=True)
class _Way:
    """The places of the first hunks, as one of the ways to set them."""

    cost: int
    offset: int
    end: int
    before: _Way | None
    start: int = 0

    def on(self, side: Side, place: int, carry: bool) -> _Way:
        offset = place - side.hint if side.hint is not None else self.offset
        more = abs(offset - self.offset) if carry else abs(offset)
        return _Way(self.cost + more, offset, place + len(side.old), self, place)


def _doubts(options: Sequence[HunkPlaces], starts: list[int], *, carry: bool) -> list[int]:
    """The hunks that have another place as good, or nearly, when all others stay where they are."""
    offsets = _offsets(options, starts)
    found = []
    for at, one in enumerate(options):
        first = starts[at - 1] + len(options[at - 1].side.old) if at else 0
        last = starts[at + 1] - len(one.side.old) if at + 1 < len(starts) else max(one.places)
        before = offsets[at - 1] if at else 0
        after = offsets[at + 1] if at + 1 < len(offsets) else None
        own = _cost(offsets[at], before, after, carry)
        for place in one.places:
            offset = offsets[at] + place - starts[at]
            rival = place != starts[at] and first <= place <= last
            if rival and _cost(offset, before, after, carry) <= own + (_MARGIN if own else 0):
                found.append(at)
                break
    return found


def _cost(offset: int, before: int, after: int | None, carry: bool) -> int:
    if not carry:
        return abs(offset)
    return abs(offset - before) + (abs(after - offset) if after is not None else 0)
