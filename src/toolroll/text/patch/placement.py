"""Choose the place of each hunk: where its number says, or the one other place that fits, or none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from toolroll.text.edit.model import AS_IT_IS, BLANKS, Relation, squeezed
from toolroll.text.patch import errors, scope
from toolroll.text.patch.search import MOST, FileLines, Side, keys

_MARGIN = 40  # lines: a place that is not where its number says is taken only if no other is nearly as near
_CONTEXT = 3  # lines that programs show before and after a change
_TELLING = 40  # letters of added lines, so that they are not a twin of others by chance
_MANY = 1000  # places of a hunk that means the first one


class HunkPlaces(NamedTuple):
    """The places where one hunk fits, and how it relates to those that it does not fit exactly."""

    side: Side
    places: list[int]
    relations: Mapping[int, Relation]


class Placed(NamedTuple):
    """Where a hunk goes (a line from 0), and by which relation; None if its result is there already."""

    side: Side
    start: int
    relation: Relation | None = AS_IT_IS
    note: str = ""


def choose(view: FileLines, sides: Sequence[Side]) -> list[Placed]:
    """The place of each hunk. Raises ToolError unless every hunk has one, and only one that can be meant."""
    if _as_numbered(view, sides):
        placed = [Placed(side, side.hint or 0) for side in sides]
    else:
        view.index([*sides, *(side.reversed() for side in sides)])
        placed = (_in_order if any(side.hunk.ordered for side in sides) else _by_number)(view, sides)
    return [one._replace(relation=None) if one.relation and view.stands(one.side, one.start) else one for one in placed]


def _by_number(view: FileLines, sides: Sequence[Side]) -> list[Placed]:
    """The places nearest to the numbers, of hunks that are not there already."""
    found = [_options(view, side, sides) for side in sides]
    options = [one for one in found if isinstance(one, HunkPlaces)]
    starts = _meant(view, options)
    _check_drift(view, [one.side for one in options], starts, partly=len(options) < len(found))
    chosen = iter(
        [Placed(one.side, at, one.relations.get(at, AS_IT_IS)) for one, at in zip(options, starts, strict=True)]
    )
    return [one if isinstance(one, Placed) else next(chosen) for one in found]


def _in_order(view: FileLines, sides: Sequence[Side]) -> list[Placed]:
    """Each hunk at the first place that fits behind the one before it."""
    cursor, taken, placed = 0, set[int](), []
    for side in sides:
        one = _next(view, side, cursor)
        lines = range(one.start, one.start + len(one.side.old)) if one.relation is not None else ()
        if not taken.isdisjoint(lines):
            raise errors.overlapping(view, side, one.start)
        taken.update(lines)
        cursor = max(cursor, one.start + len(one.side.old)) if one.side.old else cursor
        placed.append(one)
    return placed


def _next(view: FileLines, side: Side, cursor: int) -> Placed:
    """The place of one hunk, where the last one ends at line `cursor`."""
    if not side.old:
        return _addition(view, side, cursor)
    exact, complete = view.places(side, _MANY)
    related = {} if exact else view.related(side, _MANY)
    found = sorted(exact or related)
    if not found and side.hunk.texts[-1].strip() == "" and side.hunk.marks[-1] != "+" and len(side.old) > 1:
        hunk = side.hunk._replace(marks=side.hunk.marks[:-1], texts=side.hunk.texts[:-1])
        return _next(view, side.with_hunk(hunk), cursor)
    there = None if exact else _standing(view, side, related)
    if there is not None:
        return there
    if not found:
        raise errors.no_fit(view, side)
    if side.hunk.anchors:
        found = _anchored(view, side, found)
    behind = [at for at in found if at >= cursor]
    if not behind and (len(found) > 1 or not complete):
        raise errors.ambiguous(view, side, found)
    start = (behind or found)[0]
    after = f" after line {cursor}" if cursor else ""
    note = f": {len(behind)} places fit; took the first{after}, as the format says" if len(behind) > 1 else ""
    return Placed(side, start, related.get(start, AS_IT_IS), note)


def _addition(view: FileLines, side: Side, cursor: int) -> Placed:
    """Lines without any around them go behind the line that is named, or to the end of the file."""
    at = scope.find(view, side.hunk.anchors, cursor) if side.hunk.anchors else len(view.lines) - 1
    if at is None:
        raise errors.no_fit(view, side)
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


def _check_drift(view: FileLines, sides: Sequence[Side], starts: Sequence[int], *, partly: bool) -> None:
    """Raise if a hunk was found elsewhere while its own place, or what it adds, is there too.

    `partly`: other hunks are there already.
    """
    offsets = [None if one.hint is None else start - one.hint for one, start in zip(sides, starts, strict=True)]
    usual = max(offsets, key=offsets.count, default=None)
    for side, offset, start in zip(sides, offsets, starts, strict=True):
        if side.hint is None or offset == 0 or (offset == usual and len(sides) > 1):
            continue
        for place in {side.hint, side.hint + (usual or 0)} - {start}:
            if view.nearly(side, place):  # but for a line that has changed
                raise errors.no_fit(view, side, place)
        if not view.stands(side, start) and _is_added(view, side, (side.hint, start), partly):
            raise errors.added_twice(view, side, start)


def _is_added(view: FileLines, side: Side, places: tuple[int, int], partly: bool) -> bool:
    """The hunk only adds lines, and they stand near one of the places: all, or of a patch partly applied most."""
    added = [line for line in keys(side.hunk.only_new) if line.strip()]
    if side.hunk.removed or sum(map(str.isalnum, "".join(added))) < (1 if partly else _TELLING):
        return False
    size = len(side.hunk.texts)
    near = set(view.keys[max(0, min(places) - size) : max(places) + size])
    return sum(line in near for line in added) >= (len(added) // 2 + 1 if partly else len(added))


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


def _options(view: FileLines, side: Side, sides: Sequence[Side]) -> HunkPlaces | Placed:
    found, complete = view.places(side)
    related: dict[int, Relation] = {}
    if not found and (related := view.related(side, MOST)):
        found, complete = sorted(related, key=lambda at: abs(at - (side.hint or 0))), len(related) < MOST
    elif found and side.hint is not None and side.hint not in found:
        near = view.relation(side, side.hint)
        if near is not None and near.cost <= BLANKS:
            raise errors.ambiguous(view, side, [side.hint, found[0]])
        made = view.places(side.reversed(), 1)[0] if side.hunk.added else []
        if made and abs(made[0] - side.hint) < abs(found[0] - side.hint):
            return Placed(side, made[0], None)
    there = None if (found and not related) or not complete else _standing(view, side, related)
    if there is not None:
        return there
    if not found:
        raise errors.no_fit(view, side) if complete else errors.too_alike(view, side)
    found = _at_edge(view, side, sides, _in_section(view, side, found))
    if len(found) > 1 and (side.hint is None or not complete or _is_loose(related)):
        raise errors.ambiguous(view, side, found)
    return HunkPlaces(side, found, related)


def _anchored(view: FileLines, side: Side, found: list[int]) -> list[int]:
    anchors = side.hunk.anchors
    under = [at for at in found if scope.anchored(view, anchors, at)]
    under = under or [at for at in found if scope.after(view, anchors, at)]
    if not under:
        raise errors.elsewhere(view, side, found, *anchors)
    return under


def _in_section(view: FileLines, side: Side, found: list[int]) -> list[int]:
    """The places under the section that the header names, if it says anything."""
    section = side.hunk.section
    if not section or found == [side.hint] or scope.names(side.keys, section):
        return found
    under = [at for at in found if scope.beneath(view, section, at)]
    if under and side.hint in found and side.hint not in under:  # the number and the section disagree
        raise errors.ambiguous(view, side, [side.hint, *under])
    if not under and len(side.old) <= _CONTEXT and side.hint not in found and scope.known(view, section):
        # So few lines stand elsewhere by chance; a section after which they come, nearby, may be changed by the patch.
        near = [at for at in found if side.hint is None or abs(at - side.hint) <= _MARGIN]
        under = [at for at in near if scope.after(view, (section,), at)]
        if not under:
            raise errors.elsewhere(view, side, found, section)
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


def _meant(view: FileLines, options: Sequence[HunkPlaces]) -> list[int]:
    """One place for each hunk, when it is clear which: by their common offset, else by each one's own."""
    if all(len(one.places) == 1 for one in options):
        starts = [one.places[0] for one in options]
        if (late := _overlapping(starts, options)) is not None:
            raise errors.overlapping(view, options[late].side, starts[late])
        return starts
    offset = _common_offset(view, options)
    if offset is not None:
        starts = [one.places[0] if one.side.hint is None else one.side.hint + offset for one in options]
        if _overlapping(starts, options) is None:
            return starts
    starts, end, offset = [], 0, 0
    for one, places in zip(options, _before_the_next(view, options), strict=True):
        starts.append(_nearest(view, one.side, [at for at in places if at >= end], offset))
        end = starts[-1] + len(one.side.old)
        offset = offset if one.side.hint is None else starts[-1] - one.side.hint
    return starts


def _overlapping(starts: Sequence[int], options: Sequence[HunkPlaces]) -> int | None:
    """A hunk that touches lines of another. Where each has but one place, their order does not matter."""
    end = 0
    for at in sorted(range(len(starts)), key=starts.__getitem__):
        if starts[at] < end:
            return at
        end = starts[at] + len(options[at].side.old)
    return None


def _common_offset(view: FileLines, options: Sequence[HunkPlaces]) -> int | None:
    """By how much all hunks are off, if it is the same for all."""
    offsets = [{at - one.side.hint for at in one.places} for one in options if one.side.hint is not None]
    shared = set.intersection(*offsets)
    best = min(shared, key=abs, default=None)
    if best and any(abs(other) <= abs(best) + _MARGIN for other in shared - {best}):
        first = next(one for one in options if len(one.places) > 1)
        raise errors.ambiguous(view, first.side, first.places)
    return best


def _before_the_next(view: FileLines, options: Sequence[HunkPlaces]) -> list[list[int]]:
    """The places of each hunk that leave room for those behind it."""
    found: list[list[int]] = []
    last = len(view.lines)
    for one in reversed(options):
        found.append([at for at in one.places if at + len(one.side.old) <= last])
        if not found[-1]:
            raise errors.overlapping(view, one.side, one.places[0])
        last = max(found[-1])
    return found[::-1]


def _nearest(view: FileLines, side: Side, places: Sequence[int], offset: int) -> int:
    """The place nearest to the hunk's number, and to where it is if it is off by as much as the one before it."""
    hint = side.hint
    if not places:
        raise errors.no_fit(view, side)
    if hint is None:
        return places[0]
    best = min(places, key=lambda at: abs(at - hint - offset))
    for wanted in (hint, hint + offset):
        near = abs(best - wanted)
        if any(abs(at - wanted) <= near + (_MARGIN if near else 0) for at in places if at != best):
            raise errors.ambiguous(view, side, places)
    return best
