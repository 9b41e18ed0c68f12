"""Search a workspace of several roots: in one of them, or in all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from toolroll.host.files.roots import RootGroup
from toolroll.host.search.query import FileEntry, FindResult, GrepResult, Query, Scope, Sort, Survey
from toolroll.host.search.search import Search, Wanted, sort_entries
from toolroll.text import names
from toolroll.text.search import globs

if TYPE_CHECKING:
    from toolroll.host.files.root import Root
    from toolroll.policy.limits import Limits

_EVERYWHERE = Scope()


def make_search(root: Root, **how: Any) -> Search:
    """The search of a workspace of one root or several."""
    if not isinstance(root, RootGroup):
        return Search(root, watch=True, **how)
    others = {name: Search(other, watch=True, name=name, **how) for name, other in root.others.items()}
    return SearchGroup(root, others, watch=True, **how)


class SearchGroup(Search):
    """Searches each root on its own. What `of` gives for the whole workspace searches all of them, in turn."""

    def __init__(self, root: RootGroup, others: Mapping[str, Search], **how: Any) -> None:
        """`others` are the searches of the further roots; `how` is for the workspace itself."""
        super().__init__(root, **how)
        self._group = root
        self._others = others
        self._every = False

    def of(self, root: Root, path: str, limits: Limits | None = None) -> tuple[Search, str]:
        if root is not self._group or root.text(path) != ".":
            return super().of(root, path, limits)
        every = self._within(limits)
        every._every = True
        return every, path

    def close(self) -> None:
        for other in self._others.values():
            other.close()
        super().close()

    def grep(self, query: Query, scope: Scope = _EVERYWHERE, **how: Any) -> GrepResult:
        if (split := self._group.split(scope.path)) is not None:
            return _named(split[0], self._others[split[0]].grep(query, replace(scope, path=split[2]), **how))
        found = super().grep(query, scope, **how)
        for name, inner in self._scopes(scope):
            more = _named(name, self._others[name].grep(query, inner, **how))
            found.rows += more.rows
            found.matches += more.matches
            found.files += more.files
            _join(found, more)
        return found

    def find(
        self,
        pattern: str,
        scope: Scope = _EVERYWHERE,
        *,
        kind: Wanted = "file",
        sort: Sort = "modified",
        **how: Any,
    ) -> FindResult:
        if (split := self._group.split(scope.path)) is not None:
            other = self._others[split[0]]
            inner = replace(scope, path=split[2])
            return _named(split[0], other.find(pattern, inner, kind=kind, sort=sort, **how))
        if self._every and pattern.startswith("/") and globs.escapes(pattern):
            pattern = f"./{self._group.text(pattern)}"
        found = super().find(pattern, scope, kind=kind, sort=sort, **how)
        for name, inner in self._scopes(scope):
            more = FindResult([], 0, True, None, None, [])
            if lefts := globs.inside(pattern, name):
                more = _named(name, self._others[name].find(_joined(lefts), inner, kind=kind, sort=sort, **how))
            if kind != "file" and globs.compile(pattern).matches(name):
                more.entries.append(FileEntry(name, "directory", 0, 0))
                more.total += 1
            found.whole = _whole(found, more) if found.whole or more.whole else ""
            found.entries = sort_entries([*found.entries, *more.entries], sort)
            found.total += more.total
            found.dead_links += more.dead_links
            _join(found, more)
        return found

    def _scopes(self, scope: Scope) -> Iterator[tuple[str, Scope]]:
        """The further roots that a search of the whole workspace goes into, each with its scope."""
        for name in self._others if self._every else ():
            hidden = name.startswith(".") and not scope.hidden
            excluded = any(globs.compile(text).matches(name) for text in scope.exclude)
            include = tuple(one for text in scope.include for one in globs.inside(text, name))
            if hidden or excluded or name in scope.skip or scope.depth == 1 or (scope.include and not include):
                continue
            exclude = tuple(one for text in scope.exclude for one in globs.inside(text, name))
            depth = None if scope.depth is None else scope.depth - 1
            yield name, replace(scope, path=".", include=include, exclude=exclude, depth=depth)


def _joined(patterns: Sequence[str]) -> str:
    if len(patterns) == 1:
        return patterns[0]
    return "{" + ",".join(one.replace(",", r"\,") for one in patterns) + "}"


Found = TypeVar("Found", GrepResult, FindResult)


def _named(name: str, found: Found) -> Found:
    """The result of a further root, with paths as the workspace has them; its own entries may be shared."""
    if isinstance(found, GrepResult):
        found.rows = [replace(one, path=f"{name}/{one.path}") for one in found.rows]
        return found
    found.entries = [replace(one, path=f"{name}/{one.path}") for one in found.entries]
    found.dead_links = [f"{name}/{path}" for path in found.dead_links]
    if found.whole:
        found.whole = "\n".join(f"{names.show_name(name)}/{line}" for line in found.whole.split("\n"))
    return found


def _whole(one: FindResult, other: FindResult) -> str:
    every = (found.whole or "\n".join(names.show_name(entry.path) for entry in found.entries) for found in (one, other))
    return "\n".join(filter(None, every))


def _join(found: GrepResult | FindResult, more: GrepResult | FindResult) -> None:
    """Add what is said of a search besides what it found."""
    found.complete = found.complete and more.complete
    found.stopped = found.stopped or more.stopped
    found.unreadable += more.unreadable
    if isinstance(found, GrepResult) and isinstance(more, GrepResult):
        found.barred += more.barred
    nothing = not (found.rows if isinstance(found, GrepResult) else found.entries)
    if found.survey is not None and more.survey is not None:
        for counts, others in (
            (found.survey.skipped, more.survey.skipped),
            (found.survey.elsewhere, more.survey.elsewhere),
        ):
            counts |= {kind: counts.get(kind, 0) + count for kind, count in others.items()}
        found.survey.searched += more.survey.searched
    elif nothing or not found.complete:
        found.survey = found.survey or more.survey or Survey()
    else:
        found.survey = None
