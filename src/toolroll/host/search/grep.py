"""What a search finds: in all files, in those that can match, or in the newest if those are enough."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import dataclass
from heapq import nsmallest
from typing import TYPE_CHECKING, cast

from toolroll.host.files import ignore
from toolroll.host.search import list_files as listing
from toolroll.host.search.hits import Gathered, batches
from toolroll.host.search.in_process import FEW, glance
from toolroll.host.search.ripgrep_output import PlentyError
from toolroll.host.search.text_files import SEARCHABLE, sort_of
from toolroll.text.search import globs

if TYPE_CHECKING:
    from toolroll.host.search.index.live import Sight
    from toolroll.host.search.query import Engine, Ground, Hit, Query, Row, Scope, Stopped
    from toolroll.host.search.ripgrep import Ripgrep
    from toolroll.policy.limits import Limits

PLENTY = 3_000
"""Matching lines after which those who want few look at the newest files only."""


def collected(
    engine: Engine,
    limits: Limits,
    ground: Ground,
    query: Query,
    scope: Scope,
    sight: Sight | None,
    limit: int | None,
) -> tuple[dict[str, list[Row]], Stopped | None]:
    """The rows of each file with a match, and what made the search stop early; of the newest, with a `limit`."""
    if engine.name != "ripgrep" or ground.is_file:
        limit = None  # nothing can be looked at by its name
    work = _Work(engine, limits, ground, query, scope, limit)
    if work.is_strange(sight):
        return work.named()
    hits, stopped = work.taken(sight)
    if stopped != "rows" or limit is None:
        return hits, stopped
    for newest, whole in work.newest(sight):
        hits, stopped = work.taken(newest)
        stopped = stopped if whole else "time"
        if stopped is not None:
            break
    return hits, stopped


@dataclass(slots=True)
class _Work:
    engine: Engine
    limits: Limits
    ground: Ground
    query: Query
    scope: Scope
    limit: int | None

    def taken(self, sight: Sight | None) -> tuple[dict[str, list[Row]], Stopped | None]:
        limit = self.limit
        gathered = Gathered(self.ground, self.limits)
        try:
            for only in batches(sight, limit):
                if only is None:  # all files, also those that were looked at before
                    gathered = Gathered(self.ground, self.limits, self._most)
                with closing(self._rows(sight, only)) as rows:
                    if not gathered.take(rows):
                        return gathered.hits, "rows"
                if only is not None and limit is not None and gathered.matches > limit:
                    return gathered.hits, "limit"
        except PlentyError:
            return {}, "rows"
        except TimeoutError:
            return gathered.hits, "time"
        return gathered.hits, None

    def is_strange(self, sight: Sight | None) -> bool:
        """Whether ripgrep would have to find the files by itself, and would not find those that there are."""
        if self.engine.name != "ripgrep" or self.ground.is_file or self.scope.ignored:
            return False
        return (sight is None or not (sight.narrowed or sight.few)) and ignore.needs_own_walk(self.ground.fd)

    def named(self) -> tuple[dict[str, list[Row]], Stopped | None]:
        """What there is in files that are listed here, newest first."""
        aged, whole = listing.newest(self.ground, self.scope, globs.compile("**"))
        files = [path for _, path, size in aged if size <= self.limits.search_bytes]
        hits, stopped = self.taken(self._plenty(files))
        return hits, stopped if whole else "time"

    @property
    def _most(self) -> int | None:
        """How many matching lines are so many that it is better to look at the newest files, if those are wanted."""
        return None if self.limit is None else max(PLENTY, 2 * self.limit)

    def newest(self, sight: Sight | None) -> Iterator[tuple[Sight, bool]]:
        """The newest files, because so many match, and then all, newest first; and whether there was time to list them.

        It takes long to bring all in order, and the first are nearly always enough.
        """
        if sight is not None and sight.files and not sight.few:
            yield self._plenty(sight.files), True
            return
        aged, whole = listing.aged(self.ground, self.scope, globs.compile("**"))
        aged = [one for one in aged if one[2] <= self.limits.search_bytes]
        if len(aged) > FEW:
            yield self._plenty([path for _, path, _ in nsmallest(FEW, aged)]), whole
        yield self._plenty([path for _, path, _ in sorted(aged)]), whole

    def _plenty(self, files: list[str]) -> Sight:
        from toolroll.host.search.index.live import Sight

        return Sight(files, False, plenty=True, glance=glance(self.query))

    def _rows(self, sight: Sight | None, only: list[str] | None) -> Generator[Hit, None, None]:
        ground = self.ground
        if sight is None or (only is None and not sight.few):
            if self.limit is None:
                yield from self.engine.rows(ground, self.query, self.scope)
            else:
                yield from cast("Ripgrep", self.engine).rows(ground, self.query, self.scope, most=self._most)
            return
        enough = None if only is None or self.limit is None else self.limit + 1
        most = self.limits.search_rows + 1 if enough is None else enough
        only = left = sight.files if only is None else only
        if sight.glance is not None and len(only) <= FEW:
            left = []
            yield from sight.glance.rows(ground, only, left, most, enough)
        if left and not sight.narrowed:
            left = self._texts(left, sight)
        if left or (not only and sight.glance is None):
            yield from cast("Ripgrep", self.engine).rows(ground, self.query, self.scope, left, most)

    def _texts(self, paths: list[str], sight: Sight) -> list[str]:
        """Those of some files that are neither binary nor too big, and that there are."""
        sorts = {path: sort_of(self.ground, path, self.limits.search_bytes) for path in paths}
        if sight.glance is not None:
            sight.glance.binary += [path for path, sort in sorts.items() if sort == "binary"]
            sight.glance.big += sum(sort == "too big" for sort in sorts.values())
        return [path for path, sort in sorts.items() if sort in SEARCHABLE]
